"""Moves are moves (R-IN-6): scenarios S1 and S7, and the confusions around them."""

from __future__ import annotations

import os
import shutil
import unicodedata

from tests.unit.connectors.worlds import MemoryLog, World

TWO_YEARS_AGO = 1_700_000_000.0


async def test_s1_moved_file_with_old_mtime(world: World) -> None:
    world.write("in/a/plan.txt", "the plan", TWO_YEARS_AGO)
    assert (await world.scan()).new == 1
    world.log.take()
    calls = world.store.calls
    (world.root / "in/b").mkdir()
    os.rename(world.root / "in/a/plan.txt", world.root / "in/b/plan.txt")

    summary = await world.scan()

    assert (summary.moved, summary.new, summary.changed, summary.deleted) == (1, 0, 0, 0)
    assert world.log.take() == [("move", "in/a/plan.txt", "in/b/plan.txt")]
    assert world.store.calls == calls
    assert (await world.scan()).unchanged == 1
    assert world.log.take() == []


async def test_s1_moved_by_copy_and_delete(world: World) -> None:
    """Across file systems a move is a new file with the old content: another inode, the old mtime."""
    world.write("a/plan.txt", "the plan", TWO_YEARS_AGO)
    await world.scan()
    world.log.take()
    shutil.copy2(world.root / "a/plan.txt", world.root / "plan-b.txt")
    os.unlink(world.root / "a/plan.txt")
    await world.scan()
    assert world.log.take() == [("move", "a/plan.txt", "plan-b.txt")]


async def test_s1_renamed_directory_is_not_read(world: World) -> None:
    for number in range(40):
        world.write(f"a/{number % 4}/{number}.txt", f"content {number // 2}", TWO_YEARS_AGO)
    os.symlink("0.txt", world.root / "a/0/link")
    await world.scan()
    world.reopen()
    await world.scan()  # young files are looked at twice
    world.log.take()
    calls = world.store.calls
    os.rename(world.root / "a", world.root / "b")
    before = {path: os.stat(path).st_atime_ns for path in world.root.rglob("*.txt")}

    summary = await world.scan()

    assert (summary.moved, summary.deleted, summary.new, summary.failed) == (41, 0, 0, 0)
    assert world.store.calls == calls
    assert {path: os.stat(path).st_atime_ns for path in world.root.rglob("*.txt")} == before
    moves = world.log.take()
    assert all(kind == "move" and path == "b" + native_id[1:] for kind, native_id, path in moves)


async def test_s1_moved_over_an_existing_file(world: World) -> None:
    world.write("a.txt", "one", TWO_YEARS_AGO)
    world.write("b.txt", "two", TWO_YEARS_AGO)
    await world.scan()
    os.replace(world.root / "a.txt", world.root / "b.txt")
    log = world.log = MemoryLog()
    summary = await world.scan()
    assert log.take() == [("delete", "a.txt", "a.txt"), ("upsert", "b.txt", "b.txt")]
    assert (summary.changed, summary.deleted) == (1, 1)


async def test_one_vanished_two_alike_appeared(world: World) -> None:
    world.write("a.txt", "same")
    await world.scan()
    world.log.take()
    world.write("0-copy.txt", "same")
    os.rename(world.root / "a.txt", world.root / "z.txt")
    await world.scan()
    # the renamed file is the move, although the copy comes first by name
    assert world.log.take() == [("move", "a.txt", "z.txt"), ("upsert", "0-copy.txt", "0-copy.txt")]


async def test_two_vanished_alike_two_appeared(world: World) -> None:
    world.write("a/1", "same")
    world.write("a/2", "same")
    await world.scan()
    world.log.take()
    for name in ("1", "2"):
        world.write(f"b/{name}", "same")
    shutil.rmtree(world.root / "a")
    await world.scan()
    kinds = [kind for kind, _, _ in world.log.take()]
    assert kinds == ["move", "move"]


async def test_path_of_a_moved_document_is_taken_again(world: World) -> None:
    world.write("x", "first")
    await world.scan()
    os.rename(world.root / "x", world.root / "y")
    await world.scan()
    world.write("x", "second")
    await world.scan()
    assert world.log.take() == [("move", "x", "y"), ("upsert", "x", "x"), ("upsert", "x#2", "x")]


async def test_rename_and_replace_between_two_scans_keeps_contents_apart(world: World) -> None:
    world.write("x", "first")
    await world.scan()
    os.rename(world.root / "x", world.root / "y")
    world.write("x", "second")
    await world.scan()
    assert world.right(world.log)


async def test_reused_inode_and_mtime_is_not_taken_for_a_move(world: World) -> None:
    """An archive that is unpacked again gives its files fixed times, and the file system gives the old inodes."""
    for name in ("a", "b", "c"):
        world.write(f"v1/{name}", f"text {name}", TWO_YEARS_AGO)
    await world.scan()
    shutil.rmtree(world.root / "v1")
    for name in ("c", "a", "d"):
        world.write(f"v2/{name}", f"text {name}", TWO_YEARS_AGO)
    await world.scan()
    assert world.right(world.log)


async def test_hard_links_are_two_documents(world: World) -> None:
    world.write("a", "same")
    await world.scan()
    os.link(world.root / "a", world.root / "b")
    await world.scan()
    await world.scan()
    assert world.log.take() == [("upsert", "a", "a"), ("upsert", "b", "b")]


async def test_s7_one_name_in_two_normal_forms(world: World) -> None:
    nfc, nfd = "Übersicht.txt", unicodedata.normalize("NFD", "Übersicht.txt")
    world.write(f"Ordner é/{nfc}".encode(), "text")
    await world.scan()
    world.log.take()
    folder = world.root / "Ordner é"
    os.rename(folder / nfc, folder / nfd)
    os.rename(folder, world.root / unicodedata.normalize("NFD", "Ordner é"))
    summary = await world.scan()
    assert world.log.take() == []
    assert summary.unchanged == 1
    assert (await world.scan()).unchanged == 1
    # an edit under the new spelling is an edit of the same document
    world.write(unicodedata.normalize("NFD", f"Ordner é/{nfc}").encode(), "text, longer")
    await world.scan()
    assert world.log.take() == [("upsert", f"Ordner é/{nfc}", f"Ordner é/{nfc}")]


async def test_both_normal_forms_side_by_side_are_two_documents(world: World) -> None:
    world.write("é.txt".encode(), "one")
    world.write(unicodedata.normalize("NFD", "é.txt").encode(), "other")
    await world.scan()
    assert [native_id for _, native_id, _ in world.log.take()] == ["é.txt", "é.txt#2"]
    assert (await world.scan()).unchanged == 2
    assert world.log.take() == []
