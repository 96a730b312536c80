"""Binary Word documents: what a reader sees and what hides, from files written by code."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from streams.errors import DocumentError
from streams.extract.doc_fib import Part
from streams.records import CanonBody
from tests.unit.extract.doc_files import (
    BOLD,
    DELETED,
    HIDDEN,
    IN_TABLE,
    INSERTED,
    KIND,
    SPECIAL,
    Doc,
    P,
    cell,
    level,
    listed,
    lists,
    plc,
    row,
    row_end,
    styles,
    summary,
)
from tests.unit.extract.drafts import canon, kinds
from tests.unit.extract.ppt_files import atom, box, described
from tests.unit.extract.test_graph_charts import COSTS

CORPUS = Path(__file__).parents[4] / "shared" / "corpus" / "files"


def read(folder: Path, *body: P, **more: object) -> CanonBody:
    """The canon of a document with this body."""
    stories = {"body": body, **more.pop("stories", {})}  # type: ignore[dict-item]
    return canon(folder, Doc(stories=stories, **more).data(), KIND)  # type: ignore[arg-type]


# --- characters ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("narrow", [False, True])
def test_characters(tmp_path: Path, narrow: bool) -> None:
    """Pieces of two bytes are UTF-16, of one byte Windows' Western code page."""
    body = read(tmp_path, P("Café costs 5 €."), P("A\x0bb\x1ec"), narrow=narrow)
    assert kinds(body) == [("paragraph", "Café costs 5 €."), ("paragraph", "A\nb\u2011c")]
    assert body.warnings == []


def test_pair_is_one_sign(tmp_path: Path) -> None:
    """A sign beyond the first plane takes two characters, and what hangs behind it hangs where it is."""
    body = read(
        tmp_path,
        P([("\U0001f600 one", b""), ("\x02", SPECIAL)]),
        stories={"footnotes": [P([("\x02", SPECIAL), ("note", b"")])]},
        parts={
            Part.FOOTNOTE_REFERENCES: plc([6, 8], [b"\1\0"]),
            Part.FOOTNOTE_TEXTS: plc([0, 6, 7]),
        },
    )
    assert kinds(body) == [("paragraph", "\U0001f600 one"), ("footnote", "note")]


def test_fast_saved_pieces(tmp_path: Path) -> None:
    """Pieces are read in the order of the text, not of the file."""
    body = read(tmp_path, P("second"), P("first"), pieces=[(7, 13), (0, 7)])
    assert [block.text for block in body.blocks] == ["first", "second"]


def test_piece_properties(tmp_path: Path) -> None:
    body = read(tmp_path, P("seen"), P("gone"), pieces=[(0, 5), (5, 10)], piece_changes={1: HIDDEN})
    assert [(block.text, block.hidden) for block in body.blocks] == [("seen", False), ("gone", True)]
    assert body.warnings == ["hidden_text"]


def test_hidden_and_revised(tmp_path: Path) -> None:
    """The accepted view: what was inserted counts, what was deleted does not; hidden text is kept and marked."""
    body = read(
        tmp_path,
        P([("The ", b""), ("new ", INSERTED), ("old ", DELETED), ("price", b""), ("secret", HIDDEN)]),
        P("one ", mark_look=DELETED),
        P("line"),
    )
    assert [(block.text, block.hidden) for block in body.blocks] == [
        ("The new price", False),
        ("secret", True),
        ("one line", False),
    ]
    assert set(body.warnings) == {"tracked_changes", "hidden_text"}
    assert body.metadata["inserted_revisions"] == "1"
    assert body.metadata["deleted_revisions"] == "2"


def test_symbol(tmp_path: Path) -> None:
    fonts = struct.pack("<HH", 1, 0) + bytes([39 + 20]) + b"\0" * 39 + "Wingdings\0".encode("utf-16-le")
    sprm = struct.pack("<HHH", 0x6A09, 0, 0xF0FC) + SPECIAL
    body = read(tmp_path, P([("(", sprm), (" done (all)", b"")]), parts={Part.FONTS: fonts})
    assert body.blocks[0].text == "✓ done (all)"


