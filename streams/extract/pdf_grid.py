"""Tables whose cells are drawn: ruling lines become a grid, words fall into the cell that holds their middle.

Only a clear grid counts: at least two rows and two columns. Everything else stays text.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

import msgspec

from streams.extract.boxes import Box
from streams.extract.pdf_lines import Frame
from streams.extract.tools.mupdf import Vector
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


class PageTable(msgspec.Struct, kw_only=True):
    """A table of one page, by its rules or by the layout model; `box` and `us` are in the frame's coordinates."""

    box: Box
    us: list[float]
    cells: list[Cell]
    n_rows: int
    n_cols: int
    header_rows: int
    confidence: float | None = None  # 0..1; of a grid that is drawn, None


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


def _is_regular(spans: list[tuple[int, int, int, int]], n_rows: int, n_cols: int) -> bool:
    """Whether most rows have one cell in each column, or one over all: a table, and no form or chart."""
    uneven: set[int] = set()
    for row, _, height, width in spans:
        if width not in (1, n_cols):
            uneven.update(range(row, row + height))
    return 2 * len(uneven) <= n_rows


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
