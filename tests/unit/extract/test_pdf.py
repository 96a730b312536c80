"""PDF with a text layer: what is text, what is none, and what kind each block is."""

from __future__ import annotations

import random
import time
import tracemalloc
from pathlib import Path

import pymupdf
import pytest

from streams.errors import DocumentError
from streams.records import BlockKind, BlockSource, Method
from tests.unit.extract.pdf_files import Maker, run, texts

PROSE = (
    "The canal was dug by hand in nine years and most of the",
    "diggers came from the hills and lived in huts along the",
    "bank until the water was let in and the boats arrived.",
)
LEFT = (
    "Bees leave the hive when the",
    "sun warms the entrance board",
    "and return before the evening.",
    "On cold days they stay inside",
)
RIGHT = (
    "Wasps live for one summer only",
    "and their old nest stays empty",
    "under the roof for many years.",
    "Only young queens survive that",
)


def test_lines_become_one_paragraph(tmp_path: Path) -> None:
    draft = run(tmp_path, Maker().new_page().lines(72, 100, PROSE))
    assert texts(draft, BlockKind.PARAGRAPH) == [" ".join(PROSE)]
    block = draft.blocks[0]
    assert block.page == 1
    assert block.source is BlockSource.TEXT_LAYER
    assert block.bbox is not None
    assert block.bbox[0] == pytest.approx(72, abs=1)
    assert 85 < block.bbox[1] < 100
    assert draft.pages[0].characters == sum(len(line.replace(" ", "")) for line in PROSE)
    assert draft.method is Method.NATIVE
    assert draft.page_count == 1


def test_gap_divides_paragraphs(tmp_path: Path) -> None:
    draft = run(tmp_path, Maker().new_page().lines(72, 100, PROSE).lines(72, 180, PROSE))
    assert texts(draft, BlockKind.PARAGRAPH) == [" ".join(PROSE)] * 2


def test_columns_are_read_one_after_the_other(tmp_path: Path) -> None:
    """The content alternates between the columns, and the gaps between paragraphs are at the same height."""
    maker = Maker().new_page().text(72, 70, "Bees and wasps in the cold season", 18)
    for y in (110, 200):
        for index in range(4):
            maker.text(72, y + 14 * index, LEFT[index]).text(320, y + 14 * index, RIGHT[index])
    draft = run(tmp_path, maker)
    assert [block.text for block in draft.blocks][1:] == [" ".join(LEFT)] * 2 + [" ".join(RIGHT)] * 2


def test_full_width_text_divides_columns(tmp_path: Path) -> None:
    wide = "This line goes over the whole width of the page and belongs to neither of the columns."
    maker = Maker().new_page()
    for y in (110, 260):
        for index in range(4):
            maker.text(72, y + 14 * index, LEFT[index]).text(320, y + 14 * index, RIGHT[index])
    maker.text(72, 210, wide)
    text = "\n".join(block.text for block in run(tmp_path, maker).blocks)
    assert text == "\n".join([" ".join(LEFT), " ".join(RIGHT), wide, " ".join(LEFT), " ".join(RIGHT)])


def test_hyphens_at_line_ends(tmp_path: Path) -> None:
    lines = (
        "We have measured the speed of the trans-",
        "lation with a well-known just-in-time com-",
        "piler, and again with the other just-in-",
        "time method of Smith-",
        "Jones from the north.",
    )
    assert texts(run(tmp_path, Maker().new_page().lines(72, 100, lines)), BlockKind.PARAGRAPH) == [
        "We have measured the speed of the translation with a well-known just-in-time compiler, "
        "and again with the other just-in-time method of Smith- Jones from the north."
    ]


def test_paragraph_goes_on_in_the_next_column(tmp_path: Path) -> None:
    maker = Maker().new_page()
    for index in range(4):
        maker.text(72, 110 + 14 * index, LEFT[index])
        maker.text(320, 110 + 14 * index, ("because of the wind " + RIGHT[index])[:30] if index == 0 else RIGHT[index])
    draft = run(tmp_path, maker)
    assert len(draft.blocks) == 1
    assert "On cold days they stay inside because of the wind" in draft.blocks[0].text


