"""How far consumer groups are behind, seen from outside: what they committed, what the log holds, who is a member.

Lag of a partition in seconds is 0 when nothing is left to do, else now − the log's timestamp of the oldest record that
is not done. That record is really read: offsets alone can't tell, for the end of a log may be markers of transactions,
and of a compacted log the record at an offset may be gone.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import msgspec
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.coordinator.protocol import ConsumerProtocolMemberAssignment
from aiokafka.errors import KafkaError, for_code

from streams.errors import BrokerUnavailable
from streams.log.client import ask_again, connection, partitions, start_consumer, stop_consumer
from streams.log.groups import describe
from streams.settings import Settings

TIMEOUT_S = 30.0
FETCH_WAIT_MS = 100
QUIET_MS = 300  # an answer to a fetch comes within FETCH_WAIT_MS
QUIET_ROUNDS = 3

LOADING = 14  # error code of Kafka's protocol

T = TypeVar("T")
Place = tuple[str, int]
"""Topic without prefix, partition."""


class Reads(msgspec.Struct, frozen=True):
    """A consumer group (its whole name, prefix included) and the topics it should read (without)."""

    group: str
    topics: tuple[str, ...]


class PartitionLook(msgspec.Struct, frozen=True, kw_only=True):
    """One partition of a group at one moment."""

    topic: str
    partition: int
    position: int  # offset of the next record to do
    end: int  # offset that the next record will get
    records: int  # offsets from position to end; 0 when no record stands there
    seconds: float
    oldest_at: float | None  # seconds since the epoch, as the log stamped it; null: nothing is left to do
    started: bool  # whether the group has ever been anywhere in this partition
    member: str | None  # client id of the member that has it


class GroupLook(msgspec.Struct, frozen=True, kw_only=True):
    """A consumer group at one moment."""

    group: str
    topics: list[str]
    kafka_state: str  # Stable, Empty, PreparingRebalance, CompletingRebalance; Dead: the broker knows no such group
    members: int
    partitions: list[PartitionLook]


class RecordTimes:
    """Timestamps of single records, read outside of all groups; an async context manager. For one task at a time."""

    def __init__(self, settings: Settings, broker: str) -> None:
        self._prefix = settings.kafka.topic_prefix
        self._broker = broker
        self._connection = connection(settings, broker)
        self._consumer: Any = None

    async def __aenter__(self) -> RecordTimes:
        self._consumer = AIOKafkaConsumer(
            **self._connection,
            group_id=None,
            enable_auto_commit=False,
            auto_offset_reset="earliest",  # what retention removed is nobody's work any more
            fetch_max_wait_ms=FETCH_WAIT_MS,
        )
        await start_consumer(self._consumer, self._broker, TIMEOUT_S)
        return self

    async def __aexit__(self, *_: object) -> None:
        await stop_consumer(self._consumer)

    async def bounds(self, places: Iterable[Place]) -> dict[Place, tuple[int, int]]:
        """The first offset and the one that the next record will get. The partitions must exist.

        Raises:
            BrokerUnavailable: no answer in time.
        """
        tps = {self._tp(place): place for place in places}
        if not tps:
            return {}
        try:
            async with asyncio.timeout(TIMEOUT_S):
                begins = await self._consumer.beginning_offsets(list(tps))
                ends = await self._consumer.end_offsets(list(tps))
        except (KafkaError, OSError, TimeoutError) as error:
            raise BrokerUnavailable(f"{self._broker} did not tell its offsets: {error!r}.") from error
        return {place: (begins[tp], ends[tp]) for tp, place in tps.items()}

    async def first_at(self, offsets: Mapping[Place, int]) -> dict[Place, float | None]:
        """When the log took in the first record from an offset on, in seconds since the epoch; None: there is none.

        Raises:
            BrokerUnavailable: no answer in time.
        """
        if not offsets:
            return {}
        tps = {self._tp(place): offset for place, offset in offsets.items()}
        try:
            async with asyncio.timeout(TIMEOUT_S):
                found = await self._read(tps)
        except (KafkaError, OSError, TimeoutError) as error:
            raise BrokerUnavailable(f"{self._broker} did not give the records to look at: {error!r}.") from error
        finally:
            # Else it would go on fetching. (To unsubscribe here would let `stop` hang, see `stop_consumer`.)
            self._consumer.pause(*self._consumer.assignment())
        return {place: found[self._tp(place)] for place in offsets}

    async def _read(self, offsets: dict[TopicPartition, int]) -> dict[TopicPartition, float | None]:
        consumer = self._consumer
        consumer.assign(list(offsets))
        for tp, offset in offsets.items():
            consumer.seek(tp, offset)
        ends = await consumer.end_offsets(list(offsets))
        found: dict[TopicPartition, float | None] = {}
        quiet = 0
        while waiting := [tp for tp in offsets if tp not in found]:
            got = await consumer.getmany(*waiting, timeout_ms=QUIET_MS, max_records=1)
            for tp, messages in got.items():
                found[tp] = max(0, messages[0].timestamp) / 1000
                consumer.pause(tp)
            quiet = 0 if got else quiet + 1
            for tp in waiting:
                # Markers of transactions are skipped and move the position. Where cleaning left nothing at all, fetches
                # are answered, and empty.
                answered = quiet >= QUIET_ROUNDS and consumer.highwater(tp) is not None
                if tp not in found and (answered or await consumer.position(tp) >= ends[tp]):
                    found[tp] = None
        return found

    def _tp(self, place: Place) -> TopicPartition:
        return TopicPartition(self._prefix + place[0], place[1])


class Prober:
    """Looks at consumer groups; an async context manager, so that many looks share their connections."""

    def __init__(self, settings: Settings, broker: str) -> None:
        self._settings = settings
        self._broker = broker
        self._prefix = settings.kafka.topic_prefix
        self._times = RecordTimes(settings, broker)
        self._admin: Any = None
        self._partitions: dict[str, list[int]] = {}
        self.clock_ahead_s = 0.0
        """How much the broker's clock is ahead of ours, as far as its timestamps show."""
        self.cluster = ""
        """Identity of the log."""

    async def __aenter__(self) -> Prober:
        self._admin = AIOKafkaAdminClient(
            **connection(self._settings, self._broker), request_timeout_ms=int(TIMEOUT_S * 1000)
        )
        try:
            async with asyncio.timeout(TIMEOUT_S):
                await self._admin.start()
                self.cluster = str((await self._admin.describe_cluster())["cluster_id"])
            await self._times.__aenter__()
        except (KafkaError, OSError, TimeoutError) as error:
            await self._admin.close()
            raise BrokerUnavailable(f"No Kafka broker answers at {self._broker}.") from error
        except BaseException:
            await self._admin.close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._times.__aexit__()
        await self._admin.close()

    async def groups(self, name_starts_with: str) -> list[Reads]:
        """The groups of this name that the broker knows, with the topics of ours in which they have committed.

        Raises:
            BrokerUnavailable: no answer in time.
        """
        names = [name for name, *_ in await self._ask(self._admin.list_consumer_groups)]
        found = []
        for group in sorted(name for name in names if name.startswith(name_starts_with)):
            committed = await self._ask(partial(self._admin.list_consumer_group_offsets, group))
            topics = {tp.topic.removeprefix(self._prefix) for tp in committed if tp.topic.startswith(self._prefix)}
            found.append(Reads(group, tuple(sorted(topics))))
        return found

    async def look(
        self, groups: Sequence[Reads], kept: Mapping[str, Mapping[Place, int]] | None = None
    ) -> list[GroupLook]:
        """The groups as they are now; those that were never there, too.

        Args:
            kept: of groups that keep their positions themselves, these; they count instead of the commits, and where
                one is missing, nothing was read.

        Raises:
            NotFound: a topic does not exist.
            BrokerUnavailable: no answer in time.
        """
        await self._learn_partitions({topic for reads in groups for topic in reads.topics})
        kept = kept or {}
        # Positions first: what is done in between looks undone for once, and nothing undone ever looks done.
        positions = [
            dict(kept[reads.group]) if reads.group in kept else await self._committed(reads) for reads in groups
        ]
        described = await self._describe([reads.group for reads in groups])
        bounds = await self._times.bounds({place for reads in groups for place in self._places(reads)})
        resumes = [
            {place: _resumes(known.get(place), *bounds[place]) for place in self._places(reads)}
            for reads, known in zip(groups, positions, strict=True)
        ]
        wanted = {(place, at) for each in resumes for place, at in each.items() if at < bounds[place][1]}
        oldest = await self._oldest(wanted)
        now = time.time()
        self.clock_ahead_s = max([self.clock_ahead_s, *(at - now for at in oldest.values() if at is not None)])
        now += self.clock_ahead_s
        found = []
        for reads, known, resume in zip(groups, positions, resumes, strict=True):
            state, members, owners = described[reads.group]
            looks = []
            for place, position in resume.items():
                at = oldest.get((place, position))
                end = bounds[place][1]
                looks.append(
                    PartitionLook(
                        topic=place[0],
                        partition=place[1],
                        position=position,
                        end=end,
                        records=end - position if at is not None else 0,
                        seconds=now - at if at is not None else 0.0,
                        oldest_at=at,
                        started=place in known,
                        member=owners.get(place),
                    )
                )
            found.append(
                GroupLook(
                    group=reads.group,
                    topics=list(reads.topics),
                    kafka_state=state,
                    members=members,
                    partitions=looks,
                )
            )
        return found

    def _places(self, reads: Reads) -> list[Place]:
        return [(topic, number) for topic in reads.topics for number in self._partitions[topic]]

    async def _learn_partitions(self, topics: set[str]) -> None:
        """Partition counts never change (topics.yaml), so they are asked for once."""
        if missing := topics - self._partitions.keys():
            self._partitions |= await partitions(self._settings, self._broker, sorted(missing))

    async def _oldest(self, wanted: set[tuple[Place, int]]) -> dict[tuple[Place, int], float | None]:
        """A consumer stands at one offset of a partition at a time: groups at different ones are served in turn."""
        found: dict[tuple[Place, int], float | None] = {}
        left = set(wanted)
        while left:
            turn = dict(sorted(left))
            found |= {(place, turn[place]): at for place, at in (await self._times.first_at(turn)).items()}
            left -= set(turn.items())
        return found

    async def _committed(self, reads: Reads) -> dict[Place, int]:
        wanted = {
            TopicPartition(self._prefix + topic, number): (topic, number) for topic, number in self._places(reads)
        }

        async def ask() -> dict[Place, int]:
            found = await self._admin.list_consumer_group_offsets(reads.group, partitions=list(wanted))
            if missing := wanted.keys() - found.keys():
                # aiokafka drops the response's own error: a coordinator that is still loading names no partition.
                raise for_code(LOADING)(f"{len(missing)} partitions of {reads.group}")
            return {wanted[tp]: at.offset for tp, at in found.items() if tp in wanted and at.offset >= 0}

        return await self._ask(ask)

    async def _describe(self, groups: Sequence[str]) -> dict[str, tuple[str, int, dict[Place, str]]]:
        """Kafka's state, the number of members, and the client that has each partition."""

        async def ask(group: str) -> tuple[str, int, dict[Place, str]]:
            state, members = await describe(self._admin, group)
            return state, len(members), self._owners(members)

        return {group: await self._ask(partial(ask, group)) for group in dict.fromkeys(groups)}

    def _owners(self, members: Iterable[Any]) -> dict[Place, str]:
        owners: dict[Place, str] = {}
        for _, client, _, _, assignment in members:
            if assignment:
                for topic, numbers in ConsumerProtocolMemberAssignment.decode(assignment).assignment:
                    owners |= dict.fromkeys(((topic.removeprefix(self._prefix), number) for number in numbers), client)
        return owners

    async def _ask(self, call: Callable[[], Awaitable[T]]) -> T:
        return await ask_again(call, f"{self._broker} does not tell about consumer groups", timeout_s=TIMEOUT_S)


def _resumes(committed: int | None, begin: int, end: int) -> int:
    """Where a group goes on. Without a commit, or with one of another log, from the beginning, as all of ours do."""
    if committed is None or not begin <= committed <= end:
        return begin
    return committed
