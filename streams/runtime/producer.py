"""One idempotent producer for all stages of a process: every send is confirmed, and a failed one is an error."""

from __future__ import annotations

import asyncio
from typing import Any

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError, MessageSizeTooLargeError

from streams.errors import BrokerUnavailable, CanonryError
from streams.log.client import connection
from streams.records.codec import encode
from streams.records.headers import EventContext, Headers, event_headers
from streams.runtime.messages import Outgoing
from streams.settings import Settings

MAX_MESSAGE_BYTES = 900 * 1024


class MessageTooLarge(CanonryError):
    """A record is larger than a message may be; the fault of whoever built it."""

    code = "message_too_large"


class Producer:
    """Sends and waits for the broker's confirmation. Faust's `flush` hides errors of sends, so it is not used."""

    def __init__(self, settings: Settings, broker: str) -> None:
        self._prefix = settings.kafka.topic_prefix
        self._broker = broker
        self._kwargs = connection(settings, broker)
        self._producer: Any = None

    async def start(self) -> None:
        producer = AIOKafkaProducer(
            **self._kwargs, acks="all", enable_idempotence=True, linger_ms=1, max_request_size=1_000_000
        )
        try:
            await producer.start()
        except KafkaError as error:
            await producer.stop()
            raise BrokerUnavailable(f"No Kafka broker answers at {self._broker}: {error}.") from error
        self._producer = producer

    async def stop(self) -> None:
        if self._producer is not None:
            await self._producer.stop()

    async def send(
        self, outgoing: list[Outgoing], *, stage: str, event_id: str, context: EventContext, partition: int
    ) -> list[Any]:
        """Publishes records and waits until all are confirmed.

        Args:
            event_id: of the event that caused them; the same event gives the same ids when it is repeated.
            partition: of that event. What concerns one document stands in one partition number, even if a connector's
                client chose it by another rule than ours; a state that is elsewhere would not be found again.

        Raises:
            BrokerUnavailable: not confirmed; send them again.
            MessageTooLarge: a record is above 900 KiB.
        """
        waiting = []
        for number, out in enumerate(outgoing):
            value = encode(out.record) if out.record is not None else None
            if value is not None and len(value) > MAX_MESSAGE_BYTES:
                raise MessageTooLarge(f"{out.key} on {out.topic}: {len(value)} bytes in one record.")
            headers = event_headers(
                record=type(out.record).__name__ if out.record is not None else out.name,
                source=f"canonry/{stage}",
                subject=out.key,
                event_id=f"{event_id}/{number}",
                context=context,
            )
            waiting.append(self._send(out.topic, out.key.encode(), value, headers, partition))
        return await asyncio.gather(*waiting)

    async def send_raw(self, topic: str, key: bytes | None, value: bytes | None, headers: Headers) -> None:
        """Publishes bytes as they are, for `dead-letter`."""
        await self._send(topic, key, value, headers)

    async def _send(
        self, topic: str, key: bytes | None, value: bytes | None, headers: Headers, partition: int | None = None
    ) -> Any:
        try:
            name = self._prefix + topic
            return await self._producer.send_and_wait(name, value, key=key, headers=headers, partition=partition)
        except MessageSizeTooLargeError as error:
            raise MessageTooLarge(f"{topic}: {error}") from error
        except KafkaError as error:
            raise BrokerUnavailable(f"A record could not be published on {topic}: {error!r}.") from error
