"""Watching: changes are said soon after they happen, and moves are moves also when seen in two halves."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from streams.connectors.folder_look import Summary
from streams.errors import UsageError
from streams.records import ChangeEvent
from tests.unit.connectors.worlds import MemoryLog, World

PATIENCE_S = 20.0


class Watching:
    """A running watch; `until` waits for a condition that events and looks can make true."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.stop = asyncio.Event()
        self.summaries: list[Summary] = []
        self.said: list[tuple[str, str, str]] = []
        self._tick = asyncio.Event()

    def note(self, event: ChangeEvent) -> None:
        self.said.append((str(event.operation), event.manifest.native_id, event.manifest.path))
        self._tick.set()

    def looked(self, summary: Summary) -> None:
        self.summaries.append(summary)
        self._tick.set()

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not condition():
                self._tick.clear()
                await self._tick.wait()

    async def says(self, *expected: tuple[str, str, str]) -> None:
        """Waits for these events, and for nothing else since the last call."""
        await self.until(lambda: len(self.said) >= len(expected))
        assert sorted(self.said) == sorted(expected)
        self.said.clear()


@asynccontextmanager
async def watching(world: World, *, rescan_s: float = 600.0, debounce_ms: int = 150) -> AsyncIterator[Watching]:
    it = Watching(world)
    task = asyncio.create_task(
        world.connector.watch(
            world.store,
            world.log,
            it.stop,
            rescan_s=rescan_s,
            debounce_ms=debounce_ms,
            on_published=lambda event, _: it.note(event),
            on_summary=it.looked,
        )
    )
    try:
        await it.until(lambda: task.done() or bool(it.summaries))  # the first scan
        yield it
    finally:
        it.stop.set()
        await asyncio.wait_for(task, PATIENCE_S)


async def test_first_scan_then_each_change(world: World) -> None:
    world.write("a/1", "one")
    async with watching(world) as it:
        await it.says(("upsert", "a/1", "a/1"))
        world.write("a/2", "two")
        await it.says(("upsert", "a/2", "a/2"))
        world.write("a/1", "one more")
        await it.says(("upsert", "a/1", "a/1"))
        world.write("new/deep/er/3", "three")
        await it.says(("upsert", "new/deep/er/3", "new/deep/er/3"))
        os.symlink("nowhere", world.root / "link")
        await it.says(("failed", "link", "link"))
        os.unlink(world.root / "a/2")
        await it.says(("delete", "a/2", "a/2"))
    assert world.log.replay().keys() == {"docs:a/1", "docs:new/deep/er/3", "docs:link"}


async def test_renames(world: World) -> None:
    for name in ("a/1", "a/2", "b"):
        world.write(name, name)
    async with watching(world) as it:
        await it.until(lambda: len(it.said) == 3)
        it.said.clear()
        calls = world.store.calls
        os.rename(world.root / "b", world.root / "c")
        await it.says(("move", "b", "c"))
        os.rename(world.root / "a", world.root / "z")
        await it.says(("move", "a/1", "z/1"), ("move", "a/2", "z/2"))
        assert world.store.calls == calls


async def test_move_in_two_batches(world: World) -> None:
    """The file leaves the folder, the watcher tells of it, and only then it comes back elsewhere."""
    world.write("a", "content")
    async with watching(world, debounce_ms=800) as it:
        await it.says(("upsert", "a", "a"))
        looks = len(it.summaries)
        os.rename(world.root / "a", world.base / "aside")
        await it.until(lambda: len(it.summaries) > looks)  # the half that looks like a delete was seen
        assert it.said == []
        os.rename(world.base / "aside", world.root / "b")
        await it.says(("move", "a", "b"))
    assert world.right(world.log)


async def test_many_deletes_wait_also_in_small_batches(world: World) -> None:
    for number in range(30):
        world.write(f"{number:02}", str(number))
    async with watching(world, debounce_ms=60) as it:
        await it.until(lambda: len(it.said) == 30)
        it.said.clear()
        for number in range(8):
            os.unlink(world.root / f"{number:02}")
        await it.until(lambda: len(it.said) == 8)
        for number in range(8, 14):
            os.unlink(world.root / f"{number:02}")
        await it.until(lambda: any(summary.held_deletes for summary in it.summaries))
        assert len(it.said) == 8
    assert (await world.scan()).deleted == 6  # of 22 known ones: below ten


async def test_name_that_the_watcher_cannot_spell(world: World) -> None:
    async with watching(world) as it:
        world.write(b"caf\xe9", "coffee")
        await it.says(("upsert", "caf%E9", "caf%E9"))
        world.write("after", "it goes on")
        await it.says(("upsert", "after", "after"))


async def test_periodic_scan(world: World) -> None:
    async with watching(world, rescan_s=0.1) as it:
        await it.until(lambda: len(it.summaries) >= 4)


async def test_root_that_goes_and_comes_back(world: World) -> None:
    world.write("a", "a")
    async with watching(world) as it:
        await it.says(("upsert", "a", "a"))
        os.rename(world.root, world.base / "away")
        await it.until(lambda: bool(it.summaries[-1].incomplete))
        os.rename(world.base / "away", world.root)
        world.write("b", "b")
        await it.says(("upsert", "b", "b"))


async def test_broker_that_goes_away_and_comes_back(world: World) -> None:
    async with watching(world) as it:
        refused = asyncio.Event()
        world.log.on_refused = refused.set
        world.log.fail_after = 0
        world.write("a", "a")
        await asyncio.wait_for(refused.wait(), PATIENCE_S)
        world.log.fail_after = None
        await it.says(("upsert", "a", "a"))


async def test_large_tree_that_arrives_and_leaves_at_once(world: World) -> None:
    source = world.base / "outside"
    for number in range(300):
        path = source / str(number % 7) / str(number)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(str(number))
    async with watching(world) as it:
        shutil.copytree(source, world.root / "in")
        await it.until(lambda: len(it.said) >= 300)
        os.rename(world.root / "in", world.root / "moved")
        await it.until(lambda: sum(kind == "move" for kind, _, _ in it.said) == 300)
    assert world.right(world.log)


async def test_watch_holds_the_lock(world: World) -> None:
    async with watching(world):
        with pytest.raises(UsageError, match="another process"):
            await world.connector.scan(world.store, MemoryLog())
