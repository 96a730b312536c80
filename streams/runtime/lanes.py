"""Keyed lanes: events of one key run one after the other, different keys side by side, all together bounded."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable


class Lanes:
    """Runs jobs by key.

    Args:
        limit: jobs that may be accepted and not yet finished; `submit` waits beyond it (backpressure).
    """

    def __init__(self, limit: int) -> None:
        self._free = asyncio.Semaphore(limit)
        self._limit = limit
        self._lanes: dict[bytes, deque[Callable[[], Awaitable[None]]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._active = 0
        self._idle = asyncio.Event()
        self._idle.set()

    async def submit(self, key: bytes, job: Callable[[], Awaitable[None]]) -> None:
        """Accepts a job behind all earlier ones of its key; waits while the lanes are full.

        The job must not raise: what a failure means is decided by whoever wrote it.
        """
        await self._free.acquire()
        self._active += 1
        self._idle.clear()
        lane = self._lanes.get(key)
        if lane is not None:
            lane.append(job)
            return
        self._lanes[key] = deque([job])
        task = asyncio.create_task(self._run(key))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self, key: bytes) -> None:
        lane = self._lanes[key]
        try:
            while lane:
                job = lane.popleft()
                try:
                    await job()
                finally:
                    self._finished()
        finally:
            del self._lanes[key]
            for _ in range(len(lane)):  # cancelled: what waited behind it will not run
                self._finished()

    def _finished(self) -> None:
        self._active -= 1
        self._free.release()
        if not self._active:
            self._idle.set()

    @property
    def active(self) -> int:
        """Jobs accepted and not finished."""
        return self._active

    async def drained(self, timeout: float) -> bool:
        """Waits until no job is left, at most `timeout` seconds; whether that was so."""
        try:
            async with asyncio.timeout(timeout):
                await self._idle.wait()
        except TimeoutError:
            return False
        return True

    async def cancel(self) -> None:
        """Gives up what is still running or waiting; nothing of it is acknowledged."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
