"""A sheet as any reader of workbooks gives it: shown texts with their kinds, compact enough for a million rows."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache

from streams.extract.grids import check_size
from streams.records import Table

MAX_ROWS = 1_048_576
MAX_COLS = 16_384
"""The largest sheet of Excel, and of LibreOffice: what lies beyond is a lie or an attack."""
MAX_MERGES = 100_000
MAX_COMMENTS = 20_000

TEXT, NUMBER, DATE, TRUTH, ERROR = b"tndbe"
"""Kinds of a cell's value, one byte each."""
BOLD = 0x80
"""Set in the kind of a cell that is all bold."""


class Visibility(Enum):
    """Whether a reader sees a sheet. A very hidden one can't even be asked for in the program."""

    VISIBLE = "visible"
    HIDDEN = "hidden"
    VERY_HIDDEN = "very hidden"


@dataclass(slots=True)
class Row:
    """The cells of a row that hold something: columns, texts and kinds, one of each per cell."""

    number: int
    cols: list[int] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    kinds: bytearray = field(default_factory=bytearray)

    def add(self, col: int, text: str, kind: int) -> None:
        """The next cell."""
        self.cols.append(col)
        self.texts.append(text)
        self.kinds.append(kind)


@dataclass(frozen=True, slots=True)
class Area:
    """A rectangle of cells, all ends included, from 0."""

    top: int
    left: int
    bottom: int
    right: int


@dataclass(frozen=True, slots=True)
class Remark:
    """A comment on a cell."""

    row: int
    col: int
    text: str
    author: str = ""


@dataclass(slots=True)
class Drawn:
    """Something that lies over the cells: a text box, a picture, a chart with its values."""

    text: str
    figure: bool
    table: Table | None = None
    hidden: bool = False


@dataclass(slots=True)
class Sheet:
    """One sheet of a workbook."""

    name: str
    visibility: Visibility = Visibility.VISIBLE
    rows: list[Row] = field(default_factory=list)
    merges: list[Area] = field(default_factory=list)
    hidden_rows: set[int] = field(default_factory=set)
    hidden_cols: set[int] = field(default_factory=set)
    remarks: list[Remark] = field(default_factory=list)
    headers: list[Area] = field(default_factory=list)  # areas whose rows are headers, as the file says
    links: dict[tuple[int, int], str] = field(default_factory=dict)
    charts: int = 0
    drawn: list[Drawn] = field(default_factory=list)


class Budget:
    """What all sheets of a workbook may hold together, and what was met on the way."""

    def __init__(self) -> None:
        self.cells = self.characters = 0
        self.counts: Counter[str] = Counter()
        self.warnings: list[str] = []
        self._texts: dict[str, str] = {}

    def spend(self, texts: list[str], times: int = 1) -> None:
        """Counts the cells of a row that hold something. Errors: DocumentError `too_large`."""
        self.cells += len(texts) * times
        self.characters += sum(map(len, texts)) * times
        check_size(self.cells, self.characters, "The workbook, read so far,")

    def put(self, row: Row, col: int, text: str, kind: int) -> None:
        """A cell as it is shown; one that shows nothing of its value is counted."""
        if text:
            row.cols.append(col)
            row.texts.append(self.same(text))
            row.kinds.append(kind)
        elif kind & ~BOLD != TEXT:
            self.counts["values_not_shown"] += 1  # by a format such as `0;-0;;`

    def keep(self, sheet: Sheet, row: Row) -> None:
        """A row that holds something, as one of its sheet, complete. Errors: as `spend`.

        Most rows have the columns and kinds of the row above them, and share these with it: a third of the memory of a
        sheet of a million rows.
        """
        if not row.cols:
            return
        self.spend(row.texts)
        if sheet.rows:
            above = sheet.rows[-1]
            if row.cols == above.cols:
                row.cols = above.cols
            if row.kinds == above.kinds:
                row.kinds = above.kinds
        sheet.rows.append(row)

    def warn(self, code: str) -> None:
        """Notes a warning once."""
        if code not in self.warnings:
            self.warnings.append(code)

    def same(self, text: str) -> str:
        """One object for equal short texts: sheets say the same things over and over."""
        if len(text) > 40:
            return text
        if len(self._texts) > 200_000:
            self._texts.clear()
        return self._texts.setdefault(text, text)


def cell_name(row: int, col: int) -> str:
    """`B2` for row 1, column 1."""
    letters = ""
    col += 1
    while col:
        col, rest = divmod(col - 1, 26)
        letters = chr(65 + rest) + letters
    return f"{letters}{row + 1}"


def cell_place(name: str) -> tuple[int, int] | None:
    """Row and column of `B2` or `$B$2`, from 0; null for what is no cell of a sheet."""
    col = row = 0
    digits = False
    for sign in name:
        if sign == "$":
            continue
        if "0" <= sign <= "9":
            digits = True
            row = row * 10 + ord(sign) - 48
        elif sign.isascii() and sign.isalpha() and not digits:
            col = col * 26 + (ord(sign) & 31)
        else:
            return None
        if row > MAX_ROWS or col > MAX_COLS:
            return None
    return (row - 1, col - 1) if row and col else None


@lru_cache(maxsize=MAX_COLS)
def _column(letters: str) -> int:
    place = cell_place(letters + "1")
    return -1 if place is None else place[1]


def column_of(name: str) -> int:
    """The column of `B2`, from 0; -1 for what is no cell of a sheet."""
    return _column(name.rstrip("0123456789")[:10])


def area_of(name: str) -> Area | None:
    """`A1:B2` or `A1` as an area; null for what is none."""
    first, _, last = name.partition(":")
    start, end = cell_place(first), cell_place(last or first)
    if start is None or end is None:
        return None
    return Area(min(start[0], end[0]), min(start[1], end[1]), max(start[0], end[0]), max(start[1], end[1]))
