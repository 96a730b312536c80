"""Letters set for the eye: a large initial beside the lines it begins, and words whose letters are spaced out."""

from __future__ import annotations

import re
from itertools import pairwise

import msgspec

from streams.extract.pdf_lines import Line

_LARGE = 1.7  # times the size of the text beside it
_CAP_HEIGHT = 0.72  # of the font size: the usual height of a capital letter
_SPACED = re.compile(r"(?<!\S)[^\W\d_](?: [^\W\d_]){4,}(?!\S)")
_VOWEL = re.compile("[aeiouyäöüáéíóúàèìòùâêîôûåæøœ]", re.IGNORECASE)


def with_initials(lines: list[Line]) -> list[Line]:
    """The lines of a page; a large initial is the first letter of the line at its top, and no line of its own."""
    initials = [line for line in lines if not line.solid and len(line.text) == 1 and line.text.isalpha()]
    if not initials:
        return lines
    gone: set[int] = set()
    begun: dict[int, Line] = {}
    for initial in initials:
        top = initial.base - _CAP_HEIGHT * initial.size
        beside = [
            line
            for line in lines
            if not line.solid
            and len(line.text) > 1
            and initial.size >= _LARGE * line.size
            and -0.3 * line.size <= line.u0 - initial.u1 <= 1.2 * line.size
            and top - 0.6 * line.size < line.base - _CAP_HEIGHT * line.size
            and line.base < initial.base + 0.3 * line.size
        ]
        first = min(beside, key=lambda line: (line.base, line.u0), default=None)
        if first is None or len(beside) < 2 or abs(first.base - _CAP_HEIGHT * first.size - top) > 0.6 * first.size:
            continue
        gone.add(id(initial))
        begun[id(first)] = msgspec.structs.replace(first, text=initial.text + first.text, u0=initial.u0)
    return [begun.get(id(line), line) for line in lines if id(line) not in gone]


def close_up(text: str) -> str:
    """Words whose letters are spaced out, as words. Letters in the order of the alphabet are a list and stay."""
    return _SPACED.sub(_word, text) if " " in text else text


def _word(match: re.Match[str]) -> str:
    letters = match[0].replace(" ", "")
    codes = [ord(letter) for letter in letters.casefold()]
    rising = all(a < b for a, b in pairwise(codes))
    return match[0] if rising or not _VOWEL.search(letters) or len(set(codes)) < 3 else letters
