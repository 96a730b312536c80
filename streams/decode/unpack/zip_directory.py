"""The entries of a ZIP: from its directory where that is whole, else from the headers before the members themselves.

Source: PKWARE APPNOTE 6.3.10, sections 4.3 to 4.6; Info-ZIP's `extrafld.txt` for the extra fields.
"""

from __future__ import annotations

import re
import struct
import zlib
from bisect import bisect_left
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import BinaryIO

import msgspec

LOCAL = b"PK\x03\x04"
_ENTRY = b"PK\x01\x02"
_END = b"PK\x05\x06"
_END64_LOCATOR = b"PK\x06\x07"
_END64 = b"PK\x06\x06"
_DESCRIPTOR = b"PK\x07\x08"
_SIGNATURE = re.compile(rb"PK(?:\x03\x04|\x07\x08|\x01\x02|\x05\x06)")
_ALL_ONES = 0xFFFFFFFF

ENCRYPTED, DESCRIPTOR_FOLLOWS, UTF8 = 1 << 0, 1 << 3, 1 << 11
"""Bits of an entry's flags."""
UNIX_HOSTS = frozenset({3, 19})
"""Makers whose entries have a Unix mode: Unix and macOS."""
_CHUNK = 1 << 20
_MAX_POSITIONS = 1 << 18
_DESCRIPTOR_TRIES = 64
_MAX_NAMES = 32 << 20
"""Bytes of all names together. Headers may overlap, so the size of the file does not bound them."""


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """What a ZIP says of one member. Nothing of it is true until the bytes say so, too."""

    raw_name: bytes
    unicode_name: str | None = None  # where the ZIP says what the name's characters are
    host: int = 0  # system of the maker
    flags: int = 0
    method: int = 0
    crc: int | None = None
    compressed: int | None = None  # null: up to where the data end by themselves
    size: int | None = None
    offset: int = 0  # of the local header in the file
    mode: int = 0  # of Unix; 0: unknown
    folder: bool = False
    modified_at: datetime | None = None


class Directory(msgspec.Struct, frozen=True, kw_only=True):
    """The entries, and whether the directory could be believed."""

    entries: list[Entry]
    damaged: bool = False
    has_end: bool = True  # an end record is there: the file is not cut off


class TooManyEntriesError(Exception):
    """There are more entries than anybody needs."""


class _DamagedError(Exception):
    """The directory is missing, or is no directory."""


def read_directory(file: BinaryIO, size: int, most: int) -> Directory:
    """The entries of the ZIP in `file`, which has `size` bytes. Raises TooManyEntriesError beyond `most`."""
    try:
        entries, complete = _central(file, size, most)
    except _DamagedError:
        return _scan(file, size, most)
    if entries and not any(_is_local(file, entry.offset) for entry in entries[:1000]):
        return _scan(file, size, most)
    return Directory(entries=entries, damaged=not complete)


def data_offset(file: BinaryIO, entry: Entry) -> int | None:
    """Where the bytes of a member begin; None when no local header stands where the directory says."""
    fixed = _at(file, entry.offset, 30)
    if len(fixed) < 30 or fixed[:4] != LOCAL:
        return None
    name_length, extra_length = struct.unpack_from("<HH", fixed, 26)
    return entry.offset + 30 + int(name_length) + int(extra_length)


def _is_local(file: BinaryIO, offset: int) -> bool:
    return _at(file, offset, 4) == LOCAL


def _at(file: BinaryIO, offset: int, count: int) -> bytes:
    """Bytes of the file; none where an offset of 64 bits leads beyond what a system can address."""
    if offset >= 1 << 62:
        return b""
    file.seek(offset)
    return file.read(count)


def _central(file: BinaryIO, size: int, most: int) -> tuple[list[Entry], bool]:
    """The entries of the directory, and whether they are as many as it says."""
    start, length, declared, shift = _end_record(file, size)
    entries: list[Entry] = []
    at, stop, names = start + shift, start + shift + length, 0
    while at + 46 <= stop:
        file.seek(at)
        fixed = file.read(46)
        if len(fixed) < 46 or fixed[:4] != _ENTRY:
            break
        name_length, extra_length, comment_length = struct.unpack_from("<HHH", fixed, 28)
        rest = file.read(name_length + extra_length)
        at += 46 + name_length + extra_length + comment_length
        if len(rest) < name_length + extra_length or at > stop:
            break
        entries.append(_from_central(fixed, rest[:name_length], rest[name_length:], shift))
        names += name_length
        _bound(len(entries), most, names)
    if declared and not entries:
        raise _DamagedError
    return entries, len(entries) & 0xFFFF == declared & 0xFFFF  # 16 bits hold no more, and not all writers know ZIP64


