"""The SDK against a real broker: commits, rebalances, missed deletes, messages that are none."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from streams.blobs import BlobStore, open_store
from streams.consumers.reader import NOTE_REBUILD, RecordConsumer, consumer_group
from streams.consumers.sdk import CanonConsumer, Delete, RebuildNeeded, Upsert
from streams.errors import BrokerUnavailable, NotFound, UsageError
from streams.log.client import admin, connection, partitions
from streams.records.codec import encode
from streams.settings import Settings
from tests.integration.consumers.log import open_log, read_all
from tests.integration.runtime.harness import AGGRESSIVE, read, until_async
from tests.unit.consumers.make import body, canon, held, paragraph, state, version


@pytest.fixture
def store(settings: Settings) -> BlobStore:
    return open_store(settings)


async def snapshot(
    settings: Settings, store: BlobStore, *, commit: bool = True, **options: Any
) -> list[tuple[str, str]]:
    """All changes until caught up, as (kind, source_id)."""
    found: list[tuple[str, str]] = []
    async with (
        asyncio.timeout(60),
        CanonConsumer("test", settings, broker=settings.broker, store=store, **options) as consumer,
    ):
        async for batch in consumer.batches(max_records=2):
            for change in batch:
                match change:
                    case Upsert(canon=made):
                        found.append(("upsert", made.source_id))
                    case Delete(source_id=source_id):
                        found.append(("delete", source_id))
            if commit:
                assert await batch.commit()
            if batch.caught_up:
                break
    return found


async def set_commits(settings: Settings, note: str, offset: Callable[[int], int] = lambda end: end) -> None:
    """Commits offsets for the group `test`, as somebody else would; `offset` is given the end of each partition."""
    numbers = (await partitions(settings, settings.broker, ["canon-ready"]))["canon-ready"]
    keys = [TopicPartition(settings.kafka.topic_prefix + "canon-ready", number) for number in numbers]
    group = consumer_group("test", settings.kafka.topic_prefix)
    consumer = AIOKafkaConsumer(**connection(settings, settings.broker), group_id=group, enable_auto_commit=False)
    consumer.assign(keys)
    await consumer.start()
    try:
        ends = await consumer.end_offsets(keys)
        await consumer.commit({key: (offset(end), note) for key, end in ends.items()})
    finally:
        await consumer.stop()


def old() -> str:
    return (datetime.now(UTC) - timedelta(days=8)).isoformat()


async def test_an_empty_topic_is_caught_up_at_once(settings: Settings, store: BlobStore) -> None:
    assert await snapshot(settings, store) == []


async def test_a_crash_before_the_commit_repeats_and_loses_nothing(settings: Settings, store: BlobStore) -> None:
    async with open_log(settings) as log:
        await log.write("canon-ready", *(canon(f"{i}") for i in range(7)))
    expected = sorted(("upsert", f"s:{i}") for i in range(7))
    assert sorted(await snapshot(settings, store, commit=False)) == expected
    assert sorted(await snapshot(settings, store)) == expected
    assert await snapshot(settings, store) == []
    assert sorted(await snapshot(settings, store, from_start=True)) == expected


async def test_a_big_canon_comes_from_the_store(settings: Settings, store: BlobStore) -> None:
    text = body(paragraph("big words"))
    made = canon("big", "big words", inline=False)
    store.put(made.payload.key, encode(body(paragraph("big words"), content="bigbig words")))
    async with asyncio.timeout(60), open_log(settings) as log:
        await log.write("canon-ready", made)
        async with CanonConsumer("test", settings, broker=settings.broker, store=store) as consumer:
            async for batch in consumer.batches():
                for change in batch:
                    assert isinstance(change, Upsert)
                    assert (await change.body()).blocks == text.blocks
                    return


async def test_what_is_no_record_goes_to_dead_letter_and_reading_goes_on(settings: Settings, store: BlobStore) -> None:
    async with open_log(settings) as log:
        await log.raw("canon-ready", b"s:a", b"nonsense", 0)
        await log.raw("canon-ready", b"s:b", encode(canon("other")), 0)
        await log.raw("canon-ready", b"\xff", b"x" * 1_000_000, 0)
        await log.raw("canon-ready", b"s:c", encode(canon("c")), 0)
    assert await snapshot(settings, store) == [("upsert", "s:c")]
    dead = await read_all(settings, "dead-letter", 3)
    by_offset = {dict(message.headers)["__streams.errors.offset"]: message for message in dead}
    first = by_offset[b"0"]
    headers = dict(first.headers)
    assert (first.key, first.value) == (b"s:a", b"nonsense")
    assert headers["reason_code"] == b"undecodable_message"
    assert headers["__streams.errors.topic"] == f"{settings.kafka.topic_prefix}canon-ready".encode()
    assert headers["stage"] == b"consumer-test"
    second, large = dict(by_offset[b"1"].headers), by_offset[b"2"]
    assert second["__streams.errors.message"].startswith(b"The record of 's:other' stands under")
    assert (large.key, large.value) == (b"\xff", b"x" * len(large.value))
    assert len(large.value) == 1_000_000 or dict(large.headers)["truncated_from_bytes"] == b"1000000"
    assert await snapshot(settings, store) == [], "each was committed"


async def test_away_too_long_without_known_ids_refuses_to_go_on(settings: Settings, store: BlobStore) -> None:
    async with open_log(settings) as log:
        await log.write("canon-ready", canon("a"))
        await set_commits(settings, old(), lambda end: 0)
    with pytest.raises(RebuildNeeded, match="known_ids"):
        await snapshot(settings, store)
    assert await snapshot(settings, store, from_start=True) == [("upsert", "s:a")]


async def test_away_too_long_reads_all_and_deletes_what_the_log_no_longer_has(
    settings: Settings, store: BlobStore
) -> None:
    async with open_log(settings) as log:
        await log.write("canon-ready", *(canon(name) for name in "abcdef"), gone=("s:f",))
    await set_commits(settings, old(), lambda end: max(0, end - 1))
    found = await snapshot(settings, store, known_ids=lambda: ["s:a", "s:f", "s:ghost"])
    assert sorted(set(found)) == [
        ("delete", "s:f"),
        ("delete", "s:ghost"),
        *(("upsert", f"s:{name}") for name in "abcdef"),
    ]
    assert found[-2:] == [("delete", "s:f"), ("delete", "s:ghost")]
    assert await snapshot(settings, store, known_ids=lambda: ["s:a", "s:new-ghost"]) == [], "the commit counts again"


@pytest.mark.slow
async def test_a_delete_whose_null_is_gone_from_the_log_is_found_by_comparing(
    settings: Settings, store: BlobStore
) -> None:
    """A really compacted topic: nothing in it says any more that the document ever was, or was deleted."""
    topic = settings.kafka.topic_prefix + "canon-ready"
    async with admin(settings, settings.broker) as client:
        await client.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, configs=AGGRESSIVE)])
    async with open_log(settings) as log:
        await log.write("canon-ready", *(canon(name) for name in "abcdef"))
        index = {source_id for _, source_id in await snapshot(settings, store, known_ids=list)}
        assert index == {f"s:{name}" for name in "abcdef"}
        await log.write("canon-ready", gone=("s:b",))
        partition = next(m.partition for m in await read(settings, "canon-ready") if m.value is None)

        async def forgotten() -> bool:
            await log.raw("canon-ready", b"s:filler", encode(canon("filler")), partition)  # the active segment stays
            return b"s:b" not in {message.key for message in await read(settings, "canon-ready")}

        await until_async(forgotten, 90, "the null is cleaned away", every_s=1.1)
    with pytest.raises(RebuildNeeded, match="known_ids"):
        await snapshot(settings, store)
    found = await snapshot(settings, store, known_ids=lambda: index)
    assert found[-1] == ("delete", "s:b")
    assert [source_id for kind, source_id in found if kind == "delete"] == ["s:b"]
    assert {source_id for kind, source_id in found if kind == "upsert"} == index - {"s:b"} | {"s:filler"}


async def test_a_rebuild_that_was_broken_off_begins_again(settings: Settings, store: BlobStore) -> None:
    async with asyncio.timeout(60), open_log(settings) as log:
        await log.write("canon-ready", *(canon(name) for name in "abcdef"))
        await set_commits(settings, old(), lambda end: max(0, end - 1))
        async with CanonConsumer(
            "test", settings, broker=settings.broker, store=store, known_ids=lambda: ["s:ghost"]
        ) as consumer:
            async for batch in consumer.batches(max_records=2):
                assert consumer.rebuilding
                assert await batch.commit()
                break
    found = await snapshot(settings, store, known_ids=lambda: ["s:ghost"])
    assert len([kind for kind, _ in found if kind == "upsert"]) == 6
    assert found[-1] == ("delete", "s:ghost")


async def test_an_index_whose_group_was_forgotten_is_swept(settings: Settings, store: BlobStore) -> None:
    async with open_log(settings) as log:
        await log.write("canon-ready", canon("a"))
    assert await snapshot(settings, store, known_ids=lambda: ["s:ghost"]) == [("upsert", "s:a"), ("delete", "s:ghost")]


async def test_the_commit_says_until_when_all_is_known(settings: Settings, store: BlobStore) -> None:
    started = datetime.now(UTC).replace(microsecond=0)
    async with open_log(settings) as log:
        await log.write("canon-ready", canon("a"))
    await snapshot(settings, store)
    async with RecordConsumer("test", ["canon-ready"], settings, broker=settings.broker) as consumer:
        notes = await consumer._admin.list_consumer_group_offsets(consumer.group)
    assert len(notes) == 8
    for note in notes.values():
        assert started <= datetime.fromisoformat(note.metadata) <= datetime.now(UTC)
        assert note.metadata != NOTE_REBUILD


async def test_a_second_member_takes_over_and_late_commits_don_t_count(settings: Settings) -> None:
    async with asyncio.timeout(90), open_log(settings) as log:
        await log.write("canon-ready", *(canon(f"{i}") for i in range(40)))
        async with RecordConsumer("test", ["canon-ready"], settings, broker=settings.broker) as first:
            batches = first.batches(timeout_s=0.2)
            late = await anext(batches)
            async with RecordConsumer("test", ["canon-ready"], settings, broker=settings.broker) as second:
                seen: set[str] = set()
                moved = asyncio.Event()

                async def read(consumer: RecordConsumer) -> None:
                    async for batch in consumer.batches(timeout_s=0.2):
                        seen.update(record.key for record in batch.records)
                        if await batch.commit() and len(seen) == 40:
                            moved.set()

                readers = [asyncio.create_task(read(consumer)) for consumer in (first, second)]
                await moved.wait()
                assert await late.commit() is False
                assert first._ready
                assert second._ready
                assert len(first._ready) + len(second._ready) == 8
                for task in readers:
                    task.cancel()
                await asyncio.gather(*readers, return_exceptions=True)


async def test_a_small_document_is_there_at_once(settings: Settings) -> None:
    delays: list[float] = []
    async with (
        asyncio.timeout(60),
        open_log(settings) as log,
        RecordConsumer("test", ["canon-ready", "versions"], settings, broker=settings.broker) as consumer,
    ):
        batches = consumer.batches()
        await anext(batches)  # caught up with nothing
        for i in range(30):
            await log.write("canon-ready", canon(f"{i}"))
            written = asyncio.get_running_loop().time()
            batch = await anext(batches)
            delays.append(asyncio.get_running_loop().time() - written)
            assert [record.key for record in batch.records] == [f"s:{i}"]
    assert sorted(delays)[len(delays) // 2] < 0.2, delays


async def test_an_idle_consumer_says_again_that_it_knows_all(settings: Settings) -> None:
    async with (
        asyncio.timeout(30),
        RecordConsumer("test", ["canon-ready"], settings, broker=settings.broker) as consumer,
    ):
        batches = consumer.batches(timeout_s=0.05, idle_s=0.2)
        first, second = await anext(batches), await anext(batches)
    assert first.records == second.records == []
    assert all(second.fresh_at[place] > first.fresh_at[place] for place in first.fresh_at)


async def test_several_topics_with_their_records(settings: Settings) -> None:
    async with asyncio.timeout(60), open_log(settings) as log:
        await log.write("versions", state("a", version(1)))
        await log.write("quarantine", held("a", "bomb"), gone=("s:b",))
        found = set()
        async with RecordConsumer("test", ["versions", "quarantine"], settings, broker=settings.broker) as consumer:
            async for batch in consumer.batches():
                found |= {(r.topic, r.key, type(r.record).__name__) for r in batch.records}
                if len(found) == 3:
                    break
    assert found == {
        ("versions", "s:a", "SourceState"),
        ("quarantine", "s:a", "Quarantined"),
        ("quarantine", "s:b", "NoneType"),
    }


async def test_wrong_topics_and_no_broker_are_clear_errors(settings: Settings) -> None:
    with pytest.raises(UsageError, match="nonsense can't be consumed"):
        RecordConsumer("test", ["nonsense"], settings, broker=settings.broker)
    missing = settings.model_copy(update={"kafka": settings.kafka.model_copy(update={"topic_prefix": "missing-"})})
    with pytest.raises(NotFound, match="missing-canon-ready"):
        async with RecordConsumer("test", ["canon-ready"], missing, broker=settings.broker):
            pass
    with pytest.raises(BrokerUnavailable):
        async with RecordConsumer("test", ["canon-ready"], settings, broker="127.0.0.1:1"):
            pass


async def test_a_position_beyond_the_log_is_looked_at_again(settings: Settings) -> None:
    """As after records were deleted under the reader's feet."""
    async with asyncio.timeout(60), open_log(settings) as log:
        await log.write("canon-ready", *(canon(f"{i}") for i in range(20)))
        async with RecordConsumer("test", ["canon-ready"], settings, broker=settings.broker) as consumer:
            batches = consumer.batches(timeout_s=0.2)
            seen = {record.key for record in (await anext(batches)).records}
            for key in consumer._ready:
                consumer._consumer.seek(key, 1_000)
            while len(seen) < 20:
                seen |= {record.key for record in (await anext(batches)).records}
