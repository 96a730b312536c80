"""Changes to a file that its reader may not expect; all of them follow from the random generator alone."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from random import Random

_NUMBERS = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF)
_TOKENS = (
    b"PK\x03\x04",
    b"PK\x01\x02",
    b"PK\x05\x06",
    b"\x1f\x8b\x08",
    b"7z\xbc\xaf\x27\x1c",
    b"BZh9",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
    b"%PDF-",
    b"\r\n\r\n",
    b"\nFrom a@b Mon Jan  1 00:00:00 2024\n",
    b"Content-Type: multipart/mixed; boundary=x\r\n",
    b"Content-Transfer-Encoding: base64\r\n",
    b"=?utf-8?B?",
    b"<!DOCTYPE html>",
    b"<?xml version='1.0' encoding='",
    b"../",
    b"\0",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\x80",
    b"0777777777777",
)
MAX_SIZE = 16 << 20


def mutated(data: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    """The file after one to eight changes."""
    changed = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 3, 5, 8))):
        random.choice(_CHANGES)(changed, random, others)
        del changed[MAX_SIZE:]
    return bytes(changed)


def _place(changed: bytearray, random: Random) -> int:
    """Anywhere, and more often near the start and the end, where headers are."""
    size = len(changed)
    where = random.random()
    if where < 0.3:
        return random.randrange(min(size, 600) + 1)
    if where < 0.6:
        return size - random.randrange(min(size, 600) + 1)
    return random.randrange(size + 1)


def _flip(changed: bytearray, random: Random, others: Sequence[bytes]) -> None:
    at = _place(changed, random)
    if at < len(changed):
        changed[at] ^= 1 << random.randrange(8)


def _noise(changed: bytearray, random: Random, others: Sequence[bytes]) -> None:
    at = _place(changed, random)
    changed[at : at + random.randrange(1, 33)] = random.randbytes(random.randrange(1, 33))


def _number(changed: bytearray, random: Random, others: Sequence[bytes]) -> None:
    at = _place(changed, random)
    width, form = random.choice(((1, "B"), (2, "H"), (4, "I"), (8, "Q")))
    value = random.choice(_NUMBERS) & ((1 << (8 * width)) - 1)
    changed[at : at + width] = struct.pack(random.choice("<>") + form, value)


def _token(changed: bytearray, random: Random, others: Sequence[bytes]) -> None:
    at = _place(changed, random)
    token = random.choice(_TOKENS)
    changed[at : at + random.choice((0, len(token)))] = token * random.choice((1, 1, 1, 50))


def _cut(changed: bytearray, random: Random, others: Sequence[bytes]) -> None:
    del changed[_place(changed, random) :]


def _remove(changed: bytearray, random: Random, others: Sequence[bytes]) -> None:
    at = _place(changed, random)
    del changed[at : at + random.randrange(1, max(2, len(changed) // 4))]


def _repeat(changed: bytearray, random: Random, others: Sequence[bytes]) -> None:
    at = _place(changed, random)
    piece = changed[at : at + random.randrange(1, 2000)]
    changed[at:at] = piece * random.choice((1, 2, 20))


def _splice(changed: bytearray, random: Random, others: Sequence[bytes]) -> None:
    other = random.choice(others)
    start = random.randrange(len(other) + 1)
    at = _place(changed, random)
    changed[at : at + random.randrange(5000)] = other[start : start + random.randrange(1, 5000)]


_CHANGES: tuple[Callable[[bytearray, Random, Sequence[bytes]], None], ...] = (
    _flip,
    _flip,
    _noise,
    _number,
    _number,
    _token,
    _cut,
    _remove,
    _repeat,
    _splice,
)
