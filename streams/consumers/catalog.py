"""The catalog: every operator's question about documents, answered from SQL that is built from the log.

`CatalogWriter` is the consumer; `Catalog` only reads, from any process.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from streams.consumers import catalog_tables as t
from streams.consumers.catalog_duplicates import Duplicate, Duplicates, duplicate_groups, duplicates_of
from streams.consumers.catalog_freshness import source_freshness
from streams.consumers.catalog_quarantine import HeldFilter, held_rows
from streams.consumers.catalog_references import living_with
from streams.consumers.catalog_rows import Counts, DocumentRow, Held, OutcomeCount, SourceFreshness, Story
from streams.consumers.catalog_view import TOPICS, CatalogView
from streams.consumers.database import database_errors, open_database, overwrite_log
from streams.consumers.positions import Positions, Progress, read_progress
from streams.consumers.reader import RecordBatch
from streams.consumers.received import Received
from streams.errors import NotFound
from streams.log.publisher import Published
from streams.records import TERMINAL
from streams.settings import Settings

__all__ = ["Catalog", "CatalogWriter", "Counts", "DocumentRow", "Held", "OutcomeCount", "Progress", "Story"]

DELETED = "deleted"
_CHUNK = 500


class CatalogWriter:
    """Applies the log to the catalog's database."""

    name = "catalog"
    topics = TOPICS

    def __init__(self, settings: Settings) -> None:
        """Opens the database, and makes its tables where they are missing or of another schema.

        Raises:
            SettingsError: `catalog_url` can't be used.
            DatabaseUnavailable: no answer.
        """
        self._engine = open_database(settings.catalog_database, t.metadata, t.SCHEMA, writer=True)
        self.positions = Positions(self._engine, t.positions, CatalogView())
        self._deleted = False

    def apply(self, batch: RecordBatch) -> list[Received]:
        """One transaction; returns what was new. Raises DatabaseUnavailable, and then nothing was applied."""
        new = self.positions.apply(batch)
        self._deleted |= any(record.record is None or record.topic == "deleted" for record in new)
        return new

    def forget(self) -> None:
        """Takes what was deleted out of the file for good, if anything was. Raises DatabaseUnavailable."""
        if self._deleted:
            overwrite_log(self._engine)
            self._deleted = False

    def close(self) -> None:
        self._engine.dispose()


