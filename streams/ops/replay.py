"""Replay of a stage: its group's offsets set back, with a mark that tells the stage which events it has done before.

The rule: the stage is stopped first. A group with members is left alone; a member that joins between the look and the
commit makes the broker refuse the commit, and what was applied is read back before it is called done.

A replay goes back, never forward past what was done: no event can be skipped by it.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import msgspec
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import CommitFailedError, KafkaError
from aiokafka.structs import OffsetAndMetadata

from streams.errors import BrokerUnavailable, CanonryError
from streams.log.client import REQUEST_TIMEOUT_S, connection, partitions, stop_consumer
from streams.log.groups import Member, ReplayMark, members
from streams.settings import Settings
from streams.topology import STAGES, group_id


class GroupActive(CanonryError):
    """A stage whose offsets were to be set back is at work."""

    code = "group_active"


class ReplayNotApplied(CanonryError):
    """The group's offsets are not what was asked for."""

    code = "replay_not_applied"


class Where(msgspec.Struct, frozen=True):
    """From where to read again: the earliest offset that is kept, unless one of the two is given."""

    offset: int | None = None  # in every partition of every topic that the stage reads
    time: datetime | None = None  # of the log: the first event at or after it


class Reset(msgspec.Struct, frozen=True, kw_only=True):
    """One partition: where its group stands, and where it goes."""

    topic: str  # without prefix
    partition: int
    begins: int  # the first offset that retention has left
    ends: int
    committed: int | None
    done: int  # everything below was done at some time
    to: int | None  # None: it stays where it is
    removed: int = 0  # events that were asked for and are gone; -1: perhaps some
    unread: int = 0  # events that retention removed before the stage had read them

    @property
    def events(self) -> int:
        """How many events come again."""
        return self.done - self.to if self.to is not None else 0


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What a replay would do."""

    stage: str
    group: str
    members: list[Member]
    resets: list[Reset]

    @property
    def events(self) -> int:
        return sum(reset.events for reset in self.resets)

    @property
    def moved(self) -> list[Reset]:
        return [reset for reset in self.resets if reset.to is not None]

    @property
    def warnings(self) -> list[str]:
        """Where less comes again than was asked for."""
        said = []
        for reset in self.resets:
            place = f"{reset.topic} {reset.partition}"
            if reset.unread:
                said.append(f"{place}: retention removed {reset.unread} events that {self.stage} had not read yet.")
            if reset.removed == -1:
                said.append(f"{place}: begins at offset {reset.begins}, after that time; retention removed the rest.")
            elif reset.removed:
                said.append(f"{place}: begins at offset {reset.begins}; retention removed {reset.removed} events.")
        if said and self.stage != "decode":
            said.append("`canonry replay plan decode` begins at raw-arrived, which is kept for ever by default.")
        return said


class Applied(msgspec.Struct, frozen=True, kw_only=True):
    """What a replay did."""

    run_id: str
    plan: Plan
    read_back: dict[tuple[str, int], int]  # committed offsets afterwards


def new_run_id() -> str:
    """A name for a replay that travels with its events."""
    return f"replay-{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"


async def plan(settings: Settings, broker: str, stage: str, where: Where) -> Plan:
    """What `apply` would do now. Changes nothing.

    Raises:
        BrokerUnavailable, NotFound: no answer, or a topic does not exist.
    """
    group = group_id(stage, settings.kafka.topic_prefix)
    now_in = await members(settings, broker, group)
    async with _reader(settings, broker, stage) as (consumer, tps):
        resets = await _resets(consumer, tps, where, settings.kafka.topic_prefix)
    return Plan(stage=stage, group=group, members=now_in, resets=resets)


async def apply(settings: Settings, broker: str, stage: str, where: Where, *, everything: bool = False) -> Applied:
    """Sets the offsets of a stage's group back, marks them, and reads them back.

    Args:
        everything: the stage works also on events that could not come out otherwise, see `streams.runtime.known`.

    Raises:
        GroupActive: the group has members; nothing was changed.
        ReplayNotApplied: somebody else committed at the same time; says what stands there now.
        BrokerUnavailable, NotFound: no answer, or a topic does not exist.
    """
    prefix = settings.kafka.topic_prefix
    group = group_id(stage, prefix)
    refuse_members(stage, await members(settings, broker, group))
    run_id = new_run_id()
    # Only now is everything committed that a worker commits when it leaves.
    async with _reader(settings, broker, stage) as (consumer, tps):
        planned = Plan(stage=stage, group=group, members=[], resets=await _resets(consumer, tps, where, prefix))
        if not planned.moved:
            return Applied(run_id=run_id, plan=planned, read_back={})
        wanted = {
            tp: OffsetAndMetadata(reset.to, str(ReplayMark(run_id, reset.done, everything)))
            for tp, reset in zip(tps, planned.resets, strict=True)
            if reset.to is not None
        }
        consumer.assign(list(wanted))
        consumer.pause(*wanted)
        try:
            await consumer.commit(wanted)
        except CommitFailedError:
            refuse_members(stage, await members(settings, broker, group))
            raise ReplayNotApplied(
                f"A worker of {stage} joined the group {group} while its offsets were being set back, and the broker "
                "refused them.",
                remedy="Stop the stage, look with `canonry replay plan`, then try again.",
            ) from None
        found = await consumer._coordinator.fetch_committed_offsets(list(wanted))
    read_back = {(tp.topic.removeprefix(prefix), tp.partition): committed.offset for tp, committed in found.items()}
    for tp, committed in wanted.items():
        now = found.get(tp)
        mark = ReplayMark.of(now.metadata) if now is not None else None
        # A worker that joined afterwards began where the commit says, and keeps the mark.
        if now is None or mark is None or mark.run_id != run_id or now.offset < committed.offset:
            raise ReplayNotApplied(
                f"{tp.topic} {tp.partition} was set back to {committed.offset}, and now stands at "
                f"{now.offset if now else 'nothing'}: somebody else has committed for {group} since.",
                remedy="Stop the stage, look with `canonry replay plan`, then try again.",
            )
    return Applied(run_id=run_id, plan=planned, read_back=read_back)


def refuse_members(stage: str, found: Iterable[Member]) -> None:
    """Raises GroupActive when there are members, with who they are and how to stop them."""
    found = list(dict.fromkeys(found))
    if found:
        raise GroupActive(
            f"The stage {stage} is at work: {'; '.join(map(str, found))}.",
            remedy=f"Stop it first: {'; '.join(member.how_to_stop for member in found)}.",
        )


@asynccontextmanager
async def _reader(settings: Settings, broker: str, stage: str) -> AsyncIterator[tuple[Any, list[TopicPartition]]]:
    """A consumer with the stage's group id that is no member of it, and the partitions that the stage reads."""
    found = await partitions(settings, broker, STAGES[stage].reads)
    prefix = settings.kafka.topic_prefix
    tps = [TopicPartition(prefix + topic, number) for topic, numbers in found.items() for number in numbers]
    consumer = AIOKafkaConsumer(
        **connection(settings, broker), group_id=group_id(stage, prefix), enable_auto_commit=False
    )
    try:
        async with asyncio.timeout(REQUEST_TIMEOUT_S):
            await consumer.start()
            yield consumer, tps
    except TimeoutError as error:
        raise BrokerUnavailable(f"{broker} did not answer within {REQUEST_TIMEOUT_S:g} s.") from error
    except (KafkaError, OSError) as error:
        raise BrokerUnavailable(f"{broker} did not do what was asked: {error!r}.") from error
    finally:
        await stop_consumer(consumer)


