"""Topics of a benchmark's own beside those of its runs, read and filled directly."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from bench.world import World
from streams.log.client import connection, partitions
from streams.log.topics import apply_topics
from streams.settings import Settings


class Message(NamedTuple):
    """A message to publish where it stood."""

    partition: int
    key: bytes
    value: bytes
    headers: list[tuple[str, bytes]]


def under_prefix(world: World, prefix: str) -> Settings:
    """The world's settings with topics and groups of another prefix, which exist afterwards."""
    kafka = world.settings.kafka.model_copy(update={"topic_prefix": prefix})
    settings = world.settings.model_copy(update={"broker": world.address, "kafka": kafka})
    asyncio.run(apply_topics(settings, world.address))
    return settings


async def read_topic(settings: Settings, topic: str) -> list[Message]:
    """All messages up to the high watermark of now, partition by partition, tombstones left out."""
    name = settings.kafka.topic_prefix + topic
    numbers = (await partitions(settings, settings.broker, [topic]))[topic]
    tps = [TopicPartition(name, number) for number in numbers]
    consumer = AIOKafkaConsumer(**connection(settings, settings.broker), enable_auto_commit=False)
    await consumer.start()
    try:
        consumer.assign(tps)
        await consumer.seek_to_beginning(*tps)
        ends = await consumer.end_offsets(tps)
        found: dict[Any, list[Message]] = {tp: [] for tp in tps}
        while any([await consumer.position(tp) < ends[tp] for tp in tps]):
            for tp, messages in (await consumer.getmany(timeout_ms=200)).items():
                found[tp] += [
                    Message(m.partition, m.key, m.value, list(m.headers)) for m in messages if m.value is not None
                ]
        return [message for tp in tps for message in found[tp]]
    finally:
        await consumer.stop()


@asynccontextmanager
async def filling(settings: Settings) -> AsyncIterator[Any]:
    """A producer for many records: send without waiting, all are confirmed at the end."""
    producer = AIOKafkaProducer(
        **connection(settings, settings.broker),
        acks="all",
        linger_ms=20,
        max_batch_size=512 * 1024,
        max_request_size=1_000_000,
    )
    await producer.start()
    try:
        yield producer
        await producer.flush()
    finally:
        await producer.stop()


async def publish(settings: Settings, topic: str, messages: Iterable[Message]) -> int:
    """Publishes messages in the partitions that they name; how many."""
    name = settings.kafka.topic_prefix + topic
    async with filling(settings) as producer:
        sent = [
            await producer.send(name, m.value, key=m.key, partition=m.partition, headers=m.headers) for m in messages
        ]
        await asyncio.gather(*sent)
    return len(sent)
