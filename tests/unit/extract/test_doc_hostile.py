"""Binary Word documents and presentations that lie: bounded, and never an empty success."""

from __future__ import annotations

import struct
import time
from pathlib import Path

import pytest

from streams.errors import DocumentError
from streams.extract.doc_fib import Part
from tests.unit.decode.unpack.compounds import compound
from tests.unit.extract import ppt_files
from tests.unit.extract.doc_files import HIDDEN, KIND, SPECIAL, Doc, P, cell, plc, row, row_end
from tests.unit.extract.drafts import canon

SECONDS = 5.0
"""CPU seconds for one file of a few hundred kilobytes; they take well below one."""


def pieces(*entries: tuple[int, int, int]) -> bytes:
    """A table of pieces: first character, the one after the last, and offset; two bytes a character."""
    table = plc(
        [entries[0][0], *(end for _, end, _ in entries)], [struct.pack("<HIH", 0, at, 0) for _, _, at in entries]
    )
    return b"\x02" + struct.pack("<I", len(table)) + table


def test_pieces_that_repeat_the_same_bytes(tmp_path: Path) -> None:
    """A file does not grow: there are never more characters than bytes."""
    many = [(number * 1000, number * 1000 + 1000, 0x800) for number in range(2000)]
    stories = {"body": [P("word " * 400)]}
    start = time.process_time()
    body = canon(tmp_path, Doc(stories, parts={Part.PIECES: pieces(*many)}).data(), KIND)
    assert time.process_time() - start < SECONDS
    assert sum(len(block.text) for block in body.blocks) < 20_000
    assert "truncated" in body.warnings


@pytest.mark.parametrize(
    "table", [pieces((0, 5, 0x7FFFFF00)), pieces((5, 2, 0x800)), b"\x02\xff\xff\xff\xff" + plc([7, 3], [b"\0" * 8])]
)
def test_pieces_that_are_not_there(tmp_path: Path, table: bytes) -> None:
    """Nothing at all is no success."""
    with pytest.raises(DocumentError) as error:
        canon(tmp_path, Doc({"body": [P("words")]}, parts={Part.PIECES: table}).data(), KIND)
    assert error.value.problem == "truncated"


def test_cut_off_text(tmp_path: Path) -> None:
    """The text ends where the stream does."""
    body = canon(tmp_path, Doc({"body": [P("words")]}, parts={Part.PIECES: pieces((0, 100_000, 0x800))}).data(), KIND)
    assert body.blocks[0].text == "words"
    assert "truncated" in body.warnings


def test_huge_counts(tmp_path: Path) -> None:
    """Lists, styles and tables whose counts are beyond the file."""
    parts = {
        Part.STYLES: struct.pack("<HHH", 4, 0xFFFF, 10) + b"\xff" * 40,
        Part.FONTS: b"\xff\xff\0\0" + b"\1" * 4000,
        Part.LISTS: b"\xff\xff" + b"\0" * 400,
        Part.LIST_OVERRIDES: b"\xff\xff\xff\x7f" + b"\xff" * 400,
        Part.COMMENT_AUTHORS: b"\0\0" * 100_000,
        Part.HEADERS: plc(list(range(50_000))),
    }
    end = row(0, 1000)
    end = end.replace(struct.pack("<HH", 0xD608, 24), struct.pack("<HH", 0xD608, 24)[:2] + b"\xff\x7f")
    start = time.process_time()
    body = canon(tmp_path, Doc({"body": [P("words"), cell("x"), row_end(end)]}, parts=parts).data(), KIND)
    assert time.process_time() - start < SECONDS
    assert body.blocks[0].text == "words"


def test_styles_in_a_circle(tmp_path: Path) -> None:
    from tests.unit.extract.doc_files import styles

    sheet = styles((0xFFE, 1, "A", 1, b"", HIDDEN), (0xFFE, 1, "B", 0, b"", b""))
    body = canon(tmp_path, Doc({"body": [P("words", style=1)]}, parts={Part.STYLES: sheet}).data(), KIND)
    assert body.blocks[0].text == "words"


