"""A state stays small enough for one record, and what is trimmed is never what counts."""

from __future__ import annotations

from streams.ledger.bounds import KEEP_CHANGES, KEEP_VERSIONS, MOST_BYTES
from streams.ledger.transitions import Policy
from streams.log.producer import MAX_MESSAGE_BYTES
from streams.records import Outcome
from streams.records.codec import decode, encode
from tests.unit.ledger.make import Ledger, acl, delete, move, result, seq, up


def test_old_versions_are_trimmed_and_their_redelivery_is_harmless() -> None:
    ledger = Ledger()
    first = up(0, "content 0")
    for offset in range(KEEP_VERSIONS + 50):
        arrived = up(offset, f"content {offset}")
        ledger.take(arrived, result(arrived))
    assert len(ledger.state.versions) == KEEP_VERSIONS
    assert ledger.published == KEEP_VERSIONS + 49
    before, seen = ledger.state, len(ledger.visible)
    ledger.take(first, result(first))
    assert ledger.state == before
    assert len(ledger.visible) == seen
    assert len(encode(ledger.state)) < MAX_MESSAGE_BYTES


def test_the_published_version_is_never_trimmed() -> None:
    good = up(0, "good")
    ledger = Ledger(Policy(held_update="serve_stale"))
    ledger.take(good, result(good))
    for offset in range(1, KEEP_VERSIONS + 100):
        arrived = up(offset, f"broken {offset}")
        ledger.take(arrived, result(arrived, Outcome.QUARANTINED))
    assert ledger.published == 0
    assert ledger.state.stale
    assert ledger.version(0).outcome is Outcome.READY
    assert len(ledger.state.versions) == KEEP_VERSIONS + 1


def test_the_current_version_is_never_trimmed_though_revisions_come_backwards() -> None:
    ledger = Ledger()
    for offset in range(KEEP_VERSIONS + 20):
        number = 10_000 - offset
        ledger.take(up(offset, f"content {offset}", native_revision=str(number), revision_order=number))
    assert ledger.current == 0


def test_rights_and_place_outlive_any_number_of_other_changes() -> None:
    first = up(0, "A", readers=["staff", "everybody"])
    ledger = Ledger()
    ledger.take(first, result(first), acl(1, ["board"]))
    for offset in range(2, KEEP_CHANGES + 100):
        ledger.take(move(offset, f"in/{offset}.txt"))
    assert ledger.state.readers == ["board"]
    ledger = Ledger()
    ledger.take(first, result(first), move(1, "archive/doc.txt"))
    for offset in range(2, KEEP_CHANGES + 100):
        ledger.take(acl(offset, [f"group {offset}"]))
    assert ledger.state.path == "archive/doc.txt"
    assert len(ledger.state.changes) <= KEEP_CHANGES + 2


def test_a_delete_parts_two_lives_however_many_changes_follow() -> None:
    first = up(0, "A", native_revision="9", revision_order=9)
    again = up(2, "B", native_revision="1", revision_order=1)
    ledger = Ledger()
    ledger.take(first, result(first), delete(1), again, result(again))
    for offset in range(3, KEEP_CHANGES + 100):
        ledger.take(move(offset, f"in/{offset}.txt"))
    assert ledger.published == 2
    assert ledger.version(0).superseded_by is None


def test_deletes_and_creations_without_end_stay_bounded() -> None:
    ledger = Ledger()
    for offset in range(0, 2 * (KEEP_VERSIONS + 60), 2):
        ledger.take(up(offset, f"content {offset}"), delete(offset + 1))
    assert len(ledger.state.versions) == KEEP_VERSIONS
    assert len(ledger.state.changes) <= KEEP_CHANGES + 1
    assert len(ledger.deletions) == KEEP_VERSIONS + 60


def test_large_manifests_trim_earlier() -> None:
    ledger = Ledger()
    readers = [f"group-{number}@example.org" for number in range(1000)]
    for offset in range(60):
        arrived = up(offset, f"content {offset}", readers=readers, path=f"in/{'x' * 3000}/{offset}.txt")
        ledger.take(arrived, result(arrived))
    assert len(encode(ledger.state)) < MAX_MESSAGE_BYTES
    assert ledger.published == 59
    assert 10 < len(ledger.state.versions) < 60
    assert MOST_BYTES < MAX_MESSAGE_BYTES
    assert decode(type(ledger.state), encode(ledger.state)) == ledger.state
    assert ledger.state.current == seq(59)
