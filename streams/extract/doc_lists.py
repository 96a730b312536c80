"""The lists of a Word file: how each level counts and looks, for the counter that DOCX has, too.

Source: [MS-DOC] 2.9.194 (PlfLst), 2.9.149 (LSTF), 2.9.151 (LVLF), 2.9.193 (PlfLfo), 2.9.134 (LFOLVL).
"""

from __future__ import annotations

import struct
from dataclasses import replace

from streams.extract.doc_sprms import changes
from streams.extract.doc_styles import Font
from streams.extract.docx_numbering import LEVELS, Level, Numbering

MAX_LISTS = 4096
_FORMATS = {
    0: "decimal", 1: "upperRoman", 2: "lowerRoman", 3: "upperLetter", 4: "lowerLetter", 5: "ordinal", 6: "cardinalText",
    7: "ordinalText", 9: "chicago", 10: "ideographDigital", 11: "japaneseCounting", 14: "decimalFullWidth",
    18: "decimalEnclosedCircle", 22: "decimalZero", 23: "bullet", 28: "decimalEnclosedCircleChinese",
    37: "chineseCounting", 39: "chineseCountingThousand", 57: "numberInDash", 58: "russianLower", 59: "russianUpper",
    255: "none",
}  # fmt: skip
"""Numbers of formats ([MS-OSHARED] 2.2.1.3, MSONFC) -> their names in ST_NumberFormat."""
OLD_LISTS = 1 << 20
"""Numbers of Word 6's lists begin here."""


def add_lists(numbering: Numbering, lists: bytes, overrides: bytes, fonts: list[Font]) -> None:
    """Fills the counter. `lists`: the stream from PlfLst on, for the levels stand behind it; `overrides`: PlfLfo."""
    abstracts = _abstracts(lists, fonts)
    if len(overrides) < 4:
        return
    count = min(int.from_bytes(overrides[:4], "little"), MAX_LISTS, (len(overrides) - 4) // 16)
    at = 4 + 16 * count
    for number in range(count):
        list_id, _, _, changed = struct.unpack_from("<3IB", overrides, 4 + 16 * number)
        levels = dict(abstracts.get(list_id, {}))
        restarts: dict[int, int] = {}
        at += 4
        for _ in range(min(changed, LEVELS)):
            if at + 8 > len(overrides):
                break
            start, flags = struct.unpack_from("<iI", overrides, at)
            at += 8
            depth = flags & 15
            if flags & 0x20:
                level, at = _level(overrides, at, fonts)
                if level is not None and depth < LEVELS:
                    levels[depth] = level
            if flags & 0x10 and depth < LEVELS:
                restarts[depth] = start
                levels[depth] = replace(levels.get(depth, Level()), start=start)
        if list_id in abstracts:
            numbering.add(number + 1, list_id, levels, restarts)


def _abstracts(data: bytes, fonts: list[Font]) -> dict[int, dict[int, Level]]:
    count = int.from_bytes(data[:2], "little")
    if len(data) < 2 + 28 * count:
        return {}
    at = 2 + 28 * count
    found: dict[int, dict[int, Level]] = {}
    for number in range(min(count, MAX_LISTS)):
        (list_id,) = struct.unpack_from("<I", data, 2 + 28 * number)
        is_simple = data[2 + 28 * number + 26] & 1
        levels: dict[int, Level] = {}
        for depth in range(1 if is_simple else LEVELS):
            level, at = _level(data, at, fonts)
            if level is None:
                return found
            levels[depth] = level
        found[list_id] = levels
    return found


def _level(data: bytes, at: int, fonts: list[Font]) -> tuple[Level | None, int]:
    """One LVL, and where the next thing begins; null where it is not there."""
    if at + 30 > len(data):
        return None, len(data)
    start, number_format, flags = struct.unpack_from("<iBB", data, at)
    look_size, rules_size, restart = data[at + 24], data[at + 25], data[at + 26]
    at += 28 + rules_size
    font = _font(data[at : at + look_size], fonts)
    at += look_size
    length = int.from_bytes(data[at : at + 2], "little")
    text = data[at + 2 : at + 2 + 2 * length].decode("utf-16-le", "replace")
    shown = "".join(f"%{ord(sign) + 1}" if ord(sign) < LEVELS else sign for sign in text[:64])
    is_bullet = number_format == 23
    return Level(
        start=start,
        number_format=_FORMATS.get(number_format, "decimal" if number_format == 8 else f"format {number_format}"),
        text=text[:8] if is_bullet else shown,
        restart=restart if flags & 8 else None,
        legal=bool(flags & 4),
        font=font if is_bullet else None,
    ), at + 2 + 2 * length


def _font(data: bytes, fonts: list[Font]) -> str | None:
    for number, operand in changes(data, is_old=False):
        if number == 0x4A4F:
            index = int.from_bytes(operand, "little")
            return fonts[index].name if index < len(fonts) else None
    return None


class OldLists:
    """Word 6 says at each paragraph how its number looks (ANLD); equal ones are one list."""

    def __init__(self, numbering: Numbering, codec: str) -> None:
        self._numbering = numbering
        self._codec = codec
        self._levels: dict[int, Level] = {}
        self.used = False

    def marker(self, description: bytes, kind: int) -> str | None:
        """The marker of a paragraph. `kind`: `nLvlAnm`: 1 to 9 a level of headings, 10 a number, 11 a bullet."""
        if len(description) < 20 or not kind:
            return None
        number_format, before, after = description[0], description[1], description[2]
        start = int.from_bytes(description[10:12], "little")
        text = description[20:].decode(self._codec, "replace")
        if kind == 11:
            return "•"
        depth = kind - 1 if 1 <= kind <= LEVELS else 0
        list_id = OLD_LISTS if 1 <= kind <= LEVELS else OLD_LISTS + 1
        self._levels[depth] = Level(
            start=start,
            number_format=_FORMATS.get(number_format, "decimal"),
            text=f"{text[:before]}%{depth + 1}{text[before : before + after]}",
        )
        self._numbering.add(list_id, list_id, dict(self._levels), {})
        return self._numbering.marker(list_id, depth)

    def interrupted(self) -> None:
        """A paragraph without a number: the next one begins anew."""
        self._numbering.forget(OLD_LISTS + 1)
