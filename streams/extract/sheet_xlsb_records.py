"""Records of binary workbooks ([MS-XLSB] 2.1.4): a number, a size, and bytes."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from streams.extract.sheet_xlsx_parts import PartStream

CHUNK = 1 << 16
MAX_RECORD = 1 << 24
"""Bytes of one record; a cell with its longest text has 65,548."""


class BrokenRecord(ValueError):
    """A record that says what can't be; the part ends here."""


def records(stream: PartStream) -> Iterator[tuple[int, bytes]]:
    """Number and bytes of each record of a part. Errors: BrokenRecord; those of the stream."""
    data, at = b"", 0
    while True:
        if len(data) - at < 6:
            data, at = data[at:] + stream.read(CHUNK), 0
            if not data:
                return
        number, start = _number(data, at, 2)
        size, start = _number(data, start, 4)
        if size > MAX_RECORD:
            raise BrokenRecord(f"A record of {size} bytes.")
        end = start + size
        while end > len(data):
            more = stream.read(max(CHUNK, end - len(data)))
            if not more:
                raise BrokenRecord("It ends in the middle of a record.")
            data += more
        yield number, data[start:end]
        at = end


def _number(data: bytes, at: int, most: int) -> tuple[int, int]:
    """A number of at most `most` bytes, seven bits each, and where it ends."""
    value = 0
    for count in range(most):
        if at + count >= len(data):
            raise BrokenRecord("It ends in the head of a record.")
        byte = data[at + count]
        value |= (byte & 0x7F) << (7 * count)
        if byte < 0x80:
            return value, at + count + 1
    return value, at + most


def wide(data: bytes, at: int) -> tuple[str, int]:
    """An XLWideString or XLNullableWideString (2.5.169, 2.5.166), and where it ends. Errors: BrokenRecord."""
    if len(data) < at + 4:
        raise BrokenRecord("A text without a length.")
    (count,) = struct.unpack_from("<I", data, at)
    if count == 0xFFFFFFFF:  # none
        return "", at + 4
    end = at + 4 + 2 * count
    if end > len(data):
        raise BrokenRecord("A text that is longer than its record.")
    return data[at + 4 : end].decode("utf-16-le", "replace"), end


def rk(value: int) -> float:
    """An RkNumber (2.5.123): thirty bits of a number, whole or not, and whether it counts hundredths."""
    if value & 2:
        found = float((value >> 2) - (1 << 30) if value & 0x80000000 else value >> 2)
    else:
        (found,) = struct.unpack("<d", struct.pack("<Q", (value & 0xFFFFFFFC) << 32))
    return found / 100 if value & 1 else found
