"""How facts enter the state of a document: once, whatever is delivered again, and where they belong."""

from __future__ import annotations

import msgspec

from streams.ledger.judgement import joined, said
from streams.ledger.timeline import Life, Order, in_order, latest_place, latest_rights, lives_of, order, version_at
from streams.records import Change, Operation, Sequence, SourceState, Version


def seen(state: SourceState, sequence: Sequence) -> SourceState:
    if sequence <= state.high_water:
        return state
    return msgspec.structs.replace(state, high_water=sequence)


def life_at(state: SourceState, here: Order) -> tuple[Life, bool]:
    """The life that a fact of this place falls into, and whether a delete stands before it."""
    lives = lives_of(state.versions, state.changes)
    for index, life in enumerate(lives):
        if life.deleted is None or here < order(life.deleted):
            return life, index > 0
    raise AssertionError("the last life has no end")


def repeated_by(state: SourceState, version: Version) -> Version | None:
    """The version that `version` says once more, if it does: the one right before it in the order of its life."""
    here = order(version)
    life, _ = life_at(state, here)
    known = in_order([*(known for known in life.versions if order(known) < here), version])
    place = known.index(version)
    return known[place - 1] if place and _says_the_same(known[place - 1], version) else None


def insert(state: SourceState, version: Version) -> SourceState:
    """A version becomes known, unless it is known, or repeats what stands before it."""
    known = version_at(state, version.sequence)
    if known is not None and version.sequence <= state.high_water:
        return state
    others = [other for other in state.versions if other is not known]
    before = repeated_by(msgspec.structs.replace(state, versions=others), version)
    if before is not None:
        if known is not None:  # a result came before its event and opened a version that is none
            others = [joined(other, known) if other is before else other for other in others]
            state = msgspec.structs.replace(state, versions=others)
        return _repeated(state, version)
    if known is None:
        state = msgspec.structs.replace(state, versions=[*state.versions, version])
    return seen(unfolded(state, version), version.sequence)


def _says_the_same(one: Version, other: Version) -> bool:
    if one.manifest.native_revision != other.manifest.native_revision:
        return False
    if one.content is None or other.content is None:
        found, again = said(one), said(other)
        if one.content is not other.content or found is None or again is None:
            return False
        return (found.outcome, found.problems, found.rule) == (again.outcome, again.problems, again.rule)
    return one.content.sha256 == other.content.sha256


def _repeated(state: SourceState, version: Version) -> SourceState:
    """The same content again: no version, but a new place or new rights count (rules 3 and 4)."""
    manifest = version.manifest
    if any(change.sequence == version.sequence for change in state.changes):
        return state
    if manifest.parent_order in _told_by_parent(state):
        return seen(state, version.sequence)
    path, _, _ = latest_place(state, before=order(version))
    # A child's repetition is kept whatever it says: an event of its container may still come to stand before it.
    if not manifest.parent_order and (manifest.path, (manifest.readers, manifest.owner)) == (
        path,
        latest_rights(state, before=order(version)),
    ):
        return seen(state, version.sequence)
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
    return seen(msgspec.structs.replace(state, changes=[*state.changes, change]), version.sequence)


def _told_by_parent(state: SourceState) -> list[list[Sequence]]:
    """Of a child: the events of its containers that are known to have brought it."""
    repeated = [change.parent_order for change in state.changes if change.operation is Operation.UPSERT]
    # A version that only its result has opened so far may turn out to be none.
    opened = [v.manifest.parent_order for v in state.versions if v.sequence <= state.high_water]
    return [known for known in (*repeated, *opened) if known]


def unfolded(state: SourceState, fact: Version | Change) -> SourceState:
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


def of_the_same_content(state: SourceState, version: Version) -> Version | None:
    wanted = version.content.sha256 if version.content else None
    return next((v for v in state.versions if v.content and v.content.sha256 == wanted and v.erased_at is None), None)


def replaced(state: SourceState, version: Version) -> SourceState:
    versions = [version if known.sequence == version.sequence else known for known in state.versions]
    return msgspec.structs.replace(state, versions=versions)
