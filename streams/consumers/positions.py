"""Positions that stand in the index itself: a batch and its position are one transaction, so each is applied once.

A position belongs to one log. When that log is another one now, or when deletes may have been missed, the partition is
read again from its beginning: rows carry the generation in which the log named them last, and when the old end is
reached, rows of an older generation are gone from the log and are removed (mark and sweep).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

import msgspec
import sqlalchemy as sa

from streams.consumers.database import Text, UtcTime, database_errors
from streams.consumers.reader import PartitionFacts, RecordBatch
from streams.consumers.received import Partition, Received

logger = logging.getLogger(__name__)


def positions_table(metadata: sa.MetaData) -> sa.Table:
    """Where each partition is read next, and in which generation its rows are written."""
    return sa.Table(
        "positions",
        metadata,
        sa.Column("topic", Text, primary_key=True),
        sa.Column("partition", sa.Integer, primary_key=True),
        sa.Column("offset", sa.BigInteger, nullable=False),
        sa.Column("end", sa.BigInteger, nullable=False),  # as last seen, to say how far the index is
        sa.Column("generation", sa.Integer, nullable=False),
        sa.Column("rebuild_until", sa.BigInteger),
        sa.Column("fresh_at", UtcTime),
        sa.Column("log", Text, nullable=False),
    )


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """How far an index has read one partition."""

    topic: str
    partition: int
    offset: int
    end: int
    rebuilding: bool
    fresh_at: datetime | None
    log: str  # which log the offset is of; see `streams.consumers.reader.log_identity`


def read_progress(connection: sa.Connection, table: sa.Table) -> list[Progress]:
    """How far an index has read each partition; empty when it has never run."""
    return [
        Progress(
            topic=row.topic,
            partition=row.partition,
            offset=row.offset,
            end=row.end,
            rebuilding=row.rebuild_until is not None,
            fresh_at=row.fresh_at,
            log=row.log,
        )
        for row in connection.execute(sa.select(table).order_by(table.c.topic, table.c.partition))
    ]


class View(Protocol):
    """What an index makes of the records of some topics, inside a transaction that is given."""

    def apply(self, connection: sa.Connection, records: Sequence[Received], generations: dict[Partition, int]) -> None:
        """Applies records. A record older than what is there (by offset) changes nothing."""
        ...

    def forget(self, connection: sa.Connection, partition: Partition, before: int | None) -> None:
        """Removes what came from a partition in a generation below `before`; None: all of it."""
        ...


@dataclass(frozen=True)
class _Position:
    offset: int
    generation: int
    rebuild_until: int | None
    fresh_at: datetime | None
    log: str


class Positions:
    """The positions of one index; the `Starts` of its consumers."""

    def __init__(self, engine: sa.Engine, table: sa.Table, view: View) -> None:
        self._engine = engine
        self._table = table
        self._view = view

    async def begin(self, cluster: str, facts: Sequence[PartitionFacts]) -> dict[Partition, int]:
        """See `streams.consumers.reader.Starts`. Raises DatabaseUnavailable."""
        return await asyncio.to_thread(self._begin, cluster, facts)

    def _begin(self, cluster: str, facts: Sequence[PartitionFacts]) -> dict[Partition, int]:
        with database_errors(), self._engine.begin() as connection:
            known = self._locked(connection, [fact.partition for fact in facts])
            now = datetime.now(UTC)
            positions = {
                fact.partition: self._start(connection, cluster, fact, known.get(fact.partition), now) for fact in facts
            }
            ends = {fact.partition: fact.end for fact in facts}
            new = {place: position for place, position in positions.items() if place not in known}
            self._insert(connection, new, ends)
            self._update(connection, {place: positions[place] for place in positions.keys() - new.keys()}, ends)
        return {place: position.offset for place, position in positions.items()}

    def _start(
        self, connection: sa.Connection, cluster: str, fact: PartitionFacts, known: _Position | None, now: datetime
    ) -> _Position:
        if known is None:
            return _Position(fact.begin, 1, None, None, cluster)
        compacted = fact.delete_retention_s is not None
        away = (now - known.fresh_at).total_seconds() if known.fresh_at is not None else 0.0
        if known.log != cluster or known.offset > fact.end:
            logger.warning("%s[%d]: another log; its rows are dropped and read anew", *fact.partition)
            self._view.forget(connection, fact.partition, None)
            return _Position(fact.begin, known.generation + 1, None, None, cluster)
        if compacted and (
            known.offset < fact.begin or (known.offset < fact.end and away > (fact.delete_retention_s or 0.0))
        ):
            logger.warning("%s[%d]: deletes may have been missed; reading it again", *fact.partition)
            if fact.begin >= fact.end:
                self._view.forget(connection, fact.partition, None)
                return _Position(fact.end, known.generation + 1, None, now, cluster)
            return _Position(fact.begin, known.generation + 1, fact.end, known.fresh_at, cluster)
        if known.offset < fact.begin:  # retention was quicker than we: what is gone can't be had
            return _Position(fact.begin, known.generation, known.rebuild_until, known.fresh_at, cluster)
        return known

    def apply(self, batch: RecordBatch) -> list[Received]:
        """Applies what is new in a batch, and its positions, in one transaction.

        Returns:
            The records that were applied: without those that this index has seen before.

        Raises:
            DatabaseUnavailable: nothing was applied.
        """
        with database_errors(), self._engine.begin() as connection:
            known = self._locked(connection, batch.next_offsets)
            new = [record for record in batch.records if record.offset >= known[record.place].offset]
            if new:
                self._view.apply(connection, new, {place: position.generation for place, position in known.items()})
            advanced: dict[Partition, _Position] = {}
            for place, offset in batch.next_offsets.items():
                position = known[place]
                if offset < position.offset:
                    continue  # another process has had this partition meanwhile
                until, fresh_at = position.rebuild_until, batch.fresh_at[place]
                if until is not None and offset >= until:
                    self._view.forget(connection, place, position.generation)
                    until = None
                if until is not None and position.fresh_at is not None:
                    fresh_at = position.fresh_at  # a rebuild that is broken off must begin again
                advanced[place] = _Position(offset, position.generation, until, fresh_at, position.log)
            self._update(connection, advanced, batch.ends)
        return new

    def _locked(self, connection: sa.Connection, places: Iterable[Partition]) -> dict[Partition, _Position]:
        table = self._table.c
        wanted = set(places)
        rows = connection.execute(
            sa.select(self._table)
            .where(table.topic.in_(sorted({place.topic for place in wanted})))
            .order_by(table.topic, table.partition)
            .with_for_update()
        )
        found = {
            Partition(row.topic, row.partition): _Position(
                row.offset, row.generation, row.rebuild_until, row.fresh_at, row.log
            )
            for row in rows
        }
        return {place: position for place, position in found.items() if place in wanted}

    def _insert(
        self, connection: sa.Connection, positions: Mapping[Partition, _Position], ends: Mapping[Partition, int]
    ) -> None:
        rows = [
            {"topic": place.topic, "partition": place.number, **_columns(position, ends[place])}
            for place, position in positions.items()
        ]
        if rows:
            connection.execute(sa.insert(self._table), rows)

    def _update(
        self, connection: sa.Connection, positions: Mapping[Partition, _Position], ends: Mapping[Partition, int]
    ) -> None:
        """In one statement: a batch that reaches the end of the log moves all partitions of all topics."""
        rows = [
            {"of_topic": place.topic, "of_partition": place.number, **_columns(position, ends[place])}
            for place, position in positions.items()
        ]
        if rows:
            table = self._table.c
            mine = (table.topic == sa.bindparam("of_topic"), table.partition == sa.bindparam("of_partition"))
            connection.execute(sa.update(self._table).where(*mine), rows)


def _columns(position: _Position, end: int) -> dict[str, Any]:
    return {
        "offset": position.offset,
        "end": max(end, position.offset),
        "generation": position.generation,
        "rebuild_until": position.rebuild_until,
        "fresh_at": position.fresh_at,
        "log": position.log,
    }