def _bound(entries: int, most: int, names: int) -> None:
    if entries > most:
        raise TooManyEntriesError(f"more than {most} entries")
    if names > _MAX_NAMES:
        raise TooManyEntriesError(f"names of more than {_MAX_NAMES} bytes")


def _end_record(file: BinaryIO, size: int) -> tuple[int, int, int, int]:
    """Start, length and number of entries of the directory, and how far junk before the archive shifts all offsets."""
    tail_size = min(size, 65_557 + 20)
    file.seek(size - tail_size)
    tail = file.read(tail_size)
    at = _end_in(tail)
    if at is None:
        raise _DamagedError
    _, _, _, entries, length, start, _ = struct.unpack_from("<HHHHIIH", tail, at + 4)
    end = size - tail_size + at
    if (entries == 0xFFFF or _ALL_ONES in (length, start)) and tail[max(0, at - 20) : at][:4] == _END64_LOCATOR:
        (where,) = struct.unpack_from("<Q", tail, at - 12)
        for position in (end - 20 - 56, where):  # with junk before the archive, only the first of the two is true
            if not 0 <= position <= size - 56:
                continue
            file.seek(position)
            record = file.read(56)
            if record[:4] == _END64 and len(record) == 56:
                entries, length, start = struct.unpack_from("<QQQ", record, 32)
                end = position
                break
    shift = end - length - start
    if shift < 0:
        raise _DamagedError
    if shift and _is_local(file, 0):
        raise _DamagedError  # not junk but members stand before: the record is that of a ZIP stored in this one
    if shift and not _has_entry(file, start + shift):
        if not _has_entry(file, start):
            raise _DamagedError
        shift = 0
    return start, length, entries, shift


def _has_entry(file: BinaryIO, at: int) -> bool:
    return _at(file, at, 4) in (_ENTRY, _END, _END64)


def _end_in(tail: bytes) -> int | None:
    """The end record whose comment reaches to the end of the file; else the last one: something may follow."""
    last: int | None = None
    at = tail.rfind(_END)
    while at >= 0:
        if at + 22 <= len(tail):
            if at + 22 + struct.unpack_from("<H", tail, at + 20)[0] == len(tail):
                return at
            last = at if last is None else last
        at = tail.rfind(_END, 0, at + 3)
    return last


def _from_central(fixed: bytes, name: bytes, extra: bytes, shift: int) -> Entry:
    host, flags, method = fixed[5], *struct.unpack_from("<HH", fixed, 8)
    crc, compressed, size = struct.unpack_from("<III", fixed, 16)
    attributes, offset = struct.unpack_from("<II", fixed, 38)
    fields = _extra_fields(extra)
    wide = _zip64(fields)
    size = next(wide, size) if size == _ALL_ONES else size
    compressed = next(wide, compressed) if compressed == _ALL_ONES else compressed
    offset = next(wide, offset) if offset == _ALL_ONES else offset
    mode = attributes >> 16 if host in UNIX_HOSTS else 0
    return Entry(
        raw_name=name,
        unicode_name=_unicode_name(name, flags, fields),
        host=host,
        flags=flags,
        method=method,
        crc=None if method == 99 else crc,
        compressed=compressed,
        size=size,
        offset=offset + shift,
        mode=mode,
        folder=_is_folder(name, size) or (bool(attributes & 0x10) and not size and not mode),
        modified_at=_modified(fields),
    )


def _is_folder(name: bytes, size: int | None) -> bool:
    return name.endswith(b"/") or (name.endswith(b"\\") and not size)


def _extra_fields(extra: bytes) -> dict[int, bytes]:
    fields: dict[int, bytes] = {}
    at = 0
    while at + 4 <= len(extra):
        kind, length = struct.unpack_from("<HH", extra, at)
        fields.setdefault(kind, extra[at + 4 : at + 4 + length])
        at += 4 + length
    return fields


def _zip64(fields: dict[int, bytes]) -> Iterator[int]:
    """The values of the ZIP64 field, in the order of the fixed fields that hold all ones."""
    field = fields.get(1, b"")
    return iter(struct.unpack_from(f"<{min(3, len(field) // 8)}Q", field))


def _unicode_name(name: bytes, flags: int, fields: dict[int, bytes]) -> str | None:
    """The name where the ZIP says that it is UTF-8: by a flag, or by an extra field that belongs to this very name."""
    path = fields.get(0x7075, b"")
    if len(path) > 5 and path[0] == 1 and struct.unpack_from("<I", path, 1)[0] == zlib.crc32(name):
        try:
            return path[5:].decode("utf-8")
        except UnicodeDecodeError:
            pass
    if flags & UTF8:
        try:
            return name.decode("utf-8")
        except UnicodeDecodeError:
            pass
    return None


