"""The search index: SQLite FTS5, built with nothing but the SDK, which shows that the stream is enough.

It answers with documents, the passage of each that fits best, and those that are held: whoever searches for one learns
that it is in quarantine, and not that it does not exist.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
import sqlalchemy as sa

from streams.consumers import search_tables as t
from streams.consumers.database import database_errors, open_database, overwrite_log
from streams.consumers.positions import Positions, Progress, read_progress
from streams.consumers.reader import RecordBatch
from streams.consumers.received import Received
from streams.consumers.search_text import query_words, snippet, with_prefix
from streams.consumers.search_view import SearchView
from streams.records import CanonBody
from streams.settings import Settings

__all__ = ["HeldHit", "Hit", "SearchIndex", "SearchResult", "SearchWriter"]

CANDIDATES = 20
"""Passages looked at for each document that is asked for: several of them may be of one document."""

TITLE_WEIGHT = 4.0
"""How much more a word in the title or the file name counts than one in the text (bm25)."""


class SearchWriter:
    """Applies the log to the index."""

    name = "search"

    def __init__(self, settings: Settings) -> None:
        """Opens the index, and makes it where it is missing or of another schema.

        Raises:
            DatabaseUnavailable: the file can't be written.
        """
        self._engine = _open(settings, writer=True)
        self._view = SearchView()
        self.positions = Positions(self._engine, t.positions, self._view)
        self._forget_after = 0.0  # on the monotonic clock

    def needs_text(self, received: Iterable[Received]) -> set[str]:
        """The source_ids whose text is not in the index yet; a move or new rights need no text."""
        with database_errors(), self._engine.connect() as connection:
            return self._view.needs_text(connection, received)

    def apply(self, batch: RecordBatch, bodies: dict[str, CanonBody | None]) -> list[Received]:
        """One transaction; returns what was new. Raises DatabaseUnavailable, and then nothing was applied.

        Args:
            bodies: the text of those that `needs_text` named; None: it can't be had, the title alone is indexed.
        """
        self._view.bodies = bodies
        return self.positions.apply(batch)

    def forget(self) -> None:
        """Takes the words of what was deleted out of the files for good; does nothing when nothing was.

        FTS5 only marks what is deleted until it merges its segments, which costs a second for some 12 MB of index. So
        this spends a twentieth of the time at most, and what came too early is done by one of the next calls.

        Raises:
            DatabaseUnavailable: the file can't be written; what was deleted is remembered.
        """
        started = time.monotonic()
        if started < self._forget_after:
            return
        if self._forget():
            self._forget_after = time.monotonic() + 19 * (time.monotonic() - started)

    def _forget(self) -> bool:
        with database_errors(), self._engine.begin() as connection:
            if not t.take_deleted_mark(connection):
                return False
            t.merge(connection)
        overwrite_log(self._engine)
        return True

    def close(self) -> None:
        """Closes the index. Raises DatabaseUnavailable."""
        try:
            self._forget()
        finally:
            self._engine.dispose()


class Hit(msgspec.Struct, frozen=True, kw_only=True):
    """A document that was found, and where in it."""

    source_id: str
    path: str
    title: str | None
    snippet: str
    score: float  # higher is better; comparable within one search
    section: str
    page: int | None
    stale: bool  # a newer version is held
    source: str
    media_type: str
    readers: list[str] | None


class HeldHit(msgspec.Struct, frozen=True, kw_only=True):
    """A document in quarantine whose path has the words."""

    source_id: str
    path: str
    problems: list[str]
    serving: bool  # an older version of it is in the index


class SearchResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a search found."""

    hits: list[Hit]
    held: list[HeldHit]


