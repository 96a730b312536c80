"""Where paragraphs begin: bibliographies, centred lines, what looks like a marker and is none, capitals."""

from __future__ import annotations

from pathlib import Path

import pymupdf

from streams.extract.pdf_layout import MARKED
from streams.records import BlockKind
from tests.unit.extract.pdf_files import Maker, run, texts


def test_entries_of_a_bibliography_with_hanging_lines_are_whole(tmp_path: Path) -> None:
    maker = Maker().new_page()
    v = 100.0
    for n in range(5):
        maker.text(72, v, f"Author, A. F., Second, B., & Writer, N. F. G. H. I. J. K. L. M. Number {n}", 10)
        maker.text(90, v + 12, "(1998) A title that is long enough to run on to the end of the second line,", 10)
        maker.text(90, v + 24, f"Journal of Things, 24, 299-30{n}.", 10)
        v += 37
    found = texts(run(tmp_path, maker), BlockKind.PARAGRAPH)
    assert [text[:6] + text[-4:] for text in found] == [f"Author30{n}." for n in range(5)]


def test_paragraphs_with_a_first_line_further_in_stay_apart(tmp_path: Path) -> None:
    maker = Maker().new_page()
    for n in range(4):
        maker.text(90, 100 + 36 * n, f"First lines stand further in, and this one runs on to the edge of text {n}", 10)
        maker.text(
            72, 112 + 36 * n, "and it is long enough to be full, as nearly all lines of a column of text are", 10
        )
        maker.text(72, 124 + 36 * n, "and ends.", 10)
    assert len(texts(run(tmp_path, maker), BlockKind.PARAGRAPH)) == 4


def test_centred_lines_of_a_heading_are_one_heading(tmp_path: Path) -> None:
    maker = Maker().new_page()
    for n, line in enumerate(["Quality and Costs of", "Colon Cancer Care in", "Two Places"]):
        maker.text(300 - 6 * len(line), 100 + 28 * n, line, 24, "cour")
    maker.lines(72, 220, ["Body text of the page in its usual size, so that larger type is larger."] * 6)
    draft = run(tmp_path, maker)
    assert draft.title == "Quality and Costs of Colon Cancer Care in Two Places"


def test_telephone_numbers_and_dots_between_words_are_no_markers(tmp_path: Path) -> None:
    assert not MARKED.match("(423) 574-5260")
    assert MARKED.match("(12) the text")
    maker = Maker().new_page()
    lines = [
        "Keywords: document analysis · deep learning · layout analysis of pages",
        "· character recognition · tools",
    ]
    draft = run(tmp_path, maker.lines(72, 100, lines))
    assert not texts(draft, BlockKind.LIST_ITEM)


def test_small_capitals_in_bold_are_a_heading_and_the_rest_of_a_paragraph_is_none(tmp_path: Path) -> None:
    maker = Maker().new_page()
    maker.text(72, 100, "3. USE OF INSTRUMENTS AND RELATED AREAS: THE", 9.5, "hebo")
    maker.text(84, 112, "OVERALL PHILOSOPHY", 9.5, "hebo")
    maker.lines(72, 140, ["Body text of the page in its usual size, so that larger type is larger."] * 6, 12)
    assert texts(run(tmp_path, maker), BlockKind.HEADING) == [
        "3. USE OF INSTRUMENTS AND RELATED AREAS: THE OVERALL PHILOSOPHY"
    ]
    maker = Maker().new_page()
    rest = ["mers is possible within the specific", "designation for this paragraph only", "and the optical isomers:"]
    maker.lines(72, 100, rest, 14)
    maker.lines(72, 180, ["(1) Some small print of a list that is long and goes on, and on, and on"] * 12, 8)
    assert not texts(run(tmp_path, maker), BlockKind.HEADING)


def test_lines_set_flush_right_are_one_paragraph(tmp_path: Path) -> None:
    maker = Maker().new_page()
    lines = ["could now find his way, and he made for the edge", "marsh with such haste that he had not time", "thing"]
    for n, line in enumerate([*lines, "that had happened since he came. He did not know it", "in the least."]):
        maker.text(500 - pymupdf.get_text_length(line, fontsize=10), 100 + 14 * n, line, 10)
    assert len(texts(run(tmp_path, maker), BlockKind.PARAGRAPH)) == 1
