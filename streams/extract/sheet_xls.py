"""XLS workbooks (BIFF 2 to 8, [MS-XLS]) through xlrd, which alone tells number formats, hidden rows and comments."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import xlrd
from xlrd.biffh import XLRDError
from xlrd.compdoc import CompDocError
from xlrd.formula import FormulaError

from streams.errors import DocumentError
from streams.extract.sheet_formats import general, shown, shown_text
from streams.extract.sheet_model import (
    BOLD,
    DATE,
    ERROR,
    MAX_COMMENTS,
    MAX_MERGES,
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
from streams.extract.sheet_xls_charts import charts_of

MAX_BYTES = 200 * 1024 * 1024
"""Bytes of one file; it is read as a whole. The largest that Excel 2003 can write is below that."""

_BROKEN = (
    XLRDError,
    CompDocError,
    FormulaError,
    struct.error,
    AssertionError,  # how xlrd refuses records that contradict each other
    IndexError,
    KeyError,
    ValueError,
    TypeError,
    AttributeError,
    UnicodeError,
    OverflowError,
    ZeroDivisionError,
    RecursionError,
    EOFError,
    OSError,
    NotImplementedError,
)
"""What xlrd raises on a damaged file: it checks little of what it reads."""
_VISIBILITY = {1: Visibility.HIDDEN, 2: Visibility.VERY_HIDDEN}


class XlsWorkbook:
    """An opened workbook; `sheets` reads one after the other."""

    def __init__(self, path: Path, budget: Budget) -> None:
        """Errors: DocumentError `encrypted`, `corrupt` or `too_large`."""
        if path.stat().st_size > MAX_BYTES:
            raise DocumentError("too_large", f"The workbook has more than {MAX_BYTES} bytes.")
        self._budget = budget
        self._log = io.StringIO()  # xlrd prints what it doubts
        try:
            self._book: Any = xlrd.open_workbook(
                str(path), formatting_info=True, on_demand=True, logfile=self._log, ragged_rows=True
            )
        except _BROKEN as error:
            if "encrypt" in str(error).lower() or "password" in str(error).lower():
                raise DocumentError("encrypted", "The workbook needs a password.") from error
            raise DocumentError("corrupt", f"The workbook can't be read: {error}.") from error
        self._codes: dict[int, tuple[str, bool]] = {}

    def author(self) -> str:
        """Who saved it last, as the program notes it."""
        return str(self._book.user_name or "").strip()

    def defined_names(self) -> list[tuple[str, str]]:
        """Names that the author gave to cells and areas."""
        found: list[tuple[str, str]] = []
        for name in self._book.name_obj_list[:MAX_COMMENTS]:
            target = getattr(name, "result", None)
            if not name.builtin and not name.hidden and not name.func and target is not None and target.text:
                found.append((str(name.name), str(target.text)))
        return found

    def sheets(self) -> Iterator[Sheet]:
        """All sheets in their order. One that is damaged is a warning `sheet_damaged`."""
        whole = broken = 0
        for number in range(self._book.nsheets):
            sheet = Sheet(
                name=str(self._book.sheet_names()[number]),
                visibility=_VISIBILITY.get(self._book._sheet_visibility[number], Visibility.VISIBLE),
            )
            try:
                self._read(self._book.sheet_by_index(number), sheet)
                if self._book.biff_version >= 80:
                    sheet.drawn = charts_of(self._book.mem, *self._span(number))
                    sheet.charts = len(sheet.drawn)
                whole += 1
            except _BROKEN:
                broken += 1
                self._budget.warn("sheet_damaged")
            self._book.unload_sheet(number)
            yield sheet
        if broken and not whole:
            raise DocumentError("corrupt", "None of the sheets can be read.")

    def _span(self, number: int) -> tuple[int, int]:
        """Where the records of a sheet begin and, at the latest, end."""
        places = self._book._sh_abs_posn
        start = int(places[number])
        return start, min((int(at) for at in places if at > start), default=len(self._book.mem))

    def _read(self, source: Any, sheet: Sheet) -> None:
        for number in range(source.nrows):
            row = Row(number)
            for col in range(source.row_len(number)):
                text, kind = self._cell(source, number, col)
                self._budget.put(row, col, text, kind)
            self._budget.keep(sheet, row)
        sheet.hidden_rows.update(number for number, info in source.rowinfo_map.items() if info.hidden)
        sheet.hidden_cols.update(number for number, info in source.colinfo_map.items() if info.hidden)
        for top, bottom, left, right in source.merged_cells[:MAX_MERGES]:
            if 0 <= top < bottom and 0 <= left < right:
                sheet.merges.append(Area(top, left, bottom - 1, right - 1))
        for (number, col), note in sorted(source.cell_note_map.items())[:MAX_COMMENTS]:
            if note.text.strip():
                sheet.remarks.append(Remark(number, col, note.text.strip(), (note.author or "").strip()))
        for (number, col), link in source.hyperlink_map.items():
            target = link.url_or_path or ""
            target = target.decode("utf-8", "replace") if isinstance(target, bytes) else target
            target = f"{target}#{link.textmark}" if link.textmark else target
            if target:
                sheet.links[number, col] = target

    def _cell(self, source: Any, number: int, col: int) -> tuple[str, int]:
        form, value = source.cell_type(number, col), source.cell_value(number, col)
        if form in (xlrd.XL_CELL_EMPTY, xlrd.XL_CELL_BLANK):
            return "", TEXT
        code, is_bold = self._style(source.cell_xf_index(number, col))
        bold = BOLD if is_bold else 0
        if form == xlrd.XL_CELL_TEXT:
            return shown_text(value, code), TEXT | bold
        if form == xlrd.XL_CELL_BOOLEAN:
            return ("TRUE" if value else "FALSE"), TRUTH | bold
        if form == xlrd.XL_CELL_ERROR:
            return xlrd.error_text_from_code.get(value, "#ERR!"), ERROR | bold
        if code == "General":
            return general(float(value)), NUMBER | bold
        text, kind = shown(float(value), code, date_1904=bool(self._book.datemode))
        return text, (DATE if kind == "d" else ERROR if kind == "e" else NUMBER) | bold

    def _style(self, index: int) -> tuple[str, bool]:
        """Number format and boldness of a cell format."""
        if index not in self._codes:
            self._codes[index] = self._look_up(index)
        return self._codes[index]

    def _look_up(self, index: int) -> tuple[str, bool]:
        xf = self._book.xf_list[index] if 0 <= index < len(self._book.xf_list) else None
        if xf is None:
            return "General", False
        found = self._book.format_map.get(xf.format_key)
        code = str(found.format_str) if found is not None else "General"
        fonts = self._book.font_list
        bold = 0 <= xf.font_index < len(fonts) and fonts[xf.font_index].weight >= 600
        return ("General" if code.strip().lower() in ("general", "") else code), bold
