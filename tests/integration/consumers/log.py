"""A small writer of records for the tests of consumers, as the ledger would be."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from streams.log.client import connection
from streams.records import Provenance, Record
from streams.records.codec import encode
from streams.settings import Settings


class Log:
    """Confirmed records on the topics of a test."""

    def __init__(self, settings: Settings, producer: Any) -> None:
        self._prefix = settings.kafka.topic_prefix
        self._producer = producer

    async def write(self, topic: str, *records: Record, gone: tuple[str, ...] = ()) -> None:
        """Records, then tombstones; returns when the broker has them."""
        sent = []
        for record in records:
            key = record.content_hash if isinstance(record, Provenance) else getattr(record, "source_id", "")
            sent.append(await self._producer.send(self._prefix + topic, encode(record), key=key.encode()))
        sent.extend([await self._producer.send(self._prefix + topic, None, key=key.encode()) for key in gone])
        await asyncio.gather(*sent)

    async def raw(self, topic: str, key: bytes, value: bytes, partition: int) -> None:
        await self._producer.send_and_wait(self._prefix + topic, value, key=key, partition=partition)


@asynccontextmanager
async def open_log(settings: Settings) -> AsyncIterator[Log]:
    producer = AIOKafkaProducer(
        **connection(settings, settings.broker), acks="all", linger_ms=2, max_request_size=1_040_000
    )
    await producer.start()
    try:
        yield Log(settings, producer)
    finally:
        await producer.stop()


async def read_all(settings: Settings, topic: str, count: int, timeout_s: float = 20) -> list[Any]:
    """The first `count` messages of a topic."""
    consumer = AIOKafkaConsumer(
        settings.kafka.topic_prefix + topic, **connection(settings, settings.broker), auto_offset_reset="earliest"
    )
    await consumer.start()
    try:
        async with asyncio.timeout(timeout_s):
            return [await consumer.getone() for _ in range(count)]
    finally:
        await consumer.stop()


async def until(condition: Callable[[], bool], timeout_s: float = 20) -> None:
    """Returns as soon as the condition holds."""
    async with asyncio.timeout(timeout_s):
        while not condition():  # noqa: ASYNC110 - what is waited for is in a database
            await asyncio.sleep(0.01)
