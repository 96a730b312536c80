"""What changed in a folder: compares what stands there with what is remembered, and says it in events.

One rule carries it all: a file whose inode, size, mtime and ctime are what they were is unchanged and costs one
`lstat`; anything else costs a read, and the hash decides. ctime can't be set back, so a file that was edited and got
its old mtime again is noticed; and a renamed directory costs no reads, because its files' ctime stays. A document
whose path has vanished is the same document at a new path with the same content (R-IN-6); names, ids and mtime decide
nothing.

No Kafka and no threads here: entries in, changes out. Each batch of changes is marked in the state before it is given.
"""

from __future__ import annotations

import hashlib
import io
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import cast

from streams.connectors.base import Change, Document, Failed, Gone, Moved, ReadFailed
from streams.connectors.folder_read import Reading, too_large
from streams.connectors.folder_state import After, FolderState, Row, Stat, signed
from streams.connectors.folder_tree import Entry, Tree, Unlistable
from streams.connectors.names import display_path

HELD_COUNT = 10
HELD_SHARE = 0.10
"""Deletes above both of these wait for approval (R-IN-5)."""

VANISHED = "no longer in the folder"
"""Reason of a delete."""

_TWINS = 16  # rows looked at one by one before a file is simply hashed
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass
class Plan:
    """What is about to be said of one document, and what to remember when it was."""

    row: Row
    new: bool  # the log never had content of it
    after: After
    reading: Reading | None = None  # of a document


