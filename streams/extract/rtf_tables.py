"""RTF says where each cell ends on the paper; this makes rows and columns of it (RTF 1.9.1, "Table Definitions")."""

from __future__ import annotations

from dataclasses import dataclass, field

from streams.records import Cell, Table

SAME_EDGE = 60
"""Twips (1/1440 inch) within which two cell edges are one: writers round, and nobody makes a column of 1 mm."""
MAX_POSITIONS = 1_000_000
"""Positions of one grid (rows x columns): beyond that it is written as lines."""
MAX_CELLS = 1000
"""Cell definitions of one row; Word itself allows 63."""


@dataclass(slots=True)
class CellRule:
    """One cell of a row definition: its right edge in twips, and whether it continues or starts a merge."""

    right: int
    across: bool = False
    down_start: bool = False
    down: bool = False


@dataclass(slots=True)
class RowRule:
    """A row definition: all between `\\trowd` and `\\row`."""

    left: int = 0
    cells: list[CellRule] = field(default_factory=list)
    header: int = 0
    look_header: int = 0
    index: int | None = None


@dataclass(slots=True)
class RowText:
    """A row as read: the texts of its cells, whether each is all bold, and its definition."""

    texts: list[str]
    bold: list[bool]
    rule: RowRule


@dataclass(slots=True)
class _Placed:
    row: int
    col: int
    end: int
    text: str
    rows: int = 1


def make_table(rows: list[RowText]) -> Table | None:
    """The grid of these rows; null where it would be beyond all measure."""
    edges = _edges(rows)
    cells: list[_Placed] = []
    above: dict[int, _Placed] = {}
    n_cols = 0
    for number, row in enumerate(rows):
        merges: dict[int, _Placed] = {}
        left: _Placed | None = None
        for text, (col, end), rule in _positions(row, edges):
            n_cols = max(n_cols, end)
            owner = above.get(col)
            if rule is not None and rule.across and left is not None:
                left.end = end
                left.text = f"{left.text}\n{text}" if text and left.text else left.text or text
            elif rule is not None and rule.down and owner is not None:
                owner.rows = number - owner.row + 1
                owner.text = f"{owner.text}\n{text}" if text and owner.text else owner.text or text
                merges[col], left = owner, None
            else:
                left = _Placed(number, col, end, text)
                cells.append(left)
                if rule is not None and (rule.down_start or rule.down):
                    merges[col] = left
        above = merges
    if not cells or len(rows) * n_cols > MAX_POSITIONS:
        return None
    header_rows = _header_rows(rows, cells)
    return Table(
        n_rows=len(rows),
        n_cols=n_cols,
        header_rows=header_rows,
        cells=[
            Cell(
                row=cell.row,
                col=cell.col,
                row_span=cell.rows,
                col_span=max(1, cell.end - cell.col),
                text=cell.text,
                header=cell.row < header_rows,
            )
            for cell in cells
        ],
    )


def _edges(rows: list[RowText]) -> dict[int, int] | None:
    """Edge in twips -> number of the grid line; null if the edges of some row don't grow."""
    found: set[int] = set()
    seen: set[tuple[int, int]] = set()  # rows mostly share few definitions
    for row in rows:
        if len(row.rule.cells) < len(row.texts):
            return None
        key = id(row.rule), len(row.texts)
        if key in seen:
            continue
        seen.add(key)
        at = row.rule.left
        found.add(at)
        for rule in row.rule.cells[: len(row.texts)]:
            if rule.right - at <= SAME_EDGE:
                return None
            at = rule.right
            found.add(at)
    lines: dict[int, int] = {}
    line, last = -1, None
    for edge in sorted(found):
        if last is None or edge - last > SAME_EDGE:
            line, last = line + 1, edge
        lines[edge] = line
    return lines


def _positions(row: RowText, edges: dict[int, int] | None) -> list[tuple[str, tuple[int, int], CellRule | None]]:
    """Each cell with its first column, the column after it, and its rule."""
    out: list[tuple[str, tuple[int, int], CellRule | None]] = []
    rules = row.rule.cells
    for number, text in enumerate(row.texts):
        rule = rules[number] if number < len(rules) else None
        if edges is None or rule is None:
            out.append((text, (number, number + 1), rule))
        else:
            start = edges[rules[number - 1].right if number else row.rule.left]
            out.append((text, (start, edges[rule.right]), rule))
    return out


def _header_rows(rows: list[RowText], cells: list[_Placed]) -> int:
    """Rows marked as repeated headers; else the first, if the table's look says so or it alone is bold."""
    count = 0
    for row in rows:
        if not row.rule.header:
            break
        count += 1
    if not count and len(rows) > 1:
        first = [strong for text, strong in zip(rows[0].texts, rows[0].bold, strict=True) if text]
        second = [strong for text, strong in zip(rows[1].texts, rows[1].bold, strict=True) if text]
        bold = bool(first) and all(first) and not all(second)
        count = int(bool(rows[0].rule.look_header) or bold)
    grown = True
    while grown:
        reach = max((cell.row + cell.rows for cell in cells if cell.row < count), default=count)
        grown, count = reach > count, max(count, reach)
    return count if count < len(rows) else 0
