"""ODS and XLS give the same sheets as XLSX does; their files are made here, byte for byte where need be."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from streams.errors import DocumentError
from streams.extract.render import table_records, table_rows
from streams.records import BlockKind, CanonBody
from tests.unit.extract.drafts import canon
from tests.unit.extract.sheet_files import ODS, make_ods, read

XLS = "application/vnd.ms-excel"


# --- ODS -------------------------------------------------------------------------------------------------------------


def ods_cell(text: str, form: str = "string", more: str = "") -> str:
    body = f"<text:p>{text}</text:p>" if text else ""
    return f'<table:table-cell office:value-type="{form}" {more}>{body}</table:table-cell>'


def ods_table(*rows: str, name: str = "One", more: str = "", before: str = "") -> str:
    body = "".join(
        row if row.startswith("<table:table-row") else f"<table:table-row>{row}</table:table-row>" for row in rows
    )
    return f'<table:table table:name="{name}" {more}>{before}{body}</table:table>'


def open_document(folder: Path, tables: str, automatic: str = "", parts: dict[str, str] | None = None) -> CanonBody:
    return read(make_ods(folder / "a", tables, automatic, parts), ODS)


def test_ods_shows_what_its_program_showed_and_dates_plainly(tmp_path: Path) -> None:
    body = open_document(
        tmp_path,
        ods_table(
            ods_cell("Day") + ods_cell("Share") + ods_cell("Flag") + ods_cell("Month"),
            ods_cell("01.02.21", "date", 'office:date-value="2021-02-01"')
            + ods_cell("6,2 %", "percentage", 'office:value="0.062"')
            + ods_cell("WAHR", "boolean", 'office:boolean-value="true"')
            + ods_cell("Feb 2021", "date", 'office:date-value="2021-02-01"'),
            ods_cell("1. Februar 2021 18:30", "date", 'office:date-value="2021-02-01T18:30:00"')
            + ods_cell("", "float", 'office:value="12.50"')
            + ods_cell("FALSCH", "boolean", 'office:boolean-value="false"')
            + ods_cell("18:30:00", "date", 'office:date-value="2021-02-01T18:30:00"'),
        ),
    )
    assert table_rows(body.tables[0])[1:] == [
        ["2021-02-01", "6,2 %", "TRUE", "Feb 2021"],
        ["2021-02-01 18:30", "12.5", "FALSE", "18:30:00"],
    ]


def test_ods_repeats_spans_and_covered_cells(tmp_path: Path) -> None:
    body = open_document(
        tmp_path,
        ods_table(
            ods_cell("h", more='table:number-columns-repeated="2"') + ods_cell("i"),
            ods_cell("wide", more='table:number-columns-spanned="2"')
            + "<table:covered-table-cell/>"
            + ods_cell("c<text:s text:c='2'/>d<text:line-break/>e"),
            '<table:table-row table:number-rows-repeated="2">' + ods_cell("r") + ods_cell("s") + "</table:table-row>",
            '<table:table-row table:number-rows-repeated="1048570"><table:table-cell '
            'table:number-columns-repeated="16384"/></table:table-row>',
        ),
    )
    assert table_rows(body.tables[0]) == [["h", "h", "i"], ["wide", "", "c  d\ne"], ["r", "s", ""], ["r", "s", ""]]
    assert [c.col_span for c in body.tables[0].cells if c.text == "wide"] == [2]


def test_ods_hidden_sheets_rows_comments_links_and_headers(tmp_path: Path) -> None:
    header = f"<table:table-header-rows><table:table-row>{ods_cell('1')}{ods_cell('2')}</table:table-row>"
    linked = ods_cell('<text:a xlink:href="http://x.org/">b</text:a>')
    note = "<office:annotation><dc:creator>Ann</dc:creator><text:p>Why?</text:p></office:annotation>"
    body = open_document(
        tmp_path,
        ods_table(
            ods_cell("a") + linked.replace("<text:p>", note + "<text:p>", 1),
            '<table:table-row table:visibility="collapse">' + ods_cell("x") + ods_cell("y") + "</table:table-row>",
            before=header + "</table:table-header-rows>",
        )
        + ods_table(ods_cell("secret") + ods_cell("z"), name="Two", more='table:style-name="ta2"'),
        '<style:style style:name="ta2"><style:table-properties table:display="false"/></style:style>',
        parts={
            "meta.xml": '<m xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>T</dc:title></m>',
        },
    )
    assert [(b.kind.value, b.text, b.hidden) for b in body.blocks] == [
        ("heading", "One", False),
        ("table", "1\t2\na\tb", False),
        ("table", "x\ty", True),
        ("comment", "B2, Ann: Why?", False),
        ("heading", "Two", True),
        ("table", "secret\tz", True),
    ]
    assert body.tables[0].header_rows == 1
    assert body.blocks[1].links[0].target == "http://x.org/"
    assert body.title == "T"


@pytest.mark.parametrize(
    ("tables", "expected"),
    [
        (ods_table(ods_cell("x", more='table:number-columns-repeated="131072"'), *[""] * 3), "ready"),
        (
            ods_table(
                '<table:table-row table:number-rows-repeated="131072">'
                + ods_cell("x", more='table:number-columns-repeated="131072"')
                + "</table:table-row>"
            ),
            "too_large",
        ),
        ("", "corrupt"),
        ("<table:table>" * 300, "corrupt"),
    ],
)
def test_ods_that_lies(tmp_path: Path, tables: str, expected: str) -> None:
    path = make_ods(tmp_path / "a", tables)
    if expected == "ready":
        assert read(path, ODS).tables[0].n_cols == 16_384
        return
    with pytest.raises(DocumentError) as caught:
        read(path, ODS)
    assert caught.value.problem == expected


def test_ods_with_a_password(tmp_path: Path) -> None:
    path = make_ods(tmp_path / "a", "", parts={"META-INF/manifest.xml": "<m><manifest:encryption-data/></m>"})
    with pytest.raises(DocumentError) as caught:
        read(path, ODS)
    assert caught.value.problem == "encrypted"


# --- XLS -------------------------------------------------------------------------------------------------------------


def record(number: int, data: bytes = b"") -> bytes:
    """A BIFF record."""
    return struct.pack("<HH", number, len(data)) + data


def biff2(*cells: bytes, formats: tuple[bytes, ...] = (b"General",), epoch_1904: bool = False) -> bytes:
    """A worksheet stream of BIFF 2, which needs no container."""
    head = record(0x09, struct.pack("<HH", 2, 0x10)) + record(0x22, struct.pack("<H", epoch_1904))
    head += b"".join(record(0x1E, bytes([len(code)]) + code) for code in formats)
    return head + b"".join(cells) + record(0x0A)


def number(row: int, col: int, value: float, form: int = 0) -> bytes:
    return record(0x03, struct.pack("<HHBBBd", row, col, 0, form, 0, value))


def label(row: int, col: int, text: bytes) -> bytes:
    return record(0x04, struct.pack("<HHBBBB", row, col, 0, 0, 0, len(text)) + text)


def truth(row: int, col: int, value: int, error: int) -> bytes:
    return record(0x05, struct.pack("<HHBBBBB", row, col, 0, 0, 0, value, error))


def test_xls_shows_values_as_formatted(tmp_path: Path) -> None:
    data = biff2(
        label(0, 0, b"Day"), label(0, 1, b"Share"), label(0, 2, b"Flag"),
        number(1, 0, 42735, 1), number(1, 1, 0.062, 2), truth(1, 2, 1, 0),
        number(2, 0, 42736, 1), number(2, 1, 0.5, 2), truth(2, 2, 42, 1),
        formats=(b"General", b"dd/mm/yyyy", b"0.0%"),
        epoch_1904=True,
    )  # fmt: skip
    body = canon(tmp_path, data, XLS)
    assert table_records(body.tables[0]) == [
        {"Day": "2021-01-01", "Share": "6.2%", "Flag": "TRUE"},
        {"Day": "2021-01-02", "Share": "50.0%", "Flag": "#N/A"},
    ]
    assert body.blocks[0].kind is BlockKind.HEADING


@pytest.mark.parametrize("data", [b"", b"no workbook", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(504), biff2()[:9]])
def test_xls_that_is_none(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(DocumentError) as caught:
        canon(tmp_path, data, XLS)
    assert caught.value.problem == "corrupt"
