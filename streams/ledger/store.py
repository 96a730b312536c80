"""The records of the partitions that are ours, restored from a compacted topic (`versions`, `contents`), kept packed.

Faust's Table neither confirms its changelog writes nor recovers reliably from a compacted topic (#176, #597, #651), so
this reads the topic itself, up to the high watermark, before the first event of a partition is handled.
"""

from __future__ import annotations

import asyncio
import logging
import time
import zlib
from typing import Any, Generic, TypeVar

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError

from streams.errors import BrokerUnavailable
from streams.ledger.fence import Token
from streams.log.client import connection, stop_consumer
from streams.records import Record, SourceState
from streams.records.codec import decode, encode
from streams.settings import Settings
from streams.topology import key_field

log = logging.getLogger(__name__)

R = TypeVar("R", bound=Record)


BATCH = 500  # records between two turns of the loop


class Packing:
    """Records of one kind, compressed against the first of them: what they have in common, mostly names, is kept once.

    A state of a document shrinks from 1,500 bytes to 340, which takes 20 to 45 µs; zlib without a sample: 700 bytes,
    more than 100 µs.
    """

    def __init__(self) -> None:
        self._sample = b""

    def pack(self, value: bytes) -> bytes:
        self._sample = self._sample or value
        # A small window, since only the sample and the record lie in it, and setting it up is most of the work.
        packer = zlib.compressobj(1, zlib.DEFLATED, -12, 4, zlib.Z_FIXED, self._sample)
        return packer.compress(value) + packer.flush()

    def unpack(self, data: bytes) -> bytes:
        return zlib.decompressobj(-12, self._sample).decompress(data)


class RecordStore(Generic[R]):
    """Records of one compacted topic by their key, packed, and decoded only when they are used."""

    def __init__(self, settings: Settings, broker: str, topic: str, record: type[R]) -> None:
        self._record = record
        self._key = key_field(topic)
        self._topic = settings.kafka.topic_prefix + topic
        self._connection = connection(settings, broker)
        self.broker = broker
        self._states: dict[int, dict[bytes, bytes]] = {}
        self._packing = Packing()
        self._positions: dict[int, int] = {}
        self._restored: dict[int, int] = {}  # the high watermark of the last restoration
        self._newest: dict[int, Token] = {}  # of those who have written in the partition
        self.overwritten: set[tuple[int, bytes]] = set()  # where a record of a former owner was passed over

    def holds(self, partition: int) -> bool:
        """Whether this partition is ours."""
        return partition in self._states

    def token(self, partition: int, generation: int) -> Token:
        """Who we are for this partition."""
        return Token(self._restored.get(partition, 0), generation)

    def get(self, partition: int, key: str) -> R | None:
        """The newest record of this key. Raises UndecodableMessage when it is damaged."""
        data = self._states[partition].get(key.encode())
        return decode(self._record, self._packing.unpack(data)) if data is not None else None

    def put(self, partition: int, record: R) -> None:
        """Keeps a record that is confirmed on the topic."""
        self._states[partition][getattr(record, self._key).encode()] = self._packing.pack(encode(record))

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
            self._newest.pop(gone, None)
        for partition in partitions:
            self._states.setdefault(partition, {})
        if not partitions:
            return
        consumer = AIOKafkaConsumer(**self._connection, group_id=None, enable_auto_commit=False)
        try:
            await consumer.start()
            await self._read(consumer, [TopicPartition(self._topic, partition) for partition in sorted(partitions)])
        except KafkaError as error:
            raise BrokerUnavailable(f"{self._topic} can't be read from {self.broker}: {error!r}.") from error
        finally:
            await stop_consumer(consumer)
        log.info("%d states restored in %.2f s.", len(self), time.monotonic() - started)

    async def _read(self, consumer: AIOKafkaConsumer, wanted: list[TopicPartition]) -> None:
        consumer.assign(wanted)
        ends = await consumer.end_offsets(wanted)
        beginnings = await consumer.beginning_offsets(wanted)
        for tp in wanted:
            consumer.seek(tp, max(self._positions.get(tp.partition, 0), beginnings[tp]))
        behind = {tp for tp in wanted if await consumer.position(tp) < ends[tp]}
        while behind:
            for tp, messages in (await consumer.getmany(*behind, timeout_ms=500, max_records=BATCH)).items():
                states = self._states[tp.partition]
                for message in messages:
                    if not self._counts(message):
                        self.overwritten.add((tp.partition, message.key))
                    elif message.value is None:
                        states.pop(message.key, None)
                    else:
                        states[message.key] = self._packing.pack(message.value)
                self._positions[tp.partition] = await consumer.position(tp)
            behind = {tp for tp in behind if await consumer.position(tp) < ends[tp]}
            await asyncio.sleep(0)  # nothing above waits while there is enough to read
        self._restored = {tp.partition: ends[tp] for tp in wanted}

    def _counts(self, message: Any) -> bool:
        """Whether its writer owned the partition, as far as its token and those before it tell."""
        token = Token.of(message.headers)
        if token is None:
            return True
        newest = self._newest.get(message.partition, token)
        self._newest[message.partition] = max(newest, token)
        return token >= newest


class StateStore(RecordStore[SourceState]):
    """States of documents, by source_id. About 600 MB for a million of documents."""

    def __init__(self, settings: Settings, broker: str) -> None:
        super().__init__(settings, broker, "versions", SourceState)