def test_headings_by_size_and_weight(tmp_path: Path) -> None:
    maker = Maker().new_page()
    maker.text(72, 80, "Annual report of the club", 24).text(72, 120, "The first part", 16)
    maker.lines(72, 150, PROSE).text(72, 215, "A smaller matter", 11, "hebo").lines(72, 232, PROSE)
    maker.text(72, 300, "The second part", 16).lines(72, 330, PROSE)
    draft = run(tmp_path, maker)
    assert texts(draft, BlockKind.TITLE) == ["Annual report of the club"]
    assert [(b.text, b.level) for b in draft.blocks if b.kind is BlockKind.HEADING] == [
        ("The first part", 1),
        ("A smaller matter", 2),
        ("The second part", 1),
    ]
    assert draft.title == "Annual report of the club"


def test_outline_sets_levels(tmp_path: Path) -> None:
    maker = Maker().new_page().text(72, 80, "Some chapter", 16).lines(72, 110, PROSE)
    maker.text(72, 190, "Some section", 14).lines(72, 220, PROSE)
    maker.document.set_toc([[1, "Book", 1], [2, "Some chapter", 1], [3, "Some section", 1]])
    draft = run(tmp_path, maker)
    assert [(b.text, b.level) for b in draft.blocks if b.level] == [("Some section", 3)]
    assert texts(draft, BlockKind.TITLE) == ["Some chapter"]


def test_lists(tmp_path: Path) -> None:
    maker = Maker().new_page().lines(72, 100, PROSE)
    maker.text(72, 160, "1. Oak beams that").text(84, 175, "are still wet").text(72, 190, "2. Pine boards")
    maker.text(90, 205, "- from the north").text(72, 220, "3. Ash poles")
    draft = run(tmp_path, maker)
    items = [(b.marker, b.text, b.level) for b in draft.blocks if b.kind is BlockKind.LIST_ITEM]
    assert items == [
        ("1.", "Oak beams that are still wet", 1),
        ("2.", "Pine boards", 1),
        ("-", "from the north", 2),
        ("3.", "Ash poles", 1),
    ]


def test_furniture_and_footnotes(tmp_path: Path) -> None:
    maker = Maker()
    for number in range(1, 4):
        maker.new_page().text(72, 36, "Annals of the Old Canal", 8).text(480, 36, f"Volume {number + 10}", 8)
        maker.lines(72, 100, PROSE).text(72, 140, f"The team of year {number}* was paid by the metre of ditch.")
        maker.text(72, 735, f"* A team had {number} men and one boy.", 8).text(280, 800, f"Page {number} of 3", 8)
    draft = run(tmp_path, maker)
    assert texts(draft, BlockKind.PAGE_HEADER) == [
        t for n in (11, 12, 13) for t in ("Annals of the Old Canal", f"Volume {n}")
    ]
    assert texts(draft, BlockKind.PAGE_NUMBER) == ["Page 1 of 3", "Page 2 of 3", "Page 3 of 3"]
    notes = [index for index, block in enumerate(draft.blocks) if block.kind is BlockKind.FOOTNOTE]
    assert [(draft.blocks[i].marker, draft.blocks[i].text) for i in notes] == [
        ("*", f"A team had {n} men and one boy.") for n in (1, 2, 3)
    ]
    assert all("team of year" in draft.blocks[draft.refs[i]].text for i in notes)
    assert [draft.blocks[draft.refs[i]].page for i in notes] == [1, 2, 3]


def test_repeated_words_in_the_body_are_no_furniture(tmp_path: Path) -> None:
    maker = Maker()
    for _ in range(3):
        maker.new_page().lines(72, 300, PROSE)
    assert texts(run(tmp_path, maker), BlockKind.PARAGRAPH) == [" ".join(PROSE)] * 3


