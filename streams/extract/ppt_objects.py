"""Charts that slides show: objects of their own, compressed in the stream of records.

Source: [MS-PPT] 2.10.12 (ExOleObjAtom), 2.10.27 (ExOleEmbedContainer), 2.10.34 (ExOleObjStg).
"""

from __future__ import annotations

import struct
import zlib

from streams.extract.ole_charts import chart_in
from streams.extract.ppt_records import Objects, Record
from streams.extract.sheet_model import Drawn

EMBEDDED, STORAGE = 0x0FCC, 0x1011
MAX_BYTES = 300 * 1024 * 1024
"""Bytes of all objects of one presentation that are unpacked to look for charts."""
_ATOM = 0x0FC3


class Charts:
    """The charts among the objects that a presentation lists."""

    def __init__(self, objects: Objects) -> None:
        self.found: dict[int, Drawn] = {}  # by the number that shapes refer to
        self.is_cut = False  # there are more objects than may be unpacked
        self._objects, self._left = objects, MAX_BYTES

    def add(self, listed: Record) -> bool:
        """Whether a listed object is a chart, which is kept then. Errors: DocumentError `bomb` or `too_large`."""
        atom = listed.find(_ATOM)
        if atom is None or atom.end - atom.start < 20:
            return False
        number, _, stored = struct.unpack_from("<3I", atom.data, atom.start + 8)
        storage = self._objects.get(stored)
        if storage is None or storage.kind != STORAGE:
            return False
        chart = chart_in(self._unpacked(storage))
        if chart is None:
            return False
        self.found[number] = chart
        return True

    def _unpacked(self, storage: Record) -> bytes:
        """The compound file of an object, as far as it is there."""
        data = storage.content()
        if storage.instance:
            try:
                data = zlib.decompressobj().decompress(data[4:], max(1, self._left))
            except zlib.error:  # nothing can be read of it; as a file of its own it is reported
                return b""
        self._left -= len(data)
        self.is_cut = self.is_cut or self._left <= 0
        return data
