"""Styles of OpenDocument files: what a paragraph or span is called, whether it is shown, how its lists count."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from lxml import etree

from streams.extract.docx_numbering import bullet, formatted
from streams.extract.odf import Source, attr, child, children, whole
from streams.extract.raised import Place
from streams.records import BlockKind

LEVELS = 10
_ROLES = {
    "title": BlockKind.TITLE,
    "caption": BlockKind.CAPTION,
    "illustration": BlockKind.CAPTION,
    "figure": BlockKind.CAPTION,
    "drawing": BlockKind.CAPTION,
    "table": BlockKind.CAPTION,
    "quotations": BlockKind.QUOTE,
    "preformatted text": BlockKind.CODE,
}
"""Names of LibreOffice's own styles; one based on them is of their kind."""
_FORMATS = {"1": "decimal", "a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman"}
_PLACE = re.compile(r"%(\d{1,2})%")
_SHARE = re.compile(r"(-?)([0-9.]{1,10})%")


@dataclass(frozen=True)
class Style:
    """One style as the file has it."""

    name: str = ""  # as shown to people
    parent: str | None = None
    hidden: bool | None = None
    bold: bool | None = None
    font: str | None = None
    place: Place | None = None
    language: str | None = None
    list_style: str | None = None  # empty: no list
    outline: int | None = None
    master_page: str | None = None
    element: etree._Element | None = None


@dataclass(frozen=True)
class Look:
    """A style with all that it inherits."""

    role: BlockKind | None = None
    hidden: bool = False
    bold: bool = False
    font: str | None = None
    place: Place = Place.LINE
    list_style: str | None = None
    is_table_heading: bool = False


@dataclass(frozen=True)
class Level:
    """How one level of a list counts and looks (part 3, 19.880)."""

    number_format: str = ""
    prefix: str = ""
    suffix: str = ""
    pattern: str = ""  # all of it in one, as LibreOffice has it since 7.0: `%1%.%2%.`
    start: int = 1
    shown_levels: int = 1
    sign: str | None = None  # of a bullet


@dataclass
class Numbers:
    """Where a list stands: the last number of each level."""

    numbers: list[int | None] = field(default_factory=lambda: [None] * LEVELS)


