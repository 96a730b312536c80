"""What a document's changes say about where contents live: one record for each real change, none for anything else."""

from __future__ import annotations

import pytest

from streams.ledger.links import links
from streams.records import ContentLink, Outcome
from tests.unit.ledger.make import Ledger, acl, broken, delete, move, result, seq, sha, up


class Linked(Ledger):
    """A ledger, and the links that its events publish."""

    def then(self, event: object) -> list[ContentLink]:
        before = self.state
        return links(before, self.take(event))  # type: ignore[arg-type]


def brief(found: list[ContentLink]) -> list[tuple[str, bool, int]]:
    return [(link.content_hash, link.living, link.sequence.offset) for link in found]


def test_a_document_from_its_arrival_to_its_deletion() -> None:
    ledger = Linked()
    arrived = up(1, "one")
    (first,) = ledger.then(arrived)
    assert (first.content_hash, first.source_id, first.living, first.size) == (sha("one"), "share:doc", True, 3)
    assert (first.path, first.owner, first.readers, first.sequence) == ("in/doc.txt", None, ["staff"], seq(1))
    assert ledger.then(result(arrived)) == []
    assert ledger.then(arrived) == []
    (moved,) = ledger.then(move(2, "out/doc.txt"))
    assert (moved.path, moved.readers, moved.sequence) == ("out/doc.txt", ["staff"], seq(2))
    (granted,) = ledger.then(acl(3, ["eva"], owner="eva"))
    assert (granted.path, granted.owner, granted.readers) == ("out/doc.txt", "eva", ["eva"])
    assert brief(ledger.then(up(4, "two"))) == [(sha("one"), False, 4), (sha("two"), True, 4)]
    (gone,) = ledger.then(delete(5))
    assert (gone.content_hash, gone.living, gone.sequence) == (sha("two"), False, seq(5))
    assert (gone.path, gone.owner, gone.readers) == ("", None, None), "nothing is said of what is gone"
    assert ledger.then(delete(6)) == []
    assert brief(ledger.then(up(7, "two"))) == [(sha("two"), True, 7)]


def test_late_events_and_repetitions_of_old_ones_say_nothing() -> None:
    ledger = Linked()
    events = [up(1, "one"), move(2, "b.txt"), up(3, "two"), delete(4)]
    for event in events:
        ledger.then(event)
    assert [ledger.then(event) for event in events] == [[]] * 4
    assert ledger.then(result(up(1, "one"))) == []


def test_a_result_that_comes_before_its_event_has_the_sequence_of_its_version() -> None:
    ledger = Linked()
    ledger.then(up(1, "one"))
    assert brief(ledger.then(result(up(5, "two")))) == [(sha("one"), False, 5), (sha("two"), True, 5)]
    assert ledger.then(up(5, "two")) == []


def test_held_and_skipped_documents_have_their_content_too() -> None:
    ledger = Linked()
    arrived = up(1, "one")
    ledger.then(arrived)
    for outcome in (Outcome.QUARANTINED, Outcome.SKIPPED):
        assert ledger.then(result(arrived, outcome, work=float(len(outcome)))) == []


@pytest.mark.parametrize("event", [broken(1), up(1, ""), delete(1), move(1, "x")])
def test_what_has_no_bytes_has_no_place(event: object) -> None:
    assert Linked().then(event) == []


def test_a_document_that_can_not_be_read_any_more_gives_its_content_up() -> None:
    ledger = Linked()
    ledger.then(up(1, "one"))
    assert brief(ledger.then(broken(2))) == [(sha("one"), False, 2)]
