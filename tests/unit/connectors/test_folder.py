"""The folder connector: what is said of a folder, and what isn't."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

import pytest

from streams.blobs.directory import DirectoryStore
from streams.blobs.store import Stored
from streams.connectors.base import Change, Document, Gone, Listed, ListingEnd, Published, ReadFailed
from streams.connectors.folder import FolderConnector
from streams.errors import BrokerUnavailable, UnknownSource, UsageError
from streams.records import ChangeEvent, Lane
from streams.settings import LimitSettings, Settings, SourceSettings
from tests.unit.connectors.worlds import MemoryStore, World


async def settled_scan(world: World) -> None:
    """Scans until even the files that were just written are taken for unchanged without a read."""
    await world.scan()
    for row in list(world.connector.state.documents()):
        st = os.lstat(os.path.join(os.fsencode(world.root), row.raw))
        await asyncio.sleep(max(0.0, st.st_ctime_ns / 1e9 + 0.06 - time.time()))  # older than a tick
    await world.scan()
    world.log.take()


# --- first sight and changes -----------------------------------------------------------------------------------------


async def test_first_scan_says_everything_there_is_to_know(world: World) -> None:
    world.write(".hidden/Ä b.txt", "text", mtime=1_600_000_000)
    summary = await world.scan()
    assert (summary.new, summary.failed, summary.unchanged) == (1, 0, 0)
    (event,) = world.log.events
    manifest = event.manifest
    assert event.source_id == "docs:.hidden/Ä b.txt"
    assert (manifest.path, manifest.file_name, manifest.source) == (".hidden/Ä b.txt", "Ä b.txt", "docs")
    assert (manifest.owner, manifest.readers) == ("ops", ["staff"])
    assert manifest.source_updated_at == datetime.fromtimestamp(1_600_000_000, UTC)
    assert event.content is not None
    assert world.store.held[event.content.sha256] == b"text"


async def test_second_scan_says_and_reads_nothing(world: World) -> None:
    for number in range(20):
        world.write(f"{number % 3}/{number}", f"{number}")
    await settled_scan(world)
    world.reopen()
    atimes = {path: path.stat().st_atime_ns for path in world.root.rglob("*")}
    calls = world.store.calls
    summary = await world.scan()
    assert (summary.unchanged, summary.new, summary.changed) == (20, 0, 0)
    assert world.log.take() == []
    assert world.store.calls == calls
    assert {path: path.stat().st_atime_ns for path in world.root.rglob("*")} == atimes


async def test_touched_is_not_changed(world: World) -> None:
    path = world.write("a", "same")
    await settled_scan(world)
    os.utime(path, (1, 1))
    assert (await world.scan()).unchanged == 1
    assert world.log.take() == []


async def test_edit_that_hides_behind_the_old_mtime_and_size(world: World) -> None:
    path = world.write("a", "one", mtime=1_600_000_000)
    await settled_scan(world)
    world.write("a", "two", mtime=1_600_000_000)
    assert os.stat(path).st_mtime == 1_600_000_000
    assert (await world.scan()).changed == 1


def overwrite(path: bytes, content: bytes) -> None:
    with open(path, "r+b") as file:
        file.write(content)


async def test_edit_within_one_tick_of_the_clock(world: World) -> None:
    """Same size, and an mtime that is the same on a coarse clock: the young file is read again."""
    path = world.write("a", "one")
    await world.scan()
    before = os.stat(path)
    overwrite(path, b"two")
    row = world.connector.state.by_path(b"a")
    assert row is not None
    assert row.mtime_ns != before.st_mtime_ns
    assert (await world.scan()).changed == 1


async def test_a_b_a_are_three_events(world: World) -> None:
    for content in ("A", "B", "A"):
        world.write("k", content)
        await world.scan()
        await world.scan()
    assert [event.content.sha256[:1] for event in world.log.events if event.content] == ["5", "d", "5"]


async def test_names_that_are_no_text(world: World) -> None:
    world.write(b"caf\xe9\n.txt", "latin")
    world.write(b"caf%E9%0A.txt", "literal")
    await world.scan()
    assert [path for _, _, path in world.log.take()] == ["caf%25E9%250A.txt", "caf%E9%0A.txt"]


async def test_own_data_is_no_document(world: World) -> None:
    world.connector.close()
    settings = world.settings.model_copy(update={"data_dir": world.root / ".canonry"})
    with FolderConnector(world.root, "docs", settings) as connector:
        world.write("a", "a")
        store = DirectoryStore(settings.blob_dir, fsync=False)
        summary = await connector.scan(store, world.log)
        assert (summary.new, summary.failed) == (1, 0)
        assert (await connector.scan(store, world.log)).new == 0


# --- failures --------------------------------------------------------------------------------------------------------


async def test_special_files_and_links(world: World, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "outside.txt").write_text("outside")
    os.symlink(secret, world.root / "dir-link")
    os.symlink(secret / "outside.txt", world.root / "link")
    os.symlink("nowhere", world.root / "broken")
    os.symlink("loop", world.root / "loop")
    os.mkfifo(world.root / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(world.root / "s"))
    summary = await world.scan()
    assert summary.failed == 6
    assert world.store.calls == 0
    said = {e.manifest.path: (e.failure.code, e.failure.skip) for e in world.log.events if e.failure}
    assert said == {
        "dir-link": ("symlink", True),
        "link": ("symlink", True),
        "broken": ("broken_link", False),
        "loop": ("broken_link", False),
        "pipe": ("special_file", True),
        "s": ("special_file", True),
    }
    world.log.take()
    assert (await world.scan()).unchanged == 6  # said once
    assert world.log.take() == []
    (world.root / "nowhere").write_text("now here")  # the link's own stat stays, its target is there now
    await world.scan()
    assert world.log.take() == [("failed", "broken", "broken"), ("upsert", "nowhere", "nowhere")]


async def test_link_that_becomes_a_file(world: World) -> None:
    os.symlink("nowhere", world.root / "a")
    await world.scan()
    os.unlink(world.root / "a")
    world.write("a", "text")
    await world.scan()
    world.log.events.pop(0)
    assert world.log.take() == [("upsert", "a", "a")]


async def test_too_large_is_not_read(world: World) -> None:
    world.connector.close()
    small = world.settings.model_copy(update={"limits": LimitSettings(max_document_bytes=10)})
    world.connector = FolderConnector(world.root, "docs", small)
    (world.root / "sparse").touch()
    os.truncate(world.root / "sparse", 1 << 40)
    await world.scan()
    (event,) = world.log.events
    assert event.failure is not None
    assert event.failure.code == "too_large"
    assert world.store.calls == 0
    os.truncate(world.root / "sparse", 3)
    world.log.take()
    await world.scan()
    assert world.log.take() == [("upsert", "sparse", "sparse")]


class Unprivileged:
    """Runs scans as nobody, in a process of its own: root reads what others can't."""

    SCRIPT = """
import asyncio, json, os, sys
from pathlib import Path
from tests.unit.connectors.worlds import MemoryLog, MemoryStore
from streams.connectors.folder import FolderConnector
from streams.settings import Settings, SourceSettings
base = Path(sys.argv[1])
asyncio.run(asyncio.to_thread(os.getpid))  # imports what others than root may not read
os.setgroups([]); os.setgid(65534); os.setuid(65534)
settings = Settings(data_dir=base / "data", sources={"docs": SourceSettings()})
log = MemoryLog()
with FolderConnector(base / "root", "docs", settings) as connector:
    summary = asyncio.run(connector.scan(MemoryStore(), log))
events = [(str(e.operation), e.manifest.path, e.failure and e.failure.code, e.failure and e.failure.message)
          for e in log.events]
print(json.dumps({"events": sorted(events), "incomplete": summary.incomplete, "unchanged": summary.unchanged}))
"""

    def __init__(self, base: Path) -> None:
        self.base = base
        (base / "root").mkdir()
        (base / "data").mkdir(mode=0o777)
        (base / "data").chmod(0o777)
        for folder in (base, *base.parents):  # the test's own folders only
            if folder.stat().st_mode & 0o005 != 0o005 and "pytest" in str(folder):
                folder.chmod(folder.stat().st_mode | 0o755)

    def scan(self) -> dict[str, list[object]]:
        done = subprocess.run(
            [sys.executable, "-c", self.SCRIPT, str(self.base)], capture_output=True, text=True, check=False, timeout=60
        )
        assert done.returncode == 0, done.stderr
        result: dict[str, list[object]] = json.loads(done.stdout)
        return result


