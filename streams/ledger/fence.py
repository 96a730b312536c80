"""A fence against ledgers that have lost their partitions and do not know it yet.

A process that was paused, or cut off, sends what it was about to send, however carefully it looked before: a broker
takes a record from anybody. So each record of a ledger carries a token that orders the owners of its partition. Who
restores states passes over what came in behind a newer owner's record (`streams.ledger.store`), and the owner reads
what arrives in its partitions and states anew what an older one has overwritten (`Watch`, `streams.runtime.mender`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError

from streams.errors import BrokerUnavailable
from streams.log.client import connection, stop_consumer
from streams.records.headers import FENCE
from streams.settings import Settings

ROUNDS = 50  # of 500 records; what is left comes with the next look


class Token(NamedTuple):
    """An owner of a partition; a later owner's is greater."""

    restored: int
    """The high watermark up to which it read the states: only grows, and its own records stand behind it."""
    generation: int
    """Of its group. Decides where nothing was written between two owners, for Kafka forgets old groups."""

    def text(self) -> str:
        return f"{self.restored}.{self.generation}"

    @staticmethod
    def of(headers: Iterable[tuple[str, bytes]]) -> Token | None:
        """The token among a record's headers; None where there is none, or nothing that is one."""
        for name, value in headers:
            if name == FENCE:
                restored, _, generation = value.partition(b".")
                if restored.isdigit() and generation.isdigit():
                    return Token(int(restored), int(generation))
        return None


class Late(NamedTuple):
    """A record, and who wrote it."""

    partition: int
    key: bytes
    token: Token


class Watch:
    """Reads along what is written in the partitions that are ours."""

    def __init__(self, settings: Settings, broker: str, topics: tuple[str, ...]) -> None:
        self._topics = [settings.kafka.topic_prefix + topic for topic in topics]
        self._connection = connection(settings, broker)
        self._consumer: AIOKafkaConsumer | None = None

    async def begin(self, partitions: set[int]) -> None:
        """What is written from now on in these partitions will be seen. Raises BrokerUnavailable."""
        await self.stop()
        if not partitions:
            return
        # It looks once a second, so the broker may gather: a fetch for each record would cost more than all the rest.
        consumer = AIOKafkaConsumer(
            **self._connection, enable_auto_commit=False, fetch_min_bytes=1 << 20, fetch_max_wait_ms=1000
        )
        try:
            await consumer.start()
            consumer.assign([TopicPartition(topic, partition) for topic in self._topics for partition in partitions])
            await consumer.seek_to_end()
        except BaseException as error:
            await stop_consumer(consumer)
            if isinstance(error, KafkaError):
                raise BrokerUnavailable(f"The ledger's topics can't be read along: {error!r}.") from error
            raise
        self._consumer = consumer

    async def look(self) -> list[Late]:
        """The records since the last look that have a token. Raises BrokerUnavailable."""
        found: list[Late] = []
        try:
            for _ in range(ROUNDS if self._consumer is not None else 0):
                assert self._consumer is not None
                batch = await self._consumer.getmany(timeout_ms=0, max_records=500)
                if not batch:
                    break
                found += [
                    Late(message.partition, message.key, token)
                    for messages in batch.values()
                    for message in messages
                    if (token := Token.of(message.headers)) is not None
                ]
        except KafkaError as error:
            raise BrokerUnavailable(f"The ledger's topics can't be read along: {error!r}.") from error
        return found

    async def stop(self) -> None:
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            await stop_consumer(consumer)
