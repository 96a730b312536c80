"""Decisions that are under way: they stand in the log, and the catalog does not show yet what came of them.

Whoever decides looks here first. What somebody decided a moment ago, or an hour ago while no worker ran, is then not
decided once more, and can be taken back before it was carried out.

    async with DecisionLog(settings, broker) as log:
        told = await log.look(catalog)                  # all that is published by now
        plan = plan_decisions(…, under_way=under_way(catalog, told))
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError

from streams.consumers.catalog import Catalog
from streams.consumers.catalog_quarantine import DecisionRow, decisions_of
from streams.consumers.reader import log_identity
from streams.consumers.received import read_message
from streams.errors import BrokerUnavailable, UndecodableMessage
from streams.log.client import REQUEST_TIMEOUT_S, cluster_id, connection, partitions, start_consumer, stop_consumer
from streams.log.groups import members
from streams.records import Decision, DecisionKind
from streams.records import Sequence as Place
from streams.settings import Settings
from streams.topology import group_id

TOPIC, CARRIED_OUT_ON = "decisions", "versions"
LEDGERS_LAG = timedelta(minutes=10)
"""How long the ledger may have taken for a decision that a catalog which is behind does not show."""

WAIT_MS = 500

UnderWay = Mapping[str, Sequence[Decision]]
"""By source_id, in the order in which they were made."""


class Told(msgspec.Struct, kw_only=True):
    """A decision on the log."""

    decision: Decision
    partition: int
    offset: int
    shown_at: int | None = None  # a catalog that has read `versions` up to here shows it; None: the ledger is before it


class DecisionLog:
    """What is decided and perhaps not shown by the catalog, read on with every look; an async context manager."""

    def __init__(self, settings: Settings, broker: str) -> None:
        self._settings = settings
        self._broker = broker
        self._consumer: Any = None
        self._numbers: list[int] = []
        self._log = ""
        self._begun = False
        self._told: list[Told] = []

    async def __aenter__(self) -> DecisionLog:
        self._numbers = (await partitions(self._settings, self._broker, [TOPIC]))[TOPIC]
        self._log = log_identity(self._settings, await cluster_id(self._settings, self._broker))
        # It asks for the ledger's commits; a consumer that is given its partitions by `assign` is no member.
        group = group_id("ledger", self._settings.kafka.topic_prefix)
        self._consumer = AIOKafkaConsumer(
            **connection(self._settings, self._broker),
            group_id=group,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
        )
        await start_consumer(self._consumer, self._broker)
        self._consumer.assign(self._places(TOPIC))
        return self

    async def __aexit__(self, *_: object) -> None:
        await stop_consumer(self._consumer)

    async def look(self, catalog: Catalog) -> list[Told]:
        """All that is published by now and that this catalog does not show for sure, in the order of the partitions.

        Raises:
            BrokerUnavailable: no answer in time.
            DatabaseUnavailable: as the catalog.
        """
        try:
            async with asyncio.timeout(REQUEST_TIMEOUT_S):
                committed = {tp.partition: await self._consumer.committed(tp) for tp in self._places(TOPIC)}
                # After the commits: what the ledger has done before them stands before these ends.
                found = await self._consumer.end_offsets(self._places(CARRIED_OUT_ON))
                ends = {tp.partition: end for tp, end in found.items()}
                shown = await asyncio.to_thread(self._shown, catalog)
                if not self._begun:
                    await self._begin(committed, ends, shown)
                await self._read()
        except (KafkaError, OSError, TimeoutError) as error:
            raise BrokerUnavailable(f"{TOPIC} can't be read from {self._broker}: {error!r}.") from error
        for told in self._told:
            if told.shown_at is None and told.offset < (committed[told.partition] or 0):
                told.shown_at = ends[told.partition]
        self._told = [each for each in self._told
                      if each.shown_at is None or each.shown_at > shown.get(each.partition, (0, None))[0]]  # fmt: skip
        return self._told

    def _shown(self, catalog: Catalog) -> dict[int, tuple[int, datetime | None]]:
        """How far the catalog has read, of each partition: the offset, and when all before it was in the log."""
        return {
            each.partition: (each.offset, each.fresh_at)
            for each in catalog.progress()
            if each.topic == CARRIED_OUT_ON and each.log == self._log
        }

    async def _begin(
        self,
        committed: Mapping[int, int | None],
        ends: Mapping[int, int],
        shown: Mapping[int, tuple[int, datetime | None]],
    ) -> None:
        """From the ledger's place on; where the catalog is behind the ledger, from what it may not show yet."""
        moments: dict[TopicPartition, int] = {}
        for tp in self._places(TOPIC):
            position, fresh_at = shown.get(tp.partition, (0, None))
            self._consumer.seek(tp, committed[tp.partition] or 0)
            if position < ends[tp.partition]:
                since = (fresh_at or datetime.fromtimestamp(0, UTC) + LEDGERS_LAG) - LEDGERS_LAG
                moments[tp] = int(since.timestamp() * 1000)
        for tp, found in (await self._consumer.offsets_for_times(moments)).items() if moments else ():
            if found is not None and found.offset < (committed[tp.partition] or 0):
                self._consumer.seek(tp, found.offset)
        self._begun = True

    async def _read(self) -> None:
        places = self._places(TOPIC)
        ends = await self._consumer.end_offsets(places)
        while behind := [tp for tp in places if await self._consumer.position(tp) < ends[tp]]:
            for tp, messages in (await self._consumer.getmany(*behind, timeout_ms=WAIT_MS)).items():
                for message in messages:
                    self._take(tp.partition, message)

    def _take(self, partition: int, message: Any) -> None:
        try:
            record = read_message(message, self._settings.kafka.topic_prefix).record
        except UndecodableMessage:
            return  # the ledger puts it into dead-letter
        if isinstance(record, Decision) and record.kind is not DecisionKind.ERASE:
            self._told.append(Told(decision=record, partition=partition, offset=message.offset))

    def _places(self, topic: str) -> list[TopicPartition]:
        return [TopicPartition(self._settings.kafka.topic_prefix + topic, number) for number in self._numbers]


