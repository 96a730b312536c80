"""Rule 6 for members and attachments: what happens to a container reaches its children, each a document of its own.

Children stand in other partitions, so what concerns them is said on `raw-arrived`, by events that carry the place of
their cause (`Manifest.parent_order`). A child's facts are ordered by that, not by their own offsets: an upsert that
decode publishes once more, or only after the container was deleted, stands before the delete and stays without effect.
What was told already is told again with the same place, and counts once.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import msgspec

from streams.ledger.timeline import Order, lives_of, order
from streams.records import Change, ChangeEvent, Child, Manifest, Operation, Sequence, SourceState, Version

ACTOR = "canonry/ledger"
ATTACHMENTS_NOT_READ = "attachments_not_read"
"""A warning of decode: it could not look for members, so their absence from a result says nothing."""


class Cause(msgspec.Struct, frozen=True):
    """A fact of the container that its child has to know."""

    operation: Operation
    parent_order: list[Sequence]
    at: datetime
    actor: str | None = None
    reason: str | None = None


class Fate(msgspec.Struct):
    """Where a child stands: alive and known from a version, or gone."""

    child: Child
    listed_by: Version
    gone: Cause | None = None


def order_below(parent_order: list[Sequence], sequence: Sequence) -> list[Sequence]:
    """The `parent_order` of the children that the event `sequence` of a container brings."""
    return [*parent_order, sequence]


def child_path(path: str, child: Child) -> str:
    """Where a person finds a child: in its container."""
    return f"{path}/{child.path}"


def living(state: SourceState) -> list[str]:
    """The children that the document has now."""
    return sorted(source_id for source_id, fate in _fates(state).items() if fate.gone is None)


def events(before: SourceState, after: SourceState) -> list[ChangeEvent]:
    """What the children have to be told: whatever is new in what concerns them."""
    fates, known = _fates(after), _fates(before)
    if not fates and not known:
        return []
    earlier = _causes(before, known)
    for source_id, fate in known.items():
        if source_id not in fates and fate.gone is None:  # its version was trimmed in the same moment
            _end(fate, max(after.versions, key=order))
            fates[source_id] = fate
    return [
        _event(after, fates[source_id].child, cause)
        for source_id, causes in sorted(_causes(after, fates).items())
        for cause in causes
        if cause not in earlier.get(source_id, ())
    ]


def _fates(state: SourceState) -> dict[str, Fate]:
    """Every child that any version ever had."""
    if not any(version.children for version in state.versions):
        return {}
    fates: dict[str, Fate] = {}
    for life in lives_of(state.versions, state.changes):
        for version in _as_they_followed(life.versions):
            if version.listed_at is not None and not version.contested:
                _look(fates, version)
        if life.deleted is not None:
            for fate in fates.values():
                fate.gone = fate.gone or _deleted(life.deleted)
    return fates


def _as_they_followed(versions: list[Version]) -> Iterator[Version]:
    """The versions of one life in the order in which they superseded each other."""
    before = {version.superseded_by: version for version in versions if version.superseded_by is not None}
    found = [version for version in versions if version.superseded_by is None][-1:]
    while found and found[-1].sequence in before:
        found.append(before[found[-1].sequence])
    return reversed(found)


def _look(fates: dict[str, Fate], version: Version) -> None:
    listed = {child.source_id for child in version.children if not child.gone}
    for child in version.children:
        fates[child.source_id] = Fate(child, version)
    for source_id, fate in fates.items():
        if source_id not in listed and fate.gone is None:
            _end(fate, version)


def _end(fate: Fate, version: Version) -> None:
    # A revision that was delivered late may have brought it after the one that ends it.
    last = max(version, fate.listed_by, key=order)
    below = order_below(last.manifest.parent_order, last.sequence)
    at = version.manifest.ingested_at
    fate.gone = Cause(Operation.DELETE, below, at, ACTOR, "its container has it no more")


def _deleted(change: Change) -> Cause:
    reason = "its container was deleted" + (f": {change.reason}" if change.reason else "")
    below = order_below(change.parent_order, change.sequence)
    return Cause(Operation.DELETE, below, change.at, change.actor, reason)


def _causes(state: SourceState, fates: dict[str, Fate]) -> dict[str, list[Cause]]:
    """What each child has to know beyond what decode told it when it was listed."""
    since: dict[Sequence, list[Cause]] = {}
    found: dict[str, list[Cause]] = {}
    for source_id, fate in fates.items():
        if fate.gone is not None:
            found[source_id] = [fate.gone]
            continue
        listed = fate.listed_by
        if listed.sequence not in since:
            since[listed.sequence] = [*_changed(state, Operation.MOVE, listed), *_changed(state, Operation.ACL, listed)]
        found[source_id] = since[listed.sequence]
    return found


def _changed(state: SourceState, operation: Operation, listed: Version) -> list[Cause]:
    """The fact, if there is one, that last changed place or rights after a version."""
    said, last = None, []
    for place, value, cause in sorted(_facts(state, operation), key=lambda fact: fact[0]):
        if place > order(listed) and value != said:
            last = [cause]
        if place >= order(listed):
            said = value
    return last


def _facts(state: SourceState, operation: Operation) -> Iterator[tuple[Order, object, Cause]]:
    """The facts that say where the container is, or who may read it."""
    moves = operation is Operation.MOVE
    for version in state.versions:
        manifest = version.manifest
        below = order_below(manifest.parent_order, version.sequence)
        value: object = manifest.path if moves else (manifest.readers, manifest.owner)
        yield order(version), value, Cause(operation, below, manifest.ingested_at)
    for change in state.changes:
        if change.path is not None if moves else change.operation in (Operation.ACL, Operation.UPSERT):
            below = order_below(change.parent_order, change.sequence)
            value = change.path if moves else (change.readers, change.owner)
            yield order(change), value, Cause(operation, below, change.at, change.actor, change.reason)


def _event(state: SourceState, child: Child, cause: Cause) -> ChangeEvent:
    path = child_path(state.path, child)
    return ChangeEvent(
        source_id=child.source_id,
        operation=cause.operation,
        manifest=Manifest(
            path=path,
            file_name=path.rsplit("/", 1)[-1],
            source=state.source,
            native_id=child.source_id.removeprefix(f"{state.source}:"),
            observed_at=cause.at,
            ingested_at=cause.at,
            owner=state.owner,
            readers=state.readers,
            parent_source_id=state.source_id,
            parent_order=cause.parent_order,
        ),
        actor=cause.actor,
        reason=cause.reason,
    )
