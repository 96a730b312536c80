"""Delimited values (CSV, TSV and their cousins; RFC 4180 where they follow it) as tables, cell for cell as written."""

from __future__ import annotations

import re
from collections import Counter

from streams.extract.csv_dialect import Dialect, Reader, find_dialect, is_number_or_date, separator_line, with_delimiter
from streams.extract.grids import MAX_CELLS, MEMORY, PER_CELL, PER_CHARACTER, add_table, check_size, grid
from streams.extract.outcome import Draft, Request
from streams.extract.text import paragraphs, source_text
from streams.records import Block, BlockKind, BlockSource, Table

MAX_REMARKS = 50
"""Rows above a header, or below a table, that may be remarks."""
HEADER_SAMPLE = 200
"""Rows below a first row that it is compared with."""

_YEAR = re.compile(r"(?:1[89]|20|21)\d\d")

Row = list[str]


def extract(request: Request) -> Draft:
    """The tables of a file of delimited values, with the remarks above, between and below them as paragraphs.

    Errors: DocumentError `too_large` for more cells than a slot carries. Rows that are shorter or longer than the
    others are kept (warning `ragged_rows`), and so is the text behind a stray quote (`stray_quote`).
    """
    text, warnings, metadata = source_text(request, "utf-8")
    named, start = separator_line(text)
    text = text[start:]
    tabs = request.detection.media_type == "text/tab-separated-values"
    dialect = with_delimiter(text, named) if named else find_dialect(text, "\t" if tabs else ",")
    if dialect.delimiter is None and not _is_list(text):
        return Draft(blocks=paragraphs(text, None), warnings=[*warnings, "no_table"], metadata=metadata)
    found = _Found()
    if dialect.delimiter is None:
        found.table([row for row in _read(text, dialect, warnings) if row])
    else:
        regions = _regions(_read(text, dialect, warnings))
        largest = max(regions, key=lambda rows: len(rows) * _width(rows), default=[])
        for region in regions:
            found.add(region, largest)
    if dialect.delimiter:
        metadata = metadata | {"delimiter": {"\t": "tab"}.get(dialect.delimiter, dialect.delimiter)}
    return Draft(
        blocks=found.blocks,
        tables=found.tables,
        warnings=warnings + ["ragged_rows"] * found.ragged,
        metadata=metadata,
    )


def _is_list(text: str) -> bool:
    """Short lines without a delimiter: a table of one column. Long ones are prose."""
    lines = [line for line in text[:100_000].split("\n") if line.strip()]
    return len(lines) > 1 and sum(len(line) <= 80 for line in lines) >= 0.9 * len(lines)


def _read(text: str, dialect: Dialect, warnings: list[str]) -> list[Row]:
    """All rows. Cells are counted while they are read, so that too large a table costs no more than one that fits."""
    reader = Reader(text, dialect)
    check_size(0, len(text), "The table")
    rows: list[Row] = []
    cells = 0
    for row in reader:
        cells += len(row)
        if cells > MAX_CELLS or cells * PER_CELL + len(text) * PER_CHARACTER > MEMORY:
            about = text.count(dialect.delimiter or "\n") + text.count("\n") * (dialect.delimiter is not None)
            check_size(max(cells, about), len(text), "The table")
        rows.append(row)
    if reader.strays:
        warnings.append("stray_quote")
    return rows


def _regions(rows: list[Row]) -> list[list[Row]]:
    """Runs of rows between empty ones; a run that goes on as the one before it belongs to that.

    It does when it is as wide and begins with no header of its own.
    """
    runs: list[list[Row]] = [[]]
    for row in rows:
        if any(cell.strip() for cell in row):
            runs[-1].append(row)
        elif runs[-1]:
            runs.append([])
    regions: list[list[Row]] = []
    for run in filter(None, runs):
        before = regions[-1] if regions else []
        same = bool(before) and _width(before) == _width(run) > 1
        if same and not (len(run) > 1 and _has_header(run) and _has_header(before)):
            regions[-1] = before + run if len(before) < len(run) else _extended(before, run)
        else:
            regions.append(run)
    return regions


def _extended(before: list[Row], run: list[Row]) -> list[Row]:
    before.extend(run)
    return before


