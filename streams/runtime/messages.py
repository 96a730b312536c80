"""What a stage is given and what it gives back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from streams.errors import UndecodableMessage
from streams.records.canon import Record
from streams.records.codec import TOPIC_RECORDS, decode
from streams.records.headers import REPLAY_OF, EventContext, read_context, read_replay_of
from streams.topology import key_field


@dataclass(frozen=True)
class Incoming:
    """One decoded event."""

    topic: str  # without prefix
    partition: int
    offset: int
    timestamp: float  # seconds since the epoch, of the log
    key: str  # source_id, or content hash on the topics that are keyed by it
    record: Record
    context: EventContext
    generation: int = 0  # of the group, in which it was delivered
    replay_of: int | None = None  # a copy of the event at this offset, see `streams.records.headers.REPLAY_OF`


@dataclass(frozen=True)
class Outgoing:
    """One record to publish; `record` None is a tombstone, a real null."""

    topic: str
    key: str
    record: Record | None
    name: str = ""  # of the record type, for the tombstone's headers
    partition_by_key: bool = False  # its key is another one than the event's: Kafka's default partitioner chooses


@dataclass(frozen=True)
class Outputs:
    """What one event brings about: each list is confirmed before the next one is sent, and only then `settle` runs."""

    first: list[Outgoing] = field(default_factory=list)
    proof: list[Outgoing] = field(default_factory=list)  # says that `first` was done
    then: list[Outgoing] = field(default_factory=list)
    settle: Callable[[], None] | None = None
    fence: str = ""  # a header of its records: who owned the partition, see `streams.ledger.fence`


class Handler(Protocol):
    """A stage's function. It may raise CanonryError; transient ones are tried again, in order for that key."""

    keeps_state: bool
    """Whether `handle` rests on a state: then an event that is delivered again after a rebalance is handled afresh;
    without, it attaches to the job that is still running."""

    async def handle(self, event: Incoming) -> Outputs: ...

    def give_up(self, event: Incoming, error: Exception) -> Outputs:
        """The outcome of an event whose handling failed for good; never silence."""
        ...

    async def assigned(self, partitions: set[int]) -> None:
        """These partitions are ours now; work on them starts when this returns."""

    async def revoked(self) -> None:
        """All partitions were taken away."""


@runtime_checkable
class Knowing(Protocol):
    """A handler that knows of which events of a replay the outcome would be the same."""

    async def learn(self, replays: Mapping[int, int]) -> None:
        """Replays are under way in these partitions, up to these offsets. Raises BrokerUnavailable."""

    def known(self, partition: int, offset: int) -> bool:
        """Whether the event at this offset would bring what it brought before."""
        ...


@runtime_checkable
class Queueing(Protocol):
    """A handler that says whose turn it is: its events may wait as long as it likes, urgent ones go first."""

    ahead: int
    """Events that may wait at once; how far ahead urgent ones are looked for."""

    def turn(self, event: Incoming) -> AbstractAsyncContextManager[None]:
        """Entered before `handle` and left when its outputs are confirmed."""
        ...

    @property
    def resting(self) -> bool:
        """Whether events wait by the operator's will, and none is worked on."""
        ...


@runtime_checkable
class Telling(Protocol):
    """A handler that hears from its jobs how far they are."""

    told_at: float
    """When it last heard of pages that are done, of the monotonic clock."""


def read(topic: str, message: Any) -> Incoming:
    """The event of a message, as Faust hands it over in bytes.

    Raises:
        UndecodableMessage: no record of this topic, or under another key than its own.
    """
    if message.value is None:
        raise UndecodableMessage("A null on a topic that has no tombstones.")
    record = decode(TOPIC_RECORDS[topic], message.value)
    name = key_field(topic)
    key = getattr(record, name, None) or getattr(getattr(record, "document", None), name, None)
    if not key:
        raise UndecodableMessage(f"A record without a {name}.")
    if message.key != key.encode():
        # Under another key it stands in another partition and another lane than the rest of its document.
        raise UndecodableMessage(f"The key {message.key!r} is not the record's {name} {key!r}.")
    try:
        replay_of = read_replay_of(message.headers, message.offset)
    except (ValueError, TypeError) as error:
        raise UndecodableMessage(f"Its header {REPLAY_OF} can't be read: {error}.") from error
    return Incoming(
        topic=topic,
        partition=message.partition,
        offset=message.offset,
        timestamp=message.timestamp or 0.0,
        key=key,
        record=record,
        context=read_context(message.headers),
        generation=message.generation_id or 0,
        replay_of=replay_of,
    )
