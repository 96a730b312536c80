"""Sheets as blocks of the canon: a section each, its regions as tables, and what is hidden marked as hidden."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable

from streams.extract.block_list import BlockList
from streams.extract.grids import MAX_CELLS
from streams.extract.sheet_model import (
    BOLD,
    TEXT,
    Area,
    Budget,
    Drawn,
    Remark,
    Row,
    Sheet,
    Visibility,
    cell_name,
)
from streams.extract.sheet_regions import Region, find_regions, understand
from streams.records import BlockKind, Cell, Link, Table

MAX_MERGE_WORK = 3_000_000
"""Rows of all merged cells together; those beyond count as not merged."""
MAX_LINES = 50
"""Texts below each other in one column that may be paragraphs; more are a list, which is a table of one column."""
MAX_LINKS = 5000
"""Links that one table keeps."""


class Blocks(BlockList):
    """Writes the sheets of one workbook."""

    def __init__(self, budget: Budget) -> None:
        super().__init__()
        self.tables: list[Table] = []
        self.refs: dict[int, int] = {}
        self.hidden_columns: list[str] = []
        self._budget = budget
        self._positions = 0
        self._merge_work = 0

    def add(self, sheet: Sheet) -> None:
        """One sheet: heading, tables, then its comments. A sheet without anything is left out."""
        hidden = sheet.visibility is not Visibility.VISIBLE
        if not (sheet.rows or sheet.remarks or sheet.charts or sheet.drawn):
            self._budget.counts["empty_sheets"] += 1
            return
        if hidden:
            self._budget.warn("hidden_sheets")
            self._budget.counts[sheet.visibility.name.lower() + "_sheets"] += 1
        self._add(BlockKind.HEADING, sheet.name, level=1, hidden=hidden)
        merged = _Merges(sheet.merges, sheet.rows, MAX_MERGE_WORK - self._merge_work)
        self._merge_work += merged.work
        if merged.left_out:
            self._budget.warn("merges_not_read")
        self._budget.counts["covered_cell_text"] += merged.clear(sheet.rows)
        places: dict[tuple[int, int], int] = {}
        wanted: dict[int, list[int]] = {}
        for remark in sheet.remarks:
            wanted.setdefault(remark.row, []).append(remark.col)
        shown, unseen = _parted(sheet)
        self._regions(sheet, shown, merged, sheet.hidden_rows, hidden=hidden, wanted=wanted, places=places)
        others = {row.number for row in shown} if unseen else ()
        self._regions(sheet, unseen, merged, others, hidden=True, wanted=wanted, places=places)
        if unseen and not hidden:
            self._budget.warn("hidden_rows")
            self._budget.counts["hidden_rows"] += len(unseen)
        self._hidden_columns(sheet)
        self._drawn(sheet.drawn, hidden=hidden)
        self._remarks(sheet.remarks, places, hidden=hidden)
        self._budget.counts["charts"] += sheet.charts

    def _drawn(self, drawn: list[Drawn], *, hidden: bool) -> None:
        """What lies over the cells, after them: no row says where it belongs."""
        for one in drawn:
            unseen = hidden or one.hidden
            figure = self._add(BlockKind.FIGURE if one.figure else BlockKind.PARAGRAPH, one.text, hidden=unseen)
            if one.table is not None:
                self._budget.spend([cell.text for cell in one.table.cells])
                self.refs[self._add(BlockKind.TABLE, "", hidden=unseen, table=len(self.tables))] = figure
                self.tables.append(one.table)

    def _hidden_columns(self, sheet: Sheet) -> None:
        """Hidden columns stay in their rows, which would mean less without them; their names are told."""
        used = sorted({col for row in sheet.rows for col in row.cols} & sheet.hidden_cols) if sheet.hidden_cols else []
        if used:
            self._budget.warn("hidden_columns")
            names = [cell_name(0, col)[:-1] for col in used[:100]]
            self.hidden_columns.append(f"{sheet.name}: {', '.join(names)}")

    def _regions(
        self,
        sheet: Sheet,
        rows: list[Row],
        merged: _Merges,
        elsewhere: Collection[int],
        *,
        hidden: bool,
        wanted: dict[int, list[int]],
        places: dict[tuple[int, int], int],
    ) -> None:
        for region in find_regions(rows, merged.areas, elsewhere):
            understand(region, merged.areas, sheet.headers)
            at = self._region(region, merged, sheet.links, hidden=hidden)
            for row in region.rows:
                for col in wanted.get(row.number, ()):
                    if region.left <= col <= region.right:
                        places[row.number, col] = at

    def _region(self, region: Region, merged: _Merges, links: dict[tuple[int, int], str], *, hidden: bool) -> int:
        """The blocks of one region; the index of that with its cells."""
        *before, title = region.titles or [""]
        for text in before:
            self._add(BlockKind.PARAGRAPH, text, hidden=hidden)
        if _is_prose(region):
            at = len(self.blocks)
            for row in region.rows:
                self._add(BlockKind.PARAGRAPH, row.texts[0], hidden=hidden, links=_links([row], links))
        else:
            table = self._table(region, merged, title or None)
            caption = self._add(BlockKind.CAPTION, title, hidden=hidden) if title else None
            at = self._add(BlockKind.TABLE, "", hidden=hidden, table=len(self.tables), links=_links(region.rows, links))
            self.tables.append(table)
            if caption is not None:
                self.refs[caption] = at
        for text in region.remarks:
            self._add(BlockKind.PARAGRAPH, text, hidden=hidden)
        return at

    def _table(self, region: Region, merged: _Merges, caption: str | None) -> Table:
        numbers = [row.number for row in region.rows]
        positions = len(numbers) * region.width
        dense = self._positions + positions <= MAX_CELLS
        self._positions += positions if dense else 0
        cells: list[Cell] = []
        for at, row in enumerate(region.rows):
            held = merged.covered.get(row.number)
            found = dict(zip(row.cols, row.texts, strict=True))
            for col in range(region.left, region.right + 1) if dense else row.cols:
                if held and col in held:
                    continue
                area = merged.starts.get((row.number, col))
                below, across = 1, 1
                if area is not None:
                    below = max(1, bisect_left(numbers, area.bottom + 1) - at)
                    across = min(area.right, region.right) - col + 1
                cells.append(
                    Cell(
                        row=at,
                        col=col - region.left,
                        row_span=below,
                        col_span=across,
                        text=found.get(col, ""),
                        header=at < region.header_rows,
                    )
                )
        return Table(
            caption=caption,
            n_rows=len(numbers),
            n_cols=region.width,
            header_rows=region.header_rows,
            cells=cells,
        )

    def _remarks(self, remarks: Iterable[Remark], places: dict[tuple[int, int], int], *, hidden: bool) -> None:
        for remark in remarks:
            who = f", {remark.author}" if remark.author and not remark.text.startswith(remark.author) else ""
            text = f"{cell_name(remark.row, remark.col)}{who}: {remark.text}"
            index = self._add(BlockKind.COMMENT, text, hidden=hidden)
            at = places.get((remark.row, remark.col))
            if at is not None:
                self.refs[index] = at


class _Merges:
    """Merged cells of a sheet, for those rows that hold something."""

    def __init__(self, areas: list[Area], rows: list[Row], most: int) -> None:
        self.areas: list[Area] = []
        self.starts: dict[tuple[int, int], Area] = {}
        self.covered: dict[int, set[int]] = {}
        self.work = self.left_out = 0
        numbers = [row.number for row in rows]
        for area in areas:
            first, last = bisect_left(numbers, area.top), bisect_left(numbers, area.bottom + 1)
            cost = (last - first) * min(area.right - area.left + 1, 300)
            if (area.top, area.left) == (area.bottom, area.right) or self.work + cost > most:
                self.left_out += self.work + cost > most
                continue
            self.work += cost
            inside = range(area.left, min(area.right, area.left + 299) + 1)
            if any(not self.covered.get(number, _NONE).isdisjoint(inside) for number in numbers[first:last]):
                self.left_out += 1  # cells can't be merged twice
                continue
            for number in numbers[first:last]:
                self.covered.setdefault(number, set()).update(inside)
            self.covered.get(area.top, set()).discard(area.left)
            self.starts[area.top, area.left] = area
            self.areas.append(area)

    def clear(self, rows: list[Row]) -> int:
        """Takes out the texts of cells under a merged one, which no reader sees, and says how many there were."""
        taken = 0
        for row in rows:
            held = self.covered.get(row.number)
            if held is None or held.isdisjoint(row.cols):
                continue
            kept = [at for at, col in enumerate(row.cols) if col not in held]
            taken += len(row.cols) - len(kept)
            row.cols = [row.cols[at] for at in kept]
            row.texts = [row.texts[at] for at in kept]
            row.kinds = bytearray(row.kinds[at] for at in kept)
        rows[:] = [row for row in rows if row.cols]
        return taken


_NONE: frozenset[int] = frozenset()


def _parted(sheet: Sheet) -> tuple[list[Row], list[Row]]:
    """Rows as shown, and hidden rows."""
    if not sheet.hidden_rows:
        return sheet.rows, []
    return (
        [row for row in sheet.rows if row.number not in sheet.hidden_rows],
        [row for row in sheet.rows if row.number in sheet.hidden_rows],
    )


def _is_prose(region: Region) -> bool:
    """Lines of text below each other in one column are no table; neither is a single cell."""
    rows = region.rows
    if any(len(row.cols) != 1 for row in rows):
        return False
    if len(rows) == 1:
        return True
    if region.width > 1 or len(rows) > MAX_LINES:
        return False
    return all(row.kinds[0] & ~BOLD == TEXT for row in rows) and not region.header_rows


def _links(rows: list[Row], links: dict[tuple[int, int], str]) -> list[Link]:
    """Links of these cells, in reading order."""
    if not links:
        return []
    out: list[Link] = []
    for row in rows:
        for at, col in enumerate(row.cols):
            target = links.get((row.number, col))
            if target and len(out) < MAX_LINKS:
                out.append(Link(text=row.texts[at], target=target))
    return out
