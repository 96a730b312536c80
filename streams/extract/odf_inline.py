"""Reads what stands inside one paragraph of an OpenDocument file: spans, fields, links, notes, frames, in order.

Part 3, 6. The text of deletions stands in front of the body and is never met here: this is the accepted view.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from lxml import etree

from streams.extract.docx_inline import tidy
from streams.extract.docx_symbols import readable
from streams.extract.odf import attr, child, children, count, name_of, text_of
from streams.extract.odf_styles import Look, Styles
from streams.extract.raised import Place, Scripts
from streams.records import Link

MAX_SPACES = 100
"""Blanks that one element may stand for; more of them say no more."""
SHAPES = frozenset(
    {
        "draw:frame", "draw:custom-shape", "draw:rect", "draw:ellipse", "draw:circle", "draw:line", "draw:polyline",
        "draw:polygon", "draw:regular-polygon", "draw:path", "draw:connector", "draw:caption", "draw:measure", "draw:g",
        "draw:control", "draw:a", "dr3d:scene",
    }
)  # fmt: skip
_PAGE_FIELDS = frozenset({"text:page-number", "text:page-count", "text:page-continuation"})
_SILENT = frozenset(
    {
        "text:soft-page-break", "text:bookmark", "text:bookmark-start", "text:bookmark-end", "text:change",
        "text:change-start", "text:change-end", "text:reference-mark", "text:reference-mark-start",
        "text:reference-mark-end", "text:toc-mark", "text:toc-mark-start", "text:toc-mark-end",
        "text:alphabetical-index-mark", "text:alphabetical-index-mark-start", "text:alphabetical-index-mark-end",
        "text:user-index-mark", "text:user-index-mark-start", "text:user-index-mark-end", "office:annotation-end",
        "text:number", "office:event-listeners",
    }
)  # fmt: skip
"""Marks without a text of their own; `text:number` is a number that is counted here."""


@dataclass
class Inline:
    """The content of a paragraph, in the accepted view."""

    parts: list[str] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    notes: list[etree._Element] = field(default_factory=list)
    comments: list[etree._Element] = field(default_factory=list)
    before: list[etree._Element] = field(default_factory=list)  # shapes anchored before the first word
    after: list[etree._Element] = field(default_factory=list)
    formulas: int = 0
    other: int = 0  # characters that are no white space
    bold: int = 0  # of these
    sequence: str | None = None  # of a caption: "Table", "Illustration"
    page_field: bool = False
    outside_fields: list[str] = field(default_factory=list)  # text that no page field made
    is_hidden: bool = False  # the whole paragraph, by a condition

    def text(self) -> str:
        """Visible text, trimmed."""
        return "" if self.is_hidden else tidy("".join(self.parts))

    def hidden_text(self) -> str:
        """Text that is in the file and not shown."""
        return tidy("".join([*self.parts, *self.hidden] if self.is_hidden else self.hidden))


class InlineReader:
    """Reads paragraphs with the styles of one part."""

    def __init__(self, styles: Styles, counts: Counter[str], formula: Callable[[etree._Element], str | None]) -> None:
        """`formula`: the text of a frame that holds a formula, null for any other shape."""
        self.styles, self.counts, self._formula = styles, counts, formula
        self._scripts = Scripts()

    def read(self, paragraph: etree._Element) -> Inline:
        """The content of one `text:p` or `text:h`."""
        into = Inline()
        look = self.styles.look("paragraph", attr(paragraph, "text:style-name"))
        self._content(paragraph, look, into, hidden=look.hidden, page_field=False)
        return into

    def _content(self, element: etree._Element, look: Look, into: Inline, *, hidden: bool, page_field: bool) -> None:
        self._write(element.text, look, into, hidden, page_field)
        for found in element.iterchildren():
            name = name_of(found)
            if name:
                self._element(name, found, look, into, hidden, page_field)
            self._write(found.tail, look, into, hidden, page_field)

    def _element(
        self, name: str, found: etree._Element, look: Look, into: Inline, hidden: bool, page_field: bool
    ) -> None:
        match name:
            case "text:s":
                self._put(" " * count(attr(found, "text:c"), MAX_SPACES), look, into, hidden, page_field)
            case "text:tab":
                self._put("\t", look, into, hidden, page_field)
            case "text:line-break":
                self._put("\n", look, into, hidden, page_field)
            case "text:span":
                self._span(found, look, into, hidden, page_field)
            case "text:a":
                start = len(into.parts)
                self._scripts.cut()
                self._content(found, look, into, hidden=hidden, page_field=page_field)
                self._scripts.cut()
                text, target = tidy("".join(into.parts[start:])), attr(found, "xlink:href") or ""
                if text and target:
                    into.links.append(Link(text=text, target=target))
            case "text:note":
                into.notes.append(found)
            case "office:annotation":
                into.comments.append(found)
            case "text:ruby":
                self.counts["ruby"] += 1  # the reading beside the characters; the characters themselves stay
                base = child(found, "text:ruby-base")
                if base is not None:
                    self._content(base, look, into, hidden=hidden, page_field=page_field)
            case "text:hidden-paragraph":
                into.is_hidden = into.is_hidden or attr(found, "text:is-hidden") == "true"
            case "text:hidden-text":
                unseen = attr(found, "text:is-hidden") != "false"
                text = text_of(found) or attr(found, "text:string-value") or ""
                self._put(text, look, into, hidden or unseen, page_field)
            case "text:script":
                self.counts["script"] += 1
            case "text:sequence":
                into.sequence = attr(found, "text:name") or into.sequence
                self._content(found, look, into, hidden=hidden, page_field=page_field)
            case _ if name in _PAGE_FIELDS:
                into.page_field = True
                self._content(found, look, into, hidden=hidden, page_field=True)
            case _ if name in SHAPES:
                formula = self._formula(found)
                if formula:
                    text = f" {formula}" if into.parts and not into.parts[-1][-1:].isspace() else formula
                    (into.hidden if hidden else into.parts).append(text)
                    into.formulas += not hidden
                    return
                (into.after if into.other or into.formulas else into.before).append(found)
            case _ if name not in _SILENT:
                self._content(found, look, into, hidden=hidden, page_field=page_field)  # fields: what they show

    def _span(self, span: etree._Element, look: Look, into: Inline, hidden: bool, page_field: bool) -> None:
        identifier = attr(span, "text:style-name")
        own = self.styles.look("text", identifier)
        style = self.styles.style("text", identifier)
        unseen = hidden or own.hidden
        if style is not None and style.hidden is False:
            unseen = False
        bold = own.bold if style is not None and style.bold is not None else look.bold or own.bold
        silent = own.place is Place.LINE and (style is None or style.place is None)
        place = look.place if silent else own.place
        inner = Look(role=look.role, hidden=unseen, bold=bold, font=own.font or look.font, place=place)
        self._content(span, inner, into, hidden=unseen, page_field=page_field)

    def _write(self, text: str | None, look: Look, into: Inline, hidden: bool, page_field: bool) -> None:
        """White space of the file is one blank, and none at the start or after another one (6.1.2)."""
        if text:
            text = re.sub(r"[ \t\r\n]+", " ", text)
            before = into.hidden if hidden else into.parts
            if text[0] == " " and (not before or before[-1][-1:] in (" ", "\n")):
                text = text[1:]
            if text:
                self._put(text, look, into, hidden, page_field)

    def _put(self, text: str, look: Look, into: Inline, hidden: bool, page_field: bool) -> None:
        text, lost = readable(text, look.font)
        self.counts["symbols"] += lost
        self._scripts.put(into.hidden if hidden else into.parts, text, look.place)
        if hidden:
            return
        if not page_field:
            into.outside_fields.append(text)
        if text.strip():
            into.other += len(text)
            into.bold += len(text) if look.bold else 0


def annotation(element: etree._Element) -> tuple[str, list[etree._Element]]:
    """Author of an `office:annotation` and what it holds."""
    creator = child(element, "dc:creator")
    paragraphs = [found for name, found in children(element) if name in ("text:p", "text:h", "text:list")]
    return "" if creator is None else (creator.text or "").strip(), paragraphs