def test_boxes_that_hold_themselves(tmp_path: Path) -> None:
    """Notes and boxes hang on the body only, so none can be inside itself."""
    doc = Doc(
        {"body": [P([("one", b""), ("\x02", SPECIAL)])], "footnotes": [P([("x", b""), ("\x02", SPECIAL)])]},
        parts={
            Part.FOOTNOTE_REFERENCES: plc([3, 6, 9], [b"\1\0", b"\1\0"]),
            Part.FOOTNOTE_TEXTS: plc([0, 3, 3]),
        },
    )
    body = canon(tmp_path, doc.data(), KIND)
    assert [block.text for block in body.blocks] == ["one", "x"]


def test_many_fields(tmp_path: Path) -> None:
    """Fields in fields, deeper than any document's."""
    start = time.process_time()
    body = canon(tmp_path, Doc({"body": [P("\x13\x14a" * 20_000 + "\x15" * 20_000), P("after")]}).data(), KIND)
    assert time.process_time() - start < SECONDS
    assert body.blocks[-1].text == "after"


@pytest.mark.parametrize("cut", [100, 600, 1500, 3000])
def test_cut_off_files(tmp_path: Path, cut: int) -> None:
    data = Doc({"body": [P("words")]}).data()
    with pytest.raises(DocumentError) as error:
        canon(tmp_path, data[:cut], KIND)
    assert error.value.problem in ("corrupt", "truncated")


def test_short_streams(tmp_path: Path) -> None:
    for size in (0, 10, 100):
        with pytest.raises(DocumentError) as error:
            canon(tmp_path, compound({"WordDocument": b"\xec\xa5\xc1\0".ljust(100, b"\0")[:size]}), KIND)
        assert error.value.problem in ("corrupt", "truncated")


# --- presentations ---------------------------------------------------------------------------------------------------


def test_groups_in_groups(tmp_path: Path) -> None:
    """Records nest as deep as the file likes; what is deeper than any drawing is not followed."""
    inner = ppt_files.shape(ppt_files.text("deep"))
    for _ in range(2000):
        inner = ppt_files.group((0, 0, 100, 100), (0, 0, 100, 100), inner)
    slide = ppt_files.Slide([ppt_files.shape(ppt_files.text("top"), at=(0, 3000, 100, 3100)), inner])
    start = time.process_time()
    body = canon(tmp_path, ppt_files.Deck([slide]).data(), ppt_files.KIND)
    assert time.process_time() - start < SECONDS
    assert "top" in [block.text for block in body.blocks]


def test_edits_in_a_circle(tmp_path: Path) -> None:
    """An edit that names itself as the one before."""
    edit = ppt_files.atom(0x0FF5, struct.pack("<IIIIIIHH", 0, 0, 8, 0, 1, 100, 0, 0))
    user = ppt_files.atom(0x0FF6, struct.pack("<III", 0x14, 0xE391C05F, 8) + b"\0" * 8)
    data = compound({"PowerPoint Document": b"\0" * 8 + edit, "Current User": user})
    with pytest.raises(DocumentError) as error:
        canon(tmp_path, data, ppt_files.KIND)
    assert error.value.problem == "corrupt"


def test_one_slide_listed_often(tmp_path: Path) -> None:
    """A list can't show one slide a thousand times."""
    deck = ppt_files.Deck([ppt_files.Slide([ppt_files.shape(ppt_files.text("word " * 1000))])])
    listed = ppt_files.atom(0x03F3, struct.pack("<5I", 2, 0, 0, 256, 0)) * 1000
    deck.document = ppt_files.box(0x0FF0, listed)
    body = canon(tmp_path, deck.data(), ppt_files.KIND)
    assert body.page_count == 1
