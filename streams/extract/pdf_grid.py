"""Tables whose cells are drawn: ruling lines become a grid, words fall into the cell that holds their middle.

Only a clear grid counts: at least two rows and two columns. Everything else stays text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

import msgspec

from streams.extract.pdf_lines import Frame, clean
from streams.extract.pdf_lines import Line as TextLine
from streams.extract.tools.mupdf import Box, Vector, Word
from streams.records import Cell

_THIN = 3.0  # points: a box this thin is a ruling line
_NEAR = 3.0  # points within which two lines are one, or meet
_SHORTEST = 6.0
_MOST_VECTORS = 6000  # more is a drawing
_MOST_CELLS = 20_000
_NUMBER = re.compile(r"[-+−(]?[$€£]?\s?\d[\d.,  ]*\s?[%)]?")


class Rule(msgspec.Struct, frozen=True, gc=False):
    """A ruling line: at `at` on one axis, from `low` to `high` on the other."""

    at: float
    low: float
    high: float


class Grid(msgspec.Struct, kw_only=True):
    """Positions of the rules and which of them are drawn between which cells."""

    us: list[float]
    vs: list[float]
    below: list[list[bool]]  # [i][col]: rule i (of vs) is drawn over column col
    beside: list[list[bool]]  # [j][row]: rule j (of us) is drawn along row
    spans: list[tuple[int, int, int, int]] = []  # row, col, rows, cols of each cell

    @property
    def box(self) -> Box:
        return self.us[0], self.vs[0], self.us[-1], self.vs[-1]


class RuledTable(msgspec.Struct, kw_only=True):
    """A table of one page; `box` is in the frame's coordinates."""

    box: Box
    us: list[float]
    cells: list[Cell]
    n_rows: int
    n_cols: int
    header_rows: int


def grids(vectors: Sequence[Vector], frame: Frame) -> list[Grid]:
    """Grids of a page in its frame, from top to bottom. A page full of strokes is a drawing and has none."""
    if not 4 <= len(vectors) <= _MOST_VECTORS:
        return []
    across, down = _rules(vectors, frame)
    if len(across) < 3 or len(down) < 2:
        return []
    found = [grid for parts in _components(across, down) if (grid := _grid(*parts)) is not None]
    found = [grid for grid in found if not any(other is not grid and _inside(grid.box, other.box) for other in found)]
    return sorted(found, key=lambda grid: (grid.vs[0], grid.us[0]))


def _inside(box: Box, other: Box) -> bool:
    return (
        box[0] >= other[0] - 1 and box[1] >= other[1] - 1 and box[2] <= other[2] + 1 and box[3] <= other[3] + 1
    ) and box != other


def _rules(vectors: Sequence[Vector], frame: Frame) -> tuple[list[Rule], list[Rule]]:
    across: list[Rule] = []
    down: list[Rule] = []
    for vector in vectors:
        u0, v0, u1, v1 = frame.inside(vector.box)
        if v1 - v0 <= _THIN and u1 - u0 >= _SHORTEST:
            across.append(Rule((v0 + v1) / 2, u0, u1))
        elif u1 - u0 <= _THIN and v1 - v0 >= _SHORTEST:
            down.append(Rule((u0 + u1) / 2, v0, v1))
        elif vector.stroked and u1 - u0 >= _SHORTEST and v1 - v0 >= _SHORTEST:
            across += [Rule(v0, u0, u1), Rule(v1, u0, u1)]
            down += [Rule(u0, v0, v1), Rule(u1, v0, v1)]
    return _merged(across), _merged(down)


