from __future__ import annotations

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from streams.errors import NotFound
from streams.log.client import committed_offsets, connection, end_offsets, partitions, reachable
from streams.settings import Settings


async def test_a_broker_that_is_there(settings: Settings) -> None:
    assert await reachable(settings, settings.broker) >= 1


async def test_end_offsets_and_committed_offsets(settings: Settings) -> None:
    topic = settings.kafka.topic_prefix + "decoded"
    group = settings.kafka.topic_prefix + "canonry-extract"
    producer = AIOKafkaProducer(**connection(settings, settings.broker))
    await producer.start()
    for number in range(3):
        await producer.send_and_wait(topic, str(number).encode(), partition=2)
    await producer.stop()

    assert await partitions(settings, settings.broker, ["decoded"]) == {"decoded": list(range(8))}
    ends = await end_offsets(settings, settings.broker, ["decoded", "versions"])
    assert ends.pop(("decoded", 2)) == 3
    assert set(ends.values()) == {0}
    assert len(ends) == 15

    before = await committed_offsets(settings, settings.broker, group, ["decoded"])
    assert set(before.values()) == {None}
    consumer = AIOKafkaConsumer(**connection(settings, settings.broker), group_id=group, enable_auto_commit=False)
    await consumer.start()
    consumer.assign([TopicPartition(topic, 2)])
    await consumer.commit({TopicPartition(topic, 2): 2})
    await consumer.stop()
    after = await committed_offsets(settings, settings.broker, group, ["decoded"])
    assert after.pop(("decoded", 2)) == 2
    assert set(after.values()) == {None}


async def test_a_topic_that_does_not_exist_is_an_error_and_is_not_created(empty_settings: Settings) -> None:
    for _ in range(2):
        with pytest.raises(NotFound, match="decoded"):
            await end_offsets(empty_settings, empty_settings.broker, ["decoded"])
