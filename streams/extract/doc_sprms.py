"""Word says how text looks by lists of changes (sprms): this reads the few that say what the text is.

Source: [MS-DOC] 2.2.5 (Prl), 2.6 (sprms); Word 6 has numbers of one byte, which are translated.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from streams.extract.raised import Place
from streams.extract.rtf_tables import MAX_CELLS, CellRule, RowRule

_SIZES = (1, 1, 2, 4, 2, 2, -1, 3)
"""Bytes of the operand by the three highest bits of a sprm; -1: the first byte says it."""
DEFINE_TABLE, CHANGE_TABS = 0xD608, 0xC615
HUGE = (0x6645, 0x6646)
MAX_CHANGES = 5000
"""Sprms of one list that are read."""

_OLD = {
    2: 0x4600, 12: 0xC63E, 13: 0x260A, 23: CHANGE_TABS, 24: 0x2416, 25: 0x2417, 65: 0x0800, 66: 0x0801, 67: 0x0802,
    68: 0x6A03, 71: 0x0806, 74: 0x6A09, 75: 0x080A, 80: 0x4A30, 83: 0x2A33, 85: 0x0835, 92: 0x083C, 93: 0x4A4F,
    97: 0x486D, 104: 0x2A48, 117: 0x0855, 118: 0x0856, 153: 0x3021, 186: 0x3404, 188: DEFINE_TABLE,
    190: DEFINE_TABLE, 197: 0x5624,
}  # fmt: skip
"""Sprms of Word 6 that are read -> those of Word 97 that mean the same."""
_OLD_SIZES = (
    (0, "0 52 83 163"),
    (1, "4-11 13 14 24 25 29 37 44 50 51 65-67 71 75 85-92 94 98 100 102 104 117-119 131 132 138 139 142 143 146 147 "
        "150-153 158 159 162 185 186"),
    (2, "2 16-19 21 22 26-28 30-36 38-43 45-49 69 72 80 93 96 97 99 101 107 109 110 121-124 140 141 144 145 148 149 "
        "154-157 160 161 164-171 182-184 189 195 197 198"),
    (3, "73 95 136 137"),
    (4, "20 70 192 194 196 200"),
    (5, "193 199"),
    (12, "187"),
    (-1, "3 12 15 23 64 68 74 77 79 81 82 103 105 106 108 111-116 120 133 179 181 191 207"),
    (-2, "188 190"),
)  # fmt: skip
"""Bytes of the operands of Word 6's sprms; -1 and -2: the first one or two bytes say it."""


def _old_sizes() -> dict[int, int]:
    found: dict[int, int] = {}
    for size, numbers in _OLD_SIZES:
        for part in numbers.split():
            first, _, last = part.partition("-")
            found.update(dict.fromkeys(range(int(first), int(last or first) + 1), size))
    return found


_OLD_SIZE = _old_sizes()


def changes(data: bytes, *, is_old: bool) -> Iterator[tuple[int, bytes]]:
    """Each sprm with its operand, until the first that can't be read; without the byte that says a length."""
    at, width = 0, 1 if is_old else 2
    for _ in range(MAX_CHANGES):
        if at + width > len(data):
            return
        if is_old:
            number = _OLD.get(data[at], 0)
            size = _OLD_SIZE.get(data[at])
            if size is None:
                return
        else:
            (number,) = struct.unpack_from("<H", data, at)
            size = -2 if number == DEFINE_TABLE else _SIZES[number >> 13]
        at += width
        if size == -2:
            size = int.from_bytes(data[at : at + 2], "little") - 1
            at += 2
        elif size == -1 and at < len(data):
            size = _tabs_size(data, at + 1) if number == CHANGE_TABS and data[at] == 255 else data[at]
            at += 1
        if size < 0 or at + size > len(data):
            return
        yield number, data[at : at + size]
        at += size


def _tabs_size(data: bytes, at: int) -> int:
    """[MS-DOC] 2.9.178: so many tabs that one byte does not hold their size."""
    deleted = data[at] if at < len(data) else 0
    added_at = at + 1 + 4 * deleted
    return 1 + 4 * deleted + 1 + 3 * (data[added_at] if added_at < len(data) else 0)


@dataclass(frozen=True, slots=True)
class Look:
    """What the properties of characters say about them."""

    bold: bool = False
    hidden: bool = False
    deleted: bool = False
    inserted: bool = False
    place: Place = Place.LINE
    special: bool = False  # the character is a sign for something else
    data: bool = False  # a picture that holds a form field, no picture
    object: bool = False
    picture: int = 0  # offset in the stream Data
    symbol: tuple[int, int] | None = None  # font and code
    font: int = 0
    language: int = 0  # Windows' number
    style: int | None = None