@pytest.mark.parametrize(
    ("instruction", "result", "text", "links"),
    [
        (' HYPERLINK "https://x.example/a" ', "here", "see here", [("here", "https://x.example/a")]),
        (" DATE ", "1 May", "see 1 May", []),
        (' XE "index" ', None, "see", []),
    ],
)
def test_fields(tmp_path: Path, instruction: str, result: str | None, text: str, links: list[tuple[str, str]]) -> None:
    """Of a field its result is shown, not its instruction."""
    middle = "" if result is None else f"\x14{result}"
    body = read(tmp_path, P(f"see \x13{instruction}{middle}\x15"))
    assert body.blocks[0].text == text
    assert [(link.text, link.target) for link in body.blocks[0].links] == links


@pytest.mark.parametrize("text", ["\x13 lost begin", "lost end\x15", "a\x14b", "\x15\x13 x \x13 y \x14 z\x15"])
def test_half_fields_hide_nothing(tmp_path: Path, text: str) -> None:
    shown = " ".join(block.text for block in read(tmp_path, P(text), P("after")).blocks)
    assert "after" in shown
    assert any(word in shown for word in ("begin", "end", "ab", "z"))


# --- structure -------------------------------------------------------------------------------------------------------


def test_headings(tmp_path: Path) -> None:
    """By the built-in number of a style, whatever its name; by an outline level; inherited ones, too."""
    sheet = styles(
        (0, 1, "Standard", 0xFFF, b"", b""),
        (1, 1, "Überschrift 1", 0, b"", BOLD),
        (0xFFE, 1, "Kapitel", 1, b"", b""),
        (0xFFE, 1, "Teil", 0, struct.pack("<HB", 0x2640, 2), b""),
        (62, 1, "Titel", 0, b"", b""),
    )
    body = read(
        tmp_path,
        P("Report", style=4),
        P("One", style=1),
        P("Two", style=2),
        P("Three", style=3),
        P("Text"),
        P("Four", struct.pack("<HB", 0x2640, 1)),
        parts={Part.STYLES: sheet},
    )
    assert [(block.kind.value, block.level, block.text) for block in body.blocks] == [
        ("title", None, "Report"),
        ("heading", 1, "One"),
        ("heading", 1, "Two"),
        ("heading", 3, "Three"),
        ("paragraph", None, "Text"),
        ("heading", 2, "Four"),
    ]
    assert body.title == "Report"


def test_style_that_hides(tmp_path: Path) -> None:
    """A paragraph style or a character style can hide; a run can show itself again."""
    sheet = styles(
        (0, 1, "Normal", 0xFFF, b"", b""), (0xFFE, 1, "Ghost", 0, b"", HIDDEN), (0xFFE, 2, "Veil", 0xFFF, b"", HIDDEN)
    )
    body = read(
        tmp_path,
        P([("a", b""), ("b", struct.pack("<HB", 0x083C, 0x81))], style=1),
        P([("c", b""), ("d", struct.pack("<HH", 0x4A30, 2))]),
        parts={Part.STYLES: sheet},
    )
    assert [(block.text, block.hidden) for block in body.blocks] == [
        ("b", False),
        ("a", True),
        ("c", False),
        ("d", True),
    ]


def test_lists(tmp_path: Path) -> None:
    """Word stores rules, no numbers: levels count, restart and show each other."""
    parts = lists(7, [level(1, 0, "\0."), level(1, 4, "\0.\1)"), level(1, 23, "\uf0b7")])
    body = read(
        tmp_path,
        P("one", listed(1)),
        P("two", listed(1)),
        P("a", listed(1, 1)),
        P("b", listed(1, 1)),
        P("dot", listed(1, 2)),
        P("three", listed(1)),
        P("a again", listed(1, 1)),
        P("none", listed(0)),
        parts=parts,
    )
    assert [(block.kind.value, block.level, block.marker) for block in body.blocks] == [
        ("list_item", 1, "1."),
        ("list_item", 1, "2."),
        ("list_item", 2, "2.a)"),
        ("list_item", 2, "2.b)"),
        ("list_item", 3, "•"),
        ("list_item", 1, "3."),
        ("list_item", 2, "3.a)"),
        ("paragraph", None, None),
    ]


