"""XLSB workbooks ([MS-XLSB]), record by record: the same as XLSX says, in bytes."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from pathlib import Path

from streams.errors import DocumentError
from streams.extract.ooxml import Package
from streams.extract.sheet_formats import BUILT_IN, general, shown, shown_text
from streams.extract.sheet_model import (
    BOLD,
    DATE,
    ERROR,
    MAX_COLS,
    MAX_COMMENTS,
    MAX_MERGES,
    MAX_ROWS,
    NUMBER,
    TEXT,
    TRUTH,
    Area,
    Budget,
    Remark,
    Row,
    Sheet,
    Visibility,
)
from streams.extract.sheet_xlsb_records import BrokenRecord, records, rk, wide
from streams.extract.sheet_xlsx_drawings import drawn_of
from streams.extract.sheet_xlsx_parts import MAX_STRINGS, ZIP_FAULTS, CellStyle, PartStream

MAX_LINKS = 50_000

_BLANK, _RK, _ERROR, _BOOL, _REAL, _TEXT, _SHARED = range(1, 8)
_FORMULA_TEXT, _FORMULA_NUMBER, _FORMULA_BOOL, _FORMULA_ERROR, _RICH = 8, 9, 10, 11, 62
_CELLS = frozenset({*range(1, 12), _RICH})
_ROW, _STRING, _FONT, _FORMAT, _STYLE, _COLUMN = 0, 19, 43, 44, 47, 60
_WORKBOOK, _SHEET, _FILTER, _MERGE, _LINK, _STYLES, _STYLES_END = 153, 156, 161, 176, 494, 617, 618
_AUTHOR, _COMMENT, _COMMENT_TEXT = 632, 635, 637
"""Numbers of records (2.3)."""

_ERRORS = {
    0x00: "#NULL!", 0x07: "#DIV/0!", 0x0F: "#VALUE!", 0x17: "#REF!", 0x1D: "#NAME?", 0x24: "#NUM!", 0x2A: "#N/A",
    0x2B: "#GETTING_DATA",
}  # fmt: skip
_STATES = (Visibility.VISIBLE, Visibility.HIDDEN, Visibility.VERY_HIDDEN)
_BROKEN = (BrokenRecord, struct.error, *ZIP_FAULTS)


class XlsbWorkbook:
    """An opened workbook; `sheets` reads one after the other."""

    def __init__(self, path: Path, package: Package, budget: Budget) -> None:
        """Errors: DocumentError `corrupt`, `bomb` or `too_large`."""
        self._path = path
        self._package = package
        self._budget = budget
        self._main = package.related("", "officeDocument") or "xl/workbook.bin"
        self._date_1904 = False
        self._listed: list[tuple[str, str, Visibility]] = []
        try:
            self._workbook()
        except _BROKEN as error:
            raise DocumentError("corrupt", f"The workbook can't be read: {error}.") from error
        self._styles: list[CellStyle] = []
        self._part(package.related(self._main, "styles"), self._read_styles)
        self._strings: list[str] | None = None

    def sheets(self) -> Iterator[Sheet]:
        """All sheets in their order. One that is damaged gives what there is of it, and a warning `sheet_damaged`."""
        relationships = self._package.relationships(self._main)
        whole = broken = 0
        for name, identifier, visibility in self._listed:
            relationship = relationships.get(identifier)
            if relationship is None or relationship.external or relationship.target not in self._package:
                broken += 1
                self._budget.warn("sheet_missing")
                continue
            sheet = Sheet(name=name, visibility=visibility)
            kind = relationship.kind.lower()
            if kind in ("worksheet", "dialogsheet", "xlmacrosheet"):
                complete = self._read(relationship.target, sheet)
                broken += not complete
                whole += complete or bool(sheet.rows)
            sheet.drawn = drawn_of(self._package, relationship.target)
            sheet.charts = 1 if kind == "chartsheet" else sum(one.table is not None for one in sheet.drawn)
            yield sheet
        if broken and not whole:
            raise DocumentError("corrupt", "None of the sheets can be read.")

    def _workbook(self) -> None:
        with PartStream(self._path, self._main, self._budget) as stream:
            for number, data in records(stream):
                if number == _WORKBOOK:
                    self._date_1904 = bool(data[:1] and data[0] & 1)
                elif number == _SHEET:
                    (state,) = struct.unpack_from("<I", data)
                    identifier, at = wide(data, 8)
                    name, _ = wide(data, at)
                    self._listed.append((name, identifier, _STATES[state] if state < 3 else Visibility.VISIBLE))

    def _part(self, part: str | None, read: Callable[[PartStream], None]) -> None:
        """A part beside the sheets, without which they can be read."""
        if part is None:
            return
        try:
            with PartStream(self._path, part, self._budget) as stream:
                read(stream)
        except _BROKEN:
            self._budget.warn("part_damaged")

    def _read_styles(self, stream: PartStream) -> None:
        codes = dict(BUILT_IN)
        bold: list[bool] = []
        inside = False
        for number, data in records(stream):
            if number == _FORMAT:
                code, _ = wide(data, 2)
                codes[struct.unpack_from("<H", data)[0]] = code or "General"
            elif number == _FONT:
                bold.append(struct.unpack_from("<H", data, 4)[0] >= 600)
            elif number in (_STYLES, _STYLES_END):
                inside = number == _STYLES
            elif number == _STYLE and inside:
                _, form, font = struct.unpack_from("<HHH", data)
                code = codes.get(form, "General")
                plain = "General" if code.strip().lower() == "general" else code
                self._styles.append(CellStyle(plain, font < len(bold) and bold[font]))

    def _read_strings(self, stream: PartStream) -> None:
        size = 0
        strings = self._strings = []
        for number, data in records(stream):
            if number == _STRING:
                text, _ = wide(data, 1)
                size += len(text)
                if size > MAX_STRINGS:
                    raise DocumentError("too_large", f"The shared strings have more than {MAX_STRINGS} characters.")
                strings.append(text)

    def _shared(self, at: int) -> str:
        if self._strings is None:
            self._strings = []
            self._part(self._package.related(self._main, "sharedStrings"), self._read_strings)
        if at < len(self._strings):
            return self._strings[at]
        self._budget.warn("string_missing")
        return "\ufffd"

    def _read(self, part: str, sheet: Sheet) -> bool:
        """Reads a worksheet; whether it was whole."""
        complete = True
        row: Row | None = None
        try:
            with PartStream(self._path, part, self._budget) as stream:
                for number, data in records(stream):
                    if number == _ROW:
                        if row is not None:
                            self._budget.keep(sheet, row)
                        row = self._row(data, sheet)
                    elif number in _CELLS and row is not None:
                        self._cell(number, data, row)
                    else:
                        self._other(number, data, sheet, part)
        except _BROKEN:
            complete = False
            self._budget.warn("sheet_damaged")
        if row is not None:
            self._budget.keep(sheet, row)
        self._comments(part, sheet)
        return complete

    def _row(self, data: bytes, sheet: Sheet) -> Row | None:
        """The head of a row; null for a row that can't be: rows must grow."""
        (number,) = struct.unpack_from("<I", data)
        before = sheet.rows[-1].number if sheet.rows else -1
        if not before < number < MAX_ROWS:
            self._budget.warn("impossible_row")
            return None
        if len(data) > 11 and data[11] & 0x10:
            sheet.hidden_rows.add(number)
        return Row(number)

    def _cell(self, number: int, data: bytes, row: Row) -> None:
        col, style = struct.unpack_from("<II", data)
        if not (row.cols[-1] if row.cols else -1) < col < MAX_COLS:
            self._budget.warn("impossible_cell")
            return
        at = style & 0xFFFFFF
        look = self._styles[at] if at < len(self._styles) else CellStyle()
        text, kind = self._shown(number, data, look)
        self._budget.put(row, col, text, kind | (BOLD if look.bold else 0))

    def _shown(self, number: int, data: bytes, look: CellStyle) -> tuple[str, int]:
        """What a cell shows, and its kind (2.4.664 and those around it)."""
        if number == _BLANK:
            return "", TEXT
        if number in (_ERROR, _FORMULA_ERROR):
            return _ERRORS.get(data[8] if len(data) > 8 else -1, "#N/A"), ERROR
        if number in (_BOOL, _FORMULA_BOOL):
            return ("TRUE" if data[8:9] > b"\0" else "FALSE"), TRUTH
        if number in (_TEXT, _FORMULA_TEXT):
            return shown_text(wide(data, 8)[0], look.code), TEXT
        if number == _RICH:
            return shown_text(wide(data, 9)[0], look.code), TEXT
        if number == _SHARED:
            return shown_text(self._shared(struct.unpack_from("<I", data, 8)[0]), look.code), TEXT
        value = rk(struct.unpack_from("<I", data, 8)[0]) if number == _RK else struct.unpack_from("<d", data, 8)[0]
        if look.code == "General":
            return general(value), NUMBER
        text, kind = shown(value, look.code, date_1904=self._date_1904)
        return text, DATE if kind == "d" else ERROR if kind == "e" else NUMBER

    def _other(self, number: int, data: bytes, sheet: Sheet, part: str) -> None:
        if number == _COLUMN:
            first, last, _, _, flags = struct.unpack_from("<IIIIH", data)
            if flags & 1:
                sheet.hidden_cols.update(range(min(first, MAX_COLS), min(last + 1, MAX_COLS)))
        elif number == _MERGE and len(sheet.merges) < MAX_MERGES:
            area = _area(data)
            if area is not None:
                sheet.merges.append(area)
        elif number == _FILTER:
            area = _area(data)
            if area is not None and area.bottom > area.top:
                sheet.headers.append(Area(area.top, area.left, area.top, area.right))
        elif number == _LINK and len(sheet.links) < MAX_LINKS:
            area = _area(data)
            identifier, at = wide(data, 16)
            place, _ = wide(data, at)
            relationship = self._package.relationships(part).get(identifier)
            target = "" if relationship is None else relationship.target
            target = f"{target}#{place}" if place else target
            if area is not None and target:
                sheet.links[area.top, area.left] = target

    def _comments(self, part: str, sheet: Sheet) -> None:
        found: list[Remark] = []

        def read(stream: PartStream) -> None:
            authors: list[str] = []
            place: tuple[Area | None, int] = (None, 0)
            for number, data in records(stream):
                if number == _AUTHOR:
                    authors.append(wide(data, 0)[0])
                elif number == _COMMENT:
                    place = _area(data[4:]), struct.unpack_from("<I", data)[0]
                elif number == _COMMENT_TEXT and place[0] is not None and len(found) < MAX_COMMENTS:
                    text = wide(data, 1)[0].strip()
                    who = authors[place[1]] if place[1] < len(authors) else ""
                    if text:
                        found.append(Remark(place[0].top, place[0].left, text, "" if who.startswith("tc={") else who))

        self._part(self._package.related(part, "comments"), read)
        sheet.remarks = sorted(found, key=lambda remark: (remark.row, remark.col))


def _area(data: bytes) -> Area | None:
    """An UncheckedRfX (2.5.153); null for one outside of any sheet."""
    top, bottom, left, right = struct.unpack_from("<4I", data)
    if top <= bottom < MAX_ROWS and left <= right < MAX_COLS:
        return Area(top, left, bottom, right)
    return None
