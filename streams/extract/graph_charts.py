"""Charts of Microsoft Graph, which DOC and PPT hold as objects: a data sheet, and a chart of what it includes.

Source: [MS-OGRAPH] 2.4, the records BOF, Number, Label, Format, ExcludeRows, ExcludeColumns and Orient.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from itertools import chain

from streams.extract.grids import check_size
from streams.extract.sheet_formats import BUILT_IN, shown
from streams.extract.sheet_model import Drawn
from streams.extract.sheet_xls_charts import read_chart, records, short_string
from streams.records import Cell, Table

START = b"\x09\x08\x10\x00\x80\x06\x00\x80"
"""BOF of a chart of Graph 97 or later."""
_NUMBER, _LABEL, _FORMAT = 0x0003, 0x0004, 0x041E
_ROWS, _COLUMNS, _ORIENT = 0x1053, 0x1054, 0x1055


def graph_chart(book: bytes) -> Drawn | None:
    """The chart in the stream Workbook with its values, categories by series; null where none of Graph's is.

    Errors: DocumentError `too_large` for more values than a canon carries.
    """
    at = book.find(START)
    if at < 0:
        return None
    chart = read_chart(book, at, len(book))
    return Drawn(text=chart.text, figure=True, table=_table(book, at, chart.title))


def _table(book: bytes, at: int, title: str) -> Table | None:
    """What the chart shows of its data sheet, whose first row and column name series and categories."""
    formats = dict(BUILT_IN)
    texts: dict[tuple[int, int], str] = {}
    rows = columns = [0]
    in_rows = True
    for number, data in chain(records(book, 0, at), records(book, at, len(book))):
        if number == _FORMAT and len(data) > 4:
            formats[int.from_bytes(data[:2], "little")] = short_string(data[2], data[4:])
        elif number == _NUMBER and len(data) == 15:
            row, col, _, code, value = struct.unpack("<HHBHd", data)
            texts[row, col] = shown(value, formats.get(code, "General"))[0]
        elif number == _LABEL and len(data) > 8:
            row, col = struct.unpack_from("<HH", data)
            texts[row, col] = short_string(data[7], data[8:])
        elif number == _ROWS:
            rows = _bounds(data)
        elif number == _COLUMNS:
            columns = _bounds(data)
        elif number == _ORIENT and data:
            in_rows = data[0] == 1
    kept = {place: text for place, text in texts.items() if _is_in(rows, place[0]) and _is_in(columns, place[1])}
    if in_rows:  # series stand in columns, as in the charts of all other formats
        kept = {(col, row): text for (row, col), text in kept.items()}
    if not any(row and col for row, col in kept):
        return None
    check_size(len(kept), sum(map(len, kept.values())), "A chart")
    row_of = {row: at for at, row in enumerate(sorted({0, *(row for row, _ in kept)}))}
    col_of = {col: at for at, col in enumerate(sorted({0, *(col for _, col in kept)}))}
    cells = [
        Cell(row=row_of[row], col=col_of[col], text=text, header=row == 0 or col == 0)
        for (row, col), text in sorted(kept.items())
    ]
    return Table(
        n_rows=len(row_of), n_cols=len(col_of), header_rows=1, header_cols=1, caption=title or None, cells=cells
    )


def _bounds(data: bytes) -> list[int]:
    """Where what is included begins and ends, in turn."""
    return [int.from_bytes(data[at : at + 2], "little") for at in range(0, len(data) - 1, 2)]


def _is_in(bounds: list[int], place: int) -> bool:
    return bisect_right(bounds, place) % 2 == 1
