"""Binary workbooks, made record by record."""

from __future__ import annotations

import struct
import zipfile
from pathlib import Path
from random import Random

import pytest

from streams.errors import DocumentError
from streams.extract.render import table_rows
from streams.extract.sheet_xlsb_records import rk
from streams.records import CanonBody
from tests.unit.extract.drafts import kinds
from tests.unit.extract.sheet_files import PACKAGE_RELS, RELS, read

XLSB = "application/vnd.ms-excel.sheet.binary.macroEnabled.12"


def record(number: int, data: bytes = b"") -> bytes:
    """A record ([MS-XLSB] 2.1.4)."""
    head = bytes([number]) if number < 128 else bytes([number & 0x7F | 0x80, number >> 7])
    size = b""
    count = len(data)
    while count > 0x7F:
        size += bytes([count & 0x7F | 0x80])
        count >>= 7
    return head + size + bytes([count]) + data


def wide(text: str) -> bytes:
    return struct.pack("<I", len(text)) + text.encode("utf-16-le")


def row(number: int, *cells: bytes, hidden: bool = False) -> bytes:
    head = struct.pack("<IIH", number, 0, 300) + bytes([0, 0x10 if hidden else 0, 0]) + bytes(4)
    return record(0, head) + b"".join(cells)


def cell(number: int, col: int, value: bytes, style: int = 0) -> bytes:
    return record(number, struct.pack("<II", col, style) + value)


def text(col: int, words: str, style: int = 0) -> bytes:
    return cell(6, col, wide(words), style)


def real(col: int, value: float, style: int = 0) -> bytes:
    return cell(5, col, struct.pack("<d", value), style)


def area(top: int, bottom: int, left: int, right: int) -> bytes:
    return struct.pack("<4I", top, bottom, left, right)


STYLES = (
    record(44, struct.pack("<H", 164) + wide("0.0%"))
    + record(44, struct.pack("<H", 165) + wide("yyyy-mm-dd"))
    + record(43, struct.pack("<HHH", 220, 0, 400))
    + record(43, struct.pack("<HHH", 220, 0, 700))
    + record(47, struct.pack("<HHH", 0, 165, 0))  # a named style, no cell's
    + record(617)
    + b"".join(record(47, struct.pack("<HHH", 0, form, font)) for form, font in ((0, 0), (164, 0), (165, 0), (0, 1)))
    + record(618)
)
PERCENT, DAY, BOLD = 1, 2, 3


def make(
    path: Path,
    *sheets: bytes,
    states: tuple[int, ...] = (),
    epoch_1904: bool = False,
    strings: bytes = b"",
    comments: bytes = b"",
    links: str = "",
) -> Path:
    def related(*entries: tuple[str, str, str]) -> str:
        inside = "".join(f'<Relationship Id="{i}" Type="{RELS}/{kind}" Target="{t}"/>' for i, kind, t in entries)
        return f'<Relationships xmlns="{PACKAGE_RELS}">{inside}{links}</Relationships>'

    book = record(131) + record(153, struct.pack("<I", int(epoch_1904))) + record(143)
    for at in range(len(sheets)):
        state = states[at] if at < len(states) else 0
        book += record(156, struct.pack("<II", state, at + 1) + wide(f"r{at}") + wide(f"Sheet{at + 1}"))
    parts = [(f"r{at}", "worksheet", f"worksheets/sheet{at}.bin") for at in range(len(sheets))]
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("_rels/.rels", related(("m", "officeDocument", "xl/workbook.bin")))
        archive.writestr("xl/workbook.bin", book)
        archive.writestr(
            "xl/_rels/workbook.bin.rels",
            related(*parts, ("s", "styles", "styles.bin"), ("t", "sharedStrings", "strings.bin")),
        )
        archive.writestr("xl/styles.bin", STYLES)
        archive.writestr("xl/strings.bin", strings)
        archive.writestr("xl/comments.bin", comments)
        for at, data in enumerate(sheets):
            archive.writestr(f"xl/worksheets/sheet{at}.bin", record(129) + record(145) + data + record(146))
        archive.writestr("xl/worksheets/_rels/sheet0.bin.rels", related(("c", "comments", "../comments.bin")))
    return path


def grid(body: CanonBody) -> list[list[str]]:
    return table_rows(body.tables[0])


def test_values_are_shown_by_their_formats(tmp_path: Path) -> None:
    sheet = row(0, text(0, "Share", BOLD), text(1, "Day", BOLD), text(2, "Sum", BOLD), text(3, "So", BOLD))
    sheet += row(
        1, real(0, 0.125, PERCENT), real(1, 40000, DAY), cell(2, 2, struct.pack("<I", 1 << 2 | 2)), cell(4, 3, b"\1")
    )
    sheet += row(
        2, cell(2, 0, struct.pack("<I", 5 << 2 | 3), PERCENT), real(1, 1.5, DAY), cell(9, 2, struct.pack("<d", 7))
    )
    sheet += row(3, cell(3, 0, b"\x07"), cell(11, 1, b"\x2a"), cell(8, 2, wide("told")), cell(10, 3, b"\0"))
    rich = cell(62, 1, b"\0" + wide("rich"))
    sheet += row(4, cell(7, 0, struct.pack("<I", 1)), rich, cell(7, 2, struct.pack("<I", 9)), cell(1, 3, b""))
    strings = b"".join(record(19, b"\0" + wide(words)) for words in ("first", "second"))
    body = read(make(tmp_path / "a", sheet, strings=strings), XLSB)
    assert grid(body) == [
        ["Share", "Day", "Sum", "So"],
        ["12.5%", "2009-07-06", "1", "TRUE"],
        ["5.0%", "1900-01-01", "7", ""],
        ["#DIV/0!", "#N/A", "told", "FALSE"],
        ["second", "rich", "\ufffd", ""],
    ]
    assert body.tables[0].header_rows == 1
    assert body.warnings == ["string_missing"]
    later = read(make(tmp_path / "b", sheet, strings=strings, epoch_1904=True), XLSB)
    assert grid(later)[1][1] == "2013-07-07"


