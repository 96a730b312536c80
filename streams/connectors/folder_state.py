"""What the folder connector remembers between scans: one SQLite file per source, sound after a crash at any moment.

Each event is preceded by a mark (`pending`) and followed by its confirmation. A document that is still marked when a
scan meets it is published again, whatever its file looks like: the log may or may not have the event, and a repeated
event changes nothing. So neither a lost confirmation nor a lost event leaves the log and the folder different.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from streams.errors import CanonryError

_SCHEMA = """
CREATE TABLE IF NOT EXISTS documents (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,  -- never used again: a scan knows old rows from new by it
    native_id TEXT NOT NULL UNIQUE,
    key       TEXT NOT NULL,              -- display path: one for all normal forms of a name
    raw       BLOB NOT NULL UNIQUE,       -- path bytes relative to the root
    dev       INTEGER NOT NULL,
    inode     INTEGER NOT NULL,
    size      INTEGER NOT NULL,
    mtime_ns  INTEGER NOT NULL,
    ctime_ns  INTEGER NOT NULL,
    sha256    TEXT,                       -- of the content the log has; null: it has none
    failure   TEXT,                       -- code, when the last event was a failure
    message   TEXT,
    pending   INTEGER NOT NULL            -- an event about it may be in the log without our knowing
);
CREATE INDEX IF NOT EXISTS documents_key ON documents (key);
CREATE INDEX IF NOT EXISTS documents_inode ON documents (inode);
CREATE INDEX IF NOT EXISTS documents_sha256 ON documents (sha256);
CREATE INDEX IF NOT EXISTS documents_size ON documents (size);
CREATE TABLE IF NOT EXISTS events (       -- the last event of each document, deleted ones too
    source_id TEXT PRIMARY KEY,
    partition INTEGER NOT NULL,
    "offset"  INTEGER NOT NULL,
    settled   INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS events_unsettled ON events (settled) WHERE settled = 0;
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""
_TEMP = "CREATE TEMP TABLE IF NOT EXISTS seen (id INTEGER PRIMARY KEY)"
_VERSION = 1
_COLUMNS = "id, native_id, key, raw, dev, inode, size, mtime_ns, ctime_ns, sha256, failure, message, pending"


class StateUnusable(CanonryError):
    """The connector's state file can't be opened, read or written."""

    code = "connector_state"
    remedy = "Check the disk. Without the file everything is published again, which changes nothing that is the same."


class Stat(NamedTuple):
    """What one `lstat` says, as SQLite can hold it. Nanoseconds since 1970; numbers beyond 63 bits are wrapped."""

    dev: int
    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int

    @classmethod
    def of(cls, st: os.stat_result) -> Stat:
        return cls(*map(signed, (st.st_dev, st.st_ino, st.st_size, st.st_mtime_ns, st.st_ctime_ns)))

    def same_file(self, other: Stat) -> bool:
        """Nothing was done to it: not even a program that sets mtime back can set ctime back.

        The device is left out: its number changes when a disk is attached again, its files don't.
        """
        return self[1:] == other[1:]


class Row(NamedTuple):
    """One living document of the folder."""

    id: int
    native_id: str
    key: str
    raw: bytes
    dev: int
    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int
    sha256: str | None
    failure: str | None
    message: str | None
    pending: int

    @property
    def stat(self) -> Stat:
        return Stat(*self[4:9])


class Confirmation(NamedTuple):
    """A confirmed event and what the document is after it; `row` None: deleted."""

    row_id: int
    source_id: str
    partition: int
    offset: int
    after: After | None


class After(NamedTuple):
    """What the log knows of a document after an event."""

    raw: bytes
    key: str
    stat: Stat
    sha256: str | None
    failure: str | None = None
    message: str | None = None


class FolderState:
    """Thread-safe. Reading what is unsettled and settling it may be done from other processes meanwhile."""

    def __init__(self, path: Path) -> None:
        """Opens or makes the file. Raises StateUnusable."""
        self._path = path
        self._lock = threading.RLock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StateUnusable(f"The connector's state {path} can't be made: {error.strerror}.") from error
        with self._errors():
            self._db = sqlite3.connect(path, timeout=30, isolation_level=None, check_same_thread=False)
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = FULL")  # a mark must reach the disk before its event the log
            self._db.execute("PRAGMA temp_store = MEMORY")
            version = self._db.execute("PRAGMA user_version").fetchone()[0]
            if version not in (0, _VERSION):
                raise StateUnusable(
                    f"{path} was written by another version of Canonry (format {version}, this one reads {_VERSION}).",
                    remedy="Use that version, or remove the file: everything is then published again.",
                )
            self._db.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} PRAGMA user_version = {_VERSION}; COMMIT;")
            self._db.execute(_TEMP)

    def close(self) -> None:
        with self._lock:
            self._db.close()

    # --- looking up --------------------------------------------------------------------------------------------------

    def by_path(self, raw: bytes) -> Row | None:
        rows = self._rows("raw = ?", raw)
        return rows[0] if rows else None

    def by_id(self, native_id: str) -> Row | None:
        rows = self._rows("native_id = ?", native_id)
        return rows[0] if rows else None

    def by_key(self, key: str) -> list[Row]:
        return self._rows("key = ?", key)

    def by_inode(self, inode: int, *, newest: int, limit: int) -> list[Row]:
        """Documents with this inode that were known when row `newest` was the last one."""
        return self._rows("inode = ? AND id <= ? LIMIT ?", inode, newest, limit)

    def with_size(self, size: int, *, newest: int, limit: int) -> list[Row]:
        return self._rows("size = ? AND sha256 IS NOT NULL AND id <= ? LIMIT ?", size, newest, limit)

    def with_hash(self, sha256: str, *, newest: int) -> list[Row]:
        return self._rows("sha256 = ? AND id <= ? ORDER BY raw", sha256, newest)

    def newest(self) -> int:
        """Id of the last row; those that come later have greater ones."""
        row = self._one("SELECT coalesce(max(id), 0) FROM documents")
        return int(str(row[0])) if row else 0

    def unseen(self, prefix: bytes) -> list[Row]:
        """Documents at or beneath a path that `see` was not called for since `start`."""
        return self._rows(
            "id NOT IN (SELECT id FROM seen) AND (raw = ? OR ? = x'' OR (raw >= ? AND raw < ?))",
            *(prefix, prefix, prefix + b"/", prefix + b"0"),  # "0" comes right after "/"
        )

    def count(self) -> int:
        row = self._one("SELECT count(*) FROM documents")
        return int(str(row[0])) if row else 0

    def documents(self) -> Iterator[Row]:
        """All living documents, in the order of their ids, a page at a time."""
        last = 0
        while page := self._rows("id > ? ORDER BY id LIMIT 500", last):
            yield from page
            last = page[-1].id

    def fact(self, name: str) -> str | None:
        row = self._one("SELECT value FROM facts WHERE name = ?", name)
        return None if row is None else str(row[0])

    # --- one reconcile -----------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Forgets what was seen: a new look at the folder begins."""
        with self._errors():
            self._db.execute("DELETE FROM seen")

    def see(self, ids: Iterable[int]) -> None:
        with self._transaction():
            self._db.executemany("INSERT OR IGNORE INTO seen VALUES (?)", ((i,) for i in ids))

    def add(self, native_id: str, after: After) -> Row:
        """A document met for the first time, marked: its event is about to be published."""
        with self._errors():
            cursor = self._db.execute(
                "INSERT INTO documents (native_id, key, raw, dev, inode, size, mtime_ns, ctime_ns, pending)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1)",
                (native_id, after.key, after.raw, *after.stat),
            )
            row_id = cursor.lastrowid
            assert row_id is not None
        return Row(row_id, native_id, after.key, after.raw, *after.stat, None, None, None, 1)

    def mark(self, ids: Iterable[int]) -> None:
        """Events about these are about to be published."""
        with self._errors():
            self._db.executemany("UPDATE documents SET pending = 1 WHERE id = ?", ((i,) for i in ids))

    def renew(self, rows: Iterable[tuple[int, After]]) -> None:
        """The same documents, seen under another spelling or with another stat; nothing to publish."""
        with self._errors():
            for row_id, after in rows:
                self._make_way(row_id, after.raw)
                self._db.execute(
                    "UPDATE documents SET key = ?, raw = ?, dev = ?, inode = ?, size = ?, mtime_ns = ?, ctime_ns = ?"
                    " WHERE id = ?",
                    (after.key, after.raw, *after.stat, row_id),
                )

    def confirm(self, confirmations: Sequence[Confirmation]) -> None:
        """Records confirmed events, all or none."""
        with self._transaction():
            for row_id, source_id, partition, offset, after in confirmations:
                if after is None:
                    self._db.execute("DELETE FROM documents WHERE id = ?", (row_id,))
                else:
                    self._make_way(row_id, after.raw)
                    self._db.execute(
                        "UPDATE documents SET key = ?, raw = ?, dev = ?, inode = ?, size = ?, mtime_ns = ?,"
                        " ctime_ns = ?, sha256 = ?, failure = ?, message = ?, pending = 0 WHERE id = ?",
                        (after.key, after.raw, *after.stat, after.sha256, after.failure, after.message, row_id),
                    )
                self._db.execute(
                    'INSERT INTO events (source_id, partition, "offset", settled) VALUES (?, ?, ?, 0)'
                    " ON CONFLICT (source_id) DO UPDATE SET partition = excluded.partition,"
                    '  "offset" = excluded."offset", settled = settled AND "offset" = excluded."offset"',
                    (source_id, partition, offset),
                )

    def set_fact(self, name: str, value: str) -> None:
        with self._errors():
            self._db.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))

    def forget(self) -> None:
        """Nothing was ever published: everything that stands there is new again."""
        with self._errors(), self._transaction():
            self._db.execute("DELETE FROM documents")
            self._db.execute("DELETE FROM events")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Everything inside reaches the disk together."""
        with self._transaction():
            yield

    # --- outcomes ----------------------------------------------------------------------------------------------------

    def settle(self, source_id: str, partition: int, offset: int) -> None:
        """The outcome of the event at this place was seen; may be said before the event's own confirmation is here."""
        with self._errors():
            self._db.execute(
                'INSERT INTO events (source_id, partition, "offset", settled) VALUES (?, ?, ?, 1)'
                ' ON CONFLICT (source_id) DO UPDATE SET partition = excluded.partition, "offset" = excluded."offset",'
                '  settled = 1 WHERE excluded."offset" >= "offset"',
                (source_id, partition, offset),
            )

    def unsettled(self) -> list[tuple[str, int, int]]:
        """(source_id, partition, offset) of each document whose last event has no outcome yet."""
        with self._errors():
            return self._db.execute(
                'SELECT source_id, partition, "offset" FROM events WHERE settled = 0 ORDER BY partition, "offset"'
            ).fetchall()

    # --- within ------------------------------------------------------------------------------------------------------

    def _make_way(self, row_id: int, raw: bytes) -> None:
        """A path belongs to the document that was last seen there; what was there is looked for at the next scan."""
        self._db.execute(
            "UPDATE documents SET raw = CAST(raw || '/' || id AS BLOB), pending = 1 WHERE raw = ? AND id <> ?",
            (raw, row_id),
        )

    def _rows(self, where: str, *values: object) -> list[Row]:
        with self._errors():
            found = self._db.execute(f"SELECT {_COLUMNS} FROM documents WHERE {where}", values)  # noqa: S608
            return list(map(Row._make, found))

    def _one(self, statement: str, *values: object) -> tuple[object, ...] | None:
        with self._errors():
            row: tuple[object, ...] | None = self._db.execute(statement, values).fetchone()
            return row

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._errors():
            if self._db.in_transaction:
                yield
                return
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    @contextmanager
    def _errors(self) -> Iterator[None]:
        with self._lock:
            try:
                yield
            except sqlite3.Error as error:
                raise StateUnusable(f"The connector's state {self._path} can't be used: {error}.") from error


def signed(number: int) -> int:
    """As SQLite holds it: 63 bits and a sign. Inode numbers have 64 bits, times on some file systems more."""
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)
