"""The measure of tables: relations between neighbouring cells."""

from __future__ import annotations

from pathlib import Path

from bench.tables import Area, Found, compare, relations, true_tables

TRUTH = """<document><table id="1">
<region id="1" page="2" row-increment="0" col-increment="0">
<cell start-row="0" start-col="0" end-col="1"><content>Men and women</content></cell>
<cell start-row="1" start-col="0"><content>1,2</content></cell>
<cell start-row="1" start-col="1"><content>7</content></cell></region>
<region id="1" page="2" row-increment="0" col-increment="2">
<cell start-row="1" start-col="0"><content>9</content></cell></region>
</table></document>"""


def area(row: int, col: int, text: str) -> Area:
    return Area(row, col, row, col, text)


def test_neighbours_right_and_below_with_blank_cells_skipped() -> None:
    cells = [area(0, 0, "a"), area(0, 1, ""), area(0, 2, "b"), area(1, 0, " "), area(2, 0, "c d")]
    assert relations(cells) == {("right", "A", "B"): 1, ("below", "A", "CD"): 1}


def test_cell_over_two_columns_has_both_below_it_and_no_relation_with_itself() -> None:
    cells = [Area(0, 0, 0, 1, "head"), area(1, 0, "x"), area(1, 1, "y")]
    assert relations(cells) == {("below", "HEAD", "X"): 1, ("below", "HEAD", "Y"): 1, ("right", "X", "Y"): 1}


def test_truth_is_read_with_its_regions_side_by_side(tmp_path: Path) -> None:
    path = tmp_path / "x-str.xml"
    path.write_text(TRUTH, "utf-8")
    (table,) = true_tables(path)
    assert table.pages == {2}
    assert table.cells == [Area(0, 0, 0, 1, "Men and women"), area(1, 0, "1,2"), area(1, 1, "7"), area(1, 2, "9")]


def test_a_table_where_none_is_counts_as_wrong() -> None:
    true = Found(frozenset({1}), [area(0, 0, "a"), area(0, 1, "b")])
    wrong = Found(frozenset({3}), [area(0, 0, "a"), area(0, 1, "b")])
    assert compare([true], [true]) == (1, 1, 1)
    assert compare([true], [true, wrong]) == (1, 2, 1)
    assert compare([true], [wrong]) == (0, 1, 1)


def test_a_table_over_pages_answers_for_the_tables_of_each_page_and_for_one_of_a_page() -> None:
    first = Found(frozenset({1}), [area(0, 0, "a"), area(0, 1, "b")])
    second = Found(frozenset({2}), [area(0, 0, "c"), area(0, 1, "d")])
    third = Found(frozenset({2}), [area(0, 0, "a"), area(1, 0, "c")])
    joined = Found(frozenset({1, 2}), [area(0, 0, "a"), area(0, 1, "b"), area(1, 0, "c"), area(1, 1, "d")])
    assert compare([first, second], [joined]) == (2, 4, 2)
    assert compare([first, second, third], [joined]) == (2, 4, 3)