def test_table(tmp_path: Path) -> None:
    """Cells by their edges: one over two columns, one over two rows, and a header that repeats."""
    body = read(
        tmp_path,
        P("before"),
        cell("Item"),
        cell("Price"),
        row_end(row(0, 2000, 6000, header=True)),
        cell("Crane"),
        P("5", IN_TABLE),
        cell("net"),
        cell("6"),
        row_end(row(0, 2000, 4000, 6000, cells=[3 << 5, 0, 0])),
        cell(""),
        cell("7"),
        cell("8"),
        row_end(row(0, 2000, 4000, 6000, cells=[1 << 5, 0, 0])),
        P("after"),
    )
    assert [block.kind.value for block in body.blocks] == ["paragraph", "table", "paragraph"]
    table = body.tables[0]
    assert (table.n_rows, table.n_cols, table.header_rows) == (3, 3, 1)
    assert [(c.row, c.col, c.row_span, c.col_span, c.text) for c in table.cells] == [
        (0, 0, 1, 1, "Item"),
        (0, 1, 1, 2, "Price"),
        (1, 0, 2, 1, "Crane"),
        (1, 1, 1, 1, "5\nnet"),
        (1, 2, 1, 1, "6"),
        (2, 1, 1, 1, "7"),
        (2, 2, 1, 1, "8"),
    ]


def test_table_in_table(tmp_path: Path) -> None:
    deep = IN_TABLE + struct.pack("<HI", 0x6649, 2)
    inner_cell = deep + struct.pack("<HB", 0x244B, 1)
    inner_row = deep + struct.pack("<HB", 0x244C, 1) + row(0, 500, 1000)[6:]
    body = read(
        tmp_path,
        cell("A"),
        P("1", inner_cell),
        P("2", inner_cell),
        P([], inner_row),
        cell("B"),
        row_end(row(0, 2000, 4000)),
    )
    assert [[c.text for c in table.cells] for table in body.tables] == [["A", "B"], ["1", "2"]]


def test_row_that_lacks_a_cell(tmp_path: Path) -> None:
    """Rows of one definition need not have the same number of cells."""
    end = row_end(row(0, 1000, 2000, 3000))
    body = read(tmp_path, cell("a"), cell("b"), end, cell("c"), cell("d"), cell("e"), end)
    assert [(c.row, c.col, c.text) for c in body.tables[0].cells] == [
        (0, 0, "a"),
        (0, 1, "b"),
        (1, 0, "c"),
        (1, 1, "d"),
        (1, 2, "e"),
    ]


def test_cell_marks_without_table(tmp_path: Path) -> None:
    """Where the properties are gone, the words are not."""
    body = read(tmp_path, P("a", mark="\x07"), P("b", mark="\x07"))
    assert [block.text for block in body.blocks] == ["a", "b"]


# --- what hangs on the text ------------------------------------------------------------------------------------------


