"""Tables of RTF: cells by their edges on the paper, merges, headers, nesting, and what careless writers leave out."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.extract import rtf_tables
from streams.extract.render import table_rows
from streams.extract.rtf_tables import CellRule, RowRule, RowText, make_table
from streams.records import CanonBody
from tests.unit.extract.test_rtf import read


def row(*cells: str, edges: str | None = None, before: str = "", intbl: str = r"\intbl") -> str:
    """A row with these cells, 1000 twips each."""
    edges = "".join(rf"\cellx{1000 * (n + 1)}" for n in range(len(cells))) if edges is None else edges
    return rf"\trowd{before}{edges}" + "".join(rf"\pard{intbl} {cell}\cell" for cell in cells) + r"\row "


def grid(body: CanonBody, number: int = 0) -> list[tuple[int, int, int, int, str]]:
    """Cells of one table: row, column, spans, text."""
    return [(c.row, c.col, c.row_span, c.col_span, c.text) for c in body.tables[number].cells]


def test_rows_and_cells(tmp_path: Path) -> None:
    body = read(tmp_path, r"Before\par " + row("a", "b") + row("c", r"d\par e") + r"\pard After\par")
    assert [b.kind.value for b in body.blocks] == ["paragraph", "table", "paragraph"]
    assert table_rows(body.tables[0]) == [["a", "b"], ["c", "d\ne"]]


@pytest.mark.parametrize(
    "rows",
    [
        r"\trowd\cellx1\cellx900 a\cell b\cell\row \trowd\cellx1\cellx900 c\cell d\cell\row ",  # no \intbl
        r"\pard\intbl a\cell b\cell\row c\cell d\cell\row ",  # no row definition
        r"\trowd\cellx500\cellx900\pard\intbl a\cell b\cell\trowd\cellx500\cellx900\row c\cell d\cell\row ",
        r"\pard\intbl a\cell b\cell{\trowd\cellx500\cellx900\row}\pard\intbl c\cell d\cell\trowd\cellx5\cellx90\row ",
        r"\trowd\cellx500\cellx900\pard\intbl a\cell b\cell\row\trowd\cellx500\cellx900\pard\intbl c\cell d",  # cut off
    ],
)
def test_what_writers_leave_out(tmp_path: Path, rows: str) -> None:
    assert table_rows(read(tmp_path, rows + (r"\pard end\par" if rows.endswith(" ") else "")).tables[0]) == [
        ["a", "b"],
        ["c", "d"],
    ]


def test_cells_of_other_widths_span_columns(tmp_path: Path) -> None:
    body = read(
        tmp_path,
        row("wide", "c", edges=r"\cellx2010\cellx3000") + row("a", "b", "c", edges=r"\cellx1000\cellx1990\cellx3000"),
    )
    assert grid(body) == [
        (0, 0, 1, 2, "wide"),
        (0, 2, 1, 1, "c"),
        (1, 0, 1, 1, "a"),
        (1, 1, 1, 1, "b"),
        (1, 2, 1, 1, "c"),
    ]


def test_merged_cells_come_once(tmp_path: Path) -> None:
    body = read(
        tmp_path,
        row("A", "", "x", edges=r"\clmgf\cellx1000\clmrg\cellx2000\clvmgf\cellx3000")
        + row("1", "2", "", edges=r"\cellx1000\cellx2000\clvmrg\cellx3000")
        + row("3", "4", "y"),
    )
    assert grid(body) == [
        (0, 0, 1, 2, "A"),
        (0, 2, 2, 1, "x"),
        (1, 0, 1, 1, "1"),
        (1, 1, 1, 1, "2"),
        (2, 0, 1, 1, "3"),
        (2, 1, 1, 1, "4"),
        (2, 2, 1, 1, "y"),
    ]


def test_header_rows_are_those_that_repeat_or_look_so(tmp_path: Path) -> None:
    for first, expected in ((row("a", "b", before=r"\trhdr"), 1), (row(r"{\b a}", r"{\b b}"), 1), (row("a", "b"), 0)):
        assert read(tmp_path, first + row("c", "d")).tables[0].header_rows == expected


def test_tables_in_cells_stand_after_the_outer_table(tmp_path: Path) -> None:
    inner = (
        r"\pard\intbl\itap2 n1\nestcell{\nonesttables\par}n2\nestcell{\nonesttables\par}"
        r"\pard\intbl\itap2{\*\nesttableprops\trowd\cellx500\cellx900\nestrow}{\nonesttables\par}"
    )
    body = read(
        tmp_path,
        r"\trowd\cellx1000\cellx2000\pard\intbl out{\par}"
        + inner
        + r"\pard\intbl\itap1 more\cell\pard\intbl b\cell\row\pard end\par",
    )
    assert [b.kind.value for b in body.blocks] == ["table", "table", "paragraph"]
    assert table_rows(body.tables[0]) == [["out\nmore", "b"]]
    assert table_rows(body.tables[1]) == [["n1", "n2"]]
    assert body.blocks[1].ref == body.blocks[0].id


def test_two_tables_without_a_paragraph_between(tmp_path: Path) -> None:
    body = read(
        tmp_path,
        row("a", "b", before=r"\irow0")
        + row("c", "d", before=r"\irow1")
        + row("e", "f", before=r"\irow0")
        + r"\pard x",
    )
    assert [table_rows(table) for table in body.tables] == [[["a", "b"], ["c", "d"]], [["e", "f"]]]


def test_a_frame_of_one_cell_is_no_table(tmp_path: Path) -> None:
    body = read(tmp_path, row(r"One\par Two") + r"\pard x")
    assert [(b.kind.value, b.text) for b in body.blocks] == [
        ("paragraph", "One"),
        ("paragraph", "Two"),
        ("paragraph", "x"),
    ]


def test_notes_and_hidden_text_of_cells_are_kept(tmp_path: Path) -> None:
    body = read(tmp_path, row(r"a{\footnote\chftn  note}", r"b{\v secret}") + r"\pard x\par")
    assert [(b.kind.value, b.text, b.hidden) for b in body.blocks] == [
        ("table", "a\tb", False),
        ("paragraph", "secret", True),
        ("paragraph", "x", False),
        ("footnote", "note", False),
    ]


def test_edges_that_do_not_grow_give_columns_by_order() -> None:
    rule = RowRule(cells=[CellRule(right) for right in (500, 400, 900)])
    table = make_table([RowText(["a", "b", "c"], [False] * 3, rule)])
    assert table is not None
    assert [(c.col, c.col_span, c.text) for c in table.cells] == [(0, 1, "a"), (1, 1, "b"), (2, 1, "c")]


def test_a_grid_beyond_all_measure_becomes_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rtf_tables, "MAX_POSITIONS", 3)
    body = read(tmp_path, row("a", "b") + row("c", "d") + r"\pard x\par")
    assert [b.text for b in body.blocks] == ["a\tb", "c\td", "x"]
    assert "table_too_large" in body.warnings