class Styles:
    """Styles of one part of a file: its automatic ones first, then the common ones."""

    def __init__(self, source: Source, part: etree._Element | None) -> None:
        self._source = source
        self._styles: dict[tuple[str, str], Style] = {}
        self._lists: dict[str, dict[int, Level]] = {}
        self._outline: dict[int, Level] = {}
        self._looks: dict[tuple[str, str | None], Look] = {}
        self._fonts: dict[str, str] = {}
        self.language: str | None = None
        for root in dict.fromkeys((source.styles, part)):
            for kind in ("office:font-face-decls", "office:styles", "office:automatic-styles"):
                if kind == "office:automatic-styles" and root is not part:
                    continue
                for name, element in children(child(root, kind)):
                    self._add(name, element)

    def _add(self, name: str, element: etree._Element) -> None:
        identifier = attr(element, "style:name") or ""
        if name == "style:style":
            self._styles[attr(element, "style:family") or "", identifier] = self._style(element, identifier)
        elif name == "style:default-style" and attr(element, "style:family") == "paragraph":
            self.language = self._style(element, "").language
        elif name == "text:list-style":
            self._lists[identifier] = _levels(element)
        elif name == "text:outline-style":
            self._outline = _levels(element)
        elif name == "style:font-face":
            self._fonts[identifier] = (attr(element, "svg:font-family") or identifier).strip("'\"")

    def _style(self, element: etree._Element, identifier: str) -> Style:
        text = child(element, "style:text-properties")
        weight = None if text is None else attr(text, "fo:font-weight")
        display = None if text is None else attr(text, "text:display")
        font = None if text is None else attr(text, "style:font-name")
        return Style(
            name=(attr(element, "style:display-name") or identifier.replace("_20_", " ")).strip(),
            parent=attr(element, "style:parent-style-name"),
            hidden=None if display is None else display == "none",
            bold=None if weight is None else weight in ("bold", "600", "700", "800", "900"),
            font=self._fonts.get(font, font) if font else (None if text is None else attr(text, "fo:font-family")),
            place=_place(None if text is None else attr(text, "style:text-position")),
            language=None if text is None else attr(text, "fo:language"),
            list_style=attr(element, "style:list-style-name"),
            outline=whole(attr(element, "style:default-outline-level")),
            master_page=attr(element, "style:master-page-name"),
            element=element,
        )

    def style(self, family: str, identifier: str | None) -> Style | None:
        """The style itself."""
        return self._styles.get((family, identifier or ""))

    def look(self, family: str, identifier: str | None) -> Look:
        """A style of a family with what it inherits."""
        key = family, identifier
        if key not in self._looks:
            self._looks[key] = self._resolve(family, identifier)
        return self._looks[key]

    def _resolve(self, family: str, identifier: str | None) -> Look:
        chain: list[Style] = []
        seen: set[str] = set()
        while identifier and identifier not in seen:  # a file may base two styles on each other
            seen.add(identifier)
            style = self._styles.get((family, identifier)) or Style(name=identifier.replace("_20_", " "))
            chain.append(style)
            identifier = style.parent
        names = [style.name.lower() for style in chain]
        return Look(
            role=next((_ROLES[name] for name in names if name in _ROLES), None),
            hidden=next((style.hidden for style in chain if style.hidden is not None), False),
            bold=next((style.bold for style in chain if style.bold is not None), False),
            font=next((style.font for style in chain if style.font is not None), None),
            place=next((style.place for style in chain if style.place is not None), Place.LINE),
            list_style=next((style.list_style for style in chain if style.list_style is not None), None),
            is_table_heading="table heading" in names,
        )

    def master_pages(self) -> list[str]:
        """Names of the master pages that styles ask for."""
        return [style.master_page for style in self._styles.values() if style.master_page]

    # --- numbers -------------------------------------------------------------------------------------------------

    def marker(self, list_style: str | None, counter: Numbers, level: int, start: int | None = None) -> str | None:
        """Counts one item of a list (`level` from 0) and gives its marker as shown; null where none is shown.

        `list_style`: `Outline` is that of the headings.
        """
        levels = self._lists.get(list_style or "")
        if levels is None:
            levels = self._outline if list_style == "Outline" else {}
        level = min(level, LEVELS - 1)
        numbers = counter.numbers
        own = levels.get(level)
        before = numbers[level]
        first = own.start if own is not None else 1
        numbers[level] = start if start is not None else first if before is None else before + 1
        numbers[level + 1 :] = [None] * (LEVELS - level - 1)
        if own is None:
            return None if list_style == "Outline" else "•"
        if own.sign is not None:
            return own.sign or None
        if not own.number_format:
            return (own.prefix + own.suffix).strip() or None

        def shown(at: int) -> str:
            one = levels.get(at, own)
            number = numbers[at]
            return self._formatted(one.start if number is None else number, one.number_format or own.number_format)

        if own.pattern:
            return _PLACE.sub(lambda match: shown(min(max(int(match[1]), 1), LEVELS) - 1), own.pattern).strip() or None
        first_shown = max(level - own.shown_levels + 1, 0)
        visible = [at for at in range(first_shown, level + 1) if levels.get(at, own).number_format]
        return (own.prefix + ".".join(shown(at) for at in visible) + own.suffix).strip() or None

    def _formatted(self, number: int, number_format: str) -> str:
        text, exact = formatted(number, _FORMATS.get(number_format, "decimal"))
        if not exact or number_format not in _FORMATS:
            self._source.warn("number_format_approximated")
        return text


def _levels(element: etree._Element) -> dict[int, Level]:
    found: dict[int, Level] = {}
    for name, one in children(element):
        at = whole(attr(one, "text:level"))
        if at is None or not 1 <= at <= LEVELS:
            continue
        if name == "text:list-level-style-bullet":
            text = child(one, "style:text-properties")
            font = None if text is None else attr(text, "style:font-name") or attr(text, "fo:font-family")
            font = {"OpenSymbol": None, "StarSymbol": None}.get(font or "", font)
            found[at - 1] = Level(sign=bullet((attr(one, "text:bullet-char") or "")[:8], font))
        elif name == "text:list-level-style-image":
            found[at - 1] = Level(sign="•")
        elif name in ("text:list-level-style-number", "text:outline-level-style"):
            found[at - 1] = Level(
                number_format=(attr(one, "style:num-format") or "")[:8],
                prefix=(attr(one, "style:num-prefix") or "")[:32],
                suffix=(attr(one, "style:num-suffix") or "")[:32],
                pattern=(attr(one, "loext:num-list-format") or "")[:64],
                start=whole(attr(one, "text:start-value")) or 1,
                shown_levels=whole(attr(one, "text:display-levels")) or 1,
            )
    return found


def _place(position: str | None) -> Place | None:
    """Part 3, 20.387, `style:text-position`: `super`, `sub` or a share of the font's height, then the size."""
    if not (words := (position or "").split()):
        return None
    if words[0] in ("super", "sub"):
        return Place.RAISED if words[0] == "super" else Place.LOWERED
    match = _SHARE.fullmatch(words[0])
    if match is None or not match[2].strip("0."):
        return Place.LINE
    return Place.LOWERED if match[1] else Place.RAISED
