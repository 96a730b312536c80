"""Rows of text as a grid of the canon, for formats whose tables have neither spans nor marked headers."""

from __future__ import annotations

from collections.abc import Sequence

from streams.errors import DocumentError
from streams.records import Block, BlockKind, BlockSource, Cell, Table

MAX_CELLS = 2_000_000
"""Cells of one document. A slot of 1.5 GB carries this many to the end of its way, with its text and its record."""


def check_cells(count: int, what: str) -> None:
    """Raises DocumentError `too_large` for more cells than a slot carries; `what` begins the message."""
    if count > MAX_CELLS:
        raise DocumentError("too_large", f"{what} has {count} cells; the limit for one document is {MAX_CELLS}.")


def grid(rows: Sequence[Sequence[str]], header_rows: int, caption: str | None = None) -> Table:
    """A table of these rows; short rows are filled up with empty cells.

    Errors: DocumentError `too_large`, see `check_cells`.
    """
    columns = max(map(len, rows), default=0)
    check_cells(len(rows) * columns, "A table")
    cells = [
        Cell(row=number, col=col, text=row[col] if col < len(row) else "", header=number < header_rows)
        for number, row in enumerate(rows)
        for col in range(columns)
    ]
    return Table(n_rows=len(rows), n_cols=columns, header_rows=header_rows, caption=caption, cells=cells)


def add_table(blocks: list[Block], tables: list[Table], table: Table) -> None:
    """Appends the table, and the block that shows where it stands."""
    blocks.append(Block(kind=BlockKind.TABLE, text="", table=len(tables), source=BlockSource.MARKUP))
    tables.append(table)
