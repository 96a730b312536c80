"""What is under way in the log, whoever decided it: read when a page wants to know, which waits a moment for it."""

from __future__ import annotations

import asyncio
import time

from streams.consumers.catalog import Catalog
from streams.errors import CanonryError
from streams.log import broker as local_broker
from streams.ops.quarantine_under_way import DecisionLog, Told, UnderWay, under_way
from streams.settings import Settings

A_MOMENT_S = 0.3
FRESH_S = 0.5
"""What was read so lately is not read again for a page."""

AWAY_S = 5.0
"""A log that did not answer is left alone for so long by pages."""


class Following:
    """Reads `decisions` on where it stopped before."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._one_reads = asyncio.Lock()
        self._log: DecisionLog | None = None
        self._told: list[Told] = []
        self._reads_again_at = 0.0
        self._looking: asyncio.Task[None] | None = None

    async def now(self) -> UnderWay:
        """What is under way, all that is published by now.

        Raises:
            BrokerUnavailable, NotFound, DatabaseUnavailable: it can't be said.
        """
        async with self._one_reads:
            self._reads_again_at = time.monotonic() + AWAY_S
            try:
                if self._log is None:
                    broker = await asyncio.to_thread(local_broker.address, self._settings)
                    self._log = await DecisionLog(self._settings, broker).__aenter__()
                with await asyncio.to_thread(Catalog, self._settings) as catalog:
                    self._told = await self._log.look(catalog)
            except CanonryError:
                await self._close()
                raise
            self._reads_again_at = time.monotonic() + FRESH_S
        return await asyncio.to_thread(self._open)

    def expect_more(self) -> None:
        """What was read is old, for something was published."""
        self._reads_again_at = 0.0

    async def lately(self) -> UnderWay:
        """What is under way, as far as it is known in a moment."""
        if self._looking is None and time.monotonic() >= self._reads_again_at:
            self._looking = asyncio.create_task(self._look())
        if self._looking is not None:
            await asyncio.wait({self._looking}, timeout=A_MOMENT_S)
        return await asyncio.to_thread(self._open)

    def _open(self) -> UnderWay:
        """Of what was read, that which the catalog does not show as done by now."""
        if not self._told:
            return {}
        with Catalog(self._settings) as catalog:
            return under_way(catalog, self._told)

    async def _look(self) -> None:
        try:
            await self.now()
        except CanonryError:
            pass  # the status page says that the log does not answer, and deciding fails for it
        finally:
            self._looking = None

    async def stop(self) -> None:
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)
        await self._close()

    async def _close(self) -> None:
        if self._log is not None:
            log, self._log = self._log, None
            await log.__aexit__()
