"""A binary presentation is a stream of records in records, of which later edits replace earlier ones: this finds them.

Source: [MS-PPT] 2.1.2 (reading a file), 2.3.1 (RecordHeader), 2.3.3 (UserEditAtom), 2.3.4 (PersistDirectoryAtom).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

MAX_EDITS = 10_000
MAX_OBJECTS = 1 << 20  # as many as a number of 20 bits tells apart
MAX_DEPTH = 32
USER_EDIT, PERSIST_DIRECTORY = 0x0FF5, 0x1772
_TAGS, _TAG, _TAG_DATA = 0x1388, 0x138A, 0x138B


@dataclass(frozen=True, slots=True)
class Record:
    """A record of the stream: its content lies from `start` up to `end`."""

    data: bytes
    kind: int
    instance: int
    is_container: bool
    start: int
    end: int

    def content(self) -> bytes:
        """Its bytes without the head."""
        return self.data[self.start : self.end]

    def inside(self) -> Iterator[Record]:
        """The records in it, in order."""
        return records(self.data, self.start, self.end)

    def find(self, kind: int, instance: int | None = None) -> Record | None:
        """The first record of a kind directly inside."""
        return next(
            (one for one in self.inside() if one.kind == kind and instance in (None, one.instance)),
            None,
        )

    def all(self, kind: int) -> Iterator[Record]:
        """All records of a kind directly inside."""
        return (one for one in self.inside() if one.kind == kind)

    def anywhere(self, kind: int, depth: int = 0) -> Iterator[Record]:
        """All records of a kind at any depth, in order."""
        for one in self.inside():
            if one.kind == kind:
                yield one
            elif one.is_container and depth < MAX_DEPTH:
                yield from one.anywhere(kind, depth + 1)


def records(data: bytes, start: int, end: int) -> Iterator[Record]:
    """The records between two offsets; one that is longer than its place is cut off there."""
    while start + 8 <= end:
        head, kind, size = struct.unpack_from("<HHI", data, start)
        stop = min(start + 8 + size, end)
        yield Record(data, kind, head >> 4, head & 15 == 15, start + 8, stop)
        start = stop


def at(data: bytes, offset: int) -> Record | None:
    """The record at an offset."""
    return next(records(data, offset, len(data)), None) if 0 <= offset < len(data) else None


class Objects:
    """The objects of the presentation by their number, as the newest edit has them."""

    def __init__(self, data: bytes, newest_edit: int) -> None:
        self.document: Record | None = None
        self.is_encrypted = False
        self._data = data
        self._offsets: dict[int, int] = {}
        seen: set[int] = set()
        document = 0
        edit = newest_edit
        while edit not in seen and len(seen) < MAX_EDITS:
            seen.add(edit)
            record = at(data, edit)
            if record is None or record.kind != USER_EDIT or record.end - record.start < 20:
                break
            _, _, before, directory, number = struct.unpack_from("<IIIII", data, record.start)
            if len(seen) == 1:
                document = number
                self.is_encrypted = record.end - record.start >= 32
            self._read(at(data, directory))
            if not before:
                break
            edit = before
        self.document = self.get(document)

    def _read(self, directory: Record | None) -> None:
        if directory is None or directory.kind != PERSIST_DIRECTORY:
            return
        place = directory.start
        while place + 4 <= directory.end and len(self._offsets) < MAX_OBJECTS:
            (entry,) = struct.unpack_from("<I", self._data, place)
            first, count = entry & 0xFFFFF, entry >> 20
            place += 4
            for number in range(first, first + count):
                if place + 4 > directory.end:
                    return
                self._offsets.setdefault(number, struct.unpack_from("<I", self._data, place)[0])
                place += 4

    def get(self, number: int) -> Record | None:
        """The object of this number."""
        offset = self._offsets.get(number)
        return None if offset is None else at(self._data, offset)


def tagged(holder: Record, kind: int) -> Iterator[Record]:
    """Records of a kind that later versions keep in tags of a record ([MS-PPT] 2.11.20, ProgTags)."""
    for tags in holder.all(_TAGS):
        for tag in tags.all(_TAG):
            data = tag.find(_TAG_DATA)
            if data is not None:
                yield from data.all(kind)


def string(record: Record | None) -> str:
    """The text of a CString."""
    return "" if record is None else record.content().decode("utf-16-le", "replace").strip("\0 ")
