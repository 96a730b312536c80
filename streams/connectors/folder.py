"""The folder connector: every change in a directory tree becomes an event, each once, and nothing else does.

How changes are told is in `folder_scan`, what is remembered in `folder_state`, how the tree is read in `folder_tree`,
and watching in `folder_watch`.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from urllib.parse import quote

from streams.connectors.base import (
    Change,
    Checkpoint,
    Connector,
    Gone,
    Listed,
    ListingEnd,
    OriginalStore,
    Published,
    Publisher,
    run_connector,
    source_id,
)
from streams.connectors.folder_look import Look, Summary, found, scopes
from streams.connectors.folder_scan import VANISHED, Plan, Reconcile
from streams.connectors.folder_state import After, Confirmation, FolderState, Stat
from streams.connectors.folder_tree import Entry, Tree, Unlistable
from streams.connectors.folder_watch import Watch
from streams.connectors.names import display_path, raw_path
from streams.errors import UsageError
from streams.records import ChangeEvent, Lane, Operation
from streams.settings import Settings

BATCH = 256
"""Names that are judged, and marked in the state, at once."""
_FLUSH = 64  # confirmations written at once; those lost in a crash mean an event said twice

OnPublished = Callable[[ChangeEvent, Published], None]


class FolderConnector(Connector):
    """Documents of one folder under one source name. Use as a context manager, or `close` it."""

    def __init__(self, root: Path, source: str, settings: Settings) -> None:
        """Opens the state; reads nothing of the folder yet.

        Args:
            root: the folder.
            source: a registered name.
            settings: for the source, limits, and the places that are Canonry's own.

        Raises:
            UnknownSource: `source` is not registered.
            UsageError: the folder lies within Canonry's own data.
            StateUnusable: the state file can't be opened.
        """
        settings.source(source)
        self.source = source
        self.root = root.absolute()
        self.settings = settings
        real = Path(os.path.realpath(root))
        for own in self.own_paths():
            if real.is_relative_to(os.path.realpath(own)):
                raise UsageError(f"{root} lies within {own}, where Canonry keeps its own data.")
        folder = settings.data_dir / "connectors"
        self.state = FolderState(folder / f"{quote(source, safe='')}.db")
        self._lock_path = folder / f"{quote(source, safe='')}.lock"
        self._confirmations: list[Confirmation] = []
        self._tree: Tree | None = None

    def close(self) -> None:
        if self._tree is not None:
            self._tree.close()
            self._tree = None
        self.state.close()

    def __enter__(self) -> FolderConnector:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def scan(
        self,
        store: OriginalStore,
        publisher: Publisher,
        *,
        lane: Lane = Lane.LIVE,
        approve_deletes: bool = False,
        accept_root: bool = False,
        in_flight: int = 32,
        on_published: OnPublished | None = None,
    ) -> Summary:
        """Compares the whole folder with what is remembered and publishes the difference.

        Args:
            store: where originals go.
            publisher: where events go.
            lane: of the events.
            approve_deletes: publish deletes however many they are.
            accept_root: the source's folder is another one than before, or on another device, and that is meant so.
            in_flight: documents at once.
            on_published: called for each confirmed event.

        Raises:
            UsageError: there is no such folder and never was, or the source was another folder until now, or another
                process scans it.
            CanonryError: the store, the broker or the state failed; the next scan takes up what is missing.
        """
        with self.locked():
            return await self.look(
                Look(approved=approve_deletes, accept_root=accept_root), store, publisher, lane, in_flight, on_published
            )

    async def watch(
        self,
        store: OriginalStore,
        publisher: Publisher,
        stop: asyncio.Event,
        *,
        approve_deletes: bool = False,
        rescan_s: float = 600.0,
        debounce_ms: int = 500,
        in_flight: int = 32,
        on_published: OnPublished | None = None,
        on_summary: Callable[[Summary], None] | None = None,
    ) -> None:
        """Scans, then publishes each change soon after it happens, until `stop` is set. See `folder_watch`.

        Args:
            store: where originals go.
            publisher: where events go.
            stop: ends it.
            approve_deletes: publish deletes however many they are.
            rescan_s: seconds between whole scans, for what a watcher misses.
            debounce_ms: milliseconds that changes are collected, and that a delete waits for its other half.
            in_flight: documents at once.
            on_published: called for each confirmed event.
            on_summary: called after each look.

        Raises:
            UsageError: as `scan`.
            CanonryError: one that trying again does not help.
        """
        with self.locked():
            deliver = partial(
                self.look, store=store, publisher=publisher, in_flight=in_flight, on_published=on_published
            )
            await Watch(self, deliver, stop, rescan_s, debounce_ms, on_summary, approve_deletes).run()

    async def look(
        self,
        look: Look,
        store: OriginalStore,
        publisher: Publisher,
        lane: Lane = Lane.LIVE,
        in_flight: int = 32,
        on_published: OnPublished | None = None,
    ) -> Summary:
        """One look at the folder or at parts of it, under a lock that the caller holds. Raises as `scan`."""
        started = time.monotonic()
        one = _Pass(self, look)
        try:
            await run_connector(
                one, store, publisher, self.settings, lane=lane, in_flight=in_flight, on_published=on_published
            )
        finally:
            await self.flush()
        one.summary.seconds = time.monotonic() - started
        return one.summary

    # --- the connector's own interface -------------------------------------------------------------------------------

    async def changes(self) -> AsyncGenerator[Change | Checkpoint, None]:
        one = _Pass(self, Look())
        async for change in one.changes():
            yield change

    async def confirmed(self, change: Change, event: ChangeEvent, published: Published) -> None:
        plan = change.token
        row_id, after = 0, None  # a delete, perhaps of a document that was never known here
        if isinstance(plan, Plan):
            row_id = plan.row.id
            after = None if event.operation is Operation.DELETE else plan.after
            if after is not None and plan.reading is not None and event.content is not None:
                after = after._replace(stat=plan.reading.stat(), sha256=event.content.sha256)
            elif after is not None and event.failure is not None:
                after = after._replace(failure=event.failure.code, message=event.failure.message)
        self._confirmations.append(
            Confirmation(row_id, published.source_id, published.partition, published.offset, after)
        )
        if len(self._confirmations) >= _FLUSH:
            await self.flush()

    def again(self, source_id: str) -> None:
        """The last event of this document had no effect: the next scan publishes it again, changed or not."""
        row = self.state.by_id(source_id.removeprefix(f"{self.source}:"))
        if row is not None:
            self.state.mark([row.id])

    async def flush(self) -> None:
        """Writes what was confirmed to the state."""
        waiting, self._confirmations = self._confirmations, []
        if waiting:
            await asyncio.to_thread(self.state.confirm, waiting)

    async def listing(self) -> AsyncGenerator[Listed | ListingEnd, None]:
        """The ids of all that stands there now; nothing is read, and the hash given only where it is still true."""
        tree = await asyncio.to_thread(self.open_tree)
        if isinstance(tree, str):
            yield ListingEnd(complete=False, reasons=[tree])
            return
        walk = tree.walk()
        reasons: list[str] = []
        while batch := await asyncio.to_thread(lambda: list(islice(walk, BATCH))):
            for entry in batch:
                if isinstance(entry, Unlistable):
                    reasons.append(_reason(entry.raw, entry.reason))
                    continue
                key = display_path(entry.raw)
                row = self.state.by_path(entry.raw) or next(iter(self.state.by_key(key)), None)
                yield Listed(
                    native_id=row.native_id if row is not None else key,
                    path=key,
                    sha256=row.sha256 if row is not None and _still(entry, row.stat) else None,
                )
        yield ListingEnd(complete=not reasons, reasons=reasons)

    async def fetch(self, native_id: str) -> Change:
        """One document again, changed or not; Gone when it is surely not there.

        Raises:
            UsageError: the folder, or the part of it that held the document, can't be read.
        """
        return await asyncio.to_thread(self._fetch, native_id)

    def _fetch(self, native_id: str) -> Change:
        tree = self.open_tree()
        if isinstance(tree, str):
            raise UsageError(f"{native_id} can't be fetched: {tree}")
        row = self.state.by_id(native_id)
        raw = row.raw if row is not None else raw_path(native_id)
        if tree.missing(raw):
            token = Plan(row, False, After(row.raw, row.key, row.stat, row.sha256)) if row is not None else None
            if row is not None:
                self.state.mark([row.id])
            return Gone(native_id=native_id, path=display_path(raw), reason=VANISHED, token=token)
        try:
            entry = Entry(raw, tree.lstat(raw))
        except OSError as error:
            entry = Entry(raw, None, error.strerror or str(error))
        reconcile = self.reconcile(tree)
        changes = reconcile.again(entry, row) if row is not None else reconcile.batch([entry])
        if not changes:
            changes = [change for batch in reconcile.finish([], approved=False) for change in batch]
        return changes[0]

    def reconcile(self, tree: Tree, *, accept_devices: bool = False) -> Reconcile:
        """A new comparison of the open folder with what is remembered."""
        limit = self.settings.limits.max_document_bytes
        return Reconcile(tree, self.state, max_bytes=limit, accept_devices=accept_devices)

    # --- the root ----------------------------------------------------------------------------------------------------

    def open_tree(self) -> Tree | str:
        """The folder, open, or the reason why it can't be listed now. Closed with the connector or by the next call."""
        if self._tree is not None:
            self._tree.close()
            self._tree = None
        own = frozenset(self._own_places())
        try:
            self._tree = Tree(self.root, skip=own)
        except OSError as error:
            return f"{display_path(os.fsencode(self.root))}: {error.strerror or error}"
        return self._tree

    def check_root(self, tree: Tree, *, accept: bool) -> None:
        """The source must be the folder it always was. Raises UsageError."""
        path = display_path(os.fsencode(os.path.realpath(self.root)))
        identity = f"{tree.st.st_dev}:{tree.st.st_ino}"
        before, before_identity = self.state.fact("root"), self.state.fact("root_identity")
        if before not in (None, path) and before_identity != identity and not accept:
            raise UsageError(
                f"Source {self.source} was the folder {before} until now, not {path}.",
                remedy="Register another source for it, or say that the folder has moved (accept the new root).",
            )
        if (before, before_identity) != (path, identity):
            with self.state.transaction():
                self.state.set_fact("root", path)
                self.state.set_fact("root_identity", identity)

    def own_paths(self) -> list[Path]:
        """Directories of Canonry itself, which are no documents wherever they lie."""
        return [self.settings.data_dir, self.settings.blob_dir]

    def _own_places(self) -> Iterator[tuple[int, int]]:
        for own in self.own_paths():
            if own.is_dir():
                st = own.stat()
                yield st.st_dev, st.st_ino

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Only one scan of a source at a time, over all processes. Raises UsageError."""
        with open(self._lock_path, "ab") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise UsageError(
                    f"Source {self.source} is being scanned or watched by another process.",
                    remedy="Wait for it, or stop it.",
                ) from None
            yield


class _Pass(Connector):
    """One look, as `run_connector` wants it."""

    def __init__(self, folder: FolderConnector, look: Look) -> None:
        self.source = folder.source
        self.summary = Summary(whole=look.paths is None)
        self._folder = folder
        self._look = look

    async def changes(self) -> AsyncGenerator[Change | Checkpoint, None]:
        folder, look = self._folder, self._look
        tree = await asyncio.to_thread(folder.open_tree)
        if isinstance(tree, str):
            if folder.state.count() == 0:
                raise UsageError(f"There is no folder to read: {tree}.")
            self.summary.incomplete.append(tree)
            return
        await asyncio.to_thread(folder.check_root, tree, accept=look.accept_root)
        reconcile = await asyncio.to_thread(folder.reconcile, tree, accept_devices=look.accept_root)
        places = [b""] if look.paths is None else await asyncio.to_thread(scopes, tree, look.paths)
        entries = found(tree, places)
        while batch := await asyncio.to_thread(lambda: list(islice(entries, BATCH))):
            for change in await asyncio.to_thread(reconcile.batch, batch):
                yield change
        rest = reconcile.finish(
            places,
            approved=look.approved,
            wait=look.wait,
            deleted_before=look.deleted_before,
        )
        while (changes := await asyncio.to_thread(next, rest, None)) is not None:
            for change in changes:
                yield change
        # the state must know of every event before it is asked about the folder again
        yield Checkpoint(value="")
        self.summary.unchanged = reconcile.unchanged
        self.summary.held_deletes = [source_id(self.source, native_id) for native_id in reconcile.held]
        self.summary.incomplete = [_reason(raw, reason) for raw, reason in sorted(reconcile.unlistable.items())]
        look.waiting.extend(reconcile.waiting)

    async def confirmed(self, change: Change, event: ChangeEvent, published: Published) -> None:
        match event.operation:
            case Operation.UPSERT if isinstance(change.token, Plan) and change.token.new:
                self.summary.new += 1
            case Operation.UPSERT:
                self.summary.changed += 1
            case Operation.MOVE:
                self.summary.moved += 1
            case Operation.DELETE:
                self.summary.deleted += 1
            case _:
                self.summary.failed += 1
        await self._folder.confirmed(change, event, published)

    async def checkpoint(self, value: str) -> None:
        await self._folder.flush()


def _still(entry: Entry, known: Stat) -> bool:
    return entry.st is not None and Stat.of(entry.st).same_file(known)


def _reason(raw: bytes, reason: str) -> str:
    return f"{display_path(raw) or '.'}: {reason}"
