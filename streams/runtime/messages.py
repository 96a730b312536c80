"""What a stage is given and what it gives back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol

from streams.records.canon import Record
from streams.records.headers import EventContext


@dataclass(frozen=True)
class Incoming:
    """One decoded event."""

    topic: str  # without prefix
    partition: int
    offset: int
    timestamp: float  # seconds since the epoch, of the log
    key: str
    record: Record
    context: EventContext


@dataclass(frozen=True)
class Outgoing:
    """One record to publish; `record` None is a tombstone, a real null."""

    topic: str
    key: str
    record: Record | None
    name: str = ""  # of the record type, for the tombstone's headers


@dataclass(frozen=True)
class Outputs:
    """What one event brings about: `first` is confirmed before `then` is sent, and only then `settle` runs."""

    first: list[Outgoing] = field(default_factory=list)
    then: list[Outgoing] = field(default_factory=list)
    settle: Callable[[], None] | None = None


class Handler(Protocol):
    """A stage's function. It may raise CanonryError; transient ones are tried again, in order for that key."""

    async def handle(self, event: Incoming) -> Outputs: ...

    def give_up(self, event: Incoming, error: Exception) -> Outputs:
        """The outcome of an event whose handling failed for good; never silence."""
        ...

    async def assigned(self, partitions: set[int]) -> None:
        """These partitions are ours now; work on them starts when this returns."""

    async def revoked(self) -> None:
        """All partitions were taken away."""


Settled = Callable[[Incoming, float], Awaitable[None] | None]