def _width(rows: list[Row]) -> int:
    """The width that most rows have; of equally common ones the largest."""
    counts = Counter(map(len, rows))
    return max(counts, key=lambda width: (counts[width], width))


class _Found:
    """What the regions of a file are made into, in their order."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.tables: list[Table] = []
        self.ragged = False
        self._passed = False  # the largest region

    def add(self, rows: list[Row], largest: list[Row]) -> None:
        """One region: remarks, a table, remarks; or remarks alone. `largest`: the region with most cells."""
        width = _width(rows)
        self._passed = self._passed or rows is largest
        few = len(rows) < 3 if self._passed else width == 2 and len(rows) <= MAX_REMARKS  # names and values above it
        if width == 1 or (width < _width(largest) and (few or not _has_header(rows))):
            self._remarks(rows)
            return
        first = _first(rows, width)
        last = _last(rows, width, first)
        self._remarks(rows[:first])
        self.ragged = self.ragged or any(len(row) != width for row in rows[first:last])
        self.table(rows[first:last])
        self._remarks(rows[last:])

    def table(self, rows: list[Row]) -> None:
        """These rows as one table."""
        rows = _without_empty_ends(rows)
        if rows:
            add_table(self.blocks, self.tables, grid(rows, int(_has_header(rows))))

    def _remarks(self, rows: list[Row]) -> None:
        for row in rows:
            filled = [cell.strip() for cell in row if cell.strip()]
            text = ": ".join(filled) if len(filled) == 2 and not filled[0].endswith(":") else " ".join(filled)
            self.blocks.append(Block(kind=BlockKind.PARAGRAPH, text=text, source=BlockSource.MARKUP))


def _first(rows: list[Row], width: int) -> int:
    """Where the table begins: below rows that are narrower, or fill one cell of many.

    A row that lacks one name stands directly above the others, and belongs to them.
    """
    for at, row in enumerate(rows[: MAX_REMARKS + 1]):
        filled = sum(1 for cell in row if cell.strip())
        if len(row) >= width and (filled > 1 or width < 3):
            if at and _is_header(rows[at - 1], rows[at:]) and not _is_header(row, rows[at + 1 :]):
                return at - 1  # a short header
            return at
    return 0


def _last(rows: list[Row], width: int, first: int) -> int:
    """Where the table ends: above narrow rows of one filled cell at the end, such as a source or a remark."""
    last = len(rows)
    while last > first + 2 and len(rows) - last < MAX_REMARKS:
        row = rows[last - 1]
        filled = [cell for cell in row if cell.strip()]
        if width < 2 or len(filled) > 1 or (len(row) >= width and (width < 3 or " " not in filled[0].strip())):
            break
        last -= 1
    return last


def _without_empty_ends(rows: list[Row]) -> list[Row]:
    """Rows without the columns at their right end that are empty from top to bottom: lines that end in a delimiter."""
    used = 0
    for row in rows:
        width = len(row)
        while width > used and not row[width - 1].strip():
            width -= 1
        used = max(used, width)
    return rows if all(len(row) <= used for row in rows) else [row[:used] for row in rows]


def _has_header(rows: list[Row]) -> bool:
    return len(rows) > 1 and _is_header(rows[0], rows[1:])


def _is_header(first: Row, below: list[Row]) -> bool:
    """Whether a row names the columns of those below: texts above numbers, and nothing that comes again below them.

    Years may name columns of other numbers.
    """
    names = [cell.strip() for cell in first]
    filled = [name for name in names if name]
    sample = below[:HEADER_SAMPLE]
    if not sample or not filled or 2 * len(filled) < len(names) or max(map(len, filled)) > 200:
        return False
    votes = 0.0
    for col, name in enumerate(names):
        values = [row[col].strip() for row in sample if col < len(row) and row[col].strip()]
        if not name or not values:
            continue
        numbers = sum(map(is_number_or_date, values)) / len(values)
        if is_number_or_date(name):
            year = _YEAR.fullmatch(name) is not None and not all(map(_YEAR.fullmatch, values))
            votes += 0.5 if year and col else -1.0
        elif numbers > 0.8:
            votes += 1.0
        elif name in values:
            votes -= 0.5
        else:
            votes += 0.25
    return votes > 0 and len(set(filled)) > 0.5 * len(filled)
