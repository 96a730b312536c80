"""Rows of text as a grid of the canon, for formats whose tables have neither spans nor marked headers."""

from __future__ import annotations

from collections.abc import Sequence

from streams.errors import DocumentError
from streams.records import Block, BlockKind, BlockSource, Cell, Table

MAX_CELLS = 2_000_000
"""Cells of one document."""
MEMORY = 1_250_000_000
PER_CELL = 500
PER_CHARACTER = 20
"""Bytes that a table may take on its way to a record and through the screen; measured per cell and per character of it.
A slot has 1.5 GB (`[worker] slot_memory_mb`)."""


def check_size(cells: int, characters: int, what: str) -> None:
    """Raises DocumentError `too_large` for a table that a slot can't carry; `what` begins the message."""
    if cells > MAX_CELLS or cells * PER_CELL + characters * PER_CHARACTER > MEMORY:
        fits = f"{MAX_CELLS} cells, or {MEMORY // PER_CHARACTER} characters in few cells"
        raise DocumentError("too_large", f"{what} has {cells} cells and {characters} characters; what fits is {fits}.")


def grid(rows: Sequence[Sequence[str]], header_rows: int, caption: str | None = None) -> Table:
    """A table of these rows; short rows are filled up with empty cells.

    Errors: DocumentError `too_large`, see `check_size`.
    """
    columns = max(map(len, rows), default=0)
    check_size(len(rows) * columns, sum(len(text) for row in rows for text in row), "A table")
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
