"""Two processes of one stage: what moves between them is done once, and nobody publishes for the past."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import pytest

from streams.runtime.messages import Outgoing
from streams.runtime.producer import Producer
from streams.runtime.stage import StageApp
from streams.settings import Settings
from tests.integration.runtime.harness import (
    PROBE,
    Probe,
    committed,
    publish,
    records,
    stage_app,
    until,
    until_async,
    upsert,
)

PARTITIONS = range(8)


async def one_event_in_each_partition(settings: Settings) -> list[str]:
    ids = [f"share:{partition}" for partition in PARTITIONS]
    for partition, source_id in zip(PARTITIONS, ids, strict=True):
        await publish(settings, "raw-arrived", [upsert(source_id)], partition)
    return ids


async def all_committed(settings: Settings) -> bool:
    return [await committed(settings, "probe", "raw-arrived", partition) for partition in PARTITIONS] == [1] * 8


@pytest.mark.parametrize("keeps_state", [False, True])
async def test_work_that_runs_through_a_rebalance_is_published_once(settings: Settings, keeps_state: bool) -> None:
    ids = await one_event_in_each_partition(settings)
    first, second = Probe(), Probe()
    first.keeps_state = second.keeps_state = keeps_state
    gates = asyncio.Event(), asyncio.Event()
    first.slow, second.slow = dict.fromkeys(ids, gates[0]), dict.fromkeys(ids, gates[1])
    async with stage_app(settings, first) as one:
        await until(lambda: len(first.began) == 8)
        async with stage_app(settings, second) as two:
            await until(lambda: len(one.assigned) == 4 and len(two.assigned) == 4, what="half of the partitions each")
            assert one.assigned.isdisjoint(two.assigned)
            await until(lambda: len(second.began) == 4, what="the moved events")
            # What stayed is delivered again; without state it attaches to the job that is still running.
            await until(
                lambda: sum(job.generation == one.app.consumer_generation_id for job in one._running.values()) == 4,
                what="what stayed, in the new generation",
            )
            assert len(first.began) == 8
            gates[0].set()
            await until(lambda: one.done == 4)
            await until(lambda: one.active == 0)
            assert len(first.began) == (12 if keeps_state else 8)
            assert (await published(settings)) == sorted(first_keeps(one, ids))
            gates[1].set()
            await until(lambda: two.done == 4)
            await until_async(lambda: all_committed(settings), what="all committed")
            assert (one.failure, two.failure) == (None, None)
    assert await published(settings) == ids


@pytest.mark.parametrize("keeps_state", [False, True])
async def test_a_second_worker_that_leaves_in_the_middle_of_a_document_changes_nothing(
    settings: Settings, keeps_state: bool
) -> None:
    """Jobs begun before it came are still running when their events come back from it."""
    ids = await one_event_in_each_partition(settings)
    first, second = Probe(), Probe()
    first.keeps_state = second.keeps_state = keeps_state
    gates = asyncio.Event(), asyncio.Event()
    first.slow, second.slow = dict.fromkeys(ids, gates[0]), dict.fromkeys(ids, gates[1])
    async with stage_app(settings, first) as one:
        await until(lambda: len(first.began) == 8)
        async with stage_app(settings, second, drain_s=0.1) as two:
            await until(lambda: len(second.began) == 4, what="the moved events")
            assert [await committed(settings, "probe", "raw-arrived", n) for n in PARTITIONS] == [None] * 8
        assert (two.done, second.ended, await published(settings)) == (0, [], [])
        await until(lambda: len(one.assigned) == 8, what="all partitions again")
        await until(
            lambda: (
                len(one._running) == 8
                and all(job.generation == one.app.consumer_generation_id for job in one._running.values())
            ),
            what="all events, in the new generation",
        )
        gates[0].set()
        await until_async(lambda: all_committed(settings), what="all committed")
        assert one.done == 8
        assert (one.failure, two.failure) == (None, None)
        assert one.active == 0
    assert await published(settings) == ids
    if not keeps_state:
        assert sorted(first.began) == ids  # attached, not done again


async def test_a_hand_over_that_takes_long_costs_no_membership(settings: Settings) -> None:
    """aiokafka leaves the group, for ever, when no poll has come for as long as `broker_max_poll_interval` says."""
    one_at_a_time = settings.model_copy(update={"worker": settings.worker.model_copy(update={"in_flight": 1})})
    ids = [f"share:{n}" for n in range(480)]  # every partition's buffer is full, so that Faust polls no more
    for partition in PARTITIONS:
        await publish(settings, "raw-arrived", map(upsert, ids[partition::8]), partition)
    probe = Probe()
    gate = asyncio.Event()
    probe.slow = dict.fromkeys(ids, gate)
    async with stage_app(one_at_a_time, probe) as app:
        await until(lambda: len(probe.began) == 1)
        generation = app.app.consumer_generation_id
        consumer = app.app.consumer._thread._consumer
        await until(lambda: consumer._subscription.fetcher_idle_time > 4, what="time without a poll")
        assert consumer._coordinator._max_poll_interval > 7 * 86400  # no document takes as long
        gate.set()
        await until(lambda: app.done == len(ids), 60, "all documents")
        assert app.app.consumer_generation_id == generation


def first_keeps(app: StageApp, ids: list[str]) -> list[str]:
    return [ids[partition] for _, partition in app.assigned]


async def published(settings: Settings) -> list[str]:
    return sorted(key for key, _ in await records(settings, "decoded"))


class SlowProducer(Producer):
    """The broker takes its time to confirm."""

    def __init__(self, settings: Settings, broker: str) -> None:
        super().__init__(settings, broker)
        self.sending = asyncio.Event()
        self.gate = asyncio.Event()

    async def send(self, outgoing: list[Outgoing], **about: Any) -> list[Any]:
        self.sending.set()
        await self.gate.wait()
        return await super().send(outgoing, **about)


async def test_partitions_are_not_handed_over_while_something_is_being_published(settings: Settings) -> None:
    await publish(settings, "raw-arrived", [upsert("share:1")], 0)
    producer = SlowProducer(settings, settings.broker)
    await producer.start()
    one = StageApp(PROBE, Probe(), settings, settings.broker, producer)
    second = Probe()
    try:
        await one.start()
        await producer.sending.wait()
        async with contextlib.AsyncExitStack() as stack:
            joining = asyncio.create_task(stack.enter_async_context(stage_app(settings, second)))
            await until(lambda: not one._assigned.is_set(), what="the revocation")
            assert one.assigned == set()
            assert second.assignments == []
            producer.gate.set()
            two = await joining
            await until(lambda: len(two.assigned) == 4)
            # It was confirmed and committed before the partitions moved, so nobody does it again.
            assert await committed(settings, "probe", "raw-arrived", 0) == 1
            assert second.began == []
            assert one.done == 1
            await publish(settings, "raw-arrived", [upsert(f"share:{n}") for n in range(20)])
            await until(lambda: one.done + two.done == 21)
    finally:
        await one.stop(5)
        await producer.stop()
    assert len(await published(settings)) == 21


async def test_rebalances_under_load_lose_nothing(settings: Settings) -> None:
    """Workers come and go in the middle of a stream; lanes are full all the time."""
    bounded = settings.model_copy(update={"worker": settings.worker.model_copy(update={"in_flight": 5})})
    ids = [f"share:{n}" for n in range(400)]

    class Steady(Probe):
        async def handle(self, event: Any) -> Any:
            await asyncio.sleep(0.004)  # the work
            return await super().handle(event)

    probes = [Steady() for _ in range(4)]
    async with stage_app(bounded, probes[0]) as one:
        writing = asyncio.create_task(publish(settings, "raw-arrived", map(upsert, ids)))
        await until(lambda: one.done > 20)
        async with stage_app(bounded, probes[1]) as two:
            await until(lambda: two.done > 20 or one.done + two.done >= 400)
        async with stage_app(bounded, probes[2]) as three, stage_app(bounded, probes[3]) as four:
            await until(lambda: len(three.assigned) > 0 and len(four.assigned) > 0)
            await writing
            await until_async(lambda: _complete(settings, ids), 60, "every event published")
            await until(lambda: all(app.lag() == 0 for app in (one, three, four)), what="no lag")
            assert all(app.failure is None for app in (one, three, four))
    found = await published(settings)
    assert len(found) < 400 + 60  # redelivered and done again: only what was in flight at a rebalance


async def _complete(settings: Settings, ids: list[str]) -> bool:
    return set(await published(settings)) == set(ids)
