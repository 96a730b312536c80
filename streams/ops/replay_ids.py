"""Replay of single documents: the newest event of each, once more on the topic that the stage reads.

Nothing is reset, so the stage may go on working meanwhile. Only raw-arrived is read by two stages, and its offsets are
the ledger's sequence; a copy there names its original (`streams.records.headers.REPLAY_OF`): decode gives it the
original's sequence and the ledger passes it over. So a copy is never a version of its own, and what comes of it can
bring back nothing: to the ledger it is one more result of a version that it knows, however that has ended since.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from streams.errors import NotFound, UndecodableMessage, UsageError
from streams.log.producer import ConfirmedProducer
from streams.log.scan import scan
from streams.ops.replay import new_run_id
from streams.records import ChangeEvent, Lane, Operation
from streams.records.codec import TOPIC_RECORDS, decode
from streams.records.headers import REPLAY_OF, EventContext, event_headers, read_replay_of
from streams.settings import Settings

TOPIC = {"decode": "raw-arrived", "extract": "decoded", "screen": "extracted", "ledger": "screened"}
"""Whose events are copied. Of the ledger's three topics it is the one with results: the others are facts, not work."""

_ENDS = (Operation.DELETE, Operation.FAILED)


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """The newest event of one document that the stage can do again."""

    source_id: str
    topic: str  # without prefix
    partition: int
    offset: int
    original: int  # its own offset, or that of the event it is a copy of
    at: datetime
    key: bytes
    value: bytes


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """What would come again, and for which names nothing can."""

    stage: str
    events: list[Event]
    missing: dict[str, str]  # name, and why


def read_names(file: Path) -> list[str]:
    """The lines of a file that say something, each once.

    Raises:
        UsageError: there is none.
    """
    try:
        lines = file.read_text("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise UsageError(f"{file} is no UTF-8 text: {error}.") from None
    names = list(dict.fromkeys(line.strip() for line in lines if line.strip()))
    if not names:
        raise UsageError(f"{file} names no documents.", remedy="Write one source_id or path a line.")
    return names


async def find(settings: Settings, broker: str, stage: str, names: Iterable[str]) -> Found:
    """The events that `publish` would repeat; reads the stage's topic from its beginning.

    Args:
        names: source_ids, or what else the catalog finds one document by.

    Raises:
        UsageError: this stage does not work on documents.
        BrokerUnavailable, NotFound: no answer, or the topic does not exist.
    """
    if stage not in TOPIC:
        raise UsageError(f"The stage {stage} does not work on single documents.", remedy=f"Use {', '.join(TOPIC)}.")
    ids, missing = _resolved(settings, names)
    topic = TOPIC[stage]
    wanted = {source_id.encode(): source_id for source_id in ids}
    newest: dict[bytes, Event] = {}
    ended: dict[bytes, tuple[int, str]] = {}
    async for message in scan(settings, broker, topic):
        source_id = wanted.get(message.key)
        if source_id is None or message.value is None:
            continue
        try:
            record = decode(TOPIC_RECORDS[topic], message.value)
            original = read_replay_of(message.headers, message.offset)
        except (UndecodableMessage, ValueError):
            continue  # no stage could do it either
        place = message.offset if original is None else original
        if isinstance(record, ChangeEvent):
            if record.operation in _ENDS:
                ended[message.key] = (message.offset, record.operation.value)
            if record.operation is not Operation.UPSERT:
                continue
        known = newest.get(message.key)
        if known is None or place >= known.original:
            newest[message.key] = Event(
                source_id=source_id,
                topic=topic,
                partition=message.partition,
                offset=message.offset,
                original=place,
                at=datetime.fromtimestamp(message.timestamp / 1000, UTC),
                key=message.key,
                value=message.value,
            )
    for key, source_id in wanted.items():
        event, end = newest.get(key), ended.get(key)
        if event is None:
            missing[source_id] = f"no event with content on {topic}, or retention has removed it"
        elif end is not None and end[0] > event.original:
            missing[source_id] = (
                "deleted at its source" if end[1] == Operation.DELETE else "its source can't deliver it"
            )
            del newest[key]
    return Found(stage=stage, events=sorted(newest.values(), key=lambda e: (e.partition, e.offset)), missing=missing)


async def publish(settings: Settings, broker: str, found: Found) -> str:
    """Publishes the events once more, each confirmed, in the partition where they stand: the run_id that they carry.

    Raises:
        BrokerUnavailable: not all are confirmed; what is, is harmless, and all may be published again.
    """
    run_id = new_run_id()
    producer = ConfirmedProducer(settings, broker)
    await producer.start()
    try:
        for event in found.events:
            headers = event_headers(
                record=TOPIC_RECORDS[event.topic].__name__,
                source="canonry/replay",
                subject=event.source_id,
                event_id=f"{run_id}/{event.topic}/{event.partition}/{event.offset}",
                context=EventContext.new(Lane.REPLAY, run_id),
            )
            if event.topic == "raw-arrived":
                headers.append((REPLAY_OF, str(event.original).encode()))
            await producer.send_raw(event.topic, event.key, event.value, headers, event.partition)
    finally:
        await producer.stop()
    return run_id


def _resolved(settings: Settings, names: Iterable[str]) -> tuple[list[str], dict[str, str]]:
    """The source_ids that the names mean, and why some mean none. What the catalog does not know is taken for an id."""
    from streams.consumers.catalog import Catalog
    from streams.ops.lookup import one_document

    ids: dict[str, None] = {}
    missing: dict[str, str] = {}
    with Catalog(settings) as catalog:
        for name in names:
            try:
                ids[one_document(catalog, name).source_id] = None
            except NotFound:
                ids[name] = None
            except UsageError as error:
                missing[name] = str(error)
    return list(ids), missing
