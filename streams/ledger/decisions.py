"""What people decide about a document: facts of its versions, refused where they do not fit (any more)."""

from __future__ import annotations

from datetime import datetime

import msgspec

from streams.errors import CanonryError
from streams.extract.registry import EXTRACTORS, named
from streams.ledger.conflicts import verdict
from streams.ledger.facts import replaced
from streams.ledger.judgement import VERDICTS, digest, judgements, said, verdict_of_a_person
from streams.ledger.timeline import lives_of, version_at
from streams.records import Decided, Decision, DecisionKind, Erasure, Operation, Outcome, SourceState, Status, Version

KEEP_DECISIONS = 50

NO_TEXT = "empty_extraction"
"""The problem of a canon in which nothing stands: it may have pages, which recognition needs."""


class DecisionRefused(CanonryError):
    """A decision that does not fit the state of its document (any more)."""

    code = "decision_refused"
    remedy = "Look at the document with `canonry doc` and decide again."


def decide(state: SourceState, event: Decision, now: datetime) -> SourceState:
    """Rules 8 and 10: a person ends what the screen or the ranks could not; only what is held now can be decided."""
    if event.kind is DecisionKind.ERASE:
        return _erase(state, event)
    target = version_at(state, event.sequence)
    made = Decided(
        kind=event.kind,
        tool=event.tool,
        actor=event.actor,
        reason=event.reason,
        decided_at=event.decided_at,
        carried_out_at=now,
        seen=state.high_water,
    )
    if target is not None and any(same_decision(made, known) for known in target.decisions):
        return state  # carried out already
    claim = target is not None and event.kind in VERDICTS and _is_claim(state, target, event.kind)
    if target is None or (state.current != event.sequence and not claim):
        why = "the document was deleted." if state.status is Status.DELETED else "there is a newer one or none."
        raise DecisionRefused(f"{event.source_id}: version {event.sequence.offset} is not the current one: {why}")
    if not claim and event.kind is verdict_of_a_person(target):
        return state  # decided so already, by another decision
    if claim:
        pass  # it is about the conflict, whatever the screen says of the text
    elif event.kind in VERDICTS:
        made = _verdict(state, target, made)
    elif event.kind is DecisionKind.RE_EXTRACT:
        _require_extractable(state, target, event)
    elif event.kind is DecisionKind.RECOGNIZE:
        _require_extractable(state, target, event)
        _require_recognisable(state, target)
    else:
        raise DecisionRefused(f"{event.source_id}: this program does not know the decision {event.kind.value!r}.")
    return replaced(state, msgspec.structs.replace(target, decisions=[*target.decisions, made][-KEEP_DECISIONS:]))


def same_decision(one: Decided, other: Decided) -> bool:
    """Whether two are one, whatever has become of it since."""
    return (one.kind, one.tool, one.actor, one.reason, one.decided_at) == (
        other.kind,
        other.tool,
        other.actor,
        other.reason,
        other.decided_at,
    )


def _is_claim(state: SourceState, target: Version, kind: DecisionKind) -> bool:
    """Whether a verdict is about the conflict that this version is in, or was in."""
    if kind is not DecisionKind.UNDO:
        return target.contested
    return verdict(target) is not None and target in lives_of(state.versions, state.changes)[-1].versions


def _verdict(state: SourceState, target: Version, made: Decided) -> Decided:
    """The decision with the findings that it is about. Raises DecisionRefused."""
    screening = said(target)
    wanted = {DecisionKind.ACCEPT: Outcome.READY, DecisionKind.SKIP: Outcome.SKIPPED}.get(made.kind)
    if wanted is None and not (target.overruled and screening is not None):
        raise DecisionRefused(f"{state.source_id}: there is no decision about it to undo.")
    if wanted is not None and target.outcome is not Outcome.QUARANTINED:
        raise DecisionRefused(f"{state.source_id}: it is {target.outcome.value}, not quarantined.")
    without = not target.canons or (screening is not None and NO_TEXT in screening.problems)
    if wanted is Outcome.READY and without:
        raise DecisionRefused(
            f"{state.source_id}: there is no text to accept.", remedy="Extract it again with another tool, or skip it."
        )
    return msgspec.structs.replace(made, findings=digest(judgements(target)[-1]))


def _require_extractable(state: SourceState, target: Version, event: Decision) -> None:
    """Whether a version can be sent to an extractor again. Raises DecisionRefused."""
    if target.content is None:
        raise DecisionRefused(
            f"{state.source_id}: its source never delivered the bytes.", remedy="Have the source read it again."
        )
    if target.detection is None:
        raise DecisionRefused(
            f"{state.source_id}: nobody has found out yet what its bytes are.",
            remedy="Decide again when `canonry doc` shows its format, or replay the stage decode.",
        )
    if event.tool is not None and named(event.tool) is None:
        tools = ", ".join(spec.name for spec in EXTRACTORS)
        raise DecisionRefused(
            f"{state.source_id}: no extractor is called {event.tool!r}.", remedy=f"Take one of {tools}."
        )


def can_be_recognised(media_type: str) -> bool:
    """Whether documents of this format have pages that can be looked at as pictures."""
    return media_type == "application/pdf" or media_type.startswith("image/")


def _require_recognisable(state: SourceState, target: Version) -> None:
    """Whether the pages of a version can be recognised. Raises DecisionRefused."""
    assert target.detection is not None
    media_type = target.detection.media_type
    if not can_be_recognised(media_type):
        raise DecisionRefused(
            f"{state.source_id}: {media_type} has no pages that could be recognised.",
            remedy="Extract it again with another tool, accept it as it is, or skip it.",
        )
    if not target.canons:
        raise DecisionRefused(
            f"{state.source_id}: no extractor could open it, and recognition needs the pages that one has found.",
            remedy="Extract it again with another tool, or skip it.",
        )


def _erase(state: SourceState, event: Decision) -> SourceState:
    """What ended by a delete loses its text; what is created again afterwards is none of it."""
    if any((e.erased_at, e.actor, e.reason) == (event.decided_at, event.actor, event.reason) for e in state.erasures):
        return state  # carried out already
    if state.status is not Status.DELETED:
        raise DecisionRefused(
            f"{event.source_id}: it is {state.status.value}, and only what is deleted can be erased.",
            remedy="Delete it at its source, and erase it when `canonry doc` says that it is deleted.",
        )
    newest = max(change.sequence for change in state.changes if change.operation is Operation.DELETE)
    if any(version.sequence > event.sequence for version in state.versions):
        raise DecisionRefused(f"{event.source_id}: it has versions after {event.sequence.offset}.")
    if any(erasure.sequence == newest for erasure in state.erasures):
        return state  # by another decision
    erasure = Erasure(sequence=newest, erased_at=event.decided_at, actor=event.actor, reason=event.reason)
    return msgspec.structs.replace(state, erasures=[*state.erasures, erasure])
