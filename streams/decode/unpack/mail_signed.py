"""The message inside an S/MIME signature: the content of a CMS SignedData, without a look at who signed it.

Reads BER as far as that needs: tags, lengths, and the pieces of a constructed string. Source: RFC 5652 3 and 5,
X.690 8.1 and 8.7.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from streams.decode.unpack.mail_coding import decoded
from streams.decode.unpack.mail_parts import Part

MAX_SIGNED = 64 << 20
"""Bytes of a signed message that are read."""
MAX_WRAPPED = 5
"""Signatures around each other that are opened."""
MAX_PIECES = 1_000_000
_SIGNED_DATA = bytes.fromhex("06092a864886f70d010702")
_SEQUENCE, _SET, _STRING, _CONSTRUCTED_STRING, _CONTEXT = 0x30, 0x31, 0x04, 0x24, 0xA0


def signed_content(file: BinaryIO, part: Part) -> bytes | None:
    """The bytes that a part signs; None where it is no SignedData, has none, or is too long."""
    data = bytearray()
    for chunk in decoded(file, part.start, part.end, part.encoding, []):
        data += chunk
        if len(data) > MAX_SIGNED:
            return None
    return content(bytes(data))


def content(data: bytes) -> bytes | None:
    """The content of a SignedData in BER or DER; None where it is none, or carries none."""
    at = _enter(data, 0, _SEQUENCE)
    if at is None or not data.startswith(_SIGNED_DATA, at):
        return None
    at = _enter(data, at + len(_SIGNED_DATA), _CONTEXT)
    at = None if at is None else _enter(data, at, _SEQUENCE)
    at = None if at is None else _after(data, at)  # version
    at = None if at is None else _after(data, at)  # digest algorithms
    at = None if at is None else _enter(data, at, _SEQUENCE)
    at = None if at is None else _after(data, at)  # type of the content
    at = None if at is None else _enter(data, at, _CONTEXT)
    if at is None or at >= len(data):
        return None
    return b"".join(_strings(data, at))


def _head(data: bytes, at: int) -> tuple[int, int, int | None] | None:
    """Tag, begin of the value, and its length (None: until its end is marked)."""
    if at + 2 > len(data):
        return None
    tag, first = data[at], data[at + 1]
    if first < 0x80:
        return tag, at + 2, first
    if first == 0x80:
        return tag, at + 2, None
    count = first & 0x7F
    if count > 8 or at + 2 + count > len(data):
        return None
    return tag, at + 2 + count, int.from_bytes(data[at + 2 : at + 2 + count], "big")


def _enter(data: bytes, at: int, tag: int) -> int | None:
    head = _head(data, at)
    return head[1] if head is not None and head[0] == tag else None


def _after(data: bytes, at: int) -> int | None:
    """The end of the value at a place. Marked ends are counted on the way, so that nesting costs no stack."""
    depth = 0
    for _ in range(MAX_PIECES):
        if data.startswith(b"\x00\x00", at) and depth:
            at, depth = at + 2, depth - 1
        else:
            head = _head(data, at)
            if head is None:
                return None
            if head[2] is None:
                at, depth = head[1], depth + 1
            else:
                at = head[1] + head[2]
        if not depth:
            return at if at <= len(data) else None
    return None


def _strings(data: bytes, at: int) -> Iterator[bytes]:
    """The pieces of a string, cut ones as far as they go."""
    depth = 0
    ends: list[int] = []  # of constructed strings whose length is known
    for _ in range(MAX_PIECES):
        while ends and at >= ends[-1]:
            ends.pop()
        if data.startswith(b"\x00\x00", at) and depth:
            at, depth = at + 2, depth - 1
        else:
            head = _head(data, at)
            if head is None or head[0] not in (_STRING, _CONSTRUCTED_STRING):
                return
            tag, start, length = head
            if length is None:
                at, depth = start, depth + 1
            elif tag == _STRING:
                yield data[start : start + length]
                at = start + length
            else:
                ends.append(start + length)
                at = start
        if not depth and not ends:
            return
        if len(ends) > MAX_PIECES or at >= len(data):
            return
