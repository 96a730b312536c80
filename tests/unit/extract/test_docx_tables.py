"""Word tables as grids: every cell once, spans and headers right."""

from __future__ import annotations

from pathlib import Path

from streams.records import BlockKind, Cell, Dropped
from tests.unit.extract.docx_files import cell, make, paragraph, read, row, run, table

RESTART, CONTINUE = '<w:vMerge w:val="restart"/>', "<w:vMerge/>"


def span(columns: int) -> str:
    return f'<w:gridSpan w:val="{columns}"/>'


def shape(cells: list[Cell]) -> list[tuple[int, int, int, int, str]]:
    return [(found.row, found.col, found.row_span, found.col_span, found.text) for found in cells]


def test_cells_merged_across_down_and_both(tmp_path: Path) -> None:
    body = table(
        row("0", cell("0-12", span(2)), "0-3"),
        row(cell("12-0", RESTART), "1", "2", "3"),
        row(cell("", CONTINUE), cell("block", span(2) + RESTART), "x"),
        row("3", cell("lost", span(2) + CONTINUE), "y"),
    )
    draft = read(make(tmp_path / "a", body))
    (grid,) = draft.tables
    assert (grid.n_rows, grid.n_cols, grid.header_rows) == (4, 4, 0)
    assert shape(grid.cells) == [
        (0, 0, 1, 1, "0"),
        (0, 1, 1, 2, "0-12"),
        (0, 3, 1, 1, "0-3"),
        (1, 0, 2, 1, "12-0"),
        (1, 1, 1, 1, "1"),
        (1, 2, 1, 1, "2"),
        (1, 3, 1, 1, "3"),
        (2, 1, 2, 2, "block"),
        (2, 3, 1, 1, "x"),
        (3, 0, 1, 1, "3"),
        (3, 3, 1, 1, "y"),
    ]
    assert draft.blocks[0].text == "0\t0-12\t\t0-3\n12-0\t1\t2\t3\n\tblock\t\tx\n3\t\t\ty"
    assert draft.dropped == [Dropped(what="covered_cell_text", count=1)], "Word does not show it"


def test_old_horizontal_merge_and_rows_that_begin_late(tmp_path: Path) -> None:
    body = table(
        row(cell("wide", '<w:hMerge w:val="restart"/>'), cell("", "<w:hMerge/>"), "c"),
        row("late", "d", properties='<w:gridBefore w:val="1"/>'),
    )
    (grid,) = read(make(tmp_path / "a", body)).tables
    assert shape(grid.cells) == [(0, 0, 1, 2, "wide"), (0, 2, 1, 1, "c"), (1, 1, 1, 1, "late"), (1, 2, 1, 1, "d")]


def test_header_rows_marked_by_look_or_by_bold(tmp_path: Path) -> None:
    data = [row("a", "1"), row("b", "2")]
    marked = table(row("h", "i", properties="<w:tblHeader/>"), row("j", "k", properties="<w:tblHeader/>"), *data)
    look = table(row("h", "i"), *data, properties='<w:tblLook w:val="04A0"/>')
    no_look = table(row("h", "i"), *data, properties='<w:tblLook w:val="0600"/>')
    bold = table(row(cell(paragraph(run("h", "<w:b/>"))), cell(paragraph(run("i", "<w:b/>")))), *data)
    plain = table(row("h", "i"), *data)
    draft = read(make(tmp_path / "a", "<w:p/>".join([marked, look, no_look, bold, plain])))
    assert [found.header_rows for found in draft.tables] == [2, 1, 0, 1, 0]
    assert [found.header for found in draft.tables[1].cells] == [True, True, False, False, False, False]


def test_merged_header_cell_takes_its_rows_along(tmp_path: Path) -> None:
    body = table(
        row(cell("Bird", RESTART), cell("Count", span(2))),
        row(cell("", CONTINUE), "May", "June"),
        row("Heron", "3", "4"),
        properties='<w:tblLook w:firstRow="1"/>',
    )
    assert read(make(tmp_path / "a", body)).tables[0].header_rows == 2


def test_deleted_rows_are_out_and_inserted_ones_in(tmp_path: Path) -> None:
    body = table(
        row("a", "b"),
        row("c", "d", properties='<w:del w:id="1"/>'),
        row("e", "f", properties='<w:ins w:id="2"/>'),
    )
    draft = read(make(tmp_path / "a", body))
    assert draft.blocks[0].text == "a\tb\ne\tf"
    assert draft.metadata["deleted_revisions"] == "1"


def test_nested_table_is_a_table_of_its_own(tmp_path: Path) -> None:
    inner = table(row("x", "y"), row("z", "w"))
    body = table(row("a", cell(paragraph("before") + inner + paragraph("after"))), row("c", "d"))
    draft = read(make(tmp_path / "a", body))
    assert [block.text for block in draft.blocks] == ["a\tbefore after\nc\td", "x\ty\nz\tw"]
    assert draft.refs == {1: 0}
    assert draft.tables[0].cells[1].text == "before\nafter"


def test_one_cell_is_a_frame_and_its_text_stays_text(tmp_path: Path) -> None:
    draft = read(make(tmp_path / "a", table(row(cell(paragraph("Notice", "H1") + paragraph("Mind the step."))))))
    assert [block.kind for block in draft.blocks] == [BlockKind.HEADING, BlockKind.PARAGRAPH]
    assert draft.tables == []


def test_lists_in_cells_keep_their_markers_and_content_controls_their_text(tmp_path: Path) -> None:
    controlled = f"<w:sdt><w:sdtContent>{cell('controlled')}</w:sdtContent></w:sdt>"
    body = table(
        f"<w:tr>{cell('a')}{controlled}</w:tr>", f"<w:sdt><w:sdtContent>{row('b', 'c')}</w:sdtContent></w:sdt>"
    )
    assert read(make(tmp_path / "a", body)).blocks[0].text == "a\tcontrolled\nb\tc"


def test_empty_table_is_counted(tmp_path: Path) -> None:
    draft = read(make(tmp_path / "a", paragraph("Text") + table(row("", ""), row("", ""))))
    assert draft.tables == []
    assert draft.dropped == [Dropped(what="empty_tables", count=1)]


def test_absurd_spans_cost_nothing_and_lose_no_text(tmp_path: Path) -> None:
    wide = row(*(cell("w", span(999_999_999)) for _ in range(600)))
    draft = read(make(tmp_path / "a", table(wide, row("a"), row("b"))))
    assert {"impossible_span", "table_too_large"} <= set(draft.warnings)
    assert draft.tables == []
    assert [block.text for block in draft.blocks[1:]] == ["a", "b"]


def test_hidden_rows_are_hidden_blocks_and_no_rows(tmp_path: Path) -> None:
    secret = row("secret", "99", properties="<w:hidden/>")
    frame = table(row("shown"), row("behind", properties="<w:hidden/>"))
    body = table(
        row("a", "1"), secret, row(cell("c" + ""), cell(frame)), row("d", "4", properties='<w:hidden w:val="0"/>')
    )
    draft = read(make(tmp_path / "a", body + frame))
    assert [(block.text, block.hidden) for block in draft.blocks] == [
        ("a\t1\nc\nd\t4", False),
        ("secret\t99", True),
        ("shown", False),
        ("behind", True),
        ("shown", False),
        ("behind", True),
    ]
    assert [table.n_rows for table in draft.tables] == [3]
    assert draft.warnings == ["hidden_text"]
