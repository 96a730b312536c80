"""How far every stage and consumer is behind, and whether it moves: the groups judged over two or more looks."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Collection, Iterable, Mapping
from contextlib import asynccontextmanager
from enum import StrEnum
from pathlib import Path
from typing import Any

import msgspec
import sqlalchemy as sa

from streams.consumers.catalog import Catalog
from streams.consumers.catalog_view import TOPICS as CATALOG_TOPICS
from streams.consumers.database import DatabaseOutdated, DatabaseUnavailable
from streams.consumers.positions import Progress
from streams.consumers.reader import consumer_group, log_identity
from streams.consumers.search import SearchIndex
from streams.log.freshness import GroupLook, PartitionLook, Place, Prober, Reads
from streams.settings import Settings
from streams.topology import STAGES, group_id

LOOK_AGAIN_S = 0.5
BUILT_IN = {"catalog": CATALOG_TOPICS, "search": ("canon-ready",), "search-held": ("quarantine",)}
"""The groups of the built-in consumers. Their databases, not their commits, say how far they are."""


class State(StrEnum):
    """How a partition of a group, or a group by its worst partition, stands; from good to bad."""

    IDLE = "idle"
    OK = "ok"
    BEHIND = "behind"
    PAUSED = "paused"
    STALLED = "stalled"
    DEAD = "dead"


MEANING = {
    State.IDLE: "nothing is left to do",
    State.OK: "at work, the oldest record younger than the group's limit",
    State.BEHIND: "at work, the oldest record older than the limit",
    State.PAUSED: "there is work, the group has members, and the settings say that it waits",
    State.STALLED: "there is work, the group has members, and the position has not moved for a while",
    State.DEAD: "there is work, and the group has no members (or never had any)",
}
ALARMING = (State.STALLED, State.DEAD)


class PartitionLag(msgspec.Struct, frozen=True, kw_only=True):
    """One partition of a group."""

    topic: str
    partition: int
    records: int
    seconds: float  # 0 when nothing is left to do, else the age of the oldest record that is not done
    state: State
    position: int
    end: int
    unmoved_s: float  # for how long the position was seen to stand still while there was work
    member: str | None  # client id; null: nobody has it


class GroupLag(msgspec.Struct, frozen=True, kw_only=True):
    """A consumer group: the sum of its partitions' records, and the worst of the rest."""

    group: str
    topics: list[str]
    records: int
    seconds: float
    state: State
    limit_s: float
    members: int
    kafka_state: str
    started: bool  # whether it has ever read anything
    partitions: list[PartitionLag]
    note: str | None = None


def summary(group: GroupLag) -> dict[str, Any]:
    """A group as plain values, without its partitions."""
    found: dict[str, Any] = msgspec.to_builtins(group)
    del found["partitions"]
    return found


class Judge:
    """Says of each look in which state the groups are. It remembers where they stood, and since when.

    Args:
        limit_s: age of the oldest record from which a group is behind.
        stalled_after_s: for how long a position must stand still.
        paused: groups that wait because somebody wants it.
    """

    def __init__(self, limit_s: float, stalled_after_s: float, paused: Collection[str] = ()) -> None:
        self._limit_s = limit_s
        self._paused = paused
        self._stalled_after_s = stalled_after_s
        self._stood: dict[tuple[str, Place], tuple[int, float]] = {}  # position, and the clock when first seen there

    def judge(self, looks: Iterable[GroupLook], clock: float, notes: dict[str, str] | None = None) -> list[GroupLag]:
        """
        Args:
            clock: of the looks, in seconds; any one that only goes forward.
        """
        found = []
        for look in looks:
            judged = [self._partition(look, partition, clock) for partition in look.partitions]
            found.append(
                GroupLag(
                    group=look.group,
                    topics=look.topics,
                    records=sum(partition.records for partition in judged),
                    seconds=max((partition.seconds for partition in judged), default=0.0),
                    state=max((partition.state for partition in judged), key=list(State).index, default=State.IDLE),
                    limit_s=self._limit_s,
                    members=look.members,
                    kafka_state=look.kafka_state,
                    started=any(partition.started for partition in look.partitions),
                    partitions=judged,
                    note=(notes or {}).get(look.group),
                )
            )
        return found

    def _partition(self, look: GroupLook, at: PartitionLook, clock: float) -> PartitionLag:
        key = (look.group, (at.topic, at.partition))
        if at.oldest_at is None:
            self._stood.pop(key, None)
            state, unmoved = State.IDLE, 0.0
        else:
            before = self._stood.get(key)
            since = before[1] if before is not None and before[0] == at.position else clock
            self._stood[key] = (at.position, since)
            unmoved = clock - since
            if not look.members:
                state = State.DEAD
            elif look.group in self._paused:
                state = State.PAUSED
            elif unmoved >= self._stalled_after_s:
                state = State.STALLED
            else:
                state = State.BEHIND if at.seconds > self._limit_s else State.OK
        return PartitionLag(
            topic=at.topic,
            partition=at.partition,
            records=at.records,
            seconds=round(at.seconds, 3),
            state=state,
            position=at.position,
            end=at.end,
            unmoved_s=round(unmoved, 3),
            member=at.member,
        )


