"""Workbooks made by code: XLSX from the XML of its cells, so that a reader sees what is special about each."""

from __future__ import annotations

import zipfile
from pathlib import Path
from xml.sax.saxutils import escape

from streams.extract.sheet_model import cell_name
from streams.records import CanonBody
from tests.unit.extract.drafts import canon

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE_RELS = "http://schemas.openxmlformats.org/package/2006/relationships"
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
ODS = "application/vnd.oasis.opendocument.spreadsheet"

Value = str | int | float | bool | None


def cell(row: int, col: int, value: Value, style: int | None = None) -> str:
    """A cell; text that starts with `<` is its XML as it stands."""
    name, s = cell_name(row, col), "" if style is None else f' s="{style}"'
    if value is None:
        return ""
    if isinstance(value, bool):
        return f'<c r="{name}"{s} t="b"><v>{int(value)}</v></c>'
    if isinstance(value, int | float):
        return f'<c r="{name}"{s}><v>{value!r}</v></c>'
    if value.startswith("<"):
        return value
    return f'<c r="{name}"{s} t="inlineStr"><is><t xml:space="preserve">{escape(value)}</t></is></c>'


def rows(*values: list[Value] | None, first: int = 0, styles: dict[tuple[int, int], int] | None = None) -> str:
    """Rows of values; None is an empty row."""
    out = []
    for at, row in enumerate(values, first):
        if row is not None:
            cells = "".join(cell(at, col, value, (styles or {}).get((at, col))) for col, value in enumerate(row))
            out.append(f'<row r="{at + 1}">{cells}</row>')
    return "".join(out)


def sheet(data: str, before: str = "", after: str = "") -> str:
    """The XML of a worksheet."""
    return f'<worksheet xmlns="{MAIN}" xmlns:r="{RELS}">{before}<sheetData>{data}</sheetData>{after}</worksheet>'


def styles(*formats: str, bold: bool = False) -> str:
    """A styles part: style 0 is General, then one for each format, then (with `bold`) a bold one."""
    numbers = "".join(
        f'<numFmt numFmtId="{200 + at}" formatCode="{escape(code, {chr(34): "&quot;"})}"/>'
        for at, code in enumerate(formats)
    )
    xfs = '<xf numFmtId="0" fontId="0"/>' + "".join(
        f'<xf numFmtId="{200 + at}" fontId="0"/>' for at in range(len(formats))
    )
    xfs += '<xf numFmtId="0" fontId="1"/>' if bold else ""
    return (
        f'<styleSheet xmlns="{MAIN}"><numFmts>{numbers}</numFmts><fonts><font/><font><b/></font></fonts>'
        f"<cellXfs>{xfs}</cellXfs></styleSheet>"
    )


def make(
    path: Path,
    *sheets: str,
    names: list[str] | None = None,
    states: dict[int, str] | None = None,
    workbook: str = "",
    parts: dict[str, str] | None = None,
    sheet_rels: dict[int, str] | None = None,
) -> Path:
    """An XLSX package. `parts`: more parts, `xl/styles.xml` and `xl/sharedStrings.xml` are related by themselves."""
    parts = parts or {}
    entries, rels = "", ""
    before, after = ("", workbook) if "<definedNames" in workbook else (workbook, "")
    for at in range(len(sheets)):
        state = f' state="{(states or {})[at]}"' if at in (states or {}) else ""
        name = (names or [f"Sheet{n + 1}" for n in range(len(sheets))])[at]
        entries += f'<sheet name="{escape(name)}" sheetId="{at + 1}"{state} r:id="rId{at + 1}"/>'
        rels += f'<Relationship Id="rId{at + 1}" Type="{RELS}/worksheet" Target="worksheets/sheet{at + 1}.xml"/>'
    for part in parts:
        kind = {"xl/styles.xml": "styles", "xl/sharedStrings.xml": "sharedStrings"}.get(part)
        if kind:
            rels += f'<Relationship Id="x{kind}" Type="{RELS}/{kind}" Target="/{part}"/>'
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{PACKAGE_RELS}"><Relationship Id="r" Type="{RELS}/officeDocument" '
            'Target="xl/workbook.xml"/></Relationships>',
        )
        archive.writestr(
            "xl/workbook.xml",
            f'<workbook xmlns="{MAIN}" xmlns:r="{RELS}">{before}<sheets>{entries}</sheets>{after}</workbook>',
        )
        archive.writestr("xl/_rels/workbook.xml.rels", f'<Relationships xmlns="{PACKAGE_RELS}">{rels}</Relationships>')
        for at, xml in enumerate(sheets):
            archive.writestr(f"xl/worksheets/sheet{at + 1}.xml", xml)
        for at, xml in (sheet_rels or {}).items():
            archive.writestr(
                f"xl/worksheets/_rels/sheet{at + 1}.xml.rels",
                f'<Relationships xmlns="{PACKAGE_RELS}">{xml}</Relationships>',
            )
        for part, xml in parts.items():
            archive.writestr(part, xml)
    return path


def read(path: Path, media_type: str = XLSX) -> CanonBody:
    """The canon of a workbook."""
    return canon(path.parent, path.read_bytes(), media_type)


_ODF = "urn:oasis:names:tc:opendocument:xmlns:"


def make_ods(path: Path, tables: str, automatic: str = "", parts: dict[str, str] | None = None) -> Path:
    """An ODS package with these `table:table` elements."""
    spaces = " ".join(
        f'xmlns:{name}="{_ODF}{uri}:1.0"'
        for name, uri in (("office", "office"), ("table", "table"), ("text", "text"), ("style", "style"))
    )
    spaces += f' xmlns:fo="{_ODF}xsl-fo-compatible:1.0" xmlns:dc="http://purl.org/dc/elements/1.1/"'
    spaces += ' xmlns:xlink="http://www.w3.org/1999/xlink"'
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", ODS)
        archive.writestr(
            "content.xml",
            f"<office:document-content {spaces}><office:automatic-styles>{automatic}</office:automatic-styles>"
            f"<office:body><office:spreadsheet>{tables}</office:spreadsheet></office:body></office:document-content>",
        )
        for part, xml in (parts or {}).items():
            archive.writestr(part, xml)
    return path
