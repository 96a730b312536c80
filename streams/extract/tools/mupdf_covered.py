"""Text that a box painted after it covers: in the file, and seen by nobody, as where names were blacked out by drawing.

Geometry says what may be covered: an opaque rectangle that comes later in the content. The rendered page says whether
it is: a marker pen of blend mode Multiply, a soft mask or a clip leaves the letters visible.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pymupdf

from streams.extract.boxes import Box, around

_SMALLEST = 4.0  # points: less is a rule
_MOST_CHARACTERS = 100_000  # of a page whose characters are looked at one by one
_MOST_PAIRS = 5_000  # of a box and a block of text below it
_DPI = 100.0
_MOST_PIXELS = 4_000_000
_LEAST_HIGH = 0.3  # of a run's height below a box, of which its characters need half of theirs
_EDGE = 1  # pixels: where a box or a letter fades
_SAME = 12  # grey levels
_ENOUGH = 0.3  # share of a run's pixels that later text leaves to be judged

Key = tuple[str, float, float]
"""A character and its origin on the page as stored."""


class Word(NamedTuple):
    """A word with its box on the page as stored."""

    box: Box
    text: str


def covered(page: Any, textpage: Any, blocks: list[Any]) -> Counter[Key]:
    """The characters of a page (pymupdf.Page) that nobody sees, and how often each is painted before what covers it.

    Args:
        textpage: what was read of it, vectors in the order of painting.
        blocks: the same as dictionaries.

    Raises:
        What pymupdf raises.
    """
    boxes = [
        (block["number"], *block["bbox"])
        for block in blocks
        if block["type"] == 3 and block["isrect"] and not block["stroked"] and block["alpha"] == 255
    ]
    first = next((block["number"] for block in blocks if block["type"] == 0), None)
    if first is None or not boxes or boxes[-1][0] < first:
        return Counter()
    painted = np.array([box for box in boxes if box[0] > first], dtype=np.float64)
    sides = painted[:, 3:] - painted[:, 1:3]
    painted = painted[(sides >= _SMALLEST).all(axis=1)]
    suspects = {block["number"]: over for block in blocks if block["type"] == 0 and len(over := _over(block, painted))}
    if not suspects or sum(map(len, suspects.values())) > _MOST_PAIRS:
        return Counter()
    texts = [block for block in blocks if block["type"] == 0]
    if sum(len(span["text"]) for b in texts for line in b["lines"] for span in line["spans"]) > _MOST_CHARACTERS:
        return Counter()
    return _Letters(textpage).hidden(page, suspects)


def without(textpage: Any, hidden: Counter[Key]) -> tuple[list[Any], list[Word]]:
    """Blocks and words of a text page without these characters, a blank in the place of those inside a line."""
    blocks = textpage.extractRAWDICT()["blocks"]
    hidden = hidden.copy()
    words: list[Word] = []
    for block in blocks:
        for line in block.get("lines", ()):
            pieces = _runs(line, hidden)
            line["spans"] = [
                _span(span, chars, " " if index + 1 == len(piece) and piece is not pieces[-1] else "")
                for piece in pieces
                for index, (span, chars) in enumerate(piece)
            ]
            words += [word for piece in pieces for word in _words(piece)]
    return blocks, words


def _over(block: Any, painted: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The boxes that are painted after a block and upon it."""
    x0, y0, x1, y1 = block["bbox"]
    upon: npt.NDArray[np.bool_] = (
        (painted[:, 0] > block["number"])
        & (painted[:, 1] < x1)
        & (painted[:, 3] > x0)
        & (painted[:, 2] < y1)
        & (painted[:, 4] > y0)
    )
    over = painted[upon]
    return over if len(over) and _meets(block, over) else over[:0]


