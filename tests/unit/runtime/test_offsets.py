"""Only what is done without a gap may be committed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from streams.runtime.offsets import PartitionOffsets


@given(st.data())
def test_the_committable_offset_never_passes_an_unfinished_one_and_never_goes_back(data: st.DataObject) -> None:
    offsets = PartitionOffsets()
    steps = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=25))
    upcoming = [sum(steps[: index + 1]) - 1 for index in range(len(steps))]
    unfinished: list[int] = []
    begun: list[int] = []
    last = 0
    while upcoming or unfinished:
        if upcoming and (not unfinished or data.draw(st.booleans())):
            offset = upcoming.pop(0)
            assert offsets.begin(offset)
            begun.append(offset)
            unfinished.append(offset)
        else:
            offset = unfinished.pop(data.draw(st.integers(0, len(unfinished) - 1)))
            offsets.done(offset)
            if data.draw(st.booleans()):
                offsets.done(offset)  # once more
        if data.draw(st.booleans()):
            assert not offsets.begin(data.draw(st.sampled_from(begun)))  # delivered again
        committable = offsets.committable
        if committable is not None:
            assert committable >= last
            last = committable
            assert all(offset >= committable for offset in unfinished)
            assert committable - 1 in begun
        assert offsets.oldest_open == min(unfinished, default=None)
    assert offsets.committable == begun[-1] + 1
    assert len(offsets) == 0


def test_a_slow_head_holds_everything_back() -> None:
    offsets = PartitionOffsets()
    for offset in range(6):
        offsets.begin(offset)
    for offset in range(1, 6):
        offsets.done(offset)
    assert offsets.committable is None
    assert offsets.oldest_open == 0
    offsets.done(0)
    assert offsets.committable == 6


def test_an_offset_of_an_earlier_assignment_is_not_counted() -> None:
    offsets = PartitionOffsets()
    offsets.done(5)
    offsets.begin(7)
    offsets.done(5)
    assert offsets.committable is None
    assert not offsets.begin(6)
    offsets.done(7)
    assert offsets.committable == 8
