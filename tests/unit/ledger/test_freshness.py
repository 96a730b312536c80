"""What the ledger keeps so that freshness can be told: the lane and the first time of being ready."""

from __future__ import annotations

from datetime import timedelta

import msgspec

from streams.ledger.transitions import apply
from streams.records import DecisionKind, Lane, Outcome, SourceState, Version
from streams.records.codec import decode, encode
from tests.unit.ledger.make import NOW, decision, result, seq, up


def at(seconds: float) -> timedelta:
    return timedelta(seconds=seconds)


def only(state: SourceState) -> Version:
    (version,) = state.versions
    return version


def test_a_version_is_ready_when_its_result_came_and_no_replay_moves_that() -> None:
    arrived = up(1, "text")
    state, _ = apply(None, arrived, now=NOW, lane=Lane.LIVE)
    assert (only(state).lane, only(state).ready_at) == (Lane.LIVE, None)
    state, _ = apply(state, result(arrived), now=NOW + at(5), lane=Lane.LIVE)
    assert (only(state).lane, only(state).ready_at) == (Lane.LIVE, NOW + at(5))
    for extractor in ("1", "2"):  # the same again, and another canon
        replayed = result(arrived, extractor=extractor, work=900)
        state, _ = apply(state, replayed, now=NOW + at(3600), lane=Lane.REPLAY)
        assert (only(state).lane, only(state).ready_at) == (Lane.LIVE, NOW + at(5))
    assert decode(SourceState, encode(state)) == state


def test_what_a_backfill_brings_or_a_replay_makes_ready_is_not_live() -> None:
    arrived = up(1, "text")
    state, _ = apply(None, arrived, now=NOW, lane=Lane.BACKFILL)
    state, _ = apply(state, result(arrived), now=NOW + at(5), lane=Lane.BACKFILL)
    assert only(state).lane is Lane.BACKFILL
    state, _ = apply(None, arrived, now=NOW, lane=Lane.LIVE)
    state, _ = apply(state, result(arrived), now=NOW + at(5), lane=Lane.REPLAY)
    assert only(state).lane is Lane.REPLAY


def test_time_in_quarantine_counts() -> None:
    arrived = up(1, "text")
    state, _ = apply(None, arrived, now=NOW, lane=Lane.LIVE)
    state, _ = apply(state, result(arrived, Outcome.QUARANTINED), now=NOW + at(5), lane=Lane.LIVE)
    assert only(state).ready_at is None
    state, _ = apply(state, decision(1, DecisionKind.ACCEPT), now=NOW + at(500), lane=Lane.LIVE)
    assert only(state).ready_at == NOW + at(500)
    assert state.current == seq(1)
    for kind, outcome in ((DecisionKind.UNDO, Outcome.QUARANTINED), (DecisionKind.ACCEPT, Outcome.READY)):
        state, _ = apply(state, decision(1, kind, "again"), now=NOW + at(7200), lane=Lane.RECONCILE)
        assert only(state).outcome is outcome
        assert (only(state).lane, only(state).ready_at) == (Lane.LIVE, NOW + at(500))  # the first time counts


def test_a_version_that_was_ready_before_this_was_kept_stays_without_a_time() -> None:
    arrived = up(1, "text")
    state, _ = apply(None, arrived, now=NOW)
    state, _ = apply(state, result(arrived), now=NOW)
    old = msgspec.structs.replace(
        state, versions=[msgspec.structs.replace(only(state), lane=Lane.UNKNOWN, ready_at=None)]
    )
    again, _ = apply(old, result(arrived, extractor="2", work=900), now=NOW + at(3600), lane=Lane.LIVE)
    assert (only(again).lane, only(again).ready_at) == (Lane.UNKNOWN, None)