def _meets(block: Any, over: npt.NDArray[np.float64]) -> bool:
    """Whether a box may hold the middle of a character: cells are often filled right up to the line above them."""
    spans = [span["bbox"] for line in block["lines"] if line["dir"][1] == 0 for span in line["spans"]]
    if sum(len(line["spans"]) for line in block["lines"]) > len(spans):
        return True  # boxes of tilted text are larger than its letters
    for x0, y0, x1, y1 in spans:
        high = np.minimum(over[:, 4], y1) - np.maximum(over[:, 2], y0)
        if ((over[:, 1] < x1) & (over[:, 3] > x0) & (high >= _LEAST_HIGH * (y1 - y0))).any():
            return True
    return False


class _Letters:
    """The characters of a page, each with the number of its block and of the run of one style that it is part of."""

    def __init__(self, textpage: Any) -> None:
        self.keys: list[Key] = []
        rows: list[tuple[float, ...]] = []
        run = 0
        for block in textpage.extractRAWDICT()["blocks"]:
            for line in block.get("lines", ()):
                for span in line["spans"]:
                    run += 1
                    for char in span["chars"]:
                        self.keys.append(_key(char))
                        rows.append((block["number"], run, *char["bbox"], _is_letter(char["c"])))
        self.rows = np.array(rows, dtype=np.float64).reshape(-1, 7)

    def hidden(self, page: Any, suspects: dict[int, npt.NDArray[np.float64]]) -> Counter[Key]:
        under: dict[tuple[float, ...], list[npt.NDArray[np.int64]]] = {}
        for number, boxes in suspects.items():
            mine = np.flatnonzero(self.rows[:, 0] == number)
            for box in boxes:
                inside = mine[_is_under(self.rows[mine], box)]
                if self.rows[inside, 6].any():
                    under.setdefault(tuple(box), []).append(inside)
        if not under:
            return Counter()
        seen = _Seen(page)
        found: set[int] = set()
        for box, parts in under.items():
            found.update(self._unseen(np.concatenate(parts), box, seen))
        return Counter(self.keys[index] for index in sorted(found))

    def _unseen(self, below: npt.NDArray[np.int64], box: tuple[float, ...], seen: _Seen) -> list[int]:
        later = self.rows[(self.rows[:, 0] > box[0]) & (self.rows[:, 6] > 0), 2:6]
        letters = below[self.rows[below, 6] > 0]
        if seen.is_plain(self.rows[letters, 2:6], box[1:], later):
            return [int(index) for index in below]
        found: list[int] = []
        for run in np.unique(self.rows[letters, 1]):
            part = letters[self.rows[letters, 1] == run]
            if seen.is_plain(self.rows[part, 2:6], box[1:], later, _ENOUGH):
                found += [int(index) for index in below[self.rows[below, 1] == run]]
        return found


