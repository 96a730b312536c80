"""Tables of PDFs, with rules and without, and captioned figures."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import pymupdf
import pytest

from streams.extract.tools import mupdf_layout
from streams.records import BlockKind, Table
from tests.unit.extract.pdf_files import Maker, run, texts

ROWS = [["Item", "Kind", "Pieces"], ["A-1", "oak", "3"], ["A-2", "pine", "1,234.50"], ["A-3", "", "0.74"]]
PROSE = ("The timber was counted twice by the people of the", "yard before the boats came to take it to the town.")


def rows(table: Table) -> list[list[str]]:
    grid = [[""] * table.n_cols for _ in range(table.n_rows)]
    for cell in table.cells:
        grid[cell.row][cell.col] = cell.text
    return grid


def test_ruled_table_is_a_grid_and_its_words_stand_nowhere_else(tmp_path: Path) -> None:
    maker = Maker().new_page().lines(72, 80, PROSE).text(72, 130, "Table 4: Timber in stock", 10)
    maker.grid(72, 140, ROWS).lines(72, 260, PROSE)
    draft = run(tmp_path, maker)
    assert [block.kind for block in draft.blocks] == [
        BlockKind.PARAGRAPH,
        BlockKind.CAPTION,
        BlockKind.TABLE,
        BlockKind.PARAGRAPH,
    ]
    (table,) = draft.tables
    assert rows(table) == ROWS
    assert (table.n_rows, table.n_cols, table.header_rows, table.pages) == (4, 3, 1, [1])
    assert (table.number, table.caption) == ("4", "Timber in stock")
    assert draft.refs == {1: 2}
    assert draft.blocks[2].table == 0
    assert draft.blocks[2].text == "\n".join("\t".join(row) for row in ROWS)
    assert draft.pages[0].characters == sum(
        len("".join(text.split()))
        for text in [*PROSE, *PROSE, "Table 4: Timber in stock", *(cell for row in ROWS for cell in row)]
    )


def test_merged_cells_are_one_cell(tmp_path: Path) -> None:
    maker = Maker().new_page()
    page = maker.page
    for y in (100, 120, 140, 160, 180):
        page.draw_line((72 if y != 120 else 162, y), (342, y))  # the first column goes over two rows
    for x in (72, 162, 342):
        page.draw_line((x, 100), (x, 180))
    page.draw_line((252, 120), (252, 180))  # the head goes over two columns
    maker.text(76, 115, "State", 10).text(166, 114, "Persons", 10).text(166, 134, "men", 10).text(256, 134, "women", 10)
    maker.text(76, 154, "Kerala", 10).text(166, 154, "10", 10).text(256, 154, "20", 10)
    maker.text(76, 174, "Orissa", 10).text(166, 174, "30", 10).text(256, 174, "40", 10)
    (table,) = run(tmp_path, maker).tables
    assert rows(table) == [
        ["State", "Persons", ""],
        ["", "men", "women"],
        ["Kerala", "10", "20"],
        ["Orissa", "30", "40"],
    ]
    spans = {cell.text: (cell.row_span, cell.col_span) for cell in table.cells}
    assert spans["State"] == (2, 1)
    assert spans["Persons"] == (1, 2)
    assert table.header_rows == 2
    assert [cell.text for cell in table.cells if cell.header] == ["State", "Persons", "men", "women"]


def test_rows_without_rules_between_them_are_rows(tmp_path: Path) -> None:
    maker = Maker().new_page()
    for y in (100, 120, 180):
        maker.page.draw_line((72, y), (342, y))
    for x in (72, 162, 252, 342):
        maker.page.draw_line((x, 100), (x, 180))
    for index, row in enumerate(ROWS):
        for col, cell in enumerate(row):
            maker.text(76 + 90 * col, 114 + 20 * index, cell, 10)
    (table,) = run(tmp_path, maker).tables
    assert rows(table) == ROWS


def test_table_goes_on_over_the_page(tmp_path: Path) -> None:
    body = [[f"A-{number}", "oak", str(number)] for number in range(100, 140)]
    maker = Maker().new_page().text(72, 60, "Table 1. Timber in stock", 10).grid(72, 80, [ROWS[0], *body[:30]])
    maker.text(290, 810, "1", 8)
    maker.new_page().grid(72, 80, [ROWS[0], *body[30:]]).lines(72, 400, PROSE).text(290, 810, "2", 8)
    draft = run(tmp_path, maker)
    (table,) = draft.tables
    assert rows(table) == [ROWS[0], *body]
    assert (table.pages, table.header_rows) == ([1, 2], 1)
    assert len([block for block in draft.blocks if block.kind is BlockKind.TABLE]) == 1
    assert texts(draft, BlockKind.PAGE_NUMBER) == ["1", "2"]


def test_two_tables_with_text_between_stay_two(tmp_path: Path) -> None:
    maker = Maker().new_page().grid(72, 80, ROWS).lines(72, 200, PROSE).new_page().grid(72, 80, ROWS)
    assert len(run(tmp_path, maker).tables) == 2


def test_turned_table_on_an_upside_down_page(tmp_path: Path) -> None:
    maker = Maker().new_page(842, 595)
    maker.grid(100, 100, ROWS)
    source = maker.document
    turned = pymupdf.open()
    page = turned.new_page(width=595, height=842)
    page.show_pdf_page(page.rect, source, 0, rotate=90)
    page.set_rotation(180)
    (table,) = run(tmp_path, bytes(turned.tobytes())).tables
    assert rows(table) == ROWS


def test_invisible_words_are_no_cells(tmp_path: Path) -> None:
    maker = Maker().new_page().grid(72, 100, ROWS).text(196, 174, "hidden", 10, render_mode=3)
    draft = run(tmp_path, maker)
    assert rows(draft.tables[0]) == ROWS
    assert {d.what: d.count for d in draft.dropped} == {"invisible_text": 6}


def test_a_frame_around_text_is_no_table(tmp_path: Path) -> None:
    maker = Maker().new_page()
    maker.page.draw_rect(pymupdf.Rect(60, 60, 400, 140))
    draft = run(tmp_path, maker.lines(72, 80, PROSE))
    assert draft.tables == []
    assert [block.text for block in draft.blocks] == [" ".join(PROSE)]


def test_figure_takes_its_labels_and_its_caption(tmp_path: Path) -> None:
    maker = Maker().new_page().lines(72, 80, PROSE)
    maker.page.draw_rect(pymupdf.Rect(100, 140, 160, 180))
    maker.page.draw_rect(pymupdf.Rect(220, 140, 280, 180))
    maker.page.draw_line((160, 160), (220, 160))
    maker.text(110, 160, "hot loop", 6).text(230, 160, "side exit", 6)
    maker.text(72, 205, "Figure 2. What the machine does when it is hot.", 10).lines(72, 240, PROSE)
    draft = run(tmp_path, maker)
    assert [(block.kind, block.text) for block in draft.blocks] == [
        (BlockKind.PARAGRAPH, " ".join(PROSE)),
        (BlockKind.FIGURE, "hot loop side exit"),
        (BlockKind.CAPTION, "Figure 2. What the machine does when it is hot."),
        (BlockKind.PARAGRAPH, " ".join(PROSE)),
    ]
    assert draft.refs == {2: 1}


def test_sentence_about_a_figure_is_no_caption(tmp_path: Path) -> None:
    maker = Maker().new_page().text(72, 80, "Figure 2 shows what the machine does when it is hot.")
    assert [block.kind for block in run(tmp_path, maker).blocks] == [BlockKind.PARAGRAPH]


# --- grids whose rules say less than their words ----------------------------------------------------------------------


def ruled(maker: Maker, xs: Sequence[int], ys: Sequence[int]) -> Maker:
    """Rules over the whole width at `ys` and over the whole height at `xs`."""
    for y in ys:
        maker.page.draw_line((xs[0], y), (xs[-1], y))
    for x in xs:
        maker.page.draw_line((x, ys[0]), (x, ys[-1]))
    return maker


def test_values_beside_one_another_between_two_rules_are_columns(tmp_path: Path) -> None:
    maker = ruled(Maker().new_page(), (72, 172, 342), (100, 120, 140, 160, 180))
    maker.text(200, 114, "Pieces of both yards", 10)
    for index, (name, first, second) in enumerate([("oak", "12", "1,200"), ("pine", "7", "0.74"), ("ash", "31", "5")]):
        y = 134 + 20 * index
        maker.text(76, y, name, 10).text(190, y, first, 10).text(280, y, second, 10)
    (table,) = run(tmp_path, maker).tables
    assert rows(table) == [
        ["", "Pieces of both yards", ""],
        ["oak", "12", "1,200"],
        ["pine", "7", "0.74"],
        ["ash", "31", "5"],
    ]
    assert next(cell.col_span for cell in table.cells if cell.text == "Pieces of both yards") == 2


def test_columns_ruled_in_the_head_alone_are_columns_below_it(tmp_path: Path) -> None:
    maker = Maker().new_page()
    table = [["Item", "2020", "2021", "2022"], *([f"Item {i}", f"{i}.5", f"{i}.7", ""] for i in range(4))]
    table[2][3] = "9.1"
    for y in (100, 120, 190):
        maker.page.draw_line((72, y), (372, y))
    for x in (72, 162, 372):
        maker.page.draw_line((x, 100), (x, 190))
    for x in (232, 302):
        maker.page.draw_line((x, 100), (x, 120))
    for i, row in enumerate(table):
        for x, cell in zip((76, 166, 236, 306), row, strict=True):
            if cell:
                maker.text(x, 114 + i * 16, cell, 10)
    draft = run(tmp_path, maker)
    (found,) = draft.tables
    assert rows(found) == table


def test_head_over_columns_stays_one_cell(tmp_path: Path) -> None:
    maker = Maker().new_page()
    for y in (100, 120, 140, 160, 180):
        maker.page.draw_line((72, y), (342, y))
    for x in (72, 162, 342):
        maker.page.draw_line((x, 100), (x, 180))
    maker.page.draw_line((252, 120), (252, 180))
    maker.text(166, 114, "Persons", 10).text(300, 114, "1999", 10)
    for i, row in enumerate([["State", "men", "women"], ["Kerala", "10", "20"], ["Orissa", "30", "40"]]):
        for x, cell in zip((76, 166, 256), row, strict=True):
            maker.text(x, 134 + i * 20, cell, 10)
    (found,) = run(tmp_path, maker).tables
    assert [cell.text for cell in found.cells if cell.col_span == 2] == ["Persons 1999"]


def test_words_printed_twice_in_cells_are_told_once(tmp_path: Path) -> None:
    maker = Maker().new_page().grid(72, 140, ROWS)
    maker.text(76.3, 174, "A-1", 10).text(166.3, 174, "oa", 10).text(256.3, 194, "1,2", 10)  # to look bold
    (table,) = run(tmp_path, maker).tables
    assert rows(table) == ROWS


def test_label_without_values_between_rows_of_values_is_a_row(tmp_path: Path) -> None:
    maker = ruled(Maker().new_page(), (72, 172, 252, 342), (100, 120, 260))
    maker.text(76, 114, "Group", 10).text(176, 114, "men", 10).text(256, 114, "women", 10)
    body = [("Town", "", ""), ("north", "1", "2"), ("south", "3", "4"), ("Country", "", ""), ("hills", "5", "6")]
    for index, row in enumerate(body):
        for x, cell in zip((76, 176, 256), row, strict=True):
            maker.text(x, 136 + 22 * index, cell, 10)
    (table,) = run(tmp_path, maker).tables
    assert rows(table) == [["Group", "men", "women"], *map(list, body)]


def test_head_of_many_lines_is_one_row(tmp_path: Path) -> None:
    maker = ruled(Maker().new_page(), (72, 172, 252, 342), (100, 160, 180, 200))
    for x, lines in ((176, ("Number", "of all", "ships")), (256, ("Number", "of lost", "ships"))):
        maker.lines(x, 114, lines, 10)
    for y, row in ((174, ("spring", "12", "1")), (194, ("autumn", "30", "4"))):
        for x, cell in zip((76, 176, 256), row, strict=True):
            maker.text(x, y, cell, 10)
    (table,) = run(tmp_path, maker).tables
    assert rows(table)[0] == ["", "Number of all ships", "Number of lost ships"]
    assert (table.n_rows, table.header_rows) == (3, 1)


def test_title_and_source_inside_the_frame_are_no_rows(tmp_path: Path) -> None:
    maker = Maker().new_page()
    for y in (100, 120, 140, 160, 180, 200):
        maker.page.draw_line((72, y), (342, y))
    for x in (72, 342):
        maker.page.draw_line((x, 100), (x, 200))
    maker.page.draw_line((200, 120), (200, 180))
    maker.text(76, 114, "Table 7. Ships that came in", 10).text(76, 194, "Source: the harbour's own book", 10)
    for y, row in ((134, ("Season", "Ships")), (154, ("spring", "12")), (174, ("autumn", "30"))):
        maker.text(76, y, row[0], 10).text(204, y, row[1], 10)
    draft = run(tmp_path, maker)
    (table,) = draft.tables
    assert rows(table) == [["Season", "Ships"], ["spring", "12"], ["autumn", "30"]]
    assert (table.number, table.caption) == ("7", "Ships that came in")
    assert [block.text for block in draft.blocks if "Source" in block.text] == ["Source: the harbour's own book"]


# --- tables without rules, by the layout model ------------------------------------------------------------------------

HARVEST = [
    ["Parish", "Wheat", "Barley", "Oats"],
    ["Northfield", "1,204", "0.74", "310"],
    ["Eastham", "998", "1.20", "287"],
    ["Southwold", "1,113", "0.91", "455"],
    ["Westbury", "876", "1.05", "301"],
    ["Kingsdown", "640", "0.88", "198"],
    ["Marshland", "733", "0.69", "240"],
]


def loose(maker: Maker, table: Sequence[Sequence[str]], y: float = 200, x: float = 90) -> Maker:
    """A table without any rule, its figures flush right."""
    for r, row in enumerate(table):
        for c, cell in enumerate(row):
            right = 0.0 if c == 0 else pymupdf.get_text_length(cell, fontsize=10)
            maker.text(x + 120 * c - right + (60 if c else 0), y + 18 * r, cell, 10)
    return maker


def test_table_without_rules_is_a_grid_and_its_words_stand_nowhere_else(tmp_path: Path) -> None:
    maker = Maker().new_page().lines(72, 80, PROSE).text(72, 170, "Table 3. The harvest of the year", 10)
    draft = run(tmp_path, loose(maker, HARVEST, 195).lines(72, 400, PROSE))
    (table,) = draft.tables
    assert rows(table) == HARVEST
    assert (table.number, table.caption, table.header_rows) == ("3", "The harvest of the year", 1)
    assert table.confidence is not None
    assert table.confidence >= 0.8
    told = " ".join(block.text for block in draft.blocks if block.kind is not BlockKind.TABLE)
    assert "Northfield" not in told
    assert draft.warnings == []


@pytest.mark.parametrize(("rotate", "rotation"), [(0, 90), (90, 0), (90, 180)])
def test_turned_table_is_the_same_table(tmp_path: Path, rotate: int, rotation: int) -> None:
    turned = pymupdf.open()
    page = turned.new_page(width=842 if rotate else 595, height=595 if rotate else 842)
    page.show_pdf_page(page.rect, loose(Maker().new_page(), HARVEST).document, 0, rotate=rotate)
    page.set_rotation(rotation)
    (table,) = run(tmp_path, bytes(turned.tobytes())).tables
    assert rows(table) == HARVEST


def test_page_of_prose_is_not_asked_of_the_model(tmp_path: Path) -> None:
    before = mupdf_layout.pages_asked()
    maker = Maker().new_page()
    for x in (60, 310):
        maker.lines(x, 80, [f"{line} {number}" for number in range(20) for line in PROSE], 8.5)
    draft = run(tmp_path, maker)
    assert draft.tables == []
    assert mupdf_layout.pages_asked() == before


def test_without_the_model_the_text_stays_and_a_warning_tells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mupdf_layout._State, "loaded", False)
    monkeypatch.setattr(mupdf_layout._State, "missing", "")
    monkeypatch.setitem(sys.modules, "onnxruntime", None)  # as if it were not installed
    draft = run(tmp_path, loose(Maker().new_page(), HARVEST))
    assert draft.tables == []
    assert draft.warnings == ["tables_unsure"]
    assert "1,204" in " ".join(block.text for block in draft.blocks)


def test_more_than_the_model_may_be_asked_is_told_and_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mupdf_layout, "MOST_OF_A_DOCUMENT", 40)
    maker = loose(Maker().new_page(), HARVEST)
    draft = run(tmp_path, loose(maker.new_page(), HARVEST, 300))
    assert [table.pages for table in draft.tables] == [[1]]
    assert draft.warnings == ["tables_unsure"]
