"""Panels: pieces of a poster or a page of figures that stand side by side and are read one after the other.

They are drawn frames that hold most of a page's text, or large figures in a row, each above a few words of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise
from statistics import median

import msgspec

from streams.extract.boxes import Box, area, around, common
from streams.extract.pdf_lines import Frame, Line, stands_in
from streams.extract.tools.mupdf import PageRead

_SMALLEST = (100.0, 50.0)  # points
_LARGEST = 0.5  # share of the page
_MOST_SHAPES = 5_000
_MOST_PANELS = 60
_MOST_OF_TEXT = 0.6  # share of the lines that panels hold where they order the page
_EDGE = 4.0  # points by which text may stand over a panel's edge
_LARGE = 1.7  # times the size of the words below
_BELOW = 1.5  # times the size of the large figure: how far down its words may begin
_CLOSE = 1.2  # times their own size: white between the lines of these words
_LETTERS = 12  # of a large figure


class Group(msgspec.Struct):
    """Panels side by side: the box around them, and the lines of each in reading order."""

    box: Box
    cells: list[list[Line]]


def drawn_panels(page: PageRead, frame: Frame, lines: Sequence[Line]) -> list[Box]:
    """Frames and grounds that lie apart from each other and hold most lines of a page; none where they do not."""
    if not 2 <= len(page.vectors) <= _MOST_SHAPES:
        return []
    return _panels(page, frame, lines, stroked=True) or _panels(page, frame, lines, stroked=False)


def _panels(page: PageRead, frame: Frame, lines: Sequence[Line], *, stroked: bool) -> list[Box]:
    width, height = frame.size
    boxes = {
        box
        for box in (frame.inside(vector.box) for vector in page.vectors if vector.stroked is stroked)
        if box[2] - box[0] >= _SMALLEST[0]
        and box[3] - box[1] >= _SMALLEST[1]
        and (box[2] - box[0]) * (box[3] - box[1]) <= _LARGEST * width * height
    }
    outer: list[Box] = []
    for box in sorted(boxes, key=lambda box: (-(box[2] - box[0]) * (box[3] - box[1]), box)):
        if not any(_share(box, other) > 0.9 for other in outer):
            outer.append(box)
        if len(outer) > _MOST_PANELS:
            return []
    if any(_share(a, b) > 0.05 for a, b in combinations(outer, 2)):
        return []
    held = [box for box in outer if sum(stands_in(line, box) for line in lines) > 1]
    within = sum(any(stands_in(line, box) for box in held) for line in lines)
    if len(held) < 2 or within < _MOST_OF_TEXT * len(lines):
        return []
    over = any(stands_in(line, box) and not _fits(box, line) for box in held for line in lines)
    return [] if over else held


def groups(lines: Sequence[Line], panels: Sequence[Box]) -> list[Group]:
    """Panels of a page that stand side by side: the drawn ones, or figures in a row with their words."""
    if not panels:
        return _figure_groups(lines)
    found: list[Group] = []
    for band in _bands(panels):
        if len(band) < 2:
            continue
        box = around(band)
        inside = [line for line in lines if stands_in(line, box)]
        if any(not _fits(box, line) for line in inside):
            continue
        columns = _bands(band, side=0)
        cells: list[list[Line]] = []
        left = {id(line) for line in inside}
        for column in columns:
            for panel in sorted(column, key=lambda panel: (panel[1], panel[0])):
                cells.append([line for line in inside if id(line) in left and stands_in(line, panel)])
                left -= {id(line) for line in cells[-1]}
        cells.append([line for line in inside if id(line) in left])
        found.append(Group(box, [cell for cell in cells if cell]))
    return found


def _figure_groups(lines: Sequence[Line]) -> list[Group]:
    texts = [line for line in lines if not line.solid]
    if len(texts) < 4:
        return []
    body = median(line.size for line in texts)
    large = sorted(
        (line for line in texts if line.size >= _LARGE * body / 1.2 and len(line.text) <= _LETTERS),
        key=lambda line: (line.base, line.u0),
    )
    found: list[Group] = []
    taken: set[int] = set()
    while large:
        first = large[0]
        row = [line for line in large if abs(line.base - first.base) < 0.2 * first.size and _like(line, first)]
        large = [line for line in large if line not in row]
        row.sort(key=lambda line: line.u0)
        if len(row) < 2 or any(b.u0 - a.u1 < 0.8 * a.size for a, b in pairwise(row)):
            continue
        group = _figure_group(row, [line for line in texts if id(line) not in taken])
        if group is not None:
            taken.update(id(line) for cell in group.cells for line in cell)
            found.append(group)
    return found


def _like(a: Line, b: Line) -> bool:
    return abs(a.size - b.size) < 0.1 * b.size


def _figure_group(row: list[Line], texts: Sequence[Line]) -> Group | None:
    """Figures in a row, each with the words below it; None where one has none, or where words run on to the next."""
    cells: list[list[Line]] = []
    below = sorted((line for line in texts if line.v0 > row[0].base - 0.3 * row[0].size), key=lambda line: line.v0)
    for figure in row:
        words: list[Line] = []
        foot = figure.base
        for line in below:
            white = line.v0 - foot
            if white > (_CLOSE * line.size if words else _BELOW * figure.size):
                break
            if line.size * _LARGE > figure.size or not _is_below(line, words[0] if words else figure):
                continue
            words.append(line)
            foot = max(foot, line.v1)
        if not words:
            return None
        cells.append([figure, *words])
    boxes = [around([line.box for line in cell]) for cell in cells]
    if any(a[2] > b[0] for a, b in pairwise(boxes)):
        return None
    box = around(boxes)
    own = {id(line) for cell in cells for line in cell}
    if any(id(line) not in own and _share(line.box, box) > 0.2 for line in texts):
        return None
    return Group(box, cells)


def _is_below(line: Line, other: Line) -> bool:
    """Whether lines begin, end or have their middle together."""
    near = 0.5 * line.size
    return (
        abs(line.u0 - other.u0) < near
        or abs(line.u1 - other.u1) < near
        or abs(line.u0 + line.u1 - other.u0 - other.u1) < 2 * near
    )


def _bands(boxes: Sequence[Box], side: int = 1) -> list[list[Box]]:
    """Boxes in groups that overlap from top to foot (`side` 1) or from left to right (0), in their order."""
    found: list[list[Box]] = []
    end = float("-inf")
    for box in sorted(boxes, key=lambda box: (box[side], box)):
        if not found or box[side] > end - 1:
            found.append([])
        found[-1].append(box)
        end = max(end, box[side + 2])
    return found


def _share(box: Box, other: Box) -> float:
    """Share of a box that lies in another one."""
    return common(box, other) / area(box) if area(box) > 0 else 0.0


def _fits(box: Box, line: Line) -> bool:
    return line.u0 >= box[0] - _EDGE and line.u1 <= box[2] + _EDGE
