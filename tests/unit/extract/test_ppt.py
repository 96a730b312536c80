"""Binary presentations: slides, notes and what hides, from files written by code."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from streams.errors import DocumentError
from streams.records import CanonBody
from tests.unit.decode.unpack.compounds import compound
from tests.unit.extract.drafts import canon, kinds
from tests.unit.extract.ppt_files import (
    BODY,
    KIND,
    NOTES,
    OTHER,
    TITLE,
    Deck,
    Slide,
    atom,
    box,
    described,
    group,
    numbering_atom,
    numberings,
    shape,
    style,
    tags,
    text,
)
from tests.unit.extract.test_graph_charts import COSTS


def read(folder: Path, *slides: Slide, **more: object) -> CanonBody:
    """The canon of a presentation of these slides."""
    return canon(folder, Deck(slides, **more).data(), KIND)  # type: ignore[arg-type]


def test_slides(tmp_path: Path) -> None:
    """Each slide a page; the title a heading, wherever it stands; bodies as lists with levels; order as it stands."""
    first = Slide(
        [
            shape(text("low", OTHER), at=(0, 3000, 800, 3400)),
            shape(text("One\rDeep\rPlain", BODY, style((4, 0, None), (5, 1, 1), (6, 0, 0))), at=(0, 1000, 800, 2000)),
            shape(text("Crane\x0bplan", TITLE, narrow=True), at=(0, 0, 800, 400)),
        ]
    )
    second = Slide([shape(text("No title", OTHER))])
    body = read(tmp_path, first, second)
    assert [(b.kind.value, b.text, b.level, b.marker, b.page) for b in body.blocks] == [
        ("heading", "Crane plan", 1, None, 1),
        ("list_item", "One", 1, "•", 1),
        ("list_item", "Deep", 2, "•", 1),
        ("paragraph", "Plain", None, None, 1),
        ("paragraph", "low", None, None, 1),
        ("heading", "Slide 2", 1, None, 2),
        ("paragraph", "No title", None, None, 2),
    ]
    assert body.title == "Crane plan"
    assert (body.page_count, body.pages[0].width, body.pages[0].height) == (2, 720.0, 540.0)
    assert body.blocks[1].bbox == (0.0, 125.0, 100.0, 250.0)


def test_listed_texts(tmp_path: Path) -> None:
    """Texts of placeholders stand in the document's list; one that no shape shows is not lost."""
    reference = atom(0x0F9E, struct.pack("<I", 1))
    slide = Slide([shape(reference)], listed=text("Title", TITLE) + text("Shown", OTHER) + text("Orphan", OTHER))
    assert kinds(read(tmp_path, slide)) == [
        ("heading", "Slide 1"),
        ("paragraph", "Shown"),
        ("paragraph", "Title"),
        ("paragraph", "Orphan"),
    ]


def test_notes_and_hidden_slides(tmp_path: Path) -> None:
    body = read(
        tmp_path,
        Slide([shape(text("A", TITLE))], notes=[shape(text("Say this.\rAnd this.", NOTES), placeholder=0x0C)]),
        Slide([shape(text("B", TITLE)), shape(text("b", OTHER))], hidden=True),
    )
    assert kinds(body) == [
        ("heading", "A"),
        ("footnote", "Say this.\nAnd this."),
        ("heading", "B"),
        ("metadata", "Hidden slide"),
        ("paragraph", "b"),
    ]
    assert body.blocks[1].marker == "Notes"
    assert body.blocks[1].ref == body.blocks[0].id
    assert body.warnings == ["hidden_slides"]
    assert body.metadata["hidden_slides"] == "2"


