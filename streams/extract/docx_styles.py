"""What a paragraph's style makes of it: a heading of a level, a title, a caption, a list item, or hidden text."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from lxml import etree

from streams.extract.ooxml import attr, child, children, number, switched_on, value
from streams.extract.raised import Place

_HEADING = re.compile(
    r"(?:heading|überschrift|berschrift|titre|título|titulo|titolo|nadpis|nagłówek|заголовок|kop|rubrik|overskrift"
    r"|otsikko|見出し|标题|標題)\s*([1-9])",
    re.IGNORECASE,
)
"""Built-in names are stored in English whatever the language of Word; other writers store them as they are shown."""

_ROLES = {
    "title": "title",
    "subtitle": "subtitle",  # often based on Title, and no title
    "titel": "title",
    "caption": "caption",
    "beschriftung": "caption",
    "légende": "caption",
    "table caption": "caption",
    "image caption": "caption",
    "figure caption": "caption",
    "quote": "quote",
    "intense quote": "quote",
    "block text": "quote",
    "code": "code",
    "source code": "code",
    "html preformatted": "code",
    "macro": "code",
    "macro text": "code",
    "list bullet": "list",
    "list number": "list",
}
_BODY_LEVEL = 9  # w:outlineLvl of text that is no heading


@dataclass
class Style:
    """One style as the file has it; what it inherits is found by `Styles`."""

    name: str = ""
    based_on: str | None = None
    outline: int | None = None
    num_id: int | None = None
    ilvl: int | None = None
    vanish: bool | None = None
    bold: bool | None = None
    font: str | None = None
    place: Place | None = None


@dataclass(frozen=True)
class Look:
    """A style with all that it inherits."""

    level: int | None = None  # of a heading, from 1
    role: str | None = None  # title, caption, quote, code, list
    num_id: int | None = None
    ilvl: int | None = None
    vanish: bool = False
    bold: bool = False
    font: str | None = None
    place: Place = Place.LINE
    chain: tuple[str, ...] = field(default=())  # its id and those it is based on, nearest first


class Styles:
    """The styles part. Without one, ids are taken as names (`Heading1`)."""

    def __init__(self, root: etree._Element | None) -> None:
        self._styles: dict[str, Style] = {}
        self._default: str | None = None
        self._looks: dict[str | None, Look] = {}
        for name, element in children(root) if root is not None else ():
            if name == "w:style":
                self._add(element)

    def _add(self, element: etree._Element) -> None:
        identifier = attr(element, "w:styleId")
        if identifier is None:
            return
        paragraph, run = child(element, "w:pPr"), child(element, "w:rPr")
        numbering, fonts = child(paragraph, "w:numPr"), child(run, "w:rFonts")
        self._styles[identifier] = Style(
            name=(value(child(element, "w:name")) or "").strip(),
            based_on=value(child(element, "w:basedOn")),
            outline=number(child(paragraph, "w:outlineLvl")),
            num_id=number(child(numbering, "w:numId")),
            ilvl=number(child(numbering, "w:ilvl")),
            vanish=switched_on(child(run, "w:vanish")),
            bold=switched_on(child(run, "w:b")),
            font=None if fonts is None else attr(fonts, "w:ascii") or attr(fonts, "w:hAnsi"),
            place=place_of(child(run, "w:vertAlign")),
        )
        is_default = (attr(element, "w:default") or "").lower() in ("1", "true", "on")
        if is_default and attr(element, "w:type") == "paragraph":
            self._default = identifier

    def look(self, identifier: str | None) -> Look:
        """The style of a paragraph (null: the default one)."""
        if identifier not in self._looks:
            self._looks[identifier] = self._resolve(identifier if identifier is not None else self._default)
        return self._looks[identifier]

    def run_look(self, identifier: str | None) -> Look | None:
        """The style of a run; null if it has none."""
        return None if identifier is None else self.look(identifier)

    def _resolve(self, identifier: str | None) -> Look:
        chain: list[tuple[str, Style]] = []
        seen: set[str] = set()
        while identifier is not None and identifier not in seen:  # a file may base two styles on each other
            seen.add(identifier)
            style = self._styles.get(identifier) or Style(name=identifier)
            chain.append((identifier, style))
            identifier = style.based_on
        styles = [style for _, style in chain]
        return Look(
            level=_level(styles),
            role=next((role for style in styles if (role := _role(style.name))), None),
            num_id=next((style.num_id for style in styles if style.num_id is not None), None),
            ilvl=next((style.ilvl for style in styles if style.ilvl is not None), None),
            vanish=next((style.vanish for style in styles if style.vanish is not None), False),
            bold=next((style.bold for style in styles if style.bold is not None), False),
            font=next((style.font for style in styles if style.font is not None), None),
            place=next((style.place for style in styles if style.place is not None), Place.LINE),
            chain=tuple(key for key, _ in chain),
        )


def _level(styles: list[Style]) -> int | None:
    """The nearest style that says a level, by its outline level or by its name, decides."""
    for style in styles:
        if style.outline is not None:
            return heading_level(style.outline)
        match = _HEADING.fullmatch(style.name)
        if match:
            return int(match[1])
    return None


def _role(name: str) -> str | None:
    plain = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()
    return _ROLES.get(plain) or _ROLES.get(re.sub(r"\s*\d+$", "", plain))


def heading_level(outline: int) -> int | None:
    """`w:outlineLvl` (0..8, 9 is body text) as the level of a heading from 1."""
    return outline + 1 if 0 <= outline < _BODY_LEVEL else None


def place_of(element: etree._Element | None) -> Place | None:
    """What `w:vertAlign` says (ECMA-376 part 1, 17.3.2.42); null where it says nothing."""
    if element is None:
        return None
    return {"superscript": Place.RAISED, "subscript": Place.LOWERED}.get(value(element) or "", Place.LINE)
