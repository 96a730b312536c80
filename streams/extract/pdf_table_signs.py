"""Which pages may hold a table without all of its rules: a cheap look at lines and rules, before the dear model.

It may be wrong in both directions: a page too many costs half a second, a page too few costs a table. So it counts the
rows of short pieces that stand below one another, and the rules that run over several pieces; prose has neither, in one
column or in many. Items of lists, formulas, listings and lines stretched to the margin have pieces, too, and are told
from rows by what stands in them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from streams.extract.pdf_columns import regions
from streams.extract.pdf_lines import Frame, Line
from streams.extract.pdf_table_words import is_value
from streams.extract.tools.mupdf import Vector

_SHORT = 24  # characters of a piece that may be a cell's
_GAP = 0.7  # of the font size: pieces nearer than this are one
_GAP_OF_SIGNS = 2.5  # of the font size: between a mark or sign and the text it belongs to
_GAP_OF_NUMBERS = 12.0  # the same after the number of a line of code
_ALIGNED = 2.5  # points
_ENOUGH = 24
_MOST = 32  # pieces of a row that are compared
_REACH = 4.5  # of the font size: how far apart the rows of a run are
_THIN = 3.0  # points
_MITRED = 8.0  # points: the box of a stroked line has room for its corners
_SHORT_PART = 20.0
_LONG_RULE = 60.0
_SAME_END = 6.0
_HEAD_ROWS = 3
_ROWS_A_RULE = 4  # rows of long texts for each rule that divides them; columns of prose have more
_CODE = re.compile(r"//|/\*|←|:=|==|[;{}]$|\(\)|^(?:end|else|return|for|while|if|import|def)\b|@\w")
_REMARK = ("▷", "⊳", "//")
_NUMBERED = re.compile(r"\d{1,3}:(?:\s|$)")  # a line of an algorithm
_FORMULA = re.compile(r"(?:^|\s)=(?:\s|$)")

Piece = tuple[float, float, str]  # u from and to, text


class Row(NamedTuple):
    """Pieces on one baseline; `size` is that of the font, `v` that of the baseline, in points."""

    v: float
    size: float
    pieces: list[Piece]


def may_hold_tables(lines: Sequence[Line], vectors: Sequence[Vector], frame: Frame) -> bool:
    """Whether a page with these lines of one frame is worth the question."""
    rows = _rows(lines)
    if _has_ruled_rows(rows, vectors, frame):
        return True
    # rows of a page in columns mix what has nothing to do with each other, so one column must show the sign, too
    return _has_run(rows) and any(_has_run(_rows(column)) for column in regions(list(lines)))


def _has_run(rows: list[Row]) -> bool:
    """Rows of short pieces near one another and aligned; the more each row says, the fewer are needed."""
    weight = 0
    before: Row | None = None
    for row in rows:
        own = _weight(row)
        if not own:
            continue
        near = before is not None and row.v - before.v <= _REACH * row.size and _goes_with(before.pieces, row.pieces)
        weight = weight + own if near else own
        if weight >= _ENOUGH:
            return True
        before = row
    return False


def _rows(lines: Sequence[Line]) -> list[Row]:
    """Each row of the page, from the top."""
    groups: list[list[Line]] = []
    told = (line for line in lines if not line.solid and _tells(line.text))
    for line in sorted(told, key=lambda item: (item.base, item.u0)):
        if groups and line.base - groups[-1][0].base <= 0.35 * line.size:
            groups[-1].append(line)
        else:
            groups.append([line])
    rows = []
    for group in groups:
        group.sort(key=lambda item: item.u0)
        rows.append(Row(group[0].base, max(line.size for line in group), _pieces(group)))
    return rows


def _tells(text: str) -> bool:
    """Whether a text may be a cell's: neither leaders and drawn rules, nor points, nor glyphs that no one can name."""
    return not _is_bare(text) or text == "=" or (len(text) <= 3 and not text.strip(" \ufffd").isascii())


def _pieces(row: list[Line]) -> list[Piece]:
    """The pieces of a row; the signs of a formula, the mark before an item and the number of a line are none.

    A line of an algorithm is one piece, with its number before it and the remark at the margin.
    """
    pieces: list[Piece] = []
    reach = 0.0
    if _NUMBERED.match(row[0].text) or row[-1].text.startswith(_REMARK):
        return [(row[0].u0, max(line.u1 for line in row), " ".join(line.text for line in row))]
    for index, line in enumerate(row):
        own = _GAP_OF_SIGNS if _is_bare(line.text) else _GAP
        if pieces and line.u0 - pieces[-1][1] < max(own, reach) * line.size:
            pieces[-1] = pieces[-1][0], max(pieces[-1][1], line.u1), f"{pieces[-1][2]} {line.text}"
        else:
            pieces.append((line.u0, line.u1, line.text))
        reach = _GAP_OF_NUMBERS if index == 0 and line.mono and line.text.isdecimal() else own
    return pieces


