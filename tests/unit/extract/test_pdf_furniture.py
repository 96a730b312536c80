"""Furniture of slides and drafts: titles are no running heads, watermarks are no headings."""

from __future__ import annotations

from pathlib import Path

import pymupdf

from streams.records import BlockKind
from tests.unit.extract.pdf_files import Maker, run, texts


def test_titles_of_slides_beside_a_running_head_are_headings(tmp_path: Path) -> None:
    maker = Maker()
    for n, title in enumerate(["Perfect Functions", "The First Method", "The First Method", "Costs", "An Example"]):
        maker.new_page(792, 612).text(60, 60, title, 24).text(560, 60, "Course 12", 18).text(700, 60, str(n + 1), 18)
        maker.lines(70, 110, [f"Line {m} of slide {n} says something of its own" for m in range(6)], 18)
    draft = run(tmp_path, maker)
    assert texts(draft, BlockKind.HEADING) == [
        "Perfect Functions",
        "The First Method",
        "The First Method",
        "Costs",
        "An Example",
    ]
    assert texts(draft, BlockKind.PAGE_HEADER) == ["Course 12"] * 5


def test_a_large_running_head_on_every_page_is_furniture(tmp_path: Path) -> None:
    maker = Maker()
    for n in range(4):
        maker.new_page().text(200, 50, "Handbook of Everything", 16, "hebo")
        maker.lines(72, 110, [f"Line {m} of page {n} says something of its own" for m in range(6)])
    draft = run(tmp_path, maker)
    assert texts(draft, BlockKind.PAGE_HEADER) == ["Handbook of Everything"] * 4


def test_a_tilted_watermark_is_told_once_and_heads_nothing(tmp_path: Path) -> None:
    maker = Maker()
    middle = pymupdf.Point(300, 420)
    for n in range(3):
        maker.new_page().lines(
            72, 110, [f"Line {m} of page {n} goes on over the whole of its width" for m in range(40)]
        )
        maker.page.insert_text(
            (120, 450), "CONFIDENTIAL", fontsize=60, color=(0.8, 0.8, 0.8), morph=(middle, pymupdf.Matrix(50))
        )
    draft = run(tmp_path, maker)
    assert not texts(draft, BlockKind.HEADING) + texts(draft, BlockKind.TITLE)
    assert texts(draft, BlockKind.BOILERPLATE) == ["CONFIDENTIAL"]
    assert [(item.what, item.count) for item in draft.dropped] == [("repeated_watermark", 2)]
    assert not any("CONFIDENTIAL" in text for text in texts(draft, BlockKind.PARAGRAPH))


def test_a_level_watermark_behind_the_text_stands_in_no_paragraph_and_no_table(tmp_path: Path) -> None:
    maker = Maker().new_page().text(100, 200, "DRAFT", 90, color=(0.85, 0.85, 0.85))
    maker.lines(72, 110, [f"Line {n} goes on over the whole of its width and is read" for n in range(4)])
    maker.grid(72, 160, [["Name", "Sum", "Day"], ["Miller", "12.50", "Monday"], ["Smith", "7.20", "Friday"]])
    draft = run(tmp_path, maker)
    assert texts(draft, BlockKind.BOILERPLATE) == ["DRAFT"]
    assert "DRAFT" not in " ".join(cell.text for table in draft.tables for cell in table.cells)


def test_tilted_words_that_are_all_a_page_says_are_its_text(tmp_path: Path) -> None:
    maker = Maker().new_page().text(72, 100, "Tonight", 12)
    maker.page.insert_text(
        (120, 450), "GRAND OPENING", fontsize=60, morph=(pymupdf.Point(300, 420), pymupdf.Matrix(40))
    )
    assert not texts(run(tmp_path, maker), BlockKind.BOILERPLATE)


def test_tilted_labels_of_a_chart_are_no_watermarks(tmp_path: Path) -> None:
    maker = Maker().new_page().lines(72, 110, ["A line of running text above the chart, as long as it is"] * 5)
    for n, label in enumerate(["January", "February", "March"]):
        at = pymupdf.Point(120 + 40 * n, 400)
        maker.page.insert_text(at, label, fontsize=9, morph=(at, pymupdf.Matrix(45)))
    assert not texts(run(tmp_path, maker), BlockKind.BOILERPLATE)


def test_running_heads_below_a_wide_margin_are_found(tmp_path: Path) -> None:
    maker = Maker()
    for n in range(4):
        maker.new_page().text(280, 170, f"H. R. 1904 -- {n + 3}", 9)
        maker.lines(120, 200, [f"Line {m} of page {n} says something of its own" for m in range(30)])
    assert texts(run(tmp_path, maker), BlockKind.PAGE_HEADER) == [f"H. R. 1904 -- {n + 3}" for n in range(4)]


def test_a_number_that_goes_with_those_at_another_place_is_a_page_number(tmp_path: Path) -> None:
    maker = Maker()
    for n in range(4):
        maker.new_page().lines(72, 110, [f"Line {m} of page {n} says something of its own" for m in range(40)])
        maker.text(520, 60, str(n + 41), 9) if n else maker.text(300, 770, "41", 9).text(72, 784, "A note below", 9)
    assert texts(run(tmp_path, maker), BlockKind.PAGE_NUMBER) == ["42", "43", "44"]
    maker = Maker()
    for n in range(4):
        maker.new_page().lines(72, 110, [f"Line {m} of page {n} says something of its own" for m in range(45)])
        maker.text(520, 60, str(n + 41), 9) if n else maker.text(300, 765, "41", 9)
    assert texts(run(tmp_path, maker), BlockKind.PAGE_NUMBER) == ["41", "42", "43", "44"]
