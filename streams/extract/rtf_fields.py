"""Fields of RTF: the result is text; the instruction says where a link leads, or what a form holds."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from streams.extract.docx_symbols import symbol
from streams.extract.eq_fields import eq_text
from streams.extract.rtf_story import Paragraph
from streams.records import Link

_LINK = re.compile(r'HYPERLINK\s+(?:\\[a-z]\s+)*(?:"([^"]*)"|(\S+))?(.*)', re.IGNORECASE | re.DOTALL)
_ANCHOR = re.compile(r'\\l\s+(?:"([^"]*)"|(\S+))')
_SYMBOL = re.compile(r'SYMBOL\s+(0x[0-9a-f]{1,6}|\d{1,7})(?:.*?\\f\s+"?([^"\\]+))?', re.IGNORECASE | re.DOTALL)
_TEXT_FORM, _CHECK_BOX, _LIST_FORM = 0, 1, 2
_UNSET = 25  # \ffres of a check box that still has its default


@dataclass(slots=True)
class FormField:
    """`\\formfield`: its numbers and the entries of a list."""

    values: dict[str, int] = field(default_factory=dict)
    entries: list[str] = field(default_factory=list)

    def shown(self) -> str:
        """What a reader sees where the field has no result of its own."""
        kind = self.values.get("fftype")
        value = self.values.get("ffres", _UNSET)
        value = self.values.get("ffdefres", 0) if value == _UNSET else value
        if kind == _CHECK_BOX:
            return "☒" if value else "☐"
        if kind == _LIST_FORM and 0 <= value < len(self.entries):
            return self.entries[value]
        return ""


@dataclass(slots=True)
class Field:
    """One field while it is read."""

    instruction: str = ""
    form: FormField | None = None
    paragraph: Paragraph | None = None
    start: int = 0
    object: int = 0  # number of the object that it shows, in Word's binary files

    def begin(self, paragraph: Paragraph) -> None:
        """The result starts here."""
        self.paragraph, self.start = paragraph, len(paragraph.parts)

    def end(self, paragraph: Paragraph) -> None:
        """The end of the field, in `paragraph`: makes the link, or what is shown without a result."""
        parts = paragraph.parts[self.start :] if self.paragraph is paragraph else []
        text = "".join(parts).strip()
        name = self.instruction.partition(" ")[0].upper()
        if name in ("PAGE", "NUMPAGES", "SECTIONPAGES"):
            paragraph.page_field = True
        elif name == "HYPERLINK":
            target = link_target(self.instruction)
            if target and text:
                paragraph.links.append(Link(text=text, target=target))
        elif name == "SYMBOL" and not text:
            paragraph.parts.append(_sign(self.instruction))
        elif name == "EQ" and not text:
            paragraph.parts.append(eq_text(self.instruction))
        elif self.form is not None and not text and (shown := self.form.shown()):
            paragraph.parts.append(shown)


def link_target(instruction: str) -> str:
    """Where a HYPERLINK leads: an address, a place in it (`\\l`), or both."""
    match = _LINK.match(instruction)
    if match is None:
        return ""
    anchored = _ANCHOR.search(instruction)
    anchor = (anchored[1] or anchored[2] or "") if anchored else ""
    address = match[1] or match[2] or ""
    if address.startswith("\\"):  # only switches
        address = ""
    if anchored and address == anchor and f'\\l "{anchor}"' in instruction and instruction.count(anchor) == 1:
        address = ""
    return f"{address}#{anchor}" if anchor else address


def _sign(instruction: str) -> str:
    match = _SYMBOL.match(instruction)
    if match is None:
        return ""
    return symbol((match[2] or "").strip() or None, int(match[1], 0)) or "\ufffd"
