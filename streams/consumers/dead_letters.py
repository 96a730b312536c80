"""What a consumer can't read goes to `dead-letter` with the reason, and is never just dropped."""

from __future__ import annotations

import logging
from typing import Any

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError, MessageSizeTooLargeError

from streams.consumers.received import Partition
from streams.errors import CanonryError, UndecodableMessage
from streams.log.backoff import Backoff
from streams.log.client import connection
from streams.records.headers import Headers, dead_letter_headers
from streams.settings import Settings
from streams.topology import DEAD_LETTER

logger = logging.getLogger(__name__)

MOST_BYTES = 800 * 1024
"""What is left of a value that the error headers have made too large for the topic."""


class DeadLetters:
    """Sends messages to `dead-letter`; connects with the first one."""

    def __init__(self, settings: Settings, broker: str, stage: str) -> None:
        self._settings = settings
        self._broker = broker
        self._stage = stage
        self._producer: Any = None

    async def send(
        self, place: Partition, offset: int, key: bytes | None, value: bytes | None, error: Exception, headers: Headers
    ) -> None:
        """Sends a message's bytes with the reason, confirmed; waits as long as the broker is away."""
        logger.error("%s[%d]@%d: %s", place.topic, place.number, offset, error)
        prefix = self._settings.kafka.topic_prefix
        headers = dead_letter_headers(
            headers,
            topic=prefix + place.topic,
            partition=place.number,
            offset=offset,
            error=error,
            reason_code=error.code if isinstance(error, CanonryError) else UndecodableMessage.code,
            attempt=1,
            stage=self._stage,
        )
        backoff = Backoff()
        while True:
            try:
                producer = await self._connected()
                await producer.send_and_wait(prefix + DEAD_LETTER, value, key=key, headers=headers)
            except MessageSizeTooLargeError:
                if value is None or len(value) <= MOST_BYTES:
                    raise
                headers.append(("truncated_from_bytes", str(len(value)).encode()))
                value = value[:MOST_BYTES]
            except KafkaError as failure:
                logger.warning("%s is not reachable, trying again: %s", DEAD_LETTER, failure)
                await backoff.wait()
            else:
                return

    async def close(self) -> None:
        if self._producer is not None:
            await self._producer.stop()

    async def _connected(self) -> Any:
        if self._producer is None:
            producer = AIOKafkaProducer(
                **connection(self._settings, self._broker), acks="all", max_request_size=2_000_000
            )
            try:
                await producer.start()
            except BaseException:
                await producer.stop()
                raise
            self._producer = producer
        return self._producer
