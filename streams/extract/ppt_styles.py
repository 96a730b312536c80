"""How the texts of a binary presentation look: levels and bullets, automatic numbers, raised characters, languages.

Source: [MS-PPT] 2.9.20 (TextPFException), 2.9.14 (TextCFException), 2.9.44 (StyleTextPropAtom), 2.9.54 (TextSIRun),
2.9.67 to 2.9.70 (StyleTextProp9Atom and what is in it).
"""

from __future__ import annotations

import struct
from collections import Counter
from dataclasses import dataclass
from typing import Generic, TypeVar

from streams.extract.raised import Place

_SIZES = (
    (0x0000_000F, 2), (0x80, 2), (0x10, 2), (0x40, 2), (0x20, 4), (0x800, 2), (0x1000, 2), (0x2000, 2), (0x4000, 2),
    (0x100, 2), (0x400, 2), (0x8000, 2),
)  # fmt: skip
"""Which bits of the mask say that a field is there, and its bytes, in their order, up to the tab stops."""
_LOOK = 0x3EB7
"""Bits of the mask of characters that say that their style is there."""
_FONTS, _SIZE, _COLOUR, _POSITION = (0x10000, 0x200000, 0x400000, 0x800000), 0x20000, 0x40000, 0x80000
NUMBERINGS = 0x0FAC
_ARABIC_PERIOD = 3
SCHEMES: tuple[tuple[str, str], ...] = (
    ("alphaLc", "Period"), ("alphaUc", "Period"), ("arabic", "ParenR"), ("arabic", "Period"), ("romanLc", "ParenBoth"),
    ("romanLc", "ParenR"), ("romanLc", "Period"), ("romanUc", "Period"), ("alphaLc", "ParenBoth"),
    ("alphaLc", "ParenR"), ("alphaUc", "ParenBoth"), ("alphaUc", "ParenR"), ("arabic", "ParenBoth"), ("arabic", ""),
    ("romanUc", "ParenBoth"), ("romanUc", "ParenR"), ("", ""), ("", "Period"), ("circleNumDb", ""),
    ("circleNumDb", ""), ("circleNumDb", ""), ("", ""), ("", "Period"), ("", "Minus"), ("", "Minus"), ("", "Minus"),
    ("", ""), ("", "Period"), ("arabicDb", ""), ("arabicDb", "Period"),
)  # fmt: skip
"""[MS-PPT] 2.13.32, TextAutoNumberSchemeEnum, as DrawingML calls its types; later ones are other scripts' figures."""
_TABS, _AFTER_TABS = 0x100000, ((0x10000, 2), (0xE0000, 2), (0x200000, 2))

Numbering = tuple[int, int]
"""Scheme and first number."""
_Kind = TypeVar("_Kind")


@dataclass(slots=True)
class Rule:
    """What holds for a paragraph."""

    level: int = 0
    bullet: bool | None = None
    sign: str = ""
    font: int | None = None  # of the bullet


@dataclass(frozen=True, slots=True)
class Look:
    """What holds for a run of characters."""

    place: Place = Place.LINE
    numbering: int = 0  # which numbering the paragraph has that begins here
    font: int | None = None  # for symbols


class Spread(Generic[_Kind]):
    """Runs of so many characters, asked for places that grow."""

    def __init__(self, runs: list[tuple[int, _Kind]], default: _Kind) -> None:
        self._runs, self._default = runs, default
        self._next = self._end = 0
        self._found = default

    def __call__(self, place: int) -> _Kind:
        while self._end <= place and self._next < len(self._runs):
            count, self._found = self._runs[self._next]
            self._end += count
            self._next += 1
        return self._found if place < self._end else self._default

    def end(self, place: int) -> int:
        """Where what holds there ends."""
        self(place)
        return self._end if place < self._end else 1 << 62


def read_style(data: bytes, length: int) -> tuple[list[tuple[int, Rule]], list[tuple[int, Look]]]:
    """Runs of paragraphs, then of characters, for all of a text and its end; what is damaged holds from there on."""
    rules: list[tuple[int, Rule]] = []
    looks: list[tuple[int, Look]] = []
    try:
        place = _read_rules(data, length, rules)
        _read_looks(data, place, length, looks)
    except struct.error:  # it ends within a run
        pass
    return rules, looks


