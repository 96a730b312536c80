"""Footnotes, endnotes and comments: their texts by id, and the marker a reader sees."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from lxml import etree

from streams.extract.docx_inline import InlineReader, NoteRef
from streams.extract.docx_numbering import formatted
from streams.extract.docx_styles import Styles
from streams.extract.ooxml import Package, attr, child, children, descendants, number, value


@dataclass
class Note:
    """One note or comment of the file, with the reader of the part it stands in."""

    element: etree._Element
    reader: InlineReader
    author: str = ""


@dataclass
class _Series:
    """Notes of one kind and how they are numbered."""

    notes: dict[str, Note]
    number_format: str
    next_number: int


class Notes:
    """All notes of a document. Numbers run through the document; restarts per page are not known before layout."""

    def __init__(self, package: Package, main: str, root: etree._Element, styles: Styles, counts: Counter[str]) -> None:
        settings = package.optional_xml(package.related(main, "settings"))
        self._seen: set[tuple[str, str]] = set()
        self._series: dict[str, _Series] = {}
        for kind, default in (("footnote", "decimal"), ("endnote", "lowerRoman")):
            properties = [child(section, f"w:{kind}Pr") for section in descendants(root, "w:sectPr")]
            properties.append(child(settings, f"w:{kind}Pr"))
            formats = [value(child(found, "w:numFmt")) for found in properties]
            starts = [number(child(found, "w:numStart")) for found in properties]
            self._series[kind] = _Series(
                notes=_read(package, package.related(main, f"{kind}s"), f"w:{kind}", styles, counts),
                number_format=next((found for found in formats if found), default),
                next_number=next((found for found in starts if found is not None), 1),
            )
        self.comments = _read(package, package.related(main, "comments"), "w:comment", styles, counts)

    def take(self, reference: NoteRef) -> tuple[Note, str] | None:
        """The note of a marker and the marker as shown; null for a second marker of the same note or a missing one."""
        series = self._series[reference.kind]
        note = series.notes.get(reference.identifier)
        if note is None or (reference.kind, reference.identifier) in self._seen:
            return None
        self._seen.add((reference.kind, reference.identifier))
        if reference.custom is not None:
            return note, reference.custom
        marker, _ = formatted(series.next_number, series.number_format)
        series.next_number += 1
        return note, marker

    def unreferenced(self) -> int:
        """Notes whose marker is gone: left over from deleted text."""
        return sum(len(series.notes) for series in self._series.values()) - len(self._seen)


def _read(package: Package, part: str | None, wanted: str, styles: Styles, counts: Counter[str]) -> dict[str, Note]:
    root = package.optional_xml(part)
    if root is None or part is None:
        return {}
    reader = InlineReader(package, part, styles, counts)
    found: dict[str, Note] = {}
    for name, element in children(root):
        # separators are the lines above the notes
        if name == wanted and attr(element, "w:type") in (None, "normal"):
            author = (attr(element, "w:author") or "").strip()
            found.setdefault(attr(element, "w:id") or "", Note(element, reader, author))
    return found
