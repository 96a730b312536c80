"""The texts of a binary presentation: paragraphs with their level, bullet and links.

Source: [MS-PPT] 2.9.35 (TextHeaderAtom), 2.9.42 (TextCharsAtom).
"""

from __future__ import annotations

import re
import struct
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from streams.extract.docx_numbering import bullet
from streams.extract.docx_symbols import readable
from streams.extract.ppt_records import Record
from streams.extract.ppt_styles import SCHEMES, Look, Numbering, Rule, Spread, read_languages, read_style
from streams.extract.raised import Scripts
from streams.extract.slide_numbers import Numbers, numeral
from streams.records import Link

TEXT_HEADER, TEXT_CHARS, TEXT_BYTES, STYLE, SPECIAL = 0x0F9F, 0x0FA0, 0x0FA8, 0x0FA1, 0x0FAA
INTERACTIVE, INTERACTIVE_ATOM, TEXT_INTERACTIVE = 0x0FF2, 0x0FF3, 0x0FDF
SLIDE_NUMBER_SIGN = 0x0FD8
TITLES = frozenset({0, 6})
NOTES_TEXT = 2
_BULLETED = frozenset({1, 7, 8})
"""Text types whose master has bullets: the bodies of slides."""
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
class Body:
    """A text as stored: all of its paragraphs, and what is said of spans of it."""

    kind: int = 4
    text: str = ""
    rules: list[tuple[int, Rule]] = field(default_factory=list)  # how many characters, and what holds for them
    looks: list[tuple[int, Look]] = field(default_factory=list)
    numberings: list[Numbering | None] = field(default_factory=list)
    links: list[tuple[int, int, int]] = field(default_factory=list)  # from, to, number of the link
    numbers: set[int] = field(default_factory=set)  # places of signs that show the slide's number
    languages: Counter[int] = field(default_factory=Counter)
    lost: int = 0  # signs of symbol fonts that no character is known for
    approximated: bool = False  # numbers were shown in other figures than the slide's

    def paragraphs(
        self, targets: dict[int, str], slide_number: int | None = None, fonts: dict[int, str] | None = None
    ) -> list[Paragraph]:
        """Its paragraphs without the empty ones. `targets`: of links, `fonts`: their names, by number."""
        fonts = fonts or {}
        out: list[Paragraph] = []
        rules, looks = Spread(self.rules, Rule()), Spread(self.looks, Look())
        numbers = Numbers()
        start = 0
        for line in _BREAKS.split(self.text):
            end = start + len(line)
            first = looks(start)
            shown = self._shown(line, start, looks, slide_number, fonts).replace("\x0b", "\n").strip()
            if shown:
                rule = rules(start)
                marker = self._marker(rule, first, numbers, fonts)
                links = [
                    Link(text=text, target=targets[number])
                    for first, last, number in self.links
                    if start <= first < end and number in targets and (text := self.text[first:last].strip())
                ]
                out.append(Paragraph(shown, min(rule.level, MAX_LEVEL) + 1, marker, links))
            start = end + 1
        return out

    def _shown(
        self, line: str, start: int, looks: Spread[Look], slide_number: int | None, fonts: dict[int, str]
    ) -> str:
        parts: list[str] = []
        scripts = Scripts()
        at = 0
        while at < len(line):
            end = at + 1
            if start + at in self.numbers and slide_number is not None:
                text = str(slide_number)
            else:
                until = looks.end(start + at) - start
                while end < min(until, len(line)) and start + end not in self.numbers:
                    end += 1
                text = line[at:end]
            look = looks(start + at)
            text, lost = readable(text, None if look.font is None else fonts.get(look.font))
            self.lost += lost
            scripts.put(parts, text, look.place)
            at = end
        return "".join(parts)

    def _marker(self, rule: Rule, look: Look, numbers: Numbers, fonts: dict[int, str]) -> str | None:
        """Bullet or number; null for a paragraph of no list."""
        has_bullet = rule.bullet if rule.bullet is not None else self.kind in _BULLETED
        numbering = self.numberings[look.numbering] if look.numbering < len(self.numberings) else None
        level = min(rule.level, MAX_LEVEL)
        if not has_bullet or numbering is None:
            numbers.interrupt(level)
            font = None if rule.font is None else fonts.get(rule.font)
            return (bullet(rule.sign, font) or "•") if has_bullet else None
        scheme, start = numbering
        digits, frame = SCHEMES[scheme] if scheme < len(SCHEMES) else ("", "Period")
        text, exact = numeral(numbers.next(level, str(scheme), start), digits, frame)
        self.approximated = self.approximated or not exact
        return text


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
                body.rules, body.looks = read_style(record.content(), len(body.text))
            case 0x0FAA:  # SPECIAL
                body.languages = read_languages(record.content(), len(body.text))
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
