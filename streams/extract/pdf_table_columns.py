"""Columns that a grid has as one: values with white space between them, or below a head of several columns."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

from streams.extract.pdf_grid import Grid
from streams.extract.pdf_table_words import Piece, Placed, contents, is_value, text_rows

_FEWEST = 3  # rows of values that make a column
_MOST = 0.6  # share of the rows that are so
_MOST_CELLS = 20_000

RowOfPieces = tuple[int, list[Piece]]  # row of the grid, pieces of one row of text in it


def under_heads(grid: Grid, words: Sequence[Placed]) -> Grid:
    """The grid with cells over several columns divided, where only the head has the rules between these columns: each
    of them is named, and rows of text below keep to them.
    """
    held = contents(grid, words)
    named = {col for row, col, _, width in grid.spans if width == 1 and held[row, col]}
    wide: defaultdict[tuple[int, int], list[tuple[int, list[list[Piece]]]]] = defaultdict(list)
    for row, col, _, width in grid.spans:
        if width > 1 and named.issuperset(range(col, col + width)):
            wide[col, width].append((row, [text_row.pieces() for text_row in text_rows(held[row, col])]))
    divided: set[tuple[int, int]] = set()  # row and column of the cells
    for (col, width), cells in wide.items():
        inner = grid.us[col + 1 : col + width]
        beside = [pieces for _, rows in cells for pieces in rows if len(pieces) > 1]
        if len(beside) >= _FEWEST and sum(_keep_to(inner, row) for row in beside) >= _MOST * len(beside):
            divided |= {(row, col) for row, rows in cells if all(_keep_to(inner, pieces) for pieces in rows)}
    if not divided:
        return grid
    spans = []
    for row, col, height, width in grid.spans:
        if (row, col) in divided:
            spans += [(row, c, height, 1) for c in range(col, col + width)]
        else:
            spans.append((row, col, height, width))
    return Grid(us=grid.us, vs=grid.vs, below=[], beside=[], spans=spans)


def _keep_to(edges: Sequence[float], pieces: Sequence[Piece]) -> bool:
    """Whether no piece lies over an edge between columns, and no two lie in one column."""
    slots = [bisect_right(edges, (piece.u0 + piece.u1) / 2) for piece in pieces]
    return len(set(slots)) == len(slots) and not any(p.u0 + 1 < edge < p.u1 - 1 for p in pieces for edge in edges)


def split_columns(grid: Grid, words: Sequence[Placed]) -> Grid:
    """The grid with columns split where most rows of text have values on both sides of the same white space."""
    held = contents(grid, words)
    columns: defaultdict[int, list[RowOfPieces]] = defaultdict(list)
    for row, col, _, width in grid.spans:
        if width == 1:
            columns[col] += [(row, text_row.pieces()) for text_row in text_rows(held[row, col])]
    for col in sorted(columns, reverse=True):  # from the right, so that the columns to come keep their numbers
        cuts = _cuts([pieces for _, pieces in columns[col]])
        if cuts and (len(grid.us) + len(cuts)) * len(grid.vs) <= _MOST_CELLS:
            grid = _with_cuts(grid, col, cuts, columns[col])
    return grid


def _cuts(rows: list[list[Piece]]) -> list[float]:
    """Positions between values, where no piece of the rows of values lies."""
    values = [row for row in rows if len(row) > 1 and all(is_value(piece.text) for piece in row[1:])]
    if len(values) < _FEWEST or len(values) < _MOST * len(rows):
        return []
    covered = sorted((piece.u0, piece.u1) for row in values for piece in row)
    cuts: list[float] = []
    end = covered[0][1]
    for u0, u1 in covered:
        if u0 - end > 1.0:
            cut = (end + u0) / 2
            if sum(row[0].u0 < cut < row[-1].u1 for row in values) >= _MOST * len(values):
                cuts.append(cut)
        end = max(end, u1)
    return cuts


def _with_cuts(grid: Grid, col: int, cuts: list[float], rows: list[RowOfPieces]) -> Grid:
    """The grid with one column split; a cell with text over a cut stays one cell over the new columns."""
    more = len(cuts)
    crossed: defaultdict[int, set[int]] = defaultdict(set)
    for row, pieces in rows:
        crossed[row].update(i for i, cut in enumerate(cuts) if any(p.u0 + 1 < cut < p.u1 - 1 for p in pieces))
    spans = []
    for row, c, height, width in grid.spans:
        if c == col and width == 1:
            starts = [0, *(i + 1 for i in range(more) if i not in crossed[row]), more + 1]
            spans += [(row, col + start, height, end - start) for start, end in pairwise(starts)]
        elif c <= col < c + width:
            spans.append((row, c, height, width + more))
        else:
            spans.append((row, c + more if c > col else c, height, width))
    us = [*grid.us[: col + 1], *cuts, *grid.us[col + 1 :]]
    return Grid(us=us, vs=grid.vs, below=[], beside=[], spans=sorted(spans))