def look(data: bytes, base: Look, styles: dict[int, bytes], *, is_old: bool) -> Look:
    """`base`, changed as these sprms say. `styles`: sprms of each character style."""
    found = plain = base
    for number, operand in changes(data, is_old=is_old):
        value = int.from_bytes(operand, "little")
        match number:
            case 0x0835:
                found = replace(found, bold=_toggled(value, plain.bold))
            case 0x083C:
                found = replace(found, hidden=_toggled(value, plain.hidden))
            case 0x0800:
                found = replace(found, deleted=value & 1 == 1)
            case 0x0801:
                found = replace(found, inserted=value & 1 == 1)
            case 0x2A48:
                found = replace(found, place={1: Place.RAISED, 2: Place.LOWERED}.get(value, Place.LINE))
            case 0x0855:
                found = replace(found, special=value & 1 == 1)
            case 0x0806:
                found = replace(found, data=value & 1 == 1)
            case 0x0856 | 0x080A:
                found = replace(found, object=found.object or value & 1 == 1)
            case 0x6A03:
                found = replace(found, picture=value & 0xFFFFFFFF, special=True)
            case 0x6A09:
                width = 1 if len(operand) == 3 else 2
                code = int.from_bytes(operand[2 : 2 + width], "little")
                found = replace(found, symbol=(int.from_bytes(operand[:2], "little"), code), special=True)
            case 0x4A4F:
                found = replace(found, font=value)
            case 0x486D | 0x4873:
                found = replace(found, language=value)
            case 0x4A30:
                own = styles.get(value)
                if own is not None and found.style is None:
                    found = plain = look(own, replace(found, style=value), {}, is_old=is_old)
            case 0x2A33:
                found = replace(plain, special=found.special, picture=found.picture, symbol=found.symbol)
    return found


def _toggled(value: int, base: bool) -> bool:
    """[MS-DOC] 2.9.327: on, off, as the style, or the opposite."""
    return base if value == 0x80 else not base if value == 0x81 else value & 1 == 1


@dataclass(slots=True)
class Paragraph:
    """What the properties of a paragraph say about it."""

    style: int = 0
    outline: int | None = None
    list_number: int | None = None  # which override of a list; 0: none
    list_level: int | None = None
    in_table: bool = False
    depth: int | None = None
    row_end: bool = False
    inner_cell: bool = False
    inner_row_end: bool = False
    row: RowRule = field(default_factory=RowRule)
    number_text: bytes = b""  # ANLD, how Word 6 numbers


def change_paragraph(found: Paragraph, data: bytes, *, is_old: bool) -> None:
    """Changes `found` as these sprms say."""
    for number, operand in changes(data, is_old=is_old):
        value = int.from_bytes(operand, "little")
        match number:
            case 0x4600:
                found.style = value
            case 0x2640:
                found.outline = value
            case 0x460B:
                found.list_number = value
            case 0x260A:
                found.list_level = value
            case 0xC63E:
                found.number_text = operand
            case 0x2416:
                found.in_table = value == 1
            case 0x6649:
                found.depth = value
            case 0x2417:
                found.row_end = value == 1
            case 0x244B:
                found.inner_cell = value == 1
            case 0x244C:
                found.inner_row_end = value == 1
            case 0x3404:
                found.row.header = value
            case 0xD608:
                _define(found.row, operand, 10 if is_old else 20)
            case 0x5624:
                for at in range(operand[0] + 1, min(operand[1], len(found.row.cells))):
                    found.row.cells[at].across = True
            case 0xD62B if len(operand) >= 2 and operand[0] < len(found.row.cells):
                _merge_down(found.row.cells[operand[0]], operand[1] & 3)


def _define(row: RowRule, data: bytes, size: int) -> None:
    """[MS-DOC] 2.9.319, TDefTableOperand: edges of the cells in twips, and how each is merged."""
    count = min(data[0], MAX_CELLS) if data else 0
    if len(data) < 1 + 2 * (count + 1):
        return
    edges = struct.unpack_from(f"<{count + 1}h", data, 1)
    start = 1 + 2 * (count + 1)
    row.left = edges[0]
    row.cells = [CellRule(edge) for edge in edges[1:]]
    for number, cell in enumerate(row.cells):
        at = start + number * size
        if at + 2 > len(data):
            break
        (flags,) = struct.unpack_from("<H", data, at)
        cell.across = number > 0 and flags & 3 == 2
        if size == 20:
            _merge_down(cell, flags >> 5 & 3)


def _merge_down(cell: CellRule, merge: int) -> None:
    """1: goes on with the cell above; 3: the first of cells that are one."""
    cell.down, cell.down_start = merge == 1, merge == 3
