"""Pauses grow, end at a bound, and are not the same for all who wait."""

from __future__ import annotations

import asyncio

import pytest

from streams.log.backoff import MOST_S, Backoff


async def test_pauses_grow_and_end(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    backoff = Backoff()
    for _ in range(12):
        await backoff.wait()
    for number, pause in enumerate(pauses):
        whole = min(0.2 * 2**number, MOST_S)
        assert whole / 2 <= pause <= whole
