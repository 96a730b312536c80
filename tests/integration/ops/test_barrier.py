"""Waiting for the ledger and the catalog on a real log."""

from __future__ import annotations

import asyncio

from aiokafka import AIOKafkaProducer

from streams.blobs import open_store
from streams.log.client import connection, end_offsets
from streams.log.freshness import Prober, Reads
from streams.ops.barrier import Barrier
from streams.ops.lag import behind, index_progress
from streams.settings import Settings
from tests.integration.runtime.harness import publish, upsert


async def commit_transaction(settings: Settings, topic: str) -> None:
    """A record that nobody can read, and after it a marker that takes an offset and is no record."""
    producer = AIOKafkaProducer(
        **connection(settings, settings.broker), transactional_id=settings.kafka.topic_prefix + topic
    )
    await producer.start()
    try:
        async with producer.transaction():
            await producer.send_and_wait(settings.kafka.topic_prefix + topic, b"x", key=b"share:x", partition=0)
    finally:
        await producer.stop()


async def test_the_end_of_a_transaction_keeps_nobody_waiting(settings: Settings) -> None:
    """At the end of what the ledger reads, and of what the catalog reads."""
    for topic in ("decisions", "canon-ready"):
        await commit_transaction(settings, topic)
    noted: list[str] = []
    async with (
        asyncio.timeout(120),
        Barrier(settings, settings.broker, open_store(settings), noted.append) as barrier,
    ):
        await barrier.passed()
    assert noted == ["No ledger is at work: one is started for this."]
    read = {(at.topic, at.partition): at.offset for at in index_progress(settings, "catalog")}
    assert read["canon-ready", 0] >= 1


async def test_a_record_after_a_marker_is_waited_for(settings: Settings) -> None:
    await commit_transaction(settings, "raw-arrived")
    await publish(settings, "raw-arrived", [upsert("share:1")], 0)
    reads = Reads(settings.kafka.topic_prefix + "canonry-ledger", ("raw-arrived",))
    ends = await end_offsets(settings, settings.broker, reads.topics)
    async with Prober(settings, settings.broker) as prober:
        for position, left in ((0, 3), (1, 2), (2, 1), (3, 0)):
            assert await behind(prober, reads, ends, {reads.group: {("raw-arrived", 0): position}}) == left
