"""Damaged and malicious packages end with a clear problem, cheaply, and never with an empty success."""

from __future__ import annotations

import random
import zipfile
from pathlib import Path

import pytest

from streams.errors import DocumentError
from streams.extract import ooxml
from streams.extract.ooxml import Package, w3c_date
from tests.unit.extract.docx_files import NAMESPACES, W, make, paragraph, read, row, table

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(504)


def problem(path: Path) -> str:
    with pytest.raises(DocumentError) as caught:
        read(path)
    return caught.value.problem


def test_nesting_beyond_what_the_parser_bears_is_not_called_damage(tmp_path: Path) -> None:
    body = "<w:tbl><w:tr><w:tc>" * 150 + paragraph("x") + "</w:tc></w:tr></w:tbl>" * 150
    assert problem(make(tmp_path / "a", body)) == "too_large"


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", "truncated"),
        (b"no zip at all", "corrupt"),
        (OLE + "EncryptedPackage".encode("utf-16-le"), "encrypted"),
        (OLE, "corrupt"),
        (b"PK\x05\x06" + bytes(18), "corrupt"),
    ],
)
def test_what_is_no_package(tmp_path: Path, data: bytes, expected: str) -> None:
    (tmp_path / "a").write_bytes(data)
    assert problem(tmp_path / "a") == expected


def test_cut_off_file_is_truncated_wherever_it_is_cut(tmp_path: Path) -> None:
    data = make(tmp_path / "a", paragraph("Text")).read_bytes()
    for part in (0.1, 0.5, 0.9):
        (tmp_path / "cut").write_bytes(data[: int(len(data) * part)])
        assert problem(tmp_path / "cut") == "truncated"


def test_missing_or_broken_main_part_is_corrupt(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "none", "w") as archive:
        archive.writestr("other.xml", "<a/>")
    assert problem(tmp_path / "none") == "corrupt"
    assert problem(make(tmp_path / "cut", "", parts={"word/document.xml": f"<w:document {NAMESPACES}><w:body>"})) == (
        "corrupt"
    )
    assert (
        problem(make(tmp_path / "empty", "", parts={"word/document.xml": f'<w:document xmlns:w="{W}"/>'})) == "corrupt"
    )


def test_damaged_bytes_of_a_part_are_corrupt(tmp_path: Path) -> None:
    data = bytearray(make(tmp_path / "a", "".join(paragraph(f"Line {n}") for n in range(500))).read_bytes())
    start = data.index(b"word/document.xml") + 40
    data[start : start + 30] = bytes(30)
    (tmp_path / "a").write_bytes(data)
    assert problem(tmp_path / "a") == "corrupt"


def test_bomb_is_refused_before_it_is_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ooxml, "MAX_PART", 200_000)
    bomb = make(tmp_path / "bomb", paragraph("0" * 5_000_000))
    assert bomb.stat().st_size < 20_000
    assert problem(bomb) == "bomb"


def test_bomb_in_a_side_part_is_not_only_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ooxml, "MAX_PART", 200_000)
    path = make(
        tmp_path / "a",
        paragraph("Text"),
        parts={"word/comments.xml": " " * 5_000_000},
        related={"c": ("comments", "comments.xml")},
    )
    assert problem(path) == "bomb"


def test_too_many_tags_are_refused_before_the_tree_is_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ooxml, "MAX_TAGS", 1000)
    assert problem(make(tmp_path / "a", "<w:p/>" * 2000)) == "too_large"


def test_too_many_members_are_a_bomb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ooxml, "MAX_MEMBERS", 5)
    parts: dict[str, str | bytes] = {f"x/{n}": "" for n in range(10)}
    assert problem(make(tmp_path / "a", paragraph("Text"), parts=parts)) == "bomb"


