"""Topics as typed records, in batches that are committed only after they were applied."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import (
    CommitFailedError,
    IllegalStateError,
    KafkaError,
    NoOffsetForPartitionError,
    OffsetOutOfRangeError,
    RebalanceInProgressError,
)

from streams.consumers.dead_letters import DeadLetters
from streams.consumers.received import Partition, Received, log_time, read_message
from streams.errors import BrokerUnavailable, CanonryError, NotFound, UndecodableMessage, UsageError
from streams.log.backoff import Backoff
from streams.log.client import connection, partitions
from streams.records.codec import TOPIC_RECORDS
from streams.settings import Settings
from streams.topology import group_id

logger = logging.getLogger(__name__)

FETCH_WAIT_MS = 250
"""aiokafka has one fetch in flight per broker, without the partitions whose records it still holds: new records of
those wait until it returns. So this bounds the delay of a small document."""

MAX_POLL_INTERVAL_MS = 7 * 24 * 3600 * 1000
"""A consumer that waits for its blob store must stay in its group: aiokafka leaves it for good after this interval."""

NOTE_REBUILD = "rebuild"
"""Commit metadata of a partition whose rebuild is not finished; otherwise it is `fresh_at` in ISO 8601."""

_THREAD_FROM = 32  # records; fewer are decoded quicker than a thread is asked


@dataclass(frozen=True)
class PartitionFacts:
    """What is known of a partition when it is assigned."""

    partition: Partition
    begin: int  # offset of the oldest record
    end: int  # offset that the next record will get
    committed: int | None  # by the group
    note: str  # metadata of that commit
    delete_retention_s: float | None  # how long tombstones are kept; None: the topic is not compacted


class Starts(Protocol):
    """Decides where reading starts. The group's commits decide unless an index keeps positions of its own."""

    async def begin(self, cluster: str, facts: Sequence[PartitionFacts]) -> dict[Partition, int]:
        """The next offset to read of each partition that was just assigned.

        Args:
            cluster: identity of the log; another one means that offsets of before mean nothing.
        """
        ...


class GroupStarts:
    """Where the group has committed; from the beginning where it has not, or where its commit is of another log."""

    async def begin(self, cluster: str, facts: Sequence[PartitionFacts]) -> dict[Partition, int]:
        return {
            fact.partition: fact.committed
            if fact.committed is not None and fact.begin <= fact.committed <= fact.end
            else fact.begin
            for fact in facts
        }


@dataclass
class RecordBatch:
    """Consecutive records of each partition."""

    records: list[Received]
    next_offsets: dict[Partition, int]
    """What to read next, of each partition that moved (of all partitions of ours when `caught_up`)."""
    fresh_at: dict[Partition, datetime]
    """Until when all records of the partition are known: everything before `next_offsets` was written by then."""
    ends: dict[Partition, int]
    """The offset that the next record of the partition will get, as far as the broker has told."""
    caught_up: bool
    """Whether these are the last records there are, on all partitions of ours."""
    _consumer: RecordConsumer = field(repr=False)
    _assignment: int = field(repr=False)

    async def commit(self) -> bool:
        """Commits to the group; call it after the records were applied.

        Returns:
            False when the partitions were taken away meanwhile: their new owner reads the records again.

        Raises:
            BrokerUnavailable: the broker does not answer.
        """
        return await self._consumer.commit(self)


def consumer_group(name: str, prefix: str = "") -> str:
    """The consumer group of an index builder."""
    return group_id(f"consumer-{name}", prefix)


def log_identity(settings: Settings, cluster: str) -> str:
    """Which log offsets are of: another one means that they say nothing.

    Args:
        cluster: its id, as `streams.log.client.cluster_id` tells it.
    """
    return f"{cluster}/{settings.kafka.topic_prefix}/{settings.kafka.log_epoch}"