@pytest.fixture
def nobody(tmp_path: Path) -> Unprivileged:
    if os.geteuid() != 0:
        pytest.skip("needs root to become somebody else")
    return Unprivileged(tmp_path)


def test_unreadable_file_and_directory(nobody: Unprivileged) -> None:
    root = nobody.base / "root"
    for name in ("open.txt", "closed.txt", "dir/in.txt"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(name)
    (root / "closed.txt").chmod(0o600)
    first = nobody.scan()
    assert first["events"] == [
        ["failed", "closed.txt", "unreadable", "It can't be read: Permission denied."],
        ["upsert", "dir/in.txt", None, None],
        ["upsert", "open.txt", None, None],
    ]
    (root / "dir").chmod(0o700)
    os.unlink(root / "open.txt")
    second = nobody.scan()
    assert second["incomplete"] == ["dir: Permission denied"]
    assert second["events"] == [["delete", "open.txt", None, None]]  # nothing under dir, and closed.txt not again
    os.rename(root / "dir/in.txt", root / "dir/other.txt")
    (root / "dir").chmod(0o444)  # names can be listed, their metadata not
    third = nobody.scan()
    assert third["events"] == [["failed", "dir/other.txt", "unreadable", "It can't be read: Permission denied."]]
    (root / "closed.txt").chmod(0o644)
    (root / "dir").chmod(0o755)
    fourth = nobody.scan()
    assert fourth["events"] == [
        ["delete", "dir/in.txt", None, None],
        ["upsert", "closed.txt", None, None],
        ["upsert", "dir/other.txt", None, None],
    ]


class Meddling(MemoryStore):
    """A store in whose reading something happens to the folder."""

    def __init__(self, meddle: list[object]) -> None:
        super().__init__()
        self.meddle = meddle

    def put_file(self, stream: BinaryIO) -> Stored:
        if self.meddle:
            action = self.meddle.pop(0)
            assert callable(action)
            action()
        return super().put_file(stream)


async def test_changed_while_it_was_read(world: World) -> None:
    path = world.write("a", "one")
    store = Meddling([lambda: Path(os.fsdecode(path)).write_text("other")])
    await world.connector.scan(store, world.log)
    assert store.calls == 2
    assert world.right(world.log)


async def test_changes_at_every_reading_and_is_looked_at_again(world: World) -> None:
    path = Path(os.fsdecode(world.write("a", "0")))

    class Growing(MemoryStore):
        def put_file(self, stream: BinaryIO) -> Stored:
            stored = super().put_file(stream)
            path.write_text(f"{path.read_text()}+")
            return stored

    await world.connector.scan(Growing(), world.log)
    assert len(world.log.events) == 1
    summary = await world.scan()
    assert summary.changed == 1
    assert world.right(world.log)


async def test_vanished_and_swapped_between_listing_and_reading(world: World, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    for name in ("gone", "swapped", "piped"):
        world.write(name, name)

    def swap() -> None:
        for name in ("gone", "swapped", "piped"):
            os.unlink(world.root / name)
        os.symlink(tmp_path / "secret", world.root / "swapped")
        os.mkfifo(world.root / "piped")

    changes = world.connector.changes()
    items = [change async for change in changes]
    swap()
    said = {}
    for item in items:
        if isinstance(item, Document):
            with pytest.raises(ReadFailed) as caught:
                item.open()
            said[item.path] = caught.value.problem
    assert said == {"gone": "vanished", "swapped": "symlink", "piped": "special_file"}


async def test_vanished_is_said_and_then_deleted(world: World) -> None:
    world.write("a", "a")
    world.write("b", "b")
    gone = iter(["b", "a"])

    class Removing(MemoryStore):
        def put_file(self, stream: BinaryIO) -> Stored:
            if (name := next(gone, None)) is not None:
                (world.root / name).unlink(missing_ok=True)
            return super().put_file(stream)

    await world.connector.scan(Removing(), world.log, in_flight=1)
    await world.scan()
    assert world.log.replay() == {}


async def test_parent_swapped_for_a_link_leads_nowhere(world: World, tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret/a").write_text("secret")
    world.write("dir/a", "a")
    (item, _) = [change async for change in world.connector.changes()]
    assert isinstance(item, Document)
    os.unlink(world.root / "dir/a")
    os.rmdir(world.root / "dir")
    os.symlink(tmp_path / "secret", world.root / "dir")
    with pytest.raises(ReadFailed, match="gone"):
        item.open()


# --- broken runs -----------------------------------------------------------------------------------------------------


async def test_broker_that_goes_away_costs_nothing(world: World) -> None:
    for number in range(40):
        world.write(f"{number}", f"{number}")
    world.log.fail_after = 13
    with pytest.raises(BrokerUnavailable):
        await world.scan()
    world.log.fail_after = None
    world.reopen()
    summary = await world.scan()
    assert len(world.log.events) == 40  # what was confirmed is not said again
    assert (summary.new, summary.unchanged) == (27, 13)
    assert world.right(world.log)


async def test_lost_confirmations_of_everything(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process dies between an event and its record, and the folder changes before the next scan."""
    for name in ("stays", "goes", "moves/in", "edited", "renamed"):
        world.write(name, name)
    await world.scan()
    os.rename(world.root / "moves", world.root / "moved")
    os.unlink(world.root / "goes")
    world.write("edited", "once")
    world.write("new", "new")

    async def dies(change: Change, event: ChangeEvent, published: Published) -> None:
        """Nothing after the confirmation happens any more."""

    monkeypatch.setattr(world.connector, "confirmed", dies)
    await world.scan()
    os.rename(world.root / "moved", world.root / "moves")  # back as it was: the stat says unchanged
    world.write("edited", "edited")
    world.write("goes", "goes")
    os.unlink(world.root / "new")
    world.reopen()
    await world.scan()
    assert world.right(world.log)
    world.log.events.clear()
    await world.scan()
    assert world.log.events == []


def test_killed_at_any_moment(tmp_path: Path) -> None:
    """A process that scans is killed (SIGKILL) again and again; what it published adds up to the folder."""
    root = tmp_path / "root"
    root.mkdir()
    for number in range(300):
        (root / f"{number}.txt").write_text(f"{number}")
    script = f"""
import asyncio, os, sys
from pathlib import Path
from streams.connectors.folder import FolderConnector
from streams.settings import Settings, SourceSettings
from tests.unit.connectors.worlds import MemoryLog, MemoryStore
class Log(MemoryLog):
    async def publish(self, event, *, lane=None):
        receipt = await super().publish(event)
        print(event.operation, event.source_id, flush=True)
        if len(self.events) == {{limit}}:
            os.kill(os.getpid(), 9)
        return receipt
base = Path({str(tmp_path)!r})
settings = Settings(data_dir=base / "data", sources={{"docs": SourceSettings()}})
with FolderConnector(base / "root", "docs", settings) as connector:
    asyncio.run(connector.scan(MemoryStore(), Log(), approve_deletes=True))
print("done")
""".replace("{{", "{").replace("}}", "}")
    said: list[str] = []
    for limit in (1, 70, 150, 500):
        (root / f"{limit}.txt").unlink(missing_ok=True)  # may or may not have been said
        done = subprocess.run(
            [sys.executable, "-c", script.replace("{limit}", str(limit))], capture_output=True, text=True, check=False
        )
        said += done.stdout.split("\n")[:-1]
        assert (done.returncode == 0) == (limit == 500), done.stderr
    held: set[str] = set()
    for line in said[:-1]:
        kind, _, source_id = line.partition(" ")
        (held.discard if kind == "delete" else held.add)(source_id.removeprefix("docs:"))
    assert held == {path.name for path in root.iterdir()}


# --- the source ------------------------------------------------------------------------------------------------------


def test_unknown_source(tmp_path: Path) -> None:
    with pytest.raises(UnknownSource):
        FolderConnector(tmp_path, "nobody", Settings(data_dir=tmp_path / "data"))


def test_folder_within_own_data(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, sources={"docs": SourceSettings()})
    with pytest.raises(UsageError, match="keeps its own data"):
        FolderConnector(tmp_path / "blobs", "docs", settings)


async def test_two_scans_at_once(world: World) -> None:
    with world.connector.locked(), pytest.raises(UsageError, match="another process"):
        await world.scan()


async def test_source_that_is_another_folder_now(world: World, tmp_path: Path) -> None:
    world.write("a", "a")
    await world.scan()
    world.connector.close()
    (tmp_path / "other").mkdir()
    world.connector = FolderConnector(tmp_path / "other", "docs", world.settings)
    with pytest.raises(UsageError, match="was the folder"):
        await world.scan()
    assert (await world.scan(accept_root=True)).deleted == 1


async def test_lane_and_callback(world: World) -> None:
    world.write("a", "a")
    seen: list[tuple[ChangeEvent, int]] = []
    await world.connector.scan(
        world.store, world.log, lane=Lane.RECONCILE, on_published=lambda e, p: seen.append((e, p.offset))
    )
    assert world.log.lanes == [Lane.RECONCILE]
    assert seen == [(world.log.events[0], 0)]
    assert world.connector.state.unsettled() == [("docs:a", 0, 0)]


async def test_listing_and_fetch(world: World) -> None:
    for name in ("a", "b", "c"):
        world.write(name, name)
    await settled_scan(world)
    world.write("b", "other text")
    world.write("d", "d")
    os.unlink(world.root / "c")
    items = [item async for item in world.connector.listing()]
    assert isinstance(items[-1], ListingEnd)
    assert items[-1].complete
    known = {item.native_id: item.sha256 is not None for item in items if isinstance(item, Listed)}
    assert known == {"a": True, "b": False, "d": False}
    again = await world.connector.fetch("a")
    assert isinstance(again, Document)
    assert again.open().read() == b"a"
    assert isinstance(await world.connector.fetch("d"), Document)
    assert isinstance(await world.connector.fetch("c"), Gone)
    assert isinstance(await world.connector.fetch("never"), Gone)
    await world.scan()  # what was fetched and never confirmed comes again
    assert sorted(path for _, _, path in world.log.take()) == ["a", "b", "c", "d"]


async def test_a_document_whose_event_had_no_effect_is_published_again_once(world: World) -> None:
    world.write("a.txt", "one")
    world.write("b.txt", "two")
    await world.scan()
    world.log.take()
    world.connector.again(f"{world.connector.source}:a.txt")
    world.connector.again(f"{world.connector.source}:never-seen")
    await world.scan()
    assert [event[1] for event in world.log.take()] == ["a.txt"]
    await world.scan()
    assert world.log.take() == []