def _modified(fields: dict[int, bytes]) -> datetime | None:
    """When the member was changed, where its time zone is known: a ZIP's own date says no time zone."""
    unix, ntfs = fields.get(0x5455, b""), fields.get(0x000A, b"")
    if len(unix) >= 5 and unix[0] & 1:
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=int(struct.unpack_from("<i", unix, 1)[0]))
    if len(ntfs) >= 16 and ntfs[4:8] == b"\x01\x00\x18\x00":
        return file_time(int(struct.unpack_from("<Q", ntfs, 8)[0]))
    return None


def file_time(ticks: int) -> datetime | None:
    """A time of Windows, in units of 100 ns since 1601; None for zero and for what no calendar has."""
    if not ticks:
        return None
    try:
        return datetime(1601, 1, 1, tzinfo=UTC) + timedelta(microseconds=ticks // 10)
    except OverflowError:
        return None


# --- without a directory ---------------------------------------------------------------------------------------------


class _Positions(msgspec.Struct):
    """Where the signatures of a ZIP stand, in order."""

    local: list[int] = []
    descriptor: list[int] = []
    end: bool = False


def _scan(file: BinaryIO, size: int, most: int) -> Directory:
    """The entries by their local headers, from the front of the file."""
    found = _positions(file)
    entries: list[Entry] = []
    end = names = 0
    for index, at in enumerate(found.local):
        if at < end:
            continue  # bytes of the member before: a ZIP that is stored in this one
        file.seek(at)
        fixed = file.read(30)
        name_length, extra_length = struct.unpack_from("<HH", fixed, 26) if len(fixed) == 30 else (0, 0)
        rest = file.read(name_length + extra_length)
        if len(fixed) < 30 or not 0 < name_length <= len(rest):
            continue
        bound = found.local[index + 1] if index + 1 < len(found.local) else size
        entry = _from_local(file, at, fixed, rest[:name_length], rest[name_length:], found, bound)
        entries.append(entry)
        names += name_length
        _bound(len(entries), most, names)
        data = at + 30 + name_length + extra_length
        if entry.compressed is not None and data + entry.compressed <= size:
            end = data + entry.compressed
    return Directory(entries=entries, damaged=True, has_end=found.end)


def _from_local(
    file: BinaryIO, at: int, fixed: bytes, name: bytes, extra: bytes, found: _Positions, bound: int
) -> Entry:
    flags, method = struct.unpack_from("<HH", fixed, 6)
    sizes = struct.unpack_from("<III", fixed, 14)
    crc: int | None = sizes[0]
    compressed: int | None = sizes[1]
    size: int | None = sizes[2]
    fields = _extra_fields(extra)
    if compressed == _ALL_ONES and len(fields.get(1, b"")) >= 16:
        size, compressed = struct.unpack_from("<QQ", fields[1])
    if flags & DESCRIPTOR_FOLLOWS and not compressed:
        crc, compressed, size = _described(file, at + 30 + len(name) + len(extra), found.descriptor)
        if compressed is None and method == 0:
            compressed = max(0, bound - at - 30 - len(name) - len(extra))  # stored bytes do not end by themselves
    return Entry(
        raw_name=name,
        unicode_name=_unicode_name(name, flags, fields),
        flags=flags,
        method=method,
        crc=None if method == 99 else crc,
        compressed=compressed,
        size=size,
        offset=at,
        folder=_is_folder(name, size),
        modified_at=_modified(fields),
    )


def _described(file: BinaryIO, data: int, descriptors: list[int]) -> tuple[int | None, int | None, int | None]:
    """CRC and sizes from the descriptor behind the data: the one that gives the distance to where they began."""
    first = bisect_left(descriptors, data)
    for position in descriptors[first : first + _DESCRIPTOR_TRIES]:
        file.seek(position + 4)
        record = file.read(20)
        for layout in ("<III", "<IQQ"):
            if len(record) >= struct.calcsize(layout):
                crc, compressed, size = struct.unpack_from(layout, record)
                if compressed == position - data:
                    return crc, compressed, size
    return None, None, None


def _positions(file: BinaryIO) -> _Positions:
    found = _Positions()
    for count, (position, kind) in enumerate(_signatures(file)):
        if count >= _MAX_POSITIONS:
            raise TooManyEntriesError(f"more than {_MAX_POSITIONS} entries")
        if kind == LOCAL:
            found.local.append(position)
        elif kind == _DESCRIPTOR:
            found.descriptor.append(position)
        elif kind == _END:
            found.end = True
    return found


def _signatures(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    file.seek(0)
    before, start = b"", 0
    while chunk := file.read(_CHUNK):
        window = before + chunk
        for match in _SIGNATURE.finditer(window):
            yield start - len(before) + match.start(), match.group()
        before = window[-3:]  # too short for a signature: none is seen twice
        start += len(chunk)