def test_external_entities_are_not_read(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("TOP SECRET")
    document = (
        f'<!DOCTYPE w:document [<!ENTITY x SYSTEM "{secret.as_uri()}"><!ENTITY y "inner">]>'
        f"<w:document {NAMESPACES}><w:body><w:p><w:r><w:t>safe &x;&y; text</w:t></w:r></w:p></w:body></w:document>"
    )
    draft = read(make(tmp_path / "a", "", parts={"word/document.xml": document}))
    text = " ".join(block.text for block in draft.blocks)
    assert "SECRET" not in text
    assert text.startswith("safe")
    assert draft.warnings == ["doctype_ignored"]


def test_billion_laughs_end_at_once(tmp_path: Path) -> None:
    entities = '<!ENTITY a0 "ha">' + "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 12))
    document = (
        f"<!DOCTYPE w:document [{entities}]><w:document {NAMESPACES}><w:body>"
        '<w:p><w:pPr><w:pStyle w:val="&a11;"/></w:pPr><w:r><w:t>x</w:t></w:r></w:p></w:body></w:document>'
    )
    assert problem(make(tmp_path / "a", "", parts={"word/document.xml": document})) == "corrupt"


def test_damaged_side_parts_are_warnings_and_the_text_stays(tmp_path: Path) -> None:
    path = make(
        tmp_path / "a",
        paragraph("Text"),
        parts={"word/numbering.xml": "<broken"},
        related={"n": ("numbering", "numbering.xml"), "f": ("footnotes", "not-there.xml")},
    )
    draft = read(path)
    assert [block.text for block in draft.blocks] == ["Text"]
    assert draft.warnings == ["part_damaged", "part_missing"]


def test_deep_nesting_is_bounded_and_keeps_its_text(tmp_path: Path) -> None:
    nested = paragraph("core")
    for _ in range(60):
        nested = table(row("a", f"<w:tc>{nested}<w:p/></w:tc>"))
    draft = read(make(tmp_path / "a", nested))
    assert "nesting_too_deep" in draft.warnings
    assert "core" in draft.blocks[-1].text
    for _ in range(60):
        nested = table(row("a", f"<w:tc>{nested}<w:p/></w:tc>"))
    assert problem(make(tmp_path / "b", nested)) == "too_large", "deeper than any reader of XML goes"


def test_a_document_that_imports_itself_ends(tmp_path: Path) -> None:
    data = b""
    for depth in range(12):
        parts: dict[str, str | bytes] = {"word/x.docx": data}
        body = paragraph(f"level {depth}") + '<w:altChunk r:id="x"/>'
        data = make(tmp_path / "a", body, parts=parts, related={"x": ("aFChunk", "x.docx")}).read_bytes()
    draft = read(tmp_path / "a")
    assert draft.blocks[0].text == "level 11"
    assert "altchunk_not_read" in draft.warnings


def test_part_names_regardless_of_case_slashes_and_order(tmp_path: Path) -> None:
    path = make(tmp_path / "a", paragraph("Text"))
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(tmp_path / "b", "w") as archive:
        for name, data in reversed(parts.items()):
            archive.writestr(name.upper(), data)
    assert read(tmp_path / "b").blocks[0].text == "Text"
    with Package(path) as package:
        assert "\\word\\Document.xml" in package


def test_random_damage_never_escapes_as_another_error(tmp_path: Path) -> None:
    whole = make(
        tmp_path / "a",
        paragraph("Heading", "H1") + table(row("a", "b"), row("c", "d")) + paragraph("Text"),
        core="<dc:title>T</dc:title>",
    ).read_bytes()
    random_source = random.Random(0)  # noqa: S311
    for _ in range(300):
        data = bytearray(whole)
        for _ in range(random_source.randint(1, 12)):
            data[random_source.randrange(len(data))] = random_source.randrange(256)
        (tmp_path / "b").write_bytes(data)
        try:
            read(tmp_path / "b")
        except DocumentError as error:
            assert error.problem in {"corrupt", "truncated", "encrypted", "bomb", "too_large"}  # noqa: PT017


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-05-06T07:08:09Z", ("2024-05-06T07:08:09Z", False)),
        ("2024-05-06T07:08:09", ("2024-05-06", False)),
        ("2024-05-06T01:00:00+02:00", ("2024-05-05T23:00:00Z", False)),
        ("2024-05-06", ("2024-05-06", False)),
        ("2024-13-06", (None, True)),
        ("1601-01-01T00:00:00Z", (None, True)),
        ("0001-01-01T00:00:00+10:00", (None, True)),
        ("yesterday", (None, True)),
        (" ", (None, False)),
        (None, (None, False)),
    ],
)
def test_dates(text: str | None, expected: tuple[str | None, bool]) -> None:
    assert w3c_date(text) == expected
