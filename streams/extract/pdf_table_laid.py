"""Tables as the layout model sees them: filled with words, and kept only where the grid holds what a table holds."""

from __future__ import annotations

from collections.abc import Sequence

from streams.extract import pdf_table_fill
from streams.extract.pdf_grid import Grid, RuledTable
from streams.extract.pdf_lines import Frame, Line
from streams.extract.tools.mupdf import Word
from streams.extract.tools.mupdf_layout import LaidTable


def fill(laid: LaidTable, words: Sequence[Word], lines: Sequence[Line], frame: Frame) -> RuledTable | None:
    """The table of a grid that the model gives; None when what falls into it is no table."""
    grid = Grid(us=laid.us, vs=laid.vs, below=[], beside=[])
    grid.spans = [(cell.row, cell.col, cell.row_span, cell.col_span) for cell in laid.cells]
    return pdf_table_fill.fill(grid, words, lines, frame)
