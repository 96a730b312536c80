"""The states of the partitions that are ours: restored from the compacted topic `versions`, kept in memory, encoded.

Faust's Table neither confirms its changelog writes nor recovers reliably from a compacted topic (#176, #597, #651), so
this reads `versions` itself, up to the high watermark, before the first event of a partition is handled.
"""

from __future__ import annotations

import logging
import time

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError

from streams.errors import BrokerUnavailable, UndecodableMessage
from streams.log.client import connection
from streams.records import SourceState
from streams.records.codec import decode, encode
from streams.settings import Settings

log = logging.getLogger(__name__)


class StateStore:
    """States by source_id. About the size of their records in memory, for they are decoded only when they are used."""

    def __init__(self, settings: Settings, broker: str) -> None:
        self._topic = settings.kafka.topic_prefix + "versions"
        self._connection = connection(settings, broker)
        self._broker = broker
        self._states: dict[int, dict[str, bytes]] = {}
        self._positions: dict[int, int] = {}

    def get(self, partition: int, source_id: str) -> SourceState | None:
        """The state of a document. Raises UndecodableMessage when its record is damaged."""
        data = self._states[partition].get(source_id)
        return decode(SourceState, data) if data is not None else None

    def put(self, partition: int, state: SourceState) -> None:
        """Keeps a state whose record is confirmed on `versions`."""
        self._states[partition][state.source_id] = encode(state)

    def __len__(self) -> int:
        return sum(len(states) for states in self._states.values())

    async def restore(self, partitions: set[int]) -> None:
        """Reads what was written since the last time, or everything, up to the high watermark of now.

        Raises:
            BrokerUnavailable: the topic could not be read; what was read so far is kept and not read again.
        """
        started = time.monotonic()
        for gone in self._states.keys() - partitions:
            del self._states[gone]
            self._positions.pop(gone, None)
        for partition in partitions:
            self._states.setdefault(partition, {})
        if not partitions:
            return
        consumer = AIOKafkaConsumer(**self._connection, group_id=None, enable_auto_commit=False)
        try:
            await consumer.start()
            await self._read(consumer, [TopicPartition(self._topic, partition) for partition in sorted(partitions)])
        except KafkaError as error:
            raise BrokerUnavailable(f"{self._topic} can't be read from {self._broker}: {error!r}.") from error
        finally:
            await consumer.stop()
        log.info("%d states restored in %.2f s.", len(self), time.monotonic() - started)

    async def _read(self, consumer: AIOKafkaConsumer, wanted: list[TopicPartition]) -> None:
        consumer.assign(wanted)
        ends = await consumer.end_offsets(wanted)
        beginnings = await consumer.beginning_offsets(wanted)
        for tp in wanted:
            consumer.seek(tp, max(self._positions.get(tp.partition, 0), beginnings[tp]))
        behind = {tp for tp in wanted if await consumer.position(tp) < ends[tp]}
        while behind:
            for tp, messages in (await consumer.getmany(*behind, timeout_ms=500, max_records=2000)).items():
                states = self._states[tp.partition]
                for message in messages:
                    self._remember(states, message)
                self._positions[tp.partition] = await consumer.position(tp)
            behind = {tp for tp in behind if await consumer.position(tp) < ends[tp]}

    @staticmethod
    def _remember(states: dict[str, bytes], message: object) -> None:
        key, value = getattr(message, "key", None), getattr(message, "value", None)
        try:
            source_id = (key or b"").decode("utf-8")
        except UnicodeDecodeError as error:
            raise UndecodableMessage(f"A key on versions is no UTF-8: {key!r}.") from error
        if value is None:
            states.pop(source_id, None)
        else:
            states[source_id] = value
