"""Tables as the layout model sees them: filled with words, and kept only where the grid holds what a table holds.

A table that is none is worse than a missed one: prose, lists, forms and charts stay what they are.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise

import msgspec

from streams.extract import pdf_table_fill
from streams.extract.pdf_grid import Grid, PageTable
from streams.extract.pdf_lines import Frame, Line
from streams.extract.tools.mupdf import Word
from streams.extract.tools.mupdf_layout import LaidTable
from streams.records import Cell

_LEAST_FILLED = 0.3  # of the fields of the grid
_LEAST_ROWS = 0.5  # of the rows have text in several columns
_LONG = 60  # characters of a cell of prose
_FEW_ROWS = 3
_PARAGRAPH = 200  # characters
_LABEL = re.compile(r"[•‣◦▪●○■□➢✓*·–—-]|\(?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{1,5})[.)]|\[\d{1,3}\]")
_STATEMENT = re.compile(r"[;{}]$|[\w\])] ?[:+\-*/]?= ?[\w\[(\"']|\w\(\w*[,)]")
_MOST_CUT = 0.3  # share of rows in which a line of text runs over an edge of columns


def fill(laid: LaidTable, words: Sequence[Word], lines: Sequence[Line], frame: Frame) -> PageTable | None:
    """The table of a grid that the model gives, with its confidence; None when what falls into it is no table."""
    grid = Grid(us=laid.us, vs=laid.vs, below=[], beside=[])
    grid.spans = [(cell.row, cell.col, cell.row_span, cell.col_span) for cell in laid.cells]
    table = pdf_table_fill.fill(grid, words, lines, frame)
    if table is None:
        return None
    filled = sum(cell.row_span * cell.col_span for cell in table.cells if cell.text) / (table.n_rows * table.n_cols)
    cut = _cut_lines(table, lines)
    if (
        _rows_of_several(table) < _LEAST_ROWS
        or filled < _LEAST_FILLED
        or cut > _MOST_CUT
        or _is_torn(table)
        or _is_prose(table)
        or _is_list(table)
        or _is_contents(table)
        or _is_listing(table, lines)
    ):
        return None
    if filled < 1 and not any(letter.isalpha() for cell in table.cells for letter in cell.text):
        return None  # figures of a chart
    # half for a full grid, half for lines of text that end where the cells do
    confidence = round(0.5 * min(1.0, filled + 0.2) + 0.5 * (1 - cut / _MOST_CUT), 2)
    return msgspec.structs.replace(table, confidence=confidence)


def _rows_of_several(table: PageTable) -> float:
    """Share of the rows that have text in more than one cell."""
    counts = Counter(cell.row for cell in table.cells if cell.text)
    return sum(count > 1 for count in counts.values()) / table.n_rows


def _cut_lines(table: PageTable, lines: Sequence[Line]) -> float:
    """Share of the lines of text in the table that run over an edge between two of its columns, heads left out."""
    u0, v0, u1, v1 = table.box
    inside = [line for line in lines if not line.solid and v0 <= (line.v0 + line.v1) / 2 <= v1]
    inside = [line for line in inside if u0 <= (line.u0 + line.u1) / 2 <= u1 and len(line.text.split()) > 4]
    whole = [line for line in inside if sum(line.u0 + 6 < edge < line.u1 - 6 for edge in table.us[1:-1])]
    mono = [line for line in whole if line.mono or sum(map(str.isdigit, line.text)) >= 0.3 * len(line.text)]
    return (len(whole) - len(mono)) / max(len(inside), table.n_rows)


def _is_torn(table: PageTable) -> bool:
    """Whether a whole paragraph is a cell of few rows: text beside a table that the model took in."""
    return table.n_rows <= _FEW_ROWS and any(len(cell.text) > _PARAGRAPH for cell in table.cells)


def _is_prose(table: PageTable) -> bool:
    """Whether every column is long text: columns of prose side by side."""
    columns: list[list[Cell]] = [[] for _ in range(table.n_cols)]
    for cell in table.cells:
        if cell.text and not cell.header and cell.col_span == 1:
            columns[cell.col].append(cell)
    return all(_share(cells, lambda cell: len(cell.text) > _LONG) > 0.5 for cells in columns if cells)


def _is_list(table: PageTable) -> bool:
    """Whether it is marks or numbers of a list beside texts."""
    first = [cell for cell in table.cells if cell.col == 0 and cell.text]
    return table.n_cols == 2 and _share(first, lambda cell: _LABEL.fullmatch(cell.text) is not None) >= 0.8


def _is_contents(table: PageTable) -> bool:
    """Whether it is a table of contents: titles beside page numbers that never fall."""
    if table.n_cols > 3 or table.n_rows < 4 or table.header_rows:
        return False
    numbers = [cell.text for cell in table.cells if cell.col == table.n_cols - 1 and cell.text]
    titles = [cell for cell in table.cells if cell.col == table.n_cols - 2 and cell.text]
    if len(numbers) < 0.7 * table.n_rows or not all(text.isdecimal() and len(text) <= 4 for text in numbers):
        return False
    rising = all(int(a) <= int(b) for a, b in pairwise(numbers))
    return rising and _share(titles, lambda cell: sum(map(str.isalpha, cell.text)) >= 8) >= 0.7


def _is_listing(table: PageTable, lines: Sequence[Line]) -> bool:
    """Whether it is code beside the numbers of its lines."""
    if table.n_cols != 2:
        return False
    numbers = [cell.text for cell in table.cells if cell.col == 0 and cell.text]
    counted = all(text.isdecimal() and len(text) <= 5 for text in numbers)
    if not counted or len(numbers) < 3 or any(int(b) != int(a) + 1 for a, b in pairwise(numbers)):
        return False
    u0, v0, u1, v1 = table.box
    code = [cell for cell in table.cells if cell.col == 1 and cell.text]
    told = [line for line in lines if v0 <= line.base <= v1 and u0 <= (line.u0 + line.u1) / 2 <= u1]
    mono = sum(line.mono for line in told) >= 0.8 * len(told) > 0
    return mono or _share(code, lambda cell: _STATEMENT.search(cell.text) is not None) >= 0.3


def _share(cells: Sequence[Cell], holds: Callable[[Cell], bool]) -> float:
    return sum(holds(cell) for cell in cells) / len(cells) if cells else 0.0
