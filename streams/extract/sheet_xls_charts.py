"""Charts in XLS sheets ([MS-XLS] 2.1.7.20.1): their titles, and the values that were last drawn.

A chart is a run of records of its own inside those of its sheet. The values stand in it again, so that it can be drawn
when what it shows is elsewhere.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

from streams.extract.grids import check_size
from streams.extract.sheet_formats import general
from streams.extract.sheet_model import Drawn
from streams.records import Cell, Table

MAX_CHARTS = 1_000
"""Charts of one sheet that are read."""
START = b"\x09\x08\x10\x00\x00\x06\x20\x00"
"""BOF of a chart in BIFF 8."""

_BOF, _EOF, _NUMBER, _LABEL = 0x0809, 0x000A, 0x0203, 0x0204
_SERIES, _SERIES_TEXT, _TEXT, _LINK, _CACHE = 0x1003, 0x100D, 0x1025, 0x1027, 0x1065
_VALUES, _CATEGORIES = 1, 2
_CHART_TITLE = 1


@dataclass
class Chart:
    """What the records of a chart say."""

    title: str = ""
    texts: list[str] = field(default_factory=list)  # titles of axes and labels
    names: list[str] = field(default_factory=list)  # of the series
    categories: dict[int, str] = field(default_factory=dict)
    values: dict[tuple[int, int], str] = field(default_factory=dict)  # point, series
    end: int = 0  # where its last record ends

    @property
    def text(self) -> str:
        """Its title and the others, each once."""
        return "\n".join(dict.fromkeys(one for one in (self.title, *self.texts) if one))


def charts_of(book: bytes, start: int, end: int) -> list[Drawn]:
    """The charts of the sheet whose records stand in `book` from `start` on and before `end`.

    Errors: DocumentError `too_large` for more values than a canon carries.
    """
    found: list[Drawn] = []
    at = book.find(START, start, end)
    while at >= 0 and len(found) < MAX_CHARTS:
        chart = read_chart(book, at, end)
        table = _table(chart)
        if chart.text or table is not None:
            found.append(Drawn(text=chart.text, figure=True, table=table))
        at = book.find(START, max(chart.end, at + len(START)), end)
    return found


def records(book: bytes, at: int, end: int) -> Iterator[tuple[int, bytes]]:
    """Records after the BOF at `at`, up to the EOF that belongs to it."""
    depth = 0
    while at + 4 <= end:
        number, size = struct.unpack_from("<HH", book, at)
        depth += (number == _BOF) - (number == _EOF)
        if depth == 0:
            return
        yield number, bytes(book[at + 4 : at + 4 + size])
        at += 4 + size


def read_chart(book: bytes, at: int, end: int) -> Chart:
    """The chart whose BOF stands at `at`."""
    chart = Chart()
    cache = 0
    said = ""
    in_series = False
    chart.end = at
    for number, data in records(book, at, end):
        chart.end += 4 + len(data)
        if number == _SERIES:
            chart.names.append("")
            in_series = True
        elif number == _TEXT:
            said, in_series = "", False
        elif number == _SERIES_TEXT and len(data) > 4:
            text = short_string(data[2], data[3:])
            if in_series:
                chart.names[-1] = text
            else:
                said = text
        elif number == _LINK and len(data) > 1:
            if struct.unpack_from("<H", data)[0] == _CHART_TITLE:
                chart.title = chart.title or said
            elif said:
                chart.texts.append(said)
        elif number == _CACHE and len(data) > 1:
            (cache,) = struct.unpack_from("<H", data)
        elif number in (_NUMBER, _LABEL) and cache in (_VALUES, _CATEGORIES) and len(data) > 8:
            point, series = struct.unpack_from("<HH", data)
            text = general(struct.unpack_from("<d", data, 6)[0]) if number == _NUMBER and len(data) > 13 else ""
            text = short_string(struct.unpack_from("<H", data, 6)[0], data[8:]) if number == _LABEL else text
            if cache == _VALUES:
                chart.values[point, series] = text
            else:
                chart.categories.setdefault(point, text)
    return chart


def short_string(count: int, data: bytes) -> str:
    """A string of `count` characters behind its flags: one byte each, or two (2.5.240)."""
    if data[0] & 1:
        return data[1 : 1 + 2 * count].decode("utf-16-le", "replace").strip()
    return data[1 : 1 + count].decode("latin-1").strip()


def _table(chart: Chart) -> Table | None:
    """Categories by series; null where no value is kept."""
    if not chart.values:
        return None
    points = sorted({point for point, _ in chart.values} | set(chart.categories))
    series = sorted({number for _, number in chart.values})
    check_size((len(points) + 1) * (len(series) + 1), 0, "A chart")
    names = [chart.names[number] if number < len(chart.names) else "" for number in series]
    rows = [["", *names]]
    rows += [[chart.categories.get(p, ""), *(chart.values.get((p, number), "") for number in series)] for p in points]
    cells = [
        Cell(row=at, col=col, text=text, header=at == 0) for at, row in enumerate(rows) for col, text in enumerate(row)
    ]
    return Table(
        n_rows=len(rows),
        n_cols=len(series) + 1,
        header_rows=1,
        header_cols=1,
        caption=chart.title or None,
        cells=cells,
    )
