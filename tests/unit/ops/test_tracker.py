"""The tracker knows which published events have ended, in whatever order it hears of them."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import msgspec

from streams.log.publisher import Published
from streams.ops.tracker import Tracker, outcome_of
from streams.records import Manifest, Outcome, Sequence, SourceState, Status, Version

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def state(source_id: str, offset: int, outcome: Outcome, *, status: Status = Status.LIVE) -> SourceState:
    """A document whose one version arrived at `offset`."""
    at = Sequence(epoch=1, offset=offset)
    manifest = Manifest(path="a", file_name="a", source="s", native_id="a", observed_at=NOW, ingested_at=NOW)
    version = Version(sequence=at, manifest=manifest, valid_from=NOW, outcome=outcome)
    return SourceState(source_id=source_id, status=status, high_water=at, versions=[version], current=at)


def test_an_event_is_pending_until_its_state_has_an_outcome() -> None:
    tracker = Tracker()
    tracker.expect("s:a", 0, 5)
    tracker.applied([state("s:a", 5, Outcome.PENDING)])
    assert tracker.pending == ["s:a"]
    tracker.applied([state("s:a", 5, Outcome.QUARANTINED)])
    assert tracker.pending == []
    assert tracker.settled == {"quarantined": 1}
    assert tracker.take_newly_settled() == [("s:a", 0, 5)]
    assert tracker.take_newly_settled() == []


def test_the_state_may_come_before_the_confirmation_of_its_event() -> None:
    tracker = Tracker()
    tracker.applied([state("s:a", 5, Outcome.READY)])
    tracker.expect("s:a", 0, 5)
    assert tracker.pending == []
    assert tracker.settled == {"ready": 1}


def test_an_older_state_does_not_settle_a_newer_event() -> None:
    tracker = Tracker()
    tracker.expect("s:a", 0, 9)
    tracker.applied([state("s:a", 5, Outcome.READY)])
    assert tracker.pending == ["s:a"]
    tracker.applied([state("s:a", 9, Outcome.READY)])
    assert tracker.pending == []


def test_the_last_event_of_a_document_counts() -> None:
    tracker = Tracker()
    tracker.expect("s:a", 0, 3)
    tracker.expect("s:a", 0, 8)
    tracker.applied([state("s:a", 3, Outcome.READY)])
    assert tracker.pending == ["s:a"]
    tracker.applied([state("s:a", 8, Outcome.SKIPPED)])
    assert tracker.take_newly_settled() == [("s:a", 0, 8)]


def test_a_dead_letter_ends_the_waiting_and_is_no_outcome() -> None:
    tracker = Tracker()
    tracker.expect("s:a", 0, 3)
    tracker.dead("s:b", "of somebody else")
    tracker.dead("s:a", "internal_error: why")
    assert (tracker.pending, tracker.lost) == ([], {"s:a": "internal_error: why"})
    assert tracker.settled == {}


def test_a_deleted_document_has_ended() -> None:
    assert outcome_of(state("s:a", 1, Outcome.PENDING, status=Status.DELETED)) == "deleted"
    assert outcome_of(state("s:a", 1, Outcome.PENDING)) is None


async def test_waiting_ends_when_something_settles_or_in_time() -> None:
    tracker = Tracker()
    tracker.expect("s:a", 0, 1)
    started = time.monotonic()
    await tracker.wait_for_change(0.01)
    assert time.monotonic() - started < 5


def test_a_known_end_settles_its_own_event_only() -> None:
    tracker = Tracker()
    tracker.expect("s:a", 0, 8)
    tracker.ended(Published("s:a", 0, 5), "ready")
    assert tracker.pending == ["s:a"]
    tracker.ended(Published("s:a", 0, 8), "ready")
    assert tracker.pending == []
    assert tracker.settled == {"ready": 1}


def test_a_lost_event_is_reported_once_and_remembered() -> None:
    tracker = Tracker()
    tracker.expect("s:a", 3, 8)
    tracker.dead("s:a", "undecodable_message: why")
    tracker.dead("s:other", "nobody waits for it")
    assert tracker.pending == []
    assert tracker.lost == {"s:a": "undecodable_message: why"}
    assert tracker.take_newly_settled() == [Published("s:a", 3, 8)]
    assert tracker.settled == {}


def container(offset: int, *members: str) -> SourceState:
    return msgspec.structs.replace(state("s:z", offset, Outcome.SKIPPED), children=list(members))


def member(source_id: str, order: int, outcome: Outcome, *members: str) -> SourceState:
    """A member whose container arrived at `order`, itself at another offset of another partition."""
    found = state(source_id, 2, outcome)
    (version,) = found.versions
    below = [Sequence(epoch=1, offset=order)]
    manifest = msgspec.structs.replace(version.manifest, parent_source_id="s:z", parent_order=below)
    version = msgspec.structs.replace(version, manifest=manifest)
    return msgspec.structs.replace(found, versions=[version], parent_source_id="s:z", children=list(members))


def test_members_are_waited_for_and_counted() -> None:
    tracker = Tracker()
    tracker.expect("s:z", 0, 5)
    tracker.applied([member("s:z!a", 5, Outcome.READY), member("s:z!b", 4, Outcome.READY)])
    assert tracker.pending == ["s:z"]
    tracker.applied([container(5, "s:z!a", "s:z!b")])
    assert tracker.pending == ["s:z!b"]  # its state is one of the container's former version
    assert tracker.expected == 3
    tracker.applied([member("s:z!b", 5, Outcome.PENDING)])
    assert tracker.pending == ["s:z!b"]
    tracker.applied([member("s:z!b", 5, Outcome.QUARANTINED)])
    assert tracker.pending == []
    assert tracker.settled == {"skipped": 1, "ready": 1, "quarantined": 1}
    assert tracker.take_newly_settled() == [("s:z", 0, 5)]  # the connector knows nothing of members


def test_members_of_members_are_waited_for() -> None:
    tracker = Tracker()
    tracker.applied([container(5, "s:z!y")])
    tracker.expect("s:z", 0, 5)
    assert tracker.pending == ["s:z!y"]
    tracker.applied([member("s:z!y", 5, Outcome.SKIPPED, "s:z!y!a")])
    assert tracker.pending == ["s:z!y!a"]
    tracker.dead("s:z!y!a", "why")
    assert tracker.pending == []
    assert tracker.lost == {"s:z!y!a": "why"}
    assert tracker.take_newly_settled() == [("s:z", 0, 5)]


def test_members_of_others_are_nobodys_and_those_that_others_saw_end_with_the_work() -> None:
    tracker = Tracker()
    tracker.applied([container(5, "s:z!a")])
    assert tracker.pending == []
    tracker.expect("s:z", 0, 5)
    assert tracker.pending == ["s:z!a"]
    tracker.members_ended()
    assert (tracker.pending, tracker.expected) == ([], 1)
