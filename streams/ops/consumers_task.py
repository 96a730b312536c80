"""The built-in consumers beside other work in one process: started, watched, and known to have caught up."""

from __future__ import annotations

import asyncio
import time

from streams.blobs import BlobStore
from streams.consumers.catalog import Catalog
from streams.consumers.catalog_view import TOPICS as CATALOG_TOPICS
from streams.consumers.host import OnApplied, run_consumers
from streams.consumers.search import SearchIndex
from streams.errors import BrokerUnavailable
from streams.log.client import end_offsets
from streams.settings import Settings

STALLED_S = 60.0
LOOK_EVERY_S = 0.05
SEARCH_TOPICS = ("canon-ready", "quarantine")


class ConsumersTask:
    """Catalog and search index, kept up to date in this loop; use it as an async context manager."""

    def __init__(self, settings: Settings, broker: str, store: BlobStore, on_applied: OnApplied) -> None:
        self._settings = settings
        self._broker = broker
        self._store = store
        self._on_applied = on_applied
        self._stop = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> ConsumersTask:
        self._task = asyncio.create_task(
            run_consumers(self._settings, self._broker, self._store, stop=self._stop, on_applied=self._on_applied)
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        self._stop.set()
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)

    def check(self) -> None:
        """Raises what ended them, if something did."""
        if self._task is not None and self._task.done():
            self._task.result()

    async def caught_up(self) -> None:
        """Returns when catalog and search index have all that the log holds for them now.

        Their own positions say so, not the group's commits: a database that was deleted is built again from the start,
        while the group stands at the end.

        Raises:
            BrokerUnavailable: they made no progress for a minute.
        """
        ends = await end_offsets(self._settings, self._broker, sorted({*CATALOG_TOPICS, *SEARCH_TOPICS}))
        behind = await asyncio.to_thread(self._behind, ends)
        moved_at = time.monotonic()
        while behind:
            self.check()
            await asyncio.sleep(LOOK_EVERY_S)
            before, behind = behind, await asyncio.to_thread(self._behind, ends)
            if behind != before:
                moved_at = time.monotonic()
            elif time.monotonic() - moved_at > STALLED_S:
                raise BrokerUnavailable(f"Catalog and search index are {behind} records behind and stand still.")

    def _behind(self, ends: dict[tuple[str, int], int]) -> int:
        """Records that the indexes have not read."""
        with Catalog(self._settings) as catalog, SearchIndex(self._settings) as search:
            found = [(CATALOG_TOPICS, catalog.progress()), (SEARCH_TOPICS, search.progress())]
        behind = 0
        for topics, progress in found:
            read = {(place.topic, place.partition): place.offset for place in progress}
            behind += sum(max(0, end - read.get(key, 0)) for key, end in ends.items() if key[0] in topics)
        return behind