def under_way(catalog: Catalog, told: Iterable[Told]) -> dict[str, list[Decision]]:
    """Of these decisions those that the ledger may still carry out: about current versions, and not shown as done."""
    found: dict[str, list[Decision]] = {}
    for on_log in told:
        found.setdefault(on_log.decision.source_id, []).append(on_log.decision)
    rows = catalog.rows(found)
    with catalog.reading() as connection:
        made = decisions_of(connection, list(found))
    left: dict[str, list[Decision]] = {}
    for source_id, decisions in found.items():
        row = rows.get(source_id)
        for each in decisions:
            current = row is not None and each.sequence == Place(
                epoch=row.current_epoch or 0, offset=row.current_offset or 0
            )
            if current and not any(is_same(each, known) for known in made.get(source_id, ())):
                left.setdefault(source_id, []).append(each)
    return left


def is_same(decision: Decision, made: DecisionRow) -> bool:
    """Whether the ledger has carried out this decision."""
    said = (decision.kind.value, decision.tool, decision.actor, decision.reason, decision.decided_at)
    return said == (made.kind, made.tool, made.actor, made.reason, made.decided_at)


async def look_once(settings: Settings, broker: str, catalog: Catalog) -> dict[str, list[Decision]]:
    """What is under way now.

    Raises:
        BrokerUnavailable, NotFound: no answer, or topics are missing.
        DatabaseUnavailable: as the catalog.
    """
    async with DecisionLog(settings, broker) as log:
        told = await log.look(catalog)
    return await asyncio.to_thread(under_way, catalog, told)


async def has_ledger(settings: Settings, broker: str) -> bool:
    """Whether a worker runs that carries decisions out. Raises BrokerUnavailable."""
    return bool(await members(settings, broker, group_id("ledger", settings.kafka.topic_prefix)))
