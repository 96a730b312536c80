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

from streams.errors import CanonryError
from streams.extract.registry import EXTRACTORS, named
from streams.ledger import children
from streams.ledger.bounds import trimmed
from streams.ledger.conflicts import verdict
from streams.ledger.derivation import derive
from streams.ledger.erasure import last_version, proofs, scrubbed
from streams.ledger.judgement import VERDICTS, digest, joined, judged, said, shared
from streams.ledger.policy import Policy
from streams.ledger.timeline import (
    Life,
    Order,
    in_order,
    latest_place,
    latest_rights,
    lives_of,
    order,
    version_at,
)
from streams.records import (
    Change,
    ChangeEvent,
    Decided,
    Decision,
    DecisionKind,
    Decoded,
    Deletion,
    DocumentRef,
    Erasure,
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


class DecisionRefused(CanonryError):
    """A decision that does not fit the state of its document (any more)."""

    code = "decision_refused"
    remedy = "Look at the document with `canonry doc` and decide again."


class Arrived(msgspec.Struct, frozen=True):
    """A change event at its place in the log."""

    event: ChangeEvent
    sequence: Sequence


Event = Arrived | Screened | Decision

KEEP_DECISIONS = 50


class Effects(msgspec.Struct, kw_only=True):
    """What an event makes visible on the topics of consumers."""

    publish: bool = False  # canon-ready gets the version `state.published`
    withdraw: bool = False  # canon-ready gets a null
    hold: bool = False  # quarantine gets the version `state.current`
    release: bool = False  # quarantine gets a null
    deletions: list[Deletion] = []
    extract: list[Decoded] = []  # to be extracted once more
    children: list[ChangeEvent] = []  # what the children have to be told

    def __bool__(self) -> bool:
        return (
            self.publish
            or self.withdraw
            or self.hold
            or self.release
            or bool(self.deletions or self.extract or self.children)
        )


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
    after = _dated(before, derive(trimmed(scrubbed(shared(changed))), policy), now, lane)
    return after, _difference(before, after)


# --- the table --------------------------------------------------------------------------------------------------------


def _upsert(state: SourceState, event: Arrived, now: datetime) -> SourceState:
    """Rules 2 and 6: a new content opens a version; what the predecessor says already does not."""
    assert event.event.content is not None
    manifest = event.event.manifest
    version = Version(
        sequence=event.sequence, manifest=manifest, content=event.event.content, valid_from=manifest.ingested_at
    )
    return _insert(state, version)


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
    return _insert(state, version)


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
        return _seen(state, event.sequence)
    # What counts is what stands before it: a result may have opened a later version already.
    life, earlier_lives = _life_at(state, here)
    lives = any(order(version) < here for version in life.versions)
    if operation is Operation.DELETE and earlier_lives and not lives and not change.parent_order:
        return _seen(state, event.sequence)  # deleted already
    if operation is Operation.MOVE or not any(order(version) < here for version in state.versions):
        change = msgspec.structs.replace(change, path=manifest.path, file_name=manifest.file_name)
    if operation is Operation.ACL:
        change = msgspec.structs.replace(change, readers=manifest.readers, owner=manifest.owner)
    if operation is Operation.DELETE:
        state = _unfolded(state, change)
    return _seen(
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
        target = _repeated_by(state, opened) or _of_the_same_content(state, opened)
    if target is None:
        return state  # of a version that was trimmed
    after = judged(target, event, now)
    return state if after is target or after == target else _replace(state, after)


def _of_the_same_content(state: SourceState, version: Version) -> Version | None:
    wanted = version.content.sha256 if version.content else None
    return next((v for v in state.versions if v.content and v.content.sha256 == wanted and v.erased_at is None), None)


def _decision(state: SourceState, event: Decision, now: datetime) -> SourceState:
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
    if target is not None and any(_same_decision(made, known) for known in target.decisions):
        return state  # carried out already
    claim = target is not None and event.kind in VERDICTS and _is_claim(state, target, event.kind)
    if target is None or (state.current != event.sequence and not claim):
        raise DecisionRefused(f"{event.source_id}: version {event.sequence.offset} is not the current one (any more).")
    if claim:
        pass  # it is about the conflict, whatever the screen says of the text
    elif event.kind in VERDICTS:
        made = _verdict(state, target, made)
    elif event.kind is DecisionKind.RE_EXTRACT:
        _require_extractable(state, target, event)
    else:
        raise DecisionRefused(
            f"{event.source_id}: the decision {event.kind.value!r} can't be carried out: no stage does it yet.",
            remedy="Extract it again with another tool, accept it as it is, or skip it.",
        )
    return _replace(state, msgspec.structs.replace(target, decisions=[*target.decisions, made][-KEEP_DECISIONS:]))


def _same_decision(one: Decided, other: Decided) -> bool:
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
    if wanted is Outcome.READY and not target.canons:
        raise DecisionRefused(
            f"{state.source_id}: there is no text to accept.", remedy="Extract it again with another tool, or skip it."
        )
    assert screening is not None  # what is held was judged
    return msgspec.structs.replace(made, findings=digest(screening))


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


def _ignored(state: SourceState, event: Arrived, now: datetime) -> SourceState:
    """An operation of a later schema version, which this program does not know."""
    return _seen(state, event.sequence)


RULES: dict[str, Callable[[SourceState, Any, datetime], SourceState]] = {
    Operation.UPSERT: _upsert,
    Operation.FAILED: _failed,
    Operation.MOVE: _change,
    Operation.ACL: _change,
    Operation.DELETE: _change,
    Operation.UNKNOWN: _ignored,
    "screened": _result,
    "decision": _decision,
}
"""The table: which event changes what. A rule gives the same object back when nothing changes."""

# --- how facts enter --------------------------------------------------------------------------------------------------


def _kind(event: Event) -> str:
    if isinstance(event, Arrived):
        return event.event.operation
    return "screened" if isinstance(event, Screened) else "decision"


def _source_id(event: Event) -> str:
    if isinstance(event, Arrived):
        return event.event.source_id
    return event.document.source_id if isinstance(event, Screened) else event.source_id


def _seen(state: SourceState, sequence: Sequence) -> SourceState:
    if sequence <= state.high_water:
        return state
    return msgspec.structs.replace(state, high_water=sequence)


def _life_at(state: SourceState, here: Order) -> tuple[Life, bool]:
    """The life that a fact of this place falls into, and whether a delete stands before it."""
    lives = lives_of(state.versions, state.changes)
    for index, life in enumerate(lives):
        if life.deleted is None or here < order(life.deleted):
            return life, index > 0
    raise AssertionError("the last life has no end")


def _repeated_by(state: SourceState, version: Version) -> Version | None:
    """The version that `version` says once more, if it does: the one right before it in the order of its life."""
    here = order(version)
    life, _ = _life_at(state, here)
    known = in_order([*(known for known in life.versions if order(known) < here), version])
    place = known.index(version)
    return known[place - 1] if place and _says_the_same(known[place - 1], version) else None


def _insert(state: SourceState, version: Version) -> SourceState:
    """A version becomes known, unless it is known, or repeats what stands before it."""
    known = version_at(state, version.sequence)
    if known is not None and version.sequence <= state.high_water:
        return state
    others = [other for other in state.versions if other is not known]
    before = _repeated_by(msgspec.structs.replace(state, versions=others), version)
    if before is not None:
        if known is not None:  # a result came before its event and opened a version that is none
            others = [joined(other, known) if other is before else other for other in others]
            state = msgspec.structs.replace(state, versions=others)
        return _repeated(state, version)
    if known is None:
        state = msgspec.structs.replace(state, versions=[*state.versions, version])
    return _seen(_unfolded(state, version), version.sequence)


def _says_the_same(one: Version, other: Version) -> bool:
    if one.manifest.native_revision != other.manifest.native_revision:
        return False
    if one.content is None or other.content is None:
        same = one.content is other.content and one.screening is not None and other.screening is not None
        return same and one.screening == other.screening
    return one.content.sha256 == other.content.sha256


def _repeated(state: SourceState, version: Version) -> SourceState:
    """The same content again: no version, but a new place or new rights count (rules 3 and 4)."""
    manifest = version.manifest
    if any(change.sequence == version.sequence for change in state.changes):
        return state
    if manifest.parent_order in _told_by_parent(state):
        return _seen(state, version.sequence)
    path, _, _ = latest_place(state, before=order(version))
    # A child's repetition is kept whatever it says: an event of its container may still come to stand before it.
    if not manifest.parent_order and (manifest.path, (manifest.readers, manifest.owner)) == (
        path,
        latest_rights(state, before=order(version)),
    ):
        return _seen(state, version.sequence)
    change = Change(
        operation=Operation.UPSERT,
        sequence=version.sequence,
        at=manifest.ingested_at,
        path=manifest.path,
        file_name=manifest.file_name,
        readers=manifest.readers,
        owner=manifest.owner,
        parent_order=manifest.parent_order,
    )
    return _seen(msgspec.structs.replace(state, changes=[*state.changes, change]), version.sequence)


def _told_by_parent(state: SourceState) -> list[list[Sequence]]:
    """Of a child: the events of its containers that are known to have brought it."""
    repeated = [change.parent_order for change in state.changes if change.operation is Operation.UPSERT]
    return [known for known in (*repeated, *(v.manifest.parent_order for v in state.versions)) if known]


def _unfolded(state: SourceState, fact: Version | Change) -> SourceState:
    """What repeats a child's version is a version itself, once a fact has come to stand between the two."""
    here = order(fact)
    before = max((v for v in state.versions if order(v) < here), key=order, default=None)
    after = min((v for v in state.versions if order(v) > here), key=order, default=None)
    repeated = [
        change
        for change in state.changes
        if change.operation is Operation.UPSERT
        and change.parent_order
        and here < order(change)
        and (after is None or order(change) < order(after))
    ]
    if before is None or not repeated:
        return state
    first = min(repeated, key=order)
    manifest = msgspec.structs.replace(
        before.manifest,
        path=first.path or before.manifest.path,
        file_name=first.file_name or before.manifest.file_name,
        readers=first.readers,
        owner=first.owner,
        observed_at=first.at,
        ingested_at=first.at,
        parent_order=first.parent_order,
    )
    version = Version(sequence=first.sequence, manifest=manifest, content=before.content, valid_from=first.at)
    return msgspec.structs.replace(
        state,
        versions=[*state.versions, version],
        changes=[change for change in state.changes if change is not first],
    )


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


def _replace(state: SourceState, version: Version) -> SourceState:
    versions = [version if known.sequence == version.sequence else known for known in state.versions]
    return msgspec.structs.replace(state, versions=versions)


# --- effects ----------------------------------------------------------------------------------------------------------


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
    return (version.sequence, version.screening, state.path, state.readers, state.owner)


def standing(state: SourceState) -> Effects:
    """What stands on `canon-ready` and `quarantine` when consumers see exactly this state."""
    seen, held = _seen_by_consumers(state) is not None, _held(state) is not None
    return Effects(publish=seen, withdraw=not seen, hold=held, release=not held)


def _difference(before: SourceState, after: SourceState) -> Effects:
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
    effects.children = children.events(before, after)
    return effects


def _extractions(before: SourceState, after: SourceState) -> list[Decoded]:
    """What newly made decisions send to an extractor again, as decode would."""
    found = []
    for version in after.versions:
        asked = [made for made in version.decisions if made.kind is DecisionKind.RE_EXTRACT]
        if not asked or version.content is None:
            continue
        known = version_at(before, version.sequence)
        document = DocumentRef(
            source_id=after.source_id, sequence=version.sequence, content=version.content, manifest=version.manifest
        )
        found += [
            Decoded(
                document=document,
                detection=version.detection,
                tool=made.tool,
                children=[child for child in version.children if not child.gone],
            )
            for made in asked
            if known is None or made not in known.decisions
        ]
    return found


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
