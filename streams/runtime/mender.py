"""Has a stage state anew what a former owner of its partitions has overwritten; in the lane of the document."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Protocol, runtime_checkable

from streams.errors import CanonryError
from streams.runtime.lanes import Lanes
from streams.runtime.messages import Handler, Incoming, Outputs

log = logging.getLogger(__name__)

INTERVAL_S = 1.0

Place = tuple[int, str]  # partition, key


@runtime_checkable
class Fenced(Handler, Protocol):
    """A handler that can tell what others have overwritten, and what should stand there."""

    async def overwritten(self, generation: int) -> set[Place]:
        """What others than the owner of this generation have written since the last time. Raises CanonryError."""
        ...

    async def restated(self, partition: int, key: str, generation: int) -> tuple[Incoming, Outputs] | None:
        """What should stand in the topics for this key, as if its newest event came once more; None: nothing yet."""
        ...

    async def unwatched(self) -> None:
        """The stage stops."""


class Mender:
    """Looks once a second.

    Args:
        ready: the generation of now, when all partitions are ours and their state is restored; else None.
        deliver: publishes in this generation; False when a partition is not ours any more.
    """

    def __init__(
        self,
        handler: Fenced,
        lanes: Lanes,
        ready: Callable[[], int | None],
        deliver: Callable[[Incoming, Outputs], Awaitable[bool]],
    ) -> None:
        self._handler, self._lanes, self._ready, self._deliver = handler, lanes, ready, deliver
        self._todo: set[Place] = set()
        self.restated = 0

    async def run(self) -> None:
        """For ever."""
        while True:
            await asyncio.sleep(INTERVAL_S)
            generation = self._ready()
            if generation is None:
                continue
            try:
                self._todo |= await self._handler.overwritten(generation)
            except CanonryError as error:
                log.warning("What a former owner may have overwritten can't be read: %s", error)
            for place in sorted(self._todo):
                try:
                    await self._in_its_lane(place)
                except CanonryError as error:
                    log.warning("%s: what a former owner has overwritten is not put right yet: %s", place[1], error)

    async def _in_its_lane(self, place: Place) -> None:
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        async def job() -> None:
            try:
                await self._restate(*place)
            except BaseException as error:
                if not done.done():
                    done.set_exception(error)
                if not isinstance(error, Exception):
                    raise
            else:
                if not done.done():
                    done.set_result(None)

        await self._lanes.submit(place[1].encode(), job)
        await done

    async def _restate(self, partition: int, key: str) -> None:
        generation = self._ready()
        if generation is None:
            return  # once more in the next round, or by the next owner
        found = await self._handler.restated(partition, key, generation)
        if found is None or await self._deliver(*found):
            self._todo.discard((partition, key))
        if found is not None:
            self.restated += 1
            log.warning("%s: a former owner of partition %d had overwritten it; it is stated anew.", key, partition)
