"""Offsets set back on a real broker: what comes again is marked, and nobody's work is disturbed."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import RecordsToDelete
from aiokafka.structs import OffsetAndMetadata

from streams.log.client import admin, committed_offsets, connection
from streams.ops import replay
from streams.ops.replay import GroupActive, ReplayNotApplied, Where, apply, plan
from streams.records import Lane
from streams.records.headers import read_context
from streams.settings import Settings
from streams.topology import STAGES, group_id
from tests.integration.runtime.harness import (
    Probe,
    committed,
    publish,
    read,
    stage_app,
    until,
    until_async,
    upsert,
)

DECODE = STAGES["decode"]
IDS = [f"share:{number}" for number in range(6)]


async def done_once(settings: Settings, ids: list[str] = IDS) -> None:
    """The events are done and committed, and the stage is stopped."""
    await publish(settings, "raw-arrived", map(upsert, ids), 0)
    async with stage_app(settings, Probe(), DECODE) as app:
        await until(lambda: app.done == len(ids))
    assert await committed(settings, "decode", "raw-arrived", 0) == len(ids)


async def metadata(settings: Settings, partition: int = 0) -> str:
    consumer = AIOKafkaConsumer(
        **connection(settings, settings.broker), group_id=group_id("decode", settings.kafka.topic_prefix)
    )
    await consumer.start()
    try:
        tp = TopicPartition(settings.kafka.topic_prefix + "raw-arrived", partition)
        found: str = (await consumer._coordinator.fetch_committed_offsets([tp]))[tp].metadata
        return found
    finally:
        await consumer.stop()


async def contexts(settings: Settings, after: int = 0) -> dict[str, tuple[Lane, str]]:
    """Lane and run of what was published on `decoded`, the last one of each document."""
    return {
        message.key.decode(): (context.lane, context.run_id)
        for message in (await read(settings, "decoded"))[after:]
        for context in [read_context(message.headers)]
    }


async def test_replayed_events_are_marked_up_to_where_the_stage_was_and_no_further(settings: Settings) -> None:
    await done_once(settings)
    applied = await apply(settings, settings.broker, "decode", Where(offset=2))
    assert applied.plan.events == 4
    assert applied.read_back == {("raw-arrived", 0): 2}
    assert await committed(settings, "decode", "raw-arrived", 0) == 2
    await publish(settings, "raw-arrived", map(upsert, ["share:new", "share:newer"]), 0)
    async with stage_app(settings, Probe(), DECODE) as app:
        await until(lambda: app.done == 6)
        await until_async(lambda: is_committed(settings, 8), what="all committed")
    again = await contexts(settings, after=6)
    replayed = (Lane.REPLAY, applied.run_id)
    live = (Lane.LIVE, "run-7")
    assert again == {**dict.fromkeys(IDS[2:], replayed), "share:new": live, "share:newer": live}
    assert await metadata(settings) == ""


async def is_committed(settings: Settings, offset: int) -> bool:
    return await committed(settings, "decode", "raw-arrived", 0) == offset


async def test_the_mark_outlives_the_worker_in_the_middle_of_a_replay(settings: Settings) -> None:
    await done_once(settings)
    applied = await apply(settings, settings.broker, "decode", Where())
    first = Probe()
    first.slow[IDS[3]] = asyncio.Event()
    async with stage_app(settings, first, DECODE, drain_s=0.1) as app:
        await until(lambda: app.done == 5)
        await until_async(lambda: is_committed(settings, 3), what="what is done without a gap")
        assert applied.run_id in await metadata(settings)
    async with stage_app(settings, Probe(), DECODE) as app:
        await until(lambda: app.done == 3)
    assert await contexts(settings, after=6) == dict.fromkeys(IDS, (Lane.REPLAY, applied.run_id))
    # A second replay of a part keeps the mark of what the first one had still before it.
    await apply(settings, settings.broker, "decode", Where())
    (half,) = (await plan(settings, settings.broker, "decode", Where(offset=4))).moved
    assert (half.committed, half.to, half.done, half.events) == (0, 4, 6, 2)


async def everything_committed(settings: Settings) -> bool:
    found = await committed_offsets(
        settings, settings.broker, group_id("decode", settings.kafka.topic_prefix), ["raw-arrived"]
    )
    return set(found.values()) == {5}


async def test_a_worker_that_takes_over_in_the_middle_knows_of_the_replay(settings: Settings) -> None:
    ids = [f"share:{number}" for number in range(40)]
    for partition in range(8):
        await publish(settings, "raw-arrived", map(upsert, ids[partition * 5 : partition * 5 + 5]), partition)
    async with stage_app(settings, Probe(), DECODE) as app:
        await until(lambda: app.done == 40)
    applied = await apply(settings, settings.broker, "decode", Where())
    assert applied.plan.events == 40
    probes = [Probe(), Probe()]
    gate = asyncio.Event()
    for probe in probes:
        probe.slow = {ids[partition * 5 + 2]: gate for partition in range(8)}
    async with stage_app(settings, probes[0], DECODE) as one:
        await until(lambda: one.done == 32)
        async with stage_app(settings, probes[1], DECODE) as two:
            await until(lambda: len(one.assigned) == len(two.assigned) == 4)
            gate.set()
            await until_async(lambda: everything_committed(settings), what="the whole replay")
            assert probes[1].ended
    assert await contexts(settings) == dict.fromkeys(ids, (Lane.REPLAY, applied.run_id))


async def test_a_stage_at_work_is_left_alone(settings: Settings) -> None:
    await publish(settings, "raw-arrived", map(upsert, IDS), 0)
    async with stage_app(settings, Probe(), DECODE) as app:
        await until(lambda: app.done == 6)
        await until_async(lambda: is_committed(settings, 6), what="all committed")
        assert len((await plan(settings, settings.broker, "decode", Where())).members) == 1
        with pytest.raises(GroupActive, match=r"at work: the client canonry at .*Stop it first"):
            await apply(settings, settings.broker, "decode", Where())
        assert await committed(settings, "decode", "raw-arrived", 0) == 6


async def test_a_worker_that_joins_after_the_look_is_noticed(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    await publish(settings, "raw-arrived", map(upsert, IDS), 0)

    async def nobody(*_: Any) -> list[Any]:
        return []

    async with stage_app(settings, Probe(), DECODE) as app:
        await until(lambda: app.done == 6)
        await until_async(lambda: is_committed(settings, 6), what="all committed")
        monkeypatch.setattr(replay, "members", nobody)
        with pytest.raises(ReplayNotApplied, match="joined the group"):
            await apply(settings, settings.broker, "decode", Where())
        assert await committed(settings, "decode", "raw-arrived", 0) == 6
        assert await metadata(settings) == ""


async def test_what_another_commits_right_afterwards_is_no_success(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    await done_once(settings)

    class Overtaken(AIOKafkaConsumer):  # type: ignore[misc]
        async def commit(self, offsets: Any = None) -> None:
            await super().commit(offsets)
            await super().commit({tp: OffsetAndMetadata(6, "") for tp in offsets})

    monkeypatch.setattr(replay, "AIOKafkaConsumer", Overtaken)
    with pytest.raises(ReplayNotApplied, match="set back to 0, and now stands at 6"):
        await apply(settings, settings.broker, "decode", Where())


async def test_a_replay_skips_nothing_and_says_what_retention_removed(settings: Settings) -> None:
    await done_once(settings)
    await publish(settings, "raw-arrived", map(upsert, IDS), 0)  # not read yet
    later = await plan(settings, settings.broker, "decode", Where(offset=9))
    assert (later.moved, later.events, later.warnings) == ([], 0, [])
    assert (await apply(settings, settings.broker, "decode", Where(offset=9))).read_back == {}
    assert await committed(settings, "decode", "raw-arrived", 0) == 6
    async with admin(settings, settings.broker) as client:
        tp = TopicPartition(settings.kafka.topic_prefix + "raw-arrived", 0)
        await client.delete_records({tp: RecordsToDelete(before_offset=4)})
    (reset,) = (found := await plan(settings, settings.broker, "decode", Where())).moved
    assert (reset.committed, reset.to, reset.events, reset.removed) == (6, 4, 2, 4)
    assert found.warnings == ["raw-arrived 0: begins at offset 4; retention removed 4 events."]
    long_ago = await plan(settings, settings.broker, "decode", Where(time=datetime.now(UTC) - timedelta(days=1)))
    assert [r.to for r in long_ago.moved] == [4]
    assert "after that time" in long_ago.warnings[0]
    before_computers = await plan(settings, settings.broker, "decode", Where(time=datetime(1, 1, 1, tzinfo=UTC)))
    assert before_computers.resets == long_ago.resets
    tomorrow = await plan(settings, settings.broker, "decode", Where(time=datetime.now(UTC) + timedelta(days=1)))
    assert tomorrow.moved == []


async def test_a_stage_that_never_worked_has_nothing_to_do_again(settings: Settings) -> None:
    await publish(settings, "raw-arrived", map(upsert, IDS), 0)
    found = await plan(settings, settings.broker, "decode", Where())
    assert (found.members, found.moved, found.warnings) == ([], [], [])