class Watch:
    """Looks at all groups of this installation, again and again."""

    def __init__(self, settings: Settings, prober: Prober, stalled_after_s: float) -> None:
        self._settings = settings
        self._prober = prober
        self._judge = Judge(settings.freshness.group_limit(settings.sources), stalled_after_s, paused_groups(settings))
        self._stalled_after_s = stalled_after_s

    @property
    def clock_ahead_s(self) -> float:
        """How much the broker's clock is ahead of this machine's, as far as it shows."""
        return self._prober.clock_ahead_s

    async def look(self) -> list[GroupLag]:
        """
        Raises:
            NotFound: there are no topics yet.
            BrokerUnavailable: no answer.
        """
        log = log_identity(self._settings, self._prober.cluster)
        kept, notes = await asyncio.to_thread(kept_positions, self._settings, log)
        prefix = self._settings.kafka.topic_prefix
        groups = our_groups(prefix)
        known = {reads.group for reads in groups}
        others = [reads for reads in await self._prober.groups(consumer_group("", prefix)) if reads.group not in known]
        looks = await self._prober.look([*groups, *others], kept)
        return self._judge.judge(looks, time.monotonic(), notes)

    async def settled(self) -> list[GroupLag]:
        """A look that tells standing still from being slow.

        Where the oldest record is older than a position may stand still, it looks again until every such position has
        moved, or has stood still for that long. So it takes that long only when something is wrong.
        """
        found = await self.look()
        suspects = _suspects(found, self._stalled_after_s)
        while suspects:
            await asyncio.sleep(LOOK_AGAIN_S)
            found = await self.look()
            suspects &= _suspects(found, self._stalled_after_s)  # at the same position
        return found


def _suspects(groups: Iterable[GroupLag], seconds: float) -> set[tuple[str, str, int, int]]:
    return {
        (group.group, at.topic, at.partition, at.position)
        for group in groups
        for at in group.partitions
        if at.state in (State.OK, State.BEHIND) and at.seconds >= seconds
    }


@asynccontextmanager
async def watching(settings: Settings, broker: str, stalled_after_s: float) -> AsyncIterator[Watch]:
    """A watch over all groups. Raises BrokerUnavailable."""
    async with Prober(settings, broker) as prober:
        yield Watch(settings, prober, stalled_after_s)


async def lag(settings: Settings, broker: str) -> list[GroupLag]:
    """One look; what stands still is not told from what is slow.

    Raises:
        BrokerUnavailable, NotFound: no answer, or no topics yet.
    """
    async with watching(settings, broker, float("inf")) as watch:
        return await watch.look()


async def behind(
    prober: Prober, reads: Reads, ends: Mapping[Place, int], kept: Mapping[str, Mapping[Place, int]] | None = None
) -> int:
    """How many offsets a group is from these ends; what only markers of transactions are in the way of is reached.

    Args:
        kept: as for `Prober.look`.

    Raises:
        BrokerUnavailable, NotFound: no answer, or a topic does not exist.
    """
    (look,) = await prober.look([reads], kept)
    return sum(max(0, ends[at.topic, at.partition] - at.position) for at in look.partitions if at.oldest_at is not None)


def paused_groups(settings: Settings) -> frozenset[str]:
    """The groups of the stages that the settings have paused."""
    paused = settings.recognition.paused and settings.recognition.enabled
    return frozenset({group_id("recognize", settings.kafka.topic_prefix)} if paused else ())


def our_groups(prefix: str) -> list[Reads]:
    """The groups of all stages and built-in consumers, whether they ever ran or not."""
    stages = [Reads(group_id(stage.name, prefix), stage.reads) for stage in STAGES.values()]
    return stages + [Reads(consumer_group(name, prefix), topics) for name, topics in BUILT_IN.items()]


def kept_positions(settings: Settings, log: str) -> tuple[dict[str, dict[Place, int]], dict[str, str]]:
    """How far catalog and search index have read, as their databases say, and notes on those that can't be asked.

    A database that is not there, or of another version, is built from the beginning: nothing was read. Of one that does
    not answer, nothing is known, and its group's commits must do.
    """
    prefix = settings.kafka.topic_prefix
    kept: dict[str, dict[Place, int]] = {}
    notes: dict[str, str] = {}
    for database, names in (("catalog", ("catalog",)), ("search", ("search", "search-held"))):
        groups = [consumer_group(name, prefix) for name in names]
        try:
            progress = index_progress(settings, database)
        except DatabaseOutdated:
            progress = []
        except DatabaseUnavailable as error:
            notes |= dict.fromkeys(groups, f"Its commits, not its positions: {error.message}")
            continue
        for name, group in zip(names, groups, strict=True):
            kept[group] = {
                (place.topic, place.partition): place.offset
                for place in progress
                if place.topic in BUILT_IN[name] and place.log == log
            }
    return kept, notes


def index_progress(settings: Settings, database: str) -> list[Progress]:
    """How far the catalog (`catalog`) or the index (`search`) has read, by itself; nothing when it is not there.

    Raises:
        DatabaseOutdated, DatabaseUnavailable: it can't be asked.
    """
    if not _is_there(settings, database):
        return []
    reader: Any = Catalog(settings) if database == "catalog" else SearchIndex(settings)
    with reader:
        found: list[Progress] = reader.progress()
        return found


def _is_there(settings: Settings, database: str) -> bool:
    """Whether it exists; asking how things stand must not make one."""
    if database == "search":
        return settings.search_database.exists()
    url = sa.make_url(settings.catalog_database)
    return url.get_backend_name() != "sqlite" or Path(url.database or "").exists()
