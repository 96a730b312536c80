"""HTML tables: which are data and which only lay out the page, and the grid that their spans make.

Source of the grid: WHATWG HTML, 4.9.12.1 "Forming a table", with bounds, for its spans are the sender's to choose.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from streams.records import Cell, Link, Table

MAX_COL_SPAN = 1000
MAX_ROW_SPAN = 65_534
MAX_STEPS = 3_000_000
"""Steps that one table may cost; its spans beyond that count as 1."""
MAX_POSITIONS = 2_000_000
"""Positions of a grid; beyond, it is no table for anyone, and its rows become paragraphs."""
MAX_LAYOUT_CELL = 300
"""Characters of a cell, on average, above which a table without any header lays out a page."""

_NUMBER = re.compile(
    r"^\s*(?:Table|Tabelle|Tableau|Tabla|Tabella|Tabela|Tab\.)\s*([A-Z]?\d+(?:[.-]\d+)*)", re.IGNORECASE
)


@dataclass
class TableFacts:
    """What a look over a table's content says before it is read."""

    role: str = ""
    headers: int = 0
    captioned: bool = False
    nested: bool = False
    blocks: int = 0  # headings, sections, forms: no table has them in its cells
    rows: int = 0
    cells: int = 0
    characters: int = 0

    def is_data(self) -> bool:
        """Whether this is a table of data; a mere layout is read as the blocks it holds."""
        if self.role in ("presentation", "none") or not self.cells:
            return False
        if self.headers or self.captioned:
            return True
        if self.nested or self.blocks or self.rows < 2 or self.cells < 2 * self.rows:
            return False
        return self.characters <= MAX_LAYOUT_CELL * self.cells


@dataclass
class RawCell:
    """A cell as it stands in the source."""

    header: bool
    row_span: int
    col_span: int
    in_head: bool
    lines: list[str] = field(default_factory=list)
    bold: bool = False

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


@dataclass
class RawTable:
    """Rows of a table in their groups (thead, tbody, tfoot), as they are read."""

    rows: list[list[RawCell]] = field(default_factory=list)
    groups: list[int] = field(default_factory=list)  # index of the group of each row
    group: int = 0
    in_head: bool = False
    caption: list[str] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)

    def start_group(self, *, head: bool) -> None:
        self.group += 1
        self.in_head = head

    def start_row(self) -> None:
        self.rows.append([])
        self.groups.append(self.group)

    def start_cell(self, *, header: bool, row_span: int, col_span: int) -> RawCell:
        if not self.rows or self.groups[-1] != self.group:
            self.start_row()
        cell = RawCell(header, row_span, col_span, self.in_head)
        self.rows[-1].append(cell)
        return cell


def span(value: str | None, most: int) -> int:
    """A colspan or rowspan as browsers read it: leading digits, at least 1 (0 stays 0), at most `most`."""
    match = re.match(r"\s*\+?(\d{1,12})", value or "")
    return min(int(match[1]), most) if match else 1


def make_table(raw: RawTable) -> tuple[Table | None, bool]:
    """The grid of a table, and whether spans had to be clipped. None when its grid is beyond measure."""
    group_ends = _group_ends(raw.groups)
    occupied: dict[int, int] = {}  # column -> first row in which it is free again
    cells: list[Cell] = []
    n_cols = steps = 0
    clipped = False
    limit = max(10_000, 2 * max((len(row) for row in raw.rows), default=0))
    for row, raw_cells in enumerate(raw.rows):
        col = 0
        for raw_cell in raw_cells:
            while occupied.get(col, 0) > row and steps < MAX_STEPS:
                col += 1
                steps += 1
            end = group_ends[row]
            rows = min(raw_cell.row_span, end - row) if raw_cell.row_span else end - row
            cols = max(1, raw_cell.col_span)
            if steps >= MAX_STEPS or col + cols > limit:
                clipped = clipped or rows > 1 or cols > 1
                rows, cols = 1, 1
            for taken in range(col, col + cols):
                if rows > 1:
                    occupied[taken] = row + rows
                steps += 1
            text = raw_cell.text
            header = raw_cell.header or raw_cell.in_head
            cells.append(Cell(row=row, col=col, row_span=rows, col_span=cols, text=text, header=header))
            col += cols
            n_cols = max(n_cols, col)
    n_rows = len(raw.rows)
    if n_rows * n_cols > MAX_POSITIONS:
        return None, clipped
    header_rows = _header_rows(raw, cells)
    caption = " ".join(raw.caption) or None
    number = _NUMBER.match(caption or "")
    return (
        Table(
            number=number[1] if number else None,
            caption=caption,
            n_rows=n_rows,
            n_cols=n_cols,
            header_rows=header_rows,
            header_cols=_header_cols(cells, header_rows, n_rows),
            cells=cells,
        ),
        clipped,
    )


def _group_ends(groups: list[int]) -> list[int]:
    """For each row, the row after its group: no cell reaches beyond it."""
    ends = [len(groups)] * len(groups)
    for row in range(len(groups) - 2, -1, -1):
        ends[row] = ends[row + 1] if groups[row] == groups[row + 1] else row + 1
    return ends


def _header_rows(raw: RawTable, cells: list[Cell]) -> int:
    """Leading rows of a thead, or of header cells alone, or (where nothing is marked) a first row all in bold."""
    count = 0
    for row in raw.rows:
        if row and all(cell.in_head or cell.header or not cell.text for cell in row) and any(c.text for c in row):
            count += 1
        else:
            break
    if count == 0 and len(raw.rows) > 1 and not any(c.header or c.in_head for row in raw.rows for c in row):
        first = raw.rows[0]
        filled = [cell for cell in first if cell.text]
        if len(filled) > 1 and all(c.bold for c in filled) and not all(c.bold for c in raw.rows[1] if c.text):
            count = 1
    reach = max((c.row + c.row_span for c in cells if c.row < count), default=0)
    # A header cell that reaches down takes its rows with it only where they are headers, too.
    count = max(count, reach) if reach <= count + 1 and reach < len(raw.rows) else count
    return count if count < len(raw.rows) else (1 if count > 1 else 0)


def _header_cols(cells: list[Cell], header_rows: int, n_rows: int) -> int:
    """Leading columns whose every cell below the header rows is a header cell."""
    columns: dict[int, tuple[int, bool]] = {}
    for cell in cells:
        if cell.row >= header_rows:
            rows, every = columns.get(cell.col, (0, True))
            columns[cell.col] = rows + cell.row_span, every and cell.header and cell.col_span == 1
    count = 0
    while count in columns and columns[count][1] and columns[count][0] >= n_rows - header_rows > 0:
        count += 1
    return count if count < len(columns) else 0
