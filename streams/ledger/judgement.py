"""Results of one version: which of them counts does not depend on the order or the number of their arrivals.

A result's age is the time of its work, which it carries along; the newest decides, the others are archived.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

import msgspec

from streams.ledger.timeline import EARLIEST
from streams.records import CanonVersion, Outcome, Payload, Screened, Screening, Version


def judged_by(version: Version, event: Screened, now: datetime) -> Version:
    """`version` as if this result were the only one it ever had."""
    canons: list[CanonVersion] = []
    made = max((timing.started_at for timing in event.timings), default=version.manifest.ingested_at)
    if event.payload is not None and event.attempt is not None:
        slim = Payload(key=event.payload.key, sha256=event.payload.sha256, size=event.payload.size)
        canons = [CanonVersion(payload=slim, attempt=event.attempt, created_at=made)]
    return msgspec.structs.replace(
        version,
        outcome=event.screening.outcome,
        detection=event.detection,
        screening=msgspec.structs.replace(event.screening, pages=[]),  # per page: on the records of consumers
        summary=event.summary,
        canons=canons,
        timings=event.timings,
        settled_at=now,
    )


def borrowing(version: Version, others: Iterable[Version]) -> Version:
    """A, B, A: a new version with the judgement of the same content, for the same extractor gives the same canon.

    Its own result, when it comes, takes the place of what was borrowed; no timings mark it as such.
    """
    content = version.content
    twins = [
        other
        for other in others
        if content is not None
        and other.content is not None
        and other.content.sha256 == content.sha256
        and other.outcome is not Outcome.PENDING
        and other.erased_at is None
    ]
    if not twins:
        return version
    twin = max(twins, key=lambda other: (age(other), other.sequence))
    return msgspec.structs.replace(
        version,
        outcome=twin.outcome,
        detection=twin.detection,
        screening=twin.screening,
        summary=twin.summary,
        canons=twin.canons,
        settled_at=twin.settled_at,
    )


def age(version: Version) -> datetime:
    """When the judgement that counts was made."""
    return max((timing.started_at for timing in version.timings), default=EARLIEST)


def merged(known: Version, other: Version) -> Version:
    """`known` with the results of `other`: the newer judgement counts, the canons of both are kept (rules 5 and 9)."""
    borrowed = not known.timings
    if known.outcome is Outcome.PENDING or (borrowed and not _was_decided(known.screening, other.screening)):
        counts, canons = other, other.canons
    else:
        newer = not borrowed and age(other) > age(known) and not _was_decided(known.screening, other.screening)
        counts, canons = (other if newer else known), _all(known.canons, other.canons, other.settled_at)
    # Pending is left once and never entered again; the other outcomes change with a newer judgement.
    assert counts.outcome is not Outcome.PENDING or known.outcome is Outcome.PENDING
    return msgspec.structs.replace(
        known,
        outcome=counts.outcome,
        detection=counts.detection,
        screening=counts.screening,
        summary=counts.summary,
        canons=canons,
        timings=other.timings if borrowed else counts.timings,
        settled_at=counts.settled_at,
    )


def _was_decided(known: Screening | None, other: Screening | None) -> bool:
    """Whether a person decided otherwise on the very findings that `other` has: the decision stands."""
    if known is None or other is None or known.outcome is other.outcome:
        return False
    return msgspec.structs.replace(known, outcome=other.outcome, rule=other.rule, error=other.error) == other


def _all(one: list[CanonVersion], other: list[CanonVersion], now: datetime | None) -> list[CanonVersion]:
    """The canons of both, one for each fingerprint, oldest first; all but the newest are archived."""
    found: dict[str, CanonVersion] = {}
    for canon in (*one, *other):
        before = found.get(canon.attempt.fingerprint)
        if before is None or before.created_at < canon.created_at:
            found[canon.attempt.fingerprint] = canon
    canons = sorted(found.values(), key=lambda canon: (canon.created_at, canon.attempt.fingerprint))
    return (
        [
            *(msgspec.structs.replace(canon, archived_at=canon.archived_at or now) for canon in canons[:-1]),
            msgspec.structs.replace(canons[-1], archived_at=None),
        ]
        if canons
        else []
    )
