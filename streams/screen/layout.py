"""Layout that can't be: grids whose cells lie over one another or outside, and pages of whose order nobody is sure."""

from __future__ import annotations

from collections.abc import Sequence

from streams.records import CanonBody, Table

MOST_POSITIONS = 1_000_000
"""Positions of all grids that are looked at one by one; of larger ones only the sums are."""


def impossible(tables: Sequence[Table]) -> list[int]:
    """Indices of tables whose cells overlap or reach beyond the grid.

    A span is an area of positions (HTML, "forming a table"); a position that two cells claim was read wrongly.
    """
    found, left = [], MOST_POSITIONS
    for index, table in enumerate(tables):
        area = sum(max(cell.row_span, 0) * max(cell.col_span, 0) for cell in table.cells)
        outside = any(
            cell.row < 0
            or cell.col < 0
            or cell.row_span < 1
            or cell.col_span < 1
            or cell.row + cell.row_span > table.n_rows
            or cell.col + cell.col_span > table.n_cols
            for cell in table.cells
        )
        if outside or area > table.n_rows * table.n_cols:
            found.append(index)
        elif area <= left:
            left -= area
            if len(_positions(table)) < area:
                found.append(index)
    return found


def _positions(table: Table) -> set[tuple[int, int]]:
    return {
        (row, col)
        for cell in table.cells
        for row in range(cell.row, cell.row + cell.row_span)
        for col in range(cell.col, cell.col + cell.col_span)
    }


def reading_orders(body: CanonBody) -> dict[int, float]:
    """How sure the order of a page's blocks is (0..1), for pages that say it."""
    return {page.number: page.reading_order for page in body.pages if page.reading_order is not None}


def table_confidence(tables: Sequence[Table]) -> float | None:
    """The least sure of the grids that were inferred from positions; None where there are none."""
    return min((table.confidence for table in tables if table.confidence is not None), default=None)
