"""Where the tables of a sheet are: filled cells between empty rows and columns, their titles, headers and remarks."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from itertools import pairwise

from streams.extract.sheet_model import BOLD, TEXT, Area, Row

MAX_REGIONS = 2000
"""Regions of one sheet; beyond, the sheet is read as a single one: nobody arranges so many tables."""
MAX_DEPTH = 6
"""Times that regions are cut into smaller ones."""
HEADER_SAMPLE = 200
"""Rows below a first row that it is compared with."""
MAX_HEADER_ROWS = 5
MAX_TITLE_ROWS = 20
REMARK = 25
"""Characters from which a lone text below a table is a remark about it and no row of it."""

_YEAR = re.compile(r"(?:1[89]|20|21)\d\d")


@dataclass(slots=True)
class Region:
    """Rows that belong together, with the columns they span."""

    rows: list[Row]
    left: int
    right: int
    titles: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    header_rows: int = 0

    @property
    def width(self) -> int:
        return self.right - self.left + 1


def find_regions(rows: list[Row], merges: list[Area], elsewhere: Collection[int] = ()) -> list[Region]:
    """The regions of a sheet from top to bottom, then from left to right; none for no cells.

    Args:
        elsewhere: rows that are not empty, though not among `rows`: they part nothing.
    """
    if not rows:
        return []
    bridged = _bridged([*merges, *_held(rows, elsewhere)])
    found = _cut(rows, merges, bridged, 0)
    if len(found) > MAX_REGIONS:
        return [_region(rows, merges)]
    return _joined(found)


def _held(rows: list[Row], elsewhere: Collection[int]) -> list[Area]:
    """Gaps between rows that are filled by rows which are told of elsewhere."""
    if not elsewhere:
        return []
    return [
        Area(one.number, 0, other.number, 0)
        for one, other in pairwise(rows)
        if other.number > one.number + 1 and all(number in elsewhere for number in range(one.number + 1, other.number))
    ]


def _bridged(merges: list[Area]) -> list[tuple[int, int]]:
    """Rows that merged cells hold together, as intervals without overlap."""
    out: list[tuple[int, int]] = []
    for top, bottom in sorted((area.top, area.bottom) for area in merges if area.bottom > area.top):
        if out and top <= out[-1][1]:
            out[-1] = out[-1][0], max(out[-1][1], bottom)
        else:
            out.append((top, bottom))
    return out


def _cut(rows: list[Row], merges: list[Area], bridged: list[tuple[int, int]], depth: int) -> list[Region]:
    out: list[Region] = []
    for run in _runs(rows, bridged):
        parts = _columns(run, merges) if depth < MAX_DEPTH else [run]
        if len(parts) == 1:
            out.append(_region(run, merges))
        else:
            for part in parts:
                out += _cut(part, merges, bridged, depth + 1)
        if len(out) > MAX_REGIONS:
            break
    return out


def _runs(rows: list[Row], bridged: list[tuple[int, int]]) -> list[list[Row]]:
    """Rows without an empty one between them."""
    runs: list[list[Row]] = []
    at = 0
    for row in rows:
        before = runs[-1][-1].number if runs else -2
        while at < len(bridged) and bridged[at][1] < row.number:
            at += 1
        held = at < len(bridged) and bridged[at][0] <= before
        if row.number <= before + 1 or held:
            runs[-1].append(row)
        else:
            runs.append([row])
    return runs


def _columns(rows: list[Row], merges: list[Area]) -> list[list[Row]]:
    """The rows cut at empty columns, where both sides are tables of their own."""
    used: set[int] = set()
    for row in rows:
        used.update(row.cols)
    top, bottom = rows[0].number, rows[-1].number
    groups: list[tuple[int, int]] = []
    for col in sorted(used):
        if groups and col == groups[-1][1] + 1:
            groups[-1] = groups[-1][0], col
        else:
            groups.append((col, col))
    if len(groups) < 2:
        return [rows]
    spans = [area for area in merges if area.right > area.left and area.top <= bottom and area.bottom >= top]
    parts: list[tuple[int, int]] = [groups[0]]
    for group in groups[1:]:
        left = parts[-1]
        across = any(area.left <= left[1] and area.right >= group[0] for area in spans)
        if across or not _apart(_slice(rows, *left), _slice(rows, *group)):
            parts[-1] = left[0], group[1]
        else:
            parts.append(group)
    return [rows] if len(parts) == 1 else [_slice(rows, *part) for part in parts]


def _slice(rows: list[Row], left: int, right: int) -> list[Row]:
    out: list[Row] = []
    for row in rows:
        inside = [at for at, col in enumerate(row.cols) if left <= col <= right]
        if inside:
            cols, texts = [row.cols[at] for at in inside], [row.texts[at] for at in inside]
            out.append(Row(row.number, cols, texts, bytearray(row.kinds[at] for at in inside)))
    return out


def _apart(one: list[Row], other: list[Row]) -> bool:
    """Whether two blocks of cells side by side are two tables: each wide and high enough, and each with a start."""
    if min(len(one), len(other)) < 2:
        return False
    if min(len({col for row in part for col in row.cols}) for part in (one, other)) < 2:
        return False
    different = one[0].number != other[0].number or abs(one[-1].number - other[-1].number) > 1
    return different or (_starts(one) and _starts(other))


def _starts(rows: list[Row]) -> bool:
    left, right = min(row.cols[0] for row in rows), max(row.cols[-1] for row in rows)
    return _header_rows(Region(rows, left, right), []) > 0


def _region(rows: list[Row], merges: list[Area]) -> Region:
    left, right = min(row.cols[0] for row in rows), max(row.cols[-1] for row in rows)
    top, bottom = rows[0].number, rows[-1].number
    for area in merges:
        if area.top <= bottom and area.bottom >= top and left <= area.left <= right:
            right = max(right, min(area.right, area.left + 200))
    return Region(rows, left, right)


def _joined(regions: list[Region]) -> list[Region]:
    """Regions that go on as the one above them, after an empty row and without a header of their own, belong to it."""
    out: list[Region] = []
    for region in regions:
        before = out[-1] if out else None
        if (
            before is not None
            and (before.left, before.right) == (region.left, region.right)
            and region.width > 2
            and region.rows[0].number - before.rows[-1].number == 2
            and len(before.rows) > 1
            and len(region.rows[0].cols) > 1
            and not _header_rows(region, [])
        ):
            before.rows.extend(region.rows)
        else:
            out.append(region)
    return out


# --- what the rows of a region are -----------------------------------------------------------------------------------


def understand(region: Region, merges: list[Area], headers: list[Area]) -> None:
    """Takes titles above and remarks below out of the region's rows, and finds its header rows. Changes `region`."""
    if region.width > 1 and len(region.rows) > 1:
        _take_titles(region, merges)
        _take_remarks(region)
    said = _said_headers(region, headers)
    region.header_rows = said if said is not None else _header_rows(region, merges)