def test_furniture(tmp_path: Path) -> None:
    """Footers are furniture, each text once; the sign for the slide's number shows the number."""
    number = text("*", OTHER, atom(0x0FD8, struct.pack("<I", 0)))
    slides = [Slide([shape(text("T", TITLE)), shape(number, placeholder=8, at=(0, 4000, 100, 4100))]) for _ in range(2)]
    headers = box(
        0x0FD9, atom(0x0FDA, struct.pack("<HH", 0, 32)), atom(0x0FBA, "Crane Ltd".encode("utf-16-le"), 2), instance=3
    )
    body = read(tmp_path, *slides, document=headers)
    assert kinds(body) == [
        ("heading", "T"),
        ("page_number", "1"),
        ("page_footer", "Crane Ltd"),
        ("heading", "T"),
        ("page_number", "2"),
    ]


def test_groups(tmp_path: Path) -> None:
    """Shapes in groups stand where the group puts them."""
    inside = group(
        (800, 0, 1600, 800),
        (0, 0, 100, 100),
        shape(text("right", OTHER), at=(50, 0, 100, 50), child=True),
        shape(text("left", OTHER), at=(0, 0, 50, 50), child=True),
    )
    body = read(tmp_path, Slide([inside, shape(text("first", OTHER), at=(0, 0, 700, 400))]))
    assert [block.text for block in body.blocks[1:]] == ["first", "left", "right"]
    assert body.blocks[3].bbox == (150.0, 0.0, 200.0, 50.0)


def test_table(tmp_path: Path) -> None:
    """A group that says it is a table is one; cells over several columns and rows by where they stand."""
    cells = [
        ((0, 0, 200, 50), "Prices"),
        ((0, 50, 100, 150), "Crane"),
        ((100, 50, 200, 100), "5"),
        ((100, 100, 200, 150), "6"),
    ]
    table = group(
        (0, 0, 1600, 1200),
        (0, 0, 200, 150),
        *(shape(text(words, OTHER), at=at, child=True) for at, words in cells),
        shape(at=(0, 50, 200, 50), child=True),  # a line between rows
        table=True,
    )
    body = read(tmp_path, Slide([table]))
    assert [(c.row, c.col, c.row_span, c.col_span, c.text) for c in body.tables[0].cells] == [
        (0, 0, 1, 2, "Prices"),
        (1, 0, 2, 1, "Crane"),
        (1, 1, 1, 1, "5"),
        (2, 1, 1, 1, "6"),
    ]
    assert body.tables[0].pages == [1]


def test_cells_on_each_other_are_no_table(tmp_path: Path) -> None:
    cells = [shape(text(words, OTHER), at=(0, 0, 100, 100), child=True) for words in ("a", "b")]
    body = read(tmp_path, Slide([group((0, 0, 800, 800), (0, 0, 100, 100), *cells, table=True)]))
    assert body.tables == []
    assert [block.text for block in body.blocks[1:]] == ["a", "b"]


def test_pictures_links_comments(tmp_path: Path) -> None:
    link = box(
        0x0409,
        box(
            0x0FD7,
            atom(0x0FD3, struct.pack("<I", 9)),
            atom(0x0FBA, "https://x.example/".encode("utf-16-le"), 1),
        ),
        box(0x0FCC),
    )
    clicked = box(0x0FF2, atom(0x0FF3, struct.pack("<II", 0, 9) + b"\0" * 8)) + atom(0x0FDF, struct.pack("<II", 4, 8))
    comment = box(
        0x1388,
        box(
            0x2EE0,
            atom(0x0FBA, "Ada".encode("utf-16-le"), 0),
            atom(0x0FBA, "Sure?".encode("utf-16-le"), 1),
        ),
    )
    slide = Slide(
        [
            shape(text("see here", OTHER, clicked)),
            shape(picture=True, properties=described("A crane"), at=(0, 900, 500, 1500)),
        ],
        more=comment,
    )
    body = read(tmp_path, slide, document=link)
    assert kinds(body)[1:] == [("paragraph", "see here"), ("figure", "A crane"), ("comment", "Ada: Sure?")]
    assert [(one.text, one.target) for one in body.blocks[1].links] == [("here", "https://x.example/")]
    assert body.warnings == ["embedded_not_read"]


