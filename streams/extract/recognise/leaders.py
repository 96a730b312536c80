"""Dots that lead from an entry to its page number: engines take them for letters, and are unsure of the words beside.

A row of dots is lower than any letter, so its box gives it away, whatever was read into it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from streams.extract.boxes import around
from streams.extract.recognise.engine import SeenLine, SeenWord

LEADER = "…"
"""What a row of dots becomes; text layers are read so, too."""

_FLAT = 0.25  # of the type size: the height of dots and rules; the lowest letters have half of it
_WIDE = 1.5  # of the type size: wider than a dash
_UNSURE = 0.45  # confidence below which a word in a row of dots is dots as well
_GLUED = re.compile(r"(.*?[\w)\]])\W?[.·…_]{3,}")  # a word with the row of dots behind it
_DOTS = re.compile(r"[.·…_,:;-]{3,}")


def without_leaders(lines: Sequence[SeenLine]) -> list[SeenLine]:
    """The lines with each row of dots as one word."""
    return [_mended(line) if _has_dots(line) else line for line in lines]


def _has_dots(line: SeenLine) -> bool:
    return not line.turn and any(
        _is_dots(word, line.size) or _glued(word, line.size) is not None for word in line.words
    )


def _is_flat(word: SeenWord, size: float) -> bool:
    x0, y0, x1, y1 = word.box
    return y1 - y0 <= _FLAT * size and x1 - x0 >= _WIDE * size


def _glued(word: SeenWord, size: float) -> str | None:
    """The word before the dots that the engine has taken for a part of it."""
    found = _GLUED.match(word.text) if word.confidence < _UNSURE and not _is_flat(word, size) else None
    return found[1] if found else None


def _is_dots(word: SeenWord, size: float) -> bool:
    return _is_flat(word, size) or _DOTS.fullmatch(word.text) is not None


def _mended(line: SeenLine) -> SeenLine:
    words: list[SeenWord] = []
    glued: list[int] = []
    in_row = False
    for word in line.words:
        if not in_row and (text := _glued(word, line.size)) is not None:
            glued.append(len(words))
            words += _parted(word, text, line.size)
            in_row = True
        elif _is_dots(word, line.size) or (in_row and word.confidence < _UNSURE):
            if in_row:
                words[-1] = words[-1]._replace(box=around((words[-1].box, word.box)))
            else:
                words.append(SeenWord(LEADER, word.box, 1.0))
            in_row = True
        else:
            words.append(word)
            in_row = False
    # The engine's doubt was about the dots; the word before them is as sure as its neighbours.
    sure = [word.confidence for index, word in enumerate(words) if word.text != LEADER and index not in glued]
    mean = sum(sure) / len(sure) if sure else 0.0
    for index in glued:
        words[index] = words[index]._replace(confidence=max(words[index].confidence, mean))
    return msgspec.structs.replace(line, words=words)


def _parted(word: SeenWord, text: str, size: float) -> tuple[SeenWord, SeenWord]:
    """A word and the dots behind it; where one ends is guessed by the number of letters."""
    x0, y0, x1, y1 = word.box
    middle = min(x1, x0 + 0.55 * size * len(text))
    return word._replace(text=text, box=(x0, y0, middle, y1)), SeenWord(LEADER, (middle, y0, x1, y1), 1.0)
