"""Pictures and charts of a Word file: what is said of each, and the values of the charts.

Source: [MS-DOC] 2.9.190 (PICF), 2.9.172 (OfficeArtContent), 2.8.37 (PlcfSpa), 2.1.10 (ObjectPool); [MS-ODRAW] 2.2.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from streams.decode.unpack.compound import Compound
from streams.extract.doc_fib import Part, plex
from streams.extract.ole_charts import MAX_OBJECTS, chart_of
from streams.extract.ooxml import MAX_TOTAL
from streams.extract.ppt_records import Record, at, records
from streams.extract.ppt_shapes import SHAPE, SHAPE_ATOM, said_of, shows_picture
from streams.extract.sheet_model import Drawn

_SHAPE_IN_LINE, _LINKED_FILE = 0x64, 0x66
_MAX_SHAPES = 50_000


def picture_text(data: bytes, offset: int) -> str:
    """Alternative text of the picture in the text whose head stands at an offset of the stream Data."""
    if not 0 < offset + 8 <= len(data):
        return ""
    size, head, kind = struct.unpack_from("<IHH", data, offset)
    start, end = offset + head, min(offset + size, len(data))
    if kind == _LINKED_FILE and start < end:
        start += 1 + data[start]
    if kind not in (_SHAPE_IN_LINE, _LINKED_FILE):
        return ""
    return next((said_of(one) for one in records(data, start, end) if one.kind == SHAPE), "")


def floating_figures(table: Callable[[Part], bytes]) -> dict[int, str]:
    """Character that a picture or other figure floats at -> what is said of it."""
    places = dict(_anchors(table(Part.SHAPES)))
    found: dict[int, str] = {}
    for shape in _shapes(table(Part.DRAWINGS)):
        atom = shape.find(SHAPE_ATOM)
        number = None if atom is None else int.from_bytes(atom.content()[:4], "little")
        if number in places:
            text = said_of(shape)
            if text or shows_picture(shape):
                found[places[number]] = text
    return found


def _anchors(data: bytes) -> list[tuple[int, int]]:
    """Number of each shape of the body with its character."""
    places, entries = plex(data, 26)
    return [(int.from_bytes(entry[:4], "little"), place) for place, entry in zip(places, entries, strict=False)]


def _shapes(data: bytes) -> list[Record]:
    """The shapes of all drawings, those in groups, too. Between the drawings stands a byte."""
    group = at(data, 0)
    found: list[Record] = []
    offset = len(data) if group is None else group.end
    while (drawing := at(data, offset + 1)) is not None and len(found) < _MAX_SHAPES:
        found += drawing.anywhere(SHAPE)
        offset = drawing.end
    return found


def charts(compound: Compound) -> dict[int, Drawn]:
    """Number of each object that is a chart -> what it says. Errors: DocumentError `bomb` or `too_large`."""
    pool = compound.root.get("ObjectPool")
    budget = [MAX_TOTAL]
    found: dict[int, Drawn] = {}
    for storage in pool.storages()[:MAX_OBJECTS] if pool is not None else ():
        number = storage.name.removeprefix("_")
        if number.isascii() and number.isdigit() and len(number) <= 10:
            chart = chart_of(compound, storage, budget)
            if chart is not None:
                found[int(number)] = chart
    return found
