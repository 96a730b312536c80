"""Sending to the log: idempotent, confirmed by the broker, and within the size that a message may have."""

from __future__ import annotations

from typing import Any

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError, MessageSizeTooLargeError, UnknownError

from streams.errors import BrokerUnavailable, CanonryError
from streams.log.client import connection
from streams.records.canon import Record
from streams.records.codec import encode
from streams.records.headers import Headers
from streams.settings import Settings

MAX_MESSAGE_BYTES = 7 << 20


class MessageTooLarge(CanonryError):
    """A record is larger than a message may be; the fault of whoever built it."""

    code = "message_too_large"


class ConfirmedProducer:
    """One producer of a process. Topics are named without prefix. Faust's `flush` hides errors, so it is not used."""

    def __init__(self, settings: Settings, broker: str, *, max_request_size: int = 8_000_000) -> None:
        self._max_request_size = max_request_size
        self._prefix = settings.kafka.topic_prefix
        self._broker = broker
        self._kwargs = connection(settings, broker)
        self._producer: Any = None

    async def start(self) -> None:
        """Connects. Raises BrokerUnavailable.

        Tansu gives no producer ids. Without them a send that is repeated may stand in the log twice, which changes
        nothing here; the order of a partition stays, for aiokafka has one batch of it under way at a time.
        """
        kwargs = {**self._kwargs, "acks": "all", "linger_ms": 1, "max_request_size": self._max_request_size}
        producer = AIOKafkaProducer(**kwargs, enable_idempotence=True)
        try:
            try:
                await producer.start()
            except UnknownError:
                await producer.stop()
                producer = AIOKafkaProducer(**kwargs)
                await producer.start()
        except KafkaError as error:
            await producer.stop()
            raise BrokerUnavailable(f"No Kafka broker answers at {self._broker}: {error}.") from error
        self._producer = producer

    async def stop(self) -> None:
        if self._producer is not None:
            await self._producer.stop()

    async def send_raw(
        self, topic: str, key: bytes | None, value: bytes | None, headers: Headers, partition: int | None = None
    ) -> Any:
        """Publishes bytes as they are and waits for the confirmation: its partition and offset.

        Args:
            value: None is a tombstone.
            partition: default: by the key, as Kafka's own clients choose it.

        Raises:
            BrokerUnavailable: not confirmed; send it again.
            MessageTooLarge: more than the topic takes.
        """
        try:
            name = self._prefix + topic
            return await self._producer.send_and_wait(name, value, key=key, headers=headers, partition=partition)
        except MessageSizeTooLargeError as error:
            raise MessageTooLarge(f"{topic}: {error}") from error
        except KafkaError as error:
            raise BrokerUnavailable(f"A record could not be published on {topic}: {error!r}.") from error


def encode_bounded(record: Record, what: str) -> bytes:
    """A record's bytes. Raises MessageTooLarge above 7 MiB, naming `what`."""
    value = encode(record)
    if len(value) > MAX_MESSAGE_BYTES:
        raise MessageTooLarge(f"{what}: {len(value)} bytes in one record.")
    return value