async def _resets(consumer: Any, tps: list[TopicPartition], where: Where, prefix: str) -> list[Reset]:
    begins, ends = await consumer.beginning_offsets(tps), await consumer.end_offsets(tps)
    committed = await consumer._coordinator.fetch_committed_offsets(tps)
    times: dict[TopicPartition, Any] = {}
    if where.time is not None:
        moment = max(0, int(where.time.timestamp() * 1000))
        times = await consumer.offsets_for_times(dict.fromkeys(tps, moment))
    resets = []
    for tp in tps:
        first = begins[tp]
        if where.time is not None:
            wanted = times[tp].offset if times.get(tp) is not None else ends[tp]
            removed = -1 if wanted == first > 0 else 0
        else:
            wanted = where.offset or 0
            removed = max(0, first - wanted)
        at = committed.get(tp)
        now = at.offset if at is not None else 0
        mark = ReplayMark.of(at.metadata) if at is not None else None
        done = max(now, mark.until if mark is not None else 0)
        to = min(max(wanted, first), done)
        resets.append(
            Reset(
                topic=tp.topic.removeprefix(prefix),
                partition=tp.partition,
                begins=first,
                ends=ends[tp],
                committed=at.offset if at is not None else None,
                done=done,
                to=to if at is not None and (to < done or to != now) else None,
                removed=removed if at is not None else 0,
                unread=max(0, first - done),
            )
        )
    return resets
