"""Whose turn it is in a stage whose work is dear: urgent events first, so many at once, so many pages a minute.

A token bucket of one page that may run into debt: an event gets its turn when the bucket is full and pays for what it
reads, so that over time no more is read than allowed, and an event of two pages does not need a bucket of two.
"""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import itertools
import logging
import time
from collections.abc import AsyncIterator, Callable

from streams.errors import SettingsError
from streams.settings import RecognitionSettings, Settings, config_path

log = logging.getLogger(__name__)

_FULL = 1.0
"""Pages that a bucket holds at most: what was not read in a quiet hour is no credit for the next."""

LOOK_EVERY_S = 2.0


class Meter:
    """Gives turns, in one event loop.

    Args:
        at_once: turns that may be held at the same time.
        pages_per_minute: read at most, on average; 0: no limit.
        paused: no turn is given until `set` says otherwise.
    """

    def __init__(self, at_once: int, pages_per_minute: float = 0.0, *, paused: bool = False) -> None:
        self._at_once = at_once
        self._rate = pages_per_minute / 60
        self._paused = paused
        self._level = _FULL
        self._filled_at = time.monotonic()
        self._held = 0
        self._queue: list[tuple[int, int, asyncio.Future[None]]] = []
        self._numbers = itertools.count()
        self._timer: asyncio.TimerHandle | None = None

    def set(self, pages_per_minute: float, *, paused: bool) -> None:
        """Other limits from now on, for those that wait as well."""
        self._fill()
        self._rate = pages_per_minute / 60
        self._level = max(self._level, -_FULL) if self._rate else _FULL
        self._paused = paused
        self._grant()

    @property
    def resting(self) -> bool:
        """Whether all that is there waits for the meter or the end of a pause, and nothing is worked on."""
        return not self._held and any(not turn.done() for _, _, turn in self._queue)

    @contextlib.asynccontextmanager
    async def turn(self, rank: int) -> AsyncIterator[None]:
        """Waits for a turn and holds it.

        Args:
            rank: the lower one goes first, among equals the one that came first.
        """
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._queue, (rank, next(self._numbers), mine))
        self._grant()
        try:
            await mine
        except asyncio.CancelledError:
            if mine.done() and not mine.cancelled():  # given just now
                self._give_back()
            raise
        try:
            yield
        finally:
            self._give_back()

    def spend(self, pages: int) -> None:
        """So many pages are going to be read."""
        if self._rate:
            self._fill()
            self._level -= pages

    def _give_back(self) -> None:
        self._held -= 1
        if self._rate:
            self._level += 1
        self._grant()

    def _fill(self) -> None:
        now = time.monotonic()
        self._level = min(_FULL, self._level + self._rate * (now - self._filled_at))
        self._filled_at = now

    def _grant(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._queue and self._held < self._at_once and not self._paused:
            if self._queue[0][2].done():  # whoever waited has given up
                heapq.heappop(self._queue)
                continue
            if self._rate:
                self._fill()
                if self._level < _FULL:
                    wait_s = max(0.001, (_FULL - self._level) / self._rate)
                    self._timer = asyncio.get_running_loop().call_later(wait_s, self._grant)
                    return
                self._level -= 1  # until it is known what is read, see `_give_back`
            self._held += 1
            heapq.heappop(self._queue)[2].set_result(None)


async def follow_settings(use: Callable[[RecognitionSettings], None], every_s: float = LOOK_EVERY_S) -> None:
    """Reads canonry.toml again whenever it changes, so that an operator can slow down, pause and go on.

    A file that can't be used is said and changes nothing. Variables of the environment win as always.
    """
    seen = _stamp()
    while True:
        await asyncio.sleep(every_s)
        if (now := _stamp()) == seen:
            continue
        seen = now
        try:
            found = Settings.load().recognition
        except SettingsError as error:
            log.warning("The settings were changed and can't be used: %s", error)
            continue
        log.info("Recognition: %g pages a minute, paused: %s.", found.pages_per_minute, found.paused)
        use(found)


def _stamp() -> tuple[int, int] | None:
    try:
        stat = config_path().stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size
