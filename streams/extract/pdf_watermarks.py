"""Watermarks: large words printed across a page's text, which are no part of it and would be read as its heading."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from streams.extract.boxes import Box
from streams.extract.tools.mupdf import RawLine

_TILT = 0.36  # tangent of 20 degrees: from here on text runs neither along a page nor across it
_ACROSS = 0.3  # share of the page's diagonal
_MIDDLE = 0.2  # share of the page's sides: how far from its middle
_TILED = 3  # times that the same tilted words stand on one page
_LARGE = 2.5  # times the page's body size, where they are level
_LARGE_TILTED = 1.5
_LARGEST_BODY = 12.0  # points: what is level and less than _LARGE times as large is not looked at
_LIGHT = 0x80
_LEAST_LETTERS = 3
_UPON = 2  # lines of text that level words are printed across


def watermarks(lines: Sequence[RawLine], width: float, height: float) -> set[int]:
    """Indices of the lines of a page that are watermarks; none where there is hardly other text.

    Args:
        lines: what is seen of each line.
        width, height: of the page as displayed, in points.
    """
    tilted = {index for index, line in enumerate(lines) if _is_tilted(line)}
    level = [
        index
        for index, line in enumerate(lines)
        if index not in tilted and line.spans[0].size >= _LARGE * _LARGEST_BODY / 2 and _is_light(line)
    ]
    if not tilted and not level:
        return set()
    texts = ["".join(span.text for span in line.spans).strip() for line in lines]
    sizes: Counter[float] = Counter()
    for index, line in enumerate(lines):
        if index not in tilted:
            sizes[line.spans[0].size] += len(texts[index])
    if not sizes:
        return set()
    size = max(sizes.items(), key=lambda item: (item[1], -item[0]))[0]
    times = Counter(texts[index] for index in tilted)
    found = {
        index
        for index in tilted
        if lines[index].spans[0].size >= _LARGE_TILTED * size
        and (times[texts[index]] >= _TILED or _is_across(lines[index].box, width, height))
    }
    small = [line.box for line in lines if line.spans[0].size <= 1.2 * size]
    found |= {
        index
        for index in level
        if lines[index].spans[0].size >= _LARGE * size
        and sum(map(str.isalpha, texts[index])) >= _LEAST_LETTERS
        and _lines_below(lines[index].box, small) >= _UPON
    }
    marked = sum(len(texts[index]) for index in found)
    return found if marked * 2 < sum(map(len, texts)) else set()


def _is_tilted(line: RawLine) -> bool:
    low, high = sorted(map(abs, line.direction))
    return low > _TILT * high


def _is_light(line: RawLine) -> bool:
    color = line.spans[0].color
    return min(color >> 16, color >> 8 & 0xFF, color & 0xFF) >= _LIGHT


def _is_across(box: Box, width: float, height: float) -> bool:
    """Whether a box is large and in the middle of the page."""
    x0, y0, x1, y1 = box
    large = (x1 - x0) ** 2 + (y1 - y0) ** 2 >= _ACROSS**2 * (width**2 + height**2)
    middle = abs((x0 + x1 - width) / 2) <= _MIDDLE * width and abs((y0 + y1 - height) / 2) <= _MIDDLE * height
    return large and middle


def _lines_below(box: Box, others: Sequence[Box]) -> int:
    """How many lines of text level words are printed across."""
    x0, y0, x1, y1 = box
    edge = 0.2 * (y1 - y0)
    return sum(
        y0 + edge <= (other[1] + other[3]) / 2 <= y1 - edge
        and min(x1, other[2]) - max(x0, other[0]) > 0.5 * min(x1 - x0, other[2] - other[0])
        for other in others
    )
