"""Charts that are OLE objects, as DOC and PPT hold them, and DOCX and PPTX old ones: of Graph, Excel, LibreOffice.

Source: [MS-XLS] 2.4.346 (Window1, which says the sheet that is shown); OASIS ODF 1.3 part 3, 11 (charts).
"""

from __future__ import annotations

import io
import struct
import tempfile
from pathlib import Path

from lxml import etree

from streams.decode.unpack.compound import Compound, CompoundError, Entry
from streams.errors import DocumentError
from streams.extract.graph_charts import graph_chart
from streams.extract.odf import descendants, open_source, text_of
from streams.extract.odf_objects import chart_of as odf_chart
from streams.extract.odf_objects import chart_table
from streams.extract.ooxml import Package
from streams.extract.sheet_model import Drawn
from streams.extract.sheet_xls_charts import START, charts_of, records

MAX_BYTES = 100 * 1024 * 1024
"""Bytes of one object's stream."""
MAX_OBJECTS = 1_000
"""Objects of a document that are looked at for charts."""
_WINDOW, _SHEET = 0x003D, 0x0085
_DAMAGED = ("corrupt", "truncated", "encrypted")


def chart_of(compound: Compound, storage: Entry, budget: list[int]) -> Drawn | None:
    """What the chart in an object's storage says, with its values; null where the object is something else.

    One that is damaged has neither text nor table. Errors: DocumentError `bomb` or `too_large`.

    Args:
        budget: bytes that all charts of the document may still unpack.
    """
    package = storage.stream("package_stream")
    if package is not None:
        return _from_package(compound.read(package, MAX_BYTES), budget)
    entry = storage.stream("Workbook")
    if entry is None:
        return None
    book = compound.read(entry, MAX_BYTES)
    return graph_chart(book) or _from_workbook(book)


def chart_in(data: bytes, budget: list[int]) -> Drawn | None:
    """The same of an object that is a compound file of its own; null for what is none."""
    try:
        compound = Compound(io.BytesIO(data), len(data))
    except CompoundError:
        return None
    return chart_of(compound, compound.root, budget)


def embedded_chart(package: Package, part: str, identifier: str | None) -> Drawn | None:
    """The same of an object that a part of an OOXML package refers to."""
    relationship = package.relationships(part).get(identifier or "")
    if relationship is None or relationship.external or relationship.target not in package:
        return None
    try:
        return chart_in(package.read(relationship.target), package.budget)
    except DocumentError as error:
        if error.problem not in _DAMAGED:
            raise
        return None


def _from_workbook(book: bytes) -> Drawn | None:
    """The chart of Excel that is shown: the workbook's active sheet, where that is a chart."""
    active, places = 0, []
    for number, data in records(book, 0, len(book)):
        if number == _WINDOW and len(data) > 11:
            (active,) = struct.unpack_from("<H", data, 10)
        elif number == _SHEET and len(data) > 3:
            places.append(int(struct.unpack_from("<I", data)[0]))
    if active >= len(places) or book[places[active] : places[active] + len(START)] != START:
        return None
    start = places[active]
    end = min((place for place in places if place > start), default=len(book))
    return next(iter(charts_of(book, start, end)), Drawn(text="", figure=True))


def _from_package(data: bytes, budget: list[int]) -> Drawn | None:
    """The chart of an OpenDocument package."""
    with tempfile.NamedTemporaryFile(prefix="canonry.") as file:
        file.write(data)
        file.flush()
        try:
            with open_source(Path(file.name), budget) as source:
                chart = odf_chart(source.content)
                if chart is None:
                    return None
                table, titles = chart_table(chart, _Plain())
        except DocumentError as error:
            if error.problem not in _DAMAGED:
                raise
            return Drawn(text="", figure=True)
    return Drawn(text="\n".join(titles), figure=True, table=table)


class _Plain:
    def plain_lines(self, container: etree._Element) -> str:
        return "\n".join(text_of(paragraph) for paragraph in descendants(container, "text:p"))
