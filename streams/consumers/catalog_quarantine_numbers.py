"""The quarantine in numbers, from the catalog: shares by what documents are, and what each day brought."""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec
import sqlalchemy as sa

from streams.consumers import catalog_tables as t
from streams.records import Outcome


class Share(msgspec.Struct, frozen=True, kw_only=True):
    """How much of something is held."""

    name: str | None
    held: int
    living: int | None  # documents of that kind in all; None: can't be said
    oldest: datetime | None


class Day(msgspec.Struct, frozen=True, kw_only=True):
    """What came to an outcome within 24 hours."""

    begins: datetime
    settled: int
    held: int  # of those, and held or replaced since


_BY = {
    "source": (t.quarantine.c.source, t.documents.c.source),
    "format": (t.quarantine.c.media_type, t.documents.c.media_type),
    "tool": (t.quarantine.c.extractor, t.documents.c.extractor),
    "code": (t.held_problems.c.code, None),
}
DIMENSIONS = tuple(_BY)


def held_shares(connection: sa.Connection, by: str) -> list[Share]:
    """How much is held, by source, format, code or tool; the most first."""
    kind, of_documents = _BY[by]
    since = t.held_problems.c.held_since if by == "code" else t.quarantine.c.held_since
    held = sa.select(kind, sa.func.count(), sa.func.min(since)).group_by(kind)
    living: dict[str | None, int] = {}
    if of_documents is not None:
        query = sa.select(of_documents, sa.func.count()).where(t.documents.c.status == "live").group_by(of_documents)
        living = {row[0]: row[1] for row in connection.execute(query)}
    else:
        total = connection.scalar(sa.select(sa.func.count()).where(t.documents.c.status == "live")) or 0
    found = [
        Share(name=row[0], held=row[1], living=living.get(row[0]) if of_documents is not None else total, oldest=row[2])
        for row in connection.execute(held)
    ]
    return sorted(found, key=lambda share: (-share.held, share.name or ""))


def held_per_day(connection: sa.Connection, until: datetime, days: int) -> list[Day]:
    """How many versions came to an outcome in each of the last days, and how many of them were held; oldest first.

    What was held and released since counts by its last outcome; what was held and replaced by a newer version stays.
    """
    column = t.versions.c
    begins = [until - timedelta(days=number) for number in range(days, 0, -1)]
    bucket = sa.case(
        *[(column.settled_at >= moment, number) for number, moment in reversed(list(enumerate(begins)))], else_=-1
    ).label("bucket")
    each = (
        sa.select(bucket, column.outcome)
        .where(column.settled_at >= begins[0], column.settled_at < until)
        .subquery()  # PostgreSQL takes no expression with parameters for the one that it is grouped by
    ).c
    query = sa.select(each.bucket, each.outcome, sa.func.count()).group_by(each.bucket, each.outcome)
    settled, held = [0] * days, [0] * days
    for number, outcome, count in connection.execute(query):
        settled[number] += count
        if outcome == Outcome.QUARANTINED.value:
            held[number] += count
    return [Day(begins=begins[n], settled=settled[n], held=held[n]) for n in range(days)]