def test_notes_and_comments(tmp_path: Path) -> None:
    comment = struct.pack("<H", 1) + "A\0".encode("utf-16-le") + b"\0" * 14 + struct.pack("<H", 0) + b"\0" * 8
    body = read(
        tmp_path,
        P([("one", b""), ("\x02", SPECIAL), (" two*", b""), ("\x05", SPECIAL)]),
        stories={
            "footnotes": [P([("\x02", SPECIAL), (" first", b"")]), P("* second")],
            "comments": [P([("\x05", SPECIAL), ("Why?", b"")])],
            "endnotes": [P([("\x02", SPECIAL), ("end", b"")])],
        },
        parts={
            Part.FOOTNOTE_REFERENCES: plc([3, 8, 10], [b"\1\0", b"\0\0"]),
            Part.FOOTNOTE_TEXTS: plc([0, 8, 17, 18]),
            Part.COMMENT_REFERENCES: plc([9, 10], [comment[:30]]),
            Part.COMMENT_TEXTS: plc([0, 6, 7]),
            Part.COMMENT_AUTHORS: struct.pack("<H", 3) + "Ada".encode("utf-16-le"),
            Part.ENDNOTE_REFERENCES: plc([3, 10], [b"\1\0"]),
            Part.ENDNOTE_TEXTS: plc([0, 5, 6]),
        },
    )
    assert [(b.kind.value, b.text, b.marker) for b in body.blocks] == [
        ("paragraph", "one two*", None),
        ("footnote", "first", "1"),
        ("footnote", "* second", None),
        ("comment", "Ada: Why?", None),
        ("footnote", "end", "i"),
    ]
    assert {block.ref for block in body.blocks[1:]} == {body.blocks[0].id}


def test_headers_and_footers(tmp_path: Path) -> None:
    """Each distinct text once, as furniture: before the body and after it; a lone page number is one."""
    headers = [P("Crane Ltd"), P([("\x13 PAGE \x142\x15", b"")]), P("Crane Ltd")]
    # six separators, then even and odd header, even and odd footer, first header and footer
    positions = [0] * 6 + [0, 0, 10, 10, 20, 30, 30, 31]
    body = read(tmp_path, P("Body"), stories={"headers": headers}, parts={Part.HEADERS: plc(positions)})
    assert kinds(body) == [("page_header", "Crane Ltd"), ("paragraph", "Body"), ("page_number", "2")]


def test_boxes(tmp_path: Path) -> None:
    """A box stands where its shape is anchored; one whose shape is not found at the end."""
    entry = struct.pack("<IIHI", 0, 0, 0, 0)
    body = read(
        tmp_path,
        P([("one", b""), ("\x08", SPECIAL)]),
        P("two"),
        stories={"boxes": [P("anchored"), P("lost")]},
        parts={
            Part.SHAPES: plc([3, 9], [struct.pack("<I", 77) + b"\0" * 22]),
            Part.BOXES: plc([0, 9, 14], [entry + struct.pack("<II", 77, 0), entry + struct.pack("<II", 5, 0)]),
        },
    )
    assert [block.text for block in body.blocks] == ["one", "anchored", "two", "lost"]


def test_check_box(tmp_path: Path) -> None:
    name = struct.pack("<H", 0) + b"\0\0"
    form = b"\xff\xff\xff\xff" + struct.pack("<HHH", 1 | 1 << 2, 0, 0) + name + struct.pack("<H", 0)
    data = b"\0" * 8 + struct.pack("<IH", 68 + len(form), 68) + b"\0" * 62 + form
    picture = struct.pack("<HI", 0x6A03, 8) + struct.pack("<HB", 0x0806, 1)
    body = read(
        tmp_path, P([("Yes \x13 FORMCHECKBOX ", b""), ("\x01", picture), ("\x15", b"")]), streams={"Data": data}
    )
    assert body.blocks[0].text == "Yes ☒"


def test_properties(tmp_path: Path) -> None:
    stream = summary({2: "Lease", 4: "Ada; Bo", 12: 131_000_000_000_000_000, 3: "rooms"})
    body = read(tmp_path, P("Text"), streams={"\x05SummaryInformation": stream})
    assert (body.title, body.authors, body.created) == ("Lease", ["Ada", "Bo"], "2016-02-15T08:53:20Z")
    assert body.metadata["subject"] == "rooms"


# --- older, locked, damaged ------------------------------------------------------------------------------------------


