"""The style sheet and the fonts of a Word file: what a style makes of a paragraph, and the code page of a font.

Source: [MS-DOC] 2.9.271 (STSH), 2.9.260 (Stdf), 2.9.82 (FFN); Word 6 has the same with strings of bytes.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

from streams.extract.doc_sprms import Look, Paragraph, change_paragraph, look
from streams.extract.rtf_body import Style

MAX_STYLES = 4096
MAX_FONTS = 4096
_PARAGRAPH, _CHARACTER = 1, 2
_NO_STYLE = 0xFFF
_MAX_DEPTH = 12
"""Styles that are based on each other: Word allows eleven."""
_BUILT_IN = {
    34: "caption",
    48: "list bullet",
    49: "list number",
    62: "title",
    84: "block text",
    101: "html preformatted",
    45: "macro text",
} | {number: f"heading {number}" for number in range(1, 10)}
"""Numbers of built-in styles, whose names are in the language of the Word that wrote them."""


@dataclass(slots=True)
class _Raw:
    kind: int
    base: int
    paragraph: bytes = b""
    character: bytes = b""


@dataclass(frozen=True, slots=True)
class Font:
    """A font as the file names it."""

    name: str = ""
    charset: int = 0


@dataclass(slots=True)
class StyleSheet:
    """Styles by their number."""

    styles: dict[int, Style] = field(default_factory=dict)
    character: dict[int, bytes] = field(default_factory=dict)  # sprms of each character style with those it is based on
    is_old: bool = False
    _raw: dict[int, _Raw] = field(default_factory=dict)
    _looks: dict[int, Look] = field(default_factory=dict)

    def look(self, number: int) -> Look:
        """How text of a paragraph style looks."""
        if number not in self._looks:
            found = Look()
            for raw in reversed(self._chain(number)):
                found = look(raw.character, found, {}, is_old=self.is_old)
            self._looks[number] = found
        return self._looks[number]

    def paragraph(self, number: int) -> Paragraph:
        """The properties of a paragraph of this style that has none of its own."""
        found = Paragraph()
        for raw in reversed(self._chain(number)):
            change_paragraph(found, raw.paragraph, is_old=self.is_old)
        found.style = number
        found.outline = None  # the style's own says it
        return found

    def _chain(self, number: int) -> list[_Raw]:
        chain: list[_Raw] = []
        seen: set[int] = set()
        while number in self._raw and number not in seen and len(chain) < _MAX_DEPTH:
            seen.add(number)
            chain.append(self._raw[number])
            number = chain[-1].base
        return chain


def read_styles(data: bytes, *, is_old: bool, codec: str) -> StyleSheet:
    """The styles of an STSH. Damage costs the styles from there on."""
    sheet = StyleSheet(is_old=is_old)
    if len(data) < 6:
        return sheet
    head, count, base = struct.unpack_from("<3H", data)
    at = 2 + head
    for number in range(min(count, MAX_STYLES)):
        if at + 2 > len(data):
            break
        (size,) = struct.unpack_from("<H", data, at)
        entry = data[at + 2 : at + 2 + size]
        at += 2 + size
        if len(entry) >= max(8, base):
            _add(sheet, number, entry, base, codec)
    for number, raw in sheet._raw.items():
        if raw.kind == _CHARACTER:
            sheet.character[number] = b"".join(part.character for part in reversed(sheet._chain(number)))
    return sheet


def _add(sheet: StyleSheet, number: int, entry: bytes, base: int, codec: str) -> None:
    built_in, kind, parts = struct.unpack_from("<3H", entry)
    built_in, kind, based_on, parts = built_in & 0xFFF, kind & 15, kind >> 4, parts & 15
    name, at = _name(entry, base, codec, is_old=sheet.is_old)
    raw = _Raw(kind, based_on if based_on != _NO_STYLE else -1)
    pieces: list[bytes] = []
    for _ in range(min(parts, 3)):
        if at + 2 > len(entry):
            break
        (size,) = struct.unpack_from("<H", entry, at)
        pieces.append(entry[at + 2 : at + 2 + size])
        at += 2 + size + (size & 1)
    if kind == _PARAGRAPH and pieces:
        raw.paragraph, raw.character = pieces[0][2:], pieces[1] if len(pieces) > 1 else b""
    elif kind == _CHARACTER and pieces:
        raw.character = pieces[0]
    sheet._raw[number] = raw
    if kind == _PARAGRAPH:
        own = Paragraph()
        change_paragraph(own, raw.paragraph, is_old=sheet.is_old)
        sheet.styles[number] = Style(
            name=_BUILT_IN.get(built_in, name),
            outline=own.outline,
            based_on=raw.base if raw.base >= 0 else None,
        )


def _name(entry: bytes, base: int, codec: str, *, is_old: bool) -> tuple[str, int]:
    """A style's name without its aliases, and where what follows begins."""
    if is_old:
        length = entry[base] if base < len(entry) else 0
        name, at = entry[base + 1 : base + 1 + length].decode(codec, "replace"), base + length + 2
    else:
        length = int.from_bytes(entry[base : base + 2], "little")
        name, at = entry[base + 2 : base + 2 + 2 * length].decode("utf-16-le", "replace"), base + 4 + 2 * length
    return name.partition(",")[0].strip(), at + (at & 1)


def read_fonts(data: bytes, *, is_old: bool) -> list[Font]:
    """The fonts by their number."""
    fonts: list[Font] = []
    at = 2 if is_old else 4
    while at < len(data) and len(fonts) < MAX_FONTS:
        entry = data[at + 1 : at + 1 + data[at]]
        at += 1 + data[at]
        if len(entry) < 5:
            break
        if is_old:
            name = entry[5:].partition(b"\0")[0].decode("cp1252", "replace")
        else:
            name = entry[39:].decode("utf-16-le", "replace").partition("\0")[0]
        fonts.append(Font(name, entry[3]))
    return fonts
