"""Runs the built-in consumers in one event loop; their SQL runs in threads."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import TypeVar

from streams.blobs import BlobStore
from streams.consumers.catalog import CatalogWriter
from streams.consumers.database import DatabaseUnavailable
from streams.consumers.reader import RecordConsumer
from streams.consumers.sdk import CanonConsumer, ChangeBatch, Upsert
from streams.consumers.search import SearchWriter
from streams.errors import BlobCorrupt, BlobNotFound, UndecodableMessage, UsageError
from streams.log.backoff import Backoff
from streams.records import CanonBody, SourceState
from streams.settings import Settings

logger = logging.getLogger(__name__)

NAMES = ("catalog", "search")

OnApplied = Callable[[list[SourceState]], None]

BODIES_AT_ONCE = 8
"""Texts fetched side by side; each may be as large as a canon gets."""

PACE_S = 1.0
"""Seconds between transactions while records trickle in: what a person who looks for a document does not notice."""

SEARCH_BATCH = 200
"""Canons of one transaction of the search index: their texts are in memory at once."""

T = TypeVar("T")


async def run_consumers(
    settings: Settings,
    broker: str,
    store: BlobStore,
    *,
    names: Sequence[str] = NAMES,
    stop: asyncio.Event,
    on_applied: OnApplied | None = None,
) -> None:
    """Keeps the catalog and the search index up to date until `stop` is set.

    A database or blob store that is away is waited for. What was read and not applied is read again.

    Args:
        broker: `host:port`.
        names: out of `NAMES`.
        on_applied: called in the loop with the newest state of each document of a batch, once the catalog shows them.

    Raises:
        UsageError: an unknown name.
        BrokerUnavailable: no answer at the start, or Kafka refuses to serve a consumer.
    """
    unknown = sorted(set(names) - set(NAMES))
    if unknown:
        raise UsageError(f"There is no consumer {', '.join(unknown)}.", remedy=f"Consumers: {', '.join(NAMES)}.")
    work: list[Callable[[], Coroutine[None, None, None]]] = []
    catalog: CatalogWriter | None = None
    search: SearchWriter | None = None
    try:
        if "catalog" in names:
            catalog = await _patiently(partial(CatalogWriter, settings))
            work.append(partial(_run_catalog, catalog, settings, broker, on_applied))
        if "search" in names:
            search = await _patiently(partial(SearchWriter, settings))
            work.append(partial(_run_search, search, settings, broker, store))
            work.append(partial(_run_held, search, settings, broker))
        await _until(stop, work)
    finally:
        for writer in (catalog, search):
            if writer is not None:
                writer.close()


async def _until(stop: asyncio.Event, work: Sequence[Callable[[], Coroutine[None, None, None]]]) -> None:
    """Runs all until `stop`, or until one of them fails; then none is left running."""
    tasks = [asyncio.create_task(start()) for start in work]
    stopped = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait([*tasks, stopped], return_when=asyncio.FIRST_COMPLETED)
    finally:
        ended = [task for task in tasks if task.done()]
        for task in (*tasks, stopped):
            task.cancel()
        await asyncio.gather(*tasks, stopped, return_exceptions=True)
    for task in ended:
        await task


async def _run_catalog(catalog: CatalogWriter, settings: Settings, broker: str, on_applied: OnApplied | None) -> None:
    async with RecordConsumer(
        catalog.name, catalog.topics, settings, broker=broker, starts=catalog.positions
    ) as consumer:
        async for batch in consumer.batches(pace_s=PACE_S):
            applied = await _patiently(partial(catalog.apply, batch))
            if on_applied is not None:
                states = {record.key: record.record for record in applied if isinstance(record.record, SourceState)}
                if states:
                    on_applied(list(states.values()))
            if batch.caught_up:
                await _patiently(catalog.forget)
            await batch.commit()  # only for those who watch the group's lag: the positions are in the database


async def _run_search(search: SearchWriter, settings: Settings, broker: str, store: BlobStore) -> None:
    async with CanonConsumer(search.name, settings, broker=broker, store=store, starts=search.positions) as consumer:
        async for batch in consumer.batches(max_records=SEARCH_BATCH, pace_s=PACE_S):
            needed = await _patiently(partial(search.needs_text, batch.records.records))
            bodies = await _bodies(consumer, batch, needed)
            await _patiently(partial(search.apply, batch.records, bodies))
            if batch.caught_up:
                await _patiently(search.forget)
            await batch.commit()


async def _run_held(search: SearchWriter, settings: Settings, broker: str) -> None:
    async with RecordConsumer(
        f"{search.name}-held", ["quarantine"], settings, broker=broker, starts=search.positions
    ) as consumer:
        async for batch in consumer.batches(pace_s=PACE_S):
            await _patiently(partial(search.apply, batch, {}))
            if batch.caught_up:
                await _patiently(search.forget)
            await batch.commit()


async def _bodies(consumer: CanonConsumer, batch: ChangeBatch, needed: set[str]) -> dict[str, CanonBody | None]:
    """The texts of the newest changes. One that can't be had is reported; the document is found by its title."""
    newest = {change.canon.source_id: change for change in batch if isinstance(change, Upsert)}
    bodies: dict[str, CanonBody | None] = {}
    limit = asyncio.Semaphore(BODIES_AT_ONCE)

    async def load(source_id: str, change: Upsert) -> None:
        async with limit:
            try:
                bodies[source_id] = await change.body()
            except (BlobNotFound, BlobCorrupt, UndecodableMessage) as error:
                await consumer.report(change, error)
                bodies[source_id] = None

    async with asyncio.TaskGroup() as group:
        for source_id, change in newest.items():
            if source_id in needed:
                group.create_task(load(source_id, change))
    return bodies


async def _patiently(call: Callable[[], T]) -> T:
    """Runs a call of a database in a thread, again and again while the database is away."""
    backoff = Backoff()
    while True:
        try:
            return await asyncio.to_thread(call)
        except DatabaseUnavailable as error:
            logger.warning("%s", error)
            await backoff.wait()
