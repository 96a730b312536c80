from __future__ import annotations

import asyncio

import msgspec
import pytest
from aiokafka.admin import NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from streams.errors import BrokerUnavailable, TopicMismatch
from streams.log.client import admin
from streams.log.local_process import free_ports
from streams.log.topics import Difference, Topic, apply_topics, check_topics, load_topics, require_topics
from streams.settings import Settings


async def create(settings: Settings, name: str, partitions: int, **config: str) -> None:
    named = {key.replace("_", "."): value for key, value in config.items()}
    async with admin(settings, settings.broker) as client:
        topic = NewTopic(settings.kafka.topic_prefix + name, partitions, 1, topic_configs=named)
        response = await client.create_topics([topic])
        assert [error for _, error, *_ in response.topic_errors] == [0]


def wanted(name: str) -> Topic:
    return next(topic for topic in load_topics() if topic.name == name)


async def test_every_topic_is_missing_at_first(empty_settings: Settings) -> None:
    differences = await check_topics(empty_settings)
    assert [difference.setting for difference in differences] == ["topic"] * len(load_topics())
    assert {d.topic for d in differences} == {empty_settings.kafka.topic_prefix + t.name for t in load_topics()}
    with pytest.raises(TopicMismatch, match=f"{empty_settings.kafka.topic_prefix}canon-ready: missing"):
        await require_topics(empty_settings)


async def test_apply_creates_all_and_a_second_time_nothing(empty_settings: Settings) -> None:
    first = await apply_topics(empty_settings)
    assert len(first.created) == len(load_topics())
    assert (first.changed, first.unmendable) == ([], [])
    await require_topics(empty_settings)
    second = await apply_topics(empty_settings)
    assert (second.created, second.changed, second.unmendable) == ([], [], [])


async def test_settings_that_differ_are_named_and_mended(settings: Settings) -> None:
    name = settings.kafka.topic_prefix + "canon-ready"
    async with admin(settings, settings.broker) as client:
        config = {"cleanup.policy": "delete", "retention.ms": "1000", "delete.retention.ms": "604800000"}
        await client.alter_configs([ConfigResource(ConfigResourceType.TOPIC, name, configs=config)])
    expected = {
        Difference(name, "max.message.bytes", "8388608", "1048588", mendable=True),
        Difference(name, "message.timestamp.type", "LogAppendTime", "CreateTime", mendable=True),
        Difference(name, "cleanup.policy", "compact", "delete", mendable=True),
        Difference(name, "max.compaction.lag.ms", "86400000", "9223372036854775807", mendable=True),
        Difference(name, "segment.ms", "21600000", "604800000", mendable=True),
        # Nobody wrote this one into topics.yaml, so it may not stand on the topic.
        Difference(name, "retention.ms", "the broker's default", "1000", mendable=True),
    }

    found: set[Difference] = set()
    async with asyncio.timeout(10):  # the broker confirms before it has published its metadata
        while found != expected:
            found = set(await check_topics(settings))
    with pytest.raises(TopicMismatch, match=r"canon-ready: cleanup\.policy is delete, topics\.yaml wants compact"):
        await require_topics(settings)
    report = await apply_topics(settings)
    assert set(report.changed) == expected
    assert (report.created, report.unmendable) == ([], [])
    await require_topics(settings)


async def test_partitions_and_replication_are_named_and_left_alone(empty_settings: Settings) -> None:
    await create(empty_settings, "decoded", 3, cleanup_policy="delete")
    name = empty_settings.kafka.topic_prefix + "decoded"
    topic = msgspec.structs.replace(wanted("decoded"), replication_factor=2)
    report = await apply_topics(empty_settings, topics=[topic])
    assert report.created == []
    assert report.unmendable == [
        Difference(name, "partitions", "8", "3", mendable=False),
        Difference(name, "replication.factor", "2", "1", mendable=False),
    ]
    # What can be mended was mended all the same.
    assert await check_topics(empty_settings, topics=[topic]) == report.unmendable


async def test_two_that_apply_at_once_share_the_work(empty_settings: Settings) -> None:
    one, two = await asyncio.gather(apply_topics(empty_settings), apply_topics(empty_settings))
    names = [empty_settings.kafka.topic_prefix + topic.name for topic in load_topics()]
    assert sorted(one.created + two.created) == sorted(names)
    await require_topics(empty_settings)


async def test_what_the_broker_refuses_comes_with_its_words(empty_settings: Settings) -> None:
    too_many = msgspec.structs.replace(wanted("decoded"), replication_factor=9)
    unknown = msgspec.structs.replace(wanted("screened"), config={**wanted("screened").config, "no.such.setting": "1"})
    with pytest.raises(TopicMismatch, match="decoded") as caught:
        await apply_topics(empty_settings, topics=[too_many, unknown])
    assert "eplication factor" in caught.value.message
    assert "no.such.setting" in caught.value.message


async def test_a_change_that_the_broker_refuses_comes_with_its_words(settings: Settings) -> None:
    topic = wanted("decoded")
    wrong = msgspec.structs.replace(topic, config={**topic.config, "segment.ms": "-5"})
    with pytest.raises(TopicMismatch, match=r"change topics: .*decoded.*segment\.ms"):
        await apply_topics(settings, topics=[wrong])


async def test_no_broker_is_said() -> None:
    (port,) = free_ports([0])
    with pytest.raises(BrokerUnavailable, match=str(port)):
        await check_topics(Settings(broker=f"127.0.0.1:{port}"))
