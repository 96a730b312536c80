"""Who has passed a Deletion: never said of somebody who may not have."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from streams.consumers.received import Partition
from streams.ops.deletes import CLOCKS_APART, Passed, Told, _Position, _verdict
from streams.records import Deletion, Sequence

AT = datetime(2026, 11, 30, 12, tzinfo=UTC)
CANONS, HELD, DELETED = (Partition(topic, 3) for topic in ("canon-ready", "quarantine", "deleted"))
NULL = {(CANONS, "s:a", "raw-arrived/3/7"): 41}
SURE = CLOCKS_APART + timedelta(seconds=1)


def told() -> Told:
    deletion = Deletion(source_id="s:a", sequence=Sequence(epoch=1, offset=7), source="s", path="a", deleted_at=AT)
    return Told(deletion=deletion, partition=3, offset=5, published_at=AT, event="raw-arrived/3/7")


def read(offset: int, oldest_unread: datetime | None) -> _Position:
    return _Position(None, offset, oldest_unread)


@pytest.mark.parametrize(
    ("places", "expected"),
    [
        ({CANONS: read(90, None)}, Passed.PASSED),
        ({CANONS: read(90, AT + SURE)}, Passed.PASSED),
        ({CANONS: read(90, AT - SURE)}, Passed.PASSED),  # clocks are further apart than we think, but the null was read
        ({CANONS: read(42, AT)}, Passed.PASSED),
        ({CANONS: read(41, AT)}, Passed.BEHIND),  # the null is the next one
        ({CANONS: read(40, AT - SURE)}, Passed.BEHIND),
        ({HELD: read(90, AT + CLOCKS_APART)}, Passed.BEHIND),  # no null is known there: perhaps it was cleaned away
        ({HELD: read(90, AT + SURE)}, Passed.PASSED),
        ({DELETED: read(6, AT - SURE)}, Passed.PASSED),
        ({DELETED: read(5, AT + SURE)}, Passed.BEHIND),
        ({CANONS: read(90, None), DELETED: read(5, AT)}, Passed.BEHIND),
        ({CANONS: read(90, None), HELD: _Position(Passed.REBUILDING)}, Passed.REBUILDING),
        ({CANONS: read(0, AT - SURE), DELETED: _Position(Passed.UNKNOWN)}, Passed.UNKNOWN),
        ({Partition("canon-ready", 4): read(90, None)}, Passed.UNKNOWN),  # nothing is known of its partition
        ({}, Passed.UNKNOWN),
    ],
)
def test_passed_is_said_only_of_what_was_surely_read(places: dict[Partition, _Position], expected: Passed) -> None:
    assert _verdict(told(), places, NULL) is expected


def test_the_null_of_another_delete_of_the_same_document_does_not_count() -> None:
    other = {(CANONS, "s:a", "raw-arrived/3/2"): 11}
    assert _verdict(told(), {CANONS: read(42, AT)}, other) is Passed.BEHIND
