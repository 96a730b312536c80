"""The rules of the ledger, one by one."""

from __future__ import annotations

import pytest

from streams.ledger.timeline import as_of
from streams.ledger.transitions import RULES, DecisionRefused, Event, Policy
from streams.records import DecisionKind, Failure, Operation, Outcome, Status
from tests.unit.ledger.make import (
    Ledger,
    acl,
    at,
    broken,
    decision,
    delete,
    event,
    manifest,
    move,
    result,
    seq,
    sha,
    up,
    without_times,
)


def test_every_operation_has_a_rule() -> None:
    assert set(Operation) | {"screened", "decision"} == set(RULES)


def test_rule_1_redelivery_of_each_event_changes_nothing_visible() -> None:
    first, second = up(0, "A"), up(3, "B")
    events: list[Event] = [
        first,
        result(first),
        move(1, "in/other.txt"),
        acl(2, ["board"]),
        second,
        result(second, Outcome.QUARANTINED),
        decision(3, DecisionKind.ACCEPT),
        delete(4),
        up(5, "A"),
        broken(6),
    ]
    ledger = Ledger()
    for known in range(len(events)):
        ledger.take(events[known])
        before, seen = ledger.state, len(ledger.visible)
        for again in events[: known + 1]:
            ledger.take(again)
            assert ledger.state == before
        assert len(ledger.visible) == seen


def test_rule_1_a_second_computation_of_a_result_publishes_nothing() -> None:
    first = up(0, "A")
    ledger = Ledger()
    ledger.take(first, result(first, work=1))
    before = ledger.state
    ledger.take(result(first, work=2))  # its stage was restarted
    assert without_times(ledger.state) == without_times(before)
    assert ledger.visible == ["publish"]


def test_rule_2_new_content_closes_the_current_version_and_opens_the_next() -> None:
    first, second = up(0, "A", minute=10), up(1, "B", minute=20)
    ledger = Ledger()
    ledger.take(first, result(first), second)
    old, new = ledger.version(0), ledger.version(1)
    assert (old.valid_from, old.valid_to, old.superseded_by) == (at(10), at(20), seq(1))
    assert (new.valid_from, new.valid_to, new.superseded_by) == (at(20), None, None)
    assert (ledger.current, ledger.published, ledger.state.stale) == (1, 0, False)
    ledger.take(result(second))
    assert (ledger.current, ledger.published) == (1, 1)
    assert as_of(ledger.state, at(9)) is None
    for moment, offset in ((10, 0), (19.9, 0), (20, 1), (999, 1)):
        found = as_of(ledger.state, at(moment))
        assert found is not None
        assert found.sequence == seq(offset)


def test_rule_2_a_new_native_revision_of_other_content_is_a_version_and_the_same_content_one_too() -> None:
    ledger = Ledger()
    ledger.take(up(0, "A", native_revision="1"), up(1, "A", native_revision="1"), up(2, "A", native_revision="2"))
    assert [version.sequence.offset for version in ledger.state.versions] == [0, 2]


def test_rule_3_a_move_changes_the_path_and_extracts_nothing() -> None:
    first = up(0, "A")
    ledger = Ledger()
    ledger.take(first, result(first), move(1, "archive/doc.txt"))
    assert len(ledger.state.versions) == 1
    assert ledger.state.path == "archive/doc.txt"
    assert ledger.canon[3] == "archive/doc.txt"
    assert ledger.visible == ["publish", "publish"]
    assert ledger.version(0).outcome is Outcome.READY


def test_rule_3_the_same_content_seen_at_another_path_is_a_move() -> None:
    first = up(0, "A")
    ledger = Ledger()
    ledger.take(first, result(first), up(1, "A", path="archive/doc.txt"))
    assert len(ledger.state.versions) == 1
    assert ledger.canon[3] == "archive/doc.txt"


def test_rule_3_a_repeat_from_before_a_move_does_not_move_back() -> None:
    first = up(0, "A")
    repeat = up(1, "A")
    ledger = Ledger()
    ledger.take(first, result(first), repeat, move(2, "archive/doc.txt"))
    before = ledger.state
    ledger.take(repeat)
    assert ledger.state == before


def test_rule_4_rights_count_at_once_and_unknown_means_nobody() -> None:
    first = up(0, "A", readers=["staff"])
    ledger = Ledger()
    ledger.take(first, result(first))
    assert ledger.canon[4] == ["staff"]
    ledger.take(acl(1, ["board"]))
    assert ledger.canon[4] == ["board"]
    ledger.take(acl(2, None))
    assert ledger.canon is not None
    assert ledger.canon[4] is None
    assert len(ledger.state.versions) == 1


def test_rule_4_new_content_without_rights_is_for_nobody() -> None:
    second = up(2, "B", readers=None)
    ledger = Ledger()
    ledger.take(up(0, "A", readers=["staff"]), acl(1, ["board"]), second, result(second))
    assert ledger.canon[4] is None


