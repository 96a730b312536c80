"""Watching `dead-letter`: what lands there will have no outcome, and whoever waits must know."""

from __future__ import annotations

from collections.abc import Callable

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError

from streams.errors import BrokerUnavailable
from streams.log.client import connection, partitions, stop_consumer
from streams.settings import Settings
from streams.topology import DEAD_LETTER


async def watch_dead_letters(
    settings: Settings, broker: str, seen: Callable[[str, str], None], started: Callable[[], None]
) -> None:
    """Calls `seen(source_id, why)` for each dead letter from now on; `started()` once it stands at the end.

    Raises:
        BrokerUnavailable: the topic can't be read.
    """
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
            seen((message.key or b"").decode("utf-8", "replace"), why)
    except KafkaError as error:
        raise BrokerUnavailable(f"{topic} can't be read: {error!r}.") from error
    finally:
        await stop_consumer(consumer)