def _is_under(rows: npt.NDArray[np.float64], box: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    """Which characters have their middle, and most of their height and width, in a box."""
    x0, y0, x1, y1 = rows[:, 2], rows[:, 3], rows[:, 4], rows[:, 5]
    across, down = 0.25 * (x1 - x0), 0.25 * (y1 - y0)
    result: npt.NDArray[np.bool_] = (
        (x0 + across >= box[1]) & (x1 - across <= box[3]) & (y0 + down >= box[2]) & (y1 - down <= box[4])
    )
    return result


class _Seen:
    """The rendered page."""

    def __init__(self, page: Any) -> None:
        part = page.rect
        pixels = max(1.0, float(part.width) * float(part.height))
        self._scale = min(_DPI / 72, (_MOST_PIXELS / pixels) ** 0.5)
        matrix = pymupdf.Matrix(self._scale, self._scale)
        image = page.get_pixmap(matrix=matrix, colorspace=pymupdf.csGRAY, alpha=False)
        self._grey = np.frombuffer(image.samples, dtype=np.uint8).reshape(int(image.height), int(image.width))
        self._place = tuple(
            map(float, page.rotation_matrix)
        )  # what is read is told as stored, what is rendered is as displayed

    def is_plain(
        self,
        letters: npt.NDArray[np.float64],
        box: tuple[float, ...],
        later: npt.NDArray[np.float64],
        least: float = 0.0,
    ) -> bool:
        """Whether all that is seen in the places of letters below a box is one shade, aside from later letters.

        Args:
            least: share of the pixels that later letters have to leave.
        """
        low, high = letters[:, :2].min(axis=0), letters[:, 2:].max(axis=0)
        box = max(box[0], low[0]), max(box[1], low[1]), min(box[2], high[0]), min(box[3], high[1])
        ((u0, v0, u1, v1),) = self._pixels(np.array([box]), -_EDGE)
        grey = self._grey[v0:v1, u0:u1]
        mask = np.zeros_like(grey, dtype=np.bool_)
        _set(mask, self._pixels(letters, 0), (u0, v0), True)
        total = int(mask.sum())
        near = (later[:, 0] < box[2]) & (later[:, 2] > box[0]) & (later[:, 1] < box[3]) & (later[:, 3] > box[1])
        _set(mask, self._pixels(later[near], _EDGE), (u0, v0), False)
        left = grey[mask]
        if not len(left):
            return not least and total > 0
        return int(left.max()) - int(left.min()) <= _SAME and len(left) >= least * total

    def _pixels(self, boxes: npt.NDArray[np.float64], more: int) -> list[tuple[int, int, int, int]]:
        """Edges of boxes in pixels, each box larger by `more`."""
        a, b, c, d, e, f = self._place
        x, y = boxes[:, [0, 2]], boxes[:, [1, 3]]
        across, down = (a * x + c * y + e) * self._scale, (b * x + d * y + f) * self._scale
        low = np.stack([across.min(axis=1), down.min(axis=1)], axis=1).astype(int) - more
        high = np.stack([across.max(axis=1), down.max(axis=1)], axis=1).astype(int) + 1 + more
        return [tuple(row) for row in np.concatenate([low, high], axis=1).clip(0).tolist()]


def _set(mask: npt.NDArray[np.bool_], boxes: list[tuple[int, int, int, int]], start: tuple[int, int], to: bool) -> None:
    """Set the pixels of boxes in a mask whose upper left corner lies at `start`."""
    u, v = start
    for x0, y0, x1, y1 in boxes:
        mask[max(0, y0 - v) : max(0, y1 - v), max(0, x0 - u) : max(0, x1 - u)] = to


def _is_letter(char: str) -> bool:
    """Whether a character may be seen; one without a meaning is often a blank."""
    return char != "\ufffd" and bool(char.strip())


def _key(char: Any) -> Key:
    x, y = char["origin"]
    return str(char["c"]), round(float(x), 1), round(float(y), 1)


def _runs(line: Any, hidden: Counter[Key]) -> list[list[tuple[Any, list[Any]]]]:
    """Pieces of a line between characters that are left out, each its spans with what is left of their characters.

    A character printed again upon the box is seen: it comes later, when those below it are used up.
    """
    pieces: list[list[tuple[Any, list[Any]]]] = [[]]
    for span in line["spans"]:
        begun = False
        for char in span["chars"]:
            key = _key(char)
            if hidden[key]:
                hidden[key] -= 1
                if pieces[-1]:
                    pieces.append([])
                begun = False
                continue
            if not begun:
                pieces[-1].append((span, []))
                begun = True
            pieces[-1][-1][1].append(char)
    return [piece for piece in pieces if piece]


def _span(span: Any, chars: list[Any], end: str) -> dict[str, Any]:
    text = "".join(char["c"] for char in chars) + end
    return {**span, "text": text, "bbox": around(char["bbox"] for char in chars), "origin": chars[0]["origin"]}


def _words(piece: list[tuple[Any, list[Any]]]) -> list[Word]:
    words: list[Word] = []
    word: list[Any] = []
    for char in [char for _, chars in piece for char in chars]:
        if char["c"].strip():
            word.append(char)
        elif word:
            words.append(_word(word))
            word = []
    return [*words, _word(word)] if word else words


def _word(chars: list[Any]) -> Word:
    return Word(around(char["bbox"] for char in chars), "".join(char["c"] for char in chars))