def test_invisible_off_page_white_and_clipped_text_is_dropped_and_counted(tmp_path: Path) -> None:
    maker = Maker().new_page().lines(72, 100, PROSE)
    maker.text(72, 300, "hidden words", render_mode=3).text(72, 320, "white words", color=(1, 1, 1))
    maker.content(b"BT /helv 12 Tf 1 0 0 1 700 400 Tm (outside words) Tj ET")
    maker.content(b"q 10 10 50 50 re W n BT /helv 12 Tf 1 0 0 1 300 400 Tm (clipped) Tj ET Q")
    draft = run(tmp_path, maker)
    assert [block.text for block in draft.blocks] == [" ".join(PROSE)]
    counts = {dropped.what: dropped.count for dropped in draft.dropped}
    assert counts == {
        "invisible_text": len("hiddenwords" + "whitewords"),
        "off_page_text": len("outsidewords" + "clipped"),
    }


def test_white_text_on_a_dark_ground_is_text(tmp_path: Path) -> None:
    maker = Maker().new_page()
    maker.page.draw_rect(pymupdf.Rect(60, 80, 300, 120), fill=(0, 0, 0.5))
    draft = run(tmp_path, maker.text(72, 105, "Notice to members", color=(1, 1, 1)))
    assert [block.text for block in draft.blocks] == ["Notice to members"]
    assert draft.dropped == []


def test_fake_bold_is_printed_once(tmp_path: Path) -> None:
    maker = Maker().new_page().text(72, 100, "Price list").text(72.3, 100, "Price list").text(72, 160, "Price list")
    draft = run(tmp_path, maker)
    assert [block.text for block in draft.blocks] == ["Price list", "Price list"]


def test_ocr_layer_under_a_scan_is_kept_and_marked(tmp_path: Path) -> None:
    maker = Maker().new_page().image((0, 0, 595, 842))
    for index, line in enumerate(PROSE):
        maker.text(72, 100 + 15 * index, line, render_mode=3)
    draft = run(tmp_path, maker)
    assert [block.text for block in draft.blocks] == [" ".join(PROSE)]
    assert draft.blocks[0].source is BlockSource.OCR
    assert draft.pages[0].source is BlockSource.OCR
    assert draft.warnings == ["ocr_layer"]
    assert draft.method is Method.OCR


def test_scan_without_text_says_so(tmp_path: Path) -> None:
    draft = run(tmp_path, Maker().new_page().lines(72, 100, PROSE).new_page().image((0, 0, 595, 842)))
    text, scan = draft.pages
    assert (text.source, scan.source) == (BlockSource.TEXT_LAYER, BlockSource.UNKNOWN)
    assert (text.image_area, scan.image_area) == (0.0, 1.0)
    assert scan.characters == 0


def test_rotated_page_is_described_as_displayed(tmp_path: Path) -> None:
    maker = Maker().new_page()
    for index, line in enumerate(PROSE):  # upright once the page is turned clockwise by 90 degrees
        maker.text(100 + 15 * index, 742, line, rotate=90)
    maker.page.set_rotation(90)
    draft = run(tmp_path, maker)
    assert [block.text for block in draft.blocks] == [" ".join(PROSE)]
    page, box = draft.pages[0], draft.blocks[0].bbox
    assert (page.width, page.height, page.rotation) == (842, 595, 90)
    assert box is not None
    assert box[0] == pytest.approx(100, abs=2)
    assert box[1] == pytest.approx(89, abs=4)
    assert box[2] - box[0] > box[3] - box[1]


def test_text_of_another_direction_stands_apart(tmp_path: Path) -> None:
    maker = Maker().new_page().lines(72, 100, PROSE).text(40, 600, "arXiv stamp on the margin", rotate=90)
    assert [block.text for block in run(tmp_path, maker).blocks] == [" ".join(PROSE), "arXiv stamp on the margin"]


