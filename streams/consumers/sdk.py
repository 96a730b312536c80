"""The SDK of index builders: what an index must hold, as a stream of upserts and deletes.

    async with CanonConsumer("my-index", settings, broker=broker, store=store, known_ids=index.ids) as consumer:
        async for batch in consumer.batches():
            for change in batch:
                match change:
                    case Upsert(canon=canon):
                        index.put(canon.source_id, canon.path, await change.body())
                    case Delete(source_id=source_id):
                        index.remove(source_id)
            await batch.commit()

A change may come more than once; applying it again must do no harm. Who needs to know why a document was deleted reads
`deleted` with a `RecordConsumer`: only `canon-ready` has deletes and upserts of one document in one order.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from streams.blobs import BlobStore
from streams.blobs.claim import payload_bytes
from streams.consumers.reader import (
    NOTE_REBUILD,
    GroupStarts,
    PartitionFacts,
    RecordBatch,
    RecordConsumer,
    Starts,
)
from streams.consumers.received import Partition, Received
from streams.errors import BlobStoreUnavailable, CanonryError
from streams.log.backoff import Backoff
from streams.records import Canon, CanonBody, Payload
from streams.records.codec import decode, encode
from streams.settings import Settings

__all__ = ["CanonConsumer", "ChangeBatch", "Delete", "RebuildNeeded", "RecordConsumer", "Upsert", "load_body"]

logger = logging.getLogger(__name__)

TOPIC = "canon-ready"


class RebuildNeeded(CanonryError):
    """The consumer was away for so long that deletes it never saw are gone from the log (`delete.retention.ms`)."""

    code = "rebuild_needed"
    remedy = "Pass `known_ids`, so that what is gone can be found, or empty the index and pass `from_start=True`."


async def load_body(payload: Payload, store: BlobStore) -> CanonBody:
    """The canon body behind a claim check; waits as long as the blob store is away.

    Raises:
        BlobNotFound: the store has no such object (any more).
        BlobCorrupt: the bytes are not those that were announced.
        UndecodableMessage: the bytes are no canon body.
    """
    backoff = Backoff()
    while True:
        try:
            return await asyncio.to_thread(_load, payload, store)
        except BlobStoreUnavailable as error:
            logger.warning("%s can't be read, trying again: %s", payload.key, error)
            await backoff.wait()


def _load(payload: Payload, store: BlobStore) -> CanonBody:
    return decode(CanonBody, payload_bytes(payload, store))


@dataclass(frozen=True)
class Upsert:
    """What an index may serve for this source_id from now on; `canon.stale` and `canon.readers` are part of it."""

    canon: Canon
    partition: int
    offset: int  # in canon-ready
    _store: BlobStore = field(repr=False)

    async def body(self) -> CanonBody:
        """The text: fetched when asked for, as an index that only follows a move or new rights needs none.

        Raises: as `load_body`.
        """
        return await load_body(self.canon.payload, self._store)


@dataclass(frozen=True)
class Delete:
    """Nothing may be served for this source_id any more. `offset` None: found by comparing, not by a tombstone."""

    source_id: str
    partition: int | None
    offset: int | None


Change = Upsert | Delete


@dataclass
class ChangeBatch:
    """Changes in the order of the log."""

    changes: list[Change]
    records: RecordBatch = field(repr=False)
    _consumer: CanonConsumer = field(repr=False)
    _swept: bool = False

    def __iter__(self) -> Iterator[Change]:
        return iter(self.changes)

    def __len__(self) -> int:
        return len(self.changes)

    @property
    def caught_up(self) -> bool:
        """Whether these are the last changes there are: with them, a snapshot is complete."""
        return self.records.caught_up

    async def commit(self) -> bool:
        """See `RecordBatch.commit`; to be called after the batch was applied."""
        return await self._consumer.commit(self)


class CanonConsumer:
    """Reads `canon-ready` in the group `<prefix>canonry-consumer-<name>`; an async context manager.

    Where the log can't say what was deleted (the first start, a lost or too old commit, another log), it reads from the
    beginning and then deletes what the index has and the log has not: mark and sweep. A crash in between begins it
    again. With several members in the group a sweep waits until one has all partitions: run a rebuild with one.
    """

    def __init__(
        self,
        name: str,
        settings: Settings,
        *,
        broker: str,
        store: BlobStore,
        from_start: bool = False,
        known_ids: Callable[[], Iterable[str]] | None = None,
        starts: Starts | None = None,
    ) -> None:
        """
        Args:
            broker: `host:port`.
            store: where big canons are; `streams.blobs.open_store(settings)`.
            from_start: read everything again, whatever was committed; `batch.caught_up` tells when it is complete.
            known_ids: the source_ids that the index holds, called in a thread.
            starts: for an index that keeps its positions itself; it then sees to its rebuilds as well.
        """
        self._sweep = None if starts else _Sweep(from_start, known_ids)
        self._records = RecordConsumer(name, [TOPIC], settings, broker=broker, starts=starts or self._sweep)
        self._store = store

    async def __aenter__(self) -> CanonConsumer:
        await self._records.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._records.__aexit__(*error)

    @property
    def group(self) -> str:
        return self._records.group

    async def batches(
        self, *, max_records: int = 500, timeout_s: float = 1.0, idle_s: float = 300.0, pace_s: float = 0.0
    ) -> AsyncIterator[ChangeBatch]:
        """Batches without end; see `RecordConsumer.batches` for the arguments and for when one is empty.

        Raises:
            RebuildNeeded: deletes were missed and there is no `known_ids` to find them by.
            BrokerUnavailable: Kafka refuses to serve this consumer.
        """
        sweep = self._sweep
        async for records in self._records.batches(
            max_records=max_records, timeout_s=timeout_s, idle_s=idle_s, pace_s=pace_s
        ):
            batch = ChangeBatch([self._change(received) for received in records.records], records, self)
            if sweep is not None and sweep.mark(records, self._records.partition_count):
                gone = await asyncio.to_thread(sweep.gone)
                batch.changes.extend(Delete(source_id, None, None) for source_id in gone)
                batch._swept = True
            self._records.unsettled = set(sweep.open) if sweep is not None else set()
            yield batch

    @property
    def rebuilding(self) -> bool:
        """Whether ids that the log no longer has will be deleted when the end is reached."""
        return self._sweep is not None and bool(self._sweep.open)

    async def commit(self, batch: ChangeBatch) -> bool:
        """See `ChangeBatch.commit`."""
        if self._sweep is not None and batch._swept:
            self._sweep.settle()
            self._records.unsettled = set()
        committed = await self._records.commit(batch.records)
        if self._sweep is not None and committed and batch.caught_up:
            self._sweep.from_start = False
        return committed

    async def report(self, change: Upsert, error: CanonryError) -> None:
        """Puts a change whose body can't be had on `dead-letter`, so that it is seen and can be sent again."""
        place, key = Partition(TOPIC, change.partition), change.canon.source_id.encode()
        await self._records.dead_letters.send(place, change.offset, key, encode(change.canon), error, [])

    def _change(self, received: Received) -> Change:
        if isinstance(received.record, Canon):
            return Upsert(received.record, received.partition, received.offset, self._store)
        return Delete(received.key, received.partition, received.offset)


