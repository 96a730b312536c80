"""The tree of parts of a message as spans of its file, found in one pass: no part is read into memory.

Works on a stack of its own, so that depth costs nothing. Sources: RFC 2046 5.1 (multipart), RFC 5322.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO

from streams.decode.unpack.mail_headers import Headers, Value, lines, media_type_of, read_headers

MAX_PARTS = 100_000
"""Parts of one message, those that are no members included. More are left out, with a warning."""
MAX_GUESSES = 1000
"""Lines that are looked at for being a delimiter that the header does not name."""
_CHUNK = 1 << 18
_DELIMITER = re.compile(rb"[\r\n]--[^\r\n]{1,2000}")  # RFC 2046 5.1.1 allows 70
_LONGEST = 2003
_PART_FIELD = re.compile(rb"content-(?:type|transfer-encoding|disposition|id|description)[ \t]*:", re.IGNORECASE)


class Part:
    """One part: its header fields and where its body stands in the file, transfer encoding and all."""

    def __init__(self, headers: Headers, parent: Part | None) -> None:
        self.headers = headers
        self.start = self.end = headers.end
        self.parent = parent
        self.parts: list[Part] = []
        self.content_type: Value = headers.value(b"content-type")
        self.disposition: Value = headers.value(b"content-disposition")
        default = "text/plain"
        if parent is not None and parent.media_type == "multipart/digest":
            default = "message/rfc822"
        self.has_type = headers.raw(b"content-type") != b""
        self.media_type: str = media_type_of(self.content_type) or default
        encoding = headers.text(b"content-transfer-encoding").lower().split(";")[0].strip(" \t\"'").split()
        self.encoding = encoding[0] if encoding else ""
        self.charset = self.content_type.parameters.get("charset")

    @property
    def is_multipart(self) -> bool:
        """Whether it consists of parts."""
        return self.media_type.startswith("multipart/")

    def walk(self) -> Iterator[Part]:
        """This part and all below it, in their order in the file."""
        waiting = [self]
        while waiting:
            part = waiting.pop()
            yield part
            waiting += reversed(part.parts)


class _Level:
    """A multipart that is open: its delimiter, and whether one was met."""

    def __init__(self, part: Part) -> None:
        self.part = part
        name = part.content_type.parameters.get("boundary", "").rstrip()
        self.boundary = b"--" + name.encode("utf-8", "surrogateescape") if name else None
        self.met = False


def parse(file: BinaryIO, start: int, end: int, warnings: list[str]) -> Part:
    """The parts of the message in a span. What its delimiters get wrong is mended where that is safe, and named in
    `warnings`: `boundary_guessed`, `boundary_missing`, `end_boundary_missing`, `parts_left_out`."""
    root = Part(read_headers(file, start, end), None)
    root.end = end
    levels: list[_Level] = []
    known: dict[bytes, int] = {}  # delimiter -> lowest level that has it
    leaf: Part | None = root
    parts, guesses = 1, 0

    def opened(part: Part) -> None:
        nonlocal leaf
        if not part.is_multipart:
            leaf = part
            return
        level = _Level(part)
        levels.append(level)
        if level.boundary is not None:
            known.setdefault(level.boundary, len(levels) - 1)
        leaf = None

    def closed(keep: int, at: int) -> None:
        """Ends what is open above the first `keep` levels."""
        nonlocal leaf
        if leaf is not None:
            leaf.end = max(at, leaf.start)
            leaf = None
        while len(levels) > keep:
            level = levels.pop()
            level.part.end = max(at, level.part.start)
            if level.boundary is not None and known.get(level.boundary) == len(levels):
                del known[level.boundary]

    opened(root)
    if root.is_multipart:
        position = root.start
        for offset, raw in _delimiters(file, root.start, end):
            if offset < position:
                continue  # inside a header block
            line = raw.rstrip()
            index, is_end = _level_of(line, known, levels)
            if index is None:
                guess = levels[-1] if levels and leaf is None and not levels[-1].met else None
                guesses += guess is not None
                if guess is None or guesses > MAX_GUESSES or not _begins_part(file, offset + len(raw), end):
                    continue
                if "boundary_guessed" not in warnings:
                    warnings.append("boundary_guessed")
                if guess.boundary is not None and known.get(guess.boundary) == len(levels) - 1:
                    del known[guess.boundary]
                guess.boundary = line
                known.setdefault(line, len(levels) - 1)
                index = len(levels) - 1
            closed(index + (0 if is_end else 1), _before_line_end(file, offset, root.start))
            if is_end:
                continue
            if parts >= MAX_PARTS:
                warnings.append("parts_left_out")
                break
            parts += 1
            levels[index].met = True
            part = Part(read_headers(file, _after_line_end(file, offset + len(raw)), end), levels[index].part)
            levels[index].part.parts.append(part)
            position = part.start
            opened(part)
    if levels and levels[0].met:
        warnings.append("end_boundary_missing")
    closed(0, end)
    if root.is_multipart and not root.parts:
        warnings.append("boundary_missing")
    root.end = end
    return root


def _level_of(line: bytes, known: dict[bytes, int], levels: list[_Level]) -> tuple[int | None, bool]:
    """Which open multipart a line delimits, and whether it ends it. The exact delimiter wins over an end."""
    if line in known:
        return known[line], False
    if line.endswith(b"--") and line[:-2].rstrip() in known:
        return known[line[:-2].rstrip()], True
    return None, False


def _delimiters(file: BinaryIO, start: int, end: int) -> Iterator[tuple[int, bytes]]:
    """Offsets and beginnings of the lines that start with two hyphens."""
    at = start
    before = b"\n"  # the byte before the block
    while at < end:
        file.seek(at)
        block = file.read(min(_CHUNK, end - at))
        if not block:
            return
        last = at + len(block) >= end
        data = before + block
        stop = len(data) if last else len(data) - _LONGEST
        for found in _DELIMITER.finditer(data):
            if found.start() >= stop:
                break
            yield at + found.start(), found[0][1:]
        if last:
            return
        at += stop - 1
        before = data[stop - 1 : stop]


def _begins_part(file: BinaryIO, at: int, end: int) -> bool:
    """Whether the line after `at` is a header field of a part."""
    for _, line in lines(file, _after_line_end(file, at), end):
        return _PART_FIELD.match(line) is not None
    return False


def _after_line_end(file: BinaryIO, at: int) -> int:
    file.seek(at)
    data = file.read(4096)
    rest = data.lstrip(b" \t")
    skipped = len(data) - len(rest)
    for line_end in (b"\r\r\n", b"\r\n", b"\n", b"\r"):
        if rest.startswith(line_end):
            return at + skipped + len(line_end)
    found = re.search(rb"[\r\n]", rest)  # a delimiter longer than was looked at
    return at + skipped + (found.end() if found else len(rest))


def _before_line_end(file: BinaryIO, at: int, floor: int) -> int:
    """The end of a part: the line end before its delimiter belongs to the delimiter."""
    begin = max(floor, at - 3)
    file.seek(begin)
    data = file.read(at - begin)
    for line_end in (b"\r\r\n", b"\r\n", b"\n", b"\r"):
        if data.endswith(line_end):
            return at - len(line_end)
    return at


__all__ = ["Part", "parse"]