def test_ligatures_soft_hyphens_and_accents() -> None:
    from streams.extract.pdf_lines import clean

    assert clean("\ufb01nal e\ufb03cient") == "final efficient"
    assert clean("co\u00adoperate") == "cooperate"
    assert clean("coop\u00ad") == "coop\u00ad"
    assert clean("a\u00a0b\u200b") == "a b"
    assert clean("na¨ıve 90˚C") == "naïve 90˚C"
    assert clean("\ufffd\ufffd") == "\ufffd\ufffd"


def test_form_fields_comments_and_attachments(tmp_path: Path) -> None:
    maker = Maker().new_page().lines(72, 100, PROSE)
    widget = pymupdf.Widget()
    widget.field_name, widget.field_value = "form[0].city[0]", "Kyoto"
    widget.field_type, widget.rect = pymupdf.PDF_WIDGET_TYPE_TEXT, pymupdf.Rect(72, 300, 200, 320)
    maker.page.add_widget(widget)
    maker.page.add_text_annot((300, 300), "Is this right?")
    maker.page.add_freetext_annot(pymupdf.Rect(72, 400, 300, 430), "Typed upon the page")
    maker.document.embfile_add("a.txt", b"attached")
    draft = run(tmp_path, maker)
    assert texts(draft, BlockKind.FORM_FIELD) == ["city: Kyoto"]
    assert texts(draft, BlockKind.COMMENT) == ["Is this right?"]
    assert "Typed upon the page" in texts(draft, BlockKind.PARAGRAPH)
    assert draft.warnings == []
    assert [(d.what, d.count) for d in draft.dropped] == [("attachment", 1)]


def test_information(tmp_path: Path) -> None:
    maker = Maker().new_page().lines(72, 100, PROSE)
    maker.document.set_metadata(
        {
            "title": "The canal",
            "author": "Ada Smith; Bo Li",
            "creationDate": "D:20240229233000-05'00'",
            "modDate": "D:20240230",
        }
    )
    draft = run(tmp_path, maker)
    assert (draft.title, draft.authors) == ("The canal", ["Ada Smith", "Bo Li"])
    assert (draft.created, draft.modified) == ("2024-03-01T04:30:00Z", None)
    assert draft.warnings == ["bad_date"]


def test_same_bytes_same_draft(tmp_path: Path) -> None:
    content = Maker().new_page().lines(72, 100, PROSE).grid(72, 300, [["a", "b"], ["1", "2"], ["3", "4"]]).bytes()
    assert run(tmp_path, content) == run(tmp_path, content)


# --- hostile -------------------------------------------------------------------------------------------------------


def problem(tmp_path: Path, content: bytes, **options: int) -> str:
    with pytest.raises(DocumentError) as caught:
        run(tmp_path, content, **options)
    return caught.value.problem


def test_passwords(tmp_path: Path) -> None:
    maker = Maker().new_page().lines(72, 100, PROSE)
    method = pymupdf.PDF_ENCRYPT_AES_256
    assert problem(tmp_path, maker.bytes(encryption=method, user_pw="secret", owner_pw="master")) == "encrypted"
    draft = run(tmp_path, maker.bytes(encryption=method, owner_pw="master", permissions=0))
    assert [block.text for block in draft.blocks] == [" ".join(PROSE)]


def test_damage_is_told_apart(tmp_path: Path) -> None:
    whole = Maker().new_page().lines(72, 100, PROSE).bytes()
    assert problem(tmp_path, whole[:200]) == "truncated"
    assert problem(tmp_path, b"") == "truncated"
    assert problem(tmp_path, b"no PDF at all, " * 100) == "corrupt"
    assert problem(tmp_path, b"%PDF-1.7\n" + bytes(range(256)) * 20 + b"\nstartxref\n0\n%%EOF") == "corrupt"


def test_repaired_file_says_so(tmp_path: Path) -> None:
    whole = Maker().new_page().lines(72, 100, PROSE).bytes()
    cut = whole[: whole.rindex(b"startxref")].replace(b"\nxref", b"\nxxxx")
    draft = run(tmp_path, cut)
    assert [block.text for block in draft.blocks] == [" ".join(PROSE)]
    assert draft.warnings == ["repaired", "truncated"]