def test_charts(tmp_path: Path) -> None:
    """A chart's titles and values on the slide that shows it; other objects are told."""
    deck = Deck(
        [Slide([shape(properties=described("costs of two depots"), picture=True, shown_object=3)])],
        objects={3: compound({"Workbook": COSTS}), 4: compound({"Workbook": b"x"}), 5: b"damaged"},
    )
    body = canon(tmp_path, deck.data(), KIND)
    assert [(b.kind.value, b.text, b.page) for b in body.blocks] == [
        ("heading", "Slide 1", 1),
        ("figure", "costs of two depots\nCosts\nEuro", 1),
        ("table", "\tGröße\tShare\nKiel\t41\t12.50%\nUlm\t43.5\t1998-07-24", 1),
    ]
    assert body.blocks[2].ref == body.blocks[1].id
    assert body.tables[0].pages == [1]
    assert body.warnings == ["embedded_not_read"]
    assert [(one.what, one.count) for one in body.dropped] == [("embedded_files", 2)]


def test_objects_that_are_unpacked_have_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streams.extract.ppt_objects.MAX_OBJECTS", 1)
    chart = compound({"Workbook": COSTS})
    deck = Deck([Slide([shape(picture=True, shown_object=4)])], objects={3: chart, 4: chart})
    body = canon(tmp_path, deck.data(), KIND)
    assert body.tables == []
    assert set(body.warnings) == {"chart_values_not_read", "embedded_not_read"}


def test_word_art(tmp_path: Path) -> None:
    """Letters that are drawn as a picture."""
    raw = "Sale!".encode("utf-16-le") + b"\0\0"
    letters = atom(0xF00B, struct.pack("<HI", 0x80C0, len(raw)) + raw, 1)
    assert kinds(read(tmp_path, Slide([shape(properties=letters)]))) == [("heading", "Slide 1"), ("figure", "Sale!")]


def test_automatic_numbers(tmp_path: Path) -> None:
    """A run of characters refers to the numbering of the paragraph that it begins; counting goes by level."""
    words = "one\rtwo\rdeep\rthree\rbullet\ragain"
    runs = [(8, 0, 1), (5, 1, 1), (6, 0, 1), (7, 0, 1), (6, 0, 1)]
    looks = [(8, 0, 1), (5, 0, 2), (6, 0, 1), (7, 0, 0), (6, 0, 1)]
    listed = shape(text(words, OTHER, style(*runs, looks=looks)), more=numberings(None, (3, 4), (4, 1)))
    body = read(tmp_path, Slide([listed]))
    assert [(b.marker, b.text) for b in body.blocks[1:]] == [
        ("4.", "one"), ("5.", "two"), ("(i)", "deep"), ("6.", "three"), ("•", "bullet"), ("4.", "again"),
    ]  # fmt: skip


def test_numbers_of_listed_texts(tmp_path: Path) -> None:
    """Those of texts in the document's list stand in its tags, by slide and type of text."""
    slide = Slide([shape(box(0x0F9E), at=(0, 0, 800, 400))], listed=text("one\rtwo", BODY))
    heads = [atom(0x0FAF, struct.pack("<II", number, BODY)) for number in (255, 256)]
    outline = atom(0x0FAE, heads[0] + numbering_atom((0, 1)) + heads[1] + numbering_atom((12, 1)))
    body = canon(tmp_path, Deck([slide], document=box(0x07D0, tags(outline))).data(), KIND)
    assert [(b.marker, b.text) for b in body.blocks[1:]] == [("(1)", "one"), ("(2)", "two")]


def test_damaged_numbers(tmp_path: Path) -> None:
    words, look = text("one", OTHER, style((4, 0, 1), looks=[(4, 0, 15)])), numberings((3, 1))
    assert read(tmp_path, Slide([shape(words, more=look)])).blocks[1].marker == "•"
    strange = text("one", OTHER, style((4, 0, 1), looks=[(4, 0, 0)]))
    for entries in (numberings((99, 7)), tags(atom(0x0FAC, b"\0\0\0\x03\1\0\x63\0\7\0"))):
        body = read(tmp_path, Slide([shape(strange, more=entries)]))
        assert (body.blocks[1].marker, body.warnings) == ("7.", ["number_format_approximated"])


