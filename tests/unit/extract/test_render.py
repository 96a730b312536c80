"""Markdown, text and JSON of a canon, and the two views of a table."""

from __future__ import annotations

import msgspec

from streams.extract.outcome import Draft
from streams.extract.render import table_records, table_rows, to_json, to_markdown, to_text
from streams.records import BlockKind, CanonBody, Cell, Link, Table
from tests.unit.extract.drafts import block, finished


def cell(row: int, col: int, text: str, rows: int = 1, cols: int = 1) -> Cell:
    return Cell(row=row, col=col, text=text, row_span=rows, col_span=cols)


MERGED = Table(
    n_rows=4,
    n_cols=3,
    header_rows=2,
    cells=[
        cell(0, 0, "Place", rows=2),
        cell(0, 1, "Spring", cols=2),
        cell(1, 1, "n"),
        cell(1, 2, "n"),
        cell(2, 0, "Rose", rows=2),
        cell(2, 1, "1"),
        cell(2, 2, "NA"),
        cell(3, 1, "all <closed>", cols=2),
    ],
)


def test_a_merged_cell_says_once_what_it_says() -> None:
    assert table_rows(MERGED) == [
        ["Place", "Spring", ""],
        ["", "n", "n"],
        ["Rose", "1", "NA"],
        ["", "all <closed>", ""],
    ]


def test_records_name_columns_by_all_header_rows() -> None:
    assert table_records(MERGED) == [
        {"Place": "Rose", "Spring / n": "1", "Spring / n (2)": "NA"},
        {"Place": "Rose", "Spring / n": "all <closed>", "Spring / n (2)": ""},
    ]


def test_columns_without_a_header_are_numbered() -> None:
    table = Table(n_rows=1, n_cols=2, cells=[cell(0, 0, "a"), cell(0, 1, "0")])
    assert table_records(table) == [{"1": "a", "2": "0"}]


def test_a_grid_beyond_measure_is_not_spread_out() -> None:
    table = Table(n_rows=10_000_000, n_cols=10_000_000, cells=[cell(1, 5, "x"), cell(0, 0, "a"), cell(0, 9, "b")])
    assert table_rows(table) == [["a", "b"], ["x"]]
    assert table_records(table) == []


def test_cells_outside_their_grid_do_no_harm() -> None:
    table = Table(
        n_rows=1, n_cols=1, header_rows=0, cells=[cell(0, 0, "a", rows=9, cols=9), cell(7, 7, "x"), cell(0, -1, "y")]
    )
    assert table_rows(table) == [["a"]]
    assert table_records(table) == [{"1": "a"}]


def whole() -> CanonBody:
    simple = Table(
        n_rows=2,
        n_cols=2,
        header_rows=1,
        cells=[cell(0, 0, "a"), cell(0, 1, "b"), cell(1, 0, "x|y"), cell(1, 1, "1\n2")],
    )
    return finished(
        Draft(
            blocks=[
                block(BlockKind.TITLE, "The *title*"),
                block(BlockKind.HEADING, "Part", level=2),
                block(
                    BlockKind.PARAGRAPH, "See the map.\n# no heading", links=[Link(text="the map", target="m (1).html")]
                ),
                block(BlockKind.PARAGRAPH, "click", links=[Link(text="click", target="javascript:alert(1)")]),
                block(BlockKind.LIST_ITEM, "one", level=1, marker="3."),
                block(BlockKind.LIST_ITEM, "two", level=2, marker="•"),
                block(BlockKind.CODE, "```\nx"),
                block(BlockKind.QUOTE, "q\nr"),
                block(BlockKind.TABLE, "", table=0),
                block(BlockKind.TABLE, "", table=1),
                block(BlockKind.PAGE_NUMBER, "7"),
            ],
            tables=[simple, MERGED],
        )
    )


def test_markdown() -> None:
    assert to_markdown(whole()).split("\n\n") == [
        "# The \\*title\\*",
        "## Part",
        "See [the map](<m%20(1).html>).  \n\\# no heading",
        "click",
        "3. one\n    - two",
        "````\n```\nx\n````",
        "> q\n> r",
        "| a | b |\n| --- | --- |\n| x\\|y | 1<br>2 |",
        "<table><tr><th rowspan=\"2\">Place</th><th colspan=\"2\">Spring</th></tr>\n<tr><th>n</th><th>n</th></tr>\n"
        "<tr><td rowspan=\"2\">Rose</td><td>1</td><td>NA</td></tr>\n"
        "<tr><td colspan=\"2\">all &lt;closed&gt;</td></tr>\n</table>\n",
    ]  # fmt: skip


def test_text_and_json() -> None:
    body = whole()
    assert to_text(body).startswith("The *title*\n\nPart\n\nSee the map.")
    assert "3. one\n  • two\n\n" in to_text(body)
    assert not to_text(body).endswith("7")
    assert msgspec.json.decode(to_json(body), type=CanonBody) == body
