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
    elements,
    forget_siblings,
    remarks_of,
    rich_text,
    tables_of,
    unescaped,
)

MAX_LINKS = 50_000

_SPACES = (
    "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}",
    "{http://purl.oclc.org/ooxml/spreadsheetml/main}",
    "",
)
_WANTED = ("row", "col", "mergeCell", "hyperlink", "autoFilter")
_TAGS = [space + name for space in _SPACES for name in _WANTED]
_PARTS = {space + name: name for space in _SPACES for name in ("v", "f", "is")}
_STATES = {"hidden": Visibility.HIDDEN, "veryHidden": Visibility.VERY_HIDDEN}
_BROKEN = (etree.XMLSyntaxError, *ZIP_FAULTS, ValueError)


class XlsxWorkbook:
    """An opened workbook; `sheets` reads one after the other."""

    def __init__(self, path: Path, package: Package, budget: Budget) -> None:
        """Errors: DocumentError `corrupt`, `truncated`, `encrypted`, `bomb` or `too_large`."""
        self.package = package
        self._path = path
        self._budget = budget
        self._main = package.related("", "officeDocument") or "xl/workbook.xml"
        root = package.xml(self._main)
        properties = _named(root, "workbookPr")
        flag = "" if properties is None else (properties.get("date1904") or "")
        self.date_1904 = flag.lower() in ("1", "true", "on")
        self._root = root
        self._styles = Styles(package.optional_xml(package.related(self._main, "styles")))
        self._strings = Strings(path, package.related(self._main, "sharedStrings"), budget)

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
                self._budget.warn("sheet_missing")
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
            with PartStream(self._path, part, self._budget) as stream:
                self._walk(stream, sheet, part)
        except _BROKEN:
            complete = False
            self._budget.warn("sheet_damaged")
        sheet.remarks = remarks_of(self.package, part, self._main)
        sheet.headers += tables_of(self.package, part)
        sheet.drawn = drawn_of(self.package, part)
        sheet.charts = sum(one.table is not None for one in sheet.drawn)
        return complete

    def _walk(self, stream: PartStream, sheet: Sheet, part: str) -> None:
        number = 0
        for _, element in elements(stream, ("end",), _TAGS):
            name = element.tag.rpartition("}")[2]
            if name == "row":
                number = self._row(element, sheet, number)
                element.clear()
                forget_siblings(element)
            elif name == "col":
                _column(element, sheet)
            elif name == "mergeCell" and len(sheet.merges) < MAX_MERGES:
                area = area_of(element.get("ref") or "")
                if area is not None:
                    sheet.merges.append(area)
            elif name == "autoFilter":
                area = area_of(element.get("ref") or "")
                if area is not None and area.bottom > area.top:
                    sheet.headers.append(Area(area.top, area.left, area.top, area.right))
            elif name == "hyperlink":
                self._link(element, sheet, part)

    def _row(self, element: etree._Element, sheet: Sheet, expected: int) -> int:
        """Reads one row; the number of the next one, should that not say its own."""
        said = element.get("r")
        number = int(said) - 1 if said and said.isascii() and said.isdigit() and len(said) < 9 else expected
        if not expected <= number < MAX_ROWS:  # rows must grow
            self._budget.warn("impossible_row")
            number = expected
            if number >= MAX_ROWS:
                return number
        row = Row(number)
        for cell in element:
            name, last = cell.get("r"), row.cols[-1] if row.cols else -1
            col = column_of(name) if name else last + 1
            if not last < col < MAX_COLS:  # columns must grow
                self._budget.warn("impossible_cell")
                continue
            text, kind = self._cell(cell)
            self._budget.put(row, col, text, kind)
        self._budget.keep(sheet, row)
        if element.get("hidden") in ("1", "true", "on"):
            sheet.hidden_rows.add(number)
        return number + 1

    def _cell(self, cell: etree._Element) -> tuple[str, int]:
        """What a cell shows, and its kind (18.3.1.4)."""
        value = formula = None
        inline: etree._Element | None = None
        for part in cell:
            name = _PARTS.get(part.tag)
            if name == "v":
                value = part.text
            elif name == "f":
                formula = part.text or ""
            elif name == "is":
                inline = part
        style = self._styles.of(cell.get("s"))
        bold = BOLD if style.bold else 0
        form = cell.get("t") or "n"
        if form == "inlineStr":
            text = unescaped(rich_text(inline)) if inline is not None else value or ""
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
        text, kind = shown(number, code, date_1904=self.date_1904)
        return text, (DATE if kind == "d" else ERROR if kind == "e" else NUMBER) | bold

    def _link(self, element: etree._Element, sheet: Sheet, part: str) -> None:
        area = area_of(element.get("ref") or "")
        if area is None or len(sheet.links) >= MAX_LINKS:
            return
        relationship = self.package.relationships(part).get(attr(element, "r:id") or "")
        target = relationship.target if relationship is not None else ""
        place = element.get("location") or ""
        if place:
            target = f"{target}#{place}"
        if target:
            sheet.links[area.top, area.left] = target


def _column(element: etree._Element, sheet: Sheet) -> None:
    if element.get("hidden") not in ("1", "true", "on"):
        return
    first, last = element.get("min") or "", element.get("max") or ""
    if first.isdigit() and last.isdigit() and len(first) < 9 and len(last) < 9:
        sheet.hidden_cols.update(range(max(int(first) - 1, 0), min(int(last), MAX_COLS)))


def _named(root: etree._Element, name: str) -> etree._Element | None:
    return next((element for _, element in children(root) if element.tag.rpartition("}")[2] == name), None)
