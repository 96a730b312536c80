"""The text of a Word file lies in pieces, and its properties in pages: this puts each run together.

Source: [MS-DOC] 2.4.1 (text), 2.4.6 (properties), 2.8.35 (PlcPcd), 2.9.33 and 2.9.174 (pages of properties).
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from streams.extract.doc_fib import Fib, Part, plex

PAGE = 512
_MAX_LISTS = 65_536
_OLD_PIECES = {65: 0x0800, 66: 0x0801, 85: 0x0835, 92: 0x083C}


@dataclass(frozen=True, slots=True)
class Piece:
    """Characters that lie together in the file: from `start` up to `end`, at `offset`, of one or two bytes each."""

    start: int
    end: int
    offset: int
    width: int
    changes: bytes = b""  # sprms for the whole piece


@dataclass(frozen=True, slots=True)
class Run:
    """Bytes of characters with the same properties."""

    start: int  # number of its first character
    offset: int  # in the stream
    data: bytes
    width: int
    properties: bytes
    piece_changes: bytes


class Spans:
    """Properties of spans of the stream, by offset."""

    def __init__(self, spans: list[tuple[int, int, bytes]]) -> None:
        spans.sort(key=lambda span: span[0])
        self._starts = [start for start, _, _ in spans]
        self._spans = spans

    def at(self, offset: int) -> tuple[int, bytes]:
        """Where the span ends that begins at or before the offset, and its properties; else where the next begins."""
        index = bisect_right(self._starts, offset) - 1
        following = self._starts[index + 1] if index + 1 < len(self._starts) else 1 << 62
        if index >= 0:
            _, end, properties = self._spans[index]
            if offset < end:
                return min(end, following), properties
        return following, b""


class Text:
    """The characters of all stories. Nothing is read twice: as many characters as there are bytes.

    Args:
        table: bytes of a part, by its name in the FIB.
        huge: bytes of the stream Data from an offset on, for lists of sprms that fit in no page.
    """

    def __init__(self, fib: Fib, table: Callable[[Part], bytes]) -> None:
        self._main = fib.main
        self._fib = fib
        self.is_cut = False
        self.pieces = _bounded(self, _pieces(fib, table(Part.PIECES)))
        if not fib.is_plain and (self.pieces[-1].end if self.pieces else 0) < fib.body[1]:
            self.is_cut = True
        self._piece_starts = [piece.start for piece in self.pieces]
        (first_character, n_characters), (first_paragraph, n_paragraphs) = fib.first_pages()
        characters = _page_numbers(fib, table(Part.CHARACTER_PAGES), first_character, n_characters)
        paragraphs = _page_numbers(fib, table(Part.PARAGRAPH_PAGES), first_paragraph, n_paragraphs)
        self._characters = Spans(list(_character_spans(fib.main, characters)))
        self._paragraphs = Spans(list(_paragraph_spans(fib.main, paragraphs, is_old=fib.is_old)))

    def runs(self, start: int, end: int) -> Iterator[Run]:
        """Runs of the characters from `start` up to `end`."""
        index = max(0, bisect_right(self._piece_starts, start) - 1)
        for piece in self.pieces[index:]:
            if piece.start >= end:
                return
            first, last = max(start, piece.start), min(end, piece.end)
            while first < last:
                offset = piece.offset + (first - piece.start) * piece.width
                until, properties = self._characters.at(offset)
                count = min(last - first, max(1, (until - offset + piece.width - 1) // piece.width))
                data = self._main[offset : offset + count * piece.width]
                yield Run(first, offset, data, piece.width, properties, piece.changes)
                first += count

    def paragraph(self, offset: int) -> bytes:
        """Style number and sprms of the paragraph whose mark is at this offset of the stream."""
        return self._paragraphs.at(offset)[1]


def _bounded(text: Text, pieces: list[Piece]) -> list[Piece]:
    """Pieces in order without gaps or overlaps, together not more than the stream holds."""
    size = len(text._main)
    left, at = size, 0
    kept: list[Piece] = []
    for piece in pieces:
        if piece.start != at or piece.end <= piece.start:
            text.is_cut = text.is_cut or piece.end > piece.start
            if piece.start < at or piece.end <= piece.start:
                continue
        count = min(piece.end - piece.start, max(0, size - piece.offset) // piece.width, left // piece.width)
        text.is_cut = text.is_cut or count < piece.end - piece.start
        if count > 0:
            kept.append(Piece(piece.start, piece.start + count, piece.offset, piece.width, piece.changes))
            left -= count * piece.width
        at = piece.end
    return kept


def _pieces(fib: Fib, clx: bytes) -> list[Piece]:
    """[MS-DOC] 2.9.38, Clx: lists of sprms, then the table of pieces. Without one the text is one piece."""
    lists: list[bytes] = []
    at = 0
    while at + 3 <= len(clx) and clx[at] == 1 and len(lists) < _MAX_LISTS:
        (size,) = struct.unpack_from("<H", clx, at + 1)
        lists.append(clx[at + 3 : at + 3 + size])
        at += 3 + size
    out: list[Piece] = []
    if at + 5 <= len(clx) and clx[at] == 2:
        (size,) = struct.unpack_from("<I", clx, at + 1)
        positions, entries = plex(clx[at + 5 : at + 5 + size], 8)
        for number, entry in enumerate(entries):
            offset, modifier = struct.unpack_from("<IH", entry, 2)
            width = 1 if fib.is_old and not fib.is_wide else 2
            if not fib.is_old and offset & 0x40000000:
                offset, width = (offset & 0x3FFFFFFF) // 2, 1
            changes = _piece_changes(modifier, lists, is_old=fib.is_old)
            out.append(Piece(positions[number], positions[number + 1], offset, width, changes))
    if not out:
        width = 2 if fib.is_wide else 1
        count = max(0, min(fib.text_end, len(fib.main)) - fib.text_start) // width
        out.append(Piece(0, count, fib.text_start, width))
    return out


def _piece_changes(modifier: int, lists: list[bytes], *, is_old: bool) -> bytes:
    """[MS-DOC] 2.9.214, Prm: a list of sprms, or one of a few with a value of one byte."""
    if modifier & 1:
        index = modifier >> 1
        return lists[index] if index < len(lists) else b""
    number, value = modifier >> 1 & 0x7F, modifier >> 8
    sprm = _OLD_PIECES.get(number)
    if sprm is None:
        return b""
    return bytes([number, value]) if is_old else struct.pack("<HB", sprm, value)


def _page_numbers(fib: Fib, data: bytes, first: int, count: int) -> list[int]:
    """Pages of properties, each once, that are in the stream."""
    size = 2 if fib.is_old else 4
    numbers = [int.from_bytes(entry, "little") & 0x3FFFFF for entry in plex(data, size)[1]]
    if fib.is_old and len(numbers) < count:  # the table is short where the pages simply follow each other
        numbers += range(first + len(numbers), first + count)
    return [number for number in dict.fromkeys(numbers) if number > 0 and (number + 1) * PAGE <= len(fib.main)]


def _character_spans(main: bytes, pages: list[int]) -> Iterator[tuple[int, int, bytes]]:
    for number in pages:
        page = main[number * PAGE : (number + 1) * PAGE]
        count = page[511]
        if 5 * count + 4 > 511:
            continue
        bounds = struct.unpack_from(f"<{count + 1}I", page)
        for index in range(count):
            at = page[4 * (count + 1) + index] * 2
            size = page[at] if at else 0
            yield bounds[index], bounds[index + 1], page[at + 1 : min(at + 1 + size, 511)]


def _paragraph_spans(main: bytes, pages: list[int], *, is_old: bool) -> Iterator[tuple[int, int, bytes]]:
    width = 7 if is_old else 13
    for number in pages:
        page = main[number * PAGE : (number + 1) * PAGE]
        count = page[511]
        if (4 + width) * count + 4 > 511:
            continue
        bounds = struct.unpack_from(f"<{count + 1}I", page)
        for index in range(count):
            at = page[4 * (count + 1) + index * width] * 2
            size = 2 * page[at] - 1 if at else 0
            if at and page[at] == 0 and at < 511:
                at, size = at + 1, 2 * page[at + 1]
            elif is_old:
                size += 1
            yield bounds[index], bounds[index + 1], page[at + 1 : min(at + 1 + max(0, size), 511)]
