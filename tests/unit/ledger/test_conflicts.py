"""Two sources that claim one document: who wins, and what is held (rule 8)."""

from __future__ import annotations

import itertools
from datetime import timedelta
from typing import Any

import pytest

from streams.ledger.timeline import as_of
from streams.ledger.transitions import Arrived, DecisionRefused, Policy
from streams.records import DecisionKind, Outcome
from streams.records.codec import decode, encode
from tests.unit.ledger.make import Ledger, at, broken, delete, held_of, result, seq, up, without_times
from tests.unit.ledger.test_decisions import decide

WINDOW = timedelta(minutes=60)
UNRANKED = Policy(conflict_window=WINDOW)
RANKED = Policy(conflict_window=WINDOW, ranks={"crm": 1, "share": 2})
ACCEPT, SKIP, UNDO = DecisionKind.ACCEPT, DecisionKind.SKIP, DecisionKind.UNDO


def crm(offset: int, content: str, **fields: Any) -> Arrived:
    return up(offset, content, source="crm", **fields)


def told(policy: Policy, *events: Arrived) -> Ledger:
    """A ledger that has read these events and good results of all of them."""
    ledger = Ledger(policy)
    for event in events:
        ledger.take(event, result(event))
    return ledger


def test_without_a_rank_both_are_held_and_nobody_wins_by_being_last() -> None:
    ledger = told(UNRANKED, up(0, "A"), crm(1, "B"))
    assert ledger.state.conflict
    assert ledger.canon is None
    assert ledger.held == held_of(ledger.state)
    for offset in (0, 1):
        version = ledger.version(offset)
        assert (version.contested, version.outcome) == (True, Outcome.QUARANTINED)
        assert version.screening is not None
        assert "version_conflict" in version.screening.problems
        assert version.screening.error == (
            "share and crm claim it with different content, and no rank says which of them is right."
        )
    assert decode(type(ledger.state), encode(ledger.state)) == ledger.state


def test_a_claim_is_held_before_anything_is_known_of_its_text() -> None:
    first, second = up(0, "A"), crm(1, "B")
    ledger = Ledger(UNRANKED)
    ledger.take(first, second)
    assert (ledger.version(0).outcome, ledger.version(1).outcome) == (Outcome.QUARANTINED, Outcome.QUARANTINED)
    ledger.take(result(second), result(first))
    assert without_times(ledger.state) == without_times(told(UNRANKED, first, second).state)


@pytest.mark.parametrize("winner_first", [True, False])
def test_the_system_of_record_wins_whoever_comes_last(winner_first: bool) -> None:
    events = [crm(0, "B"), up(1, "A")] if winner_first else [up(0, "A"), crm(1, "B")]
    ledger = told(RANKED, *events)
    winner = 0 if winner_first else 1
    assert (ledger.current, ledger.published, ledger.state.conflict, ledger.held) == (winner, winner, False, None)
    assert [version.valid_to is None for version in ledger.state.versions] == [winner_first, not winner_first]
    again = up(2, "C")  # the other one insists, also long after
    ledger.take(again, result(again), up(9999, "D"))
    assert (ledger.current, ledger.published) == (winner, winner)
    found = as_of(ledger.state, at(10_000))
    assert found is not None
    assert found.sequence == seq(winner)
    newer = crm(10_000, "E")
    ledger.take(newer, result(newer))
    assert ledger.published == 10_000


def test_one_rank_is_enough() -> None:
    assert told(Policy(conflict_window=WINDOW, ranks={"crm": 9}), crm(0, "B"), up(1, "A")).published == 0
    equal = told(Policy(conflict_window=WINDOW, ranks={"crm": 1, "share": 1}), crm(0, "B"), up(1, "A"))
    assert equal.state.conflict


def test_the_same_content_and_claims_far_apart_are_no_conflict() -> None:
    assert told(UNRANKED, up(0, "A"), crm(1, "A")).published == 0
    assert told(UNRANKED, up(0, "A"), crm(1, "A", native_revision="7")).published == 1
    assert told(UNRANKED, up(0, "A"), crm(1, "B", minute=61)).published == 1
    assert told(UNRANKED, up(0, "A", minute=61), crm(1, "B", minute=0)).published == 1
    assert told(UNRANKED, up(0, "A"), crm(1, "B", minute=60)).state.conflict


def test_an_open_conflict_does_not_end_by_waiting_but_by_agreement() -> None:
    first, second, later = up(0, "A"), crm(1, "B"), up(2, "C", minute=5000)
    ledger = told(UNRANKED, first, second, later)
    assert ledger.state.conflict
    agreed = crm(3, "C", minute=5001, native_revision="2")
    ledger.take(agreed)
    assert (ledger.state.conflict, ledger.held, ledger.published) == (False, None, 3)


