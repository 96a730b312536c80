"""How things stand, for the status page: each source's freshness, each stage's lag, the quarantine's size and age."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from typing import Any

from streams.consumers.catalog import Catalog
from streams.consumers.reader import consumer_group
from streams.errors import CanonryError
from streams.log import broker as local_broker
from streams.ops.lag import MEANING, GroupLag, watching
from streams.ops.quarantine import statistics
from streams.ops.sources import source_status
from streams.settings import Settings
from streams.topology import group_id

EVERY_S = 3.0
UNASKED_S = 60.0
"""The log is left alone when nobody has asked for so long."""

FIRST_ANSWER_S = 2.0
STALLED_AFTER_S = 30.0
DAYS = 7


class Standing:
    """Looks at the groups while somebody wants to know; a page never waits for a broker that is away."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._task: asyncio.Task[None] | None = None
        self._asked_at = 0.0
        self._looked = asyncio.Event()
        self._groups: list[GroupLag] | None = None
        self._looked_at = 0.0
        self._error = "The log was not asked yet."

    async def lag(self) -> tuple[list[GroupLag] | None, str]:
        """The groups as they were some seconds ago; None, and why, when that can't be said."""
        self._asked_at = time.monotonic()
        if self._task is None or self._task.done():
            self._looked.clear()
            self._task = asyncio.create_task(self._look())
        try:
            await asyncio.wait_for(self._looked.wait(), FIRST_ANSWER_S)
        except TimeoutError:
            return None, "The log has not answered yet."
        late = time.monotonic() - self._looked_at > 10 * EVERY_S
        return (None, "The log does not answer.") if late else (self._groups, self._error)

    async def _look(self) -> None:
        while time.monotonic() - self._asked_at < UNASKED_S:
            try:
                address = await asyncio.to_thread(local_broker.address, self._settings)
                async with watching(self._settings, address, STALLED_AFTER_S) as watch:
                    while time.monotonic() - self._asked_at < UNASKED_S:
                        self._say(await watch.look(), "")
                        await asyncio.sleep(EVERY_S)
            except CanonryError as error:
                self._say(None, str(error))
                await asyncio.sleep(EVERY_S)

    def _say(self, groups: list[GroupLag] | None, error: str) -> None:
        self._groups, self._error, self._looked_at = groups, error, time.monotonic()
        self._looked.set()

    async def idle(self, *names: str) -> str:
        """Which of these stages and consumers nobody runs, in a sentence; empty: all run, or it can't be said."""
        groups, error = await self.lag()
        if groups is None:
            return error
        prefix = self._settings.kafka.topic_prefix
        called = {name: consumer_group(name, prefix) if name == "catalog" else group_id(name, prefix) for name in names}
        running = {group.group for group in groups if group.members}
        idle = [name for name, group in called.items() if group not in running]
        how = "`canonry consumer`" if idle == ["catalog"] else "`canonry worker` and `canonry consumer`"
        return f"Nobody runs {', '.join(idle)}: start {how}. Nothing is lost until then." if idle else ""

    def figures(self, catalog: Catalog, groups: list[GroupLag] | None) -> dict[str, Any]:
        """What the page shows beside the lag."""
        now = datetime.now(UTC)
        counts = catalog.counts()
        return {
            "sources": source_status(self._settings, catalog.freshness(), groups, now),
            "counts": counts,
            "outcomes": catalog.outcome_table(),
            "quarantine": statistics(catalog, "code", DAYS, now, counts),
            "meaning": {state.value: text for state, text in MEANING.items()},
        }

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
