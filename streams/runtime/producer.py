"""What a stage publishes: records and tombstones in the partition of the event that caused them, or by another key."""

from __future__ import annotations

import asyncio
from typing import Any

from streams.log.producer import ConfirmedProducer, encode_bounded
from streams.records.headers import FENCE, EventContext, event_headers
from streams.runtime.messages import Outgoing


class Producer(ConfirmedProducer):
    """The producer that all stages of a process share."""

    async def send(
        self,
        outgoing: list[Outgoing],
        *,
        stage: str,
        event_id: str,
        context: EventContext,
        partition: int,
        fence: str = "",
    ) -> list[Any]:
        """Publishes records and waits until all are confirmed.

        Args:
            event_id: of the event that caused them; the same event gives the same ids when it is repeated.
            partition: of that event. What concerns one document stands in one partition number, even if a connector's
                client chose it by another rule than ours; a state that is elsewhere would not be found again. What is
                `partition_by_key` goes where its key leads.
            fence: see `streams.ledger.fence`.

        Raises:
            BrokerUnavailable: not confirmed; send them again.
            MessageTooLarge: a record is above 7 MiB.
        """
        waiting = []
        for number, out in enumerate(outgoing):
            value = encode_bounded(out.record, f"{out.key} on {out.topic}") if out.record is not None else None
            headers = event_headers(
                record=type(out.record).__name__ if out.record is not None else out.name,
                source=f"canonry/{stage}",
                subject=out.key,
                event_id=f"{event_id}/{number}",
                context=context,
            )
            if fence:
                headers.append((FENCE, fence.encode()))
            where = None if out.partition_by_key else partition
            waiting.append(self.send_raw(out.topic, out.key.encode(), value, headers, where))
        return await asyncio.gather(*waiting)
