"""What is in quarantine, of the partitions of a worker's ledger: how much, for what, and since when, by source.

It follows the compacted topic `quarantine`, where each held document has one record and a released one a null, beside
the ledger's own work: nothing waits for it.
"""

from __future__ import annotations

import asyncio
import heapq
import logging
from collections import Counter
from collections.abc import Callable
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError

from streams.errors import UndecodableMessage
from streams.log.client import connection, stop_consumer
from streams.records import Quarantined
from streams.records.codec import decode
from streams.settings import Settings

log = logging.getLogger(__name__)

LOOK_EVERY_S = 1.0
AWAY_S = 5.0
BATCH = 200
LINGERING = 1000


class Held:
    """Held documents: counts by source and problem, and the oldest by source."""

    def __init__(self) -> None:
        self._documents: dict[int, dict[bytes, tuple[str, float, str]]] = {}  # partition, key -> source, since, code
        self._counts: dict[str, int] = {}
        self._by_code: Counter[tuple[str, str]] = Counter()
        self._by_age: dict[str, list[tuple[float, int, bytes]]] = {}  # heaps; entries of released ones linger

    def hold(self, partition: int, key: bytes, source: str, since: float, code: str = "") -> None:
        """A document is held, or held again.

        Args:
            code: the first of its problems, so that each document counts once.
        """
        self.release(partition, key)
        self._documents.setdefault(partition, {})[key] = (source, since, code)
        self._counts[source] = self._counts.get(source, 0) + 1
        self._by_code[source, code] += 1
        heap = self._by_age.setdefault(source, [])
        heapq.heappush(heap, (since, partition, key))
        if len(heap) > LINGERING + 2 * self._counts[source]:
            self._by_age[source] = sorted({entry for entry in heap if self._is_held(source, entry)})

    def release(self, partition: int, key: bytes) -> None:
        """A document is not held any more, if it was."""
        known = self._documents.get(partition, {}).pop(key, None)
        if known is not None:
            self._counts[known[0]] -= 1
            self._by_code[known[0], known[2]] -= 1

    def forget(self, partition: int) -> None:
        """A partition is another worker's now."""
        for source, _, code in self._documents.pop(partition, {}).values():
            self._counts[source] -= 1
            self._by_code[source, code] -= 1

    def counts(self) -> dict[tuple[str, str], int]:
        """How many are held, by source and code; 0 where something was held once."""
        return dict(self._by_code)

    def oldest(self) -> dict[str, tuple[int, float | None]]:
        """Of each source that ever held something: how many are held, and since when the longest of them."""
        found: dict[str, tuple[int, float | None]] = {}
        for source, count in self._counts.items():
            heap = self._by_age[source]
            while heap and not self._is_held(source, heap[0]):
                heapq.heappop(heap)
            found[source] = (count, heap[0][0] if heap else None)
        return found

    def _is_held(self, source: str, entry: tuple[float, int, bytes]) -> bool:
        since, partition, key = entry
        known = self._documents.get(partition, {}).get(key)
        return known is not None and known[:2] == (source, since)


async def follow(settings: Settings, broker: str, held: Held, partitions: Callable[[], set[int]]) -> None:
    """Keeps `held` up to date with the partitions that are ours. Ends only when cancelled."""
    while True:
        consumer = AIOKafkaConsumer(
            **connection(settings, broker), group_id=None, enable_auto_commit=False, auto_offset_reset="earliest"
        )
        mine: set[int] = set()
        try:
            await consumer.start()
            while True:
                if mine != (now := partitions()):
                    for gone in mine - now:
                        held.forget(gone)
                    await _assign(consumer, settings.kafka.topic_prefix + "quarantine", now, new=now - mine)
                    mine = now
                if not mine:
                    await asyncio.sleep(LOOK_EVERY_S)
                    continue
                got = await consumer.getmany(timeout_ms=int(LOOK_EVERY_S * 1000), max_records=BATCH)
                for messages in got.values():
                    for message in messages:
                        _take(held, message)
                await asyncio.sleep(0)
        except (KafkaError, OSError) as error:
            log.info("quarantine can't be followed: %r", error)
            await asyncio.sleep(AWAY_S)
        finally:
            await stop_consumer(consumer)
            for partition in mine:
                held.forget(partition)


async def _assign(consumer: Any, topic: str, partitions: set[int], new: set[int]) -> None:
    """Goes on where it stood in partitions that stay, and reads new ones from the beginning."""
    stays = [tp for tp in consumer.assignment() if tp.partition in partitions - new]
    positions = {tp: await consumer.position(tp) for tp in stays}
    if not partitions:
        consumer.unsubscribe()
        return
    consumer.assign([TopicPartition(topic, partition) for partition in sorted(partitions)])
    for tp, position in positions.items():
        consumer.seek(tp, position)
    for partition in new:
        await consumer.seek_to_beginning(TopicPartition(topic, partition))


def _take(held: Held, message: Any) -> None:
    if message.value is None:
        held.release(message.partition, message.key)
        return
    try:
        record = decode(Quarantined, message.value)
    except UndecodableMessage as error:
        log.warning("quarantine[%d]@%d is no record: %s", message.partition, message.offset, error)
        return
    code = next(iter(record.problems), "")
    held.hold(message.partition, message.key, record.source, record.held_since.timestamp(), code)
