"""Deletes: each real one, and never one that only looks like it (R-IN-5, scenario S8)."""

from __future__ import annotations

import os
import shutil

import pytest

from streams.connectors import folder_tree
from streams.connectors.folder_scan import VANISHED
from streams.connectors.folder_tree import Tree
from streams.errors import UsageError
from tests.unit.connectors.worlds import World


async def filled(world: World, count: int) -> None:
    for number in range(count):
        world.write(f"{number % 5}/{number:03}", f"content {number}")
    await world.scan()
    world.log.take()


async def test_delete_has_a_reason_and_happens_once(world: World) -> None:
    await filled(world, 3)
    os.unlink(world.root / "1/001")
    assert (await world.scan()).deleted == 1
    (event,) = world.log.events
    assert (event.operation, event.source_id, event.reason) == ("delete", "docs:1/001", VANISHED)
    assert event.content is None
    await world.scan()
    assert len(world.log.events) == 1


async def test_deleted_and_created_again_is_the_same_document(world: World) -> None:
    await filled(world, 3)
    os.unlink(world.root / "1/001")
    await world.scan()
    world.write("1/001", "content 1")
    assert (await world.scan()).new == 1
    assert world.log.take() == [("delete", "1/001", "1/001"), ("upsert", "1/001", "1/001")]


