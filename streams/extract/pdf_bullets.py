"""Bullets that are drawn and no text: small pictures and shapes, below one another, each before a line."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from streams.extract.boxes import Box
from streams.extract.pdf_lines import Line

_SIDE = (0.2, 1.2)  # of the font size
_LARGEST = 40.0  # points
_GAP = (0.1, 3.0)  # of the font size, between a bullet and its line
_NARROW = 0.5  # the shorter side of the longer one
_SAME_PLACE = 1.5  # points
_LEAST = 2
_MOST_SHAPES = 400  # of a page; more are a drawing
BULLET = "•"


def mark_bullets(lines: Sequence[Line], shapes: Sequence[Box]) -> None:
    """Give the lines of a frame that stand after drawn bullets a lead that says so; `shapes` are in the frame."""
    small = sorted({box for box in shapes if max(box[2] - box[0], box[3] - box[1]) <= _LARGEST})
    if not _LEAST <= len(small) <= _MOST_SHAPES:
        return
    found: defaultdict[int, list[Line]] = defaultdict(list)
    for box in small:
        middle = (box[1] + box[3]) / 2
        line = next((line for line in lines if line.v0 <= middle <= line.v1 and _is_before(box, line)), None)
        if line is not None:
            found[round(box[0] / _SAME_PLACE)].append(line)
    for place, marked in found.items():
        near = [*marked, *found.get(place - 1, ()), *found.get(place + 1, ())]
        if len({round(line.base) for line in near}) >= _LEAST:
            for line in marked:
                line.lead = BULLET


def _is_before(box: Box, line: Line) -> bool:
    width, height = box[2] - box[0], box[3] - box[1]
    low, high = min(width, height), max(width, height)
    return (
        not line.solid
        and not line.lead
        and _GAP[0] * line.size <= line.u0 - box[2] <= _GAP[1] * line.size
        and low >= _SIDE[0] * line.size
        and high <= _SIDE[1] * line.size
        and low >= _NARROW * high
        and any(c.isalpha() for c in line.text)
    )
