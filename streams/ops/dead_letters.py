"""Watching `dead-letter`: what lands there will have no outcome, and whoever waits must know."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import NamedTuple

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError

from streams.errors import BrokerUnavailable
from streams.log.client import connection, partitions, stop_consumer
from streams.settings import Settings
from streams.topology import DEAD_LETTER


class DeadLetter(NamedTuple):
    """A message that no stage could do anything with."""

    source_id: str
    why: str
    topic: str  # where it came from, without prefix
    value: bytes  # as it was


async def watch_dead_letters(settings: Settings, broker: str, seen: Callable[[DeadLetter], None]) -> asyncio.Task[None]:
    """Begins to call `seen` for each dead letter from now on: it stands at the end when this returns.

    Returns:
        What watches, until it is cancelled.

    Raises:
        BrokerUnavailable: the topic can't be read.
    """
    ready = asyncio.Event()
    watching = asyncio.create_task(_watch(settings, broker, seen, ready.set))
    waiting = asyncio.create_task(ready.wait())
    try:
        await asyncio.wait({watching, waiting}, return_when=asyncio.FIRST_COMPLETED)
    except asyncio.CancelledError:
        watching.cancel()
        raise
    finally:
        waiting.cancel()
    if watching.done():
        watching.result()
    return watching


async def _watch(
    settings: Settings, broker: str, seen: Callable[[DeadLetter], None], started: Callable[[], None]
) -> None:
    numbers = (await partitions(settings, broker, [DEAD_LETTER]))[DEAD_LETTER]
    topic = settings.kafka.topic_prefix + DEAD_LETTER
    consumer = AIOKafkaConsumer(**connection(settings, broker), group_id=None, enable_auto_commit=False)
    try:
        await consumer.start()
        consumer.assign([TopicPartition(topic, number) for number in numbers])
        await consumer.seek_to_end()
        started()
        async for message in consumer:
            headers = {key: value.decode("utf-8", "replace") for key, value in message.headers}
            why = f"{headers.get('reason_code', '?')}: {headers.get('__streams.errors.message', '')}"
            origin = headers.get("__streams.errors.topic", "").removeprefix(settings.kafka.topic_prefix)
            seen(DeadLetter((message.key or b"").decode("utf-8", "replace"), why, origin, message.value or b""))
    except KafkaError as error:
        raise BrokerUnavailable(f"{topic} can't be read: {error!r}.") from error
    finally:
        await stop_consumer(consumer)
