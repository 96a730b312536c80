"""Waiting for the world: exponential, with jitter, so that many who wait do not come back at once."""

from __future__ import annotations

import asyncio
import random

FIRST_S = 0.2
MOST_S = 15.0


class Backoff:
    """One trouble's pauses, from 0.2 to 15 seconds."""

    def __init__(self) -> None:
        self._next = FIRST_S

    async def wait(self) -> None:
        """The next pause."""
        await asyncio.sleep(random.uniform(self._next / 2, self._next))  # noqa: S311 - jitter, no secret
        self._next = min(self._next * 2, MOST_S)
