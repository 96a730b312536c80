"""OpenDocument spreadsheets (OASIS ODF 1.3 part 3): the texts that the program showed, with dates made plain."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from lxml import etree

from streams.errors import DocumentError
from streams.extract.ooxml import Package
from streams.extract.sheet_formats import general
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
from streams.extract.sheet_ods_drawings import Drawings
from streams.extract.sheet_xlsx_parts import ZIP_FAULTS, PartStream, elements, forget_siblings

_URN = "urn:oasis:names:tc:opendocument:xmlns:"
_TABLE = "{" + _URN + "table:1.0}"
_OFFICE = "{" + _URN + "office:1.0}"
_TEXT = "{" + _URN + "text:1.0}"
_STYLE = "{" + _URN + "style:1.0}"
_FO = "{" + _URN + "xsl-fo-compatible:1.0}"
_DC = "{http://purl.org/dc/elements/1.1/}"
_HREF = "{http://www.w3.org/1999/xlink}href"
_TAGS = (
    _STYLE + "style",
    _TABLE + "table",
    _TABLE + "table-row",
    _TABLE + "table-column",
    _TABLE + "table-header-rows",
    _TABLE + "named-range",
    _TABLE + "shapes",
)
_HIDDEN = frozenset({"collapse", "filter"})
_TIME = re.compile(r"\d{1,2}:\d{2}(?::\d{2})?(?:[.,]\d+)?(?:\s?[AP]M)?", re.IGNORECASE)
_ISO = re.compile(r"(\d{4}-\d{2}-\d{2})(?:T(\d{2}:\d{2})(:\d{2})?\S*)?")
_BROKEN = (etree.XMLSyntaxError, *ZIP_FAULTS)


class OdsWorkbook:
    """The content of a spreadsheet document; `sheets` reads one after the other."""

    def __init__(self, path: Path, package: Package, budget: Budget) -> None:
        self._path = path
        self._drawings = Drawings(package)
        self._budget = budget
        self._bold: set[str] = set()
        self._invisible: set[str] = set()  # styles of tables that are not shown
        self._sheet: Sheet | None = None
        self._number = self._column = 0
        self._header_from: int | None = None
        self._remarks = 0
        self.names: list[tuple[str, str]] = []

    def sheets(self) -> Iterator[Sheet]:
        """All sheets in their order. Errors: DocumentError `corrupt` if there is none, `bomb` or `too_large`."""
        given = 0
        try:
            with PartStream(self._path, "content.xml", self._budget) as stream:
                for event, element in elements(stream, ("start", "end"), _TAGS):
                    done = self._take(event, element)
                    if done is not None:
                        given += 1
                        yield done
        except _BROKEN as error:
            self._budget.warn("sheet_damaged")
            if self._sheet is not None and self._sheet.rows:
                given += 1
                yield self._sheet
            if not given:
                raise DocumentError("corrupt", f"Its content can't be read: {error}.") from error
        if not given:
            raise DocumentError("corrupt", "It has no sheet.")

    def _take(self, event: str, element: etree._Element) -> Sheet | None:
        """One event; a sheet at its end."""
        tag = element.tag
        if tag == _TABLE + "table":
            parent = element.getparent()
            if parent is None or parent.tag != _OFFICE + "spreadsheet":
                return None
            if event == "start":
                self._begin(element)
                return None
            done, self._sheet = self._sheet, None
            if done is not None:
                done.charts = sum(one.table is not None for one in done.drawn)
            element.clear()
            return done
        if event == "start":
            if tag == _TABLE + "table-header-rows":
                self._header_from = self._number
            return None
        if tag == _STYLE + "style":
            self._style(element)
        elif tag == _TABLE + "named-range":
            name, target = element.get(_TABLE + "name"), element.get(_TABLE + "cell-range-address")
            if name and target and len(self.names) < MAX_COMMENTS:
                self.names.append((name, target))
        elif self._sheet is None:
            return None
        elif tag == _TABLE + "table-row":
            self._row(element, self._sheet)
            element.clear()
            forget_siblings(element)
        elif tag == _TABLE + "shapes":
            self._sheet.drawn += self._drawings.below(element)
        elif tag == _TABLE + "table-column":
            count = _count(element.get(_TABLE + "number-columns-repeated"))
            if element.get(_TABLE + "visibility") in _HIDDEN:
                self._sheet.hidden_cols.update(range(self._column, min(self._column + count, MAX_COLS)))
            self._column += count
        elif self._header_from is not None:
            if self._number > self._header_from:
                self._sheet.headers.append(Area(self._header_from, 0, self._number - 1, MAX_COLS))
            self._header_from = None
        return None

    def _begin(self, element: etree._Element) -> None:
        hidden = element.get(_TABLE + "style-name") in self._invisible
        self._sheet = Sheet(
            name=element.get(_TABLE + "name") or "", visibility=Visibility.HIDDEN if hidden else Visibility.VISIBLE
        )
        self._number = self._column = 0
        self._header_from = None

    def _style(self, element: etree._Element) -> None:
        name = element.get(_STYLE + "name") or ""
        for part in element.iterchildren("*"):
            if part.get(_TABLE + "display") == "false":
                self._invisible.add(name)
            if part.get(_FO + "font-weight") in ("bold", "700", "800", "900"):
                self._bold.add(name)

    def _row(self, element: etree._Element, sheet: Sheet) -> None:
        repeated = _count(element.get(_TABLE + "number-rows-repeated"))
        first = self._number
        self._number = min(first + repeated, MAX_ROWS)
        row = Row(first)
        col = 0
        for cell in element.iterchildren(_TABLE + "table-cell", _TABLE + "covered-table-cell"):
            count = _count(cell.get(_TABLE + "number-columns-repeated"))
            if col >= MAX_COLS or first >= MAX_ROWS:
                self._budget.warn("impossible_cell")
                break
            if len(cell) or cell.get(_OFFICE + "value-type") or cell.get(_TABLE + "formula"):
                self._cell(cell, sheet, row, col, min(count, MAX_COLS - col))
            col += count
        if element.get(_TABLE + "visibility") in _HIDDEN:
            sheet.hidden_rows.update(range(first, self._number))
        if not row.cols:
            return
        self._budget.spend(row.texts, self._number - first)
        sheet.rows.append(row)
        for number in range(first + 1, self._number):
            sheet.rows.append(Row(number, row.cols, row.texts, row.kinds))

    def _cell(self, cell: etree._Element, sheet: Sheet, row: Row, col: int, count: int) -> None:
        text, kind = self._shown(cell)
        across = _count(cell.get(_TABLE + "number-columns-spanned"))
        down = _count(cell.get(_TABLE + "number-rows-spanned"))
        if (across > 1 or down > 1) and len(sheet.merges) < MAX_MERGES:
            bottom, right = min(row.number + down, MAX_ROWS) - 1, min(col + across, MAX_COLS) - 1
            sheet.merges.append(Area(row.number, col, bottom, right))
        sheet.drawn += self._drawings.below(cell)
        for note in cell.iterchildren(_OFFICE + "annotation"):
            remark = _text_of(note)
            self._remarks += 1
            if remark and self._remarks <= MAX_COMMENTS:
                author = next((found.text or "" for found in note.iterchildren(_DC + "creator")), "")
                sheet.remarks.append(Remark(row.number, col, remark, author.strip()))
        if text:
            if len(row.cols) + count > MAX_COLS:
                return
            text = self._budget.same(text)
            for at in range(col, col + count):
                row.add(at, text, kind)
            link = next(cell.iter(_TEXT + "a"), None)
            if link is not None and link.get(_HREF):
                sheet.links[row.number, col] = link.get(_HREF) or ""

    def _shown(self, cell: etree._Element) -> tuple[str, int]:
        """What a cell shows (part 3, 19.385), and its kind."""
        text = _text_of(cell)
        form = cell.get(_OFFICE + "value-type") or cell.get(_CALC + "value-type")
        bold = BOLD if cell.get(_TABLE + "style-name") in self._bold else 0
        value = cell.get(_OFFICE + "value")
        if form in ("float", "percentage", "currency"):
            return text or _plain(value), NUMBER | bold
        if form == "date":
            return _date(cell.get(_OFFICE + "date-value") or "", text), DATE | bold
        if form == "time":
            return text or (cell.get(_OFFICE + "time-value") or ""), DATE | bold
        if form == "boolean":
            return ("TRUE" if cell.get(_OFFICE + "boolean-value") == "true" else "FALSE"), TRUTH | bold
        formula = cell.get(_TABLE + "formula")
        if formula is not None and not text and not form:
            self._budget.warn("formula_without_value")
            self._budget.counts["formulas_without_value"] += 1
            return "=" + formula.partition("=")[2], TEXT | bold
        if form == "error" or (formula is not None and text.startswith(("#", "Err:"))):
            return text, ERROR | bold
        return text or (cell.get(_OFFICE + "string-value") or ""), TEXT | bold


_CALC = "{urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0}"


def _count(value: str | None) -> int:
    """A repeat count or span: at least 1, at most what any sheet has rows."""
    return min(max(int(value), 1), MAX_ROWS) if value and value.isascii() and value.isdigit() and len(value) < 12 else 1


def _plain(value: str | None) -> str:
    try:
        return general(float(value or ""))
    except (ValueError, OverflowError):
        return value or ""


def _date(value: str, text: str) -> str:
    """A whole date as ISO 8601, with its time if that is shown; else what is shown (`Jan 2021`)."""
    match = _ISO.match(value)
    if match is None:
        return text or value
    if not text:
        return f"{match[1]} {match[2]}{match[3] or ''}" if match[2] else match[1]
    time = _TIME.search(text)
    rest = _TIME.sub(" ", text)
    numbers = len(re.findall(r"\d+", rest))
    if numbers < 2 or (numbers == 2 and not any(sign.isalpha() for sign in rest)):
        return text
    if time is None or match[2] is None:
        return match[1]
    return f"{match[1]} {match[2]}{match[3] or ''}" if time[0].count(":") > 1 else f"{match[1]} {match[2]}"


def _text_of(element: etree._Element) -> str:
    """The paragraphs of a cell or note, without what hangs on it."""
    lines = [_inline(paragraph).strip() for paragraph in element.iterchildren(_TEXT + "p", _TEXT + "h")]
    return "\n".join(lines).strip()


def _inline(paragraph: etree._Element) -> str:
    """Text of a paragraph, with the signs that ODF writes as elements (6.1)."""
    parts: list[str] = []
    for event, element in etree.iterwalk(paragraph, events=("start", "end")):
        if not isinstance(element.tag, str):
            continue
        if event == "end":
            if element is not paragraph:
                parts.append(element.tail or "")
            continue
        if element.tag == _TEXT + "s":
            parts.append(" " * min(_count(element.get(_TEXT + "c")), 1000))
        elif element.tag == _TEXT + "tab":
            parts.append("\t")
        elif element.tag == _TEXT + "line-break":
            parts.append("\n")
        parts.append(element.text or "")
    return re.sub(r"[ \n\r]*\n[ \n\r]*", "\n", "".join(parts))
