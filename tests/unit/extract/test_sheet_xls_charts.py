"""Charts of binary workbooks, made record by record."""

from __future__ import annotations

import struct
import time

import pytest

from streams.errors import DocumentError
from streams.extract.render import table_rows
from streams.extract.sheet_xls_charts import START, charts_of

EOF = struct.pack("<HH", 0x000A, 0)
SHEET = struct.pack("<HHHH", 0x0809, 16, 0x0600, 0x0010) + bytes(12)


def record(number: int, data: bytes = b"") -> bytes:
    return struct.pack("<HH", number, len(data)) + data


def said(text: str) -> bytes:
    """SeriesText."""
    return record(0x100D, b"\0\0" + bytes([len(text), 1]) + text.encode("utf-16-le"))


def titled(text: str, place: int) -> bytes:
    return record(0x1025, bytes(32)) + said(text) + record(0x1027, struct.pack("<HHH", place, 0, 0))


def series(name: str) -> bytes:
    return record(0x1003, bytes(12)) + said(name)


def label(point: int, text: str) -> bytes:
    return record(0x0204, struct.pack("<HHHHB", point, 0, 0, len(text), 0) + text.encode("latin-1"))


def number(point: int, of: int, value: float) -> bytes:
    return record(0x0203, struct.pack("<HHHd", point, of, 0, value))


def cache(kind: int) -> bytes:
    return record(0x1065, struct.pack("<H", kind))


def chart(*parts: bytes) -> bytes:
    return START + bytes(12) + b"".join(parts) + EOF


COSTS = chart(
    series("2031"),
    series("2032"),
    titled("Costs", 1),
    titled("Euro", 2),
    cache(1) + number(0, 0, 41) + number(1, 0, 43.5) + number(0, 1, 7),
    cache(2) + label(0, "Kiel") + label(1, "Ulm"),
)


def test_charts_without_an_end_are_read_once() -> None:
    began = time.process_time()
    book = (START + bytes(12) + titled("t", 1)) * 50_000
    assert [one.text for one in charts_of(book, 0, len(book))] == ["t"]
    assert time.process_time() - began < 5


def test_titles_and_values() -> None:
    book = SHEET + record(0x0203, bytes(14)) + COSTS + record(0x0203, bytes(14)) + EOF
    (found,) = charts_of(book, 0, len(book))
    assert (found.text, found.figure) == ("Costs\nEuro", True)
    assert found.table is not None
    assert table_rows(found.table) == [["", "2031", "2032"], ["Kiel", "41", "7"], ["Ulm", "43.5", ""]]
    assert (found.table.header_rows, found.table.header_cols, found.table.caption) == (1, 1, "Costs")


def test_only_those_of_the_sheet() -> None:
    book = SHEET + COSTS + EOF + SHEET + COSTS + chart(titled("Other", 1)) + EOF
    end = len(SHEET + COSTS + EOF)
    assert [one.text for one in charts_of(book, 0, end)] == ["Costs\nEuro"]
    assert [(one.text, one.table is None) for one in charts_of(book, end, len(book))] == [
        ("Costs\nEuro", False),
        ("Other", True),
    ]


def test_a_chart_that_says_nothing_is_left_out() -> None:
    book = SHEET + chart(series("")) + EOF
    assert charts_of(book, 0, len(book)) == []


def test_damaged_records_cost_what_they_hold() -> None:
    book = SHEET + COSTS
    for end in range(len(SHEET), len(book)):
        charts_of(book[:end], 0, end)
    broken = chart(titled("Costs", 1), cache(1), record(0x0203, b"\0"), record(0x0204, bytes(9)), record(0x1065))
    assert [one.text for one in charts_of(broken, 0, len(broken))] == ["Costs"]


def test_values_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streams.extract.grids.MAX_CELLS", 10)
    book = chart(cache(1), *(number(at, 0, 1) for at in range(9)))
    with pytest.raises(DocumentError) as caught:
        charts_of(book, 0, len(book))
    assert caught.value.problem == "too_large"
