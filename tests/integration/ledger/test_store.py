"""States restored from a topic that the broker really compacts."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from streams.errors import BrokerUnavailable, UndecodableMessage
from streams.ledger.store import StateStore
from streams.log.client import admin, connection
from streams.log.topics import apply_topics
from streams.records import Sequence, SourceState, Status
from streams.records.codec import encode
from streams.settings import Settings
from tests.integration.runtime.harness import AGGRESSIVE, committed, failed, publish, read, records, until_async, worker


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


async def compact_aggressively(settings: Settings) -> None:
    async with admin(settings, settings.broker) as client:
        topic = settings.kafka.topic_prefix + "versions"
        await client.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, configs=AGGRESSIVE)])


async def compacted(settings: Settings, versions: Versions, most: int) -> bool:
    """Whether partition 0 has no more records than that, and no tombstone; helps on with a record, for the active
    segment is never cleaned."""
    await versions.put(0, state("share:filler", 1))
    found = [message for message in await read(settings, "versions") if message.partition == 0]
    others = [message for message in found if message.key != b"share:filler"]
    return len(others) < most and all(message.value is not None for message in others)


@pytest.mark.slow
async def test_a_compacted_topic_restores_to_the_newest_states(settings: Settings, versions: Versions) -> None:
    await compact_aggressively(settings)
    expected: dict[str, SourceState] = {}
    for round_ in range(10):
        written = [state(f"share:{n}", round_ * 100 + n) for n in range(round_, 40)]
        await versions.put(0, *written)
        expected |= {item.source_id: item for item in written}
    await versions.put(0, gone=("share:20", "share:21"))
    del expected["share:20"], expected["share:21"]
    total = len([message for message in await read(settings, "versions") if message.partition == 0])

    await until_async(
        lambda: compacted(settings, versions, total // 3), 60, "compaction, tombstones included", every_s=1.1
    )
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


@pytest.mark.slow
async def test_a_ledger_that_was_killed_goes_on_from_a_compacted_topic(
    settings: Settings, versions: Versions, tmp_path: Path
) -> None:
    """Whole histories, although all records but the newest of each document are gone; an erased one begins again."""
    ids = [f"share:{n}" for n in range(20)]
    codes = ("unreadable", "vanished", "broken_link", "too_large", "unreadable")

    async def told(rounds: int, keys: list[str]) -> bool:
        found = dict(await records(settings, "versions"))
        return all(found.get(key) is not None and len(found[key].versions) == rounds for key in keys)

    async def all_done() -> bool:
        return await committed(settings, "ledger", "raw-arrived", 0) == 3 * len(ids)

    with worker(settings, tmp_path / "worker.log", "ledger") as first:
        for code in codes[:3]:
            await publish(settings, "raw-arrived", [failed(key, code) for key in ids], 0)
        await until_async(lambda: told(3, ids), 60, "three versions of each")
        await until_async(all_done, 30, "all committed: what comes again would be part of the new history")
        first.kill()
    await versions.put(0, gone=(ids[0],))
    await compact_aggressively(settings)
    await until_async(lambda: compacted(settings, versions, len(ids) + 5), 60, "compaction", every_s=1.1)
    await apply_topics(settings)  # a worker refuses to start on a topic with other settings
    with worker(settings, tmp_path / "worker.log", "ledger"):
        for code in codes[3:]:
            await publish(settings, "raw-arrived", [failed(key, code) for key in ids], 0)
        await until_async(lambda: told(5, ids[1:]), 60, "five versions of each")
        await until_async(lambda: told(2, ids[:1]), 10, "a new history")
    found = dict(await records(settings, "versions"))
    for key in ids[1:]:
        assert [version.screening.problems[0] for version in found[key].versions] == list(codes)


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
