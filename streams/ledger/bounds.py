"""One state is one record on `versions`: bounded in number and in bytes. What is trimmed stays in `raw-arrived`."""

from __future__ import annotations

import msgspec

from streams.ledger.timeline import order
from streams.records import Change, Operation, SourceState, Version
from streams.records.codec import encode

KEEP_VERSIONS = 200
KEEP_CHANGES = 200
MOST_BYTES = 800 * 1024
"""Bytes of a state; one that grows beyond makes each event of its document slow."""
MOST_WITH_MEMBERS = 6 << 20
"""The same of a container, whose newest listing is kept whole. A record on `versions` may have 7 MiB; the rest is for
what `derive` adds."""
SMALL = 8
"""States with no more facts than this are not measured: only absurd manifests could make them large."""


def trimmed(state: SourceState) -> SourceState:
    """The state without its oldest facts, as many as its bounds ask for.

    Kept whatever its age: the version that is current, the one that consumers see, each source's newest claim, the
    newest listing of children, the newest place, the newest rights, and every delete that parts versions that are kept.
    """
    if len(state.versions) > KEEP_VERSIONS or len(state.changes) > KEEP_CHANGES:
        state = _newest(state, KEEP_VERSIONS, KEEP_CHANGES)
    keep = max(len(state.versions), len(state.changes))
    while keep > SMALL and _too_large(state):
        keep = keep * 3 // 4
        state = _newest(state, keep, keep)
    return _without_former_children(state) if _too_large_for_children(state) else state


def _too_large_for_children(state: SourceState) -> bool:
    return any(version.children for version in state.versions) and _too_large(state)


def _without_former_children(state: SourceState) -> SourceState:
    """Of a container with very many members, only those of the newest listing are kept; the others have been told."""
    newest = max((version for version in state.versions if version.listed_at is not None), key=order)
    return msgspec.structs.replace(
        state,
        versions=[
            version if version is newest else msgspec.structs.replace(version, children=[])
            for version in state.versions
        ],
    )


def _too_large(state: SourceState) -> bool:
    # JSON repeats the names of all fields, so what is small as JSON is smaller as Avro, and it is made much faster.
    most = MOST_WITH_MEMBERS if any(version.children for version in state.versions) else MOST_BYTES
    return len(msgspec.json.encode(state)) > most and len(encode(state)) > most


def _newest(state: SourceState, versions: int, changes: int) -> SourceState:
    by_age = sorted(state.versions, key=order)
    claims = {version.manifest.source: version.sequence for version in by_age}
    listing = [version.sequence for version in by_age if version.listed_at is not None][-1:]
    newest = [version.sequence for version in by_age[-versions:]]
    always = {state.current, state.published, *claims.values(), *listing, *newest}
    kept = [version for version in by_age if version.sequence in always]
    return msgspec.structs.replace(state, versions=kept, changes=_needed(state, kept, changes))


def _needed(state: SourceState, versions: list[Version], count: int) -> list[Change]:
    by_age = sorted(state.changes, key=order)
    oldest = order(versions[0]) if versions else None
    placing = [change for change in by_age if change.path][-1:]
    granting = [change for change in by_age if change.operation in (Operation.ACL, Operation.UPSERT)][-1:]
    ending = [
        change
        for change in by_age
        if change.operation is Operation.DELETE and (oldest is None or order(change) > oldest)
    ]
    needed = {change.sequence for change in (*by_age[-count:], *placing, *granting, *ending)}
    return [change for change in by_age if change.sequence in needed]
