"""Order within a key, parallel over keys, bounded, and ended on request."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from streams.runtime.lanes import Lanes


class Work:
    """Jobs that wait until they are told, and what they did."""

    def __init__(self) -> None:
        self.began: list[str] = []
        self.ended: list[str] = []
        self.gates: dict[str, asyncio.Event] = {}

    def job(self, name: str) -> Callable[[], Awaitable[None]]:
        gate = self.gates[name] = asyncio.Event()

        async def run() -> None:
            self.began.append(name)
            await gate.wait()
            self.ended.append(name)

        return run


async def settle() -> None:
    """Lets everything run that can."""
    for _ in range(10):
        await asyncio.sleep(0)


async def test_one_key_in_order_and_other_keys_beside_it() -> None:
    lanes, work = Lanes(10), Work()
    for key, name in ((b"a", "a1"), (b"a", "a2"), (b"b", "b1"), (b"c", "c1")):
        await lanes.submit(key, work.job(name))
    await settle()
    assert work.began == ["a1", "b1", "c1"]
    work.gates["a2"].set()
    work.gates["b1"].set()
    await settle()
    assert work.ended == ["b1"]
    work.gates["a1"].set()
    await settle()
    assert work.ended == ["b1", "a1", "a2"]
    assert lanes.active == 1


async def test_a_key_can_come_back_after_its_lane_was_empty() -> None:
    lanes, work = Lanes(2), Work()
    for name in ("one", "two", "three"):
        await lanes.submit(b"a", work.job(name))
        work.gates[name].set()
        assert await lanes.drained(5)
    assert work.ended == ["one", "two", "three"]


async def test_submit_waits_while_the_lanes_are_full() -> None:
    lanes, work = Lanes(2), Work()
    await lanes.submit(b"a", work.job("a1"))
    await lanes.submit(b"a", work.job("a2"))  # waits behind a1, and counts
    third = asyncio.create_task(lanes.submit(b"b", work.job("b1")))
    await settle()
    assert not third.done()
    assert work.began == ["a1"]
    work.gates["a1"].set()
    await third
    await settle()
    assert work.began == ["a1", "a2", "b1"]


async def test_a_submit_that_is_cancelled_while_it_waits_takes_no_place() -> None:
    lanes, work = Lanes(1), Work()
    await lanes.submit(b"a", work.job("a1"))
    waiting = asyncio.create_task(lanes.submit(b"b", work.job("b1")))
    await settle()
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    work.gates["a1"].set()
    await lanes.submit(b"c", work.job("c1"))
    work.gates["c1"].set()
    assert await lanes.drained(5)
    assert work.ended == ["a1", "c1"]


async def test_draining_is_bounded() -> None:
    lanes, work = Lanes(5), Work()
    assert await lanes.drained(0)
    await lanes.submit(b"a", work.job("a1"))
    assert not await lanes.drained(0.02)
    work.gates["a1"].set()
    assert await lanes.drained(5)


async def test_cancelling_ends_what_runs_and_what_waits() -> None:
    lanes, work = Lanes(4), Work()
    for name in ("a1", "a2", "a3"):
        await lanes.submit(b"a", work.job(name))
    await lanes.submit(b"b", work.job("b1"))
    blocked = asyncio.create_task(lanes.submit(b"c", work.job("c1")))
    await settle()
    await lanes.cancel()
    await blocked
    work.gates["c1"].set()
    assert await lanes.drained(5)
    assert work.began == ["a1", "b1", "c1"]
    assert work.ended == ["c1"]
    assert lanes.active == 0


async def test_a_job_that_raises_although_it_must_not_leaves_no_place_taken() -> None:
    lanes = Lanes(1)

    async def broken() -> None:
        raise RuntimeError("a bug")

    await lanes.submit(b"a", broken)
    async with asyncio.timeout(5):
        work = Work()
        await lanes.submit(b"a", work.job("a2"))
    work.gates["a2"].set()
    assert await lanes.drained(5)


@pytest.mark.parametrize("limit", [1, 3, 8])
async def test_many_keys_all_run_and_stay_in_order(limit: int) -> None:
    lanes = Lanes(limit)
    seen: dict[int, list[int]] = {key: [] for key in range(7)}
    most = 0

    def job(key: int, number: int) -> Callable[[], Awaitable[None]]:
        async def run() -> None:
            nonlocal most
            most = max(most, lanes.active)
            await asyncio.sleep((number * 7 + key) % 3 / 1000)
            seen[key].append(number)

        return run

    for number in range(100):
        await lanes.submit(str(number % 7).encode(), job(number % 7, number))
    assert await lanes.drained(10)
    assert all(numbers == sorted(numbers) for numbers in seen.values())
    assert sum(len(numbers) for numbers in seen.values()) == 100
    assert most <= limit
