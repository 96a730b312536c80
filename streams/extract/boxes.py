"""Boxes on a page, on a slide or in a picture: x0, y0, x1, y1, in points or in pixels, origin top left."""

from __future__ import annotations

from collections.abc import Iterable

Box = tuple[float, float, float, float]


def around(boxes: Iterable[Box]) -> Box:
    """The box around boxes, of which there is one at least."""
    x0, y0, x1, y1 = zip(*boxes, strict=True)
    return min(x0), min(y0), max(x1), max(y1)


def area(box: Box) -> float:
    """What a box covers; 0 for one that is turned inside out."""
    return max(0.0, box[2] - box[0]) * max(0.0, box[3] - box[1])


def common(one: Box, other: Box) -> float:
    """What two boxes both cover."""
    return area((max(one[0], other[0]), max(one[1], other[1]), min(one[2], other[2]), min(one[3], other[3])))


def meet(one: Box, other: Box) -> bool:
    """Whether two boxes have more than an edge in common."""
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