def test_rule_5_a_late_result_is_archived_with_its_version() -> None:
    first, second = up(0, "A"), up(1, "B")
    ledger = Ledger()
    ledger.take(first, second, result(second), result(first))
    assert ledger.published == 1
    assert ledger.version(0).outcome is Outcome.READY
    assert ledger.version(0).canons
    assert ledger.visible == ["publish"]


def test_rule_5_a_late_result_does_not_bring_back_what_is_deleted() -> None:
    first = up(0, "A")
    ledger = Ledger()
    ledger.take(first, delete(1), result(first))
    assert ledger.state.status is Status.DELETED
    assert (ledger.canon, ledger.published) == (None, None)
    assert ledger.version(0).outcome is Outcome.READY
    assert ledger.visible == ["deletion"]


def test_rule_5_a_result_that_is_older_work_does_not_replace_newer_work_of_the_same_version() -> None:
    first = up(0, "A")
    old, new = result(first, extractor="1", work=1), result(first, extractor="2", work=9)
    ledger = Ledger()
    ledger.take(first, new, old)
    assert ledger.canon[2] == "text-2"
    assert [canon.attempt.fingerprint for canon in ledger.version(0).canons] == ["text-1", "text-2"]


def test_rule_5_a_result_before_its_event_opens_the_version_and_an_older_one_is_not_lost() -> None:
    first, second = up(0, "A"), up(1, "B")
    ledger = Ledger()
    ledger.take(result(second))
    assert ledger.published == 1
    ledger.take(result(first), first, second)
    assert [version.outcome for version in ledger.state.versions] == [Outcome.READY, Outcome.READY]
    assert ledger.published == 1


def test_rule_5_a_result_before_its_event_of_a_repeat_leaves_one_version() -> None:
    first, repeat = up(0, "A"), up(1, "A")
    ledger = Ledger()
    ledger.take(result(repeat), first, repeat)
    assert [version.sequence for version in ledger.state.versions] == [seq(0)]
    assert ledger.version(0).outcome is Outcome.READY
    assert ledger.published == 0


def test_rule_6_a_delete_withdraws_closes_the_queue_and_says_so() -> None:
    first, second = up(0, "A", minute=10), up(1, "B", minute=20)
    ledger = Ledger()
    ledger.take(first, result(first), second, result(second, Outcome.QUARANTINED))
    assert (ledger.canon is not None, ledger.held is not None) == (True, True)
    ledger.take(delete(2, minute=30))
    assert (ledger.canon, ledger.held) == (None, None)
    assert ledger.version(1).valid_to == at(30)
    assert ledger.state.status is Status.DELETED
    assert len(ledger.deletions) == 1
    deletion = ledger.deletions[0]
    assert (deletion.sequence, deletion.content_hash, deletion.deleted_at) == (seq(2), sha("B"), at(30))
    assert as_of(ledger.state, at(31)) is None
    ledger.take(delete(3))
    assert len(ledger.deletions) == 1


def test_rule_6_an_upsert_from_before_the_delete_stays_deleted() -> None:
    ledger = Ledger()
    late = up(0, "A")
    ledger.take(delete(1), late, result(late))
    assert ledger.state.status is Status.DELETED
    assert ledger.canon is None


def test_rule_6_after_a_delete_a_document_lives_again_as_a_new_version() -> None:
    first, again = up(0, "A", minute=10), up(2, "A", minute=5)  # and the source's clock went back
    ledger = Ledger()
    ledger.take(first, result(first), delete(1, minute=20), again)
    assert ledger.state.status is Status.LIVE
    assert (ledger.published, ledger.current) == (2, 2)  # the content is known: nothing to wait for
    ledger.take(result(again))
    end = ledger.version(0).valid_to
    assert end is not None
    assert ledger.version(2).valid_from >= end


def test_rule_6_a_move_or_right_alone_is_no_life_that_a_delete_could_have_ended() -> None:
    ledger = Ledger()
    ledger.take(acl(0, ["staff"]), delete(1), delete(2))
    assert ledger.state.status is Status.DELETED
    assert ledger.deletions == []


@pytest.mark.parametrize(("policy", "served"), [("serve_stale", 0), ("withdraw", None)])
def test_rule_7_a_held_update_serves_the_last_good_version_or_nothing(policy: str, served: int | None) -> None:
    first, second, third = up(0, "A"), up(1, "B"), up(2, "C")
    ledger = Ledger(Policy(held_update="withdraw" if policy == "withdraw" else "serve_stale"))
    ledger.take(first, result(first), second)
    assert (ledger.published, ledger.state.stale) == (0, False)  # pending is not held
    ledger.take(result(second, Outcome.QUARANTINED))
    assert (ledger.published, ledger.state.stale) == (served, served is not None)
    assert (ledger.canon is None) == (served is None)
    if served is not None:
        assert ledger.canon[5] is True
    ledger.take(third, result(third))
    assert (ledger.published, ledger.state.stale, ledger.held) == (2, False, None)


