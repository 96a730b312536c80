"""Text under boxes that are painted over it: left out and said, where a reader of the page does not see it."""

from __future__ import annotations

from pathlib import Path

import pymupdf

from streams.extract.outcome import Draft
from streams.records import BlockKind
from tests.unit.extract.pdf_files import Maker, run, texts


def said(draft: Draft) -> dict[str, int]:
    return {item.what: item.count for item in draft.dropped}


def test_text_under_a_box_painted_later_is_left_out_and_said(tmp_path: Path) -> None:
    for ground in ((0, 0, 0), (1, 1, 1), (0.2, 0.4, 0.6)):
        maker = Maker().new_page().text(72, 100, "The witness John Secret lives here.").text(72, 140, "Open text.")
        left, right = (72 + pymupdf.get_text_length(text) for text in ("The witness ", "The witness John Secret"))
        maker.page.draw_rect((left, 90, right, 104), color=None, fill=ground)
        draft = run(tmp_path, maker)
        words = " ".join(texts(draft, BlockKind.PARAGRAPH))
        assert words == "The witness lives here. Open text."
        assert said(draft)["covered_text"] >= len("JohnSecret")
        assert draft.warnings == ["covered_text"]


def test_text_written_upon_a_box_is_seen_and_what_it_covers_is_not(tmp_path: Path) -> None:
    maker = Maker().new_page().text(72, 100, "Price: 100 euros", 11)
    maker.page.draw_rect((70, 88, 200, 104), color=None, fill=(1, 1, 1))
    maker.text(72, 100, "Price: 250 euros", 11)
    draft = run(tmp_path, maker)
    assert texts(draft, BlockKind.PARAGRAPH) == ["Price: 250 euros"]
    maker = Maker().new_page()
    maker.page.draw_rect((70, 88, 200, 104), color=None, fill=(0, 0, 0))
    maker.text(72, 100, "White on black", 11, color=(1, 1, 1))
    draft = run(tmp_path, maker)
    assert texts(draft, BlockKind.PARAGRAPH) == ["White on black"]
    assert not draft.warnings


def test_the_same_text_printed_again_upon_its_background_is_seen(tmp_path: Path) -> None:
    maker = Maker().new_page().text(72, 100, "Said twice")
    maker.page.draw_rect((60, 88, 300, 104), color=None, fill=(0.9, 0.9, 1))
    draft = run(tmp_path, maker.text(72, 100, "Said twice"))
    assert texts(draft, BlockKind.PARAGRAPH) == ["Said twice"]


def test_a_marker_pen_hides_nothing(tmp_path: Path) -> None:
    maker = Maker().new_page().text(72, 100, "Marked by a yellow pen")
    maker.page.draw_rect((60, 88, 300, 104), color=None, fill=(1, 1, 0), fill_opacity=0.5)
    maker.text(72, 200, "Marked by another pen")
    note = maker.page.add_highlight_annot((72, 190, 180, 204))
    note.update()
    maker.content(b"/Multiply gs 1 1 0 rg 60 620 200 30 re f")
    xref = maker.document.get_new_xref()
    maker.document.update_object(xref, "<</Type/ExtGState/BM/Multiply>>")
    maker.document.xref_set_key(maker.page.xref, "Resources/ExtGState/Multiply", f"{xref} 0 R")
    draft = run(tmp_path, maker)
    assert texts(draft, BlockKind.PARAGRAPH) == ["Marked by a yellow pen", "Marked by another pen"]
    assert not draft.warnings


def test_a_box_that_a_clip_makes_small_hides_only_what_is_below_it(tmp_path: Path) -> None:
    maker = Maker().new_page().text(72, 100, "A line below a box that is clipped")
    maker.content(b"q 60 700 3 3 re W n 0 0 0 rg 60 730 300 25 re f Q")
    assert texts(run(tmp_path, maker), BlockKind.PARAGRAPH) == ["A line below a box that is clipped"]


def test_covered_words_stand_in_no_table(tmp_path: Path) -> None:
    rows = [["Name", "Number"], ["Miller", "123-45"], ["Smith", "678-90"]]
    maker = Maker().new_page().grid(72, 100, rows)
    maker.page.draw_rect((164, 121, 250, 139), color=None, fill=(0, 0, 0))
    draft = run(tmp_path, maker)
    assert sorted(cell.text for cell in draft.tables[0].cells if cell.text) == [
        "678-90",
        "Miller",
        "Name",
        "Number",
        "Smith",
    ]


def test_on_a_turned_page_and_outside_the_crop_box(tmp_path: Path) -> None:
    maker = Maker().new_page().text(72, 100, "Seen").text(72, 200, "Covered").text(72, 700, "Cropped away")
    maker.page.draw_rect((60, 185, 300, 210), color=None, fill=(0, 0, 0))
    maker.page.set_cropbox((50, 50, 500, 600))
    maker.page.set_rotation(90)
    draft = run(tmp_path, maker)
    assert [block.text for block in draft.blocks] == ["Seen"]
    assert said(draft) == {"covered_text": 7, "off_page_text": 11}


def test_a_ground_that_touches_a_line_hides_nothing_and_one_over_most_of_its_height_does(tmp_path: Path) -> None:
    maker = Maker().new_page().text(72, 100, "Names and pages", 11).text(72, 140, "Open text.", 11)
    maker.page.draw_rect((60, 101, 300, 120), color=None, fill=(0.9, 0.9, 1))
    draft = run(tmp_path, maker)
    assert texts(draft, BlockKind.PARAGRAPH) == ["Names and pages", "Open text."]
    assert "covered_text" not in said(draft)
    maker.page.draw_rect((60, 91, 300, 120), color=None, fill=(0.9, 0.9, 1))
    draft = run(tmp_path, maker)
    assert texts(draft, BlockKind.PARAGRAPH) == ["Open text."]
    assert said(draft)["covered_text"] == len("Namesandpages")
