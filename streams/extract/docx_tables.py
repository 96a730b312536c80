"""A Word table as a grid: spans from gridSpan and vMerge, each cell once, with its header rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from lxml import etree

from streams.extract.ooxml import DELETED, INSERTED, attr, child, children, chosen, number, switched_on, value
from streams.records import Cell, Table

MAX_SPAN = 1000
"""Columns that one cell may cover; Word itself allows 63 columns."""
MAX_POSITIONS = 1_000_000
"""Positions of one grid (rows x columns): beyond that the spans are a lie or an attack."""
_FIRST_ROW = 0x0020  # bit of w:tblLook


@dataclass
class GridCell:
    """One cell with where it stands."""

    row: int
    col: int
    col_span: int
    element: etree._Element
    row_span: int = 1


@dataclass
class Grid:
    """A table before its cells are read. `covered` are cells under a vertical merge, which Word does not show."""

    cells: list[GridCell] = field(default_factory=list)
    covered: list[etree._Element] = field(default_factory=list)
    hidden: list[list[etree._Element]] = field(default_factory=list)  # cells of rows that Word does not show
    n_rows: int = 0
    n_cols: int = 0
    marked_headers: int = 0  # leading rows with w:tblHeader
    first_row_is_header: bool | None = None  # as w:tblLook says; null: it does not say
    clipped: bool = False  # a span above all measure

    @property
    def too_large(self) -> bool:
        """Whether the grid can't be spread out."""
        return self.n_rows * self.n_cols > MAX_POSITIONS

    def header_rows(self) -> int:
        """Header rows, whole merged cells included; a table of nothing but headers has none."""
        rows = self.marked_headers or int(bool(self.first_row_is_header))
        grown = True
        while grown:
            reach = max((cell.row + cell.row_span for cell in self.cells if cell.row < rows), default=rows)
            grown, rows = reach > rows, max(rows, reach)
        return rows if rows < self.n_rows else 0


def read_grid(table: etree._Element, counts: Counter[str]) -> Grid:
    """The grid of a `w:tbl` in the accepted view: deleted rows are out, inserted ones in."""
    grid = Grid(first_row_is_header=_first_row(table))
    open_merges: dict[int, GridCell] = {}
    leading = True
    for row in _wrapped(table, "w:tr", counts):
        properties = child(row, "w:trPr")
        if child(properties, "w:del") is not None:
            counts["deleted"] += 1
            continue
        if child(properties, "w:ins") is not None:
            counts["inserted"] += 1
        if switched_on(child(properties, "w:hidden")):
            grid.hidden.append(list(_wrapped(row, "w:tc", counts)))
            continue
        leading = leading and bool(switched_on(child(properties, "w:tblHeader")))
        grid.marked_headers += leading
        open_merges = _read_row(row, properties, grid, open_merges, counts)
        grid.n_rows += 1
    return grid


def _read_row(
    row: etree._Element,
    properties: etree._Element | None,
    grid: Grid,
    above: dict[int, GridCell],
    counts: Counter[str],
) -> dict[int, GridCell]:
    col = min(max(number(child(properties, "w:gridBefore")) or 0, 0), MAX_SPAN)
    merges: dict[int, GridCell] = {}
    left: GridCell | None = None
    for element in _wrapped(row, "w:tc", counts):
        cell_properties = child(element, "w:tcPr")
        if child(cell_properties, "w:cellDel") is not None:
            counts["deleted"] += 1
            continue
        span = max(number(child(cell_properties, "w:gridSpan")) or 1, 1)
        if span > MAX_SPAN:
            grid.clipped, span = True, MAX_SPAN
        across, down = child(cell_properties, "w:hMerge"), child(cell_properties, "w:vMerge")
        continues_down = down is not None and (value(down) or "continue") == "continue"
        owner = above.get(col)
        if across is not None and (value(across) or "continue") == "continue" and left is not None:
            left.col_span += span
            grid.covered.append(element)
        elif continues_down and owner is not None and owner.col_span == span:
            owner.row_span += 1
            merges[col] = owner
            grid.covered.append(element)
            left = None
        else:
            left = GridCell(row=grid.n_rows, col=col, col_span=span, element=element)
            grid.cells.append(left)
            if down is not None:
                merges[col] = left
        col += span
    grid.n_cols = max(grid.n_cols, col)
    return merges


def _wrapped(parent: etree._Element, wanted: str, counts: Counter[str]) -> Iterator[etree._Element]:
    """Rows of a table or cells of a row, also inside content controls, custom XML and revisions."""
    stack = list(reversed(list(children(parent))))
    while stack:
        name, found = stack.pop()
        if name == wanted:
            yield found
        elif name in DELETED:
            counts["deleted"] += 1
        elif name == "mc:AlternateContent":
            branch = chosen(found)
            if branch is not None:
                stack.extend(reversed(list(children(branch))))
        elif name in ("w:sdt", "w:sdtContent", "w:customXml") or name in INSERTED:
            counts["inserted"] += name in INSERTED
            stack.extend(reversed(list(children(found))))


def _first_row(table: etree._Element) -> bool | None:
    look = child(child(table, "w:tblPr"), "w:tblLook")
    if look is None:
        return None
    said = attr(look, "w:firstRow")
    if said is not None:
        return said.lower() in ("1", "true", "on")
    try:
        return bool(int(value(look) or "", 16) & _FIRST_ROW)
    except ValueError:
        return None


def text_rows(grid: Grid, texts: list[str]) -> list[str]:
    """Rows as text, cells joined by tabs, each cell at its first position."""
    by_row: list[list[tuple[GridCell, str]]] = [[] for _ in range(grid.n_rows)]
    for cell, text in zip(grid.cells, texts, strict=True):
        by_row[cell.row].append((cell, text))
    rows: list[str] = []
    for cells in by_row:
        line, col = "", 0
        for cell, text in cells:
            line += "\t" * (cell.col - col) + " ".join(text.split())
            col = cell.col
        rows.append(line.rstrip("\t"))
    return rows


def record(grid: Grid, texts: list[str], header_rows: int) -> Table:
    """The grid as a table of the canon. `texts` are those of its cells, in order."""
    cells = [
        Cell(
            row=cell.row,
            col=cell.col,
            row_span=cell.row_span,
            col_span=cell.col_span,
            text=text,
            header=cell.row < header_rows,
        )
        for cell, text in zip(grid.cells, texts, strict=True)
    ]
    return Table(n_rows=grid.n_rows, n_cols=grid.n_cols, header_rows=header_rows, cells=cells)


def only_first_row_bold(grid: Grid, texts: list[str], bold: list[bool]) -> bool:
    """A header by its look, where the file does not say: the first row bold, the second not."""
    rows: dict[int, list[bool]] = {0: [], 1: []}
    for cell, text, strong in zip(grid.cells, texts, bold, strict=True):
        if cell.row in rows and text:
            rows[cell.row].append(strong)
    return bool(rows[0]) and all(rows[0]) and not all(rows[1])