def test_rule_9_a_new_extractor_makes_a_new_canon_of_the_same_version() -> None:
    first = up(0, "A")
    ledger = Ledger()
    ledger.take(first, result(first, extractor="1", work=1), result(first, extractor="2", work=2))
    version = ledger.version(0)
    assert len(ledger.state.versions) == 1
    assert [canon.attempt.fingerprint for canon in version.canons] == ["text-1", "text-2"]
    assert version.canons[0].archived_at is not None
    assert version.canons[1].archived_at is None
    assert ledger.canon[2] == "text-2"
    ledger.take(result(first, extractor="1", work=3))  # deliberately back to the old one
    assert ledger.canon[2] == "text-1"
    assert [canon.archived_at is None for canon in ledger.version(0).canons] == [False, True]


def test_rule_10_the_three_ends_of_a_version() -> None:
    for outcome in (Outcome.READY, Outcome.QUARANTINED, Outcome.SKIPPED):
        first = up(0, "A")
        ledger = Ledger()
        ledger.take(first, result(first, outcome))
        version = ledger.version(0)
        assert version.outcome is outcome
        assert version.settled_at is not None
        assert version.screening is not None
        assert version.screening.rule or outcome is not Outcome.SKIPPED
        assert (ledger.canon is not None) == (outcome is Outcome.READY)
        assert (ledger.held is not None) == (outcome is Outcome.QUARANTINED)


def test_rule_10_what_a_connector_could_not_deliver_has_an_outcome() -> None:
    ledger = Ledger()
    ledger.take(broken(0, "unreadable"))
    assert ledger.held is not None
    assert ledger.version(0).content is None
    ledger.take(broken(1, "unreadable"))
    assert len(ledger.state.versions) == 1
    ledger.take(broken(2, "symlink", skip=True))
    assert ledger.version(2).outcome is Outcome.SKIPPED
    assert ledger.held is None


def test_rule_10_decisions_end_what_is_held() -> None:
    for kind, outcome in ((DecisionKind.ACCEPT, Outcome.READY), (DecisionKind.SKIP, Outcome.SKIPPED)):
        first = up(0, "A")
        held = result(first, Outcome.QUARANTINED)
        ledger = Ledger()
        ledger.take(first, held, decision(0, kind))
        version = ledger.version(0)
        assert version.outcome is outcome
        assert version.screening is not None
        assert "eva" in (version.screening.error or "")
        assert ledger.held is None
        assert (ledger.canon is not None) == (kind is DecisionKind.ACCEPT)
        before = ledger.state
        ledger.take(held, result(first, Outcome.QUARANTINED, work=77), decision(0, kind))
        assert without_times(ledger.state) == without_times(before)
        ledger.take(result(first, Outcome.READY, extractor="2", work=99))  # a new judgement on new findings
        assert ledger.canon[2] == "text-2"


def test_rule_10_a_decision_that_does_not_fit_is_refused() -> None:
    first, second = up(0, "A"), up(1, "B")
    ledger = Ledger()
    ledger.take(first, result(first, Outcome.QUARANTINED, canon=False))
    with pytest.raises(DecisionRefused, match="no text to accept"):
        ledger.take(decision(0, DecisionKind.ACCEPT))
    ledger.take(second, result(second))
    before = ledger.state
    for offset, kind in ((0, DecisionKind.ACCEPT), (7, DecisionKind.SKIP), (1, DecisionKind.SKIP)):
        with pytest.raises(DecisionRefused):
            ledger.take(decision(offset, kind))
    with pytest.raises(DecisionRefused, match="has no pages that could be recognised"):
        ledger.take(decision(1, DecisionKind.RECOGNIZE))
    assert ledger.state == before


def test_an_operation_of_a_later_schema_version_only_counts_as_seen() -> None:
    ledger = Ledger()
    ledger.take(up(0, "A"), event(Operation.UNKNOWN, 4))
    assert ledger.state.high_water == seq(4)
    assert len(ledger.state.versions) == 1


def test_a_new_log_goes_on_where_the_old_one_ended() -> None:
    old, new = up(500, "A"), up(0, "B")
    new = type(new)(new.event, type(new.sequence)(epoch=2, offset=0))
    ledger = Ledger()
    ledger.take(old, result(old), new)
    assert ledger.state.current == new.sequence


def test_helpers_make_what_connectors_make() -> None:
    assert manifest(3).ingested_at == at(3)
    assert broken(0).event.failure == Failure(code="unreadable", message="The source could not read it.")
