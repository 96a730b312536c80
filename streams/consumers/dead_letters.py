"""What a consumer can't read goes to `dead-letter` with the reason, and is never just dropped."""

from __future__ import annotations

import logging

from streams.consumers.received import Partition
from streams.errors import BrokerUnavailable, CanonryError, UndecodableMessage
from streams.log.backoff import Backoff
from streams.log.producer import ConfirmedProducer, MessageTooLarge
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
        # A message as large as its topic allows grows by the error headers; the broker decides, not the client.
        self._producer = ConfirmedProducer(settings, broker, max_request_size=10_000_000)
        self._started = False

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
                if not self._started:
                    await self._producer.start()
                    self._started = True
                await self._producer.send_raw(DEAD_LETTER, key, value, headers)
            except MessageTooLarge:
                if value is None or len(value) <= MOST_BYTES:
                    raise
                headers.append(("truncated_from_bytes", str(len(value)).encode()))
                value = value[:MOST_BYTES]
            except BrokerUnavailable as failure:
                logger.warning("%s is not reachable, trying again: %s", DEAD_LETTER, failure)
                await backoff.wait()
            else:
                return

    async def close(self) -> None:
        await self._producer.stop()
