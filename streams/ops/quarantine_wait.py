"""Waiting until decisions are carried out, and until the work that they ask for is done."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import msgspec

from streams.blobs import open_store
from streams.consumers.catalog import Catalog
from streams.consumers.catalog_quarantine import DecisionRow, decisions_of
from streams.consumers.catalog_rows import DocumentRow
from streams.log import broker as local_broker
from streams.log.groups import members
from streams.ops.barrier import Barrier
from streams.ops.dead_letters import DeadLetter, watch_dead_letters
from streams.ops.quarantine_plan import VERDICTS, WORK, Planned
from streams.ops.quarantine_under_way import is_same
from streams.records import Decision, DecisionKind
from streams.records.codec import encode
from streams.settings import Settings
from streams.topology import group_id

LOOK_EVERY_S = 1.0
REFUSAL_S = 5.0
"""How long the reason of a refusal may take to arrive after it."""

STAGES_OF = {DecisionKind.RE_EXTRACT: ("extract", "screen"), DecisionKind.RECOGNIZE: ("recognize", "screen")}
"""Stages that do the work that a decision asks for."""


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one decision."""

    source_id: str
    path: str
    kind: str
    carried_out: bool
    answered: bool  # of one that asks for work: whether its result is there; of any other: as `carried_out`
    refused: str | None  # why the ledger did not carry it out
    outcome: str | None  # of the document, now
    problems: list[str]
    extractor: str | None


class Refusals:
    """Why the ledger did not carry out a decision; of two about one document each has its own answer."""

    def __init__(self) -> None:
        self._why: dict[bytes, str] = {}  # by the message as it was published

    def hear(self, letter: DeadLetter) -> None:
        """Remembers what became of a decision."""
        if letter.topic == "decisions":
            self._why[letter.value] = letter.why

    def of(self, decision: Decision) -> str | None:
        """Why this decision was refused; None: it was not, as far as is known."""
        return self._why.get(encode(decision))


class Waiter:
    """Waits for decisions; get one from `waiter`."""

    def __init__(
        self,
        settings: Settings,
        broker: str,
        barrier: Barrier,
        refusals: Refusals,
        note: Callable[[str], None],
    ) -> None:
        self._settings = settings
        self._broker = broker
        self._barrier = barrier
        self._refusals = refusals
        self._note = note

    async def outcomes(self, decisions: Sequence[Planned], timeout_s: float) -> list[Ended]:
        """What became of published decisions, in their order, once all are answered or the time is up.

        A stage that nobody runs is said, and not waited for.

        Raises:
            WorkerFailed, BrokerUnavailable: the ledger or the catalog can't do their work.
        """
        until = time.monotonic() + timeout_s
        asked = {planned.decision.kind for planned in decisions}
        idle = await self._idle({stage for kind in asked for stage in STAGES_OF.get(kind, ())})
        for stage in sorted(idle):
            self._note(
                f"No worker does the stage {stage}: start one with `canonry worker`; nothing is lost until then."
            )
        while True:
            await self._barrier.passed()
            ended = await asyncio.to_thread(look, self._settings, decisions, self._refusals)
            open_ = [each for each in ended if not is_over(each)]
            only_work = all(each.kind in WORK and each.carried_out for each in open_)
            if not open_ or time.monotonic() >= until or (idle and only_work):
                return ended
            await asyncio.sleep(LOOK_EVERY_S)

    async def _idle(self, stages: set[str]) -> set[str]:
        prefix = self._settings.kafka.topic_prefix
        return {stage for stage in stages if not await members(self._settings, self._broker, group_id(stage, prefix))}


def look(settings: Settings, decisions: Sequence[Planned], refusals: Refusals) -> list[Ended]:
    """What the catalog says of published decisions now, in their order.

    Args:
        refusals: why the ledger did not carry one out.
    """
    ids = [planned.decision.source_id for planned in decisions]
    with Catalog(settings) as catalog:
        rows = catalog.rows(ids)
        with catalog.reading() as connection:
            made = decisions_of(connection, ids)
    return [
        _ended(
            planned,
            rows.get(planned.decision.source_id),
            made.get(planned.decision.source_id, []),
            refusals.of(planned.decision),
        )
        for planned in decisions
    ]


def is_over(each: Ended) -> bool:
    """Whether nothing more will come of a decision: it is answered, was refused, or somebody else decided the same
    before, which the ledger passes over without a word.
    """
    wanted = {"accept": "ready", "skip": "skipped"}.get(each.kind)
    return each.answered or each.refused is not None or (wanted is not None and each.outcome == wanted)


def _ended(planned: Planned, row: DocumentRow | None, made: list[DecisionRow], refused: str | None) -> Ended:
    decision = planned.decision
    ours = next((each for each in made if is_same(decision, each)), None)
    return Ended(
        source_id=decision.source_id,
        path=planned.path,
        kind=decision.kind.value,
        carried_out=ours is not None,
        answered=ours is not None and (decision.kind not in WORK or ours.answered_at is not None),
        refused=refused if ours is None else None,
        outcome=row.outcome if row is not None else None,
        problems=row.problems if row is not None else [],
        extractor=row.extractor if row is not None else None,
    )


@asynccontextmanager
async def waiter(settings: Settings, note: Callable[[str], None]) -> AsyncIterator[Waiter]:
    """A Waiter with all that it needs; a ledger and consumers that nobody runs are started and ended with it.

    Enter it before the decisions are published: what is refused is heard of from then on.

    Args:
        note: is told what a person should know on the way.

    Raises:
        BrokerUnavailable, BlobStoreUnavailable, DatabaseUnavailable: no answer.
    """
    broker = await asyncio.to_thread(local_broker.ensure, settings)
    store = await asyncio.to_thread(open_store, settings)
    refusals = Refusals()
    async with Barrier(settings, broker, store, note) as barrier:
        letters = await watch_dead_letters(settings, broker, refusals.hear)
        try:
            yield Waiter(settings, broker, barrier, refusals, note)
        finally:
            letters.cancel()
            await asyncio.gather(letters, return_exceptions=True)


assert set(STAGES_OF) == set(WORK)
assert not set(VERDICTS) & set(WORK)
