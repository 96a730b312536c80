"""An OpenDocument table as a grid: repeats written out as far as they say something, covered cells told apart."""

from __future__ import annotations

from collections.abc import Iterator

from lxml import etree

from streams.extract.docx_tables import Grid, GridCell
from streams.extract.odf import attr, children, count

MAX_REPEATS = 1_048_576
MAX_SPAN = 1000
MAX_CELLS = 200_000
"""Cells of one table of a text or slide, repeats written out."""
FILLER = 64
"""Empty rows or cells repeated more often than this fill a sheet and are no part of a table."""
_ROW_GROUPS = frozenset({"table:table-rows", "table:table-row-group", "table:table-header-rows"})
MAX_DEPTH = 20
"""Groups in groups."""


def read_grid(table: etree._Element) -> Grid:
    """The grid of a `table:table` (part 3, 9). `clipped` if a repeat or span says more than can be."""
    grid = Grid(first_row_is_header=True if attr(table, "table:use-first-row-styles") == "true" else None)
    leading = True
    for row, is_header in _rows(table, 0, is_header=False):
        if attr(row, "table:visibility") in ("collapse", "filter"):
            grid.covered += [cell for name, cell in children(row) if name == "table:table-cell"]
            continue
        leading = leading and is_header
        repeats = count(attr(row, "table:number-rows-repeated"), MAX_REPEATS)
        cells, width = _cells(row, grid)
        if not cells and repeats > FILLER:
            repeats = 1
        for _ in range(repeats):
            if len(grid.cells) + len(cells) > MAX_CELLS or grid.n_rows >= MAX_CELLS:
                grid.clipped = True
                break
            grid.cells += [
                GridCell(grid.n_rows, cell.col, cell.col_span, cell.element, cell.row_span) for cell in cells
            ]
            grid.n_rows += 1
            grid.marked_headers += leading
        grid.n_cols = max(grid.n_cols, width)
    _trim(grid)
    return grid


def _rows(parent: etree._Element, depth: int, *, is_header: bool) -> Iterator[tuple[etree._Element, bool]]:
    for name, found in children(parent):
        if name == "table:table-row":
            yield found, is_header
        elif name in _ROW_GROUPS and depth < MAX_DEPTH:
            yield from _rows(found, depth + 1, is_header=is_header or name == "table:table-header-rows")


def _cells(row: etree._Element, grid: Grid) -> tuple[list[GridCell], int]:
    """Cells of a row that hold something or span, at their columns, and the width of the row."""
    cells: list[GridCell] = []
    col = width = 0
    for name, element in children(row):
        if name not in ("table:table-cell", "table:covered-table-cell"):
            continue
        repeats = count(attr(element, "table:number-columns-repeated"), MAX_REPEATS)
        says = len(element) > 0
        if name == "table:covered-table-cell":
            if says:
                grid.covered.append(element)
            width = col + repeats if repeats <= FILLER else width
        else:
            across = count(attr(element, "table:number-columns-spanned"), MAX_SPAN)
            down = count(attr(element, "table:number-rows-spanned"), MAX_CELLS)
            if says or across > 1 or down > 1 or repeats <= FILLER:
                written = min(repeats, MAX_CELLS - len(cells))
                grid.clipped = grid.clipped or written < repeats
                cells += [GridCell(0, col + at, across, element, down) for at in range(written)]
                width = col + written
        col = min(col + repeats, MAX_REPEATS)
    if not any(len(cell.element) or cell.col_span > 1 or cell.row_span > 1 for cell in cells) and len(cells) > FILLER:
        return [], 0
    return cells, width


def _trim(grid: Grid) -> None:
    """A span never reaches beyond the table."""
    for cell in grid.cells:
        cell.col_span = max(min(cell.col_span, grid.n_cols - cell.col), 1)
        cell.row_span = max(min(cell.row_span, grid.n_rows - cell.row), 1)
