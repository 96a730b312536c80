"""Events as connectors and stages would publish them, and a consumer's view of the effects."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from streams.ledger.transitions import Arrived, Event, Policy, apply, empty
from streams.records import (
    Attempt,
    CanonSummary,
    ChangeEvent,
    Content,
    Decision,
    DecisionKind,
    Decoded,
    Deletion,
    Detection,
    DocumentRef,
    Failure,
    Manifest,
    Method,
    Operation,
    Outcome,
    Payload,
    RecognitionRequest,
    Screened,
    Screening,
    Sequence,
    SourceState,
    Timing,
    Version,
)

ID = "share:doc"
START = datetime(2026, 1, 1, tzinfo=UTC)
NOW = datetime(2026, 6, 1, tzinfo=UTC)


def at(minutes: float) -> datetime:
    return START + timedelta(minutes=minutes)


def sha(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()


def seq(offset: int) -> Sequence:
    return Sequence(epoch=1, offset=offset)


def manifest(minute: float, **fields: Any) -> Manifest:
    defaults: dict[str, Any] = {
        "path": "in/doc.txt",
        "file_name": "doc.txt",
        "source": "share",
        "native_id": "doc",
        "observed_at": at(minute),
        "ingested_at": at(minute),
        "readers": ["staff"],
    }
    return Manifest(**{**defaults, **fields})


def event(operation: Operation, offset: int, *, content: str | None = None, **fields: Any) -> Arrived:
    """A change event at this offset of raw-arrived, ingested at that minute unless `minute` says otherwise."""
    minute = fields.pop("minute", offset)
    failure = fields.pop("failure", None)
    source_id = fields.pop("source_id", ID)
    return Arrived(
        ChangeEvent(
            source_id=source_id,
            operation=operation,
            manifest=manifest(minute, **fields),
            content=Content(sha256=sha(content), size=len(content)) if content is not None else None,
            failure=failure,
            actor="connector",
        ),
        seq(offset),
    )


def up(offset: int, content: str, **fields: Any) -> Arrived:
    return event(Operation.UPSERT, offset, content=content, **fields)


def delete(offset: int, **fields: Any) -> Arrived:
    return event(Operation.DELETE, offset, **fields)


def move(offset: int, path: str, **fields: Any) -> Arrived:
    return event(Operation.MOVE, offset, path=path, file_name=path.rsplit("/", 1)[-1], **fields)


def acl(offset: int, readers: list[str] | None, **fields: Any) -> Arrived:
    return event(Operation.ACL, offset, readers=readers, **fields)


def broken(offset: int, code: str = "unreadable", *, skip: bool = False, **fields: Any) -> Arrived:
    failure = Failure(code=code, message="The source could not read it.", skip=skip)
    return event(Operation.FAILED, offset, failure=failure, **fields)


def result(
    arrived: Arrived,
    outcome: Outcome = Outcome.READY,
    *,
    extractor: str = "1",
    work: float | None = None,
    canon: bool = True,
) -> Screened:
    """What the stages make of an upsert; `work` is the minute in which they did."""
    content = arrived.event.content
    assert content is not None
    fingerprint = f"text-{extractor}"
    began = at(arrived.sequence.offset + 0.5 if work is None else work)
    return Screened(
        document=DocumentRef(
            source_id=arrived.event.source_id,
            sequence=arrived.sequence,
            content=content,
            manifest=arrived.event.manifest,
        ),
        detection=Detection(media_type="text/plain", detected_by="text"),
        payload=Payload(
            key=f"canons/{content.sha256}/{fingerprint}", sha256=sha(content.sha256 + fingerprint), size=10, inline=b"x"
        )
        if canon
        else None,
        attempt=Attempt(
            extractor="text",
            extractor_version=extractor,
            fingerprint=fingerprint,
            method=Method.NATIVE,
            seconds=0.1,
        )
        if canon
        else None,
        summary=CanonSummary(characters=10) if canon else None,
        screening=Screening(
            outcome=outcome,
            problems=["truncated"] if outcome is Outcome.QUARANTINED else [],
            rule="media" if outcome is Outcome.SKIPPED else None,
            scores={"letters": 0.9},
        ),
        timings=[Timing(stage="screen", started_at=began, seconds=0.1)],
    )


def screen_failed(arrived: Arrived, code: str = "timeout", *, extractor: str = "1", work: float) -> Screened:
    """What the screen says when it can't do its work: the extraction as it was, and nothing judged of its text."""
    failure = Screening(outcome=Outcome.QUARANTINED, problems=[code], error="The slot died twice.")
    good = result(arrived, extractor=extractor, work=work)
    return msgspec.structs.replace(good, summary=None, screening=failure)