def _take_titles(region: Region, merges: list[Area]) -> None:
    rows = region.rows
    count = 0
    while count < min(MAX_TITLE_ROWS, len(rows) - 1) and len(rows[count].cols) == 1:
        row = rows[count]
        held = any(
            area.top <= row.number < area.bottom and area.left <= row.cols[0] <= area.right for area in merges[:1000]
        )
        if held or row.kinds[0] & ~BOLD != TEXT:
            break
        count += 1
    if not any(len(row.cols) > 1 for row in rows[count : count + 1]):
        return
    region.titles = [row.texts[0] for row in rows[:count]]
    region.rows = rows[count:]


def _take_remarks(region: Region) -> None:
    rows = region.rows
    last = len(rows)
    while last > 2 and len(rows) - last < MAX_TITLE_ROWS:
        row = rows[last - 1]
        if len(row.cols) != 1 or row.cols[0] > region.left + 1 or row.kinds[0] & ~BOLD != TEXT:
            break
        if len(row.texts[0]) < REMARK:
            break
        last -= 1
    region.remarks = [row.texts[0] for row in rows[last:]]
    region.rows = rows[:last]


def _said_headers(region: Region, headers: list[Area]) -> int | None:
    top, bottom = region.rows[0].number, region.rows[-1].number
    for area in headers:
        if area.left <= region.right and area.right >= region.left and top <= area.top <= min(bottom, top + 3):
            count = sum(1 for row in region.rows[: MAX_HEADER_ROWS + 3] if row.number <= area.bottom)
            return count if count < len(region.rows) else None
    return None


def _header_rows(region: Region, merges: list[Area]) -> int:
    """Leading rows that name the columns of those below; a name over several columns has more names under it."""
    rows = region.rows
    if len(rows) < 2 or not _names(rows[0], rows[1:], region.width, grouped=_grouped(rows[0], merges)):
        return 0
    count = 1
    while count < min(MAX_HEADER_ROWS, len(rows) - 1):
        before, row = rows[count - 1], rows[count]
        reach = max(
            (area.bottom for area in merges[:5000] if area.top <= before.number <= area.bottom), default=before.number
        )
        texts = all(kind & ~BOLD == TEXT for kind in row.kinds)
        if (reach >= row.number and texts) or (
            _grouped(before, merges) and texts and _names(row, rows[count + 1 :], region.width, grouped=False)
        ):
            count += 1
        else:
            break
    return count if count < len(rows) else 0


def _grouped(row: Row, merges: list[Area]) -> bool:
    """Whether a cell of the row reaches over several columns."""
    return any(area.top == row.number and area.right > area.left for area in merges[:5000])


def _names(first: Row, below: list[Row], width: int, *, grouped: bool) -> bool:
    """Whether a row names the columns of those below: texts above numbers, bold above plain, and nothing twice."""
    sample = below[:HEADER_SAMPLE]
    if not sample or any(len(text) > 200 for text in first.texts):
        return False
    if 2 * len(first.cols) < width and not grouped:
        return False
    columns: dict[int, list[tuple[str, int]]] = {}
    for row in sample:
        for at, col in enumerate(row.cols):
            columns.setdefault(col, []).append((row.texts[at], row.kinds[at]))
    votes = 0.0
    for at, col in enumerate(first.cols):
        name, kind = first.texts[at], first.kinds[at]
        values = columns.get(col)
        if not values:
            continue
        others = sum(kind & ~BOLD != TEXT for _, kind in values) / len(values)
        if kind & ~BOLD != TEXT:
            year = _YEAR.fullmatch(name) is not None and not all(_YEAR.fullmatch(text) for text, _ in values)
            votes += 0.5 if year and at else -1.0
        elif others > 0.8:
            votes += 1.0
        elif any(text == name for text, _ in values):
            votes -= 0.5
        else:
            votes += 0.25
    bold = all(kind & BOLD for kind in first.kinds) and not all(kind & BOLD for kind in sample[0].kinds)
    votes += 2.0 if bold else 0.0
    if width == 1 and votes < 1:  # one text above another says nothing
        return False
    return votes > 0 and len(set(first.texts)) > 0.5 * len(first.texts)
