"""How far a worker's own partitions are behind, by what it has been handed, and what the log holds.

A partition's oldest record that is not done is the oldest open event, whose timestamp is known. Where nothing is open
and the log holds more, it has not been handed over yet (it waits behind full lanes, or for a state), or there is none:
the rest are markers of transactions, or was cleaned away. Only a look at the log can tell; see `streams.log.freshness`.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from streams.errors import CanonryError
from streams.log.freshness import Place, RecordTimes
from streams.runtime.offsets import PartitionOffsets
from streams.settings import Settings

log = logging.getLogger(__name__)

PEEK_EVERY_S = 2.0


@dataclass(frozen=True)
class PartitionLag:
    """Of one partition at one moment."""

    records: int
    oldest_at: float | None  # seconds since the epoch, by the log; None: nothing is left to do

    def seconds(self, now: float) -> float:
        """Age of the oldest record that is not done."""
        return max(0.0, now - self.oldest_at) if self.oldest_at is not None else 0.0


@dataclass(frozen=True)
class _Peek:
    at: int  # first offset that was looked for
    high: int
    found: float | None  # timestamp of the first record from there on; None: none below `high`


class Book:
    """What is known of the partitions of one assignment; a new assignment gets a new one."""

    def __init__(self) -> None:
        self._starts: dict[Place, int] = {}
        self._looked: dict[Place, tuple[int, int]] = {}
        self._peeked: dict[Place, _Peek] = {}
        self._noticed: dict[Place, tuple[int, float]] = {}
        self._targets: dict[Place, int] = {}

    def starts(self, offsets: Mapping[Place, int]) -> None:
        """From which offsets the partitions go on; 0 where nothing was committed."""
        self._starts.update(offsets)

    def looked(self, place: Place, position: int, high: int) -> None:
        """The consumer's position (next to fetch) and high watermark."""
        self._looked[place] = (position, high)

    def peeked(self, place: Place, at: int, high: int, found: float | None) -> None:
        """What a look at the log found from an offset on."""
        self._peeked[place] = _Peek(at, high, found)

    def lag(self, place: Place, offsets: PartitionOffsets) -> PartitionLag:
        """Of one partition; nothing where nothing is known yet."""
        done, high = self._done(place, offsets), self._looked.get(place, (0, 0))[1]
        if offsets.oldest_open is not None:
            return PartitionLag(max(1, high - done), offsets.oldest_open_at)
        if high <= done:
            return PartitionLag(0, None)
        peek = self._answer(place, done, high)
        if peek is None:  # until it was looked at, it is at least as old as we have known of it
            at, since = self._noticed.get(place, (-1, 0.0))
            if at != done:
                since = time.time()
                self._noticed[place] = (done, since)
            return PartitionLag(high - done, since)
        return PartitionLag(high - done if peek.found is not None else 0, peek.found)

    def unseen(self, partitions: Mapping[Place, PartitionOffsets]) -> dict[Place, tuple[int, int]]:
        """Partitions of which only a look at the log can tell: from which offset on, up to which."""
        found = {}
        for place, offsets in partitions.items():
            done, high = self._done(place, offsets), self._looked.get(place, (0, 0))[1]
            if offsets.oldest_open is None and high > done and self._answer(place, done, high) is None:
                found[place] = (done, high)
        return found

    def caught_up(self, partitions: Mapping[Place, PartitionOffsets]) -> bool:
        """Whether all that the log held when this assignment began is done."""
        if any(place not in self._starts or place not in self._looked for place in partitions):
            return False
        for place, offsets in partitions.items():
            target = self._targets.setdefault(place, self._looked[place][1])
            done = self._done(place, offsets)
            if done < target and self.lag(place, offsets).oldest_at is not None:
                return False
        return True

    def _done(self, place: Place, offsets: PartitionOffsets) -> int:
        """The first offset that is not done."""
        if offsets.committable is not None:
            return offsets.committable
        if offsets.oldest_open is not None:
            return offsets.oldest_open
        return self._starts.get(place, self._looked.get(place, (0, 0))[0])

    def _answer(self, place: Place, done: int, high: int) -> _Peek | None:
        peek = self._peeked.get(place)
        if peek is None or peek.at != done or (peek.found is None and peek.high < high):
            return None
        return peek


async def peek_for_ever(settings: Settings, broker: str, apps: Iterable[Any]) -> None:
    """Looks into the log for what the stages of this process can't tell by themselves. Ends only when cancelled."""
    apps = list(apps)
    while True:
        try:
            async with RecordTimes(settings, broker) as times:
                while True:
                    for app in apps:
                        await app.peek(times)
                    await asyncio.sleep(PEEK_EVERY_S)
        except CanonryError as error:
            log.info("The log could not be looked into: %s", error)
            await asyncio.sleep(PEEK_EVERY_S)