def test_the_last_good_version_is_served_while_two_newer_ones_are_held() -> None:
    old, first, second = up(0, "old"), up(5000, "A"), crm(5001, "B")
    ledger = told(UNRANKED, old, first, second)
    assert (ledger.published, ledger.state.stale) == (0, True)
    withdrawing = told(Policy(held_update="withdraw", conflict_window=WINDOW), old, first, second)
    assert withdrawing.published is None


@pytest.mark.parametrize("accepted", [0, 1])
def test_a_person_decides_and_can_undo_it(accepted: int) -> None:
    ledger = told(UNRANKED, up(0, "A"), crm(1, "B"))
    before = ledger.state
    story = [decide(accepted, ACCEPT, minute=1), decide(accepted, UNDO, minute=2)]
    ledger.take(story[0])
    assert (ledger.published, ledger.state.conflict, ledger.held) == (accepted, False, None)
    assert not any(version.contested for version in ledger.state.versions)
    ledger.take(story[1])
    assert (ledger.published, ledger.state.conflict) == (None, True)
    assert ledger.held is not None
    assert [v.screening for v in ledger.state.versions] == [v.screening for v in before.versions]
    state, seen = ledger.state, len(ledger.visible)
    ledger.take(*story)
    assert (ledger.state, len(ledger.visible)) == (state, seen)


def test_a_claim_that_is_dropped_leaves_the_other_one() -> None:
    ledger = told(UNRANKED, up(0, "A"), crm(1, "B"))
    ledger.take(decide(1, SKIP))
    assert (ledger.published, ledger.state.conflict) == (0, False)


def test_a_decision_is_about_the_claims_that_it_knew() -> None:
    ledger = told(UNRANKED, up(0, "A"), crm(1, "B"))
    ledger.take(decide(0, ACCEPT))
    third = crm(2, "C")
    ledger.take(third, result(third))
    assert ledger.state.conflict


def test_an_accepted_claim_with_a_bad_text_is_still_held_for_that() -> None:
    first, second = up(0, "A"), crm(1, "B")
    ledger = Ledger(UNRANKED)
    ledger.take(first, result(first), second, result(second, Outcome.QUARANTINED), decide(1, ACCEPT, minute=1))
    version = ledger.version(1)
    assert version.screening is not None
    assert (ledger.current, version.outcome, version.screening.problems) == (1, Outcome.QUARANTINED, ["truncated"])
    ledger.take(decide(1, ACCEPT, minute=2))
    assert ledger.published == 1


def test_a_source_that_fails_to_deliver_does_not_settle_the_conflict() -> None:
    ledger = told(UNRANKED, up(0, "A"), crm(1, "B"))
    ledger.take(broken(2))
    assert (ledger.canon, ledger.state.conflict, ledger.current) == (None, True, 2)
    ledger.take(decide(1, ACCEPT))
    assert (ledger.published, ledger.state.stale) == (1, True)


def test_a_delete_ends_the_conflict() -> None:
    ledger = told(UNRANKED, up(0, "A"), crm(1, "B"))
    ledger.take(delete(2))
    assert (ledger.state.conflict, ledger.held, ledger.canon) == (False, None, None)
    with pytest.raises(DecisionRefused):
        ledger.take(decide(1, ACCEPT))
    again = up(3, "A")
    ledger.take(again)
    assert ledger.published == 3


@pytest.mark.parametrize("policy", [UNRANKED, RANKED])
def test_no_order_of_arrival_of_results_and_no_repetition_changes_the_end(policy: Policy) -> None:
    events = [up(0, "A"), crm(1, "B"), up(2, "C"), crm(3, "A")]
    expected = told(policy, *events)
    for order in itertools.permutations(range(4)):
        ledger = Ledger(policy)
        ledger.take(*events, *(result(events[number]) for number in order), *events)
        assert without_times(ledger.state) == without_times(expected.state)
        assert (ledger.canon, ledger.held) == (expected.canon, expected.held)


def test_each_source_counts_its_revisions_by_itself() -> None:
    late = up(3, "A", minute=5001, native_revision="1", revision_order=1)
    events = [
        crm(0, "X", native_revision="900", revision_order=900),
        up(1, "B", minute=5000, native_revision="2", revision_order=2),
        late,
    ]
    ledger = told(UNRANKED, *events)
    assert ledger.published == 1
