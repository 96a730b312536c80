"""Charts that slides show: objects of their own, compressed in the stream of records.

Source: [MS-PPT] 2.10.12 (ExOleObjAtom), 2.10.27 (ExOleEmbedContainer), 2.10.34 (ExOleObjStg).
"""

from __future__ import annotations

import struct
import zlib

from streams.extract.ole_charts import MAX_OBJECTS, chart_in
from streams.extract.ooxml import MAX_TOTAL
from streams.extract.ppt_records import Objects, Record
from streams.extract.sheet_model import Drawn

EMBEDDED, STORAGE = 0x0FCC, 0x1011
_ATOM = 0x0FC3
_RATIO = 1032  # how many bytes one of deflate can become


class Charts:
    """The charts among the objects that a presentation lists."""

    def __init__(self, objects: Objects) -> None:
        self.found: dict[int, Drawn] = {}  # by the number that shapes refer to
        self.is_cut = False  # there are more objects than may be unpacked
        self._objects, self._budget = objects, [MAX_TOTAL]
        self._read: dict[int, Drawn | None] = {}  # by the number of the object in the stream

    def add(self, listed: Record) -> bool:
        """Whether a listed object is a chart, which is kept then. Errors: DocumentError `bomb` or `too_large`."""
        atom = listed.find(_ATOM)
        if atom is None or atom.end - atom.start < 20:
            return False
        number, _, stored = struct.unpack_from("<3I", atom.data, atom.start + 8)
        if stored not in self._read:
            self._read[stored] = self._chart(stored)
        chart = self._read[stored]
        if chart is not None:
            self.found[number] = chart
        return chart is not None

    def _chart(self, stored: int) -> Drawn | None:
        if len(self._read) >= MAX_OBJECTS or self._budget[0] <= 0:
            self.is_cut = True
            return None
        storage = self._objects.get(stored)
        return None if storage is None or storage.kind != STORAGE else chart_in(self._unpacked(storage), self._budget)

    def _unpacked(self, storage: Record) -> bytes:
        """The compound file of an object, as far as it is there."""
        data = storage.content()
        if storage.instance:
            try:
                data = zlib.decompressobj().decompress(data[4:], self._budget[0])
            except zlib.error:  # nothing can be read of it; as a file of its own it is reported
                self._budget[0] -= min(self._budget[0], _RATIO * len(data))
                return b""
        self._budget[0] -= len(data)
        return data
