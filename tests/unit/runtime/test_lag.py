"""What a worker knows of its own lag."""

from __future__ import annotations

import time

from streams.runtime.held import Held
from streams.runtime.lag import Book, PartitionLag
from streams.runtime.offsets import PartitionOffsets

HERE = ("raw-arrived", 0)


def book(start: int, high: int, position: int | None = None) -> Book:
    found = Book()
    found.starts({HERE: start})
    found.looked(HERE, high if position is None else position, high)
    return found


def test_the_oldest_open_event_tells_the_age() -> None:
    offsets = PartitionOffsets()
    for offset in (5, 6, 7):
        offsets.begin(offset, 1000.0 + offset)
    offsets.done(6)
    known = book(5, 8)
    assert known.lag(HERE, offsets) == PartitionLag(3, 1005.0)
    assert known.lag(HERE, offsets).seconds(1010.0) == 5.0
    offsets.done(5)
    assert known.lag(HERE, offsets) == PartitionLag(1, 1007.0)
    offsets.done(7)
    assert known.lag(HERE, offsets) == PartitionLag(0, None)
    assert known.lag(HERE, offsets).seconds(1010.0) == 0.0


def test_what_was_not_handed_over_is_looked_at_in_the_log() -> None:
    offsets, known = PartitionOffsets(), book(5, 8)  # the consumer's position is at the end: all is in some buffer
    assert known.unseen({HERE: offsets}) == {HERE: (5, 8)}
    guess = known.lag(HERE, offsets)
    assert guess.records == 3
    assert abs((guess.oldest_at or 0) - time.time()) < 60
    assert known.lag(HERE, offsets) == guess  # it grows with time, and does not start anew with each look
    known.peeked(HERE, 5, 8, 900.0)
    assert known.lag(HERE, offsets) == PartitionLag(3, 900.0)
    assert not known.unseen({HERE: offsets})


def test_an_end_without_records_is_no_lag_until_one_comes() -> None:
    offsets, known = PartitionOffsets(), book(5, 8)
    known.peeked(HERE, 5, 8, None)
    assert known.lag(HERE, offsets) == PartitionLag(0, None)
    assert known.caught_up({HERE: offsets})
    known.looked(HERE, 9, 9)
    assert known.lag(HERE, offsets).records == 4
    assert known.unseen({HERE: offsets}) == {HERE: (5, 9)}


def test_caught_up_means_all_that_was_there_at_the_start() -> None:
    offsets, known = PartitionOffsets(), Book()
    assert not known.caught_up({HERE: offsets})  # nothing is known yet
    known.looked(HERE, 2, 2)
    assert not known.caught_up({HERE: offsets})  # where it began is not known
    known.starts({HERE: 0})
    assert not known.caught_up({HERE: offsets})
    offsets.begin(0, 1.0)
    offsets.begin(1, 2.0)
    offsets.begin(2, 3.0)  # came later
    known.looked(HERE, 3, 3)
    offsets.done(0)
    assert not known.caught_up({HERE: offsets})
    offsets.done(1)
    assert known.caught_up({HERE: offsets})
    assert Book().caught_up({})  # a worker too many has nothing to catch up with


def test_held_documents_by_source() -> None:
    held = Held()
    held.hold(0, b"a", "share", 10.0)
    held.hold(1, b"b", "share", 5.0)
    held.hold(1, b"c", "mail", 7.0)
    assert held.oldest() == {"share": (2, 5.0), "mail": (1, 7.0)}
    held.hold(1, b"b", "share", 20.0)
    assert held.oldest()["share"] == (2, 10.0)
    held.release(0, b"a")
    held.release(0, b"never held")
    assert held.oldest()["share"] == (1, 20.0)
    held.forget(1)
    assert held.oldest() == {"share": (0, None), "mail": (0, None)}
    assert not any(held.counts().values())
    held.hold(0, b"stays", "share", -1.0, "mojibake")
    assert held.counts()["share", "mojibake"] == 1
    for since in range(5000):
        held.hold(0, b"again", "share", float(since))
    assert held.oldest()["share"] == (2, -1.0)
    assert len(held._by_age["share"]) < 2000  # what was released does not pile up behind what stays
