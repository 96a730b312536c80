"""Words of a page in the places of a grid: by their middle, as text rows and pieces."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from streams.extract.boxes import Box
from streams.extract.pdf_columns import is_right_to_left
from streams.extract.pdf_grid import Grid
from streams.extract.pdf_lines import Frame, Line, clean
from streams.extract.pdf_stand_ins import is_inside
from streams.extract.tools.mupdf import Word

FIGURES = r"[\d.,:/  \-–−+*%‰]*"
VALUE = re.compile(rf"[(\[]?[-+−–±<>≤≥~]?\s?[$€£¥]?\s?{FIGURES}\d{FIGURES}[)\]]?[*†a-z]{{0,2}}|[-–—.…*xX✓]|n/?a|N/?A")
LONGEST_VALUE = 24  # characters
_DRAWN = re.compile(r"[-=_–—─═]{5,}")  # a rule made of characters
_BAND = 40.0  # points
_FINE_BAND = 4.0  # points
_LAST = 8  # words of a band that may lie over the next one
_DOUBLE = 0.15  # of the height: how far apart two prints of one word lie
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
        """Its words in the order of reading, which a script that runs from right to left turns around."""
        if not is_right_to_left("".join(word.text for word in self.words)):
            return " ".join(word.text for word in self.words)
        read: list[str] = []
        latin = 0  # how many words of a left-to-right script end what is read: they keep their own order
        for word in reversed(self.words):
            is_latin = any(unicodedata.bidirectional(letter) == "L" for letter in word.text)
            read.insert(len(read) - latin if is_latin else len(read), word.text)
            latin = latin + 1 if is_latin else 0
        return " ".join(read)

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


class LinesAt:
    """Which line of a page lies at a position; asked for each word, so by bands of height."""

    def __init__(self, lines: Iterable[Line]) -> None:
        self._bands: defaultdict[int, list[Line]] = defaultdict(list)
        for line in lines:
            for band in range(int(line.v0 // _BAND), int(line.v1 // _BAND) + 1):
                self._bands[band].append(line)

    def holds(self, u: float, v: float) -> bool:
        """Whether one of the lines lies at (u, v)."""
        near = self._bands.get(int(v // _BAND), ())
        return any(line.u0 - 1 <= u <= line.u1 + 1 and line.v0 <= v <= line.v1 for line in near)


def place(words: Sequence[Word], lines: Sequence[Line], frame: Frame, grid: Grid) -> list[Placed]:
    """The words of a grid: those that lie in it, and the rest of the lines that it takes, so that no word is lost or
    told twice. Rules made of characters are no words, and a word that is printed twice is one.
    """
    box = u_from, v_from, u_to, v_to = grid.box
    mine = LinesAt(line for line in lines if is_inside(line, box) and (line.u0 < u_from or line.u1 > u_to))
    others = LinesAt(line for line in lines if not line.solid and not is_inside(line, box) and _meets(line, box))
    found = []
    for word in words:
        u0, v0, u1, v1 = frame.inside(word.box)
        u, v = (u0 + u1) / 2, (v0 + v1) / 2
        inside = u_from <= u < u_to and v_from <= v < v_to
        if (inside and not others.holds(u, v)) or mine.holds(u, v):
            text = clean(word.text)
            if text.strip() and not _DRAWN.fullmatch(text):
                found.append(Placed(u0, v0, u1, v1, text))
    return _without_doubles(found)


def _without_doubles(words: Sequence[Placed]) -> list[Placed]:
    """Words without those that another one holds at the same place: print that is laid over itself to look bold, whose
    letters may fall into words otherwise the second time.
    """
    bands: defaultdict[int, list[Placed]] = defaultdict(list)
    for word in sorted(words, key=lambda item: (item.u0, -item.u1, item.v0, item.text)):
        band = int(word.middle // _FINE_BAND)
        beside = [(near, i) for near in (band - 1, band, band + 1) for i in range(len(bands[near]))[-_LAST:]]
        if any(_holds(bands[near][i], word) for near, i in beside):
            continue
        for near, i in reversed(beside):
            if _holds(word, bands[near][i]):
                del bands[near][i]
        bands[band].append(word)
    return [word for band in sorted(bands) for word in bands[band]]


def _holds(word: Placed, other: Placed) -> bool:
    near = _DOUBLE * (word.v1 - word.v0)
    return (
        word.u0 - near <= other.u0
        and other.u1 <= word.u1 + near
        and abs(word.middle - other.middle) <= near
        and other.text in word.text
    )


def _meets(line: Line, box: Box) -> bool:
    return line.u0 < box[2] and box[0] < line.u1 and line.v0 < box[3] and box[1] < line.v1


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
        found[owner[slot(grid.vs, word.middle), slot(grid.us, (word.u0 + word.u1) / 2)]].append(word)
    return found


def slot(edges: Sequence[float], at: float) -> int:
    """Which interval between the edges holds a position; beyond them the first or the last."""
    return min(max(bisect_right(edges, at) - 1, 0), len(edges) - 2)
