"""Decisions of the pages: published, and followed until the ledger has carried them out, or said why not."""

from __future__ import annotations

import asyncio
import logging
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from streams.consumers.catalog import Catalog
from streams.consumers.catalog_quarantine import unanswered
from streams.errors import CanonryError
from streams.log import broker as local_broker
from streams.ops import quarantine
from streams.ops.dead_letters import watch_dead_letters
from streams.ops.quarantine import Plan, Planned
from streams.ops.quarantine_wait import STAGES_OF, Ended, Refusals, is_over, look
from streams.records import Decision
from streams.settings import Settings
from streams.web.following import Following
from streams.web.standing import Standing

log = logging.getLogger(__name__)

AT_ONCE = 20
"""More decisions than this are published while the page goes on."""

LOOK_AT = 500
"""Decisions of one batch that are looked after at a time."""

REMEMBERED_S = 3600.0
PATIENCE_S = 3.0
"""After so long without an answer it is said who is not at work."""


class Made(msgspec.Struct, kw_only=True):
    """One batch on its way."""

    plan: Plan
    kind: str
    at: float
    open: dict[str, Planned]
    published: int = 0
    error: str | None = None
    left_out: str = ""
    ended: list[Ended] = []  # the first ones
    refused: int = 0
    carried_out: bool = False


class Deciding:
    """Publishes plans, and knows what became of those of the last hour."""

    def __init__(self, settings: Settings, standing: Standing) -> None:
        self._settings = settings
        self._standing = standing
        self._made: dict[str, Made] = {}
        self._refusals = Refusals()
        self._letters: asyncio.Task[None] | None = None
        self._one_listens = asyncio.Lock()
        self._publishing: set[asyncio.Task[None]] = set()
        self._following = Following(settings)

    async def decide(self, plan: Plan, left_out: str = "") -> str:
        """Publishes: the batch by which it is followed.

        Args:
            left_out: what was not decided though it was meant, in words.

        Raises:
            BrokerUnavailable: not all are confirmed; deciding again does no harm.
        """
        first = plan.decisions[0].decision
        broker = await asyncio.to_thread(local_broker.address, self._settings)
        await self._listen(broker)
        waiting = {planned.decision.source_id: planned for planned in plan.decisions}
        now = time.monotonic()
        self._made = {name: made for name, made in self._made.items() if now - made.at < REMEMBERED_S}
        made = Made(plan=plan, kind=first.kind.value, at=now, open=waiting, left_out=left_out)
        if len(plan.decisions) <= AT_ONCE:
            await self._publish(made, broker)
        else:
            task = asyncio.create_task(self._publish_all(made, broker))
            self._publishing.add(task)
            task.add_done_callback(self._publishing.discard)
        self._made[plan.batch] = made
        return plan.batch

    async def _publish(self, made: Made, broker: str) -> None:
        for start in range(0, len(made.plan.decisions), LOOK_AT):
            part = made.plan.decisions[start : start + LOOK_AT]
            made.published += await quarantine.publish(self._settings, broker, part)
            self._following.expect_more()

    async def _publish_all(self, made: Made, broker: str) -> None:
        try:
            await self._publish(made, broker)
        except CanonryError as error:
            made.error = f"Only {made.published} of {len(made.plan.decisions)} were published: {error} Decide again."
            made.open = {}

    async def _listen(self, broker: str) -> None:
        """Hears of refusals from now on."""
        async with self._one_listens:
            if self._letters is None or self._letters.done():
                self._letters = await watch_dead_letters(self._settings, broker, self._refusals.hear)

    async def under_way(self, *, now: bool = False) -> dict[str, list[Decision]]:
        """The source_ids of which nobody has answered a decision yet, and those that the ledger may not have done.

        Made here or elsewhere, asked for by a page or not. Work that is not answered within an hour keeps nobody from
        deciding otherwise.

        Args:
            now: whether all that is published by now has to be known, which needs the log; else what is known in a
                moment will do.

        Raises:
            BrokerUnavailable: with `now`.
        """
        waiting = await (self._following.now() if now else self._following.lately())
        for made in list(self._made.values()):
            await self._follow(made)
        found = {source_id: list(decisions) for source_id, decisions in waiting.items()}
        for made in self._made.values():
            for source_id in made.open:
                found.setdefault(source_id, [])
        for source_id in await asyncio.to_thread(self._unanswered):
            found.setdefault(source_id, [])
        return found

    def _unanswered(self) -> list[str]:
        with Catalog(self._settings) as catalog, catalog.reading() as connection:
            return unanswered(connection, datetime.now(UTC) - timedelta(seconds=REMEMBERED_S))

    def is_publishing(self, batch: str) -> str:
        """How far a batch is that is still being published, in words; empty: it is not."""
        made = self._made.get(batch)
        total = len(made.plan.decisions) if made is not None else 0
        return (
            f"{made.published} of {total} are published" if made and not made.error and made.published < total else ""
        )

    async def state(self, batch: str) -> dict[str, Any] | None:
        """What became of a batch, for a page that asks again and again; None: it was not made here, or long ago."""
        made = self._made.get(batch)
        if made is None:
            return None
        await self._follow(made)
        failed = bool(made.error or made.refused or made.left_out)
        return {"over": not made.open, "text": self._text(made), "failed": failed, "note": await self._note(made)}

    async def _follow(self, made: Made) -> None:
        """Looks what became of the decisions of a batch that are still open."""
        if not made.open:
            return
        some = list(made.open.values())[:LOOK_AT]
        ended = await asyncio.to_thread(look, self._settings, some, self._refusals)
        made.carried_out |= bool(ended) and all(each.carried_out for each in ended)
        for each in ended:
            if is_over(each) and made.open.pop(each.source_id, None) is not None:
                made.refused += each.refused is not None
                made.ended = [*made.ended, each][:AT_ONCE]

    async def _note(self, made: Made) -> str:
        if not made.open or time.monotonic() - made.at < PATIENCE_S:
            return ""
        work = [stage for kind, stages in STAGES_OF.items() if kind.value == made.kind for stage in stages]
        return await self._standing.idle("ledger", "catalog", *work)

    def _text(self, made: Made) -> str:
        total = len(made.plan.decisions)
        if made.error:
            return made.error
        if total > 1 or made.left_out:
            done = total - len(made.open)
            refused = f", {made.refused} refused: {_first_refusal(made)}" if made.refused else ""
            said = f"{_DOING[made.kind]} {total} document{'s' if total > 1 else ''}"
            return f"{said}: {made.published} published, {done} answered{refused}. {made.left_out}".strip()
        path = made.plan.decisions[0].path
        if made.open:
            doing = "the work is under way" if made.carried_out else "waiting for the ledger"
            return f"{_DOING[made.kind]} {path}: {doing}…"
        (end,) = made.ended
        if end.refused:
            return f"{path} was not changed: {end.refused}"
        now = f"{end.outcome or 'gone'}{': ' + ', '.join(end.problems) if end.outcome == 'quarantined' else ''}"
        return f"{path} is {now.replace('quarantined', 'held')}."

    async def stop(self) -> None:
        """What was begun to be published is published."""
        await asyncio.gather(*self._publishing)
        await self._following.stop()
        if self._letters is not None:
            self._letters.cancel()
            await asyncio.gather(self._letters, return_exceptions=True)


_DOING = {
    "accept": "Accepting",
    "skip": "Skipping",
    "re_extract": "Extracting again",
    "recognize": "Recognising",
    "undo": "Taking back",
}


def _first_refusal(made: Made) -> str:
    return next((each.refused for each in made.ended if each.refused), "see dead-letter")
