"""Kafka headers: CloudEvents binary mode, the lane and run of an event, its trace, and the errors of `dead-letter`."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from streams.records.events import Lane

Headers = list[tuple[str, bytes]]

CE_TYPE_PREFIX = "canonry."
FENCE = "fence"  # which owner of a partition wrote a record of the ledger, see `streams.ledger.fence`
REPLAY_OF = "replay_of"
"""On raw-arrived: the offset of the event that this one is a copy of, made by `canonry replay`. A copy is for decode
alone and keeps the original's sequence: it opens no version, and it can't bring back what was deleted after it."""


@dataclass(frozen=True)
class EventContext:
    """What travels beside a record. A stage passes its input's context on, so a run and a trace stay together."""

    lane: Lane = Lane.LIVE
    run_id: str = ""
    trace_id: str = ""  # 32 hex digits, W3C trace context

    @staticmethod
    def new(lane: Lane = Lane.LIVE, run_id: str = "") -> EventContext:
        """A context with a trace of its own."""
        return EventContext(lane, run_id, secrets.token_hex(16))


def event_headers(
    *, record: str, source: str, subject: str, event_id: str, context: EventContext, time: datetime | None = None
) -> Headers:
    """Headers of one record (CloudEvents 1.0.2, Kafka protocol binding, binary content mode).

    Args:
        record: name of the record, becomes `ce_type` canonry.<record>.
        source: who publishes, e.g. "canonry/decode"; `subject` is the source_id.
        event_id: same event, same id: built from topic, partition and offset of what caused it.
        time: UTC; now when not given.
    """
    headers = [
        ("ce_specversion", b"1.0"),
        ("ce_id", event_id.encode()),
        ("ce_type", (CE_TYPE_PREFIX + record).encode()),
        ("ce_source", source.encode()),
        ("ce_subject", subject.encode()),
        ("ce_time", (time or datetime.now(UTC)).isoformat().encode()),
        ("content-type", b"application/avro"),
        ("lane", context.lane.value.encode()),
    ]
    if context.run_id:
        headers.append(("run_id", context.run_id.encode()))
    if context.trace_id:
        headers.append(("traceparent", f"00-{context.trace_id}-{secrets.token_hex(8)}-01".encode()))
    return headers


def read_context(headers: Iterable[tuple[str, bytes]] | None) -> EventContext:
    """The context of a received message; what is missing or malformed falls back, for headers come from outside."""
    found = {key: value for key, value in headers or () if isinstance(value, bytes)}
    try:
        lane = Lane(found.get("lane", b"live").decode())
    except ValueError:  # with UnicodeDecodeError
        lane = Lane.UNKNOWN
    trace = found.get("traceparent", b"").decode("ascii", "replace").split("-")
    trace_id = trace[1] if len(trace) == 4 and len(trace[1]) == 32 else secrets.token_hex(16)
    return EventContext(lane, found.get("run_id", b"").decode("utf-8", "replace"), trace_id)


def read_replay_of(headers: Iterable[tuple[str, bytes]] | None, offset: int) -> int | None:
    """The offset of the original, when the message at `offset` is a copy of an earlier one.

    Raises:
        ValueError: it says so, and not of which.
    """
    found = next((value for key, value in headers or () if key == REPLAY_OF), None)
    if found is None:
        return None
    original = int(found)
    if not 0 <= original < offset:
        raise ValueError(f"offset {offset} can't be a copy of {original}")
    return original


def dead_letter_headers(
    original: Sequence[tuple[str, bytes]],
    *,
    topic: str,
    partition: int,
    offset: int,
    error: BaseException,
    reason_code: str,
    attempt: int,
    stage: str,
) -> Headers:
    """The original's headers and why it is here, under the names of KIP-1034, so that any Kafka UI can re-drive it."""
    return [
        *((key, value if isinstance(value, bytes) else b"") for key, value in original),
        ("__streams.errors.topic", topic.encode()),
        ("__streams.errors.partition", str(partition).encode()),
        ("__streams.errors.offset", str(offset).encode()),
        ("__streams.errors.exception", type(error).__name__.encode()),
        ("__streams.errors.message", str(error).encode("utf-8", "replace")[:2000]),
        ("reason_code", reason_code.encode()),
        ("attempt", str(attempt).encode()),
        ("stage", stage.encode()),
    ]
