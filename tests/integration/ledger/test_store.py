"""States restored from a topic that the broker really compacts."""

from __future__ import annotations

import time
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from streams.errors import BrokerUnavailable, UndecodableMessage
from streams.ledger.store import StateStore
from streams.log.client import admin, connection
from streams.records import Sequence, SourceState, Status
from streams.records.codec import encode
from streams.settings import Settings
from tests.integration.runtime.harness import AGGRESSIVE, read, until_async


def state(source_id: str, offset: int) -> SourceState:
    return SourceState(
        source_id=source_id,
        status=Status.LIVE,
        high_water=Sequence(epoch=1, offset=offset),
        path=f"in/{source_id}",
        readers=["staff"],
    )


class Versions:
    """A writer of `versions`."""

    def __init__(self, settings: Settings, producer: Any) -> None:
        self._topic = settings.kafka.topic_prefix + "versions"
        self._producer = producer

    async def put(self, partition: int, *states: SourceState, gone: tuple[str, ...] = ()) -> None:
        for item in states:
            await self._producer.send(self._topic, encode(item), key=item.source_id.encode(), partition=partition)
        for source_id in gone:
            await self._producer.send(self._topic, None, key=source_id.encode(), partition=partition)
        await self._producer.flush()

    async def raw(self, partition: int, key: bytes, value: bytes) -> None:
        await self._producer.send_and_wait(self._topic, value, key=key, partition=partition)


@pytest.fixture
async def versions(settings: Settings) -> Any:
    producer = AIOKafkaProducer(**connection(settings, settings.broker), acks="all", linger_ms=5)
    await producer.start()
    yield Versions(settings, producer)
    await producer.stop()


def content(store: StateStore, partition: int) -> dict[str, SourceState]:
    return {
        key.decode(): found
        for key in store._states[partition]
        if (found := store.get(partition, key.decode())) is not None
    }


@pytest.mark.slow
async def test_a_compacted_topic_restores_to_the_newest_states(settings: Settings, versions: Versions) -> None:
    topic = settings.kafka.topic_prefix + "versions"
    async with admin(settings, settings.broker) as client:
        await client.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, configs=AGGRESSIVE)])
    expected: dict[str, SourceState] = {}
    for round_ in range(10):
        written = [state(f"share:{n}", round_ * 100 + n) for n in range(round_, 40)]
        await versions.put(0, *written)
        expected |= {item.source_id: item for item in written}
    await versions.put(0, gone=("share:20", "share:21"))
    del expected["share:20"], expected["share:21"]
    total = len([message for message in await read(settings, "versions") if message.partition == 0])

    async def compacted() -> bool:
        await versions.put(0, state("share:filler", 1))  # rolls the segment; the active one is never cleaned
        found = [message for message in await read(settings, "versions") if message.partition == 0]
        others = [message for message in found if message.key != b"share:filler"]
        return len(others) < total / 3 and all(message.value is not None for message in others)

    await until_async(compacted, 60, "compaction, tombstones included", every_s=1.1)
    expected["share:filler"] = state("share:filler", 1)
    store = StateStore(settings, settings.broker)
    started = time.monotonic()
    await store.restore({0, 5})
    assert time.monotonic() - started < 10
    assert content(store, 0) == expected
    assert content(store, 5) == {}

    # What is written afterwards, by us or by another owner in between, is read on from there.
    await versions.put(0, state("share:0", 9999), gone=("share:1",))
    await versions.put(5, state("share:five", 1))
    store.put(0, state("share:2", 7777))
    await versions.put(0, state("share:2", 7777))
    await store.restore({0, 5})
    expected |= {"share:0": state("share:0", 9999), "share:2": state("share:2", 7777)}
    del expected["share:1"]
    assert content(store, 0) == expected
    assert content(store, 5) == {"share:five": state("share:five", 1)}

    await store.restore({5})
    assert len(store) == 1
    with pytest.raises(KeyError):  # a partition that is not ours has no states, rather than empty ones
        store.get(0, "share:0")
    await store.restore({0, 5})
    assert content(store, 0) == expected
    await store.restore(set())
    assert len(store) == 0


async def test_a_damaged_record_shows_when_its_document_is_used(settings: Settings, versions: Versions) -> None:
    await versions.raw(0, b"share:damaged", b"\xc3\x01nonsense")
    await versions.put(0, state("share:good", 1))
    store = StateStore(settings, settings.broker)
    await store.restore({0})
    assert store.get(0, "share:good") == state("share:good", 1)
    assert store.get(0, "share:never seen") is None
    with pytest.raises(UndecodableMessage):
        store.get(0, "share:damaged")


async def test_without_a_broker_nothing_counts_as_restored(settings: Settings) -> None:
    store = StateStore(settings, "127.0.0.1:1")
    with pytest.raises(BrokerUnavailable):
        await store.restore({0})
