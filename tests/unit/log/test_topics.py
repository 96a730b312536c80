from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from streams.errors import SettingsError
from streams.log.topics import load_topics
from streams.records.codec import TOPIC_RECORDS
from streams.topology import DEAD_LETTER, STAGES

DAY_MS = 24 * 60 * 60 * 1000


def write(path: Path, topics: dict[str, Any], **defaults: Any) -> Path:
    file = path / "topics.yaml"
    file.write_text(yaml.safe_dump({"defaults": {"partitions": 8, **defaults}, "topics": topics}), encoding="utf-8")
    return file


def delete_topic(**more: Any) -> dict[str, Any]:
    return {"config": {"cleanup.policy": "delete", "retention.ms": 1000, **more}}


def test_every_topic_of_the_topology_and_of_the_codec_is_there() -> None:
    names = {topic.name for topic in load_topics()}
    used = {topic for stage in STAGES.values() for topic in (*stage.reads, *stage.writes)}
    assert names == set(TOPIC_RECORDS) | {DEAD_LETTER}
    assert used <= names
    assert len(names) == 13


def test_retention_and_policy_are_those_of_the_design() -> None:
    config = {topic.name: topic.config for topic in load_topics()}
    compacted = {name for name, settings in config.items() if settings["cleanup.policy"] == "compact"}
    assert compacted == {"canon-ready", "versions", "quarantine", "contents"}
    for name in compacted:
        assert int(config[name]["delete.retention.ms"]) == 7 * DAY_MS
        assert int(config[name]["max.compaction.lag.ms"]) <= DAY_MS
        assert int(config[name]["segment.ms"]) <= DAY_MS
    retention = {name: int(config[name]["retention.ms"]) for name in set(config) - compacted}
    assert retention == {
        "raw-arrived": -1,
        "decisions": -1,
        "content-links": -1,
        "deleted": 365 * DAY_MS,
        "dead-letter": 30 * DAY_MS,
        **dict.fromkeys(("decoded", "recognize", "extracted", "screened"), 7 * DAY_MS),
    }


def test_topics_that_are_kept_for_ever_are_not_cut_by_size_or_by_a_producers_clock() -> None:
    for topic in load_topics():
        assert topic.config["retention.bytes"] == "-1"
        assert topic.config["message.timestamp.type"] == "LogAppendTime"
        assert int(topic.config["max.message.bytes"]) > 900 * 1024


def test_all_topics_have_the_same_number_of_partitions() -> None:
    assert {topic.partitions for topic in load_topics()} == {8}


def test_defaults_are_merged_and_values_are_text_as_kafka_shows_it(tmp_path: Path) -> None:
    file = write(
        tmp_path,
        {
            "a": delete_topic(**{"unclean.leader.election.enable": False}),
            "contents": {**delete_topic(), "partitions": 3},
        },
        replication_factor=2,
        config={"min.insync.replicas": "auto", "retention.ms": 5},
    )
    a, contents = load_topics(file)
    assert (a.partitions, a.replication_factor, contents.partitions) == (8, 2, 3)
    assert a.config["unclean.leader.election.enable"] == "false"
    assert a.config["retention.ms"] == "1000"
    assert a.config["min.insync.replicas"] == "auto"


@pytest.mark.parametrize(
    ("topics", "words"),
    [
        ({"a": {"config": {"cleanup.policy": "delete"}}}, ["a:", "retention.ms"]),
        ({"a": {"config": {"cleanup.policy": "compact,delete"}}}, ["a:", "cleanup.policy", "compact,delete"]),
        (
            {"a": {"config": {"cleanup.policy": "compact"}}},
            ["delete.retention.ms", "max.compaction.lag.ms", "segment.ms"],
        ),
        ({"a b": delete_topic()}, ["'a b'", "no legal topic name"]),
        ({"..": delete_topic()}, ["no legal topic name"]),
        ({"a": delete_topic(), "b": {**delete_topic(), "partitions": 4}}, ["same number of partitions", "'b': 4"]),
        ({"a": {**delete_topic(), "partitions": -1}}, ["a has no partitions"]),
        ({"a": {**delete_topic(), "replication_factor": 0}}, ["replication_factor"]),
        ({"a": {**delete_topic(), "partition": 8}}, ["partition"]),
        ({"a": {"config": {"cleanup.policy": "delete", "retention.ms": [1]}}}, ["retention.ms"]),
        ({"a": None}, ["a"]),
    ],
)
def test_a_wrong_file_is_refused_with_the_topic_and_the_setting(
    tmp_path: Path, topics: dict[str, Any], words: list[str]
) -> None:
    with pytest.raises(SettingsError) as caught:
        load_topics(write(tmp_path, topics))
    assert all(word in caught.value.message for word in words), caught.value.message
    assert "topics.yaml" in caught.value.message


@pytest.mark.parametrize("content", [b"topics: [", b"", b"\xff\xfe\x00", b"- a", b"topics: 3", b"other: {}"])
def test_a_file_that_is_no_topics_file_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "topics.yaml"
    file.write_bytes(content)
    with pytest.raises(SettingsError, match=r"topics\.yaml can't be used"):
        load_topics(file)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="can't be used"):
        load_topics(tmp_path / "none.yaml")