@pytest.mark.parametrize(
    ("bits", "value"),
    [(1 << 2 | 2, 1.0), (0xFFFFFFFE, -1.0), (0xFFFFFFFF, -0.01), (0x3FF00000, 1.0), (0x3FF00001, 0.01), (0, 0.0)],
)
def test_numbers_of_thirty_bits(bits: int, value: float) -> None:
    assert rk(bits) == value


def test_hidden_sheets_rows_and_columns_merges_links_and_comments(tmp_path: Path) -> None:
    sheet = record(60, struct.pack("<IIIIH", 1, 1, 0, 0, 1))
    sheet += row(0, text(0, "Name"), text(1, "Sum")) + row(1, text(0, "Kiel"), real(1, 7))
    sheet += row(2, text(0, "Unseen"), real(1, 8), hidden=True) + row(4, text(0, "wide"), text(1, "covered"))
    sheet += record(176, area(4, 4, 0, 1))
    sheet += record(494, area(1, 1, 0, 0) + wide("out") + wide("place") + wide("") + wide(""))
    sheet += record(494, area(9, 1, 0, 0) + wide("out") + wide("") + wide("") + wide(""))
    comments = record(632, wide("Ann")) + record(635, struct.pack("<I", 0) + area(1, 1, 0, 0) + bytes(16))
    comments += record(637, b"\0" + wide("see there"))
    out = f'<Relationship Id="out" Type="{RELS}/hyperlink" Target="http://example.org/x" TargetMode="External"/>'
    second = row(0, text(0, "secret"))
    body = read(make(tmp_path / "a", sheet, second, states=(0, 2), comments=comments, links=out), XLSB)
    assert [(kind, words) for kind, words in kinds(body) if kind != "table"] == [
        ("heading", "Sheet1"),
        ("paragraph", "wide"),
        ("comment", "A2, Ann: see there"),
        ("heading", "Sheet2"),
        ("paragraph", "secret"),
    ]
    assert [block.text for block in body.blocks if block.hidden] == ["Unseen\t8", "Sheet2", "secret"]
    assert [(link.text, link.target) for block in body.blocks for link in block.links] == [
        ("Kiel", "http://example.org/x#place")
    ]
    assert body.metadata["hidden_columns"] == "Sheet1: B"
    assert {"hidden_rows", "hidden_sheets", "hidden_columns"} <= set(body.warnings)


def test_a_damaged_sheet_gives_what_there_is_of_it(tmp_path: Path) -> None:
    good = row(0, text(0, "a"), text(1, "b")) + row(1, text(0, "c"), text(1, "d"))
    body = read(make(tmp_path / "a", good + b"\x06\x7f", good), XLSB)
    assert (len(body.tables), body.warnings) == (2, ["sheet_damaged"])
    back = row(5, text(1, "x"), text(0, "y")) + row(3, text(0, "z")) + row(0xFFFFFFFF, text(0, "z"))
    assert read(make(tmp_path / "b", good + back), XLSB).warnings == ["impossible_cell", "impossible_row"]
    with pytest.raises(DocumentError) as caught:
        read(make(tmp_path / "c", b"\x06\x7f"), XLSB)
    assert caught.value.problem == "corrupt"


def test_mutations_end_as_a_canon_or_an_error_of_ours(tmp_path: Path) -> None:
    sheet = row(0, text(0, "Name"), real(1, 7, DAY)) + row(1, cell(7, 0, struct.pack("<I", 0)))
    sheet += record(176, area(4, 4, 0, 1)) + record(60, struct.pack("<IIIIH", 1, 1, 0, 0, 1))
    strings = record(19, b"\0" + wide("first"))
    random = Random(5)  # noqa: S311 - bytes to break, no secrets
    ended = set()
    for number in range(150):
        parts = [sheet, strings, record(635, struct.pack("<I", 0) + area(1, 1, 0, 0) + bytes(16))]
        at = random.randrange(3)
        data = bytearray(parts[at])
        for _ in range(random.randint(1, 4)):
            data[random.randrange(len(data))] = random.randrange(256)
        parts[at] = bytes(data[: random.randint(1, len(data))])
        try:
            read(make(tmp_path / str(number), parts[0], strings=parts[1], comments=parts[2]), XLSB)
        except DocumentError as error:
            ended.add(error.problem)
    assert ended <= {"corrupt", "too_large"}
