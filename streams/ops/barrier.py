"""Waiting until what stands in the log now has come through the ledger into the catalog."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping

from streams.errors import BrokerUnavailable
from streams.log.client import committed_offsets, end_offsets
from streams.log.groups import members
from streams.ops.consumers_task import ConsumersTask
from streams.ops.worker_process import WorkerProcess
from streams.settings import Settings
from streams.topology import STAGES, group_id

LOOK_EVERY_S = 0.25
STALLED_S = 60.0


class Barrier:
    """A ledger at work, one of our own where there is none, and consumers that follow it."""

    def __init__(self, settings: Settings, broker: str, worker: WorkerProcess, consumers: ConsumersTask) -> None:
        """
        Args:
            worker: of the stage ledger; started when nobody else is in its group.
        """
        self._settings = settings
        self._broker = broker
        self._worker = worker
        self._consumers = consumers
        self._group = group_id("ledger", settings.kafka.topic_prefix)
        self._topics = STAGES["ledger"].reads

    async def passed(self, starting_worker: Callable[[], None] = lambda: None) -> None:
        """Returns when everything that was published until now is in the catalog.

        Args:
            starting_worker: called when a ledger of our own is started.

        Raises:
            WorkerFailed: our own ledger can't be kept running.
            BrokerUnavailable: the ledger, or the consumers, made no progress for a minute.
        """
        ends = await end_offsets(self._settings, self._broker, self._topics)
        moved_at = time.monotonic()
        behind = await self._behind(ends)
        while behind:
            self._worker.check()
            self._consumers.check()
            if self._worker.pid is None and not await members(self._settings, self._broker, self._group):
                starting_worker()
                self._worker.want()
            await asyncio.sleep(LOOK_EVERY_S)
            before, behind = behind, await self._behind(ends)
            if behind != before:
                moved_at = time.monotonic()
            elif time.monotonic() - moved_at > STALLED_S:
                raise BrokerUnavailable(
                    f"The ledger is {behind} events behind and stands still.",
                    remedy="`canonry lag` tells who has its partitions; nothing is lost, run the command again then.",
                )
        await self._consumers.caught_up()

    async def _behind(self, ends: Mapping[tuple[str, int], int]) -> int:
        done = await committed_offsets(self._settings, self._broker, self._group, self._topics)
        return sum(max(0, end - (done.get(place) or 0)) for place, end in ends.items())
