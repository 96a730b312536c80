"""Notes, comments, boxes and headers of a Word file: where each hangs, and where its own text is.

Source: [MS-DOC] 2.8.17 to 2.8.20 (notes), 2.8.8 to 2.8.10 (comments), 2.8.31 (boxes), 2.8.22 (headers).
"""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from streams.extract.doc_fib import Fib, Part, plex
from streams.extract.doc_sprms import changes
from streams.records import BlockKind

MAX_HANGING = 100_000
_SEPARATORS = 6  # stories before the headers: lines above notes
_HEADER_SIDES = (0, 1, 4)  # of the six stories of a section: even and odd and first header; the others are footers


@dataclass(frozen=True, slots=True)
class Hanging:
    """A story that hangs on a character. `kind` is null for a box."""

    kind: BlockKind | None
    start: int
    end: int
    author: str = ""
    is_endnote: bool = False
    is_numbered: bool = False


class Hangings:
    """All of them by the character they hang on; each is given once."""

    def __init__(self) -> None:
        self._found: list[tuple[int, Hanging]] = []
        self._places: list[int] = []

    def add(self, place: int, hanging: Hanging) -> None:
        """Where it hangs; the order of equal places is kept."""
        if len(self._found) < MAX_HANGING:
            self._found.append((place, hanging))

    def sort(self) -> None:
        """To be called after the last was added."""
        self._found.sort(key=lambda pair: pair[0])
        self._places = [place for place, _ in self._found]

    def between(self, start: int, end: int) -> list[Hanging]:
        """Those on the characters from `start` up to `end`."""
        return [
            hanging for _, hanging in self._found[bisect_left(self._places, start) : bisect_left(self._places, end)]
        ]

    def outside(self, start: int, end: int) -> list[Hanging]:
        """Those that hang on no character of the body."""
        return [hanging for place, hanging in self._found if not start <= place < end]


def read_hangings(fib: Fib, table: Callable[[Part], bytes], codec: str) -> Hangings:
    """Everything that hangs on characters of the body."""
    found = Hangings()
    for references, texts, story, is_endnote in (
        (Part.FOOTNOTE_REFERENCES, Part.FOOTNOTE_TEXTS, fib.footnotes, False),
        (Part.ENDNOTE_REFERENCES, Part.ENDNOTE_TEXTS, fib.endnotes, True),
    ):
        places, flags = plex(table(references), 2)
        spans = _spans(table(texts), 0, story)
        for place, flag, (start, end) in zip(places, flags, spans, strict=False):
            numbered = flag != b"\0\0"
            found.add(place, Hanging(BlockKind.FOOTNOTE, start, end, "", is_endnote, numbered))
    authors = _authors(table(Part.COMMENT_AUTHORS), codec, is_old=fib.is_old)
    places, entries = plex(table(Part.COMMENT_REFERENCES), 20 if fib.is_old else 30)
    spans = _spans(table(Part.COMMENT_TEXTS), 0, fib.comments)
    for place, entry, (start, end) in zip(places, entries, spans, strict=False):
        (number,) = struct.unpack_from("<H", entry, 10 if fib.is_old else 20)
        author = authors[number] if number < len(authors) else ""
        found.add(place, Hanging(BlockKind.COMMENT, start, end, author))
    _add_boxes(found, fib, table)
    found.sort()
    return found


def _spans(data: bytes, size: int, story: tuple[int, int]) -> list[tuple[int, int]]:
    """Spans of the texts of one story, which lie between neighbouring positions."""
    positions, _ = plex(data, size)
    if not positions:
        return []
    first, last = story
    places = [min(first + position, last) for position in positions]
    return list(pairwise(places))


def _add_boxes(found: Hangings, fib: Fib, table: Callable[[Part], bytes]) -> None:
    """Boxes hang on the character of their shape; those of shapes in groups on none that is known here."""
    data = table(Part.BOXES)
    size = 18 if fib.is_old else 22
    spans, (_, boxes) = _spans(data, size, fib.boxes), plex(data, size)
    shapes = {} if fib.is_old else _shapes(table(Part.SHAPES))
    for (start, end), box in zip(spans, boxes, strict=False):
        (shape,) = struct.unpack_from("<I", box, 14) if not fib.is_old else (0,)
        if end - start > 1:
            found.add(shapes.get(shape, 1 << 62), Hanging(None, start, end))


def _shapes(data: bytes) -> dict[int, int]:
    """Number of a shape -> its character in the body."""
    places, entries = plex(data, 26)
    return {int.from_bytes(entry[:4], "little"): place for place, entry in zip(places, entries, strict=False)}


def _authors(data: bytes, codec: str, *, is_old: bool) -> list[str]:
    names: list[str] = []
    at = 0
    while at < len(data) and len(names) < MAX_HANGING:
        if is_old:
            length = data[at]
            names.append(data[at + 1 : at + 1 + length].decode(codec, "replace"))
            at += 1 + length
        else:
            length = int.from_bytes(data[at : at + 2], "little")
            names.append(data[at + 2 : at + 2 + 2 * length].decode("utf-16-le", "replace"))
            at += 2 + 2 * length
    return names


def read_headers(fib: Fib, table: Callable[[Part], bytes]) -> list[tuple[BlockKind, int, int]]:
    """Headers and footers of all sections with the span of their text, in the order of the file."""
    data = table(Part.HEADERS)
    spans = _spans(data, 0, fib.headers)[:MAX_HANGING]
    if fib.is_old:
        sides = _old_sides(fib, table)
    else:
        sides = [_SEPARATORS] * _SEPARATORS
        sides += [(number - _SEPARATORS) % 6 for number in range(_SEPARATORS, len(spans))]
    out: list[tuple[BlockKind, int, int]] = []
    for number, (start, end) in enumerate(spans):
        side = sides[number] if number < len(sides) else 0
        if end > start and side != _SEPARATORS:
            out.append((BlockKind.PAGE_HEADER if side in _HEADER_SIDES else BlockKind.PAGE_FOOTER, start, end))
    return out


def _old_sides(fib: Fib, table: Callable[[Part], bytes]) -> list[int]:
    """Word 6 has only those stories whose bits are set, in the options and in each section."""
    options = table(Part.OPTIONS)
    sides = [_SEPARATORS] * ((options[1] & 63).bit_count() if len(options) > 1 else 0)
    for section in plex(table(Part.SECTIONS), 12)[1][:MAX_HANGING]:
        (at,) = struct.unpack_from("<I", section, 2)
        size = int.from_bytes(fib.main[at : at + 2], "little") if at < len(fib.main) else 0
        for number, operand in changes(fib.main[at + 2 : at + 2 + size], is_old=True):
            if number == 0x3021 and operand:
                sides += [side for side in range(6) if operand[0] >> side & 1]
    return sides
