"""One pass over a whole file in bounded memory: is it ASCII, is it UTF-8, and which of its lines tell more."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from streams.decode.escapes import MOST, SWITCHES
from streams.decode.labels import codec_of

CHUNK = 1 << 20
SAMPLE = 8192
"""Bytes that the candidates are judged by: lines with bytes beyond ASCII, from all over the file."""
LEAST_SHARE = 80
"""Bytes of a chunk's lines that go into the sample at the least: about a line."""
LONGEST_SEARCH = 4096
"""Bytes in which a safe place to cut a line is looked for."""

_HIGH = re.compile(rb"[\x80-\xff]")
_SAFE = re.compile(rb"[\x00-\x2f]")
_LEADS = bytes(range(0xC2, 0xF5))
_ERROR = "\udfff"  # no decoder gives it, while U+FFFD may stand in the text
_ERRORS = "canonry.count"


def _mark(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return _ERROR, error.end


codecs.register_error(_ERRORS, _mark)


class Survey(msgspec.Struct):
    """What one pass over a file found."""

    ascii: bool = True
    valid_to: int | None = None  # offset of the first byte that is no UTF-8
    cut_at_end: bool = False  # the last character is incomplete
    good: int = 0  # multi-byte UTF-8 characters, counted only where there are errors
    bad: int = 0
    sample: bytes = b""
    torn: int = 0  # characters of the sample that are cut in two, at the most
    switches: bytes = b""  # the surroundings of the first escape sequence of a seven-bit encoding


def chunks(path: Path) -> Iterator[bytes]:
    """The file in pieces of bounded size."""
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            yield chunk


def survey(path: Path, size: int) -> Survey:
    """Reads the file once, twice where it is no UTF-8."""
    seen = Survey()
    decoder = codecs.getincrementaldecoder("utf-8")()
    offset = 0
    count = max(1, -(-size // CHUNK))
    stride = max(1, count * LEAST_SHARE // SAMPLE)  # of a huge file, every second chunk's lines, or every third's
    share = max(LEAST_SHARE, SAMPLE // count)
    sample: list[bytes] = []
    room = 2 * SAMPLE
    first = max(share, SAMPLE // 4)  # where the first line has no end it may be all there is to see
    since = 0
    for chunk in chunks(path):
        if not chunk.isascii():
            seen.ascii = False
            if since % stride == 0 and room > 0:
                lines, torn = telling_lines(chunk, min(share, room) if offset else first, aligned=offset == 0)
                sample.append(lines)
                seen.torn += torn
                room -= len(lines)
            since += 1
        elif not seen.switches and (match := SWITCHES.search(chunk)):
            # A run of HZ and of ISO-2022-KR may have begun a little before; their headers stand at the start.
            start = 0 if offset == 0 else max(0, match.start() - 1000)
            seen.switches = chunk[start : start + MOST] if match.start() < MOST else chunk[match.start() :][:MOST]
        if seen.valid_to is None:
            try:
                decoder.decode(chunk)
            except UnicodeDecodeError as error:
                seen.valid_to = offset + error.start
        offset += len(chunk)
    seen.sample = b"".join(sample)
    if seen.valid_to is None:
        try:
            decoder.decode(b"", True)
        except UnicodeDecodeError:
            seen.cut_at_end = True
    else:
        _count_utf8(path, seen)
    return seen


def _count_utf8(path: Path, seen: Survey) -> None:
    decoder = codecs.getincrementaldecoder("utf-8")(_ERRORS)
    for chunk in chunks(path):
        bad = decoder.decode(chunk).count(_ERROR)
        seen.bad += bad
        seen.good += max(0, len(chunk) - len(chunk.translate(None, _LEADS)) - bad)
        if seen.bad > 1000 and seen.bad * 20 > seen.good:
            break  # no UTF-8 with some damage, but another encoding


def telling_lines(chunk: bytes, budget: int, *, aligned: bool = True) -> tuple[bytes, int]:
    """Lines with bytes beyond ASCII, and how many of them are cut so that their last character may be torn.

    Args:
        budget: bytes; of a line that is longer, a piece with such a byte in it.
        aligned: the chunk begins with a character, not inside one.

    A piece begins where no encoding has the second byte of a character: behind a line break, or a byte below 0x30.
    """
    found: list[bytes] = []
    torn = position = 0
    while budget > 0 and (high := _HIGH.search(chunk, position)) is not None:
        start = chunk.rfind(b"\n", position, high.start()) + 1 or position
        end = chunk.find(b"\n", high.start())
        end = len(chunk) if end < 0 else end
        position = end + 1
        if end - start > budget and (safe := _last_safe(chunk, max(start, high.start() - 200), high.start())):
            start = safe
        elif start == 0 and not aligned:
            if not (safe := _first_safe(chunk, high.start(), min(end, high.start() + LONGEST_SEARCH))):
                continue
            start = safe
        if end - start > budget:
            end = start + max(budget, high.end() - start)
            torn += 1
        found.append(chunk[start:end])
        budget -= end - start + 1
    return b"\n".join(found) + b"\n", torn


def _last_safe(chunk: bytes, start: int, end: int) -> int:
    """Behind the last byte below 0x30 in a part of a chunk; 0 where there is none."""
    found = [match.end() for match in _SAFE.finditer(chunk, start, end)]
    return found[-1] if found else 0


def _first_safe(chunk: bytes, start: int, end: int) -> int:
    match = _SAFE.search(chunk, start, end)
    return match.end() if match else 0


def count_errors(path: Path, encoding: str) -> int:
    """How many times the file does not fit the encoding; reads it in pieces."""
    decoder = codecs.getincrementaldecoder(codec_of(encoding))(_ERRORS)
    errors = 0
    for chunk in chunks(path):
        errors += decoder.decode(chunk).count(_ERROR)
    return errors + decoder.decode(b"", True).count(_ERROR)


__all__ = ["SAMPLE", "Survey", "chunks", "count_errors", "survey", "telling_lines"]
