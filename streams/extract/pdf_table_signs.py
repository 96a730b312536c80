"""Which pages may hold a table without all of its rules: a cheap look at lines and rules, before the dear model.

It may be wrong in both directions: a page too many costs half a second, a page too few costs a table. So it counts the
rows of short pieces that stand below one another, and the rules that run over several pieces; prose has neither, in one
column or in many.
"""

from __future__ import annotations

from collections.abc import Sequence

from streams.extract.pdf_lines import Frame, Line
from streams.extract.pdf_table_words import is_value
from streams.extract.tools.mupdf import Vector

_SHORT = 24  # characters of a piece that may be a cell's
_GAP = 0.7  # of the font size: pieces nearer than this are one
_ALIGNED = 2.5  # points
_ENOUGH = 24
_MOST = 32  # pieces of a row that are compared
_REACH = 4.5  # of the font size: how far apart the rows of a run are
_THIN = 3.0  # points


Piece = tuple[float, float, str]  # u from and to, text


def may_hold_tables(lines: Sequence[Line], vectors: Sequence[Vector], frame: Frame) -> bool:
    """Whether a page with these lines of one frame is worth the question."""
    rows = _rows(lines)
    return _has_run(rows) or _has_ruled_rows(rows, vectors, frame)


def _has_run(rows: list[tuple[float, float, list[Piece]]]) -> bool:
    """Rows of short pieces near one another and aligned; the more each row says, the fewer are needed."""
    weight = 0
    before: tuple[float, list[Piece]] | None = None
    for base, size, pieces in rows:
        own = _weight(pieces)
        if not own:
            continue
        near = before is not None and base - before[0] <= _REACH * size and _goes_with(before[1], pieces)
        weight = weight + own if near else own
        if weight >= _ENOUGH:
            return True
        before = base, pieces
    return False


def _rows(lines: Sequence[Line]) -> list[tuple[float, float, list[Piece]]]:
    """(baseline, font size, pieces) of each row of the page."""
    groups: list[list[Line]] = []
    for line in sorted((line for line in lines if not line.solid and line.text), key=lambda item: (item.base, item.u0)):
        if groups and line.base - groups[-1][0].base <= 0.35 * line.size:
            groups[-1].append(line)
        else:
            groups.append([line])
    rows = []
    for group in groups:
        group.sort(key=lambda item: item.u0)
        pieces: list[Piece] = []
        for line in group:
            if pieces and line.u0 - pieces[-1][1] < _GAP * line.size:
                pieces[-1] = pieces[-1][0], max(pieces[-1][1], line.u1), f"{pieces[-1][2]} {line.text}"
            else:
                pieces.append((line.u0, line.u1, line.text))
        rows.append((group[0].base, max(line.size for line in group), pieces))
    return rows


def _weight(pieces: list[Piece]) -> int:
    """How much a row looks like one of a table, 0 to 12; `_ENOUGH` in a run make a sign."""
    if len(pieces) == 1:
        return 8 if _is_line_of_values(pieces[0][2]) else 0
    short = sum(len(text) <= _SHORT for _, _, text in pieces)
    if short >= 4:
        return 12
    if short >= 2 or any(is_value(text) for _, _, text in pieces[1:]):
        return 8
    return 3 if short and sum(map(str.isalpha, pieces[0][2])) >= 3 else 0  # beside a long text; a list's label is none


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


def _has_ruled_rows(rows: list[tuple[float, float, list[Piece]]], vectors: Sequence[Vector], frame: Frame) -> bool:
    """Three rules of one length below one another, with pieces far apart between them."""
    across = []
    for vector in vectors:
        u0, v0, u1, v1 = frame.inside(vector.box)
        if v1 - v0 <= _THIN and u1 - u0 >= 60:
            across.append((round(u0 / 4), round(u1 / 4), v0))
    across.sort()
    start = 0
    while start < len(across):
        end = start
        while end < len(across) and across[end][:2] == across[start][:2]:
            end += 1
        if end - start >= 3:
            top, bottom = across[start][2], across[end - 1][2]
            if bottom - top > 20 and sum(top <= base <= bottom and len(pieces) > 1 for base, _, pieces in rows) >= 2:
                return True
        start = end
    return False
