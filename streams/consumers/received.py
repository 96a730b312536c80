"""One message of the log as a typed record, with its place."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

from streams.errors import UndecodableMessage
from streams.records import Record
from streams.records.codec import TOPIC_RECORDS, decode
from streams.records.headers import EventContext, read_context
from streams.topology import key_field


class Partition(NamedTuple):
    """A partition of a topic, by the topic's name without prefix."""

    topic: str
    number: int


@dataclass(frozen=True, slots=True)
class Received:
    """One decoded message. `record` None is a tombstone."""

    topic: str
    partition: int
    offset: int
    timestamp: datetime  # of the log
    key: str
    record: Record | None
    context: EventContext

    @property
    def place(self) -> Partition:
        return Partition(self.topic, self.partition)


def read_message(message: Any, prefix: str = "") -> Received:
    """An aiokafka ConsumerRecord as a typed record.

    Raises:
        UndecodableMessage: no key, a key that is no UTF-8 or is not the record's own, or a value that is no record.
    """
    topic = str(message.topic).removeprefix(prefix)
    try:
        key = (message.key or b"").decode()
    except UnicodeDecodeError as error:
        raise UndecodableMessage(f"The key {message.key!r} is no UTF-8.") from error
    if not key:
        raise UndecodableMessage("The message has no key.")
    record = None if message.value is None else decode(TOPIC_RECORDS[topic], message.value)
    named = key if record is None else getattr(record, key_field(topic), key)
    if named != key:
        raise UndecodableMessage(f"The record of {named!r} stands under the key {key!r}.")
    return Received(
        topic,
        message.partition,
        message.offset,
        log_time(message.timestamp),
        key,
        record,
        read_context(message.headers),
    )


def log_time(milliseconds: int) -> datetime:
    """A timestamp of Kafka, which has -1 for none."""
    return datetime.fromtimestamp(max(0, milliseconds) / 1000, UTC)