def test_word_6(tmp_path: Path) -> None:
    """One table of bytes, in the code page of the language; sprms of one byte."""
    body = read(
        tmp_path,
        P([("Привет ", b""), ("тайна", bytes([92, 1]))]),
        P("A", bytes([24, 1]), mark="\x07"),
        P("B", bytes([24, 1]), mark="\x07"),
        P([], bytes([24, 1, 25, 1, 190]) + struct.pack("<HB3h", 8, 2, 0, 2000, 4000), mark="\x07"),
        old=True,
        language=0x419,
        codec="cp1251",
    )
    assert [(block.kind.value, block.text, block.hidden) for block in body.blocks] == [
        ("paragraph", "Привет", False),
        ("paragraph", "тайна", True),
        ("table", "A\tB", False),
    ]


@pytest.mark.parametrize("old", [False, True])
def test_encrypted(tmp_path: Path, old: bool) -> None:
    with pytest.raises(DocumentError) as error:
        read(tmp_path, P("Text"), flags=0x0100, old=old)
    assert error.value.problem == "encrypted"


@pytest.mark.parametrize(
    ("name", "phrase"),
    [
        ("legacy/word6.doc", "The quick brown fox jumps over the lazy dog"),
        ("legacy/header-footer-unicode.doc", "Molière"),
        ("legacy/german-headings.doc", "Problem mit lokalisierten Dokumenten"),
    ],
)
def test_real_files(tmp_path: Path, name: str, phrase: str) -> None:
    path = CORPUS / name
    if not path.exists():
        pytest.skip("the corpus is not there")
    assert phrase in "\n".join(block.text for block in canon(tmp_path, path.read_bytes(), KIND).blocks)


# --- pictures and charts ---------------------------------------------------------------------------------------------


def test_alternative_text(tmp_path: Path) -> None:
    """Of a picture in the line it stands in the stream Data, of one that floats with its shape."""
    shape = box(0xF004, atom(0xF00A, struct.pack("<II", 1026, 0)), described("a crane"))
    inline = struct.pack("<IHH", 0x44 + len(shape), 0x44, 0x64) + bytes(0x3C) + shape
    picture = SPECIAL + struct.pack("<HI", 0x6A03, 16)
    drawings = box(0xF000) + b"\0" + box(0xF002, box(0xF003, shape.replace(b"c\0r\0a\0n\0e", b"b\0a\0r\0g\0e")))
    body = read(
        tmp_path,
        P([("See ", b""), ("\x01", picture), (" and ", b""), ("\x08", SPECIAL)]),
        streams={"Data": bytes(16) + inline},
        parts={Part.SHAPES: plc([10, 11], [struct.pack("<I", 1026) + bytes(22)]), Part.DRAWINGS: drawings},
    )
    assert kinds(body) == [("paragraph", "See  and"), ("figure", "a crane"), ("figure", "a barge")]


def test_charts(tmp_path: Path) -> None:
    """The chart that an EMBED field shows, with its values; an object that is none stays a figure that is not read."""
    shown, other = (struct.pack("<HB", 0x0856, 1) + struct.pack("<HI", 0x6A03, number) for number in (17, 18))
    field = [("\x13 EMBED MSGraph.Chart.8 ", b""), ("\x14", shown), ("\x01", SPECIAL), ("\x15", b"")]
    sheet = [("\x13 EMBED Excel.Sheet.8 ", b""), ("\x14", other), ("\x01", SPECIAL), ("\x15", b"")]
    pool = {"_17": {"Workbook": COSTS}, "_18": {"Workbook": b"x"}, "strange": {"Workbook": COSTS}}
    body = read(tmp_path, P([("Costs:", b""), *field]), P(sheet), streams={"ObjectPool": pool})
    assert [(b.kind.value, b.text) for b in body.blocks] == [
        ("paragraph", "Costs:"),
        ("figure", "Costs\nEuro"),
        ("table", "\tGröße\tShare\nKiel\t41\t12.50%\nUlm\t43.5\t1998-07-24"),
        ("figure", ""),
    ]
    assert body.blocks[2].ref == body.blocks[1].id
    assert body.tables[0].caption == "Costs"
    assert body.warnings == ["embedded_not_read"]
