"""Layout as a person reads it: side notes, headings beside text, titles, raised marks, contents, bookmarks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from streams.extract.pdf_initials import close_up
from streams.extract.pdf_layout import is_caption, is_table_caption
from streams.extract.pdf_lines import superscript
from streams.records import BlockKind
from tests.unit.extract.pdf_files import Maker, run, texts

LEFT = [f"left hand text of the column, line {n} of it" for n in range(12)]
RIGHT = [f"right hand text beside it, and line {n} here" for n in range(12)]


def test_a_heading_in_one_column_leaves_the_other_whole(tmp_path: Path) -> None:
    maker = Maker().new_page()
    maker.text(50, 100, "Abstract", 12, "hebo")
    maker.lines(50, 118, LEFT, 10, 1.2)
    maker.lines(310, 100, ["The other column begins right here, higher", *RIGHT], 10, 1.2)
    draft = run(tmp_path, maker)
    order = [block.text for block in draft.blocks]
    assert order[0] == "Abstract"
    assert order[1].startswith("left hand text")
    assert order[-1].startswith("The other column begins")


def test_headings_beside_each_other_belong_to_their_columns(tmp_path: Path) -> None:
    maker = Maker().new_page()
    maker.text(50, 100, "3. PARTS", 12, "hebo").text(310, 100, "3.2 Others", 12, "hebo")
    maker.lines(50, 118, LEFT, 10, 1.2).lines(310, 118, RIGHT, 10, 1.2)
    draft = run(tmp_path, maker)
    assert texts(draft, BlockKind.HEADING) == ["3. PARTS", "3.2 Others"]
    assert [block.kind for block in draft.blocks] == [BlockKind.HEADING, BlockKind.PARAGRAPH] * 2


def test_side_notes_come_after_the_text_they_stand_beside(tmp_path: Path) -> None:
    maker = Maker().new_page()
    maker.lines(70, 100, [f"the running text of the page goes on here in line {n}" for n in range(20)], 10, 1.4)
    maker.lines(400, 163, ["a note in the margin, set", "in smaller type and with", "a leading of its own"], 8, 1.2)
    draft = run(tmp_path, maker)
    assert len(draft.blocks) == 2
    assert draft.blocks[1].text == "a note in the margin, set in smaller type and with a leading of its own"
    assert "note" not in draft.blocks[0].text


def test_authors_above_two_columns_are_read_before_both(tmp_path: Path) -> None:
    maker = Maker().new_page()
    maker.text(110, 100, "Ada First Author", 11).text(385, 100, "Bob Second Author", 11)
    maker.text(105, 114, "University of Here", 11).text(380, 114, "University of There", 11)
    maker.lines(50, 160, LEFT, 10, 1.2).lines(310, 160, RIGHT, 10, 1.2)
    words = " ".join(block.text for block in run(tmp_path, maker).blocks)
    assert words.index("Bob Second Author") < words.index("left hand text")


def test_lines_of_a_title_that_stand_far_apart_are_one_title_and_authors_are_no_headings(tmp_path: Path) -> None:
    maker = Maker().new_page()
    maker.text(180, 100, "A Comparison of", 20).text(160, 140, "Things in General", 20)
    maker.text(230, 190, "Carla Writer", 14, "hebo")
    maker.lines(72, 250, ["A paragraph that is long enough to be taken for running text, over lines"] * 4)
    draft = run(tmp_path, maker)
    assert texts(draft, BlockKind.TITLE) == ["A Comparison of Things in General"]
    assert draft.title == "A Comparison of Things in General"
    maker.page.insert_text((230, 225), "University of Somewhere", fontsize=14, fontname="hebo")
    assert texts(run(tmp_path, maker), BlockKind.HEADING) == [
        "University of Somewhere"
    ]  # only what stands right before


def test_raised_figures_stay_raised_and_bind_their_note(tmp_path: Path) -> None:
    maker = Maker().new_page()
    maker.text(72, 100, "An area of 10 m")
    maker.text(150.5, 95, "2", 7)
    maker.text(157, 100, "was measured, as others say.")
    maker.text(300, 95, "1", 7)
    maker.lines(72, 115, ["More of the running text of this page, so that it has a body type."] * 3)
    maker.text(72, 780, "1", 5.5).text(76, 783, "Others, personal communication.", 8)
    draft = run(tmp_path, maker)
    assert "m2" not in draft.blocks[0].text
    assert "²" in draft.blocks[0].text
    (note,) = [block for block in draft.blocks if block.kind is BlockKind.FOOTNOTE]
    assert (note.marker, note.text) == ("1", "Others, personal communication.")
    assert draft.refs


def test_superscript() -> None:
    assert superscript("2") == "²"
    assert superscript("-3") == "⁻³"
    assert superscript("st") == "st"
    assert superscript("12345") == "12345"


def test_a_sentence_that_runs_on_over_a_number_is_no_list(tmp_path: Path) -> None:
    lines = [
        "Others have written of this at some length, as it is told in the first part of the",
        "[14] and the second one of those that were named before, where nothing is said of",
        "it. So the text goes on.",
    ]
    draft = run(tmp_path, Maker().new_page().lines(72, 100, lines))
    assert not texts(draft, BlockKind.LIST_ITEM)


def test_entries_of_contents_are_no_headings(tmp_path: Path) -> None:
    maker = Maker().new_page()
    for n in range(4):
        maker.text(72, 100 + 24 * n, f"{n + 1}. Part of the whole ........................ {n + 4}", 14, "hebo")
    maker.lines(72, 300, ["Body text of the page in its usual size, so that larger type is larger."] * 6)
    assert not texts(run(tmp_path, maker), BlockKind.HEADING)


def test_a_bookmark_makes_a_heading_only_on_its_page(tmp_path: Path) -> None:
    maker = Maker()
    body = ["Body text of the page in its usual size, so that larger type is larger."] * 6
    for _ in range(4):
        maker.new_page().lines(72, 100, body).text(72, 300, "Results").lines(72, 340, body)
    maker.document.set_toc([[1, "Results", 4], [1, "Not on the page", 2]])
    draft = run(tmp_path, maker)
    headings = [(block.text, block.page) for block in draft.blocks if block.kind is BlockKind.HEADING]
    assert headings == [("Results", 3), ("Results", 4)]  # a bookmark may lead to the end of the page before


def test_what_stands_on_the_row_of_a_page_number_is_furniture(tmp_path: Path) -> None:
    maker = Maker()
    for n in range(2):
        maker.new_page().text(72, 50, str(n + 2), 9).text(250, 50, ["A. Author et al.", "A Short Title"][n], 9)
        maker.lines(
            72, 120, [f"Body text of page {n} in its usual size, and more of it in line {m}." for m in range(8)]
        )
    draft = run(tmp_path, maker)
    assert texts(draft, BlockKind.PAGE_HEADER) == ["A. Author et al.", "A Short Title"]
    assert texts(draft, BlockKind.PAGE_NUMBER) == ["2", "3"]


def test_the_short_last_line_of_a_full_width_block_stays_with_it(tmp_path: Path) -> None:
    maker = Maker().new_page()
    wide = "a caption that runs over the whole width of the page and goes on and on, to its very edge"
    maker.lines(50, 80, [f"Figure 3: {wide}", wide, "and ends early."], 10, 1.2)
    maker.lines(50, 140, LEFT, 10, 1.2).lines(310, 140, RIGHT, 10, 1.2)
    (caption,) = texts(run(tmp_path, maker), BlockKind.CAPTION)
    assert caption.endswith("and ends early.")


def test_a_numbered_heading_is_no_title(tmp_path: Path) -> None:
    maker = Maker().new_page().text(72, 100, "1  Overview", 18, "hebo")
    draft = run(tmp_path, maker.lines(72, 140, ["Body text in its usual size, and more of it in this line."] * 4))
    assert texts(draft, BlockKind.HEADING) == ["1 Overview"]
    assert draft.title is None


def test_a_large_initial_is_the_first_letter_of_its_paragraph(tmp_path: Path) -> None:
    maker = Maker().new_page()
    maker.text(72, 124, "O", 33)
    maker.lines(99, 108, ["nce upon a time there was a harbour with", "a crane that no storm had ever bent or"])
    maker.lines(72, 136.6, ["broken, and its master was called Ada by all.", "So she went."])
    (block,) = run(tmp_path, maker).blocks
    assert block.text.startswith("Once upon a time there was a harbour with a crane that no storm")


def test_spaced_letters_are_words() -> None:
    assert close_up("S P E R R U N G ist Satz") == "SPERRUNG ist Satz"
    assert close_up("Answer A B C D E or F") == "Answer A B C D E or F"
    assert close_up("x y x y x y") == "x y x y x y"
    assert close_up("I a m") == "I a m"


def test_same_bytes_in_processes_with_other_hash_seeds(tmp_path: Path) -> None:
    path = tmp_path / "document.pdf"
    maker = Maker().new_page().lines(50, 118, LEFT, 10, 1.2).lines(310, 118, RIGHT, 10, 1.2)
    maker.new_page().grid(72, 300, [["Name", "Count"], ["oak", "12"], ["elm", "7"]]).text(72, 40, "Head", 9)
    path.write_bytes(maker.bytes())
    code = (
        "import sys; from pathlib import Path; from streams.extract import extract;"
        "from streams.extract.outcome import Request; from streams.records import Detection;"
        "from streams.records.codec import encode;"
        "said = Detection(media_type='application/pdf', detected_by='test');"
        "sys.stdout.buffer.write(encode(extract(Request(path=Path(sys.argv[1]), detection=said), content_hash='')))"
    )
    canons = [
        subprocess.run(
            [sys.executable, "-c", code, str(path)],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert canons[0] == canons[1]
    assert b"right hand text" in canons[0]


def test_captions_of_other_scripts() -> None:
    assert is_caption("表 7.5 停车区用地指标")
    assert is_table_caption("表 7.5 停车区用地指标")
    assert is_caption("Рисунок 3. Схема")
    assert not is_table_caption("図 2 概要")
    assert not is_caption("Table salt is white")