def decision(offset: int, kind: DecisionKind, reason: str = "it is fine") -> Decision:
    return Decision(source_id=ID, sequence=seq(offset), kind=kind, actor="eva", reason=reason, decided_at=NOW)


class Ledger:
    """One document's state and what a consumer of the topics holds after the effects so far."""

    def __init__(self, policy: Policy | None = None, source_id: str = ID) -> None:
        self.policy = policy or Policy()
        self.state: SourceState = empty(source_id)
        self.canon: Any = None  # what canon-ready says, None after a null
        self.held: Any = None
        self.deletions: list[Deletion] = []
        self.extractions: list[Decoded] = []  # what was sent to an extractor again
        self.recognitions: list[RecognitionRequest] = []
        self.told: list[ChangeEvent] = []  # what the children were told
        self.visible: list[str] = []  # everything that became visible, in its order
        self._clock = 0

    def take(self, *events: Event) -> SourceState:
        for item in events:
            self._clock += 1
            after, effects = apply(self.state, item, now=self.now, policy=self.policy)
            assert not (effects.publish and effects.withdraw)
            assert not (effects.hold and effects.release)
            if effects.publish:
                self.canon = canon_of(after)
            if effects.withdraw:
                self.canon = None
            if effects.hold:
                self.held = held_of(after)
            if effects.release:
                self.held = None
            self.deletions += effects.deletions
            self.extractions += effects.extract
            self.recognitions += effects.recognize
            self.told += effects.children
            self.visible += [name for name in ("publish", "withdraw", "hold", "release") if getattr(effects, name)] + [
                "deletion"
            ] * len(effects.deletions)
            self.state = after
        return self.state

    @property
    def now(self) -> datetime:
        return NOW + timedelta(seconds=self._clock)

    def version(self, offset: int) -> Version:
        return next(version for version in self.state.versions if version.sequence == seq(offset))

    @property
    def published(self) -> int | None:
        return self.state.published.offset if self.state.published else None

    @property
    def current(self) -> int | None:
        return self.state.current.offset if self.state.current else None


def canon_of(state: SourceState) -> Any:
    """What a state says should stand on canon-ready."""
    version = next((v for v in state.versions if v.sequence == state.published), None)
    if version is None:
        return None
    newest = version.canons[-1]
    return (version.sequence, newest.payload.key, newest.attempt.fingerprint, state.path, state.readers, state.stale)


def held_of(state: SourceState) -> Any:
    """What a state says should stand on quarantine."""
    version = next((v for v in state.versions if v.sequence == state.current), None)
    if version is None or version.outcome is not Outcome.QUARANTINED:
        return None
    return (version.sequence, version.screening, state.path, state.readers)


def without_times(state: SourceState) -> SourceState:
    """A state without the times at which the ledger itself did something."""
    return msgspec.structs.replace(
        state,
        versions=[
            msgspec.structs.replace(
                version,
                timings=[],
                settled_at=None,
                found_at=None,
                listed_at=NOW if version.listed_at else None,
                others=[msgspec.structs.replace(o, timings=[], settled_at=NOW) for o in version.others],
                ready_at=None,
                canons=[
                    msgspec.structs.replace(c, created_at=NOW, archived_at=NOW if c.archived_at else None)
                    for c in version.canons
                ],
            )
            for version in state.versions
        ],
    )
