"""The texts of a binary presentation: paragraphs with their level, bullet and links.

Source: [MS-PPT] 2.9.35 (TextHeaderAtom), 2.9.42 (TextCharsAtom), 2.9.44 (StyleTextPropAtom), 2.9.20 (TextPFException).
"""

from __future__ import annotations

import re
import struct
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from streams.extract.docx_numbering import bullet
from streams.extract.ppt_records import Record
from streams.records import Link

TEXT_HEADER, TEXT_CHARS, TEXT_BYTES, STYLE, SPECIAL = 0x0F9F, 0x0FA0, 0x0FA8, 0x0FA1, 0x0FAA
INTERACTIVE, INTERACTIVE_ATOM, TEXT_INTERACTIVE = 0x0FF2, 0x0FF3, 0x0FDF
SLIDE_NUMBER_SIGN = 0x0FD8
TITLES = frozenset({0, 6})
NOTES_TEXT = 2
_BULLETED = frozenset({1, 7, 8})
"""Text types whose master has bullets: the bodies of slides."""
_SIZES = (
    (0x0000_000F, 2), (0x80, 2), (0x10, 2), (0x40, 2), (0x20, 4), (0x800, 2), (0x1000, 2), (0x2000, 2), (0x4000, 2),
    (0x100, 2), (0x400, 2), (0x8000, 2),
)  # fmt: skip
"""Which bits of the mask say that a field is there, and its bytes, in their order, up to the tab stops."""
_TABS, _AFTER_TABS = 0x100000, ((0x10000, 2), (0xE0000, 2), (0x200000, 2))
MAX_LEVEL = 8
_BREAKS = re.compile("[\r]")


@dataclass(slots=True)
class Paragraph:
    """A paragraph as shown."""

    text: str
    level: int  # from 1
    marker: str | None
    links: list[Link]


@dataclass(slots=True)
class _Rule:
    level: int = 0
    bullet: bool | None = None
    sign: str = ""


@dataclass(slots=True)
class Body:
    """A text as stored: all of its paragraphs, and what is said of spans of it."""

    kind: int = 4
    text: str = ""
    rules: list[tuple[int, _Rule]] = field(default_factory=list)  # how many characters, and what holds for them
    links: list[tuple[int, int, int]] = field(default_factory=list)  # from, to, number of the link
    numbers: set[int] = field(default_factory=set)  # places of signs that show the slide's number
    languages: Counter[int] = field(default_factory=Counter)

    def paragraphs(self, targets: dict[int, str], slide_number: int | None = None) -> list[Paragraph]:
        """Its paragraphs without the empty ones."""
        out: list[Paragraph] = []
        rules = _Spread(self.rules)
        start = 0
        for line in _BREAKS.split(self.text):
            end = start + len(line)
            shown = "".join(
                str(slide_number) if start + at in self.numbers and slide_number is not None else sign
                for at, sign in enumerate(line)
            )
            shown = shown.replace("\x0b", "\n").strip()
            if shown:
                rule = rules(start)
                has_bullet = rule.bullet if rule.bullet is not None else self.kind in _BULLETED
                marker = (bullet(rule.sign, None) or "•") if has_bullet else None
                links = [
                    Link(text=text, target=targets[number])
                    for first, last, number in self.links
                    if start <= first < end and number in targets and (text := self.text[first:last].strip())
                ]
                out.append(Paragraph(shown, min(rule.level, MAX_LEVEL) + 1, marker, links))
            start = end + 1
        return out


class _Spread:
    """Asked for places that grow: which rule holds there."""

    def __init__(self, rules: list[tuple[int, _Rule]]) -> None:
        self._rules, self._next, self._end = rules, 0, 0
        self._rule = _Rule()

    def __call__(self, place: int) -> _Rule:
        while self._end <= place and self._next < len(self._rules):
            count, self._rule = self._rules[self._next]
            self._end += count
            self._next += 1
        return self._rule if place < self._end else _Rule()


def read_bodies(found: Iterable[Record]) -> list[Body]:
    """The texts in a row of records: each begins with its header."""
    bodies: list[Body] = []
    link: int | None = None
    for record in found:
        if record.kind == TEXT_HEADER:
            kind = int.from_bytes(record.content()[:4], "little")
            bodies.append(Body(kind=kind))
            continue
        if not bodies:
            continue
        body = bodies[-1]
        match record.kind:
            case 0x0FA0:  # TEXT_CHARS
                body.text = record.content().decode("utf-16-le", "replace")
            case 0x0FA8:  # TEXT_BYTES: the lower byte of each character
                body.text = record.content().decode("latin-1")
            case 0x0FA1:  # STYLE
                body.rules = _rules(record.content(), len(body.text))
            case 0x0FAA:  # SPECIAL
                body.languages = _languages(record.content(), len(body.text))
            case 0x0FD8:  # SLIDE_NUMBER_SIGN
                body.numbers.add(int.from_bytes(record.content()[:4], "little"))
            case 0x0FF2:  # INTERACTIVE
                atom = record.find(INTERACTIVE_ATOM)
                link = None if atom is None else int.from_bytes(atom.content()[4:8], "little")
            case 0x0FDF if link is not None and record.end - record.start >= 8:  # TEXT_INTERACTIVE
                first, last = struct.unpack_from("<II", record.data, record.start)
                body.links.append((first, last, link))
                link = None
    return bodies


def _rules(data: bytes, length: int) -> list[tuple[int, _Rule]]:
    """[MS-PPT] 2.9.45, TextPFRun, for all characters and the end; what is damaged holds from there on."""
    found: list[tuple[int, _Rule]] = []
    place = done = 0
    try:
        while done <= length:
            count, level, mask = struct.unpack_from("<IHI", data, place)
            place += 10
            rule = _Rule(level=level)
            for bits, size in _SIZES:
                if mask & bits:
                    value = int.from_bytes(data[place : place + size], "little")
                    if bits == 0xF and mask & 1:
                        rule.bullet = bool(value & 1)
                    elif bits == 0x80 and value:
                        rule.sign = chr(value)
                    place += size
            if mask & _TABS:
                place += 2 + 4 * int(struct.unpack_from("<H", data, place)[0])
            place += sum(size for bits, size in _AFTER_TABS if mask & bits)
            found.append((count, rule))
            if not count:
                break
            done += count
    except struct.error:  # it ends within a run
        return found
    return found


def _languages(data: bytes, length: int) -> Counter[int]:
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
