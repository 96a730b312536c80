"""Rows of a grid: bands that hold many rows of text, and a title or a note that stands inside the frame."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from streams.extract.pdf_grid import Grid
from streams.extract.pdf_layout import CAPTION
from streams.extract.pdf_table_words import Placed, TextRow, contents, is_value, slot, text_rows

_NOTE = re.compile(
    r"(?:Sources?|Notes?|NOTES?|SOURCES?|Quelle|Anmerkung|Remarque|Nota|Fuente|Fonte)\b\s*[:.—–-]|[*†‡]|\d\)? "
)
_LONG = 60  # characters of a last row over all columns that is a sentence about the table
_MOST_CELLS = 20_000


def without_title_and_notes(grid: Grid, words: Sequence[Placed]) -> Grid:
    """The grid without a first row that is its caption and without last rows that tell of it: both stay text."""
    n_cols = len(grid.us) - 1
    whole = {row for row, _, height, width in grid.spans if width == n_cols and height == 1}
    held = contents(grid, words)
    first, last = 0, len(grid.vs) - 1
    while last - first > 3 and CAPTION.match(_only_text(grid, held, first)):
        first += 1
    while last - first > 3 and last - 1 in whole and _is_note(_text(held[last - 1, 0])):
        last -= 1
    if (first, last) == (0, len(grid.vs) - 1):
        return grid
    spans = [(row - first, col, height, width) for row, col, height, width in grid.spans if first <= row < last]
    return Grid(us=grid.us, vs=grid.vs[first : last + 1], below=[], beside=[], spans=spans)


def _only_text(grid: Grid, held: dict[tuple[int, int], list[Placed]], row: int) -> str:
    """The text of a row whose other cells are empty and that no cell leaves; else ""."""
    own = [(held[r, c], height) for r, c, height, _ in grid.spans if r == row]
    filled = [words for words, _ in own if words]
    return _text(filled[0]) if len(filled) == 1 and all(height == 1 for _, height in own) else ""


def _text(words: Sequence[Placed]) -> str:
    return " ".join(row.text for row in text_rows(words))


def _is_note(text: str) -> bool:
    return _NOTE.match(text) is not None or (len(text) > _LONG and text.rstrip().endswith((".", ")", "”")))


def split_rows(grid: Grid, words: Sequence[Placed]) -> tuple[Grid, list[int]]:
    """The grid with bands split that hold many aligned rows of text, and the band that each of its rows comes from."""
    through = {row + r for row, _, height, _ in grid.spans if height > 1 for r in range(height)}
    by_band: list[list[Placed]] = [[] for _ in grid.vs[1:]]
    for word in words:
        by_band[slot(grid.vs, word.middle)].append(word)
    cells: list[dict[int, int]] = [{} for _ in grid.vs[1:]]  # of each band: first column and the column after the last
    for band, col, _, width in grid.spans:
        cells[band][col] = col + width
    n_cols = len(grid.us) - 1
    rows = [text_rows(band) for band in by_band]
    values = [sum(is_value(piece.text) for row in band for piece in row.pieces()) for band in rows]
    vs, bands = [grid.vs[0]], list[int]()
    firsts = [0]  # the first row of each band
    for band, bottom in enumerate(grid.vs[1:]):
        # the head of a table is one row, however many lines it has: no values in it, and values below
        head = band == 0 and len(grid.vs) > 2 and not values[0] and any(values[1:])
        edges: list[float] = []
        if band not in through and not head and (len(vs) + len(rows[band])) * n_cols <= _MOST_CELLS:
            edges = _edges(rows[band], grid, cells[band])
        vs += [*edges, bottom]
        bands += [band] * (len(edges) + 1)
        firsts.append(len(bands))
    spans = []
    for band, col, height, width in grid.spans:
        if height > 1:
            spans.append((firsts[band], col, firsts[band + height] - firsts[band], width))
        else:
            spans += [(row, col, 1, width) for row in range(firsts[band], firsts[band + 1])]
    return Grid(us=grid.us, vs=vs, below=[], beside=[], spans=sorted(spans)), bands


def _edges(rows: list[TextRow], grid: Grid, cells: dict[int, int]) -> list[float]:
    """Where the rows of text of a band part when they are rows of the table; else nothing."""
    if len(rows) < 3:
        return []
    owner = {col: first for first, end in cells.items() for col in range(first, end)}
    cols = [{owner[slot(grid.us, (word.u0 + word.u1) / 2)] for word in row.words} for row in rows]
    used = set().union(*cols)
    if len(used) < 2:
        return []
    full = [len(own) >= max(2, 0.6 * len(used)) for own in cols]
    if sum(full) >= 0.8 * len(rows) or (sum(full) >= 3 and _are_rows_of_values(rows, full, cols, min(used))):
        return [(a.middle + b.middle) / 2 for a, b in pairwise(rows)]
    return []


def _are_rows_of_values(rows: list[TextRow], full: list[bool], cols: list[set[int]], label: int) -> bool:
    """Whether all that stands right of the labels is values, one row of them for each label or two."""
    valued = [
        row.pieces()[-1] and is_value(row.pieces()[-1].text) for row, is_full in zip(rows, full, strict=True) if is_full
    ]
    rest = [own for own, is_full in zip(cols, full, strict=True) if not is_full]
    return sum(valued) >= 0.8 * len(valued) and len(rest) <= len(valued) and all(own <= {label} for own in rest)
