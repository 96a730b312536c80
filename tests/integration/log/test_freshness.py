"""The prober on a real broker: lag in seconds by the log's own clock, and groups that are stuck, dead or never were."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from streams.log.client import admin, connection
from streams.log.freshness import GroupLook, PartitionLook, Prober, Reads
from streams.ops.lag import Judge, State, our_groups
from streams.settings import Settings
from streams.topology import group_id
from tests.integration.runtime.harness import (
    Probe,
    committed,
    publish,
    publish_raw,
    read,
    stage_app,
    until,
    until_async,
    upsert,
)

SLACK_S = 5.0
"""Clocks of one machine agree; what may pass between two statements on a slow one."""


def probe_group(settings: Settings) -> Reads:
    return Reads(group_id("probe", settings.kafka.topic_prefix), ("raw-arrived",))


def at(looks: list[GroupLook], partition: int, topic: str = "raw-arrived") -> PartitionLook:
    (found,) = [look for look in looks[0].partitions if (look.topic, look.partition) == (topic, partition)]
    return found


async def commit(settings: Settings, group: str, topic: str, offset: int) -> None:
    """Commits for partition 0 from outside of the (empty) group."""
    consumer = AIOKafkaConsumer(**connection(settings, settings.broker), group_id=group, enable_auto_commit=False)
    await consumer.start()
    try:
        tp = TopicPartition(settings.kafka.topic_prefix + topic, 0)
        consumer.assign([tp])
        await consumer.commit({tp: offset})
    finally:
        await consumer.stop()


async def test_idle_is_zero_everywhere_and_groups_that_never_were_are_told(settings: Settings) -> None:
    groups = our_groups(settings.kafka.topic_prefix)
    async with Prober(settings, settings.broker) as prober:
        looks = await prober.look(groups)
        assert [look.group for look in looks] == [reads.group for reads in groups]
        for look in looks:
            assert (look.kafka_state, look.members) == ("Dead", 0)
            assert {(p.records, p.seconds, p.oldest_at, p.started, p.member) for p in look.partitions} == {
                (0, 0.0, None, False, None)
            }
        judged = Judge(300, 30).judge(looks, 0.0)
        assert {(group.state, group.records, group.seconds, group.started) for group in judged} == {
            (State.IDLE, 0, 0.0, False)
        }
        await publish(settings, "raw-arrived", [upsert("share:1")], 0)
        judged = Judge(300, 30).judge(await prober.look(groups), 0.0)
        dead = {group.group.removeprefix(settings.kafka.topic_prefix) for group in judged if group.state is State.DEAD}
        assert dead == {"canonry-decode", "canonry-ledger"}


async def test_a_stuck_stage_grows_a_second_per_second_then_it_is_idle_then_dead(settings: Settings) -> None:
    probe = Probe()
    probe.slow["share:stuck"] = asyncio.Event()
    group = probe_group(settings)
    judge = Judge(limit_s=2.0, stalled_after_s=3.0)
    async with Prober(settings, settings.broker) as prober:
        async with stage_app(settings, probe) as app:
            await until(lambda: len(app.assigned) == 8)
            await publish(settings, "raw-arrived", [upsert("share:stuck"), upsert("share:1"), upsert("share:2")], 0)
            await until(lambda: app.done == 2, what="the tail")
            stamped = {message.offset: message.timestamp / 1000 for message in await read(settings, "raw-arrived")}
            seen: list[tuple[float, State]] = []

            async def look() -> State:
                looks = await prober.look([group])
                (judged,) = judge.judge(looks, time.monotonic())
                stuck = at(looks, 0)
                assert (stuck.position, stuck.end, stuck.records, stuck.oldest_at) == (0, 3, 3, stamped[0])
                assert stuck.member
                assert abs(stuck.seconds - (time.time() - stamped[0])) < SLACK_S
                assert all(at(looks, number).seconds == 0 for number in range(1, 8))
                seen.append((stuck.seconds - time.time(), judged.state))
                return judged.state

            async def stalled() -> bool:
                return await look() is State.STALLED

            await until_async(stalled, 60, "stalled")
            states = [state for _, state in seen]
            assert states[0] is not State.STALLED
            assert State.BEHIND in states
            drift = [seconds for seconds, _ in seen]
            assert max(drift) - min(drift) < SLACK_S / 2  # as many seconds more as have passed

            probe.slow["share:stuck"].set()

            async def idle() -> bool:
                (judged,) = judge.judge(await prober.look([group]), time.monotonic())
                return judged.state is State.IDLE

            await until_async(idle, what="idle")
        await publish(settings, "raw-arrived", [upsert("share:more")], 3)
        (judged,) = judge.judge(looks := await prober.look([group]), time.monotonic())
        assert (judged.state, judged.members, judged.records) == (State.DEAD, 0, 1)
        assert at(looks, 3).member is None
        assert judge.judge(looks, time.monotonic() + 100)[0].state is State.DEAD


async def test_a_member_without_the_partition_is_seen(settings: Settings) -> None:
    async with stage_app(settings, Probe()) as app, Prober(settings, settings.broker) as prober:
        await until(lambda: len(app.assigned) == 8)
        group = Reads(probe_group(settings).group, ("raw-arrived", "decoded"))  # nobody in it reads decoded
        await publish(settings, "decoded", [upsert("share:1")], 0)
        looks = await prober.look([group])
        assert at(looks, 0).member is not None
        assert at(looks, 0, "decoded").member is None
        judge = Judge(300, 30)
        judge.judge(looks, 0.0)
        (judged,) = judge.judge(looks, 31.0)
        assert {(p.topic, p.partition) for p in judged.partitions if p.state is State.STALLED} == {("decoded", 0)}


async def test_an_end_of_markers_is_no_lag(settings: Settings) -> None:
    producer = AIOKafkaProducer(
        **connection(settings, settings.broker), transactional_id=settings.kafka.topic_prefix + "t"
    )
    await producer.start()
    try:
        async with producer.transaction():
            await producer.send_and_wait(settings.kafka.topic_prefix + "raw-arrived", b"x", key=b"k", partition=0)
    finally:
        await producer.stop()
    group = probe_group(settings)
    await commit(settings, group.group, "raw-arrived", 1)
    async with Prober(settings, settings.broker) as prober:
        marker = at(await prober.look([group]), 0)
        assert (marker.position, marker.end) == (1, 2)  # the commit's marker takes an offset
        assert (marker.records, marker.seconds, marker.oldest_at) == (0, 0.0, None)
        await publish(settings, "raw-arrived", [upsert("share:1")], 0)
        after = at(await prober.look([group]), 0)
        assert (after.position, after.end, after.records) == (1, 3, 2)
        assert after.oldest_at == (await read(settings, "raw-arrived"))[-1].timestamp / 1000


async def test_what_retention_removed_is_nobodys_lag(settings: Settings) -> None:
    await publish(settings, "raw-arrived", map(upsert, ["share:1", "share:2", "share:3"]), 0)
    group = probe_group(settings)
    await commit(settings, group.group, "raw-arrived", 1)
    third = (await read(settings, "raw-arrived"))[-1].timestamp / 1000
    tp = TopicPartition(settings.kafka.topic_prefix + "raw-arrived", 0)
    async with Prober(settings, settings.broker) as prober:
        async with admin(settings, settings.broker) as client:
            await client.delete_records({tp: RecordsToDelete(2)})
        left = at(await prober.look([group]), 0)
        assert (left.position, left.records, left.oldest_at) == (2, 1, third)
        async with admin(settings, settings.broker) as client:
            await client.delete_records({tp: RecordsToDelete(3)})
        none = at(await prober.look([group]), 0)
        assert (none.records, none.seconds) == (0, 0.0)
    await commit(settings, group.group, "raw-arrived", 99)  # of a log that was lost: it starts from the beginning
    await publish(settings, "raw-arrived", [upsert("share:4")], 0)
    async with Prober(settings, settings.broker) as prober:
        assert at(await prober.look([group]), 0).records == 1


async def test_a_hole_of_a_compacted_log_is_stepped_over(settings: Settings) -> None:
    topic = settings.kafka.topic_prefix + "versions"
    aggressive = {
        "cleanup.policy": "compact",
        "segment.ms": "500",
        "min.cleanable.dirty.ratio": "0.001",
        "max.compaction.lag.ms": "500",
        "message.timestamp.type": "LogAppendTime",
    }
    async with admin(settings, settings.broker) as client:
        await client.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, configs=aggressive)])
    group = Reads(settings.kafka.topic_prefix + "holes", ("versions",))
    await publish_raw(settings, "versions", [(b"same", b"%d" % n) for n in range(10)], 0)
    await commit(settings, group.group, "versions", 3)

    async def cleaned() -> bool:
        await publish_raw(settings, "versions", [(b"same", b"again")], 0)  # rolls the segment
        return len([m for m in await read(settings, "versions") if m.offset < 10]) == 0

    await until_async(cleaned, 60, "compaction", every_s=0.6)
    async with Prober(settings, settings.broker) as prober:
        look = at(await prober.look([group]), 0, "versions")
    first = next(message for message in await read(settings, "versions") if message.offset >= look.position)
    assert first.offset > look.position == 3
    assert look.oldest_at is not None
    assert look.oldest_at <= first.timestamp / 1000  # cleaning may go on in between, and only removes the oldest
    assert look.oldest_at > 0


async def test_two_groups_at_different_places_of_one_partition(settings: Settings) -> None:
    await publish(settings, "raw-arrived", [upsert("share:1")], 0)
    await publish(settings, "raw-arrived", [upsert("share:2")], 0)
    first, second = (message.timestamp / 1000 for message in await read(settings, "raw-arrived"))
    groups = [Reads(settings.kafka.topic_prefix + f"canonry-consumer-{name}", ("raw-arrived",)) for name in "abc"]
    await commit(settings, groups[1].group, "raw-arrived", 1)
    await commit(settings, groups[2].group, "raw-arrived", 2)
    assert await committed(settings, "consumer-b", "raw-arrived", 0) == 1
    async with Prober(settings, settings.broker) as prober:
        assert [at([look], 0).oldest_at for look in await prober.look(groups)] == [first, second, None]
        kept: dict[str, Any] = {groups[0].group: {("raw-arrived", 0): 2}, groups[2].group: {}}
        assert [at([look], 0).oldest_at for look in await prober.look(groups, kept)] == [None, second, first]
        assert await prober.groups(settings.kafka.topic_prefix + "canonry-consumer-") == groups[1:]