def test_too_many_pages(tmp_path: Path) -> None:
    content = Maker().new_page().new_page().new_page().bytes()
    assert problem(tmp_path, content, max_pages=2) == "too_large"
    assert run(tmp_path, content, max_pages=3).page_count == 3


def test_page_tree_in_circles(tmp_path: Path) -> None:
    maker = Maker().new_page().lines(72, 100, PROSE).new_page().text(72, 100, "Second page")
    document = maker.document
    tree = int(document.xref_get_key(document.pdf_catalog(), "Pages")[1].split()[0])
    kids = document.xref_get_key(tree, "Kids")[1]
    document.xref_set_key(tree, "Kids", f"[{tree} 0 R {kids.strip('[]')}]")
    draft = run(tmp_path, maker)
    assert " ".join(PROSE) in [block.text for block in draft.blocks]
    assert draft.warnings


def test_failed_page_costs_one_page(tmp_path: Path) -> None:
    maker = (
        Maker().new_page().lines(72, 100, PROSE).new_page().text(72, 100, "Lost").new_page().text(72, 100, "Last page")
    )
    document = maker.document
    document.xref_set_key(document.page_xref(1), "Type", "/Nonsense")
    document.xref_set_key(document.page_xref(1), "Contents", "null")
    document.xref_set_key(document.page_xref(1), "MediaBox", "(no box)")
    draft = run(tmp_path, maker)
    found = [block.text for block in draft.blocks]
    assert " ".join(PROSE) in found
    assert "Last page" in found


def test_damaged_bytes_never_end_in_a_traceback(tmp_path: Path) -> None:
    maker = Maker().new_page().lines(72, 100, PROSE).grid(72, 300, [["a", "b"], ["1", "2"], ["3", "4"]])
    whole = maker.new_page().image((0, 0, 300, 300)).text(72, 400, "More").bytes(garbage=3)
    chance = random.Random(7)  # noqa: S311 - the same damage in every run
    ends: list[str] = []
    for _ in range(150):
        damaged = bytearray(whole)
        for _ in range(chance.randint(1, 30)):
            at = chance.randrange(len(damaged))
            damaged[at : at + chance.randint(0, 4)] = chance.randbytes(chance.randint(0, 4))
        try:
            run(tmp_path, bytes(damaged[: chance.choice([len(damaged), chance.randrange(len(damaged))])]))
            ends.append("draft")
        except DocumentError as error:
            ends.append(error.problem)
    assert set(ends) == {"draft", "truncated", "corrupt"}


def test_page_full_of_fragments_takes_bounded_time(tmp_path: Path) -> None:
    """Eight thousand pieces of text side by side: what compares each with each takes minutes."""
    pieces = b" ".join(b"1 0 0 1 %.2f 400 Tm (piece of words) Tj" % (i * 0.05) for i in range(8000))
    maker = Maker().new_page().content(b"BT /helv 0.01 Tf " + pieces + b" ET")
    begin = time.process_time()
    run(tmp_path, maker)
    assert time.process_time() - begin < 10


def test_content_that_inflates_is_never_held_whole(tmp_path: Path) -> None:
    maker = Maker().new_page().lines(72, 100, PROSE)
    xref = maker.page.get_contents()[0]
    maker.document.update_stream(xref, maker.document.xref_stream(xref) + b" " * 60_000_000)
    content = maker.bytes()
    assert len(content) < 200_000
    tracemalloc.start()
    try:
        draft = run(tmp_path, content)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert [block.text for block in draft.blocks] == [" ".join(PROSE)]
    assert peak < 30_000_000


def test_stderr_stays_clean(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    whole = Maker().new_page().lines(72, 100, PROSE).bytes()
    run(tmp_path, whole.replace(b"\nxref", b"\nxxxx"))
    problem(tmp_path, whole[:200])
    assert capfd.readouterr() == ("", "")
