"""How things stand: outcomes, held documents, and how far each stage is behind."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import msgspec

from streams.consumers.catalog import Catalog
from streams.errors import CanonryError
from streams.log import broker as local_broker
from streams.ops.lag import GroupLag, lag, summary
from streams.ops.sources import source_status
from streams.settings import Settings


def status(settings: Settings, held: int = 20) -> dict[str, Any]:
    """The whole picture as plain values; parts that can't be had say why."""
    found: dict[str, Any] = {"data_dir": str(settings.data_dir.absolute())}
    groups: list[GroupLag] | None = None
    try:
        address = local_broker.address(settings)
        found["broker"] = {"address": address, "error": None}
        groups = asyncio.run(lag(settings, address))
    except CanonryError as error:
        found["broker"] = {"address": settings.broker or None, "error": str(error)}
    found["lag"] = [summary(group) for group in groups or []]
    with Catalog(settings) as catalog:
        counts = catalog.counts()
        found["documents"] = msgspec.to_builtins(counts, builtin_types=())
        fresh = source_status(settings, catalog.freshness(), groups, datetime.now(UTC))
        found["sources"] = [msgspec.to_builtins(source) for source in fresh]
        found["outcomes"] = [msgspec.to_builtins(row) for row in catalog.outcome_table()]
        found["held"] = [
            {
                "source_id": row.source_id,
                "path": row.path,
                "problems": row.problems,
                "error": row.error,
                "held_since": row.held_since.isoformat(),
            }
            for row in catalog.held(held)
        ]
        found["titles"] = [row.title for row in catalog.list_documents(outcome="ready", limit=50) if row.title]
    return found
