"""List numbers as Word shows them."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.extract.docx_numbering import formatted
from streams.records import BlockKind
from tests.unit.extract.docx_files import STYLES, W, make, paragraph, read


def level(ilvl: int, number_format: str, text: str, more: str = "", start: int = 1) -> str:
    return (
        f'<w:lvl w:ilvl="{ilvl}"><w:start w:val="{start}"/><w:numFmt w:val="{number_format}"/>{more}'
        f'<w:lvlText w:val="{text}"/></w:lvl>'
    )


def markers(tmp_path: Path, abstracts: str, nums: str, items: list[tuple[int, int]]) -> list[str | None]:
    body = "".join(
        paragraph(f"item {at}", properties=f'<w:numPr><w:ilvl w:val="{ilvl}"/><w:numId w:val="{num}"/></w:numPr>')
        for at, (num, ilvl) in enumerate(items)
    )
    path = make(
        tmp_path / "a",
        body,
        parts={"word/numbering.xml": f'<w:numbering xmlns:w="{W}">{abstracts}{nums}</w:numbering>'},
        related={"n": ("numbering", "numbering.xml")},
    )
    draft = read(path)
    assert all(block.kind is BlockKind.LIST_ITEM for block in draft.blocks)
    assert [block.level for block in draft.blocks] == [ilvl + 1 for _, ilvl in items]
    return [block.marker for block in draft.blocks]


OUTLINE = (
    '<w:abstractNum w:abstractNumId="0">'
    + level(0, "decimal", "%1.")
    + level(1, "lowerLetter", "%2)")
    + level(2, "lowerRoman", "%1.%2.%3")
    + "</w:abstractNum>"
)
NUM = '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>'


def test_levels_count_and_restart(tmp_path: Path) -> None:
    items = [(1, 0), (1, 1), (1, 1), (1, 2), (1, 0), (1, 1), (1, 2), (1, 2)]
    assert markers(tmp_path, OUTLINE, NUM, items) == ["1.", "a)", "b)", "1.b.i", "2.", "a)", "2.a.i", "2.a.ii"]


def test_lists_of_one_definition_go_on_unless_they_start_over(tmp_path: Path) -> None:
    nums = (
        NUM
        + '<w:num w:numId="2"><w:abstractNumId w:val="0"/></w:num>'
        + '<w:num w:numId="3"><w:abstractNumId w:val="0"/>'
        + '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="7"/></w:lvlOverride></w:num>'
    )
    assert markers(tmp_path, OUTLINE, nums, [(1, 0), (2, 0), (3, 0), (3, 0)]) == ["1.", "2.", "7.", "8."]


def test_bullets_of_symbol_fonts_and_pictures(tmp_path: Path) -> None:
    fonts = '<w:rPr><w:rFonts w:ascii="{}"/></w:rPr>'
    abstract = (
        '<w:abstractNum w:abstractNumId="0">'
        + level(0, "bullet", "\uf0b7", fonts.format("Symbol"))
        + level(1, "bullet", "o", fonts.format("Courier New"))
        + level(2, "bullet", "\uf0a7", fonts.format("Wingdings"))
        + level(3, "bullet", "\uf0e0", fonts.format("Some Font"))
        + level(4, "bullet", "", '<w:lvlPicBulletId w:val="0"/>')
        + level(5, "none", "")
        + "</w:abstractNum>"
    )
    assert markers(tmp_path, abstract, NUM, [(1, ilvl) for ilvl in range(6)]) == ["•", "o", "▪", "•", "•", None]


def test_legal_numbers_and_a_level_that_never_restarts(tmp_path: Path) -> None:
    abstract = (
        '<w:abstractNum w:abstractNumId="0">'
        + level(0, "upperRoman", "%1")
        + level(1, "decimal", "%1.%2", "<w:isLgl/><w:lvlRestart w:val='0'/>", start=5)
        + "</w:abstractNum>"
    )
    assert markers(tmp_path, abstract, NUM, [(1, 0), (1, 1), (1, 0), (1, 1)]) == ["I", "1.5", "II", "2.6"]


def test_numbering_by_linked_style_and_missing_definition(tmp_path: Path) -> None:
    abstracts = (
        '<w:abstractNum w:abstractNumId="3"><w:numStyleLink w:val="House"/></w:abstractNum>'
        '<w:abstractNum w:abstractNumId="4"><w:styleLink w:val="House"/>'
        + level(0, "upperLetter", "Art. %1")
        + "</w:abstractNum>"
    )
    nums = '<w:num w:numId="1"><w:abstractNumId w:val="3"/></w:num>'
    assert markers(tmp_path, abstracts, nums, [(1, 0), (1, 0), (99, 0)]) == ["Art. A", "Art. B", None]


def test_numbered_headings_take_level_and_number_from_their_style(tmp_path: Path) -> None:
    styles = STYLES + (
        '<w:style w:type="paragraph" w:styleId="N1"><w:name w:val="heading 1"/>'
        '<w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr></w:style>'
        '<w:style w:type="paragraph" w:styleId="N2"><w:name w:val="heading 2"/>'
        '<w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr></w:style>'
    )
    abstract = (
        '<w:abstractNum w:abstractNumId="0">'
        + level(0, "decimal", "%1", '<w:pStyle w:val="N1"/>')
        + level(1, "decimal", "%1.%2", '<w:pStyle w:val="N2"/>')
        + "</w:abstractNum>"
    )
    body = (
        paragraph("Scope", "N1")
        + paragraph("Rooms", "N2")
        + paragraph("Keys", "N2")
        + paragraph("Preface", "N1", '<w:numPr><w:numId w:val="0"/></w:numPr>')
        + paragraph("Fees", "N1")
    )
    draft = read(
        make(
            tmp_path / "a",
            body,
            styles=styles,
            parts={"word/numbering.xml": f'<w:numbering xmlns:w="{W}">{abstract}{NUM}</w:numbering>'},
            related={"n": ("numbering", "numbering.xml")},
        )
    )
    assert [(block.kind, block.level, block.marker, block.text) for block in draft.blocks] == [
        (BlockKind.HEADING, 1, "1", "Scope"),
        (BlockKind.HEADING, 2, "1.1", "Rooms"),
        (BlockKind.HEADING, 2, "1.2", "Keys"),
        (BlockKind.HEADING, 1, None, "Preface"),
        (BlockKind.HEADING, 1, "2", "Fees"),
    ]


@pytest.mark.parametrize(
    ("count", "number_format", "shown"),
    [
        (28, "lowerLetter", "bb"),
        (3, "upperLetter", "C"),
        (1994, "upperRoman", "MCMXCIV"),
        (4, "lowerRoman", "iv"),
        (7, "decimalZero", "07"),
        (22, "ordinal", "22nd"),
        (12, "ordinal", "12th"),
        (3, "russianLower", "в"),
        (23, "chineseCounting", "二十三"),
        (2, "decimalEnclosedCircle", "②"),
        (0, "upperRoman", "0"),
    ],
)
def test_number_formats(count: int, number_format: str, shown: str) -> None:
    assert formatted(count, number_format)[0] == shown


def test_unknown_format_is_shown_as_decimal_and_said(tmp_path: Path) -> None:
    abstract = f'<w:abstractNum w:abstractNumId="0">{level(0, "hebrew1", "%1.")}</w:abstractNum>'
    assert markers(tmp_path, abstract, NUM, [(1, 0)]) == ["1."]
    assert read(tmp_path / "a").warnings == ["number_format_approximated"]