async def test_s8_listing_breaks_off(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Four of five directories can't be listed any more; what is new elsewhere goes on."""
    await filled(world, 40)
    for number in range(1, 5):
        shutil.rmtree(world.root / str(number))
    world.write("0/new", "new")
    world.write("0/000", "changed content")
    scandir = os.scandir
    broken = {os.stat(world.root).st_ino}

    def breaks_off(fd: int) -> object:
        if os.fstat(fd).st_ino in broken:
            with scandir(fd) as entries:
                half = [entry for entry in entries if entry.name == "0"]
            return _Broken(half)
        return scandir(fd)

    monkeypatch.setattr("streams.connectors.folder_tree.os.scandir", breaks_off)
    summary = await world.scan(approve_deletes=True)
    assert (summary.new, summary.changed, summary.deleted) == (1, 1, 0)
    assert summary.incomplete == [".: Input/output error"]
    assert world.log.take() == [("upsert", "0/000", "0/000"), ("upsert", "0/new", "0/new")]


class _Broken:
    """A listing that fails in the middle, as one over a network does."""

    def __init__(self, entries: list[os.DirEntry[str]]) -> None:
        self._entries = iter(entries)

    def __enter__(self) -> _Broken:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def __iter__(self) -> _Broken:
        return self

    def __next__(self) -> os.DirEntry[str]:
        for entry in self._entries:
            return entry
        raise OSError(5, os.strerror(5))


async def test_s8_many_deletes_wait_for_approval(world: World) -> None:
    await filled(world, 40)
    for number in range(12, 40):
        os.unlink(world.root / f"{number % 5}/{number:03}")
    world.write("new", "new")
    summary = await world.scan()
    assert (summary.new, summary.deleted, len(summary.held_deletes)) == (1, 0, 28)
    assert "docs:2/012" in summary.held_deletes
    assert world.log.take() == [("upsert", "new", "new")]
    assert len((await world.scan()).held_deletes) == 28
    world.write("2/012", "content 12")  # one comes back
    summary = await world.scan(approve_deletes=True)
    assert (summary.deleted, summary.held_deletes) == (27, [])
    assert world.connector.state.count() == 14


@pytest.mark.parametrize(("total", "deleted", "held"), [(40, 10, False), (40, 11, True), (111, 11, False)])
async def test_limit_is_ten_documents_and_ten_percent(world: World, total: int, deleted: int, held: bool) -> None:
    await filled(world, total)
    for number in range(deleted):
        os.unlink(world.root / f"{number % 5}/{number:03}")
    summary = await world.scan()
    assert (summary.deleted, len(summary.held_deletes)) == ((0, deleted) if held else (deleted, 0))


async def test_held_document_can_still_move(world: World) -> None:
    await filled(world, 20)
    os.rename(world.root / "0", world.base / "aside")
    shutil.rmtree(world.root / "1")
    shutil.rmtree(world.root / "2")
    assert len((await world.scan()).held_deletes) == 12
    os.rename(world.base / "aside", world.root / "back")
    summary = await world.scan()
    assert (summary.moved, summary.new) == (4, 0)


async def test_root_that_is_missing_or_no_folder(world: World) -> None:
    await filled(world, 3)
    os.rename(world.root, world.base / "away")
    summary = await world.scan(approve_deletes=True)
    assert (summary.deleted, summary.unchanged) == (0, 0)
    assert len(summary.incomplete) == 1
    assert "No such file" in summary.incomplete[0]
    world.root.write_text("a file")
    assert "Not a directory" in (await world.scan(approve_deletes=True)).incomplete[0]
    world.root.unlink()
    os.rename(world.base / "away", world.root)
    assert (await world.scan()).unchanged == 3
    assert world.log.take() == []


async def test_root_that_never_was(world: World) -> None:
    os.rmdir(world.root)
    with pytest.raises(UsageError, match="no folder"):
        await world.scan()


def other_device(world: World, known: str) -> None:
    """As if the documents had been on another file system than the one that is there now."""
    world.connector.state._db.execute("UPDATE documents SET dev = dev + 1 WHERE native_id LIKE ?", (known,))


async def test_file_system_that_is_not_mounted(world: World) -> None:
    await filled(world, 10)
    other_device(world, "1/%")
    for name in ("001", "006"):
        os.unlink(world.root / f"1/{name}")  # the mount point itself is an empty directory
    summary = await world.scan(approve_deletes=True)
    assert summary.deleted == 0
    assert summary.incomplete == ["1: the file system that held it is not mounted"]
    assert (await world.scan(accept_root=True)).deleted == 2


async def test_device_that_only_has_a_new_number(world: World) -> None:
    """After a reboot: the files that are still there are the same, so the missing one is deleted."""
    await filled(world, 10)
    other_device(world, "%")
    os.unlink(world.root / "1/001")
    calls = world.store.calls
    summary = await world.scan()
    assert (summary.deleted, summary.unchanged, summary.incomplete) == (1, 9, [])
    assert world.store.calls == calls


async def test_directory_instead_of_a_file_and_back(world: World) -> None:
    world.write("a", "file a")
    world.write("d/b", "file b")
    await world.scan()
    world.log.take()
    os.unlink(world.root / "a")
    shutil.rmtree(world.root / "d")
    world.write("a/x", "new x")
    world.write("d", "new d")
    await world.scan()
    assert world.log.take() == [
        ("delete", "a", "a"),
        ("delete", "d/b", "d/b"),
        ("upsert", "a/x", "a/x"),
        ("upsert", "d", "d"),
    ]


async def test_nested_too_deep_is_reported_not_forgotten(world: World) -> None:
    fd = os.open(world.root, os.O_RDONLY)
    for _ in range(folder_tree.MAX_DEPTH + 5):
        os.mkdir("d", dir_fd=fd)
        below = os.open("d", os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = below
    os.close(fd)
    world.write("a", "a")
    summary = await world.scan()
    assert summary.new == 1
    assert len(summary.incomplete) == 1
    assert "nested more than" in summary.incomplete[0]


def test_tree_leaves_no_descriptor_open(world: World) -> None:
    world.write("a/b/c/d", "d")
    before = set(os.listdir("/proc/self/fd"))
    tree = Tree(world.root)
    assert [entry.raw for entry in tree.walk()] == [b"a/b/c/d"]
    os.close(tree.open_file(b"a/b/c/d"))
    assert tree.missing(b"a/x/c")
    assert tree.missing(b"a/b")  # a directory is no document
    assert not tree.missing(b"a/b/c/d")
    tree.close()
    assert set(os.listdir("/proc/self/fd")) == before
