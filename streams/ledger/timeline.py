"""From facts to validity: intervals, current version and what is published follow from the facts and their order alone.

Facts (versions, moves, rights, deletes) carry the sequence of their event. Everything else is derived from their sorted
list, so the order in which they became known, and how often, can't matter. The facts of a child are sorted by the
events of its containers that brought them about, for its own may be published late and again.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Literal

import msgspec

from streams.records import Change, Operation, Outcome, Sequence, SourceState, Version

HeldUpdate = Literal["serve_stale", "withdraw"]
EARLIEST = datetime.min.replace(tzinfo=UTC)

Order = tuple[tuple[Sequence, ...], int, Sequence]
"""Where a fact stands: events of its containers, 1 for a delete that these brought about, its own event."""


def order(fact: Version | Change) -> Order:
    """Where a fact stands among those of its document."""
    if isinstance(fact, Version):
        return tuple(fact.manifest.parent_order), 0, fact.sequence
    by_parent = bool(fact.parent_order) and fact.operation is Operation.DELETE
    return tuple(fact.parent_order), int(by_parent), fact.sequence


class Life(msgspec.Struct):
    """From one creation to the deletion that ends it."""

    versions: list[Version]
    deleted: Change | None = None


def lives_of(versions: Iterable[Version], changes: Iterable[Change]) -> list[Life]:
    """The versions in their order, cut at the deletes.

    Within a life a source's own counter decides where every version has one, so a revision delivered late does not
    become the newest; without one, the log's order does. A delete starts counting afresh.
    """
    deletes = [change for change in changes if change.operation is Operation.DELETE]
    facts: list[Version | Change] = sorted([*versions, *deletes], key=order)
    lives = [Life(versions=[])]
    for fact in facts:
        if isinstance(fact, Version):
            lives[-1].versions.append(fact)
        else:
            lives[-1].deleted = fact
            lives.append(Life(versions=[]))
    for life in lives:
        life.versions = in_order(life.versions)
    return lives


def in_order(versions: list[Version]) -> list[Version]:
    """Versions of one life, oldest first: in the log's order, but each source's own counter decides among its own."""
    if len(versions) < 2:
        return list(versions)
    by_log = sorted(versions, key=order)
    of_source: dict[str, list[Version]] = {}
    for version in by_log:
        of_source.setdefault(version.manifest.source, []).append(version)
    for known in of_source.values():
        if all(version.manifest.revision_order is not None for version in known):
            known.sort(key=lambda version: version.manifest.revision_order or 0)  # keeps the log's order among equals
    if len(of_source) == 1:
        return next(iter(of_source.values()))
    turns = {source: iter(known) for source, known in of_source.items()}
    return [next(turns[version.manifest.source]) for version in by_log]


def version_at(state: SourceState, sequence: Sequence | None) -> Version | None:
    """The version with this sequence."""
    return next((version for version in state.versions if version.sequence == sequence), None)


def published_of(versions: list[Version], held_update: HeldUpdate) -> tuple[Version | None, bool]:
    """Which version consumers see, and whether it is stale (rules 5 and 7)."""
    if not versions:
        return None, False
    current = versions[-1]
    if current.outcome is Outcome.READY:
        return current, False
    if current.outcome is Outcome.SKIPPED:
        return None, False
    if current.outcome is Outcome.QUARANTINED and held_update == "withdraw":
        return None, False
    good = next((version for version in reversed(versions) if version.outcome is Outcome.READY), None)
    return good, good is not None and current.outcome is Outcome.QUARANTINED


def latest_place(state: SourceState, before: Order | None = None) -> tuple[str, str, str]:
    """Path, file name and source as the newest fact says, or the newest one before a place in the order."""
    known: list[tuple[Order, str, str, str]] = [
        (order(v), v.manifest.path, v.manifest.file_name, v.manifest.source) for v in state.versions
    ]
    source = max(known)[3] if known else state.source
    known += [(order(c), c.path, c.file_name or c.path.rsplit("/", 1)[-1], source) for c in state.changes if c.path]
    known = [entry for entry in known if before is None or entry[0] < before]
    if not known:
        return state.path, state.file_name, state.source
    _, path, file_name, _ = max(known)
    return path, file_name, source


def latest_rights(state: SourceState, before: Order | None = None) -> tuple[list[str] | None, str | None]:
    """Readers and owner as the newest fact says, or the newest one before a place in the order."""
    known: list[tuple[Order, list[str] | None, str | None]] = [
        (order(v), v.manifest.readers, v.manifest.owner) for v in state.versions
    ]
    known += [(order(c), c.readers, c.owner) for c in state.changes if c.operation in (Operation.ACL, Operation.UPSERT)]
    known = [entry for entry in known if before is None or entry[0] < before]
    if not known:
        return state.readers, state.owner
    _, readers, owner = max(known, key=lambda entry: entry[0])
    return readers, owner


def as_of(state: SourceState, moment: datetime) -> Version | None:
    """The version that was valid at `moment`; None when none was."""
    for version in state.versions:
        if version.valid_from <= moment and (version.valid_to is None or moment < version.valid_to):
            return version
    return None
