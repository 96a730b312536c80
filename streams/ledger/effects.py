"""What a change of a document's state makes visible: the difference between before and after."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from streams.ledger import children
from streams.ledger.decisions import same_decision
from streams.ledger.erasure import last_version, proofs
from streams.ledger.judgement import said
from streams.ledger.timeline import lives_of, version_at
from streams.records import (
    NEEDS_RECOGNITION,
    Change,
    ChangeEvent,
    Content,
    Decided,
    DecisionKind,
    Decoded,
    Deletion,
    DocumentRef,
    Method,
    Operation,
    Outcome,
    RecognitionRequest,
    SourceState,
    Version,
)


class Effects(msgspec.Struct, kw_only=True):
    """What an event makes visible on the topics of consumers."""

    publish: bool = False  # canon-ready gets the version `state.published`
    withdraw: bool = False  # canon-ready gets a null
    hold: bool = False  # quarantine gets the version `state.current`
    release: bool = False  # quarantine gets a null
    deletions: list[Deletion] = []
    extract: list[Decoded] = []  # to be extracted once more
    recognize: list[RecognitionRequest] = []  # pages to be recognised; the languages are the stage's to say
    children: list[ChangeEvent] = []  # what the children have to be told

    def __bool__(self) -> bool:
        return (
            self.publish
            or self.withdraw
            or self.hold
            or self.release
            or bool(self.deletions or self.extract or self.recognize or self.children)
        )


def _seen_by_consumers(state: SourceState) -> Any:
    version = version_at(state, state.published)
    if version is None or not version.canons:
        return None
    canon = version.canons[-1]
    return (
        version.sequence,
        canon.payload.sha256,
        canon.attempt.fingerprint,
        state.path,
        state.readers,
        state.owner,
        state.stale,
        version.screening,
        version.summary,
        version.detection.media_type if version.detection else None,
    )


def _held(state: SourceState) -> Any:
    version = version_at(state, state.current)
    if version is None or version.outcome is not Outcome.QUARANTINED:
        return None
    return (version.sequence, version.screening, version.fingerprint, state.path, state.readers, state.owner)


def standing(state: SourceState) -> Effects:
    """What stands on `canon-ready` and `quarantine` when consumers see exactly this state."""
    seen, held = _seen_by_consumers(state) is not None, _held(state) is not None
    return Effects(publish=seen, withdraw=not seen, hold=held, release=not held)


def difference(before: SourceState, after: SourceState) -> Effects:
    seen_before, seen_after = _seen_by_consumers(before), _seen_by_consumers(after)
    held_before, held_after = _held(before), _held(after)
    effects = Effects(
        publish=seen_after is not None and seen_after != seen_before,
        withdraw=seen_after is None and seen_before is not None,
        hold=held_after is not None and held_after != held_before,
        release=held_after is None and held_before is not None,
    )
    known = {change.sequence for change in before.changes}
    effects.deletions = [
        _deletion(after, change)
        for change in after.changes
        if change.operation is Operation.DELETE and change.sequence not in known and _ends_a_life(after, change)
    ]
    effects.deletions += proofs(before, after)
    effects.extract = _extractions(before, after)
    effects.recognize = _recognitions(before, after)
    effects.children = children.events(before, after)
    return effects


def _extractions(before: SourceState, after: SourceState) -> list[Decoded]:
    """What newly made decisions send to an extractor again, as decode would."""
    return [
        Decoded(
            document=_document(after, version, content),
            detection=version.detection,
            tool=made.tool,
            children=[child for child in version.children if not child.gone],
        )
        for version, content, made in _new_decisions(before, after, DecisionKind.RE_EXTRACT)
    ]


def _recognitions(before: SourceState, after: SourceState) -> list[RecognitionRequest]:
    """What newly made decisions send to recognition.

    Where pages were found to need it, those; else the text layer is what is doubted, so all pages are read anew.
    """
    found = []
    for version, content, _ in _new_decisions(before, after, DecisionKind.RECOGNIZE):
        screening = said(version)
        if version.detection is None or not version.canons:
            continue
        native = [canon for canon in version.canons if canon.attempt.method is Method.NATIVE]
        base = (native or version.canons)[-1]
        some = native and screening is not None and NEEDS_RECOGNITION in screening.problems
        count = (version.summary.page_count if version.summary else None) or 0
        found.append(
            RecognitionRequest(
                document=_document(after, version, content),
                detection=version.detection,
                payload=base.payload,
                pages=[] if some else list(range(1, count + 1)),
                attempt=base.attempt,
                children=[child for child in version.children if not child.gone],
            )
        )
    return found


def _new_decisions(
    before: SourceState, after: SourceState, kind: DecisionKind
) -> Iterator[tuple[Version, Content, Decided]]:
    for version in after.versions:
        known = version_at(before, version.sequence)
        if version.content is None:
            continue
        for made in version.decisions:
            if made.kind is kind and not any(same_decision(made, old) for old in (known.decisions if known else ())):
                yield version, version.content, made


def _document(state: SourceState, version: Version, content: Content) -> DocumentRef:
    return DocumentRef(source_id=state.source_id, sequence=version.sequence, content=content, manifest=version.manifest)


def _ends_a_life(state: SourceState, change: Change) -> bool:
    return any(life.versions for life in lives_of(state.versions, state.changes) if life.deleted == change)


def _deletion(state: SourceState, change: Change) -> Deletion:
    last = last_version(state, change)
    return Deletion(
        source_id=state.source_id,
        sequence=change.sequence,
        source=state.source,
        path=state.path,
        content_hash=last.content.sha256 if last and last.content else None,
        fingerprint=last.canons[-1].attempt.fingerprint if last and last.canons else None,
        parent_source_id=state.parent_source_id,
        actor=change.actor,
        reason=change.reason,
        deleted_at=change.at,
    )
