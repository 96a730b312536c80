"""Line numbers in a margin, as pleadings and manuscripts have them: they count lines of paper and are no text."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import pairwise

from streams.extract.pdf_lines import Line

_NUMBER = re.compile(r"\d{1,5}")
_STEPS = (1, 2, 5, 10)
_LEAST = {1: 6, 2: 6, 5: 3, 10: 3}  # numbers of a series with this step
_STEADY = 0.8  # share of a series that has its step
_MOST_LINES = 1500  # of a page: more is a map or a drawing
_PROSE = 1 / 3  # share of numbered lines that begin in lower case, since they go on from the line above
_LETTERS = 20  # of a line of prose


def line_numbers(lines: Sequence[Line]) -> set[int]:
    """The identities (`id()`) of the lines of one frame that number the others.

    They are a series of step 1, 2, 5 or 10 from top to foot, one below the other, with no text further out. Where each
    line has a number, the text beside must run on from line to line, so that numbered entries are none; where each
    fifth or tenth has one, as many lines must lie in between.
    """
    if len(lines) > _MOST_LINES:
        return set()
    texts = [line for line in lines if not line.solid]
    numbers = [line for line in texts if _NUMBER.fullmatch(line.text)]
    if len(numbers) < 3:
        return set()
    own = {id(line) for line in numbers}
    texts = sorted((line for line in texts if id(line) not in own), key=lambda line: line.base)
    for right in (False, True):
        columns: defaultdict[int, list[Line]] = defaultdict(list)
        for line in numbers:  # numbers below one another end together, or begin together
            columns[round(line.u1 / 3)].append(line)
            columns[-1 - round(line.u0 / 3)].append(line)
        for place, column in sorted(columns.items(), key=lambda item: (-len(item[1]), item[0])):
            near = _beside(numbers, column, place)
            if _is_series(near) and _is_margin(near, texts, right=right) and _counts_lines(near, texts):
                return {id(line) for line in near}
    return set()


def _beside(numbers: Sequence[Line], column: Sequence[Line], place: int) -> list[Line]:
    """All numbers within the edges of a column, from top to foot; the neighbouring places are the same column."""
    low, high = min(line.u0 for line in column) - 2, max(line.u1 for line in column) + 2
    if place >= 0:
        low -= 2 * column[0].size
    else:
        high += 2 * column[0].size
    return sorted((line for line in numbers if line.u0 >= low and line.u1 <= high), key=lambda line: line.base)


def _step(numbers: Sequence[Line]) -> int:
    steps = Counter(int(b.text) - int(a.text) for a, b in pairwise(numbers))
    return max(steps.items(), key=lambda item: (item[1], -item[0]))[0] if steps else 0


def _is_series(numbers: Sequence[Line]) -> bool:
    step = _step(numbers)
    if step not in _STEPS or len(numbers) < _LEAST[step]:
        return False
    if step > 2 and int(numbers[0].text) % step:
        return False
    steady = sum(int(b.text) - int(a.text) == step and b.base > a.base for a, b in pairwise(numbers))
    return steady >= _STEADY * (len(numbers) - 1)


def _is_margin(numbers: Sequence[Line], texts: Sequence[Line], *, right: bool) -> bool:
    """Whether no text beside the numbers stands below or beyond them."""
    top, foot = numbers[0].v0, numbers[-1].v1
    beside = [line for line in texts if line.v1 > top and line.v0 < foot]
    if right:
        edge = min(line.u0 for line in numbers)
        return all(line.u1 < edge for line in beside)
    edge = max(line.u1 for line in numbers)
    return all(line.u0 > edge for line in beside)


def _counts_lines(numbers: Sequence[Line], texts: Sequence[Line]) -> bool:
    """Whether the numbers count lines of text, and not entries of a list or rows of a table."""
    step = _step(numbers)
    bases = [line.base for line in texts]
    if step > 2:
        places = [bisect_left(bases, number.base - 2) for number in numbers]
        between = [_rows(bases[a:b]) for a, b in pairwise(places)]
        return sum(count == step for count in between) >= _STEADY * len(between)
    numbered: list[Line] = []
    for number in numbers:
        near = 0.4 * number.size
        row = texts[bisect_left(bases, number.base - near) : bisect_right(bases, number.base + near)]
        if row:
            numbered.append(min(row, key=lambda line: line.u0))
    if len(numbered) < _LEAST[step]:
        return False
    prose = sum(len(line.text) >= _LETTERS and line.text[0].islower() for line in numbered)
    return prose >= _PROSE * len(numbered)


def _rows(bases: Sequence[float]) -> int:
    """The number of rows with these baselines, which are sorted."""
    return sum(b - a > 2 for a, b in pairwise([float("-inf"), *bases]))
