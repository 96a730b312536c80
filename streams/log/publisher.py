"""Publishing change events and decisions: confirmed, keyed by source_id, with the headers every reader relies on."""

from __future__ import annotations

from typing import NamedTuple

from streams.log.producer import ConfirmedProducer, encode_bounded
from streams.records import ChangeEvent, Decision, Lane
from streams.records.headers import EventContext, event_headers
from streams.settings import Settings


class Published(NamedTuple):
    """Where a confirmed event stands in the log."""

    source_id: str
    partition: int
    offset: int


class Publisher:
    """What connectors and deciding commands publish with; use it as an async context manager.

    Args:
        name: of the connector or command, becomes `ce_source` canonry/<name>.
        run_id: of this run, carried through all stages.
    """

    def __init__(self, settings: Settings, broker: str, *, name: str, run_id: str = "") -> None:
        self._producer = ConfirmedProducer(settings, broker)
        self._name = name
        self._run_id = run_id

    async def __aenter__(self) -> Publisher:
        await self._producer.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._producer.stop()

    async def publish(self, event: ChangeEvent, *, lane: Lane = Lane.LIVE) -> Published:
        """Publishes a change event on `raw-arrived` and waits until the broker has it.

        Raises:
            BrokerUnavailable: not confirmed.
            MessageTooLarge: its manifest is absurdly large.
        """
        return await self._send("raw-arrived", event, EventContext.new(lane, self._run_id), None)

    async def decide(self, decision: Decision, partition: int, *, lane: Lane = Lane.LIVE) -> Published:
        """Publishes a decision on `decisions` and waits until the broker has it.

        Args:
            partition: where the document stands in the other topics, so that the ledger finds its state.

        Raises: as `publish`.
        """
        return await self._send("decisions", decision, EventContext.new(lane, self._run_id), partition)

    async def _send(
        self, topic: str, record: ChangeEvent | Decision, context: EventContext, partition: int | None
    ) -> Published:
        headers = event_headers(
            record=type(record).__name__,
            source=f"canonry/{self._name}",
            subject=record.source_id,
            event_id=context.trace_id,
            context=context,
        )
        value = encode_bounded(record, record.source_id)
        sent = await self._producer.send_raw(topic, record.source_id.encode(), value, headers, partition)
        return Published(record.source_id, sent.partition, sent.offset)
