"""A source, a store and a log in memory: the seam that the connectors publish through."""

from __future__ import annotations

import hashlib
import os
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, NamedTuple

from streams.blobs.store import Stored
from streams.connectors.folder import FolderConnector
from streams.connectors.folder_look import Summary
from streams.connectors.names import display_path
from streams.errors import BrokerUnavailable
from streams.records import ChangeEvent, Lane, Operation
from streams.settings import Settings, SourceSettings


class Receipt(NamedTuple):
    source_id: str
    partition: int
    offset: int


class MemoryLog:
    """Publisher that keeps events in order. With `fail_after`, the broker goes away after so many events."""

    def __init__(self, fail_after: int | None = None) -> None:
        self.events: list[ChangeEvent] = []
        self.lanes: list[Lane] = []
        self.fail_after = fail_after
        self.on_refused: Callable[[], None] = lambda: None

    async def publish(self, event: ChangeEvent, *, lane: Lane = Lane.LIVE) -> Receipt:
        if self.fail_after is not None and len(self.events) >= self.fail_after:
            self.on_refused()
            raise BrokerUnavailable("No broker answers.")
        self.events.append(event)
        self.lanes.append(lane)
        return Receipt(event.source_id, 0, len(self.events) - 1)

    def take(self) -> list[tuple[str, str, str]]:
        """(operation, native id, path) of the events since the last call, sorted."""
        taken = sorted((str(e.operation), e.manifest.native_id, e.manifest.path) for e in self.events)
        self.events.clear()
        return taken

    def replay(self) -> dict[str, tuple[str, str | None]]:
        """What a reader of the whole log holds: source_id -> (path, content hash)."""
        state: dict[str, tuple[str, str | None]] = {}
        for event in self.events:
            path = event.manifest.path
            match event.operation:
                case Operation.DELETE:
                    state.pop(event.source_id, None)
                case Operation.MOVE:
                    state[event.source_id] = (path, state[event.source_id][1])
                case _:
                    state[event.source_id] = (path, event.content.sha256 if event.content else None)
        return state

    def documents(self) -> Counter[tuple[str, str | None]]:
        """What a reader of the whole log holds, without the ids."""
        return Counter(self.replay().values())


class MemoryStore:
    """Store that counts how often content was given to it."""

    def __init__(self) -> None:
        self.held: dict[str, bytes] = {}
        self.calls = 0
        self._lock = threading.Lock()

    def put_file(self, stream: BinaryIO) -> Stored:
        data = b"".join(iter(lambda: stream.read(1 << 16), b""))
        sha256 = hashlib.sha256(data).hexdigest()
        with self._lock:
            self.calls += 1
            created = sha256 not in self.held
            self.held[sha256] = data
        return Stored(sha256, len(data), created)


class World:
    """A folder that is a source named `docs`, a log and a store."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.root = base / "root"
        self.root.mkdir()
        self.settings = Settings(
            data_dir=base / "data", sources={"docs": SourceSettings(owner="ops", readers=["staff"])}
        )
        self.log = MemoryLog()
        self.store = MemoryStore()
        self.connector = FolderConnector(self.root, "docs", self.settings)

    def reopen(self) -> None:
        """As after a restart of the process."""
        self.connector.close()
        self.connector = FolderConnector(self.root, "docs", self.settings)

    def write(self, name: str | bytes, content: str | bytes, mtime: float | None = None) -> bytes:
        raw = os.path.join(os.fsencode(self.root), os.fsencode(name))
        os.makedirs(os.path.dirname(raw), exist_ok=True)
        with open(raw, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
        if mtime is not None:
            os.utime(raw, (mtime, mtime))
        return raw

    async def scan(self, *, approve_deletes: bool = False, accept_root: bool = False) -> Summary:
        return await self.connector.scan(self.store, self.log, approve_deletes=approve_deletes, accept_root=accept_root)

    def standing(self) -> dict[str, str]:
        """What really stands in the folder: path -> content hash."""
        return {
            str(path.relative_to(self.root)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in self.root.rglob("*")
            if path.is_file() and not path.is_symlink()
        }

    def spelled(self) -> Counter[tuple[str, str | None]]:
        """What really stands there: (path as spelled, content hash); two normal forms may share a path."""
        return Counter((display_path(os.fsencode(path)), sha256) for path, sha256 in self.standing().items())

    def right(self, log: MemoryLog) -> bool:
        """Whether a reader of the log holds exactly what stands in the folder."""
        return log.documents() == self.spelled()