class Reconcile:
    """One look at the folder, or at parts of it. `batch` for what was met, then `finish` for what was not."""

    def __init__(self, tree: Tree, state: FolderState, *, max_bytes: int, accept_devices: bool = False) -> None:
        self._tree = tree
        self._accept_devices = accept_devices
        self._state = state
        self._max_bytes = max_bytes
        state.start()
        self._newest = state.newest()
        self._known = state.count()
        self._claimed: set[int] = set()  # documents that moved in this look
        self._arrivals: list[tuple[Entry, Reading, str]] = []  # new paths with the content of a vanished one
        self._vanished: dict[str, list[Row]] = {}  # by content hash
        self._renumbered: set[tuple[int, int]] = set()
        self.unchanged = 0
        self.held: list[str] = []  # native ids of deletes that wait for approval
        self.waiting: list[bytes] = []  # paths of deletes that wait for a move to show itself
        self.unlistable: dict[bytes, str] = {}

    # --- what is there -----------------------------------------------------------------------------------------------

    def batch(self, found: Iterable[Entry | Unlistable]) -> list[Change]:
        """The changes among these names."""
        seen: list[int] = []
        renewed: list[tuple[int, After]] = []
        plans: list[_Draft] = []
        for entry in found:
            if isinstance(entry, Unlistable):
                self.unlistable[entry.raw] = entry.reason
                continue
            row = self._state.by_path(entry.raw)
            if row is not None and row.id in self._claimed:
                continue  # moved away a moment ago, and something new is here already: for the next look
            if row is None and (row := self._other_spelling(entry)) is not None:
                self._claimed.add(row.id)
            if row is not None:
                seen.append(row.id)
            draft = self._judge(entry, row)
            if isinstance(draft, _Same):
                self.unchanged += 1
                if draft.after is not None:
                    renewed.append((draft.row.id, draft.after))
            elif draft is not None:
                plans.append(draft)
                if draft.row is not None:
                    seen.append(draft.row.id)
        with self._state.transaction():
            self._state.see(seen)
            self._state.renew(renewed)
            return self._mark(plans)

    def again(self, entry: Entry, row: Row) -> list[Change]:
        """One known document once more, changed or not."""
        return self._mark([self._judge(entry, row._replace(pending=1)) or _Draft(entry, row)])

    def _judge(self, entry: Entry, row: Row | None) -> _Draft | _Same | None:
        """What to say of one name; None: it is decided in `finish`."""
        failure = self._failure(entry, row)
        st = Stat.of(entry.st) if entry.st is not None else Stat(0, 0, 0, 0, 0)
        if failure is not None:
            if row is None and (twin := self._same_inode(st, failure.problem)):
                return self._move(entry, twin, st)
            if row is not None and not row.pending and (row.failure, row.message) == (failure.problem, failure.message):
                return self._same(entry, row, st)
            return _Draft(entry, row, failure=failure)
        if row is None:
            return self._judge_new(entry, st)
        if row.pending or row.failure is not None:
            return _Draft(entry, row)
        if row.stat.same_file(st):
            return self._same(entry, row, st)
        if row.size != st.size:
            return _Draft(entry, row)  # surely other content: no need to read it twice
        try:
            reading, sha256 = self._hash(entry)
        except ReadFailed as error:
            return _Draft(entry, row, failure=error)
        if sha256 == row.sha256:
            return self._same(entry, row, reading.stat())
        return _Draft(entry, row)

    def _judge_new(self, entry: Entry, st: Stat) -> _Draft | None:
        if twin := self._same_inode(st, None):
            return self._move(entry, twin, st)
        if self._may_have_moved(st.size):
            try:
                reading, sha256 = self._hash(entry)
            except ReadFailed as error:
                return _Draft(entry, None, failure=error)
            if self._vanished_with(sha256):
                self._arrivals.append((entry, reading, sha256))
                return None
        return _Draft(entry, None)

    def _failure(self, entry: Entry, row: Row | None) -> ReadFailed | None:
        if entry.st is None:
            return ReadFailed("unreadable", f"It can't be read: {entry.error}.")
        mode = entry.st.st_mode
        if stat.S_ISLNK(mode):
            if self._tree.leads_somewhere(entry.raw):
                return ReadFailed("symlink", "A link is never followed.", skip=True)
            return ReadFailed("broken_link", "A link whose target is missing.")
        if not stat.S_ISREG(mode):
            return ReadFailed("special_file", f"No regular file, but {_KINDS.get(stat.S_IFMT(mode), '?')}.", skip=True)
        if entry.st.st_size > self._max_bytes:
            return ReadFailed(*too_large(entry.st.st_size, self._max_bytes))
        if row is not None and row.failure is not None:  # it may be readable now, whatever its stat says
            try:
                os.close(self._tree.open_file(entry.raw))
            except ReadFailed as error:
                return error
        return None

    # --- same content elsewhere --------------------------------------------------------------------------------------

    def _other_spelling(self, entry: Entry) -> Row | None:
        """The document of this name in another normal form, unless both forms stand in the folder side by side."""
        if entry.raw.isascii():
            return None
        for row in self._state.by_key(display_path(entry.raw)):
            if row.raw == entry.raw or row.id in self._claimed:
                continue
            try:
                other = self._tree.lstat(row.raw)
            except FileNotFoundError:
                return row
            except OSError:
                continue
            if entry.st is not None and (other.st_dev, other.st_ino) == (entry.st.st_dev, entry.st.st_ino):
                return row  # a file system that takes both forms for one
        return None

    def _same_inode(self, st: Stat, failure: str | None) -> Row | None:
        for row in self._state.by_inode(st.inode, newest=self._newest, limit=_TWINS):
            if row.stat.same_file(st) and row.failure == failure and self._may_move(row):
                return row
        return None

    def _may_have_moved(self, size: int) -> bool:
        rows = self._state.with_size(size, newest=self._newest, limit=_TWINS)
        return len(rows) == _TWINS or any(map(self._may_move, rows))

    def _vanished_with(self, sha256: str) -> list[Row]:
        if sha256 not in self._vanished:
            rows = self._state.with_hash(sha256, newest=self._newest)
            self._vanished[sha256] = [row for row in rows if row.failure is None and self._may_move(row)]
        return self._vanished[sha256]

    def _may_move(self, row: Row) -> bool:
        return not row.pending and row.id not in self._claimed and self._tree.missing(row.raw)

    def _move(self, entry: Entry, row: Row, st: Stat) -> _Draft:
        self._claimed.add(row.id)
        return _Draft(entry, row, moved_to=After(entry.raw, "", st, row.sha256, row.failure, row.message))

    def _same(self, entry: Entry, row: Row, st: Stat) -> _Same:
        if row.dev != st.dev:
            self._renumbered.add((row.dev, st.dev))
        if row.raw == entry.raw and row.stat == st:
            return _Same(row, None)
        return _Same(row, After(entry.raw, display_path(entry.raw), st, row.sha256))

    def _hash(self, entry: Entry) -> tuple[Reading, str]:
        reading = Reading(self._tree, entry.raw, self._max_bytes)
        for _ in range(2):  # once more if it changed meanwhile; then it is remembered as unsure
            with reading.open() as stream:
                try:
                    digest = hashlib.file_digest(cast(io.FileIO, stream), "sha256")
                except OSError as error:
                    raise ReadFailed.of(error) from error
            if reading.steady():
                break
        return reading, digest.hexdigest()

    # --- what is not there -------------------------------------------------------------------------------------------

    def finish(
        self, scopes: Iterable[bytes], *, approved: bool, wait: bool = False, deleted_before: int = 0
    ) -> Iterator[list[Change]]:
        """Moves that only the whole look could tell, the new ones among them, and what is gone.

        Args:
            scopes: the paths that were looked at, each with all beneath it; b"" is the root.
            approved: deletes need no approval.
            wait: give no deletes yet, but leave their paths in `waiting`.
            deleted_before: deletes of earlier partial looks, which count towards the limit.
        """
        yield self._finish_arrivals()
        gone: list[Row] = []
        for scope in scopes:
            gone += [row for row in self._state.unseen(scope) if row.id not in self._claimed and self._is_gone(row)]
        gone = list({row.id: row for row in gone}.values())
        if wait:
            self.waiting = [row.raw for row in gone]
            return
        count = len(gone) + deleted_before
        if gone and not approved and count > HELD_COUNT and count > HELD_SHARE * (self._known + deleted_before):
            self.held = [row.native_id for row in gone]
            return
        for start in range(0, len(gone), 256):
            rows = gone[start : start + 256]
            self._state.mark(row.id for row in rows)
            yield [
                Gone(native_id=row.native_id, path=row.key, reason=VANISHED, token=Plan(row, False, _gone(row)))
                for row in rows
            ]

    def _finish_arrivals(self) -> list[Change]:
        arrivals = sorted(self._arrivals, key=lambda arrival: arrival[0].raw)
        moves: dict[bytes, _Draft] = {}
        for by_inode in (True, False):  # the renamed file first, copies of it after
            for entry, reading, sha256 in arrivals:
                st = reading.stat()
                for row in self._vanished[sha256]:
                    if entry.raw in moves:
                        break
                    if row.id not in self._claimed and (not by_inode or row.inode == st.inode):
                        moves[entry.raw] = self._move(entry, row, st)
        drafts = [moves.get(entry.raw) or _Draft(entry, None) for entry, _, _ in arrivals]
        with self._state.transaction():
            self._state.see(draft.row.id for draft in drafts if draft.row is not None)
            return self._mark(drafts)

    def _is_gone(self, row: Row) -> bool:
        """Whether it is surely deleted, and not only out of sight."""
        for folder in self.unlistable:
            if not folder or row.raw == folder or row.raw.startswith(folder + b"/"):
                return False
        if not self._tree.missing(row.raw):
            return False
        device = signed(self._tree.device_above(row.raw))
        if row.dev not in (0, device) and (row.dev, device) not in self._renumbered and not self._accept_devices:
            place = row.raw.rpartition(b"/")[0]
            self.unlistable[place] = "the file system that held it is not mounted"
            return False
        return True

    # --- into changes ------------------------------------------------------------------------------------------------

    def _mark(self, drafts: Iterable[_Draft | _Same]) -> list[Change]:
        changes: list[Change] = []
        for draft in drafts:
            if isinstance(draft, _Same):
                continue
            key = display_path(draft.entry.raw)
            st = Stat.of(draft.entry.st) if draft.entry.st is not None else Stat(0, 0, 0, 0, 0)
            after = After(draft.entry.raw, key, st, None)
            row = draft.row
            new = row is None or (row.sha256 is None and row.failure is None)
            if row is None:
                row = self._state.add(self._new_id(key), after)
                self._state.see([row.id])
            else:
                self._state.mark([row.id])
            if draft.moved_to is not None:
                after = draft.moved_to._replace(key=key)
            elif draft.failure is not None:
                after = after._replace(failure=draft.failure.problem, message=draft.failure.message)
            changes.append(self._change(draft, Plan(row, new, after)))
        return changes

    def _change(self, draft: _Draft, plan: Plan) -> Change:
        native_id, key, updated = plan.row.native_id, plan.after.key, _mtime(draft.entry.st)
        if draft.moved_to is not None:
            return Moved(native_id=native_id, path=key, source_updated_at=updated, token=plan)
        if (failure := draft.failure) is not None:
            return Failed(
                native_id=native_id,
                path=key,
                source_updated_at=updated,
                code=failure.problem,
                message=failure.message,
                skip=failure.skip,
                token=plan,
            )
        plan.reading = reading = Reading(self._tree, plan.after.raw, self._max_bytes)
        return Document(
            native_id=native_id,
            path=key,
            source_updated_at=updated,
            open=reading.open,
            steady=reading.steady,
            token=plan,
        )

    def _new_id(self, key: str) -> str:
        """The path at first sight; kept over moves, so another document may have it."""
        native_id, number = key, 1
        while self._state.by_id(native_id) is not None:
            number += 1
            native_id = f"{key}#{number}"
        return native_id


@dataclass
class _Draft:
    entry: Entry
    row: Row | None
    failure: ReadFailed | None = None
    moved_to: After | None = None


@dataclass
class _Same:
    row: Row
    after: After | None  # when the stat or the spelling is another


_KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a character device",
    stat.S_IFBLK: "a block device",
}


def _gone(row: Row) -> After:
    return After(row.raw, row.key, row.stat, row.sha256, row.failure, row.message)


def _mtime(st: os.stat_result | None) -> datetime | None:
    if st is None:
        return None
    try:
        return _EPOCH + timedelta(microseconds=st.st_mtime_ns // 1000)
    except OverflowError:  # a file system can hold years that no calendar here does
        return None
