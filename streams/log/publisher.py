"""Publishing change events: confirmed, keyed by source_id, with the headers every reader relies on."""

from __future__ import annotations

from typing import Any, NamedTuple

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError

from streams.errors import BrokerUnavailable
from streams.log.client import connection
from streams.records import ChangeEvent, Decision, Lane
from streams.records.codec import encode
from streams.records.headers import EventContext, event_headers
from streams.settings import Settings


class Published(NamedTuple):
    """Where a confirmed event stands in the log."""

    source_id: str
    partition: int
    offset: int


class Publisher:
    """An idempotent producer for connectors and operators; use it as an async context manager."""

    def __init__(self, settings: Settings, broker: str, *, name: str, run_id: str = "") -> None:
        self._settings = settings
        self._broker = broker
        self._name = name
        self._run_id = run_id
        self._producer: Any = None

    async def __aenter__(self) -> Publisher:
        producer = AIOKafkaProducer(
            **connection(self._settings, self._broker),
            acks="all",
            enable_idempotence=True,
            linger_ms=2,
            max_request_size=1_000_000,
        )
        try:
            await producer.start()
        except KafkaError as error:
            await producer.stop()
            raise BrokerUnavailable(f"No Kafka broker answers at {self._broker}: {error}.") from error
        self._producer = producer
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._producer.stop()

    async def publish(self, event: ChangeEvent, *, lane: Lane = Lane.LIVE) -> Published:
        """Publishes a change event on `raw-arrived` and waits until the broker has it."""
        return await self._send("raw-arrived", event.source_id, event, lane)

    async def decide(self, decision: Decision) -> Published:
        """Publishes an operator's decision on `decisions` and waits until the broker has it."""
        return await self._send("decisions", decision.source_id, decision, Lane.LIVE)

    async def _send(self, topic: str, source_id: str, record: ChangeEvent | Decision, lane: Lane) -> Published:
        context = EventContext.new(lane, self._run_id)
        headers = event_headers(
            record=type(record).__name__,
            source=f"canonry/{self._name}",
            subject=source_id,
            event_id=context.trace_id,
            context=context,
        )
        try:
            sent = await self._producer.send_and_wait(
                self._settings.kafka.topic_prefix + topic, encode(record), key=source_id.encode(), headers=headers
            )
        except KafkaError as error:
            raise BrokerUnavailable(f"{source_id} could not be published on {topic}: {error}.") from error
        return Published(source_id, sent.partition, sent.offset)
