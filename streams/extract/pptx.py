"""Presentations (PPTX and its kinds): each slide a page and a section, read as it stands, with what hangs on it.

Reads the XML itself: the usual library gives shapes in the order in which they cover each other, and neither charts'
values nor SmartArt, layouts' texts, comments or bullets.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from lxml import etree

from streams.errors import DocumentError
from streams.extract.ooxml import Package, attr, child, children, core_properties, descendants
from streams.extract.outcome import Draft, Request
from streams.extract.pdf_info import parse_title
from streams.extract.pptx_shapes import EMU, Layout, Shape, flat, shapes_of
from streams.extract.pptx_slide import Deck, Sheet
from streams.extract.pptx_text import TextReader
from streams.records import FURNITURE, BlockKind, BlockSource, Dropped, Page

MAX_LISTED = 100
"""Hidden slides that the metadata list."""
_DROPPED = {
    "covered": "covered_cell_text",
    "decorative": "decorative_images",
    "empty_tables": "empty_tables",
    "ink": "ink",
    "media": "media",
    "symbols": "unmapped_symbols",
    "unlisted": "unlisted_slides",
    "too_many": "slides_over_limit",
}
_METADATA = {
    "dc:subject": "subject",
    "dc:description": "description",
    "cp:keywords": "keywords",
    "cp:category": "category",
    "cp:lastModifiedBy": "last_modified_by",
}
_UNNAMED = re.compile(r"(default|untitled|unnamed) section|standardabschnitt|section sans titre", re.IGNORECASE)
_POINTS = (720.0, 540.0)
"""A slide's size where the file does not say: 10 x 7.5 inches."""


def extract(request: Request) -> Draft:
    """The slides of a presentation, in its order.

    Errors: DocumentError `encrypted`, `truncated`, `corrupt`, `bomb` or `too_large`. A slide or side part that is
    missing or damaged is a warning (`part_missing`, `part_damaged`), unless none is left.
    """
    with Package(request.path) as package:
        return _Presentation(package, request.max_pages).draft()


