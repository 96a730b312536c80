"""The built-in consumers beside other work in one process: started, watched, and known to have caught up."""

from __future__ import annotations

import asyncio
import time

from streams.blobs import BlobStore
from streams.consumers.host import OnApplied, run_consumers
from streams.consumers.reader import consumer_group
from streams.errors import BrokerUnavailable
from streams.log.client import committed_offsets, end_offsets
from streams.settings import Settings

CAUGHT_UP_S = 60.0
SEARCH_GROUPS = {"search": ("canon-ready",), "search-held": ("quarantine",)}


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

    async def search_caught_up(self) -> None:
        """Returns when the search index has all that the ledger has published until now.

        Raises:
            BrokerUnavailable: not within a minute.
        """
        topics = [topic for read in SEARCH_GROUPS.values() for topic in read]
        ends = await end_offsets(self._settings, self._broker, topics)
        deadline = time.monotonic() + CAUGHT_UP_S
        prefix = self._settings.kafka.topic_prefix
        for name, read in SEARCH_GROUPS.items():
            wanted = {key: end for key, end in ends.items() if key[0] in read and end > 0}
            while wanted:
                self.check()
                done = await committed_offsets(self._settings, self._broker, consumer_group(name, prefix), read)
                wanted = {key: end for key, end in wanted.items() if (done.get(key) or 0) < end}
                if wanted and time.monotonic() > deadline:
                    raise BrokerUnavailable(f"The search index is still behind after {CAUGHT_UP_S:.0f} s.")
                if wanted:
                    await asyncio.sleep(0.05)
