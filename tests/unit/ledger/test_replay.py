"""Everything once more with the same end is silent; what has become another is not."""

from __future__ import annotations

import itertools
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from streams.records import DecisionKind, Outcome, Screened, Timing
from tests.unit.ledger.make import Ledger, decision, delete, result, screen_failed, up, without_times


def again(event: Screened, **fields: Any) -> Screened:
    """The same work, done a day later and in another time."""
    timings = [
        Timing(stage=timing.stage, started_at=timing.started_at + timedelta(days=1), seconds=timing.seconds + 1)
        for timing in event.timings
    ]
    attempt = msgspec.structs.replace(event.attempt, seconds=0.0) if event.attempt is not None else None
    return msgspec.structs.replace(event, timings=timings, attempt=attempt, **fields)


@pytest.mark.parametrize("canon", [True, False])
@pytest.mark.parametrize("outcome", [Outcome.READY, Outcome.QUARANTINED, Outcome.SKIPPED])
def test_the_same_judgement_made_again_changes_not_even_a_time(outcome: Outcome, canon: bool) -> None:
    ledger = Ledger()
    arrived = up(1, "text")
    first = result(arrived, outcome, canon=canon or outcome is Outcome.READY)
    before = ledger.take(arrived, first)
    seen = list(ledger.visible)
    assert ledger.take(arrived, again(first)) == before
    assert ledger.visible == seen


def test_the_same_findings_leave_a_decision_and_its_version_as_they_are() -> None:
    ledger = Ledger()
    arrived = up(1, "text")
    held = result(arrived, Outcome.QUARANTINED)
    before = ledger.take(arrived, held, decision(1, DecisionKind.ACCEPT))
    seen = list(ledger.visible)
    assert ledger.take(arrived, again(held), decision(1, DecisionKind.ACCEPT)) == before
    assert ledger.visible == seen


def test_results_of_the_dead_and_of_repetitions_are_silent_too() -> None:
    ledger = Ledger()
    story = [up(1, "text"), up(2, "text"), delete(3), up(4, "text")]
    results = [result(arrived) for arrived in story if arrived.event.content is not None]
    before = ledger.take(*story, *results)
    seen = list(ledger.visible)
    assert ledger.take(*story, *map(again, results)) == before
    assert ledger.visible == seen


def test_other_findings_with_the_same_canon_are_a_change() -> None:
    ledger = Ledger()
    arrived = up(1, "text")
    ledger.take(arrived, first := result(arrived))
    stricter = msgspec.structs.replace(first.screening, outcome=Outcome.QUARANTINED, problems=["too_short"])
    ledger.take(again(first, screening=stricter))
    assert ledger.held is not None
    assert ledger.canon is None


@pytest.mark.parametrize("outcome", [Outcome.READY, Outcome.QUARANTINED, Outcome.SKIPPED])
@pytest.mark.parametrize("code", ["timeout", "out_of_memory", "blob_missing", "crashed"])
def test_a_screen_that_fails_says_nothing_against_what_was_judged(outcome: Outcome, code: str) -> None:
    ledger = Ledger()
    arrived = up(1, "text")
    before = ledger.take(arrived, result(arrived, outcome))
    seen = list(ledger.visible)
    assert ledger.take(screen_failed(arrived, code, work=500)) == before
    assert ledger.visible == seen


def test_a_screen_that_fails_leaves_what_a_person_accepted() -> None:
    ledger = Ledger()
    arrived = up(1, "text")
    before = ledger.take(arrived, result(arrived, Outcome.QUARANTINED), decision(1, DecisionKind.ACCEPT))
    assert ledger.take(screen_failed(arrived, work=500)) == before


def test_a_first_screen_that_fails_holds_the_document_until_one_succeeds() -> None:
    ledger = Ledger()
    arrived = up(1, "text")
    ledger.take(arrived, screen_failed(arrived, work=2))
    assert ledger.held is not None
    ledger.take(result(arrived, work=3))
    assert (ledger.published, ledger.held) == (1, None)


@pytest.mark.parametrize("outcome", [Outcome.READY, Outcome.QUARANTINED])
def test_failures_and_verdicts_end_the_same_in_any_order_and_number(outcome: Outcome) -> None:
    one, other = up(1, "text"), up(3, "text")  # versions of one content share their judgements
    story = [one, delete(2), other]
    failure = screen_failed(other, work=900)
    assert failure.payload is not None
    unjudged = msgspec.structs.replace(failure.payload, sha256="another", key="another")
    results = [
        result(one, outcome, work=5),
        screen_failed(one, work=800),
        msgspec.structs.replace(failure, payload=unjudged),  # an extraction that came out in another way
        screen_failed(one, "crashed", extractor="2", work=700),
    ]
    expected = Ledger()
    expected.take(*story, *results)
    (good,) = [canon for canon in expected.version(3).canons if canon.attempt.fingerprint == "text-1"]
    assert results[0].payload is not None
    assert good.payload.sha256 == results[0].payload.sha256
    for order in itertools.permutations(results):
        ledger = Ledger()
        ledger.take(*story, *order, *order[:2])
        assert without_times(ledger.state) == without_times(expected.state)
        assert (ledger.canon, ledger.held) == (expected.canon, expected.held)


def test_a_new_extractor_replaces_the_canon_and_going_back_to_the_old_one_does_again() -> None:
    ledger = Ledger()
    arrived = up(1, "text")
    ledger.take(arrived, result(arrived, extractor="1", work=1), result(arrived, extractor="2", work=2))
    assert [(c.attempt.fingerprint, c.archived_at is None) for c in ledger.version(1).canons] == [
        ("text-1", False),
        ("text-2", True),
    ]
    state = ledger.take(result(arrived, extractor="1", work=3))
    assert ledger.canon[2] == "text-1"
    assert ledger.take(result(arrived, extractor="1", work=1), result(arrived, extractor="2", work=2)) == state