def _is_bare(text: str) -> bool:
    """Whether a text has neither letters nor figures, and is no sign that stands for a value."""
    return not any(map(str.isalnum, text)) and not is_value(text)


def _weight(row: Row) -> int:
    """How much a row looks like one of a table, 0 to 12; `_ENOUGH` in a run make a sign."""
    pieces = row.pieces
    if len(pieces) == 1:
        return 8 if _is_line_of_values(pieces[0][2]) else 0
    if _is_stretched(row) or any(_CODE.search(text) or _FORMULA.search(text) for _, _, text in pieces):
        return 0
    if len(pieces) <= 3 and all(is_value(text) for _, _, text in pieces):
        return 4  # of a chart, more often than not
    short = sum(len(text) <= _SHORT for _, _, text in pieces)
    if short >= 4:
        return 12
    if short >= 2 or any(is_value(text) for _, _, text in pieces[1:]):
        return 8
    return 3 if short and sum(map(str.isalpha, pieces[0][2])) >= 3 else 0  # beside a long text; a list's label is none


def _is_stretched(row: Row) -> bool:
    """Whether it is a line whose blanks were widened to reach the margin: they are all alike, and none is wide."""
    gaps = [right[0] - left[1] for left, right in pairwise(row.pieces)]
    return len(gaps) > 1 and max(gaps) <= 2.5 * row.size and max(gaps) - min(gaps) <= 0.2 * row.size


def _is_line_of_values(text: str) -> bool:
    """A row of a table that is one line of text, its columns made of blanks."""
    words = text.split()
    return len(words) >= 4 and sum(any(map(str.isdigit, word)) for word in words) >= 0.7 * len(words)


def _goes_with(above: list[Piece], below: list[Piece]) -> bool:
    """Whether a piece after the first stands under another: left, right or middle."""
    if len(above) == 1 or len(below) == 1:
        return abs(above[0][0] - below[0][0]) <= _ALIGNED or abs(above[-1][1] - below[-1][1]) <= _ALIGNED
    return any(
        abs(a[0] - b[0]) <= _ALIGNED or abs(a[1] - b[1]) <= _ALIGNED or abs(a[0] + a[1] - b[0] - b[1]) <= 2 * _ALIGNED
        for a in above[1:_MOST]
        for b in below[1:_MOST]
    )


def _has_ruled_rows(rows: list[Row], vectors: Sequence[Vector], frame: Frame) -> bool:
    """Three rules of one length below one another, with pieces far apart between them."""
    for u0, u1, heights in _rules(vectors, frame):
        top, bottom = heights[0], heights[-1]
        if len(heights) < 3 or bottom - top <= 20:
            continue
        between = [
            row._replace(pieces=[piece for piece in row.pieces if u0 <= (piece[0] + piece[1]) / 2 <= u1])
            for row in rows
            if top <= row.v <= bottom
        ]
        several = sum(len(row.pieces) > 1 for row in between)
        if several < 2:
            continue
        short = sum(len(row.pieces) > 1 and _weight(row) > 0 for row in between)
        head = [row for row in between if row.v <= heights[1]]
        headed = 1 <= len(head) <= _HEAD_ROWS and all(len(row.pieces) > 1 for row in head)
        if short >= 2 or headed or len(between) <= _ROWS_A_RULE * len(heights):
            return True
    return False


def _rules(vectors: Sequence[Vector], frame: Frame) -> Iterator[tuple[float, float, list[float]]]:
    """Rules of one length below one another: from and to u, and the v of each. Parts that touch are one rule."""
    parts: list[tuple[float, float, float]] = []
    for vector in vectors:
        u0, v0, u1, v1 = frame.inside(vector.box)
        if v1 - v0 <= (_MITRED if vector.stroked else _THIN) and u1 - u0 >= _SHORT_PART:
            parts.append((round((v0 + v1) / 2, 1), u0, u1))
    whole: list[list[float]] = []  # u0, u1, v
    for v, u0, u1 in sorted(parts):
        if whole and v - whole[-1][2] <= 1 and whole[-1][0] - 1 <= u0 <= whole[-1][1] + 12:
            whole[-1][1] = max(whole[-1][1], u1)
        else:
            whole.append([u0, u1, v])
    long = [rule for rule in whole if rule[1] - rule[0] >= _LONG_RULE]
    for begin in _near(long, 0):
        for same in _near(begin, 1):
            heights: list[float] = []
            for v in sorted(rule[2] for rule in same):
                if not heights or v - heights[-1] > 2:
                    heights.append(v)
            yield same[0][0], same[0][1], heights


def _near(rules: list[list[float]], key: int) -> Iterator[list[list[float]]]:
    """Rules whose values at `key` are nearly the same."""
    group: list[list[float]] = []
    for rule in sorted(rules, key=lambda item: (item[key], item)):
        if group and rule[key] - group[0][key] > _SAME_END:
            yield group
            group = []
        group.append(rule)
    if group:
        yield group
