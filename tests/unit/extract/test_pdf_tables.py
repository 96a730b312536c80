"""Ruled tables and captioned figures of PDFs."""

from __future__ import annotations

from pathlib import Path

import pymupdf

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
