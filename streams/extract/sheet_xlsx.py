"""XLSX and XLSM workbooks (ECMA-376 part 1, 18), row by row: a million rows take the memory of their text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from lxml import etree

from streams.errors import DocumentError
from streams.extract.ooxml import Package, attr, children
from streams.extract.sheet_formats import general, shown, shown_text
from streams.extract.sheet_model import (
    BOLD,
    DATE,
    ERROR,
    MAX_COLS,
    MAX_MERGES,
    MAX_ROWS,
    NUMBER,
    TEXT,
    TRUTH,
    Area,
    Budget,
    Row,
    Sheet,
    Visibility,
    area_of,
    column_of,
)
from streams.extract.sheet_xlsx_drawings import drawn_of
from streams.extract.sheet_xlsx_parts import (
    ZIP_FAULTS,
    PartStream,
    Strings,
    Styles,
    in_namespaces,
    remarks_of,
    tables_of,
    unescaped,
)
from streams.extract.sheet_xlsx_stream import FAULTS, parse

MAX_LINKS = 50_000

_STATES = {"hidden": Visibility.HIDDEN, "veryHidden": Visibility.VERY_HIDDEN}
_BROKEN = (*FAULTS, *ZIP_FAULTS)


class XlsxWorkbook:
    """An opened workbook; `sheets` reads one after the other."""

    def __init__(self, path: Path, package: Package, budget: Budget) -> None:
        """Errors: DocumentError `corrupt`, `truncated`, `encrypted`, `bomb` or `too_large`."""
        self.package = package
        self._path = path
        self.budget = budget
        self._main = package.related("", "officeDocument") or "xl/workbook.xml"
        root = package.xml(self._main)
        properties = _named(root, "workbookPr")
        flag = "" if properties is None else (properties.get("date1904") or "")
        self.date_1904 = flag.lower() in ("1", "true", "on")
        self._root = root
        self.styles = Styles(package.optional_xml(package.related(self._main, "styles")))
        self.strings = Strings(path, package.related(self._main, "sharedStrings"), budget)

    def defined_names(self) -> list[tuple[str, str]]:
        """Names that the author gave to cells and areas, without those of the program itself."""
        names = _named(self._root, "definedNames")
        found: list[tuple[str, str]] = []
        for element in names.iterchildren("*") if names is not None else ():
            name, target = element.get("name") or "", (element.text or "").strip()
            if name and target and not name.startswith("_xlnm") and element.get("hidden") not in ("1", "true"):
                found.append((name, target))
        return found

    def sheets(self) -> Iterator[Sheet]:
        """All sheets in their order. One that is damaged gives what there is of it, and a warning `sheet_damaged`."""
        listed = _named(self._root, "sheets")
        relationships = self.package.relationships(self._main)
        whole = broken = 0
        for element in listed.iterchildren("*") if listed is not None else ():
            relationship = relationships.get(attr(element, "r:id") or "")
            sheet = Sheet(
                name=element.get("name") or "", visibility=_STATES.get(element.get("state") or "", Visibility.VISIBLE)
            )
            if relationship is None or relationship.external or relationship.target not in self.package:
                broken += 1
                self.budget.warn("sheet_missing")
                continue
            if relationship.kind.lower() == "chartsheet":
                sheet.drawn = drawn_of(self.package, relationship.target)
                sheet.charts = 1
            elif relationship.kind.lower() in ("worksheet", "dialogsheet", "xlmacrosheet"):
                complete = self._read(relationship.target, sheet)
                broken += not complete
                whole += complete or bool(sheet.rows)
            yield sheet
        if broken and not whole:
            raise DocumentError("corrupt", "None of the sheets can be read.")

    def _read(self, part: str, sheet: Sheet) -> bool:
        """Reads a worksheet; whether it was whole."""
        complete = True
        try:
            with PartStream(self._path, part, self.budget) as stream:
                _SheetReader(self, part, sheet).read(stream)
        except _BROKEN:
            complete = False
            self.budget.warn("sheet_damaged")
        sheet.remarks = remarks_of(self.package, part, self._main)
        sheet.headers += tables_of(self.package, part)
        sheet.drawn = drawn_of(self.package, part)
        sheet.charts = sum(one.table is not None for one in sheet.drawn)
        return complete


class _SheetReader:
    """Reads the XML of one worksheet (18.3)."""

    def __init__(self, workbook: XlsxWorkbook, part: str, sheet: Sheet) -> None:
        self._workbook = workbook
        self._part = part
        self._sheet = sheet
        self._budget = workbook.budget
        self._styles = workbook.styles
        self._strings = workbook.strings
        self._text: list[str] = []
        self._next_row = 0
        self._next_col = 0  # of a cell that does not say its place: behind the one before it, which may be empty
        self._row: Row | None = None
        self._row_hidden = False
        self._cell: dict[str, str] = {}  # attributes of the open cell
        self._value: str | None = None
        self._formula: str | None = None
        self._inline: list[str] | None = None
        self._phonetic = False

    def read(self, stream: PartStream) -> None:
        """Puts all of it into the sheet. Errors: `_BROKEN`, after what stands before the fault."""
        opened = {
            "row": self._open_row,
            "c": self._open_cell,
            "is": self._open_inline,
            "rPh": self._open_phonetic,
            "col": self._column,
            "mergeCell": self._merge,
            "hyperlink": self._link,
            "autoFilter": self._filter,
        }
        closed = {
            "row": self._close_row,
            "c": self._close_cell,
            "v": self._close_value,
            "f": self._close_formula,
            "t": self._close_text,
            "rPh": self._close_phonetic,
        }
        parse(stream, self._text, in_namespaces(opened), in_namespaces(closed))

    def _open_row(self, attributes: dict[str, str]) -> None:
        said, expected = attributes.get("r"), self._next_row
        number = int(said) - 1 if said and said.isascii() and said.isdigit() and len(said) < 9 else expected
        if not expected <= number < MAX_ROWS:  # rows must grow
            self._budget.warn("impossible_row")
            number = expected
        self._row = Row(number) if number < MAX_ROWS else None
        self._row_hidden = attributes.get("hidden") in ("1", "true", "on")
        self._next_col = 0

    def _close_row(self) -> None:
        row, self._row = self._row, None
        if row is None:
            return
        self._budget.keep(self._sheet, row)
        if self._row_hidden:
            self._sheet.hidden_rows.add(row.number)
        self._next_row = row.number + 1

    def _open_cell(self, attributes: dict[str, str]) -> None:
        self._cell = attributes
        self._value = self._formula = self._inline = None

    def _close_value(self) -> None:
        self._value = "".join(self._text) or None

    def _close_formula(self) -> None:
        self._formula = "".join(self._text)

    def _open_inline(self, _: dict[str, str]) -> None:
        self._inline = []

    def _open_phonetic(self, _: dict[str, str]) -> None:
        self._phonetic = True

    def _close_phonetic(self) -> None:
        self._phonetic = False

    def _close_text(self) -> None:
        if self._inline is not None and not self._phonetic:
            self._inline += self._text

    def _close_cell(self) -> None:
        row = self._row
        if row is None:
            return
        name, last = self._cell.get("r"), row.cols[-1] if row.cols else -1
        col = column_of(name) if name else self._next_col
        if not last < col < MAX_COLS:  # columns must grow
            self._budget.warn("impossible_cell")
            return
        self._next_col = col + 1
        text, kind = self._shown()
        self._budget.put(row, col, text, kind)

    def _shown(self) -> tuple[str, int]:
        """What the cell shows, and its kind (18.3.1.4)."""
        value, formula = self._value, self._formula
        style = self._styles.of(self._cell.get("s"))
        bold = BOLD if style.bold else 0
        form = self._cell.get("t") or "n"
        if form == "inlineStr":
            text = unescaped("".join(self._inline)) if self._inline is not None else value or ""
            return shown_text(text, style.code), TEXT | bold
        if value is None or (value == "" and form != "str"):
            if formula is None:
                return "", TEXT
            self._budget.warn("formula_without_value")
            self._budget.counts["formulas_without_value"] += 1
            return (f"={formula}" if formula else ""), TEXT | bold
        if form == "s":
            return shown_text(self._strings.get(value), style.code), TEXT | bold
        if form == "str":
            return shown_text(unescaped(value), style.code), TEXT | bold
        if form == "b":
            return ("TRUE" if value.strip().lower() in ("1", "true") else "FALSE"), TRUTH | bold
        if form == "e":
            return value, ERROR | bold
        if form == "d":
            return value.replace("T", " ").removesuffix(" 00:00:00").removesuffix("Z"), DATE | bold
        return self._number(value, style.code, bold)

    def _number(self, value: str, code: str, bold: int) -> tuple[str, int]:
        if code == "General" and value.isascii() and value.isdigit() and len(value) < 16 and value[0] != "0":
            return value, NUMBER | bold  # most numbers of most sheets
        try:
            number = float(value)
        except ValueError:
            return value, TEXT | bold
        if code == "General":
            return general(number), NUMBER | bold
        text, kind = shown(number, code, date_1904=self._workbook.date_1904)
        return text, (DATE if kind == "d" else ERROR if kind == "e" else NUMBER) | bold

    def _column(self, attributes: dict[str, str]) -> None:
        if attributes.get("hidden") not in ("1", "true", "on"):
            return
        first, last = attributes.get("min") or "", attributes.get("max") or ""
        if first.isdigit() and last.isdigit() and len(first) < 9 and len(last) < 9:
            self._sheet.hidden_cols.update(range(max(int(first) - 1, 0), min(int(last), MAX_COLS)))

    def _merge(self, attributes: dict[str, str]) -> None:
        area = area_of(attributes.get("ref") or "")
        if area is not None and len(self._sheet.merges) < MAX_MERGES:
            self._sheet.merges.append(area)

    def _filter(self, attributes: dict[str, str]) -> None:
        area = area_of(attributes.get("ref") or "")
        if area is not None and area.bottom > area.top:
            self._sheet.headers.append(Area(area.top, area.left, area.top, area.right))

    def _link(self, attributes: dict[str, str]) -> None:
        area = area_of(attributes.get("ref") or "")
        if area is None or len(self._sheet.links) >= MAX_LINKS:
            return
        identity = next((value for name, value in attributes.items() if name.endswith("/relationships}id")), "")
        relationship = self._workbook.package.relationships(self._part).get(identity)
        target = relationship.target if relationship is not None else ""
        place = attributes.get("location") or ""
        if place:
            target = f"{target}#{place}"
        if target:
            self._sheet.links[area.top, area.left] = target


def _named(root: etree._Element, name: str) -> etree._Element | None:
    return next((element for _, element in children(root) if element.tag.rpartition("}")[2] == name), None)