class RecordConsumer:
    """Reads one or several topics in the group `<prefix>canonry-consumer-<name>`; an async context manager.

    A message that can't be decoded goes to `dead-letter` with the reason, is logged, and reading goes on.
    """

    def __init__(
        self,
        name: str,
        topics: Iterable[str],
        settings: Settings,
        *,
        broker: str,
        starts: Starts | None = None,
    ) -> None:
        """
        Args:
            topics: names without prefix, out of `streams.records.codec.TOPIC_RECORDS`.
            broker: `host:port`.
            starts: where reading starts; default: what the group committed.

        Raises:
            UsageError: a topic that carries no records.
        """
        self.name = name
        self.topics = tuple(topics)
        unknown = [topic for topic in self.topics if topic not in TOPIC_RECORDS]
        if unknown or not self.topics:
            raise UsageError(
                f"{', '.join(unknown) or 'No topic'} can't be consumed.", remedy=f"Topics: {', '.join(TOPIC_RECORDS)}."
            )
        self._settings = settings
        self._broker = broker
        self._starts = starts or GroupStarts()
        self._prefix = settings.kafka.topic_prefix
        self.group = consumer_group(name, self._prefix)
        self.partition_count = 0
        self.unsettled: set[Partition] = set()
        """Partitions in the middle of a rebuild: a commit says so, and whoever goes on from it starts again."""
        self._listener = _Listener()
        self._assignment = 0
        self._ready: dict[Any, PartitionFacts] = {}
        self.dead_letters = DeadLetters(settings, broker, f"consumer-{name}")
        self._consumer: Any = None
        self._admin: Any = None
        self._cluster = ""
        self._retention: dict[str, float | None] = {}

    async def __aenter__(self) -> RecordConsumer:
        common = connection(self._settings, self._broker)
        # A group that subscribes to a missing topic would wait for it in silence.
        found = await partitions(self._settings, self._broker, self.topics)
        self.partition_count = sum(map(len, found.values()))
        self._consumer = AIOKafkaConsumer(
            **common,
            group_id=self.group,
            enable_auto_commit=False,
            auto_offset_reset="none",  # a position that is out of range is looked at, not jumped over
            fetch_max_wait_ms=FETCH_WAIT_MS,
            max_poll_interval_ms=MAX_POLL_INTERVAL_MS,
        )
        self._admin = AIOKafkaAdminClient(**common)
        try:
            await self._admin.start()
            self._cluster = await self._identity()
            self._retention = await self._retentions()
            self._consumer.subscribe([self._prefix + topic for topic in self.topics], listener=self._listener)
            await self._consumer.start()
        except (KafkaError, OSError) as error:
            await self._close()
            raise BrokerUnavailable(f"No Kafka broker answers at {self._broker}: {error}.") from error
        except BaseException:
            await self._close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._close()

    async def _close(self) -> None:
        if self._consumer is not None:
            await self._consumer.stop()
        await self.dead_letters.close()
        if self._admin is not None:
            await self._admin.close()

    async def batches(
        self, *, max_records: int = 500, timeout_s: float = 1.0, idle_s: float = 300.0, pace_s: float = 0.0
    ) -> AsyncIterator[RecordBatch]:
        """Batches without end, as soon as there is anything.

        An empty batch comes when the end is reached for the first time after an assignment, and then every `idle_s`
        seconds without records: committing it says that the group knows all there is until now.

        Args:
            max_records: most records of one batch.
            timeout_s: seconds of one wait for records, after which assignments are looked at again.
            pace_s: seconds from one batch with records to the next, unless it was full: a trickle becomes a few
                transactions and commits instead of one for each record. The first record after a rest never waits.

        Raises:
            BrokerUnavailable: Kafka refuses to serve this consumer (it retries by itself what can be retried).
        """
        reached = -1  # the assignment for which the end was reported
        last = time.monotonic()
        not_before = last
        while True:
            if (early := not_before - time.monotonic()) > 0:
                await asyncio.sleep(early)
            await self._take_assignment()
            assignment = self._assignment
            fetched = await self._fetch(max_records, timeout_s)
            if assignment != self._listener.count or not self._ready:
                continue  # what was fetched belongs to nobody any more, or is read again from the right place
            try:
                caught_up, ends = await self._ends()
            except IllegalStateError:
                continue  # the partitions were taken away just now
            if not fetched and not (caught_up and (reached != assignment or time.monotonic() - last >= idle_s)):
                continue
            if caught_up:
                reached = assignment
            last = time.monotonic()
            if 0 < sum(map(len, fetched.values())) < max_records:
                not_before = last + pace_s
            yield await self._batch(fetched, caught_up, ends)

    async def _fetch(self, max_records: int, timeout_s: float) -> dict[Any, list[Any]]:
        try:
            fetched = await self._consumer.getmany(
                *self._ready, timeout_ms=int(timeout_s * 1000), max_records=max_records
            )
        except NoOffsetForPartitionError:
            return {}  # aiokafka looked for a commit before the partition was given its place
        except OffsetOutOfRangeError as error:
            logger.warning("%s: position out of range: %s", self.group, error)
            self._listener.count += 1  # look at all partitions again
            return {}
        except KafkaError as error:
            raise BrokerUnavailable(f"{self.group} can't read from {self._broker}: {error}.") from error
        return {key: messages for key, messages in fetched.items() if key in self._ready}

    async def _batch(self, fetched: dict[Any, list[Any]], caught_up: bool, ends: dict[Any, int]) -> RecordBatch:
        now = datetime.now(UTC)
        assignment = self._assignment
        records, failed = await self._decoded([message for messages in fetched.values() for message in messages])
        for message, error in failed:
            place = Partition(message.topic.removeprefix(self._prefix), message.partition)
            await self.dead_letters.send(
                place, message.offset, message.key, message.value, error, list(message.headers)
            )
        next_offsets: dict[Partition, int] = {}
        fresh_at: dict[Partition, datetime] = {}
        log_ends: dict[Partition, int] = {}
        for key in self._ready if caught_up else fetched:
            position, end = ends[key], max(self._consumer.highwater(key) or 0, self._ready[key].end)
            place = self._place(key)
            next_offsets[place], log_ends[place] = position, end
            messages = fetched.get(key)
            fresh_at[place] = now if position >= end or not messages else log_time(messages[-1].timestamp)
        return RecordBatch(records, next_offsets, fresh_at, log_ends, caught_up, self, assignment)

    async def commit(self, batch: RecordBatch) -> bool:
        """See `RecordBatch.commit`."""
        if batch._assignment != self._listener.count:
            return False
        offsets = {
            TopicPartition(self._prefix + place.topic, place.number): (
                offset,
                NOTE_REBUILD if place in self.unsettled else batch.fresh_at[place].isoformat(timespec="seconds"),
            )
            for place, offset in batch.next_offsets.items()
        }
        try:
            await self._consumer.commit(offsets)
        except (CommitFailedError, IllegalStateError, RebalanceInProgressError) as error:
            logger.info("%s: not committed, the partitions are being assigned anew: %s", self.group, error)
            return False
        except KafkaError as error:
            raise BrokerUnavailable(f"{self.group} can't commit at {self._broker}: {error}.") from error
        return True

    # --- assignment ----------------------------------------------------------------------------------------------

    async def _take_assignment(self) -> None:
        """Gives every newly assigned partition the place where its reading starts."""
        backoff = Backoff()
        while self._assignment != self._listener.count:
            count = self._listener.count
            self._ready = {}
            try:
                facts = await self._facts(sorted(self._consumer.assignment()))
                places = await self._starts.begin(self._cluster, list(facts.values()))
                if count == self._listener.count:
                    for key, fact in facts.items():
                        self._consumer.seek(key, places[fact.partition])
                    self._ready = facts
                    self._assignment = count
            except (KafkaError, CanonryError, OSError) as error:
                if isinstance(error, CanonryError) and not error.transient:
                    raise
                logger.warning("%s: partitions can't be taken yet: %s", self.group, error)
                await backoff.wait()

    async def _facts(self, keys: list[Any]) -> dict[Any, PartitionFacts]:
        if not keys:
            return {}
        begins = await self._consumer.beginning_offsets(keys)
        ends = await self._consumer.end_offsets(keys)
        committed = {key: await self._consumer.committed(key) for key in keys}
        notes: dict[Any, Any] = {}
        if any(offset is not None for offset in committed.values()):
            # Only now: with a coordinator that is still loading, this call of aiokafka 0.14 finds nothing.
            notes = await self._admin.list_consumer_group_offsets(self.group, partitions=keys)
        return {
            key: PartitionFacts(
                partition=self._place(key),
                begin=begins[key],
                end=ends[key],
                committed=committed[key],
                note=(notes[key].metadata or "") if key in notes else "",
                delete_retention_s=self._retention[self._place(key).topic],
            )
            for key in keys
        }

    async def _ends(self) -> tuple[bool, dict[Any, int]]:
        """Whether all partitions are read to their end, and the next offset of each."""
        positions = {key: await self._consumer.position(key) for key in self._ready}
        behind = [
            key
            for key, position in positions.items()
            if position < max(self._consumer.highwater(key) or 0, self._ready[key].end)
        ]
        return not behind, positions

    async def _identity(self) -> str:
        return log_identity(self._settings, (await self._admin.describe_cluster()).get("cluster_id") or "")

    async def _retentions(self) -> dict[str, float | None]:
        resources = [ConfigResource(ConfigResourceType.TOPIC, self._prefix + topic) for topic in self.topics]
        found: dict[str, float | None] = {}
        for response in await self._admin.describe_configs(resources):
            for error_code, message, _, name, entries in response.resources:
                if error_code:
                    raise NotFound(
                        f"The broker does not describe {name}: {message}.", remedy="Run `canonry topics check`."
                    )
                config = {entry[0]: entry[1] for entry in entries}
                compacted = "compact" in (config.get("cleanup.policy") or "")
                retention = float(config.get("delete.retention.ms") or 86_400_000) / 1000
                found[name.removeprefix(self._prefix)] = retention if compacted else None
        return {topic: found.get(topic) for topic in self.topics}

    def _place(self, key: Any) -> Partition:
        return Partition(key.topic.removeprefix(self._prefix), key.partition)

    # --- decoding ------------------------------------------------------------------------------------------------

    async def _decoded(self, messages: list[Any]) -> tuple[list[Received], list[tuple[Any, UndecodableMessage]]]:
        if len(messages) < _THREAD_FROM:
            return self._decode(messages)
        return await asyncio.to_thread(self._decode, messages)

    def _decode(self, messages: list[Any]) -> tuple[list[Received], list[tuple[Any, UndecodableMessage]]]:
        records: list[Received] = []
        failed: list[tuple[Any, UndecodableMessage]] = []
        for message in messages:
            try:
                records.append(read_message(message, self._prefix))
            except UndecodableMessage as error:
                failed.append((message, error))
        return records, failed


class _Listener(ConsumerRebalanceListener):  # type: ignore[misc]  # aiokafka has no types
    """Counts assignments; the reading loop does the rest, where an error can be told."""

    def __init__(self) -> None:
        self.count = 0

    async def on_partitions_revoked(self, revoked: object) -> None:
        self.count += 1

    async def on_partitions_assigned(self, assigned: object) -> None:
        self.count += 1