def test_raised_and_lowered(tmp_path: Path) -> None:
    looks = [(2, 0, 0), (1, 30, 0), (8, 0, 0), (1, -25, 0), (2, 0, 0)]
    body = read(tmp_path, Slide([shape(text("106 m, CO H2O", OTHER, style((14, 0, None), looks=looks)))]))
    assert body.blocks[1].text == "10⁶ m, CO H₂O"


def test_symbol_fonts(tmp_path: Path) -> None:
    """Bullets and signs are told by the font that they are set in, which the document lists."""
    fonts = [
        atom(0x0FB7, name.encode("utf-16-le").ljust(64, b"\0") + bytes(4), number)
        for number, name in enumerate(("Arial", "Wingdings", "Symbol"))
    ]
    rule = struct.pack("<IHIHHH", 12, 0, 0x93, 3, 0xD8, 1)  # has a bullet and its font, the sign, the font
    plain = struct.pack("<IIH", 4, 0x10000, 0)
    symbols = struct.pack("<IIHH", 8, 0x810000, 0, 2)
    shown = text("of \uf0b375 y\uf0ff\uf01f", OTHER, atom(0x0FA1, rule + symbols + plain))
    deck = Deck([Slide([shape(shown)])], document=box(0x03F2, box(0x07D5, *fonts)))
    body = canon(tmp_path, deck.data(), KIND)
    assert (body.blocks[1].marker, body.blocks[1].text) == ("➢", "of ≥75 y\uf01f")
    assert [(one.what, one.count) for one in body.dropped] == [("unmapped_symbols", 1)]


def test_newest_edit_counts(tmp_path: Path) -> None:
    """What an earlier save left in the file is not shown."""
    body = read(tmp_path, Slide([shape(text("new", OTHER))]), older={0: Slide([shape(text("old", OTHER))])})
    assert [block.text for block in body.blocks] == ["Slide 1", "new"]


def test_damaged_way_to_the_document(tmp_path: Path) -> None:
    """Without the stream that names the newest edit, the last one in the file is taken, and that is said."""
    body = read(tmp_path, Slide([shape(text("still here", OTHER))]), streams={"Current User": b""})
    assert "still here" in [block.text for block in body.blocks]
    assert body.warnings == ["repaired"]


def test_silent_slide_has_no_heading(tmp_path: Path) -> None:
    body = read(tmp_path, Slide([shape(picture=True)]), Slide([shape(text("words", OTHER))]))
    assert kinds(body) == [("figure", ""), ("heading", "Slide 2"), ("paragraph", "words")]


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (Deck([Slide()], token=0xF3D1C4DF).data(), "encrypted"),
        (Deck([Slide()], streams={"EncryptedSummary": b"x"}).data(), "encrypted"),
        (compound({"PP40": b"x" * 100}), "unsupported_format"),
        (compound({"Other": b"x" * 100}), "corrupt"),
        (compound({"PowerPoint Document": b"x" * 100}), "corrupt"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "corrupt"),
    ],
)
def test_what_can_not_be_read(tmp_path: Path, data: bytes, problem: str) -> None:
    with pytest.raises(DocumentError) as error:
        canon(tmp_path, data, KIND)
    assert error.value.problem == problem


def test_powerpoint_95(tmp_path: Path) -> None:
    """Its words stand in a stream of their own."""
    body = canon(tmp_path, compound({"Text_Content": b"Title\r\rOne\rTwo", "PowerPoint Document": b"x"}), KIND)
    assert [block.text for block in body.blocks] == ["Title", "One", "Two"]
    assert body.warnings == ["formatting_not_read"]
