"""Deletes to the very end: each Deletion, and which consumer groups have passed it.

A Deletion is published once its nulls on `canon-ready` and `quarantine` are confirmed (`streams.ledger.stage`), so
whoever has read such a topic up to the time of the Deletion has read the null. What is still unread of a partition
begins at a record whose time the log knows: a Deletion older than that is passed. Leaders of partitions may have clocks
that differ, so a margin is kept; within it, the null itself is looked for, by the event that it has in common with the
Deletion. What is neither is not passed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

import msgspec

from streams.consumers.database import DatabaseOutdated, DatabaseUnavailable
from streams.consumers.positions import Progress
from streams.consumers.reader import NOTE_REBUILD, consumer_group, log_identity
from streams.consumers.received import Partition, log_time, read_message
from streams.errors import UndecodableMessage
from streams.log.client import admin
from streams.log.freshness import Prober, Reads
from streams.log.scan import scan
from streams.ops.lag import BUILT_IN, index_progress
from streams.records import Deletion
from streams.settings import Settings

WATCHED = ("canon-ready", "quarantine", "deleted")
"""Topics that tell consumers of a delete. `versions` is the ledger's own memory."""

CLOCKS_APART = timedelta(seconds=60)
"""How much the clocks of brokers may differ."""


class Passed(StrEnum):
    """Whether a group has passed a Deletion."""

    PASSED = "passed"
    BEHIND = "behind"
    REBUILDING = "rebuilding"  # deletes that it missed show only when it is through
    UNKNOWN = "unknown"  # it has no position there, or one of another log


class Told(msgspec.Struct, kw_only=True):
    """One Deletion, with its erasure if there was one, and the groups."""

    deletion: Deletion
    partition: int
    offset: int  # on `deleted`
    published_at: datetime  # by the log
    event: str  # that caused it
    groups: dict[str, Passed] = {}

    @property
    def complete(self) -> bool:
        return all(found is Passed.PASSED for found in self.groups.values())


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """A registered consumer group."""

    name: str
    reads: list[str]
    positions: str  # commits, database
    counts: dict[str, int]  # Deletions by Passed


class DeletesStatus(msgspec.Struct, frozen=True, kw_only=True):
    """All Deletions, oldest first, and all groups that are to pass them."""

    told: list[Told]
    groups: list[Group]
    unreadable: int  # messages on `deleted` that are no records

    @property
    def complete(self) -> bool:
        return not self.unreadable and all(item.complete for item in self.told)


class _Position(msgspec.Struct, frozen=True):
    """How far a group has read a partition."""

    passed: Passed | None  # whatever the Deletion; None: the rest decides
    offset: int = 0
    oldest_unread: datetime | None = None  # None: nothing is unread


async def deletes_status(settings: Settings, broker: str, since: datetime | None = None) -> DeletesStatus:
    """Looks at `deleted`, then at the groups: so whoever is at the end of a partition has passed what was found.

    Args:
        since: only what was published at this time or later.

    Raises:
        BrokerUnavailable, NotFound: no answer, or no topics yet.
    """
    told, unreadable = await _told(settings, broker, since)
    positions, from_database = await _positions(settings, broker)
    exact = await _nulls(settings, broker, told, positions)
    for item in told:
        for group, places in positions.items():
            item.groups[group] = _verdict(item, places, exact)
    groups = [
        Group(
            name=group,
            reads=sorted({place.topic for place in places}),
            positions="database" if group in from_database else "commits",
            counts=dict(Counter(item.groups[group].value for item in told)),
        )
        for group, places in positions.items()
    ]
    return DeletesStatus(told=told, groups=groups, unreadable=unreadable)


# --- deletions --------------------------------------------------------------------------------------------------------


async def _told(settings: Settings, broker: str, since: datetime | None) -> tuple[list[Told], int]:
    """Of each delete its last record, for it may have been published again, and of an erasure its last proof."""
    deletes: dict[Any, Told] = {}
    proofs: dict[Any, Told] = {}
    unreadable = 0
    async for message in scan(settings, broker, "deleted", since=since):
        try:
            record = read_message(message, settings.kafka.topic_prefix).record
        except UndecodableMessage:
            unreadable += 1
            continue
        if not isinstance(record, Deletion):
            continue
        found = deletes if record.erased_at is None else proofs
        found[record.source_id, record.sequence] = Told(
            deletion=record,
            partition=message.partition,
            offset=message.offset,
            published_at=log_time(message.timestamp),
            event=_event(message),
        )
    for key, proof in proofs.items():
        deleted = deletes.get(key)
        if deleted is None:
            deletes[key] = proof  # the delete itself is older than what was asked for, or than the topic keeps
        else:
            deleted.deletion = proof.deletion
    return sorted(deletes.values(), key=lambda item: (item.published_at, item.deletion.source_id)), unreadable


def _event(message: Any) -> str:
    """The id of what caused a message: its own without the number that it has among the others of that cause."""
    ce_id = dict(message.headers or ()).get("ce_id") or b""
    return ce_id.decode("utf-8", "replace").rpartition("/")[0]


# --- groups -----------------------------------------------------------------------------------------------------------


