"""Waiting until what stands in the log now has come through the ledger into the catalog."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

from streams.blobs import BlobStore
from streams.consumers.catalog_view import TOPICS as CATALOG_TOPICS
from streams.consumers.reader import consumer_group, log_identity
from streams.errors import BrokerUnavailable
from streams.log.client import end_offsets
from streams.log.freshness import Place, Prober, Reads
from streams.log.groups import members
from streams.ops.consumers_task import ConsumersTask
from streams.ops.lag import behind, kept_positions
from streams.ops.worker_process import WorkerProcess
from streams.settings import Settings
from streams.topology import STAGES, group_id

LOOK_EVERY_S = 0.25
STALLED_S = 60.0


class Barrier:
    """Uses the ledger and the consumers that are at work, and starts its own where there are none.

    An async context manager: what it started ends with it.
    """

    def __init__(self, settings: Settings, broker: str, store: BlobStore, note: Callable[[str], None]) -> None:
        """
        Args:
            note: is told what is started.
        """
        self._settings = settings
        self._broker = broker
        self._note = note
        self._stack = AsyncExitStack()
        self._ledger = WorkerProcess(settings, broker, ("ledger",))
        self._consumers = ConsumersTask(settings, broker, store, on_applied=lambda states: None)
        self._prober = Prober(settings, broker)
        self._following = False

    async def __aenter__(self) -> Barrier:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._prober)
            await stack.enter_async_context(self._ledger)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._stack.aclose()

    async def passed(self) -> None:
        """Returns when everything that was published until now is in the catalog.

        Raises:
            WorkerFailed: our own ledger can't be kept running.
            BrokerUnavailable: the ledger or the catalog made no progress for a minute.
        """
        topics = STAGES["ledger"].reads
        published = await end_offsets(self._settings, self._broker, topics)
        await self._until("The ledger", lambda: self._ledger_behind(published), self._help_ledger)
        known = await end_offsets(self._settings, self._broker, CATALOG_TOPICS)
        await self._until("The catalog", lambda: self._catalog_behind(known), self._help_catalog)

    async def _until(
        self, who: str, behind: Callable[[], Awaitable[int]], help_: Callable[[], Awaitable[None]]
    ) -> None:
        moved_at, before = time.monotonic(), -1
        while left := await behind():
            self._ledger.check()
            self._consumers.check()
            if left != before:
                moved_at, before = time.monotonic(), left
            elif time.monotonic() - moved_at > STALLED_S:
                raise BrokerUnavailable(
                    f"{who} is {left} records behind and stands still.",
                    remedy="`canonry lag` tells who has its partitions; nothing is lost, run the command again then.",
                )
            await help_()
            await asyncio.sleep(LOOK_EVERY_S)

    async def _ledger_behind(self, ends: dict[Place, int]) -> int:
        group = group_id("ledger", self._settings.kafka.topic_prefix)
        return await behind(self._prober, Reads(group, STAGES["ledger"].reads), ends)

    async def _help_ledger(self) -> None:
        if self._ledger.pid is None and not await self._has_members(group_id("ledger")):
            self._note("No ledger is at work: one is started for this.")
            self._ledger.want()

    async def _catalog_behind(self, ends: dict[Place, int]) -> int:
        log = log_identity(self._settings, self._prober.cluster)
        kept, _ = await asyncio.to_thread(kept_positions, self._settings, log)
        group = consumer_group("catalog", self._settings.kafka.topic_prefix)
        return await behind(self._prober, Reads(group, CATALOG_TOPICS), ends, kept)

    async def _help_catalog(self) -> None:
        if not self._following and not await self._has_members(consumer_group("catalog")):
            self._following = True
            await self._stack.enter_async_context(self._consumers)

    async def _has_members(self, group: str) -> bool:
        return bool(await members(self._settings, self._broker, self._settings.kafka.topic_prefix + group))
