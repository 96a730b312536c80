"""A topic read from outside of all groups, from a moment or an offset up to its end of now."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from datetime import datetime
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError

from streams.errors import BrokerUnavailable
from streams.log.client import connection, partitions, stop_consumer
from streams.settings import Settings

BATCH = 2000
WAIT_MS = 500


async def scan(
    settings: Settings,
    broker: str,
    topic: str,
    *,
    numbers: Iterable[int] | None = None,
    since: datetime | None = None,
    until: Mapping[int, int] | None = None,
) -> AsyncIterator[Any]:
    """Every message of a topic, each partition in its order, up to the high watermark that it has when this begins.

    Args:
        topic: without prefix.
        numbers: of the partitions; None: all.
        since: only what the log took in at this time or later.
        until: of a partition, the offset before which to stop.

    Raises:
        NotFound: there is no such topic.
        BrokerUnavailable: it can't be read.
    """
    found = (await partitions(settings, broker, [topic]))[topic]
    tps = [TopicPartition(settings.kafka.topic_prefix + topic, n) for n in (found if numbers is None else numbers)]
    if not tps:
        return
    consumer = AIOKafkaConsumer(**connection(settings, broker), group_id=None, enable_auto_commit=False)
    try:
        await consumer.start()
        consumer.assign(tps)
        ends = await consumer.end_offsets(tps)
        for tp in tps:
            ends[tp] = min(ends[tp], (until or {}).get(tp.partition, ends[tp]))
        starts = await consumer.beginning_offsets(tps)
        if since is not None:
            at = await consumer.offsets_for_times({tp: max(0, int(since.timestamp() * 1000)) for tp in tps})
            starts = {tp: place.offset if (place := at.get(tp)) else ends[tp] for tp in tps}
        for tp in tps:
            consumer.seek(tp, starts[tp])
        while behind := [tp for tp in tps if await consumer.position(tp) < ends[tp]]:
            for tp, messages in (await consumer.getmany(*behind, timeout_ms=WAIT_MS, max_records=BATCH)).items():
                for message in messages:
                    if message.offset < ends[tp]:
                        yield message
    except KafkaError as error:
        raise BrokerUnavailable(f"{topic} can't be read from {broker}: {error!r}.") from error
    finally:
        await stop_consumer(consumer)