class _Sweep(GroupStarts):
    """Marks what lives while all partitions are read from their beginning."""

    def __init__(self, from_start: bool, known_ids: Callable[[], Iterable[str]] | None) -> None:
        self.from_start = from_start
        self.open: set[Partition] = set()  # partitions whose commits don't count before the sweep
        self._known_ids = known_ids
        self._live: set[str] = set()
        self._until: dict[Partition, int] = {}

    async def begin(self, cluster: str, facts: Sequence[PartitionFacts]) -> dict[Partition, int]:
        self.settle()
        missed = [fact.partition for fact in facts if _missed_deletes(fact)]
        if missed and self._known_ids is None and not self.from_start:
            names = ", ".join(f"{place.topic}[{place.number}]" for place in missed)
            raise RebuildNeeded(f"Deletes may have been missed on {names}.")
        again = self.from_start or bool(missed) or any(fact.committed is None for fact in facts)
        if not again or self._known_ids is None:
            places = await super().begin(cluster, facts)
            return {fact.partition: fact.begin for fact in facts} if self.from_start else places
        if not missed and not self.from_start and not await asyncio.to_thread(lambda: any(True for _ in self._ids())):
            return await super().begin(cluster, facts)  # a new index: nothing in it that could be gone
        # A sweep compares the whole index with the whole log, so all partitions are read again.
        self.open = {fact.partition for fact in facts}
        self._until = {fact.partition: fact.end for fact in facts}
        return {fact.partition: fact.begin for fact in facts}

    def mark(self, batch: RecordBatch, partition_count: int) -> bool:
        """Takes in what a batch says; True when all that lives is known now and a sweep is due."""
        if not self.open:
            return False
        for received in batch.records:
            (self._live.discard if received.record is None else self._live.add)(received.key)
        for place, offset in batch.next_offsets.items():
            if offset >= self._until.get(place, offset):
                self._until.pop(place, None)
        return not self._until and len(self.open) == partition_count

    def gone(self) -> list[str]:
        """What the index has and the log has not."""
        return sorted(set(self._ids()) - self._live)

    def settle(self) -> None:
        """The sweep was applied, or is given up."""
        self.open.clear()
        self._live.clear()
        self._until.clear()

    def _ids(self) -> Iterable[str]:
        return self._known_ids() if self._known_ids is not None else ()


def _missed_deletes(fact: PartitionFacts, now: datetime | None = None) -> bool:
    """Whether tombstones behind the committed offset may be gone from a compacted partition.

    `fresh_at` of the commit is a time until which everything was known; tombstones written since then are kept for
    `delete.retention.ms` at least. An offset that an operator set by hand has no such note and is trusted.
    """
    if fact.committed is None or fact.delete_retention_s is None:
        return False
    if fact.note == NOTE_REBUILD or fact.committed > fact.end or fact.committed < fact.begin:
        return True
    if fact.committed == fact.end:
        return False
    try:
        fresh_at = datetime.fromisoformat(fact.note)
    except ValueError:
        return False
    return ((now or datetime.now(UTC)) - fresh_at).total_seconds() > fact.delete_retention_s
