"""Texts of slides: paragraphs with their bullets and numbers, which are rules over four levels of style.

DrawingML text (ECMA-376 part 1, 21.1.2): a paragraph's own properties, its shape's list style, then those of the
placeholder on the layout and on the master, and the master's text styles.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from lxml import etree

from streams.extract.docx_inline import tidy
from streams.extract.docx_math import linear
from streams.extract.docx_numbering import bullet
from streams.extract.docx_symbols import readable
from streams.extract.ooxml import Package, attr, child, children, chosen
from streams.extract.raised import Place, Scripts
from streams.extract.slide_numbers import Numbers, numeral
from streams.records import Link

LEVELS = 9
_NUMBERING = re.compile(
    r"(arabic|alphaLc|alphaUc|romanLc|romanUc|circleNumDb|arabicDb|ea1\w*?|thaiNum|hindiNum)"
    r"(Period|ParenR|ParenBoth|Plain|Minus)?"
)
_BASELINE = re.compile(r"\+?(-?)0*[1-9][0-9]{0,8}(?:\.[0-9]{1,9})?%?")
_CONTROL = re.compile(r"_x([0-9A-F]{4})_")


@dataclass
class Paragraph:
    """One paragraph of a shape as a reader sees it."""

    text: str = ""
    level: int = 1  # of its list, from 1
    marker: str | None = None  # null: no list item
    links: list[Link] = field(default_factory=list)
    fields: set[str] = field(default_factory=set)  # types of its fields: slidenum, datetime1
    formulas: int = 0
    words: int = 0  # characters beside the formulas

    def line(self) -> str:
        """The text with its marker, for cells and notes."""
        return f"{self.marker} {self.text}" if self.marker else self.text


class TextReader:
    """Reads the texts of one part. `languages` counts characters by the language that their run names."""

    def __init__(
        self,
        package: Package,
        part: str,
        counts: Counter[str],
        languages: Counter[str],
        slide_number: int | None = None,
    ) -> None:
        self.package, self.part, self.counts, self.languages = package, part, counts, languages
        self._slide_number = slide_number
        self._scripts = Scripts()
        self._fonts: list[str | None] = [None]

    def paragraphs(self, body: etree._Element | None, styles: Sequence[etree._Element | None] = ()) -> list[Paragraph]:
        """Paragraphs of a `txBody` that say something. `styles`: list styles that it inherits, nearest first."""
        if body is None:
            return []
        chain = [child(body, "a:lstStyle"), *styles]
        numbers = Numbers()
        found = []
        for name, element in children(body):
            if name != "a:p":
                continue
            properties = child(element, "a:pPr")
            level = _level(properties)
            sources = [properties, *(child(style, f"a:lvl{level + 1}pPr") for style in chain)]
            paragraph = self._read(element)
            if not paragraph.text:
                continue
            paragraph.level = level + 1
            paragraph.marker = self._marker(sources, level, numbers)
            found.append(paragraph)
        return found

    def lines(self, body: etree._Element | None, styles: Sequence[etree._Element | None] = ()) -> str:
        """The same as one text, a paragraph a line."""
        return "\n".join(paragraph.line() for paragraph in self.paragraphs(body, styles))

    # --- runs ----------------------------------------------------------------------------------------------------

    def _read(self, element: etree._Element) -> Paragraph:
        paragraph = Paragraph()
        parts: list[str] = []
        self._scripts.cut()
        self._runs(element, paragraph, parts)
        paragraph.text = tidy("".join(parts))
        return paragraph

    def _runs(self, element: etree._Element, paragraph: Paragraph, parts: list[str]) -> None:
        for name, found in children(element):
            if name in ("a:r", "a:fld"):
                self._run(name, found, paragraph, parts)
            elif name == "a:br":
                parts.append("\n")
            elif name == "a14:m":
                text = linear(found)
                if text:
                    parts.append(f" {text}" if parts and not parts[-1][-1:].isspace() else text)
                    paragraph.formulas += 1
            elif name == "mc:AlternateContent":
                branch = chosen(found)
                if branch is not None:
                    self._runs(branch, paragraph, parts)

    def _run(self, name: str, run: etree._Element, paragraph: Paragraph, parts: list[str]) -> None:
        content = child(run, "a:t")
        text = "" if content is None else _unescaped(content.text or "")
        kind = (run.get("type") or "").lower() if name == "a:fld" else ""
        if kind:
            paragraph.fields.add(kind)
            if kind == "slidenum" and self._slide_number is not None:
                text = str(self._slide_number)  # what is stored is the number when it was last shown
        properties = child(run, "a:rPr")
        font = child(properties, "a:sym")
        font = child(properties, "a:latin") if font is None else font
        text, lost = readable(text, None if font is None else font.get("typeface"))
        self.counts["symbols"] += lost
        if not text:
            return
        if properties is not None and properties.get("lang"):
            self.languages[(properties.get("lang") or "").partition("-")[0].lower()] += len(text)
        target = self.target(properties)
        if target:
            self._scripts.cut()
        self._scripts.put(parts, text, _place(properties))
        paragraph.words += len(text.strip())
        if target and text.strip():
            paragraph.links.append(Link(text=" ".join(parts[-1].split()), target=target))
            self._scripts.cut()

    def target(self, properties: etree._Element | None) -> str:
        """Where `a:hlinkClick` of a run or shape leads; empty for none, and for actions of the show."""
        click = child(properties, "a:hlinkClick")
        if click is None:
            return ""
        relationship = self.package.relationships(self.part).get(attr(click, "r:id") or "")
        if relationship is None:
            return ""
        if relationship.external:
            return relationship.target
        return f"#{relationship.target.rpartition('/')[2].removesuffix('.xml')}"

    # --- lists ---------------------------------------------------------------------------------------------------

    def _marker(self, sources: list[etree._Element | None], level: int, numbers: Numbers) -> str | None:
        """The bullet or number as shown."""
        name, decision = _decision(sources)
        if name == "a:buAutoNum" and decision is not None:
            kind = decision.get("type") or "arabicPeriod"
            match = _NUMBERING.match(kind)
            digits, frame = (match[1], match[2] or "") if match else ("", "")
            text, exact = numeral(numbers.next(level, kind, _whole(decision.get("startAt"), 1)), digits, frame)
            if not exact:
                self.package.warn("number_format_approximated")
            return text
        numbers.interrupt(level)
        if name == "a:buChar" and decision is not None:
            return bullet((decision.get("char") or "")[:8], _bullet_font(sources)) or None
        return "•" if name == "a:buBlip" else None


def _decision(sources: list[etree._Element | None]) -> tuple[str, etree._Element | None]:
    """The nearest source that says whether there is a bullet, and what it says."""
    for source in sources:
        for name, element in children(source) if source is not None else ():
            if name in ("a:buNone", "a:buChar", "a:buAutoNum", "a:buBlip"):
                return name, element
    return "", None


def _bullet_font(sources: list[etree._Element | None]) -> str | None:
    for source in sources:
        font = child(source, "a:buFont")
        if font is not None:
            return font.get("typeface")
    return None


def _place(properties: etree._Element | None) -> Place:
    """`baseline`: by how much of its size text is raised (ECMA-376 part 1, 21.1.2.3.9); below zero it is lowered."""
    match = _BASELINE.fullmatch("" if properties is None else properties.get("baseline") or "")
    if match is None:
        return Place.LINE
    return Place.LOWERED if match[1] else Place.RAISED


def _level(properties: etree._Element | None) -> int:
    return min(_whole(None if properties is None else properties.get("lvl"), 0), LEVELS - 1)


def _whole(text: str | None, default: int) -> int:
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) <= 9 else default


def _unescaped(text: str) -> str:
    """Control characters that XML can't hold are written `_x000B_`; a vertical tab is a line break."""
    text = text.replace("\r", " ").replace("\n", " ").replace("\v", "\n")
    if "_x" not in text:
        return text
    return _CONTROL.sub(lambda match: {"000B": "\n", "000D": "\n", "0009": "\t", "005F": "_"}.get(match[1], ""), text)
