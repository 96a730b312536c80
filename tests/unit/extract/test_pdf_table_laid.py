"""What the layout model takes for a table and is none stays text; what is one has a confidence."""

from __future__ import annotations

from collections.abc import Sequence

from streams.extract.pdf_grid import PageTable
from streams.extract.pdf_lines import Frame, Line
from streams.extract.pdf_table_laid import fill
from streams.extract.tools.mupdf import Word
from streams.extract.tools.mupdf_layout import LaidCell, LaidTable

FRAME = Frame(0, 595, 842)
WIDTH, HEIGHT = 250.0, 20.0
LONG = "the weather was fair and the boats went out again before the tide turned"


def laid(rows: Sequence[Sequence[str]], more: Sequence[Line] = (), width: float = WIDTH) -> PageTable | None:
    """The table that a grid of equal cells gives when the texts stand in them, with more lines on the page."""
    n_cols = len(rows[0])
    grid = LaidTable(
        us=[width * col for col in range(n_cols + 1)],
        vs=[HEIGHT * row for row in range(len(rows) + 1)],
        cells=[LaidCell(row, col, 1, 1) for row in range(len(rows)) for col in range(n_cols)],
        header_rows=0,
    )
    lines = [
        line(text, width * col + 5, HEIGHT * row)
        for row, texts in enumerate(rows)
        for col, text in enumerate(texts)
        if text
    ]
    lines += more
    return fill(grid, [word for one in lines for word in words(one)], lines, FRAME)


def line(text: str, u0: float, top: float) -> Line:
    u1 = u0 + 3 * len(text)
    return Line(text, u0, top + 5, u1, top + 15, top + 13, 10, bold=False, italic=False, mono=False)


def words(one: Line) -> list[Word]:
    found, at = [], one.u0
    for text in one.text.split(" "):
        found.append(Word((at, one.v0, at + 3 * len(text), one.v1), text))
        at += 3 * (len(text) + 1)
    return found


def texts(table: PageTable) -> list[str]:
    return [cell.text for cell in table.cells]


def test_grid_of_values_is_a_table_and_sure() -> None:
    table = laid([["Wood", "Pieces"], ["oak", "12"], ["pine", "0.74"], ["ash", "7"]])
    assert table is not None
    assert texts(table) == ["Wood", "Pieces", "oak", "12", "pine", "0.74", "ash", "7"]
    assert (table.header_rows, table.confidence) == (1, 1.0)


def test_table_with_gaps_is_less_sure() -> None:
    table = laid([["Wood", "Pieces", "Price"], ["oak", "", ""], ["pine", "1", ""], ["ash", "", "7"]])
    assert table is not None
    assert table.confidence is not None
    assert table.confidence < 1.0


def test_columns_of_prose_are_none() -> None:
    assert laid([[LONG, LONG] for _ in range(6)]) is None


def test_text_that_runs_over_the_columns_is_none() -> None:
    assert laid([[LONG + " " + LONG, ""] if row % 2 else ["oak", "12"] for row in range(8)]) is None


def test_paragraph_beside_a_few_short_cells_is_none() -> None:
    assert laid([["Tag", "Kind"], ["a 0 1", " ".join([LONG] * 3)], ["b", "c"]], width=700) is None


def test_list_is_none() -> None:
    assert laid([[f"{n}.", "a thing to do"] for n in range(1, 7)]) is None


def test_listing_with_numbers_is_none() -> None:
    code = ["for (var i = 2; i < 100; ++i) {", "if (!primes[i])", "continue;", "sum += i;", "}", "write(sum)"]
    assert laid([[str(n), text] for n, text in enumerate(code, 1)]) is None
    items = ["I often become confused", "I make errors", "It is frustrating", "It is rigid", "It is easy to use"]
    assert laid([[str(n), text] for n, text in enumerate(items, 1)]) is not None


def test_contents_are_none() -> None:
    titles = ["The harbour", "The lighthouse", "Boats and crews", "Weather signs", "The old quay"]
    assert laid([[title, str(page)] for title, page in zip(titles, (3, 9, 14, 14, 31), strict=True)]) is None


def test_figures_of_a_chart_are_none() -> None:
    assert laid([["30", "", "20"], ["", "15", "10"], ["5", "1", ""]]) is None


def test_full_grid_of_figures_is_a_table() -> None:
    assert laid([["30", "1", "20"], ["4", "15", "10"], ["5", "1", "7"]]) is not None


def test_dots_that_lead_to_a_value_are_no_text() -> None:
    table = laid([["oak ............", "12"], ["pine . . . .", "7"], ["ash", "3"]])
    assert table is not None
    assert texts(table) == ["oak", "12", "pine", "7", "ash", "3"]


def test_line_that_begins_in_the_grid_and_ends_far_outside_is_not_torn() -> None:
    rows = [["Wood", "Pieces"], ["oak", "12"], ["pine", "0.74"], ["ash", "7"]]
    table = laid(rows, [line("outside " * 40, WIDTH + 100, 2 * HEIGHT)])
    assert table is not None
    assert "outside" not in " ".join(texts(table))


def test_words_over_the_edge_of_a_line_of_the_grid_are_in_its_last_column() -> None:
    rows = [["Wood", "Remark"], ["oak", "good"], ["pine", "old"], ["ash", " ".join(["grey"] * 20)]]
    table = laid(rows)
    assert table is not None
    assert texts(table)[-1].count("grey") == 20
