"""Charts of Microsoft Graph, made record by record."""

from __future__ import annotations

import struct

from streams.extract.graph_charts import START, graph_chart
from streams.extract.render import table_rows
from tests.unit.extract.test_sheet_xls_charts import EOF, record, titled

BOOK = struct.pack("<HHHH", 0x0809, 16, 0x0680, 0x0005) + bytes(12)


def number(row: int, col: int, value: float, code: int = 0) -> bytes:
    return record(0x0003, struct.pack("<HHBHd", row, col, 0, code, value))


def label(row: int, col: int, text: str) -> bytes:
    raw = text.encode("utf-16-le")
    return record(0x0004, struct.pack("<HHBHBB", row, col, 0, 0, len(text), 1) + raw)


def bounds(kind: int, *places: int) -> bytes:
    return record(kind, struct.pack(f"<{len(places)}H", *places))


def graph(*parts: bytes, by_rows: bool = True, formats: bytes = b"") -> bytes:
    """The stream Workbook of an object."""
    orient = record(0x1055, struct.pack("<HI", by_rows, 0))
    return BOOK + formats + EOF + START + bytes(12) + orient + b"".join(parts) + EOF


COSTS = graph(
    *(label(0, 1, "Kiel"), label(0, 2, "Ulm")),
    *(label(1, 0, "Größe"), number(1, 1, 41), number(1, 2, 43.5)),
    *(label(2, 0, "Share"), number(2, 1, 0.125, 10), number(2, 2, 36000, 14)),
    titled("Costs", 1),
    titled("Euro", 2),
)


def test_values_as_shown_with_categories_in_rows() -> None:
    chart = graph_chart(COSTS)
    assert chart is not None
    assert chart.text == "Costs\nEuro"
    assert chart.table is not None
    assert table_rows(chart.table) == [["", "Größe", "Share"], ["Kiel", "41", "12.50%"], ["Ulm", "43.5", "1998-07-24"]]
    assert (chart.table.caption, chart.table.header_rows, chart.table.header_cols) == ("Costs", 1, 1)


def test_series_in_columns_stay() -> None:
    chart = graph_chart(graph(label(0, 1, "Sum"), label(1, 0, "Kiel"), number(1, 1, 7), by_rows=False))
    assert chart is not None
    assert chart.table is not None
    assert table_rows(chart.table) == [["", "Sum"], ["Kiel", "7"]]


def test_rows_and_columns_that_the_chart_leaves_out() -> None:
    cells = [label(0, col, f"c{col}") for col in (1, 2, 3)] + [label(row, 0, f"s{row}") for row in (1, 2, 3)]
    cells += [number(row, col, row * 10 + col) for row in (1, 2, 3) for col in (1, 2, 3)]
    chart = graph_chart(graph(*cells, bounds(0x1053, 0, 2, 3, 4), bounds(0x1054, 0, 3)))
    assert chart is not None
    assert chart.table is not None
    assert table_rows(chart.table) == [["", "s1", "s3"], ["c1", "11", "31"], ["c2", "12", "32"]]


def test_formats_of_its_own() -> None:
    own = record(0x041E, struct.pack("<HHB", 60, 6, 0) + b'0" km"')
    chart = graph_chart(graph(label(0, 1, "a"), label(1, 0, "s"), number(1, 1, 3, 60), formats=own))
    assert chart is not None
    assert chart.table is not None
    assert table_rows(chart.table)[1] == ["a", "3 km"]


def test_no_graph_and_no_values() -> None:
    assert graph_chart(BOOK + EOF) is None
    empty = graph_chart(graph(label(0, 1, "only a name"), titled("Costs", 1)))
    assert empty is not None
    assert (empty.text, empty.table) == ("Costs", None)


def test_damaged_records_end_it() -> None:
    def texts(book: bytes) -> set[str]:
        chart = graph_chart(book)
        return set() if chart is None or chart.table is None else {cell.text for cell in chart.table.cells}

    whole = texts(COSTS)
    assert whole
    found = [texts(COSTS[:size]) for size in range(len(COSTS))]
    for text in set().union(*found):  # a label that is cut is there as far as it goes
        assert any(full.startswith(text.rstrip("\ufffd")) for full in whole)
    assert not found[0]
    assert any(found)
