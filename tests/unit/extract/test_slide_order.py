"""The order in which shapes of a slide are read."""

from __future__ import annotations

import random
import time

from streams.extract.boxes import Box
from streams.extract.slide_order import reading_order


def named(**boxes: Box) -> str:
    """Names of boxes in reading order, joined."""
    names = list(boxes)
    return "".join(names[at] for at in reading_order(list(boxes.values())))


def test_rows_from_the_top_whatever_covers_what() -> None:
    assert named(c=(0, 300, 500, 350), a=(0, 0, 500, 50), b=(0, 100, 500, 250)) == "abc"


def test_beside_each_other_from_the_left_though_not_quite_level() -> None:
    assert named(b=(300, 98, 500, 150), a=(0, 100, 200, 150)) == "ab"


def test_columns_that_stand_apart_are_read_whole() -> None:
    """Two headings, each with its text close below, and a line that spans both."""
    order = named(
        d=(380, 103, 680, 400), b=(20, 103, 340, 400), c=(380, 60, 680, 100), a=(20, 60, 340, 100), e=(9, 450, 680, 500)
    )  # fmt: skip
    assert order == "abcde"


def test_a_raster_of_equal_rows_is_read_by_rows() -> None:
    order = named(
        b=(300, 0, 400, 20), d=(300, 22, 400, 42), f=(300, 44, 400, 64),
        a=(0, 0, 100, 20), c=(0, 22, 100, 42), e=(0, 44, 100, 64),
    )  # fmt: skip
    assert order == "abcdef"


def test_overlapping_frames_still_divide() -> None:
    assert named(b=(0, 95, 500, 200), a=(0, 0, 500, 100)) == "ab"


def test_thousands_of_boxes_cost_little_and_none_is_lost() -> None:
    dice = random.Random(7)  # noqa: S311
    boxes = [(x := dice.random() * 700, y := dice.random() * 500, x + 90, y + 30) for _ in range(4000)]
    diagonal = [(float(at), float(at), at + 0.5, at + 0.5) for at in range(4000)]
    started = time.process_time()
    assert sorted(reading_order(boxes)) == list(range(4000))
    assert reading_order(diagonal) == list(range(4000))
    assert time.process_time() - started < 3
