"""What was true of a document at a moment of the past: from the facts that were known then."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

import msgspec

from streams.ledger.timeline import HeldUpdate, as_of, latest_place, latest_rights, lives_of, published_of
from streams.records import Change, Operation, Outcome, SourceState, Version


class Standing(StrEnum):
    """How a document stood at a moment."""

    VALID = "valid"
    BEFORE = "before"  # nothing was known of it yet
    DELETED = "deleted"
    UNKNOWN = "unknown"  # its facts of then are not kept any more


class Past(msgspec.Struct, frozen=True, kw_only=True):
    """What was true at a moment."""

    standing: Standing
    first_known: datetime | None  # when the oldest fact that is kept became known
    version: Version | None = None  # that was valid; of a deleted one, the last before its delete
    path: str = ""
    readers: list[str] | None = None
    owner: str | None = None
    outcome: Outcome | None = None  # of that version as it was then; UNKNOWN: it was judged anew since
    seen: Version | None = None  # whose canon consumers saw
    seen_is_known: bool = True
    stale: bool = False  # what they saw was marked so
    deleted: Change | None = None  # the delete that was in force


def past(state: SourceState, moment: datetime, held_update: HeldUpdate) -> Past:
    """How a document stood at `moment`.

    Args:
        held_update: the policy of its source, as if it had been the same then.
    """
    facts = sorted([*(v.manifest.ingested_at for v in state.versions), *(change.at for change in state.changes)])
    first = facts[0] if facts else None
    if first is None or moment < first:
        return Past(standing=Standing.BEFORE, first_known=first)
    then = msgspec.structs.replace(
        state,
        versions=[version for version in state.versions if version.manifest.ingested_at <= moment],
        changes=[change for change in state.changes if change.at <= moment],
    )
    path, _, _ = latest_place(then)
    readers, owner = latest_rights(then)
    version = as_of(then, moment)
    if version is None:
        deletes = [change for change in then.changes if change.operation is Operation.DELETE]
        return Past(
            standing=Standing.DELETED if deletes else Standing.UNKNOWN,
            first_known=first,
            version=max(then.versions, key=lambda known: known.sequence, default=None),
            path=path,
            readers=readers,
            owner=owner,
            deleted=max(deletes, key=lambda change: change.sequence, default=None),
        )
    (life,) = [life for life in lives_of(then.versions, state.changes) if version in life.versions]
    so_far = life.versions[: life.versions.index(version) + 1]
    judged = [msgspec.structs.replace(known, outcome=outcome_at(known, moment)) for known in so_far]
    seen, stale = published_of(judged, held_update)
    decided_by_last = judged[-1].outcome in (Outcome.READY, Outcome.SKIPPED)  # whatever those before it were
    known = decided_by_last or all(item.outcome is not Outcome.UNKNOWN for item in judged)
    return Past(
        standing=Standing.VALID,
        first_known=first,
        version=version,
        path=path,
        readers=readers,
        owner=owner,
        outcome=judged[-1].outcome,
        seen=seen if known else None,
        seen_is_known=known,
        stale=stale and known,
    )


def outcome_at(version: Version, moment: datetime) -> Outcome:
    """The outcome that a version had at a moment. Only the newest judgement is kept: UNKNOWN says that there was one
    before, which may have been another. Once it was ready, it was not pending any more, whatever came between."""
    if version.settled_at is not None and version.settled_at <= moment:
        return version.outcome
    judged_before = version.ready_at is not None and version.ready_at <= moment
    judged_before = judged_before or any(
        canon.archived_at is not None and canon.created_at <= moment for canon in version.canons
    )
    return Outcome.UNKNOWN if judged_before else Outcome.PENDING