class SearchIndex:
    """Searches; from any process."""

    def __init__(self, settings: Settings) -> None:
        """
        Raises:
            DatabaseOutdated: another version of Canonry wrote the index.
            DatabaseUnavailable: the file can't be read.
        """
        self._engine = _open(settings, writer=False)

    def close(self) -> None:
        self._engine.dispose()

    def __enter__(self) -> SearchIndex:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def search(self, words: str, limit: int = 10, *, reader: str | None = None) -> SearchResult:
        """The documents that have all the words: best in one passage, else anywhere in the document.

        Args:
            words: as typed; all of it is text. The last word may be only begun.
            limit: most hits, and most held documents.
            reader: a principal, who finds only what names it among its readers; None: an operator, who finds all.

        Raises:
            DatabaseUnavailable: the index can't be read.
        """
        phrases = query_words(words)
        if not phrases or limit < 1:
            return SearchResult(hits=[], held=[])
        begun = with_prefix(phrases)
        hits: dict[str, Hit] = {}
        with database_errors(), self._engine.connect() as connection:
            for query in dict.fromkeys((" AND ".join(phrases), " AND ".join(begun))):
                self._passages(connection, query, words, limit, reader, hits)
            if len(hits) < limit and len(phrases) > 1:
                self._anywhere(connection, begun, words, limit, reader, hits)
            held = self._held(connection, " AND ".join(begun), limit, reader)
        return SearchResult(hits=list(hits.values())[:limit], held=held)

    def count(self) -> int:
        """Documents in the index."""
        with database_errors(), self._engine.connect() as connection:
            return connection.scalar(sa.select(sa.func.count()).select_from(t.documents)) or 0

    def progress(self) -> list[Progress]:
        """How far the index has read; empty when it has never run."""
        with database_errors(), self._engine.connect() as connection:
            return read_progress(connection, t.positions)

    def _passages(
        self,
        connection: sa.Connection,
        query: str,
        words: str,
        limit: int,
        reader: str | None,
        hits: dict[str, Hit],
        among: list[int] | None = None,
    ) -> None:
        """Adds the documents of the best passages, each with its best one."""
        if len(hits) >= limit:
            return
        for row in self._ranked(connection, query, limit * CANDIDATES, reader, among):
            if row["source_id"] not in hits:
                hits[row["source_id"]] = Hit(
                    source_id=row["source_id"],
                    path=row["path"],
                    title=row["title"],
                    snippet=snippet(row["text"], words),
                    score=-row["rank"],
                    section=row["section"],
                    page=row["page"],
                    stale=row["stale"],
                    source=row["source"],
                    media_type=row["media_type"],
                    readers=row["readers"],
                )
                if len(hits) >= limit:
                    return

    def _ranked(
        self, connection: sa.Connection, query: str, most: int, reader: str | None, among: list[int] | None
    ) -> Iterator[Any]:
        document, passage = t.documents.c, t.passages.c
        rank: sa.Label[float] = sa.literal_column(f"bm25(passages_fts, {TITLE_WEIGHT}, 1.0)").label("rank")
        index = sa.table("passages_fts", sa.column("rowid"))
        statement = (
            sa.select(
                *(
                    document[name]
                    for name in ("source_id", "path", "title", "stale", "source", "media_type", "readers")
                ),
                *(passage[name] for name in ("text", "section", "page")),
                rank,
            )
            .select_from(index)
            .join(t.passages, passage.id == index.c.rowid)
            .join(t.documents, document.id == passage.document)
            .where(sa.literal_column("passages_fts").op("MATCH")(query))
            .order_by(rank, document.source_id, passage.id)
            .limit(most)
        )
        if among is not None:
            statement = statement.where(document.id.in_(among))
        if reader is not None:
            statement = statement.where(_may_read(document.source_id, reader))
        yield from connection.execute(statement).mappings()

    def _anywhere(
        self,
        connection: sa.Connection,
        phrases: list[str],
        words: str,
        limit: int,
        reader: str | None,
        hits: dict[str, Hit],
    ) -> None:
        """Adds documents that have the words in different passages."""
        index = sa.table("passages_fts", sa.column("rowid"))
        match = sa.literal_column("passages_fts").op("MATCH")
        with_word = [
            sa.select(t.passages.c.document).join(index, index.c.rowid == t.passages.c.id).where(match(phrase))
            for phrase in phrases
        ]
        query = sa.intersect(*with_word)
        among = list(connection.scalars(sa.select(query.subquery().c.document).limit(limit * CANDIDATES)))
        if among:
            self._passages(connection, " OR ".join(phrases), words, limit, reader, hits, among)

    def _held(self, connection: sa.Connection, query: str, limit: int, reader: str | None) -> list[HeldHit]:
        held = t.held.c
        index = sa.table("held_fts", sa.column("rowid"))
        statement = (
            sa.select(held.source_id, held.path, held.problems, t.documents.c.source_id.is_not(None).label("serving"))
            .select_from(index)
            .join(t.held, held.id == index.c.rowid)
            .outerjoin(t.documents, t.documents.c.source_id == held.source_id)
            .where(sa.literal_column("held_fts").op("MATCH")(query))
            .order_by(sa.literal_column("bm25(held_fts)"), held.source_id)
            .limit(limit)
        )
        if reader is not None:
            statement = statement.where(_may_read(held.source_id, reader, held=True))
        return [HeldHit(**{**row, "serving": bool(row["serving"])}) for row in connection.execute(statement).mappings()]


def _may_read(source_id: sa.ColumnElement[str], reader: str, *, held: bool = False) -> sa.ColumnElement[bool]:
    """Unknown rights (no row) mean nobody."""
    right = t.rights.c
    return sa.exists().where(right.source_id == source_id, right.held == held, right.principal == reader)


def _open(settings: Settings, *, writer: bool) -> sa.Engine:
    version = f"{t.SCHEMA} sqlite {sqlite3.sqlite_version_info[0]}"
    return open_database(f"sqlite:///{settings.search_database.absolute()}", t.metadata, version, writer=writer)
