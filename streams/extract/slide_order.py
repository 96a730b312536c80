"""A slide stores its shapes as they cover each other; people read them as they stand: this puts them in that order."""

from __future__ import annotations

from collections.abc import Sequence

from streams.extract.boxes import Box

MAX_DEPTH = 24
"""Cuts inside cuts; what lies deeper is read by rows."""
MAX_BOXES = 1000
"""More shapes than this side by side are a drawing, and read by rows."""
OVERLAP = 0.2
"""Share of a box, and at most `OVERLAP_POINTS`, by which neighbours may reach into each other: frames have margins."""
OVERLAP_POINTS = 12.0
COLUMN_GAP = 1.5
"""A gap between columns must be this much wider than the one between rows to be read first."""
SAME_HEIGHT = 0.25
"""Rows whose heights differ by no more than this are the rows of a raster."""
RASTER_ROWS = 3


def reading_order(boxes: Sequence[Box]) -> list[int]:
    """Indices of `boxes` as they are read: rows from the top, each from the left, but columns that stand apart whole.

    The widest gap through all of them divides first, again and again (recursive X-Y cut, Nagy and Seth 1984). A raster
    of three or more equal rows is read by rows, however far its columns stand apart.
    """
    return _ordered(boxes, list(range(len(boxes))), 0)


def _ordered(boxes: Sequence[Box], items: list[int], depth: int) -> list[int]:
    if len(items) < 2:
        return items
    if depth >= MAX_DEPTH or len(items) > MAX_BOXES:
        return _by_rows(boxes, items)
    down, rows = _widest_gap(boxes, items, 1)
    across, columns = _widest_gap(boxes, items, 0)
    if across is not None and down is not None and _is_raster(boxes, items):
        return _by_rows(boxes, items)
    if across is not None and (down is None or (across > COLUMN_GAP * down and _are_beside(boxes, columns))):
        parts = columns
    elif down is not None:
        parts = rows
    else:
        return _by_rows(boxes, items)
    return [index for part in parts for index in _ordered(boxes, part, depth + 1)]


def _widest_gap(boxes: Sequence[Box], items: list[int], axis: int) -> tuple[float | None, list[list[int]]]:
    """The widest gap along an axis (0: between columns) and what lies on its two sides; null if nothing divides."""
    spans = sorted((*_shrunk(boxes[index][axis], boxes[index][axis + 2]), index) for index in items)
    best: float | None = None
    at, reach = 0, spans[0][1]
    for place, (start, end, _) in enumerate(spans[1:], 1):
        if start >= reach and (best is None or start - reach > best):
            best, at = start - reach, place
        reach = max(reach, end)
    if best is None:
        return None, []
    return best, [[index for *_, index in spans[:at]], [index for *_, index in spans[at:]]]


def _are_beside(boxes: Sequence[Box], columns: list[list[int]]) -> bool:
    """Whether the shorter of two columns has the other beside at least half of it; else one stands above the other."""
    spans = [(min(boxes[one][1] for one in part), max(boxes[one][3] for one in part)) for part in columns]
    shared = min(end for _, end in spans) - max(start for start, _ in spans)
    return shared * 2 >= min(end - start for start, end in spans)


def _shrunk(start: float, end: float) -> tuple[float, float]:
    margin = min((end - start) * OVERLAP, OVERLAP_POINTS) / 2
    return start + margin, end - margin


def _rows(boxes: Sequence[Box], items: list[int]) -> list[list[int]]:
    """Boxes whose middles lie beside each other, from the top; each row from the left."""
    rows: list[list[int]] = []
    bottom = 0.0
    for index in sorted(items, key=lambda one: (boxes[one][1] + boxes[one][3], boxes[one][0], one)):
        top, end = boxes[index][1], boxes[index][3]
        if rows and (top + end) / 2 < bottom:
            rows[-1].append(index)
        else:
            rows.append([index])
            bottom = end
    return [sorted(row, key=lambda one: (boxes[one][0], boxes[one][1], one)) for row in rows]


def _by_rows(boxes: Sequence[Box], items: list[int]) -> list[int]:
    return [index for row in _rows(boxes, items) for index in row]


def _is_raster(boxes: Sequence[Box], items: list[int]) -> bool:
    rows = _rows(boxes, items)
    if len(rows) < RASTER_ROWS or len({len(row) for row in rows}) != 1:
        return False
    heights = [max(boxes[index][3] for index in row) - min(boxes[index][1] for index in row) for row in rows]
    return max(heights) - min(heights) <= SAME_HEIGHT * max(heights)
