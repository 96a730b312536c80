"""The blocks of a tar that describe members: fixed headers, pax records, lists of the regions of sparse files."""

from __future__ import annotations

import struct
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation

import msgspec

BLOCK = 512
_MAX_REGIONS = 100_000

Region = tuple[int, int]
"""Offset and length of a piece of a sparse file that has data."""


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """One fixed header."""

    name: bytes
    kind: int  # the type flag
    size: int
    mtime: int


def parse_header(block: bytes) -> Header | None:
    """The header in a block of 512 bytes; None when its checksum or a number is wrong."""
    if len(block) != BLOCK:
        return None
    stored, size = _octal(block[148:156]), _octal(block[124:136])
    plain = sum(block[:148]) + 256 + sum(block[156:])
    if stored is None or size is None or not 0 <= size < 1 << 62:
        return None
    if stored not in (plain, sum(struct.unpack("148b8x356b", block)) + 256):  # some old writers took bytes as signed
        return None
    name = block[:100].split(b"\0", 1)[0]
    if block[257:263] == b"ustar\0" and block[345]:
        name = block[345:500].split(b"\0", 1)[0] + b"/" + name
    return Header(name=name, kind=block[156], size=size, mtime=_octal(block[136:148]) or 0)


def _octal(field: bytes) -> int | None:
    """A number: octal digits, or base 256 where the first bit says so (GNU)."""
    if field[0] & 0x80:
        value = int.from_bytes(field, "big") & ((1 << (8 * len(field) - 1)) - 1)
        return value - (1 << (8 * len(field) - 1)) if field[0] & 0x40 else value
    text = field.split(b"\0", 1)[0].strip()
    if not text:
        return 0
    return int(text, 8) if all(48 <= byte <= 55 for byte in text) else None


def parse_pax(data: bytes) -> dict[str, bytes]:
    """The records `length key=value` of a pax header, as far as they are whole.

    The regions of sparse files of version 0.0 come as many records of the same two keys; they are gathered under
    `GNU.sparse.map`, as version 0.1 has them.
    """
    records: dict[str, bytes] = {}
    regions: list[bytes] = []
    at = 0
    while at < len(data):
        blank = data.find(b" ", at, at + 20)
        if blank < 0 or not data[at:blank].isdigit():
            break
        end = at + int(data[at:blank])
        key, equals, value = data[blank + 1 : end - 1].partition(b"=")
        if not equals or end > len(data) or end <= blank:
            break
        if key in (b"GNU.sparse.offset", b"GNU.sparse.numbytes"):
            regions.append(value)
        else:
            records[key.decode("utf-8", "replace")] = value
        at = end
    if regions and "GNU.sparse.map" not in records:
        records["GNU.sparse.map"] = b",".join(regions)
    return records


def sparse_of_pax(records: dict[str, bytes]) -> list[Region]:
    """The regions in the records of a pax header; none where they are damaged."""
    return _pairs(records.get("GNU.sparse.map", b"").split(b",")) or []


def sparse_of_text(head: bytes) -> list[Region] | None:
    """The regions in front of a sparse file's data: a count and the numbers, one on each line. None: not all there."""
    count, newline, rest = head.partition(b"\n")
    if not newline or not count.isdigit() or len(count) > 6 or int(count) > _MAX_REGIONS:
        return None
    numbers = rest.split(b"\n", 2 * int(count))
    return _pairs(numbers[:-1]) if len(numbers) == 2 * int(count) + 1 else None


def _pairs(numbers: list[bytes]) -> list[Region] | None:
    if len(numbers) % 2 or len(numbers) > 2 * _MAX_REGIONS or not all(n.isdigit() and len(n) < 20 for n in numbers):
        return None
    values = [int(number) for number in numbers]
    return list(zip(values[::2], values[1::2], strict=True))


def gnu_sparse_block(block: bytes, *, first: bool) -> tuple[list[Region], bool, int]:
    """Regions in a header of type `S` or in a block behind it, whether another follows, and the size of the file."""
    start, count, flag = (386, 4, 482) if first else (0, 21, 504)
    regions: list[Region] = []
    for at in range(start, start + 24 * count, 24):
        offset, length = _octal(block[at : at + 12]), _octal(block[at + 12 : at + 24])
        if offset is None or length is None or offset < 0 or length < 0 or not block[at]:
            break
        regions.append((offset, length))
    return regions, bool(block[flag]), (_octal(block[483:495]) or 0) if first else 0


def modified(pax: bytes | None, seconds: int) -> datetime | None:
    """When a member was changed, from a pax record or the header; None for zero and for what no calendar has."""
    try:
        value = Decimal(pax.decode("ascii")) if pax else Decimal(seconds)
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=int(value * 1_000_000)) if value else None
    except (InvalidOperation, OverflowError, ValueError):
        return None
