"""Words of a page in the places of a grid: by their middle, as text rows and pieces."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from streams.extract.pdf_grid import Grid
from streams.extract.pdf_lines import Frame, clean
from streams.extract.tools.mupdf import Word

FIGURES = r"[\d.,:/  \-–−+*%‰]*"
VALUE = re.compile(rf"[(\[]?[-+−–±<>≤≥~]?\s?[$€£¥]?\s?{FIGURES}\d{FIGURES}[)\]]?[*†a-z]{{0,2}}|[-–—.…*xX✓]|n/?a|N/?A")
LONGEST_VALUE = 24  # characters
_DRAWN = re.compile(r"[-=_–—─═]{5,}")  # a rule made of characters
_PIECE = 0.5  # of the height of a word: words farther apart are two pieces
_SAME_ROW = 0.4  # of the height


class Placed(NamedTuple):
    """A word in the coordinates of the frame."""

    u0: float
    v0: float
    u1: float
    v1: float
    text: str

    @property
    def middle(self) -> float:
        return (self.v0 + self.v1) / 2


class Piece(NamedTuple):
    """Words with no more than blanks between them."""

    u0: float
    u1: float
    text: str


class TextRow(NamedTuple):
    """Words on one line."""

    middle: float
    words: list[Placed]

    @property
    def text(self) -> str:
        return " ".join(word.text for word in self.words)

    def pieces(self, gap: float = _PIECE) -> list[Piece]:
        """Its words joined where less than `gap` of their height lies between them."""
        found: list[Piece] = []
        for word in self.words:
            if found and word.u0 - found[-1].u1 < gap * (word.v1 - word.v0):
                found[-1] = Piece(found[-1].u0, max(found[-1].u1, word.u1), f"{found[-1].text} {word.text}")
            else:
                found.append(Piece(word.u0, word.u1, word.text))
        return found


def is_value(text: str) -> bool:
    """Whether a text is a number, an amount, a range, or a sign that stands for one."""
    return len(text) <= LONGEST_VALUE and VALUE.fullmatch(text) is not None


def place(words: Sequence[Word], frame: Frame, grid: Grid) -> list[Placed]:
    """The words that lie in a grid; rules made of characters are none."""
    u_from, v_from, u_to, v_to = grid.box
    found = []
    for word in words:
        u0, v0, u1, v1 = frame.inside(word.box)
        if u_from <= (u0 + u1) / 2 < u_to and v_from <= (v0 + v1) / 2 < v_to:
            text = clean(word.text)
            if text.strip() and not _DRAWN.fullmatch(text):
                found.append(Placed(u0, v0, u1, v1, text))
    return found


def text_rows(words: Sequence[Placed]) -> list[TextRow]:
    """Rows of text from top to bottom, each from left to right."""
    rows: list[list[Placed]] = []
    for word in sorted(words, key=lambda item: (item.middle, item.u0, item.text)):
        if rows and word.middle - rows[-1][0].middle <= _SAME_ROW * (word.v1 - word.v0):
            rows[-1].append(word)
        else:
            rows.append([word])
    return [TextRow(row[0].middle, sorted(row, key=lambda item: (item.u0, item.u1))) for row in rows]


def contents(grid: Grid, words: Sequence[Placed]) -> dict[tuple[int, int], list[Placed]]:
    """The words of each cell, by its first row and column. A word is in the cell that holds its middle."""
    owner = {
        (row + r, col + c): (row, col)
        for row, col, height, width in grid.spans
        for r in range(height)
        for c in range(width)
    }
    found: dict[tuple[int, int], list[Placed]] = {(row, col): [] for row, col, _, _ in grid.spans}
    for word in words:
        row, col = slot(grid.vs, word.middle), slot(grid.us, (word.u0 + word.u1) / 2)
        if row is not None and col is not None:
            found[owner[row, col]].append(word)
    return found


def slot(edges: Sequence[float], at: float) -> int | None:
    """Which interval between the edges holds a position."""
    index = bisect_right(edges, at) - 1
    return index if 0 <= index < len(edges) - 1 else None
