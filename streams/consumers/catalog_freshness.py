"""How fresh sources are, by the versions that the ledger dated: `lane` and the first time of being ready."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from streams.consumers import catalog_tables as t
from streams.consumers.catalog_rows import Latency, SourceFreshness
from streams.records import Lane


def source_freshness(connection: sa.Connection, last: int) -> list[SourceFreshness]:
    """Of each source that has documents, in the order of their names."""
    column = t.documents.c
    waiting: dict[tuple[str, str], Any] = {
        (row[0], row[1]): row
        for row in connection.execute(
            sa.select(column.source, column.outcome, sa.func.count(), sa.func.min(column.ingested_at))
            .where(
                column.status == "live",
                column.lane == Lane.LIVE.value,
                column.outcome.in_(("pending", "quarantined")),
            )
            .group_by(column.source, column.outcome)
        )
    }
    lanes = connection.execute(
        sa.select(column.source, column.lane).where(column.ready_at.is_not(None)).group_by(column.source, column.lane)
    ).all()
    latencies: dict[str, dict[str, Latency]] = {}
    for source, lane in lanes:
        latencies.setdefault(source, {})[lane] = _latency(connection, source, lane, last)
    found = []
    for source in connection.scalars(sa.select(column.source).distinct().order_by(column.source)):
        _, _, unsettled, oldest_unsettled = waiting.get((source, "pending"), (None, None, 0, None))
        _, _, held, oldest_held = waiting.get((source, "quarantined"), (None, None, 0, None))
        found.append(
            SourceFreshness(
                source=source,
                unsettled=unsettled,
                oldest_unsettled=oldest_unsettled,
                held=held,
                oldest_held=oldest_held,
                latency=latencies.get(source, {}),
            )
        )
    return found


def _latency(connection: sa.Connection, source: str, lane: str, last: int) -> Latency:
    column = t.documents.c
    rows = connection.execute(
        sa.select(column.ready_at, column.ingested_at)
        .where(column.source == source, column.lane == lane, column.ready_at.is_not(None))
        .order_by(column.ready_at.desc())
        .limit(last)
    ).all()
    seconds = sorted(max(0.0, (ready_at - ingested_at).total_seconds()) for ready_at, ingested_at in rows)
    return Latency(
        documents=len(seconds), p50_s=_nearest(seconds, 0.5), p95_s=_nearest(seconds, 0.95), until=rows[0].ready_at
    )


def _nearest(ordered: Sequence[float], share: float) -> float:
    """The percentile by nearest rank: a value that was really measured."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]
