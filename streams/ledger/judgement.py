"""Results of one content: which of them counts does not depend on the order or the number of their arrivals.

A judgement is what came of one attempt: of one fingerprint, or of none where nothing was extracted. Of each the newest
is kept, by the time of its work, which it carries along. Versions of the same content share them, for the same
extractor makes the same canon of the same bytes. The newest that is not held counts, so a failed second attempt leaves
a good canon where it is. So does a screen that fails (`is_verdict`): it has read nothing, so it says nothing against
what was judged of the same attempt before. Where all are held, the best attempt stands: a text before none, fewer
problems before more, then the newest. What a person decided about findings stands as long as these are what is judged.
Once a version is erased, no result says anything more of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from datetime import datetime, timedelta

import msgspec

from streams.ledger.children import ATTACHMENTS_NOT_READ
from streams.ledger.timeline import EARLIEST
from streams.records import (
    Attempt,
    CanonVersion,
    Child,
    Decided,
    DecisionKind,
    Judgement,
    Outcome,
    Payload,
    Screened,
    Screening,
    SourceState,
    Version,
)

KEEP_JUDGEMENTS = 20
VERDICTS = (DecisionKind.ACCEPT, DecisionKind.SKIP, DecisionKind.UNDO)
WORK = (DecisionKind.RE_EXTRACT, DecisionKind.RECOGNIZE)
"""Decisions that ask for another attempt, and are answered by its result."""

CLOCKS_DIFFER = timedelta(seconds=2)
"""Work that began so much before its decision, by the clock of another machine, may still be its answer."""


def judged(version: Version, event: Screened, now: datetime) -> Version:
    """`version` with one result more; the same object when that says nothing new."""
    if version.erased_at is not None:
        had = {event.attempt.fingerprint} if event.payload is not None and event.attempt is not None else set()
        return _still_erased(version, had, *_children(version, event))
    known = judgements(version)
    result = Judgement(
        fingerprint=event.attempt.fingerprint if event.attempt is not None else "",
        detection=event.detection,
        screening=msgspec.structs.replace(event.screening, pages=[]),  # per page: on the records of consumers
        summary=event.summary,
        timings=event.timings,
        settled_at=now,
        attempt=event.attempt if event.payload is None else None,
    )
    outdone = result.fingerprint in _outdone([result], known)
    canons: list[CanonVersion] = []
    if event.payload is not None and event.attempt is not None and not outdone:
        slim = Payload(key=event.payload.key, sha256=event.payload.sha256, size=event.payload.size)
        made = max((timing.started_at for timing in event.timings), default=version.manifest.ingested_at)
        canons = [CanonVersion(payload=slim, attempt=event.attempt, created_at=made)]
    sound = _sound(version, [result])
    decisions = _answered(version.decisions, result)
    more = _with(sound, _newest(known, [result]), canons, decisions, *_children(version, event))
    told = outdone or (any(_says_the_same(judgement, result) for judgement in known) and _kept(version, canons))
    if told and (more.fingerprint, more.children) == (version.fingerprint, version.children):
        # Done once more with the same end: not even the time since when it waits is another one.
        same = decisions == version.decisions
        return version if same else msgspec.structs.replace(version, decisions=decisions)
    return more


def _answered(decisions: list[Decided], result: Judgement) -> list[Decided]:
    """The decisions, where those that asked for work before this work began have their answer."""
    began = _age(result) + CLOCKS_DIFFER
    return [
        msgspec.structs.replace(made, answered_at=result.settled_at)
        if made.kind in WORK and made.answered_at is None and (made.carried_out_at or made.decided_at) <= began
        else made
        for made in decisions
    ]


def joined(version: Version, other: Version) -> Version:
    """`version` with all that is known of `other`, which has the same content."""
    children, listed_at = _union(version.children, version.listed_at, other.children, other.listed_at)
    if version.erased_at is not None:
        had = {canon.attempt.fingerprint for canon in other.canons}.union(other.erased)
        return _still_erased(version, had, children, listed_at)
    decisions = [*version.decisions, *(made for made in other.decisions if made not in version.decisions)]
    known, more = judgements(version), judgements(other)
    return _with(
        _sound(version, more), _newest(known, more), _sound(other, known).canons, decisions, children, listed_at
    )


def shared(state: SourceState, before: SourceState) -> SourceState:
    """The state with each content's judgements known to all its versions, and with the one that counts on top.

    Args:
        before: the state that an event has changed; the versions that it left alone share already.
    """
    left = {id(version) for version in before.versions}
    touched = {v.content.sha256 for v in state.versions if v.content is not None and id(v) not in left}
    by_content: dict[str, list[Version]] = {}
    for version in state.versions:
        if version.content is not None and version.erased_at is None and version.content.sha256 in touched:
            by_content.setdefault(version.content.sha256, []).append(version)
    pools: dict[str, Version] = {}
    for content, versions in by_content.items():
        if len(versions) > 1:
            pool = versions[0]
            for version in versions[1:]:
                pool = joined(pool, version)
            pools[content] = pool
    found = []
    for version in state.versions:
        if version.content is not None and version.erased_at is None and version.content.sha256 in pools:
            pool = pools[version.content.sha256]
            own = [made for made in version.decisions if not made.findings]
            about = [made for made in pool.decisions if made.findings]
            known = judgements(pool)
            version = _with(_sound(version, known), known, pool.canons, [*about, *own], pool.children, pool.listed_at)
        elif version.erased_at is None and (version.overruled or version.decisions):
            version = _with(version, judgements(version), [], version.decisions)
        found.append(version)
    return msgspec.structs.replace(state, versions=found)


def judgements(version: Version) -> list[Judgement]:
    """All judgements of a version, the one that counts last."""
    screening = said(version)
    if screening is None:
        return list(version.others)
    fingerprint = version.fingerprint
    if not fingerprint and version.outcome is Outcome.READY and version.canons:
        fingerprint = version.canons[-1].attempt.fingerprint  # of a state that was written before this was kept
    return [
        *version.others,
        Judgement(
            fingerprint=fingerprint,
            detection=version.detection,
            screening=screening,
            summary=version.summary,
            timings=version.timings,
            settled_at=(version.found_at if version.overruled else version.settled_at) or EARLIEST,
            attempt=version.attempt,
        ),
    ]


def said(version: Version) -> Screening | None:
    """What the screen said of a version, whatever was decided since."""
    return version.found if version.overruled else version.screening


def verdict_of_a_person(version: Version) -> DecisionKind | None:
    """Accept or skip, where such a decision stands about what was found."""
    known = judgements(version)
    made = _decided(known[-1], version.decisions) if known else None
    return made.kind if made is not None else None


def held_since(version: Version) -> datetime | None:
    """Since when a held version is held: another attempt that is held as well is no new beginning."""
    times = [judgement.settled_at for judgement in judgements(version) if judgement.settled_at != EARLIEST]
    return min(times, default=version.settled_at)


def attempts(version: Version) -> list[Attempt]:
    """All attempts at a version that are known, each with what was found; the one that counts last."""
    by_canon = {canon.attempt.fingerprint: canon.attempt for canon in version.canons}
    found = []
    for judgement in judgements(version):
        attempt = judgement.attempt or by_canon.get(judgement.fingerprint)
        if attempt is not None:
            screening = judgement.screening
            found.append(msgspec.structs.replace(attempt, problems=screening.problems, error=screening.error))
    return found


def is_verdict(judgement: Judgement) -> bool:
    """Whether a screen has judged the text; if not, the document ended before, or the screen itself failed."""
    return bool(judgement.screening.policy or judgement.screening.scores or judgement.summary)


def without_text(judgement: Judgement) -> Judgement:
    """What is left of a judgement after an erasure."""
    return msgspec.structs.replace(judgement, screening=numbers(judgement.screening), summary=None)


def numbers(screening: Screening) -> Screening:
    """The verdict with its codes and scores, without words."""
    return msgspec.structs.replace(screening, error=None, pages=[])


def digest(judgement: Judgement) -> str:
    """Names what was found in which text, so that a decision can refer to it."""
    return hashlib.sha256(msgspec.json.encode((judgement.fingerprint, judgement.screening))).hexdigest()[:16]


def overruled(version: Version, screening: Screening, since: datetime) -> Version:
    """`version` with another verdict on top of what the screen said."""
    return msgspec.structs.replace(
        version,
        outcome=screening.outcome,
        screening=screening,
        settled_at=since,
        overruled=True,
        found=said(version),
        found_at=version.found_at if version.overruled else version.settled_at,
    )


def _age(judgement: Judgement) -> datetime:
    return max((timing.started_at for timing in judgement.timings), default=EARLIEST)


def _says_the_same(one: Judgement, other: Judgement) -> bool:
    return (one.fingerprint, one.detection, one.screening, one.summary) == (
        other.fingerprint,
        other.detection,
        other.screening,
        other.summary,
    )


def _kept(version: Version, canons: list[CanonVersion]) -> bool:
    known = {(canon.attempt.fingerprint, canon.payload.sha256) for canon in version.canons}
    return all(
        (canon.attempt.fingerprint, canon.payload.sha256) in known or canon.attempt.fingerprint in version.erased
        for canon in canons
    )


def _still_erased(version: Version, had: set[str], children: list[Child], listed_at: datetime | None) -> Version:
    """An erased version of which a result tells: its canon is erased, too, and its children have to follow it."""
    listed = {child.source_id for child in version.children}
    if any(child.source_id not in listed for child in children):
        version = msgspec.structs.replace(version, children=children, listed_at=listed_at)
    if had.issubset(version.erased):
        return version
    return msgspec.structs.replace(version, erased=sorted(had.union(version.erased)))


def _outdone(one: Iterable[Judgement], other: Iterable[Judgement]) -> set[str]:
    """The fingerprints of which `other` has a verdict, and `one` only a failure."""
    judged_by_other = {judgement.fingerprint for judgement in other if is_verdict(judgement)}
    return judged_by_other.intersection(judgement.fingerprint for judgement in one if not is_verdict(judgement))


def _sound(version: Version, other: Iterable[Judgement]) -> Version:
    """`version` without the canons that nobody has judged, where `other` has a verdict about the same attempt."""
    outdone = _outdone(judgements(version), other)
    canons = [canon for canon in version.canons if canon.attempt.fingerprint not in outdone]
    return version if len(canons) == len(version.canons) else msgspec.structs.replace(version, canons=canons)


def _newest(one: Iterable[Judgement], other: Iterable[Judgement]) -> list[Judgement]:
    """Of each fingerprint the newest verdict, or, as long as there is none, the newest failure."""
    found: dict[str, Judgement] = {}
    for judgement in (*one, *other):
        before = found.get(judgement.fingerprint)
        if before is None or (is_verdict(before), _age(before)) < (is_verdict(judgement), _age(judgement)):
            found[judgement.fingerprint] = judgement
    return list(found.values())


def _with(
    version: Version,
    known: list[Judgement],
    canons: list[CanonVersion],
    decisions: list[Decided],
    children: list[Child] | None = None,
    listed_at: datetime | None = None,
) -> Version:
    """`version` with these judgements: the one that counts on top, its canon last, the others archived."""
    if children is None:
        children, listed_at = version.children, version.listed_at
    version = msgspec.structs.replace(version, children=children, listed_at=listed_at, decisions=decisions)
    if not known:
        if version.overruled:  # by a conflict, before anything was known of it
            version = msgspec.structs.replace(
                version, outcome=Outcome.PENDING, screening=None, settled_at=None, overruled=False
            )
        return version
    decided = {id(judgement): _decided(judgement, decisions) for judgement in known}

    def rank(judgement: Judgement) -> tuple[bool, bool, int, datetime, str]:
        screening, made = judgement.screening, decided[id(judgement)]
        if screening.outcome is not Outcome.QUARANTINED or made is not None:
            return True, True, 0, _age(judgement), judgement.fingerprint
        return False, is_verdict(judgement), -len(screening.problems), _age(judgement), judgement.fingerprint

    *others, counts = sorted(known, key=rank)
    version = msgspec.structs.replace(
        version,
        outcome=counts.screening.outcome,
        fingerprint=counts.fingerprint,
        detection=counts.detection,
        screening=counts.screening,
        summary=counts.summary,
        timings=counts.timings,
        settled_at=counts.settled_at if counts.settled_at != EARLIEST else None,
        attempt=counts.attempt,
        others=sorted(others, key=_age)[-KEEP_JUDGEMENTS:],
        canons=_archived(version.canons, canons, counts),
        overruled=False,
        found=None,
        found_at=None,
    )
    made = decided[id(counts)]
    if made is None:
        return version
    skipped = made.kind is DecisionKind.SKIP
    screening = msgspec.structs.replace(
        counts.screening,
        outcome=Outcome.SKIPPED if skipped else Outcome.READY,
        rule="decision" if skipped else None,
        error=f"{made.kind.value} by {made.actor}: {made.reason}",
    )
    return overruled(version, screening, made.carried_out_at or made.decided_at)


def _decided(judgement: Judgement, decisions: list[Decided]) -> Decided | None:
    """The decision that stands about these findings."""
    if not decisions or judgement.screening.outcome is not Outcome.QUARANTINED:
        return None
    findings = digest(judgement)
    about = [made for made in decisions if made.findings == findings and made.kind in VERDICTS]
    return about[-1] if about and about[-1].kind is not DecisionKind.UNDO else None


def _archived(one: list[CanonVersion], other: list[CanonVersion], counts: Judgement) -> list[CanonVersion]:
    """The canons of both, one for each fingerprint: that of the judgement that counts last, all others archived."""
    found: dict[str, CanonVersion] = {}
    for canon in (*one, *other):
        before = found.get(canon.attempt.fingerprint)
        if before is None or before.created_at < canon.created_at:
            found[canon.attempt.fingerprint] = canon
    ours = counts.fingerprint
    canons = sorted(found.values(), key=lambda c: (c.attempt.fingerprint == ours, c.created_at, c.attempt.fingerprint))
    return [
        msgspec.structs.replace(
            canon, archived_at=canon.archived_at or counts.settled_at if number < len(canons) else None
        )
        for number, canon in enumerate(canons, 1)
    ]


def _children(version: Version, event: Screened) -> tuple[list[Child], datetime | None]:
    """What a result adds to what is known of the children. A result that failed may not have looked for any."""
    blind = event.detection is not None and ATTACHMENTS_NOT_READ in event.detection.warnings
    looked = bool(event.children) or not (blind or event.screening.outcome is Outcome.QUARANTINED)
    if not looked:
        return version.children, version.listed_at
    at = max((timing.started_at for timing in event.timings), default=version.manifest.ingested_at)
    return _union(version.children, version.listed_at, event.children, at)


def _union(
    one: list[Child], one_at: datetime | None, other: list[Child], other_at: datetime | None
) -> tuple[list[Child], datetime | None]:
    """All children ever found in one content; those that the newer look did not find are gone."""
    if other_at is None:
        return one, one_at
    if one_at is not None and {(c.source_id, c.path) for c in one if not c.gone} == {
        (c.source_id, c.path) for c in other if not c.gone
    }:
        other_at = min(one_at, other_at)
    if one_at is None or one_at < other_at:
        newer, older, at = other, one, other_at
    else:
        newer, older, at = one, other, one_at
    known = {child.source_id for child in newer}
    gone = [msgspec.structs.replace(child, gone=True) for child in older if child.source_id not in known]
    return [*newer, *gone], at
