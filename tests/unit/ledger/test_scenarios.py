"""Whole stories of one document, as sources really tell them."""

from __future__ import annotations

import pytest

from streams.ledger.timeline import as_of
from streams.ledger.transitions import DecisionRefused, Policy
from streams.records import DecisionKind, Outcome, Status
from tests.unit.ledger.make import ID, Ledger, at, decision, delete, result, seq, sha, up


def revision(offset: int, number: int, content: str, **fields: object) -> object:
    return up(offset, content, native_revision=str(number), revision_order=number, **fields)


def test_one_item_twice_in_one_listing() -> None:
    seven, again, eight = revision(0, 7, "A"), revision(1, 7, "A"), revision(2, 8, "B")
    ledger = Ledger()
    ledger.take(seven, again, eight, *(result(e) for e in (seven, again, eight)))  # type: ignore[arg-type]
    assert [v.manifest.native_revision for v in ledger.state.versions] == ["7", "8"]
    assert (ledger.current, ledger.published) == (2, 2)


def test_a_revision_delivered_late_does_not_become_current() -> None:
    eight, seven, again = revision(0, 8, "B"), revision(1, 7, "A"), revision(2, 7, "A")
    ledger = Ledger()
    ledger.take(eight, seven, again, *(result(e) for e in (again, seven, eight)))  # type: ignore[arg-type]
    assert [v.manifest.native_revision for v in ledger.state.versions] == ["8", "7"]
    assert (ledger.current, ledger.published) == (0, 0)
    late = ledger.version(1)
    assert late.valid_from == late.valid_to  # it was never the valid one
    assert ledger.version(0).valid_from == at(0)
    found = as_of(ledger.state, at(0.5))
    assert found is not None
    assert found.sequence == seq(0)


def test_deleted_and_created_again_with_the_same_revision_number() -> None:
    first, again = revision(0, 5, "A"), revision(2, 5, "A")
    ledger = Ledger()
    ledger.take(first, result(first), delete(1), again, result(again))  # type: ignore[arg-type]
    assert ledger.state.status is Status.LIVE
    assert len(ledger.state.versions) == 2
    old, new = ledger.state.versions
    assert old.valid_to is not None
    assert new.valid_from > old.valid_to
    assert new.sequence > old.sequence
    assert ledger.published == 2


def test_a_lower_revision_number_after_a_delete_counts_afresh() -> None:
    first, again = revision(0, 9, "A"), revision(2, 1, "B")
    ledger = Ledger()
    ledger.take(first, result(first), delete(1), again, result(again))  # type: ignore[arg-type]
    assert ledger.published == 2


def test_a_delete_of_what_was_never_seen_is_recorded_and_withdraws_nothing() -> None:
    ledgers = {name: Ledger() for name in ("a", "never-seen", "b", "c")}
    for name, ledger in ledgers.items():
        if name != "never-seen":
            first = up(0, name)
            ledger.take(first, result(first))
        ledger.take(delete(1), delete(1))
        assert ledger.state.status is Status.DELETED
        assert ledger.canon is None
    assert sum(len(ledger.deletions) for ledger in ledgers.values()) == 3
    assert ledgers["never-seen"].state.path == "in/doc.txt"


def test_a_b_a_each_delivered_twice() -> None:
    events = [up(0, "A"), up(1, "B"), up(2, "A")]
    ledger = Ledger()
    for item in events:
        ledger.take(item, item)
        ledger.take(result(item), result(item))
    assert [v.content.sha256 for v in ledger.state.versions if v.content] == [sha("A"), sha("B"), sha("A")]
    assert (ledger.current, ledger.published) == (2, 2)
    assert len({v.valid_from for v in ledger.state.versions}) == 3
    found = as_of(ledger.state, at(1.5))
    assert found is not None
    assert found.content is not None
    assert found.content.sha256 == sha("B")
    assert sha("A") in ledger.canon[1]


def test_content_that_is_known_needs_no_second_extraction_to_be_served() -> None:
    first, second, third = up(0, "A"), up(1, "B"), up(2, "A")
    ledger = Ledger()
    ledger.take(first, result(first), second, result(second), third)
    assert ledger.published == 2


@pytest.mark.parametrize("held_update", ["serve_stale", "withdraw"])
def test_a_held_update_and_then_a_delete(held_update: str) -> None:
    first, second = up(0, "good"), up(1, "truncated")
    ledger = Ledger(Policy(held_update="withdraw" if held_update == "withdraw" else "serve_stale"))
    ledger.take(first, result(first), second, result(second, Outcome.QUARANTINED))
    assert ledger.held is not None
    assert (ledger.canon is not None) == (held_update == "serve_stale")
    ledger.take(delete(2))
    assert (ledger.held, ledger.canon) == (None, None)
    before, seen = ledger.state, list(ledger.visible)
    with pytest.raises(DecisionRefused, match=f"{ID}: version 1 is not the current one: the document was deleted"):
        ledger.take(decision(1, DecisionKind.ACCEPT))
    assert (ledger.state, ledger.visible) == (before, seen)