def _read_rules(data: bytes, length: int, found: list[tuple[int, Rule]]) -> int:
    """Where the characters' runs begin."""
    place = done = 0
    while done <= length:
        count, level, mask = struct.unpack_from("<IHI", data, place)
        place += 10
        rule = Rule(level=level)
        has_font = False
        for bits, size in _SIZES:
            if mask & bits:
                value = int.from_bytes(data[place : place + size], "little")
                if bits == 0xF:
                    rule.bullet = bool(value & 1) if mask & 1 else None
                    has_font = bool(value & 2)
                elif bits == 0x80 and value:
                    rule.sign = chr(value)
                elif bits == 0x10 and has_font:
                    rule.font = value
                place += size
        if mask & _TABS:
            place += 2 + 4 * int(struct.unpack_from("<H", data, place)[0])
        place += sum(size for bits, size in _AFTER_TABS if mask & bits)
        found.append((count, rule))
        if not count:
            break
        done += count
    return place


def _read_looks(data: bytes, place: int, length: int, found: list[tuple[int, Look]]) -> None:
    done = 0
    while done <= length:
        count, mask = struct.unpack_from("<II", data, place)
        place += 8
        style = position = 0
        if mask & _LOOK:
            (style,) = struct.unpack_from("<H", data, place)
            place += 2
        font: int | None = None
        for bit in _FONTS:  # for Latin, two that do not matter, for symbols
            if mask & bit:
                if bit in (_FONTS[0], _FONTS[-1]):
                    (font,) = struct.unpack_from("<H", data, place)
                place += 2
        place += 2 * bool(mask & _SIZE) + 4 * bool(mask & _COLOUR)
        if mask & _POSITION:
            (position,) = struct.unpack_from("<h", data, place)
            place += 2
        where = Place.RAISED if position > 0 else Place.LOWERED if position < 0 else Place.LINE
        found.append((count, Look(where, style >> 10 & 15, font)))
        if not count:
            return
        done += count


def read_numberings(data: bytes) -> list[Numbering | None]:
    """StyleTextProp9Atom: automatic numbers, to which runs of characters refer by their place here."""
    found: list[Numbering | None] = []
    place = 0
    try:
        while place < len(data) and len(found) < 16:
            (mask,) = struct.unpack_from("<I", data, place)
            place += 4 + 2 * bool(mask & 0x800000)
            numbered, scheme, start = 0, _ARABIC_PERIOD, 1
            if mask & 0x2000000:
                (numbered,) = struct.unpack_from("<H", data, place)
                place += 2
            if mask & 0x1000000:
                scheme, start = struct.unpack_from("<HH", data, place)
                place += 4
            found.append((scheme, start) if numbered else None)
            (characters,) = struct.unpack_from("<I", data, place)
            place += 4 + 4 * bool(characters & 0x100000)
            (special,) = struct.unpack_from("<I", data, place)
            place += 4 + 2 * (special & 0x47).bit_count() + 4 * bool(special & 0x20)
            if special & 0x200:
                (tags,) = struct.unpack_from("<I", data, place)
                place += 4 + 4 * int(tags)
    except struct.error:  # it ends within one
        return found
    return found


def read_languages(data: bytes, length: int) -> Counter[int]:
    """[MS-PPT] 2.9.54, TextSIRun: how many characters are in each of Windows' languages."""
    found: Counter[int] = Counter()
    place = done = 0
    try:
        while done <= length and place < len(data):
            count, mask = struct.unpack_from("<II", data, place)
            place += 8 + 2 * (mask & 1)
            if mask & 2:
                found[struct.unpack_from("<H", data, place)[0]] += min(count, length)
            place += 2 * (mask >> 1 & 1) + 2 * (mask >> 2 & 1) + 2 * (mask >> 6 & 1) + 4 * (mask >> 5 & 1)
            done += max(1, count)
            if mask & 0x200:  # tags, which nothing says the length of
                break
    except struct.error:  # it ends within a run
        return found
    return found