async def _positions(settings: Settings, broker: str) -> tuple[dict[str, dict[Partition, _Position]], set[str]]:
    """How far each registered group has read, and which of them say it in a database of their own."""
    prefix = settings.kafka.topic_prefix
    own = _own_groups(prefix)
    async with Prober(settings, broker) as prober:
        known = {reads.group: set(reads.topics) & set(WATCHED) for reads in await prober.groups("")}
        kept = _databases(settings, own)
        for group in kept.keys() | (own.keys() & known.keys()):
            known[group] = set(own[group])
        wanted = [Reads(group, tuple(sorted(topics))) for group, topics in sorted(known.items()) if topics]
        of_this_log = {
            group: {
                (p.topic, p.partition): p.offset for p in progress if p.log == log_identity(settings, prober.cluster)
            }
            for group, progress in kept.items()
        }
        looks = await prober.look(wanted, of_this_log)
    notes = await _notes(settings, broker, [reads.group for reads in wanted if reads.group not in kept])
    rebuilding = {
        (group, Partition(p.topic, p.partition)) for group, each in kept.items() for p in each if p.rebuilding
    } | {(group, place) for group, each in notes.items() for place, note in each.items() if note == NOTE_REBUILD}
    found: dict[str, dict[Partition, _Position]] = {
        group: {} for group, topics in known.items() if not topics and group.startswith(consumer_group("", prefix))
    }
    for look in looks:
        for part in look.partitions:
            place = Partition(part.topic, part.partition)
            if (look.group, place) in rebuilding:
                position = _Position(Passed.REBUILDING)
            elif not part.started or (look.group in notes and place not in notes[look.group]):
                position = _Position(Passed.UNKNOWN)
            else:
                oldest = None if part.oldest_at is None else datetime.fromtimestamp(part.oldest_at, UTC)
                position = _Position(None, part.position, oldest)
            found.setdefault(look.group, {})[place] = position
    return found, set(kept)


def _own_groups(prefix: str) -> dict[str, list[str]]:
    """The built-in consumers' groups, and what they read of the topics that tell of deletes."""
    return {
        consumer_group(name, prefix): [topic for topic in topics if topic in WATCHED]
        for name, topics in BUILT_IN.items()
    }


def _databases(settings: Settings, own: Mapping[str, list[str]]) -> dict[str, list[Progress]]:
    """The positions that catalog and index keep, where they are within reach; their commits come after them."""
    catalog, search, held = own
    found: dict[str, list[Progress]] = {}
    for database, groups in (("catalog", (catalog,)), ("search", (search, held))):
        try:
            progress = index_progress(settings, database)
        except (DatabaseOutdated, DatabaseUnavailable):
            continue
        for group in groups:
            if of_group := [p for p in progress if p.topic in own[group]]:
                found[group] = of_group
    return found


async def _notes(settings: Settings, broker: str, groups: Iterable[str]) -> dict[str, dict[Partition, str]]:
    """What groups wrote beside their commits. Asked for after the commits, so a rebuild that began since is seen."""
    prefix = settings.kafka.topic_prefix
    found: dict[str, dict[Partition, str]] = {}
    async with admin(settings, broker) as client:
        for group in groups:
            committed = await client.list_consumer_group_offsets(group)
            found[group] = {
                Partition(tp.topic.removeprefix(prefix), tp.partition): at.metadata or ""
                for tp, at in committed.items()
            }
    return found


# --- verdicts ---------------------------------------------------------------------------------------------------------


def _verdict(
    item: Told, places: Mapping[Partition, _Position], exact: Mapping[tuple[Partition, str, str], int]
) -> Passed:
    """Passed on all topics that a group reads; else the worst that is known."""
    found = {
        _on_topic(item, place, position, exact) for place, position in places.items() if place.number == item.partition
    }
    for verdict in (Passed.UNKNOWN, Passed.REBUILDING, Passed.BEHIND):
        if verdict in found:
            return verdict
    return Passed.PASSED if found else Passed.UNKNOWN


def _on_topic(
    item: Told, place: Partition, position: _Position, exact: Mapping[tuple[Partition, str, str], int]
) -> Passed:
    if position.passed is not None:
        return position.passed
    if position.oldest_unread is None:
        return Passed.PASSED
    if place.topic == "deleted":
        return Passed.PASSED if position.offset > item.offset else Passed.BEHIND
    if item.published_at + CLOCKS_APART < position.oldest_unread:
        return Passed.PASSED
    null = exact.get((place, item.deletion.source_id, item.event))
    return Passed.PASSED if null is not None and null < position.offset else Passed.BEHIND


async def _nulls(
    settings: Settings, broker: str, told: Iterable[Told], positions: Mapping[str, Mapping[Partition, _Position]]
) -> dict[tuple[Partition, str, str], int]:
    """The offsets of nulls, by partition, document and event, of Deletions for which time alone does not decide."""
    since: dict[Partition, datetime] = {}
    until: dict[Partition, int] = {}
    for item in told:
        for places in positions.values():
            for topic in ("canon-ready", "quarantine"):
                place = Partition(topic, item.partition)
                unread = places[place].oldest_unread if place in places else None
                if unread is not None and abs(unread - item.published_at) <= CLOCKS_APART:
                    since[place] = min(item.published_at - CLOCKS_APART, since.get(place, item.published_at))
                    until[place] = max(places[place].offset, until.get(place, 0))
    found: dict[tuple[Partition, str, str], int] = {}
    for topic in ("canon-ready", "quarantine"):
        ends = {place.number: offset for place, offset in until.items() if place.topic == topic}
        if not ends:
            continue
        earliest = min(at for place, at in since.items() if place.topic == topic)
        async for message in scan(settings, broker, topic, numbers=sorted(ends), since=earliest, until=ends):
            if message.value is None and message.key is not None:
                key = (Partition(topic, message.partition), message.key.decode("utf-8", "replace"), _event(message))
                found.setdefault(key, message.offset)
    return found
