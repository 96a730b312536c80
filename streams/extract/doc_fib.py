"""The head of a Word file says where everything else is: which Word wrote it, its stories, and its tables.

Source: [MS-DOC] 2.5 (FIB) for Word 97 and later; the FIB of Word 6 and 95 has the same pairs at other places.
"""

from __future__ import annotations

import struct
from enum import IntEnum

from streams.errors import DocumentError

WORD_6, WORD_95, WORD_97 = 101, 104, 192
"""`nFib` from which on a file is of Word 6, 95, and 97 or later."""
_ENCRYPTED, _SECOND_TABLE, _WIDE = 0x0100, 0x0200, 0x1000
_STORIES = 8


class Part(IntEnum):
    """Which pair of place and length of the FIB ([MS-DOC] 2.5.6) leads to what."""

    STYLES = 1
    FOOTNOTE_REFERENCES = 2
    FOOTNOTE_TEXTS = 3
    COMMENT_REFERENCES = 4
    COMMENT_TEXTS = 5
    SECTIONS = 6
    HEADERS = 11
    CHARACTER_PAGES = 12
    PARAGRAPH_PAGES = 13
    FONTS = 15
    OPTIONS = 31
    PIECES = 33
    COMMENT_AUTHORS = 36
    SHAPES = 40
    ENDNOTE_REFERENCES = 46
    ENDNOTE_TEXTS = 47
    DRAWINGS = 50
    BOXES = 56
    LISTS = 73
    LIST_OVERRIDES = 74


class Fib:
    """The FIB. Errors: DocumentError `corrupt`, `truncated`, `encrypted` or `unsupported_format`."""

    def __init__(self, main: bytes) -> None:
        if len(main) < 0x40:
            raise DocumentError("truncated", "The Word document ends within its head.")
        ident, self.version = struct.unpack_from("<HH", main)
        self.language, self.flags = struct.unpack_from("<H", main, 6)[0], struct.unpack_from("<H", main, 10)[0]
        if ident in (0x37FE, 0xBE31):
            raise DocumentError("unsupported_format", "Word for DOS or Macintosh before Word 6.")
        if self.flags & _ENCRYPTED:
            raise DocumentError("encrypted", "The document needs a password.")
        self.main = main
        self.is_old = self.version < WORD_97
        self.is_plain = self.version < WORD_6  # Word 1 and 2: only its text is read
        self.is_wide = self.version >= WORD_95 and bool(self.flags & _WIDE)
        self.table_name = "1Table" if self.flags & _SECOND_TABLE else "0Table"
        self.text_start, self.text_end = struct.unpack_from("<II", main, 0x18)
        at = 0x34 if self.is_old else 0x4C
        if len(main) < at + 4 * _STORIES:
            raise DocumentError("truncated", "The Word document ends within its head.")
        lengths = struct.unpack_from(f"<{_STORIES}I", main, at)
        self.body, self.footnotes, self.headers, _, self.comments, self.endnotes, self.boxes, self.header_boxes = (
            _spans(lengths)
        )

    def place(self, part: Part) -> tuple[int, int]:
        """Offset in the table stream and length in bytes; both 0 where there is none."""
        if self.is_plain:
            return 0, 0
        at = (0x58 if part < 38 else 0x62) + 8 * part if self.is_old else 0x9A + 8 * part
        if (self.is_old and at + 8 > min(self.text_start, 682)) or at + 8 > len(self.main):
            return 0, 0
        offset, length = struct.unpack_from("<II", self.main, at)
        return offset, length

    def first_pages(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """Word 6: first page and number of pages of character and of paragraph properties."""
        if not self.is_old or self.is_plain or len(self.main) < 0x192:
            return (0, 0), (0, 0)
        characters, paragraphs, n_characters, n_paragraphs = struct.unpack_from("<4H", self.main, 0x18A)
        return (characters, n_characters), (paragraphs, n_paragraphs)


def _spans(lengths: tuple[int, ...]) -> list[tuple[int, int]]:
    """First character and the one after the last of each story: they follow each other."""
    out: list[tuple[int, int]] = []
    at = 0
    for length in lengths:
        out.append((at, at + length))
        at += length
    return out


def plex(data: bytes, size: int) -> tuple[list[int], list[bytes]]:
    """Positions and structures of a PLC ([MS-DOC] 2.2.2): n + 1 positions, then n structures of `size` bytes."""
    count = max(0, (len(data) - 4) // (4 + size))
    if not count:
        return [], []
    positions = list(struct.unpack_from(f"<{count + 1}I", data))
    start = 4 * (count + 1)
    return positions, [data[start + number * size : start + (number + 1) * size] for number in range(count)]
