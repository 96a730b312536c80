"""Watching a folder: what the operating system reports is where to look, never what happened there.

Each batch of reported paths is compared as a scan would, over these paths only. The watcher runs before the first
scan, so that nothing falls between the two. A delete waits for one debounce period: if the document shows itself
elsewhere meanwhile, it has moved. A whole scan follows when the watcher fails, when a batch is so large that the
kernel's queue may have overflowed (watchfiles does not pass that on), when the root is replaced, and in any case every
`rescan_s` seconds.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Protocol

from watchfiles import Change, awatch
from watchfiles._rust_notify import WatchfilesRustInternalError

from streams.connectors.folder_look import Look, Summary
from streams.errors import CanonryError

MAX_BATCH = 2000
"""Paths above which a whole scan is cheaper and surer: inotify's queue holds 16384 events, several for each file."""

_POLL_MS = 5000
_PAUSE_S = (1.0, 60.0)  # after an error: the first pause and the longest

log = logging.getLogger(__name__)


class Watched(Protocol):
    """What of the connector is needed here."""

    root: Path

    def own_paths(self) -> list[Path]: ...


class Deliver(Protocol):
    """One look, published."""

    async def __call__(self, look: Look) -> Summary: ...


class Watch:
    """One watch over one folder."""

    def __init__(
        self,
        folder: Watched,
        deliver: Deliver,
        stop: asyncio.Event,
        rescan_s: float,
        debounce_ms: int,
        on_summary: Callable[[Summary], None] | None,
        approve_deletes: bool,
    ) -> None:
        self._folder = folder
        self._deliver = deliver
        self._stop = stop
        self._rescan_s = rescan_s
        self._debounce_ms = debounce_ms
        self._on_summary = on_summary
        self._approved = approve_deletes
        self._polling = False
        self._scanned = 0.0  # when the last whole scan began
        self._waiting: dict[bytes, float] = {}  # path of a delete -> since when it waits
        self._deleted = 0  # by partial looks since the last whole scan

    async def run(self) -> None:
        """Until `stop`. Raises CanonryError if trying again does not help."""
        pause = _PAUSE_S[0]
        while not self._stop.is_set():
            started = time.monotonic()
            try:
                await self._watch_plainly()
            except (OSError, WatchfilesRustInternalError) as error:
                if not self._polling and _identity(str(self._folder.root)) is not None:
                    # no watches left, a file system without them, or a name that is no Unicode
                    self._polling = "limit" in str(error) or "support" in str(error)
                log.warning("Watching %s was interrupted: %s", self._folder.root, error)
                await self._scan_if_due()
            except CanonryError as error:
                if not error.transient:
                    raise
                log.warning("Changes in %s could not be published yet: %s", self._folder.root, error)
            if time.monotonic() - started > _PAUSE_S[1]:
                pause = _PAUSE_S[0]
            if not self._stop.is_set():
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._stop.wait(), pause)
            pause = min(pause * 2, _PAUSE_S[1])

    async def _watch_plainly(self) -> None:
        """awatch wraps an error of its own in a group; here it is that error again."""
        try:
            await self._watch()
        except ExceptionGroup as group:
            if len(group.exceptions) == 1:
                raise group.exceptions[0] from None
            raise

    async def _watch(self) -> None:
        root, *own = _real(self._folder.root, *self._folder.own_paths())
        identity = _identity(root)
        batches = awatch(
            root,
            watch_filter=lambda _, path: not any(path == place or path.startswith(place + os.sep) for place in own),
            debounce=self._debounce_ms,
            step=min(50, self._debounce_ms),
            rust_timeout=self._debounce_ms,  # an empty batch after so much silence: the watcher is up, or time passes
            yield_on_timeout=True,
            stop_event=self._stop,
            force_polling=self._polling or None,
            poll_delay_ms=_POLL_MS if self._polling else 300,
            ignore_permission_denied=True,
        )
        first = True
        async with aclosing(batches):
            async for batch in batches:
                if first or len(batch) > MAX_BATCH or time.monotonic() - self._scanned >= self._rescan_s:
                    await self._scan()
                else:
                    await self._look(_relative(root, batch))
                first = False
                if _identity(root) != identity:
                    raise FileNotFoundError(f"{root} was removed or replaced")

    async def _scan(self) -> None:
        self._scanned = time.monotonic()
        summary = await self._deliver(Look(approved=self._approved))
        self._waiting.clear()
        self._deleted = 0
        self._report(summary)

    async def _scan_if_due(self) -> None:
        """A root that can't be watched is still looked at: if only to say that it is away."""
        if time.monotonic() - self._scanned >= _PAUSE_S[0]:
            await self._scan()

    async def _look(self, paths: frozenset[bytes]) -> None:
        now = time.monotonic()
        if paths:
            look = Look(paths=paths, wait=True)
            self._report(await self._deliver(look))
            for raw in look.waiting:
                self._waiting.setdefault(raw, now)
        due = frozenset(raw for raw, since in self._waiting.items() if now - since >= self._debounce_ms / 1000)
        if due:
            summary = await self._deliver(Look(paths=due, approved=self._approved, deleted_before=self._deleted))
            self._deleted += summary.deleted
            for raw in due:
                del self._waiting[raw]
            self._report(summary)

    def _report(self, summary: Summary) -> None:
        if self._on_summary is not None:
            self._on_summary(summary)


def _relative(root: str, batch: set[tuple[Change, str]]) -> frozenset[bytes]:
    prefix = root.rstrip(os.sep) + os.sep
    return frozenset(os.fsencode(path[len(prefix) :]) for _, path in batch if path.startswith(prefix))


def _real(*paths: Path) -> list[str]:
    return [os.path.realpath(path) for path in paths]


def _identity(root: str) -> tuple[int, int] | None:
    try:
        st = os.stat(root)
    except OSError:
        return None
    return st.st_dev, st.st_ino
