"""Records of documents for the tests of consumers, made by code."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta
from typing import Any

from streams.consumers.reader import RecordBatch
from streams.consumers.received import Partition, Received
from streams.records import (
    Attempt,
    Block,
    BlockKind,
    BlockSource,
    Canon,
    CanonBody,
    CanonSummary,
    CanonVersion,
    Content,
    Detection,
    Manifest,
    Method,
    Outcome,
    Payload,
    Quarantined,
    Record,
    Screening,
    Sequence,
    SourceState,
    Status,
    Version,
)
from streams.records.codec import encode
from streams.records.headers import EventContext

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def at(offset: int) -> Sequence:
    return Sequence(epoch=1, offset=offset)


def paragraph(text: str, **fields: Any) -> Block:
    return Block(**{"kind": BlockKind.PARAGRAPH, "text": text, "source": BlockSource.MARKUP, **fields})


def body(*blocks: Block, content: str = "content") -> CanonBody:
    return CanonBody(
        content_hash=sha(content),
        fingerprint="f1",
        extractor="plain",
        extractor_version="1",
        media_type="text/plain",
        blocks=list(blocks),
    )


def payload(text: CanonBody, *, inline: bool = True) -> Payload:
    data = encode(text)
    return Payload(
        key=f"canons/{text.content_hash}/{text.fingerprint}",
        sha256=hashlib.sha256(data).hexdigest(),
        size=len(data),
        inline=data if inline else None,
    )


def canon(name: str, text: str = "A few words.", offset: int = 0, *, inline: bool = True, **fields: Any) -> Canon:
    blocks = body(paragraph(text), content=name + text)
    values: dict[str, Any] = {
        "source_id": f"s:{name}",
        "sequence": at(offset),
        "source": "s",
        "path": f"folder/{name}",
        "file_name": name,
        "content_hash": blocks.content_hash,
        "size": len(text),
        "media_type": "text/plain",
        "fingerprint": blocks.fingerprint,
        "valid_from": NOW,
        "summary": CanonSummary(characters=len(text)),
        "ingested_at": NOW,
        "canon_ready_at": NOW,
        "payload": payload(blocks, inline=inline),
    }
    return Canon(**{**values, **fields})


def version(offset: int, outcome: Outcome = Outcome.READY, *, problems: tuple[str, ...] = (), **fields: Any) -> Version:
    manifest = Manifest(
        path="folder/a.txt",
        file_name="a.txt",
        source="s",
        native_id="a.txt",
        observed_at=NOW,
        ingested_at=NOW + timedelta(seconds=offset),
    )
    attempt = Attempt(extractor="plain", extractor_version="1", fingerprint="f1", method=Method.NATIVE, seconds=0.1)
    made = CanonVersion(payload=payload(body(paragraph("text"))), attempt=attempt, created_at=NOW)
    values: dict[str, Any] = {
        "sequence": at(offset),
        "manifest": manifest,
        "content": Content(sha256=sha(str(offset)), size=10),
        "valid_from": NOW,
        "outcome": outcome,
        "detection": Detection(media_type="text/plain", detected_by="probe", encoding="utf-8"),
        "screening": Screening(outcome=outcome, problems=list(problems), scores={"letters": 0.9}),
        "summary": CanonSummary(title="Title", characters=4),
        "canons": [made] if outcome is Outcome.READY else [],
    }
    return Version(**{**values, **fields})


def state(name: str, *versions: Version, high_water: int | None = None, **fields: Any) -> SourceState:
    last = versions[-1].sequence.offset if versions else 0
    values: dict[str, Any] = {
        "source_id": f"s:{name}",
        "status": Status.LIVE,
        "high_water": at(last if high_water is None else high_water),
        "versions": list(versions),
        "path": f"folder/{name}",
        "file_name": name,
        "source": "s",
        "current": versions[-1].sequence if versions else None,
    }
    return SourceState(**{**values, **fields})


def held(name: str, *problems: str, **fields: Any) -> Quarantined:
    values: dict[str, Any] = {
        "source_id": f"s:{name}",
        "sequence": at(0),
        "source": "s",
        "path": f"folder/{name}",
        "file_name": name,
        "problems": list(problems),
        "held_since": NOW,
    }
    return Quarantined(**{**values, **fields})


def received(topic: str, offset: int, key: str, record: Record | None, partition: int = 0) -> Received:
    return Received(topic, partition, offset, NOW, key, record, EventContext())


def batch(*records: Received, caught_up: bool = True, fresh_at: datetime = NOW) -> RecordBatch:
    """A batch as the reader gives it; without a broker it can't be committed."""
    places: dict[Partition, int] = {}
    for record in records:
        places[record.place] = record.offset + 1
    return RecordBatch(
        records=list(records),
        next_offsets=places,
        fresh_at=dict.fromkeys(places, fresh_at),
        ends=dict(places),
        caught_up=caught_up,
        _consumer=None,  # type: ignore[arg-type]
        _assignment=0,
    )
