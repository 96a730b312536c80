"""What was true at a moment: versions, places, rights, and what consumers saw."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import msgspec
import pytest

from streams.ledger.history import Past, Standing, past
from streams.ledger.timeline import HeldUpdate
from streams.records import Outcome
from tests.unit.ledger.make import NOW, Ledger, acl, at, delete, move, result, sha, up

Ask = Callable[[float], Past]


def asking(ledger: Ledger, policy: HeldUpdate = "serve_stale") -> Ask:
    return lambda minute: past(ledger.state, at(minute), policy)


@pytest.fixture
def history() -> Ask:
    """A, B, A; moved and given other readers meanwhile; deleted; created again. Results come at `NOW`, months later."""
    ledger = Ledger()
    for event in (
        up(10, "A"),
        move(15, "elsewhere/doc.txt"),
        up(20, "B", path="elsewhere/doc.txt"),
        acl(25, ["board"]),
        up(30, "A", path="elsewhere/doc.txt", readers=["board"]),
        delete(40),
        up(50, "A"),
    ):
        ledger.take(event)
    return asking(ledger)


@pytest.mark.parametrize(
    ("minute", "version", "content", "path", "readers"),
    [
        (10, 10, "A", "in/doc.txt", ["staff"]),
        (14.9, 10, "A", "in/doc.txt", ["staff"]),
        (15, 10, "A", "elsewhere/doc.txt", ["staff"]),
        (19.9, 10, "A", "elsewhere/doc.txt", ["staff"]),
        (20, 20, "B", "elsewhere/doc.txt", ["staff"]),
        (29, 20, "B", "elsewhere/doc.txt", ["board"]),
        (30, 30, "A", "elsewhere/doc.txt", ["board"]),
        (39.9, 30, "A", "elsewhere/doc.txt", ["board"]),
        (50, 50, "A", "in/doc.txt", ["staff"]),
        (5_000_000, 50, "A", "in/doc.txt", ["staff"]),
    ],
)
def test_version_place_and_rights_are_those_of_the_moment(
    history: Ask, minute: float, version: int, content: str, path: str, readers: list[str]
) -> None:
    found = history(minute)
    assert found.standing is Standing.VALID
    assert found.version is not None
    assert found.version.content is not None
    assert (found.version.sequence.offset, found.version.content.sha256) == (version, sha(content))
    assert (found.path, found.readers) == (path, readers)


def test_before_the_first_event_nothing_was_known(history: Ask) -> None:
    found = history(9.9)
    assert (found.standing, found.first_known, found.version, found.seen) == (Standing.BEFORE, at(10), None, None)


def test_between_a_delete_and_the_re_creation_it_was_deleted(history: Ask) -> None:
    for minute in (40, 49.9):
        found = history(minute)
        assert found.standing is Standing.DELETED
        assert found.version is not None
        assert found.version.sequence.offset == 30
        assert found.deleted is not None
        assert found.deleted.at == at(40)
        assert found.seen is None


def test_what_was_deleted_unseen_was_deleted() -> None:
    ledger = Ledger()
    ledger.take(delete(3))
    assert asking(ledger)(2).standing is Standing.BEFORE
    found = asking(ledger)(4)
    assert (found.standing, found.version) == (Standing.DELETED, None)


@pytest.mark.parametrize(("policy", "seen", "stale"), [("serve_stale", 1, True), ("withdraw", None, False)])
def test_consumers_saw_what_the_policy_lets_them_see_of_a_held_update(
    policy: HeldUpdate, seen: int | None, stale: bool
) -> None:
    ledger = Ledger()
    good, bad = up(1, "good"), up(200_000, "bad")  # results come at NOW, in minute 217,440
    ledger.take(good, result(good), bad, result(bad, Outcome.QUARANTINED))
    settled = (NOW - at(0)).total_seconds() / 60 + 1
    ask = asking(ledger, policy)
    before = ask(1.5)
    assert (before.outcome, before.seen, before.seen_is_known) == (Outcome.PENDING, None, True)
    found = ask(settled)
    assert found.version is not None
    assert (found.version.sequence.offset, found.outcome) == (200_000, Outcome.QUARANTINED)
    assert (found.seen.sequence.offset if found.seen else None, found.stale) == (seen, stale)


def test_while_a_new_version_was_pending_consumers_saw_the_one_before() -> None:
    ledger = Ledger()
    one = up(1, "one")
    ledger.take(one, result(one))
    settled = (NOW - at(0)).total_seconds() / 60
    ledger.take(up(2, "two", minute=settled + 60))
    found = asking(ledger)(settled + 61)
    assert found.version is not None
    assert found.seen is not None
    assert (found.version.sequence.offset, found.outcome) == (2, Outcome.PENDING)
    assert (found.seen.sequence.offset, found.stale) == (1, False)


def test_what_was_ready_and_judged_again_with_the_same_extractor_was_not_pending() -> None:
    ledger = Ledger()
    one = up(1, "one")
    first = result(one)
    ledger.take(one, first)
    ready = ledger.version(1).ready_at
    assert ready is not None
    warned = msgspec.structs.replace(first.screening, warnings=["few_letters"])
    ledger.take(msgspec.structs.replace(result(one, work=500), screening=warned))
    settled = ledger.version(1).settled_at
    assert settled is not None
    assert settled > ready
    for moment in (ready, settled - timedelta(milliseconds=1)):
        found = past(ledger.state, moment, "serve_stale")
        assert (found.outcome, found.seen, found.seen_is_known) == (Outcome.UNKNOWN, None, False)
    before = past(ledger.state, ready - timedelta(milliseconds=1), "serve_stale")
    assert (before.outcome, before.seen, before.seen_is_known) == (Outcome.PENDING, None, True)
    after = past(ledger.state, settled, "serve_stale")
    assert (after.outcome, after.seen_is_known) == (Outcome.READY, True)


def test_what_is_not_known_of_an_older_version_does_not_matter_once_the_newest_is_ready() -> None:
    ledger = Ledger()
    one, two = up(1, "one"), up(2, "two")
    first = result(one)
    ledger.take(one, first, two, result(two))
    moment = ledger.version(2).settled_at
    assert moment is not None
    warned = msgspec.structs.replace(first.screening, warnings=["few_letters"])
    ledger.take(msgspec.structs.replace(result(one, work=500), screening=warned))
    found = past(ledger.state, moment, "serve_stale")
    assert found.seen is not None
    assert (found.seen.sequence.offset, found.seen_is_known) == (2, True)


def test_what_was_judged_anew_is_not_guessed() -> None:
    ledger = Ledger()
    one = up(1, "one")
    ledger.take(one, result(one, extractor="1"))
    first_judged = ledger.version(1).settled_at
    ledger.take(result(one, extractor="2", work=500))
    (old, new) = ledger.version(1).canons
    assert old.archived_at is not None
    assert new.archived_at is None
    assert first_judged is not None
    found = past(ledger.state, first_judged, "serve_stale")
    assert (found.outcome, found.seen, found.seen_is_known) == (Outcome.UNKNOWN, None, False)
    now = ledger.version(1).settled_at
    assert now is not None
    assert past(ledger.state, now, "serve_stale").seen is not None