class _Presentation:
    def __init__(self, package: Package, max_pages: int) -> None:
        self._package, self._max_pages = package, max_pages
        self._main = _main_part(package)
        self._root = package.xml(self._main)
        self._counts: Counter[str] = Counter()
        self._languages: Counter[str] = Counter()
        self._deck = Deck(package, self._counts)
        self._defaults = child(self._root, "p:defaultTextStyle")
        self._layouts: dict[tuple[str | None, str | None], tuple[Layout, list[str]]] = {}
        self._authors = dict(self._read_authors())
        self._hidden: list[int] = []  # numbers of hidden slides
        self._told: set[str] = set()  # texts of layouts already given

    def draft(self) -> Draft:
        """All of it."""
        width, height = self._size()
        first = self._root.get("firstSlideNum") or ""
        shift = int(first) - 1 if first.isascii() and first.isdigit() and len(first) <= 6 else 0
        sections = self._sections()
        pages: list[Page] = []
        slides = self._slides()
        title: str | None = None
        for number, (identifier, part) in enumerate(slides, 1):
            root = self._package.optional_xml(part)
            if root is None:
                pages.append(Page(number=number, width=width, height=height, source=BlockSource.MARKUP))
                self._counts["unread"] += 1
                continue
            if identifier in sections:
                self._deck._add(BlockKind.HEADING, sections[identifier], level=1, page=number)
            hidden = (root.get("show") or "1").lower() in ("0", "false")
            if hidden:
                self._hidden.append(number)
            sheet = Sheet(number, 2 if sections else 1, hidden, width, height)
            start, first_table = len(self._deck.blocks), len(self._deck.tables)
            heading = self._slide(sheet, part, root, number + shift)
            blocks = self._deck.blocks[start:]
            if title is None and heading is not None and self._deck.blocks[heading].bbox is not None and not hidden:
                title = self._deck.blocks[heading].text
            characters = sum(len(block.text) for block in blocks if block.kind not in FURNITURE and not block.hidden)
            characters += sum(len(cell.text) for table in self._deck.tables[first_table:] for cell in table.cells)
            pages.append(
                Page(number=number, width=width, height=height, characters=characters, source=BlockSource.MARKUP)
            )
        if slides and self._counts["unread"] == len(slides):
            raise DocumentError("corrupt", "None of its slides can be read.")
        draft = Draft(blocks=self._deck.blocks, tables=self._deck.tables, refs=self._deck.refs, pages=pages)
        draft.page_count = len(slides)
        self._account(draft, title)
        return draft

    # --- slides --------------------------------------------------------------------------------------------------

    def _slides(self) -> list[tuple[str, str]]:
        """Identifier and part of each slide, in the order in which they are shown; each part once."""
        relationships = self._package.relationships(self._main)
        found: dict[str, str] = {}
        for name, entry in children(_list(self._root, "p:sldIdLst")):
            relationship = relationships.get(attr(entry, "r:id") or "") if name == "p:sldId" else None
            if relationship is None or relationship.external:
                self._package.warn("part_missing")
            elif relationship.target not in found:
                found[relationship.target] = entry.get("id") or ""
        parts = [one for one in self._package.parts() if re.fullmatch(r"ppt/slides/[^/]+\.xml", one)]
        self._counts["unlisted"] = len(set(parts) - {part.lower() for part in found})
        self._counts["too_many"] = max(len(found) - self._max_pages, 0)
        if self._counts["too_many"]:
            self._package.warn("page_limit")
        return [(identifier, part) for part, identifier in found.items()][: self._max_pages]

    def _slide(self, sheet: Sheet, part: str, root: etree._Element, shown_number: int) -> int | None:
        layout, texts = self._layout(part, root)
        reader = TextReader(self._package, part, self._counts, self._languages, shown_number)
        tree = child(child(root, "p:cSld"), "p:spTree")
        notes, notes_reader = self._notes(part)
        heading = self._deck.add_slide(sheet, shapes_of(tree, layout), reader, notes, notes_reader)
        for text in texts:
            if text not in self._told:
                self._told.add(text)
                self._deck._add(BlockKind.BOILERPLATE, text, page=sheet.number)
        for author, text in self._comments(part):
            self._deck.add_comment(sheet, author, text, heading)
        return heading

    def _layout(self, part: str, root: etree._Element) -> tuple[Layout, list[str]]:
        """Layout and master of a slide, and the texts that stand on them for every slide to show."""
        layout_part = self._package.related(part, "slideLayout")
        master_part = None if layout_part is None else self._package.related(layout_part, "slideMaster")
        key = layout_part, master_part
        if key not in self._layouts:
            layout, master = self._package.optional_xml(layout_part), self._package.optional_xml(master_part)
            texts: list[str] = []
            made = Layout(layout, master, self._defaults)
            for name, one in ((master_part, master), (layout_part, layout)):
                if one is None or (one is master and layout is not None and _shows_no_master(layout)):
                    continue
                reader = TextReader(self._package, name or "", self._counts, Counter())
                for shape in flat(shapes_of(child(child(one, "p:cSld"), "p:spTree"), made)):
                    if shape.placeholder is None and shape.name == "p:sp" and not shape.hidden:
                        text = reader.lines(child(shape.element, "p:txBody"), shape.styles)
                        texts += [text] if text else []
            self._layouts[key] = made, texts
        made, texts = self._layouts[key]
        return made, [] if _shows_no_master(root) else texts

    def _notes(self, part: str) -> tuple[list[Shape], TextReader | None]:
        """The shapes of a slide's notes page, and what reads them."""
        notes = self._package.related(part, "notesSlide")
        root = self._package.optional_xml(notes)
        if root is None or notes is None:
            return [], None
        tree = child(child(root, "p:cSld"), "p:spTree")
        return shapes_of(tree, Layout(None, None, None)), TextReader(
            self._package, notes, self._counts, self._languages
        )

    # --- comments ------------------------------------------------------------------------------------------------

    def _read_authors(self) -> Iterator[tuple[str, str]]:
        for kind in ("commentAuthors", "authors"):
            root = self._package.optional_xml(self._package.related(self._main, kind))
            for _, author in children(root) if root is not None else ():
                yield author.get("id") or "", (author.get("name") or "").strip()

    def _comments(self, part: str) -> Iterator[tuple[str, str]]:
        """Author and text of the comments on a slide: the old kind (19.4), and threads with their answers."""
        for relationship in self._package.relationships(part).values():
            if relationship.kind != "comments" or relationship.external:
                continue
            root = self._package.optional_xml(relationship.target)
            reader = TextReader(self._package, relationship.target, self._counts, Counter())
            for element in root.iter("*") if root is not None else ():
                kind = etree.QName(element).localname
                if kind not in ("cm", "reply"):
                    continue
                old = child(element, "p:text")
                text = reader.lines(child(element, "p188:txBody")) if old is None else (old.text or "").strip()
                if text:
                    yield self._authors.get(element.get("authorId") or "", ""), text

    # --- the presentation ----------------------------------------------------------------------------------------

    def _size(self) -> tuple[float, float]:
        size = child(self._root, "p:sldSz")
        sides = ["" if size is None else size.get(name) or "" for name in ("cx", "cy")]
        if not all(side.isascii() and side.isdigit() and 0 < len(side) <= 9 and int(side) for side in sides):
            return _POINTS
        return round(int(sides[0]) / EMU, 2), round(int(sides[1]) / EMU, 2)

    def _sections(self) -> dict[str, str]:
        """Names of the presentation's own sections by the first slide of each ([MS-PPTX] 2.2.4)."""
        found: dict[str, str] = {}
        for section in descendants(self._root, "p14:section"):
            name = " ".join((section.get("name") or "").split())
            first = next(descendants(section, "p14:sldId"), None)
            if name and first is not None and not _UNNAMED.fullmatch(name):
                found[first.get("id") or ""] = name
        return found

    def _account(self, draft: Draft, shown: str | None) -> None:
        """Title, authors and dates, and what was hidden or left out."""
        package, counts = self._package, self._counts
        found = core_properties(package, draft)
        draft.title = parse_title(draft.title or "") or shown
        draft.metadata = {key: found[name] for name, key in _METADATA.items() if name in found}
        if self._hidden:
            package.warn("hidden_slides")
            draft.metadata["hidden_slides"] = ", ".join(map(str, self._hidden[:MAX_LISTED]))
        if any(part.endswith("vbaproject.bin") for part in package.parts()):
            draft.metadata["macros"] = "present, not run"
        language = max(self._languages.items(), key=lambda one: (one[1], one[0]), default=("", 0))[0]
        draft.language = language if len(language) == 2 and language.isascii() and language.isalpha() else None
        draft.dropped = [Dropped(what=what, count=counts[key]) for key, what in _DROPPED.items() if counts[key]]
        draft.warnings = sorted(package.warnings)


def _main_part(package: Package) -> str:
    """The presentation part, by the package's own relationship; by its usual name if that is damaged."""
    named = package.related("", "officeDocument")
    if named is not None and named in package:
        return named
    if "ppt/presentation.xml" in package:
        return "ppt/presentation.xml"
    raise DocumentError("corrupt", "The package has no presentation part.")


def _list(root: etree._Element, name: str) -> etree._Element:
    found = child(root, name)
    return etree.Element("none") if found is None else found


def _shows_no_master(root: etree._Element) -> bool:
    return (root.get("showMasterSp") or "1").lower() in ("0", "false")
