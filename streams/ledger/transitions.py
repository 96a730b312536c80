"""Everything that changes the state of a document: one table of events, one pure function, effects as a difference.

`apply(state, event)` inserts the event's fact, derives validity anew (`streams.ledger.timeline`), and gives as effects
what differs between what consumers could see before and what they may see now. An event that is known already changes
nothing and has no effects (rule 1).
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import msgspec

from streams.ledger.bounds import trimmed
from streams.ledger.decisions import DecisionRefused, decide
from streams.ledger.derivation import derive
from streams.ledger.effects import Effects, difference, standing
from streams.ledger.erasure import scrubbed
from streams.ledger.facts import insert, life_at, of_the_same_content, repeated_by, replaced, seen, unfolded
from streams.ledger.judgement import judged, shared
from streams.ledger.policy import Policy
from streams.ledger.timeline import order, version_at
from streams.records import (
    Change,
    ChangeEvent,
    Decision,
    Lane,
    Operation,
    Outcome,
    Screened,
    Screening,
    Sequence,
    SourceState,
    Status,
    Version,
)

__all__ = [
    "RULES",
    "Arrived",
    "DecisionRefused",
    "Effects",
    "Event",
    "Policy",
    "apply",
    "empty",
    "standing",
    "version_at",
]


class Arrived(msgspec.Struct, frozen=True):
    """A change event at its place in the log."""

    event: ChangeEvent
    sequence: Sequence


Event = Arrived | Screened | Decision


def empty(source_id: str) -> SourceState:
    """The state of a source_id of which nothing is known."""
    return SourceState(source_id=source_id, status=Status.UNKNOWN, high_water=Sequence(epoch=0, offset=-1))


def apply(
    state: SourceState | None, event: Event, *, now: datetime, policy: Policy | None = None, lane: Lane = Lane.LIVE
) -> tuple[SourceState, Effects]:
    """One event: the new state, and what it makes visible.

    Args:
        lane: in which the event travels; it is kept with the versions that the event opens or makes ready.

    Raises:
        DecisionRefused: a decision does not fit the state.
    """
    policy = policy or Policy()
    before = state or empty(_source_id(event))
    changed = RULES[_kind(event)](before, event, now)
    if changed is before:
        return before, Effects()
    after = _dated(before, derive(trimmed(scrubbed(shared(changed, before))), policy), now, lane)
    return after, difference(before, after)


# --- the table --------------------------------------------------------------------------------------------------------


def _upsert(state: SourceState, event: Arrived, now: datetime) -> SourceState:
    """Rules 2 and 6: a new content opens a version; what the predecessor says already does not."""
    assert event.event.content is not None
    manifest = event.event.manifest
    version = Version(
        sequence=event.sequence, manifest=manifest, content=event.event.content, valid_from=manifest.ingested_at
    )
    return insert(state, version)


def _failed(state: SourceState, event: Arrived, now: datetime) -> SourceState:
    """R-IN-7: a document that the connector could not deliver has an outcome, too."""
    failure = event.event.failure
    assert failure is not None
    screening = (
        Screening(outcome=Outcome.SKIPPED, rule=failure.code, error=failure.message)
        if failure.skip
        else Screening(outcome=Outcome.QUARANTINED, problems=[failure.code], error=failure.message)
    )
    version = Version(
        sequence=event.sequence,
        manifest=event.event.manifest,
        valid_from=event.event.manifest.ingested_at,
        outcome=screening.outcome,
        screening=screening,
        settled_at=now,
    )
    return insert(state, version)


def _change(state: SourceState, event: Arrived, now: datetime) -> SourceState:
    """Rules 3, 4 and 6: a move, new rights or a delete is a fact of its own; nothing is extracted."""
    operation, manifest = event.event.operation, event.event.manifest
    change = Change(
        operation=operation,
        sequence=event.sequence,
        at=manifest.ingested_at,
        actor=event.event.actor,
        reason=event.event.reason,
        parent_order=manifest.parent_order,
    )
    here = order(change)
    if any(known.sequence == event.sequence or _from_the_same_parent(known, change) for known in state.changes):
        return seen(state, event.sequence)
    # What counts is what stands before it: a result may have opened a later version already.
    life, earlier_lives = life_at(state, here)
    lives = any(order(version) < here for version in life.versions)
    if operation is Operation.DELETE and earlier_lives and not lives and not change.parent_order:
        return seen(state, event.sequence)  # deleted already
    if operation is Operation.MOVE or not any(order(version) < here for version in state.versions):
        change = msgspec.structs.replace(change, path=manifest.path, file_name=manifest.file_name)
    if operation is Operation.ACL:
        change = msgspec.structs.replace(change, readers=manifest.readers, owner=manifest.owner)
    if operation is Operation.DELETE:
        state = unfolded(state, change)
    return seen(
        msgspec.structs.replace(state, changes=[*state.changes, change], source=state.source or manifest.source),
        event.sequence,
    )


def _from_the_same_parent(known: Change, change: Change) -> bool:
    """Whether two facts of a child are one event of its container, told twice."""
    same = (known.operation, known.parent_order) == (change.operation, change.parent_order)
    return same and bool(change.parent_order)


def _result(state: SourceState, event: Screened, now: datetime) -> SourceState:
    """Rules 5 and 9: a result belongs to its version, wherever that stands now; it never moves what is current."""
    document = event.document
    opened = Version(
        sequence=document.sequence,
        manifest=document.manifest,
        content=document.content,
        valid_from=document.manifest.ingested_at,
    )
    target = version_at(state, document.sequence)
    if target is None and document.sequence > state.high_water:
        # The stages were quicker than the ledger's own reading of raw-arrived: the result opens its version, and its
        # event, when it is read, says whether it stays (`_insert`).
        return msgspec.structs.replace(state, versions=[*state.versions, judged(opened, event, now)])
    if target is None:
        # Its event said what another version of this content had said.
        target = repeated_by(state, opened) or of_the_same_content(state, opened)
    if target is None:
        return state  # of a version that was trimmed
    after = judged(target, event, now)
    return state if after is target or after == target else replaced(state, after)


def _ignored(state: SourceState, event: Arrived, now: datetime) -> SourceState:
    """An operation of a later schema version, which this program does not know."""
    return seen(state, event.sequence)


RULES: dict[str, Callable[[SourceState, Any, datetime], SourceState]] = {
    Operation.UPSERT: _upsert,
    Operation.FAILED: _failed,
    Operation.MOVE: _change,
    Operation.ACL: _change,
    Operation.DELETE: _change,
    Operation.UNKNOWN: _ignored,
    "screened": _result,
    "decision": decide,
}
"""The table: which event changes what. A rule gives the same object back when nothing changes."""


def _kind(event: Event) -> str:
    if isinstance(event, Arrived):
        return event.event.operation
    return "screened" if isinstance(event, Screened) else "decision"


def _source_id(event: Event) -> str:
    if isinstance(event, Arrived):
        return event.event.source_id
    return event.document.source_id if isinstance(event, Screened) else event.source_id


def _dated(before: SourceState, after: SourceState, now: datetime, lane: Lane) -> SourceState:
    """When and in which lane a version became ready first: freshness is measured by it, so no replay may move it."""
    known = {version.sequence: version for version in before.versions}
    versions = []
    for version in after.versions:
        earlier = known.get(version.sequence)
        ready = version.outcome is Outcome.READY and version.ready_at is None
        if earlier is None or (ready and earlier.outcome is not Outcome.READY):
            version = msgspec.structs.replace(version, lane=lane, ready_at=now if ready else version.ready_at)
        versions.append(version)
    return msgspec.structs.replace(after, versions=versions)
