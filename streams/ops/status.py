"""How things stand: outcomes, held documents, and how far each stage is behind."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from streams.consumers.catalog import Catalog
from streams.consumers.reader import consumer_group
from streams.errors import CanonryError
from streams.log import broker as local_broker
from streams.log.client import committed_offsets, end_offsets
from streams.settings import Settings
from streams.topology import STAGES, group_id


class GroupLag(msgspec.Struct, frozen=True):
    """How many records a consumer group has not done yet."""

    group: str
    topics: list[str]
    records: int
    started: bool  # whether it has ever committed


CONSUMERS = {"catalog": ["versions"], "search": ["canon-ready"]}


async def lag(settings: Settings, broker: str) -> list[GroupLag]:
    """Lag of every stage and built-in consumer, in records.

    Raises:
        BrokerUnavailable, NotFound: no answer, or no topics yet.
    """
    prefix = settings.kafka.topic_prefix
    groups = {group_id(stage.name, prefix): list(stage.reads) for stage in STAGES.values()}
    groups |= {consumer_group(name, prefix): topics for name, topics in CONSUMERS.items()}
    ends = await end_offsets(settings, broker, sorted({topic for topics in groups.values() for topic in topics}))
    committed = await asyncio.gather(*(committed_offsets(settings, broker, g, t) for g, t in groups.items()))
    found = []
    for (group, topics), done in zip(groups.items(), committed, strict=True):
        behind = sum(max(0, end - (done.get(key) or 0)) for key, end in ends.items() if key[0] in topics)
        found.append(GroupLag(group, topics, behind, any(value is not None for value in done.values())))
    return found


def status(settings: Settings, held: int = 20) -> dict[str, Any]:
    """The whole picture as plain values; parts that can't be had say why."""
    found: dict[str, Any] = {"data_dir": str(settings.data_dir.absolute())}
    try:
        address = local_broker.address(settings)
        found["broker"] = {"address": address, "error": None}
        found["lag"] = [msgspec.to_builtins(group) for group in asyncio.run(lag(settings, address))]
    except CanonryError as error:
        found["broker"] = {"address": settings.broker or None, "error": str(error)}
        found["lag"] = []
    with Catalog(settings) as catalog:
        counts = catalog.counts()
        found["documents"] = msgspec.to_builtins(counts, builtin_types=())
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
