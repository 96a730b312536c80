"""Erasure on demand: what a deleted document said is dropped from its versions, the proof of it is kept.

An erasure is a fact like others: whatever becomes known later of the lives that it covers is erased as well. Kept are
the facts: content hash, times, place, rights, outcome with its codes and scores.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from streams.ledger.judgement import numbers, without_text
from streams.ledger.timeline import lives_of, order
from streams.records import Change, Deletion, ErasedContent, Erasure, Sequence, SourceState, Version


def scrubbed(state: SourceState) -> SourceState:
    """The state without the text of the versions that its erasures cover."""
    if not state.erasures:
        return state
    covered = _covered(state)
    return msgspec.structs.replace(
        state,
        versions=[
            _scrub(version, covered[version.sequence]) if version.sequence in covered else version
            for version in state.versions
        ],
    )


def proofs(before: SourceState, after: SourceState) -> list[Deletion]:
    """What is to be said on `deleted`: each new erasure, and each that came to cover more than before."""
    known = {erasure.sequence: _contents(before, erasure) for erasure in before.erasures}
    found = []
    for erasure in after.erasures:
        contents = _contents(after, erasure)
        if erasure.sequence not in known or not contents <= known[erasure.sequence]:
            found.append(_proof(after, erasure, contents))
    return found


def last_version(state: SourceState, change: Change | None) -> Version | None:
    """The last version before a delete; None when it met nothing."""
    if change is None:
        return None
    return max((v for v in state.versions if order(v) < order(change)), key=order, default=None)


def _covered(state: SourceState) -> dict[Sequence, Erasure]:
    """Of each erased version the first erasure that covers it."""
    by_age = sorted(state.erasures, key=lambda erasure: erasure.sequence)
    found: dict[Sequence, Erasure] = {}
    for life in lives_of(state.versions, state.changes):
        if life.deleted is None:
            continue
        covering = next((e for e in by_age if life.deleted.sequence <= e.sequence), None)
        if covering is not None:
            found |= {version.sequence: covering for version in life.versions}
    return found


def _scrub(version: Version, erasure: Erasure) -> Version:
    canons = {canon.attempt.fingerprint for canon in version.canons}
    return msgspec.structs.replace(
        version,
        screening=numbers(version.screening) if version.screening is not None else None,
        found=numbers(version.found) if version.found is not None else None,
        summary=None,
        canons=[],
        others=[without_text(other) for other in version.others],
        erased_at=erasure.erased_at,
        erased=sorted(canons.union(version.erased)),
    )


def _contents(state: SourceState, erasure: Erasure) -> set[tuple[str, str]]:
    covered = _covered(state)
    return {
        (version.content.sha256, fingerprint)
        for version in state.versions
        if version.content is not None and covered.get(version.sequence) == erasure
        for fingerprint in (*version.erased, "")
    }


def _proof(state: SourceState, erasure: Erasure, contents: Iterable[tuple[str, str]]) -> Deletion:
    change = next((change for change in state.changes if change.sequence == erasure.sequence), None)
    last = last_version(state, change)
    by_hash: dict[str, list[str]] = {}
    for content_hash, fingerprint in sorted(contents):
        by_hash.setdefault(content_hash, []).extend([fingerprint] if fingerprint else [])
    return Deletion(
        source_id=state.source_id,
        sequence=erasure.sequence,
        source=state.source,
        path=state.path,
        content_hash=last.content.sha256 if last and last.content else None,
        parent_source_id=state.parent_source_id,
        actor=change.actor if change else None,
        reason=change.reason if change else None,
        deleted_at=change.at if change else erasure.erased_at,
        erased_at=erasure.erased_at,
        erased_by=erasure.actor,
        erased_why=erasure.reason,
        erased=[ErasedContent(content_hash=name, fingerprints=found) for name, found in by_hash.items()],
    )
