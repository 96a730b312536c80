"""Releasing a backlog from quarantine: so many documents a minute, and live work first.

A release is nothing but decisions that are published one after the other, so it needs no state: what is decided is not
decided again, and the same command goes on where it was stopped. Two releases of the same documents at once share them.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Iterable

import msgspec

from streams.consumers.catalog import Catalog
from streams.log.client import end_offsets
from streams.log.freshness import Prober, Reads
from streams.log.publisher import Publisher
from streams.ops.lag import behind
from streams.ops.quarantine import Planned
from streams.ops.quarantine_under_way import DecisionLog
from streams.ops.quarantine_wait import STAGES_OF
from streams.records import Decision, Lane
from streams.settings import Settings
from streams.topology import STAGES, group_id

LOOK_EVERY_S = 2.0
"""How often it is looked at whether others wait."""


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """How far a release is."""

    decided: int
    total: int
    waiting: int  # records that the stages have still to do, ours among them
    held_back: bool  # whether it waits for them


class Meter:
    """Lets one through at a time, so many a minute; a pause is not made up for."""

    def __init__(self, per_minute: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._interval = 60.0 / per_minute
        self._clock = clock
        self._next = clock()

    def wait_s(self) -> float:
        """Seconds until the next one may go."""
        return max(0.0, self._next - self._clock())

    def gone(self) -> None:
        """One went."""
        self._next = max(self._next, self._clock() - self._interval) + self._interval


async def release(
    settings: Settings,
    broker: str,
    decisions: Iterable[Planned],
    total: int,
    *,
    per_minute: float,
    most_waiting: int,
    progress: Callable[[Progress], None],
) -> int:
    """Publishes the decisions at this rate, on lane backfill; returns how many. What others ask for meanwhile is not.

    Args:
        most_waiting: while the stages that do the work have more records before them, nothing more is released: what
            arrives meanwhile waits for so many at most.
        progress: is told every few seconds.

    Raises:
        BrokerUnavailable, NotFound: no answer, or topics are missing. What was published stays so.
    """
    decided, meter = 0, Meter(per_minute)

    def tell(waiting: int, held_back: bool) -> None:
        progress(Progress(decided=decided, total=total, waiting=waiting, held_back=held_back))

    async with (
        Publisher(settings, broker, name="quarantine") as publisher,
        Prober(settings, broker) as prober,
        DecisionLog(settings, broker) as log,
    ):
        looked_at = -math.inf
        by_others: set[tuple[object, ...]] = set()
        with Catalog(settings) as catalog:
            for planned in decisions:
                await asyncio.sleep(meter.wait_s())
                if time.monotonic() - looked_at >= LOOK_EVERY_S:
                    stages = STAGES_OF[planned.decision.kind]
                    while (waiting := await _waiting(settings, broker, prober, stages)) > most_waiting:
                        tell(waiting, True)
                        await asyncio.sleep(LOOK_EVERY_S)
                    made_at = planned.decision.decided_at
                    told = [each.decision for each in await log.look(catalog)]
                    by_others = {_asked(each) for each in told if each.decided_at != made_at}
                    looked_at = time.monotonic()
                    tell(waiting, False)
                if _asked(planned.decision) in by_others:
                    continue
                await publisher.decide(planned.decision, planned.partition, lane=Lane.BACKFILL)
                meter.gone()
                decided += 1
    tell(0, False)
    return decided


def _asked(decision: Decision) -> tuple[object, ...]:
    """What is asked for, whoever does it and when."""
    return decision.source_id, decision.sequence, decision.kind, decision.tool, decision.reason


async def _waiting(settings: Settings, broker: str, prober: Prober, stages: Iterable[str]) -> int:
    """Records before these stages, and before the ledger, which has to send on what is decided."""
    prefix = settings.kafka.topic_prefix
    found = 0
    for name in (*stages, "ledger"):
        topics = ("decisions",) if name == "ledger" else STAGES[name].reads
        ends = await end_offsets(settings, broker, topics)
        found += await behind(prober, Reads(group_id(name, prefix), topics), ends)
    return found
