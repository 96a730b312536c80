"""Rule 8: two sources claim one document with different contents. Who wins does not depend on who came last.

A conflict opens when the claims are closer than the window, and stays open until the sources agree. While it is open,
the system of record wins by its rank, or the claim that a person accepted; without either, both claims are held.
"""

from __future__ import annotations

import math
from datetime import datetime

import msgspec

from streams.ledger.judgement import VERDICTS, overruled, said
from streams.ledger.policy import Policy
from streams.records import Decided, DecisionKind, Outcome, Screening, Version

CONFLICT = "version_conflict"


class Contest(msgspec.Struct):
    """Two claims in conflict, in the order of the log."""

    earlier: Version
    later: Version

    @property
    def since(self) -> datetime:
        return max(self.earlier.manifest.ingested_at, self.later.manifest.ingested_at)

    @property
    def sources(self) -> tuple[str, str]:
        return self.earlier.manifest.source, self.later.manifest.source


def ranked(versions: list[Version], policy: Policy) -> tuple[list[Version], list[Contest]]:
    """The versions of one life with every claim that lost before the one that it lost to, and the open conflicts.

    Args:
        versions: in their order.

    Returns:
        The order, of which the last one counts, and the conflicts of the last claim that nothing decides. A version
        that its source could not deliver claims nothing.
    """
    if len({version.manifest.source for version in versions}) < 2:
        return versions, []
    found: list[Version] = []
    standing: dict[str, Version] = {}  # each source's newest claim
    contests: dict[frozenset[str], list[Contest]] = {}  # open ones, by the sources
    for version in versions:
        stronger: list[int] = []
        if version.content is not None:
            for source, rival in standing.items():
                if source == version.manifest.source or rival.content is None:
                    continue
                pair = frozenset((source, version.manifest.source))
                if rival.content.sha256 == version.content.sha256:
                    contests.pop(pair, None)
                elif pair in contests or _near(version, rival, policy):
                    contests.setdefault(pair, []).append(Contest(rival, version))
                    if _stronger(rival, version, policy) > 0:
                        stronger.append(found.index(rival))
            standing[version.manifest.source] = version
        found.insert(min(stronger, default=len(found)), version)
    counts = next((version for version in reversed(found) if version.content is not None), None)
    return found, _undecided(counts, [c for known in contests.values() for c in known], policy)


def held(versions: list[Version], contests: list[Contest]) -> list[Version]:
    """The versions with those in conflict held, whatever the screen said of them."""
    by_version: dict[object, Contest] = {}
    for contest in contests:
        for version in (contest.earlier, contest.later):
            by_version.setdefault(version.sequence, contest)
    return [
        _hold(version, by_version[version.sequence])
        if version.sequence in by_version
        else (msgspec.structs.replace(version, contested=False) if version.contested else version)
        for version in versions
    ]


def verdict(version: Version) -> Decided | None:
    """What a person decided about the claim of this version against others."""
    about = [made for made in version.decisions if not made.findings and made.kind in VERDICTS]
    return about[-1] if about and about[-1].kind is not DecisionKind.UNDO else None


def _near(one: Version, other: Version, policy: Policy) -> bool:
    return abs(one.manifest.ingested_at - other.manifest.ingested_at) <= policy.conflict_window


def _undecided(counts: Version | None, contests: list[Contest], policy: Policy) -> list[Contest]:
    """The conflicts that nothing decides, if the claim that would count is in one."""
    open_ = [contest for contest in contests if _stronger(contest.earlier, contest.later, policy) == 0]
    ours = counts is not None and any(
        counts.sequence in (contest.earlier.sequence, contest.later.sequence) for contest in open_
    )
    return open_ if ours else []


def _stronger(one: Version, other: Version, policy: Policy) -> float:
    """Above 0: `one` wins; below 0: `other`; 0: nothing decides."""
    decided = _chosen(one, other) - _chosen(other, one)
    if decided:
        return decided
    rank, other_rank = (policy.ranks.get(v.manifest.source, math.inf) for v in (one, other))
    return 0 if rank == other_rank else other_rank - rank


def _chosen(version: Version, rival: Version) -> int:
    """1 when a person who knew of both accepted this claim, -1 when he dropped it."""
    made = verdict(version)
    if made is None or made.seen is None or made.seen < rival.sequence:
        return 0
    return 1 if made.kind is DecisionKind.ACCEPT else -1


def _hold(version: Version, contest: Contest) -> Version:
    screening = said(version) or Screening(outcome=Outcome.QUARANTINED)
    one, other = contest.sources
    conflict = msgspec.structs.replace(
        screening,
        outcome=Outcome.QUARANTINED,
        problems=[*screening.problems, CONFLICT],
        rule=None,
        error=f"{one} and {other} claim it with different content, and no rank says which of them is right.",
    )
    return msgspec.structs.replace(overruled(version, conflict, contest.since), contested=True)
