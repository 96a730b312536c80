"""A worker gets exactly the settings of whoever started it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from streams.ops.worker_process import tail, worker_environment
from streams.settings import BlobSettings, KafkaSettings, LimitSettings, Settings, SourceSettings, WorkerSettings


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in os.environ:
        if name.startswith("CANONRY_"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


def child_of(settings: Settings, monkeypatch: pytest.MonkeyPatch, broker: str = "here:9092") -> Settings:
    """The settings that a child would load."""
    for name in os.environ:
        if name.startswith("CANONRY_"):
            monkeypatch.delenv(name)
    for name, value in worker_environment(settings, broker).items():
        monkeypatch.setenv(name, value)
    return Settings.load()


def same(child: Settings, parent: Settings, tmp_path: Path) -> bool:
    expected: dict[str, Any] = parent.model_dump() | {"broker": "here:9092", "data_dir": parent.data_dir.absolute()}
    return child.model_dump() == expected


def test_settings_from_code_reach_the_child(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    settings = Settings(
        data_dir=Path("some data"),
        log_level="INFO",
        kafka=KafkaSettings(topic_prefix="t1-", log_epoch=3, sasl_password='a"b\\c$d'),
        blobs=BlobSettings(kind="s3", endpoint="s3:9000", secret_key="s"),
        worker=WorkerSettings(slots=1, job_timeout_s=2.5),
        limits=LimitSettings(max_document_bytes=5),
        sources={"share": SourceSettings(owner="Zoë", readers=["all"]), "odd name": SourceSettings()},
        search_path=Path("elsewhere/search.db"),
    )
    assert same(child_of(settings, monkeypatch), settings, tmp_path)


def test_settings_from_a_file_and_variables_reach_the_child(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    Path("canonry.toml").write_text(
        'broker = "old:1"\n[kafka]\ntopic_prefix = "file-"\n[worker]\nslots = 3\n[sources.share]\nowner = "me"\n'
    )
    monkeypatch.setenv("CANONRY_WORKER__JOB_TIMEOUT_S", "9")
    monkeypatch.setenv("CANONRY_WORKER__SLOTS", "2")
    settings = Settings.load()
    assert (settings.worker.slots, settings.worker.job_timeout_s, settings.kafka.topic_prefix) == (2, 9, "file-")
    assert same(child_of(settings, monkeypatch), settings, tmp_path)


def test_code_wins_over_the_environment_it_runs_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CANONRY_KAFKA__TOPIC_PREFIX", "from-environment-")
    monkeypatch.setenv("CANONRY_WORKER__SLOTS", "7")
    settings = Settings(kafka=KafkaSettings(topic_prefix="from-code-"), worker=WorkerSettings(slots=1))
    assert same(child_of(settings, monkeypatch), settings, tmp_path)


def test_the_environment_besides_settings_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANG", "C.UTF-8")
    assert worker_environment(Settings(), "x:1")["LANG"] == "C.UTF-8"


def test_the_end_of_a_log(tmp_path: Path) -> None:
    assert tail(tmp_path / "none") == ""
    (tmp_path / "log").write_bytes(b"one\ntwo\xff\nthree\nfour\n")
    assert tail(tmp_path / "log", 2) == "three | four"