def _merged(rules: list[Rule]) -> list[Rule]:
    """Rules on one line that touch become one; short dashes make a line."""
    lanes: list[list[Rule]] = []
    for rule in sorted(rules, key=lambda item: (item.at, item.low, item.high)):
        if lanes and rule.at - lanes[-1][0].at <= _NEAR:
            lanes[-1].append(rule)
        else:
            lanes.append([rule])
    merged: list[Rule] = []
    for lane in lanes:
        at = sorted(rule.at for rule in lane)[len(lane) // 2]
        lane.sort(key=lambda item: (item.low, item.high))
        low, high = lane[0].low, lane[0].high
        for rule in lane[1:]:
            if rule.low <= high + _NEAR:
                high = max(high, rule.high)
            else:
                merged.append(Rule(at, low, high))
                low, high = rule.low, rule.high
        merged.append(Rule(at, low, high))
    return merged


def _components(across: list[Rule], down: list[Rule]) -> list[tuple[list[Rule], list[Rule]]]:
    """Sets of rules that meet one another."""
    parent = list(range(len(across) + len(down)))

    def find(item: int) -> int:
        while parent[item] != item:
            parent[item] = parent[parent[item]]
            item = parent[item]
        return item

    for i, horizontal in enumerate(across):
        for j, vertical in enumerate(down):
            if (
                horizontal.low - _NEAR <= vertical.at <= horizontal.high + _NEAR
                and vertical.low - _NEAR <= horizontal.at <= vertical.high + _NEAR
            ):
                parent[find(len(across) + j)] = find(i)
    parts: defaultdict[int, tuple[list[Rule], list[Rule]]] = defaultdict(lambda: ([], []))
    for i, horizontal in enumerate(across):
        parts[find(i)][0].append(horizontal)
    for j, vertical in enumerate(down):
        parts[find(len(across) + j)][1].append(vertical)
    return [parts[key] for key in sorted(parts)]


def _grid(across: list[Rule], down: list[Rule]) -> Grid | None:
    if len(across) < 2 or not down:
        return None
    low, high = min(rule.low for rule in across), max(rule.high for rule in across)
    if sum(rule.high - rule.low >= 0.5 * (high - low) for rule in across) < 2:
        return None  # boxes and bars of a drawing, no rules of a table
    us = _positions([rule.at for rule in down])
    vs = _positions([rule.at for rule in across])
    top, bottom = min(rule.low for rule in down), max(rule.high for rule in down)
    # a table open at its sides ends where its horizontal rules end; one open above or below, where the vertical ones do
    open_sides = [low] if low < us[0] - 12 else []
    open_sides += [high] if high > us[-1] + 12 else []
    open_ends = [top] if top < vs[0] - 12 else []
    open_ends += [bottom] if bottom > vs[-1] + 12 else []
    us, vs = sorted(us + open_sides), sorted(vs + open_ends)
    if len(us) < 3 or len(vs) < 3 or (len(us) - 1) * (len(vs) - 1) > _MOST_CELLS:
        return None
    by_v, by_u = _by_position(across, vs), _by_position(down, us)
    below = [[v in open_ends or _drawn(by_v[i], a, b) for a, b in pairwise(us)] for i, v in enumerate(vs)]
    beside = [[u in open_sides or _drawn(by_u[j], a, b) for a, b in pairwise(vs)] for j, u in enumerate(us)]
    grid = Grid(us=us, vs=vs, below=below, beside=beside)
    grid.spans = _spans(grid)
    return grid if len(grid.spans) >= 4 and _is_regular(grid.spans, len(vs) - 1, len(us) - 1) else None


def _positions(values: list[float]) -> list[float]:
    found: list[float] = []
    for value in sorted(values):
        if not found or value - found[-1] > _NEAR:
            found.append(value)
    return found


def _by_position(rules: list[Rule], positions: list[float]) -> list[list[Rule]]:
    return [[rule for rule in rules if abs(rule.at - at) <= _NEAR] for at in positions]


def _drawn(rules: list[Rule], low: float, high: float) -> bool:
    length = sum(min(rule.high, high) - max(rule.low, low) for rule in rules if rule.high > low and rule.low < high)
    return length >= 0.6 * (high - low)


def fill(grid: Grid, words: Sequence[Word], lines: Sequence[TextLine], frame: Frame) -> RuledTable | None:
    """The table of a grid; None when it holds next to nothing, so that no text disappears into a frame."""
    spans = grid.spans
    contents: defaultdict[tuple[int, int], list[tuple[float, float, float, str]]] = defaultdict(list)
    owner = {
        (row + r, col + c): (row, col) for row, col, height, width in spans for r in range(height) for c in range(width)
    }
    for word in words:
        u0, v0, u1, v1 = frame.inside(word.box)
        row = _slot(grid.vs, (v0 + v1) / 2)
        col = _slot(grid.us, (u0 + u1) / 2)
        text = clean(word.text)
        if row is not None and col is not None and text.strip():
            contents[owner[row, col]].append((v0, v1, u0, text))
    cells = [
        Cell(row=row, col=col, row_span=height, col_span=width, text="\n".join(_rows_of(contents[row, col])))
        for row, col, height, width in spans
    ]
    if any(cell.row_span >= 4 and cell.text.count("\n") >= 3 for cell in cells):
        return None  # a tall cell that holds a text: a form, or a page laid out with rules
    cells, places = _with_rows_split(cells, contents, grid.vs)
    cells, places, us = _without_empty(cells, places, grid.us)
    filled = [cell for cell in cells if cell.text]
    if len(places) < 2 or len(us) < 3 or len(filled) < 3 or len({cell.col for cell in filled}) < 2:
        return None
    full = sum(sum(cell.row == row for cell in filled) >= 2 for row in range(len(places)))
    if full < 0.4 * len(places):
        return None
    header_rows = _header_rows(cells, places, lines)
    cells, places, header_rows = _with_heads_joined(cells, places, header_rows)
    cells = [
        msgspec.structs.replace(cell, text=" ".join(cell.text.split("\n")), header=cell.row < header_rows)
        for cell in sorted(cells, key=lambda item: (item.row, item.col))
    ]
    return RuledTable(box=grid.box, us=us, cells=cells, n_rows=len(places), n_cols=len(us) - 1, header_rows=header_rows)


def _is_regular(spans: list[tuple[int, int, int, int]], n_rows: int, n_cols: int) -> bool:
    """Whether most rows have one cell in each column, or one over all: a table, and no form or chart."""
    uneven: set[int] = set()
    for row, _, height, width in spans:
        if width not in (1, n_cols):
            uneven.update(range(row, row + height))
    return 2 * len(uneven) <= n_rows


def _slot(edges: list[float], at: float) -> int | None:
    index = bisect_right(edges, at) - 1
    return index if 0 <= index < len(edges) - 1 else None


def _spans(grid: Grid) -> list[tuple[int, int, int, int]]:
    """(row, col, rows, cols) of each cell: fields without a rule between them are one, where they make a rectangle."""
    n_rows, n_cols = len(grid.vs) - 1, len(grid.us) - 1
    taken: set[tuple[int, int]] = set()
    found: list[tuple[int, int, int, int]] = []
    for row in range(n_rows):
        for col in range(n_cols):
            if (row, col) in taken:
                continue
            width = 1
            while col + width < n_cols and not grid.beside[col + width][row] and (row, col + width) not in taken:
                width += 1
            height = 1
            while (
                row + height < n_rows
                and not any(grid.below[row + height][col : col + width])
                and not any(grid.beside[c][row + height] for c in range(col + 1, col + width))
            ):
                height += 1
            taken.update((row + r, col + c) for r in range(height) for c in range(width))
            found.append((row, col, height, width))
    return found


def _rows_of(words: list[tuple[float, float, float, str]]) -> list[str]:
    rows: list[list[tuple[float, float, float, str]]] = []
    for word in sorted(words, key=lambda item: (item[0] + item[1], item[2])):
        middle = (word[0] + word[1]) / 2
        if rows and abs(middle - (rows[-1][0][0] + rows[-1][0][1]) / 2) <= 0.4 * (word[1] - word[0]):
            rows[-1].append(word)
        else:
            rows.append([word])
    return [" ".join(word[3] for word in sorted(row, key=lambda item: item[2])) for row in rows]


Contents = defaultdict[tuple[int, int], list[tuple[float, float, float, str]]]
Place = tuple[int, float, float]  # of a row: the band of the grid it lies in, and its v from and to


def _with_rows_split(cells: list[Cell], contents: Contents, vs: list[float]) -> tuple[list[Cell], list[Place]]:
    """A band of the grid that holds many aligned text rows is as many rows of the table."""
    by_row: defaultdict[int, list[Cell]] = defaultdict(list)
    for cell in cells:
        by_row[cell.row].append(cell)
    done: list[Cell] = []
    places: list[Place] = []
    for row, (top, bottom) in enumerate(pairwise(vs)):
        members = by_row[row]
        whole = all(cell.row_span == 1 for cell in members) and not any(
            cell.row < row < cell.row + cell.row_span for cell in cells
        )
        middles = _aligned(members, contents) if whole else []
        first = len(places)
        if not middles:
            done += [msgspec.structs.replace(cell, row=first) for cell in members]
            places.append((row, top, bottom))
            continue
        edges = [top, *((a + b) / 2 for a, b in pairwise(middles)), bottom]
        places += [(row, low, high) for low, high in pairwise(edges)]
        for cell in members:
            for index, (low, high) in enumerate(pairwise(edges)):
                inside = [word for word in contents[cell.row, cell.col] if low <= (word[0] + word[1]) / 2 < high]
                done.append(msgspec.structs.replace(cell, row=first + index, text=" ".join(_rows_of(inside))))
    return done, places


def _aligned(cells: list[Cell], contents: Contents) -> list[float]:
    """Middles of the text rows in a band when nearly all of them go through most of its cells; else nothing."""
    words = sorted(
        ((word[0] + word[1]) / 2, word[1] - word[0], cell.col)
        for cell in cells
        for word in contents[cell.row, cell.col]
    )
    rows: list[tuple[float, set[int]]] = []
    for middle, height, col in words:
        if rows and middle - rows[-1][0] <= 0.4 * height:
            rows[-1][1].add(col)
        else:
            rows.append((middle, {col}))
    used = {col for _, cols in rows for col in cols}
    if len(rows) < 3 or len(used) < 2:
        return []
    full = sum(len(cols) >= max(2, 0.6 * len(used)) for _, cols in rows)
    return [middle for middle, _ in rows] if full >= 0.8 * len(rows) else []


def _without_empty(
    cells: list[Cell], places: list[Place], us: list[float]
) -> tuple[list[Cell], list[Place], list[float]]:
    """Without columns and rows in which no text begins: double rules and spacers make them."""
    rows = sorted({cell.row for cell in cells if cell.text})
    cols = sorted({cell.col for cell in cells if cell.text})
    kept = []
    for cell in cells:
        row_span = sum(cell.row <= row < cell.row + cell.row_span for row in rows)
        col_span = sum(cell.col <= col < cell.col + cell.col_span for col in cols)
        if row_span and col_span:
            row = next(index for index, value in enumerate(rows) if value >= cell.row)
            col = next(index for index, value in enumerate(cols) if value >= cell.col)
            kept.append(msgspec.structs.replace(cell, row=row, col=col, row_span=row_span, col_span=col_span))
    return kept, [places[row] for row in rows], [us[col] for col in cols] + us[-1:]


def _header_rows(cells: list[Cell], places: list[Place], lines: Sequence[TextLine]) -> int:
    """Rows at the top that name the columns: no figures in them while figures stand below, or bold above plain."""
    by_row: defaultdict[int, list[Cell]] = defaultdict(list)
    for cell in cells:
        by_row[cell.row].append(cell)
    rows = range(min(len(places), 8))
    figures = [sum(bool(_NUMBER.fullmatch(cell.text.replace("\n", " "))) for cell in by_row[row]) for row in rows]
    texts = [sum(cell.text != "" for cell in by_row[row]) for row in rows]
    bold = [_is_bold(place, lines) for place in places]
    heavy = next((row for row in range(len(places)) if not bold[row]), len(places))
    if 0 < heavy <= 4 and not any(bold[heavy : heavy + 3]):
        return heavy
    body = next((row for row in rows if figures[row] >= max(1, 0.3 * texts[row])), None)
    if body is not None and 0 < body <= 3:
        return body if all(texts[row] > 1 for row in range(body)) else 1
    return 0


def _is_bold(place: Place, lines: Sequence[TextLine]) -> bool:
    inside = [line.bold for line in lines if place[1] <= line.base <= place[2]]
    return bool(inside) and all(inside)


def _with_heads_joined(cells: list[Cell], places: list[Place], header_rows: int) -> tuple[list[Cell], list[Place], int]:
    """Header rows that no rule divides are the lines of one header row."""
    if header_rows < 2 or len({place[0] for place in places[:header_rows]}) > 1:
        return cells, places, header_rows
    heads: defaultdict[int, list[Cell]] = defaultdict(list)
    for cell in sorted(cells, key=lambda item: (item.row, item.col)):
        if cell.row < header_rows:
            heads[cell.col].append(cell)
    joined = [
        msgspec.structs.replace(parts[0], row=0, text=" ".join(cell.text for cell in parts if cell.text))
        for parts in heads.values()
    ]
    below = [msgspec.structs.replace(cell, row=cell.row - header_rows + 1) for cell in cells if cell.row >= header_rows]
    band, top, _ = places[0]
    return joined + below, [(band, top, places[header_rows - 1][2]), *places[header_rows:]], 1