class Catalog:
    """Questions to the catalog. Every method raises DatabaseUnavailable when the database does not answer."""

    def __init__(self, settings: Settings) -> None:
        """
        Raises:
            SettingsError: `catalog_url` can't be used.
            DatabaseOutdated: another version of Canonry wrote it.
            DatabaseUnavailable: no answer.
        """
        self._engine = open_database(settings.catalog_database, t.metadata, t.SCHEMA, writer=False)
        self._epoch = settings.kafka.log_epoch

    def close(self) -> None:
        self._engine.dispose()

    def __enter__(self) -> Catalog:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def find(self, name: str, limit: int = 50) -> list[DocumentRow]:
        """The documents a person may mean, by the first of these that finds any: source_id, path, file name, end of
        the path, content hash. In NFC and NFD a name is one name. The living come first.
        """
        exact, composed = t.documents.c, unicodedata.normalize("NFC", name)
        if not composed.strip("/"):
            return []
        ways = (
            exact.source_id == name,
            exact.source_id == composed,
            exact.path == composed,
            exact.file_name == composed,
            exact.path.endswith("/" + composed.lstrip("/"), autoescape=True),
            exact.content_hash == name.lower(),
        )
        with self.reading() as connection:
            for way in ways:
                if found := self._documents(connection, way, limit=limit):
                    return found
        return []

    def document(self, source_id: str) -> Story:
        """The whole story of one document. Raises NotFound."""
        with self.reading() as connection:
            found = self._documents(connection, t.documents.c.source_id == source_id)
            if not found:
                raise _unknown(source_id)
            document = found[0]
            order = ("epoch", "offset")
            links: list[dict[str, Any]] = []
            complete: bool | None = None
            if document.content_hash:
                here = t.content_links.c.content_hash == document.content_hash
                links = self._rows(connection, t.content_links, here, "path", "source_id")
                complete = connection.scalar(
                    sa.select(t.contents.c.complete).where(t.contents.c.content_hash == document.content_hash)
                )
            return Story(
                document=document,
                versions=self._of(connection, t.versions, source_id, *order),
                changes=self._of(connection, t.changes, source_id, *order),
                canon=next(iter(self._of(connection, t.canons, source_id)), None),
                held=next(iter(self._of(connection, t.quarantine, source_id)), None),
                deletions=self._of(connection, t.deletions, source_id, *order),
                same_content=[link for link in links if link["source_id"] != source_id],
                more_of_same_content=complete is False,
                children=self._documents(connection, t.documents.c.parent_source_id == source_id, limit=1000),
            )

    def living_with(self, content_hash: str) -> list[tuple[str, str]]:
        """The (source_id, path) of living documents that have, or had in this life, a version with this content."""
        with self.reading() as connection:
            return living_with(connection, content_hash)

    def duplicates(self, source_id: str, least: float) -> Duplicates:
        """Documents with the same bytes, and those whose text is at least so alike. Raises NotFound."""
        with self.reading() as connection:
            if not self._documents(connection, t.documents.c.source_id == source_id):
                raise _unknown(source_id)
            return duplicates_of(connection, source_id, least)

    def duplicate_groups(self, least: float) -> list[list[Duplicate]]:
        """All documents of which there is another one like it, in groups, the largest group first."""
        with self.reading() as connection:
            return duplicate_groups(connection, least)

    def list_documents(
        self,
        *,
        source: str | None = None,
        outcome: str | None = None,
        problem: str | None = None,
        media_type: str | None = None,
        extractor: str | None = None,
        extractor_version: str | None = None,
        status: str | None = "live",
        stale: bool | None = None,
        limit: int = 100,
        after: str = "",
    ) -> list[DocumentRow]:
        """Documents by what their current version is like, in the order of source_id.

        Args:
            problem: a code of the current version.
            status: live or deleted; None: both.
            after: the last source_id of the page before.
        """
        column, code = t.documents.c, t.problems.c
        conditions: list[sa.ColumnElement[bool]] = [column.source_id > after]
        for name, value in (
            ("source", source),
            ("outcome", outcome),
            ("media_type", media_type),
            ("extractor", extractor),
            ("extractor_version", extractor_version),
            ("status", status),
            ("stale", stale),
        ):
            if value is not None:
                conditions.append(column[name] == value)
        if problem is not None:
            conditions.append(
                sa.exists().where(
                    code.source_id == column.source_id,
                    code.epoch == column.current_epoch,
                    code.offset == column.current_offset,
                    code.code == problem,
                )
            )
        with self.reading() as connection:
            return self._documents(connection, *conditions, limit=limit, by_id=True)

    def outcome_table(self, source: str | None = None) -> list[OutcomeCount]:
        """Living documents by format and outcome of the current version, most frequent formats first."""
        column = t.documents.c
        query = (
            sa.select(column.media_type, column.outcome, sa.func.count())
            .where(column.status == "live")
            .group_by(column.media_type, column.outcome)
        )
        if source is not None:
            query = query.where(column.source == source)
        with self.reading() as connection:
            rows = [OutcomeCount(*row) for row in connection.execute(query)]
        totals: dict[str | None, int] = {}
        for row in rows:
            totals[row.media_type] = totals.get(row.media_type, 0) + row.count
        return sorted(rows, key=lambda row: (-totals[row.media_type], row.media_type or "", row.outcome or ""))

    def counts(self, source: str | None = None) -> Counts:
        """The catalog in numbers, of all sources or of one."""
        document, held = t.documents.c, t.quarantine.c
        count = sa.func.count()
        of_source = [document.source == source] if source is not None else []
        with self.reading() as connection:
            states = connection.execute(
                sa.select(
                    document.status,
                    document.outcome,
                    count,
                    sa.func.sum(sa.case((document.stale, 1), else_=0)),
                    sa.func.count(document.published_offset),
                )
                .where(*of_source)
                .group_by(document.status, document.outcome)
            ).all()
            number, oldest = connection.execute(
                sa.select(count, sa.func.min(held.held_since)).where(*[held.source == source] if source else [])
            ).one()
            lives = sa.func.max(sa.case((document.status == "live", 1), else_=0)) == 1
            living = sa.select(document.content_hash).where(document.content_hash.is_not(None), *of_source)
            contents = connection.scalar(
                sa.select(count).select_from(living.group_by(document.content_hash).having(lives).subquery())
            )
        outcomes: dict[str, int] = {}
        for row in states:
            if row[0] == "live":
                outcomes[row[1] or "pending"] = outcomes.get(row[1] or "pending", 0) + row[2]
        return Counts(
            live=sum(outcomes.values()),
            deleted=sum(row[2] for row in states if row[0] == DELETED),
            outcomes=outcomes,
            published=sum(row[4] for row in states),
            stale=sum(row[3] for row in states),
            held=number,
            oldest_held=oldest,
            contents=contents or 0,
        )

    def freshness(self, last: int = 200) -> list[SourceFreshness]:
        """How fresh each source is that has documents.

        Args:
            last: of so many documents that became ready last, for each lane, latencies are told.
        """
        with self.reading() as connection:
            return source_freshness(connection, last)

    def held(
        self,
        limit: int = 100,
        *,
        code: str | None = None,
        source: str | None = None,
        media_type: str | None = None,
        extractor: str | None = None,
        before: datetime | None = None,
    ) -> list[Held]:
        """Documents in quarantine, longest held first.

        Args:
            before: held since before this instant.
        """
        wanted = HeldFilter(code=code, source=source, media_type=media_type, tool=extractor, held_before=before)
        with self.reading() as connection:
            return held_rows(connection, wanted, limit)

    def rows(self, source_ids: Iterable[str]) -> dict[str, DocumentRow]:
        """The documents of these ids; unknown ones are missing."""
        found: dict[str, DocumentRow] = {}
        with self.reading() as connection:
            for chunk in _chunks(source_ids):
                rows = self._documents(connection, t.documents.c.source_id.in_(chunk), limit=len(chunk))
                found |= {row.source_id: row for row in rows}
        return found

    def high_water(self, source_ids: Iterable[str]) -> dict[str, tuple[int, int]]:
        """(epoch, offset in raw-arrived) up to which the ledger has taken in each document; unknown: missing."""
        column = t.documents.c
        query = sa.select(column.source_id, column.high_water_epoch, column.high_water_offset)
        found: dict[str, tuple[int, int]] = {}
        with self.reading() as connection:
            for chunk in _chunks(source_ids):
                for row in connection.execute(query.where(column.source_id.in_(chunk))):
                    found[row[0]] = (row[1], row[2])
        return found

    def settled(self, source_id: str, partition: int, offset: int) -> str | None:
        """How an event of `raw-arrived` ended: ready, quarantined, skipped, deleted; None while it has not."""
        return self.settled_all([Published(source_id, partition, offset)]).get(source_id)

    def settled_all(self, events: Sequence[Published]) -> dict[str, str]:
        """As `settled`, of many events (of one source_id the last one counts); those on their way are missing.

        An event that opened a version ends with that version, any other one (the same content again, a move, new
        rights) with the version that is current then.
        """
        wanted = {event.source_id: event.offset for event in events}
        document, version = t.documents.c, t.versions.c
        states = sa.select(
            document.source_id, document.status, document.outcome, document.high_water_epoch, document.high_water_offset
        )
        own = sa.select(version.source_id, version.offset, version.outcome).where(version.epoch == self._epoch)
        ended: dict[str, str] = {}
        with self.reading() as connection:
            for chunk in _chunks(wanted):
                outcomes = {
                    (row[0], row[1]): row[2] for row in connection.execute(own.where(version.source_id.in_(chunk)))
                }
                for row in connection.execute(states.where(document.source_id.in_(chunk))):
                    offset = wanted[row[0]]
                    if (row[3], row[4]) < (self._epoch, offset):
                        continue
                    outcome = outcomes.get((row[0], offset), row[2])
                    if row[1] == DELETED:
                        ended[row[0]] = DELETED
                    elif outcome in TERMINAL:
                        ended[row[0]] = outcome
        return ended

    def progress(self) -> list[Progress]:
        """How far the catalog has read; empty when it has never run."""
        with self.reading() as connection:
            return read_progress(connection, t.positions)

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """A connection for the questions that stand in modules of their own."""
        with database_errors(), self._engine.connect() as connection:
            yield connection

    def _documents(
        self, connection: sa.Connection, *conditions: sa.ColumnElement[bool], limit: int = 50, by_id: bool = False
    ) -> list[DocumentRow]:
        column = t.documents.c
        living_first = () if by_id else (sa.case((column.status == "live", 0), else_=1),)
        query = (
            sa.select(*[column[name] for name in DocumentRow.__struct_fields__])
            .where(*conditions)
            .order_by(*living_first, column.source_id)
            .limit(limit)
        )
        return [DocumentRow(**row) for row in connection.execute(query).mappings()]

    def _of(self, connection: sa.Connection, table: sa.Table, source_id: str, *order: str) -> list[dict[str, Any]]:
        return self._rows(connection, table, table.c.source_id == source_id, *order)

    def _rows(
        self, connection: sa.Connection, table: sa.Table, condition: sa.ColumnElement[bool], *order: str
    ) -> list[dict[str, Any]]:
        query = sa.select(table).where(condition).order_by(*[table.c[name] for name in order])
        return [dict(row) for row in connection.execute(query).mappings()]


def _unknown(source_id: str) -> NotFound:
    return NotFound(
        f"The catalog knows no document {source_id!r}.", remedy="`canonry doc` takes a path or a file name, too."
    )


def _chunks(source_ids: Iterable[str]) -> Iterator[list[str]]:
    listed = list(source_ids)
    for start in range(0, len(listed), _CHUNK):
        yield listed[start : start + _CHUNK]
