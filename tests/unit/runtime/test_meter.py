"""Turns by rank, number and rate, with the real clock in small."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from streams.runtime.meter import Meter, follow_settings
from streams.settings import RecognitionSettings


class Log:
    """Who had a turn, when."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._began = time.monotonic()
        self.turns: list[tuple[str, float]] = []
        self.at_once = self.most = 0

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.turns]

    async def work(self, name: str, rank: int = 0, pages: int = 1, seconds: float = 0.0) -> None:
        async with self._meter.turn(rank):
            self.turns.append((name, time.monotonic() - self._began))
            self.at_once += 1
            self.most = max(self.most, self.at_once)
            if pages:
                self._meter.spend(pages)
            await asyncio.sleep(seconds)
            self.at_once -= 1


async def test_live_goes_first_and_equals_in_their_order() -> None:
    log = Log(Meter(1))
    async with asyncio.TaskGroup() as group:
        group.create_task(log.work("first", 1, seconds=0.05))
        await asyncio.sleep(0.01)
        for name, rank in (("old 1", 1), ("old 2", 1), ("live 1", 0), ("live 2", 0)):
            group.create_task(log.work(name, rank))
            await asyncio.sleep(0)
    assert log.names == ["first", "live 1", "live 2", "old 1", "old 2"]


async def test_no_more_at_once_than_allowed() -> None:
    log = Log(Meter(2))
    await asyncio.gather(*(log.work(str(n), seconds=0.01) for n in range(9)))
    assert log.most == 2
    assert len(log.turns) == 9


@pytest.mark.parametrize("pages", [1, 2])
async def test_pages_per_minute_hold_over_time(pages: int) -> None:
    log = Log(Meter(3, 60 * 20))  # 20 pages a second
    await asyncio.gather(*(log.work(str(n), pages=pages) for n in range(12 // pages)))
    last = log.turns[-1][1]
    assert (12 - pages) / 20 - 0.05 <= last <= 1.2


async def test_what_was_not_read_is_no_credit() -> None:
    meter = Meter(1, 60 * 20)
    await asyncio.sleep(0.3)  # six pages
    log = Log(meter)
    await asyncio.gather(*(log.work(str(n)) for n in range(6)))
    assert log.turns[-1][1] >= 0.15


async def test_a_turn_without_pages_costs_nothing() -> None:
    log = Log(Meter(1, 60))
    await asyncio.gather(*(log.work(str(n), pages=0) for n in range(50)))
    assert log.turns[-1][1] < 0.5


async def test_live_overtakes_what_waits_for_the_meter() -> None:
    log = Log(Meter(1, 60 * 10))
    async with asyncio.TaskGroup() as group:
        for n in range(3):
            group.create_task(log.work(f"old {n}", 1))
        await asyncio.sleep(0.05)
        group.create_task(log.work("live", 0))
    assert log.names == ["old 0", "live", "old 1", "old 2"]


async def test_a_pause_rests_and_ends() -> None:
    meter = Meter(1, paused=True)
    log = Log(meter)
    task = asyncio.create_task(log.work("a"))
    await asyncio.sleep(0.02)
    assert (log.names, meter.resting) == ([], True)
    meter.set(0, paused=False)
    await task
    assert (log.names, meter.resting) == (["a"], False)


async def test_who_gives_up_takes_no_turn_from_the_others() -> None:
    meter = Meter(1)
    log = Log(meter)
    holder = asyncio.create_task(log.work("holder", seconds=0.05))
    await asyncio.sleep(0.01)
    given_up = asyncio.create_task(log.work("given up"))
    last = asyncio.create_task(log.work("last"))
    await asyncio.sleep(0.01)
    given_up.cancel()
    await asyncio.gather(holder, last)
    assert log.names == ["holder", "last"]
    async with asyncio.timeout(1):
        await log.work("again")


async def test_a_changed_file_is_read_and_a_broken_one_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "canonry.toml"
    path.write_text("[recognition]\npaused = true\n")
    monkeypatch.setenv("CANONRY_CONFIG", str(path))
    found: list[RecognitionSettings] = []
    task = asyncio.create_task(follow_settings(found.append, 0.02))
    await asyncio.sleep(0.05)
    assert found == []
    path.write_text("[recognition]\npages_per_minute = 30\n")
    await asyncio.sleep(0.1)
    path.write_text("[recognition]\nno such thing\n")
    await asyncio.sleep(0.1)
    task.cancel()
    assert [(one.pages_per_minute, one.paused) for one in found] == [(30.0, False)]
    assert "can't be used" in caplog.text
