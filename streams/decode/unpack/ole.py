"""Objects embedded in Word, Excel and PowerPoint files of the old formats.

Word keeps them in the storage `ObjectPool`, Excel in storages of the root, PowerPoint compressed inside its one stream.
Sources: [MS-DOC] 2.1.10, [MS-XLS] 2.1.7.1, [MS-PPT] 2.3.3, 2.3.4 and 2.10.34.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from streams.decode.ole import SIGNATURE
from streams.decode.unpack.compound import Compound, CompoundError, Entry
from streams.decode.unpack.model import MemberError, Sink, UnpackError
from streams.decode.unpack.ole_objects import Budget, add_object, expanded, inflated

_SHEET_OBJECT = re.compile(r"(?:MBD|LNK)[0-9A-F]{8}\Z", re.IGNORECASE)
_OBJECT = 0x1011
_EDIT = 0x0FF5
_DIRECTORY = 0x1772
MAX_RECORDS = 200_000
MAX_EDITS = 1000


def unpack(path: Path, sink: Sink) -> None:
    """The objects embedded in the file at `path`. Raises UnpackError(corrupt)."""
    with path.open("rb") as file:
        if file.read(8) != SIGNATURE:
            return  # a sheet of Excel 4 or older, which can't hold any
        size = path.stat().st_size
        try:
            compound = Compound(file, size)
        except CompoundError as error:
            raise UnpackError("corrupt", str(error)) from None
        pool = compound.root.get("ObjectPool")
        storages = [] if pool is None else [(f"ObjectPool/{entry.name}", entry) for entry in pool.storages()]
        storages += [(entry.name, entry) for entry in compound.root.storages() if _SHEET_OBJECT.match(entry.name)]
        for number, (key, storage) in enumerate(storages, 1):
            add_object(sink, compound, storage, f"embedded-{number}", key=key, charts_read=pool is not None)
        document = compound.root.stream("PowerPoint Document")
        if document is not None:
            _slides(sink, compound, document, size)


def _slides(sink: Sink, compound: Compound, document: Entry, size: int) -> None:
    """The objects of a presentation, in the order of the file."""
    budget = Budget(size)
    for number, offset in enumerate(_object_offsets(sink, compound, document), 1):
        name = f"embedded-{number}"
        instance, length = _header(compound, document, offset)
        try:
            if instance & 0xFFF0:  # compressed, behind the size that it will have
                (full,) = struct.unpack("<I", compound.part(document, offset + 8, 4).ljust(4, b"\x00"))
                chunks = inflated(_there(compound, document, offset + 12, length - 4), full)
            else:
                chunks = compound.part_chunks(document, offset + 8, length)
            with expanded(chunks, sink, budget) as file:
                end = file.tell()
                try:
                    inner = Compound(file, end)
                except CompoundError as error:
                    raise MemberError("corrupt", f"The object can't be opened. {error}") from None
                add_object(sink, inner, inner.root, name, raw=lambda: _all(file), charts_read=True)
        except MemberError as error:
            sink.fail(name, error.code, error.message)


def _there(compound: Compound, document: Entry, offset: int, size: int) -> Iterator[bytes]:
    """Bytes of the stream as far as they are there."""
    while size > 0 and (data := compound.part(document, offset, min(size, 1 << 16))):
        yield data
        offset, size = offset + len(data), size - len(data)


def _all(file: BinaryIO) -> Iterator[bytes]:
    file.seek(0)
    while data := file.read(1 << 16):
        yield data


def _object_offsets(sink: Sink, compound: Compound, document: Entry) -> list[int]:
    """Where the objects stand that the newest edit still has; all of them where it can't be told."""
    live = _persisted(compound, document)
    objects = [offset for offset in live if _type(compound, document, offset) == _OBJECT]
    if live:
        return sorted(set(objects))
    found: list[int] = []
    offset = 0
    for _ in range(MAX_RECORDS):
        head = compound.part(document, offset, 8)
        if len(head) < 8:
            return found
        _, kind, length = struct.unpack("<HHI", head)
        if kind == _OBJECT:
            found.append(offset)
        offset += 8 + length
    sink.warn("members_left_out")
    return found


def _persisted(compound: Compound, document: Entry) -> set[int]:
    """Offsets of the records that the chain of edits leads to, the newest edit first."""
    user = compound.root.stream("Current User")
    if user is None:
        return set()
    head = compound.read(user, 20)
    if len(head) < 20:
        return set()
    (edit,) = struct.unpack_from("<I", head, 16)
    offsets: dict[int, int] = {}
    seen: set[int] = set()
    while edit and edit not in seen and len(seen) < MAX_EDITS:
        seen.add(edit)
        record = compound.part(document, edit, 28)
        if len(record) < 28 or struct.unpack_from("<H", record, 2)[0] != _EDIT:
            break
        edit, directory = struct.unpack_from("<II", record, 16)
        for number, offset in _directory(compound, document, directory):
            offsets.setdefault(number, offset)
        if len(offsets) > MAX_RECORDS:
            break
    return set(offsets.values())


def _directory(compound: Compound, document: Entry, offset: int) -> Iterator[tuple[int, int]]:
    if _type(compound, document, offset) != _DIRECTORY:
        return
    _, length = _header(compound, document, offset)
    data = compound.part(document, offset + 8, min(length, MAX_RECORDS * 4))
    numbers = struct.unpack(f"<{len(data) // 4}I", data[: len(data) // 4 * 4])
    at = 0
    while at < len(numbers):
        first, count = numbers[at] & 0xFFFFF, numbers[at] >> 20
        for index, found in enumerate(numbers[at + 1 : at + 1 + count]):
            yield first + index, found
        at += 1 + count


def _type(compound: Compound, document: Entry, offset: int) -> int:
    head = compound.part(document, offset, 8)
    return int(struct.unpack_from("<H", head, 2)[0]) if len(head) == 8 else 0


def _header(compound: Compound, document: Entry, offset: int) -> tuple[int, int]:
    """Version and instance, and the length, of a record that is there."""
    head = compound.part(document, offset, 8).ljust(8, b"\x00")
    first, _, length = struct.unpack("<HHI", head)
    return int(first), int(length)
