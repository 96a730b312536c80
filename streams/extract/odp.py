"""OpenDocument presentations and drawings (ODP, ODG, their templates and flat kinds): each page a page and a section.

A slide is read as it stands: its title first, then its shapes in reading order, then the notes that belong to it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from lxml import etree

from streams.extract.boxes import Box
from streams.extract.odf import (
    Source,
    attr,
    child,
    children,
    descendants,
    document_info,
    name_of,
    open_source,
    points,
    text_of,
)
from streams.extract.odf_body import Body, Found
from streams.extract.odf_inline import SHAPES
from streams.extract.odf_styles import Styles
from streams.extract.odt import account
from streams.extract.outcome import Draft, Request
from streams.extract.slide_order import reading_order
from streams.records import FURNITURE, BlockKind, BlockSource, Dropped, Page

NOTES = "Notes"
HIDDEN = "Hidden slide"
MAX_LISTED = 100
_SIZE = (793.7, 595.28)
"""28 x 21 cm, where the file does not say."""
_FURNITURE = {
    "header": BlockKind.PAGE_HEADER,
    "footer": BlockKind.PAGE_FOOTER,
    "date-time": BlockKind.PAGE_FOOTER,
    "page-number": BlockKind.PAGE_NUMBER,
}
"""Classes of shapes (part 3, 19.389) that stand on every page."""


@dataclass
class _Shape:
    element: etree._Element
    box: Box | None
    role: str
    inside: list[_Shape] = field(default_factory=list)  # of a group, in reading order


def extract(request: Request) -> Draft:
    """The slides of a presentation, or the pages of a drawing.

    Errors: DocumentError `encrypted`, `truncated`, `corrupt`, `bomb` or `too_large`. A side part that is damaged is a
    warning (`part_damaged`); the content is not.
    """
    with open_source(request.path) as source:
        drawing = child(child(source.content, "office:body"), "office:drawing")
        container = source.body("office:presentation") if drawing is None else drawing
        return _Deck(source, container, "Slide" if drawing is None else "Page", request.max_pages).draft()


class _Deck:
    def __init__(self, source: Source, container: etree._Element, noun: str, max_pages: int) -> None:
        self._source, self._container, self._noun, self._max_pages = source, container, noun, max_pages
        self._counts: Counter[str] = Counter()
        self._styles = Styles(source, source.content)
        self._body = Body(source, self._styles, self._counts)
        self._side = Body(source, Styles(source, source.styles), self._counts)
        self._masters = {attr(one, "style:name"): one for one in descendants(source.styles, "style:master-page")}
        self._layouts = {attr(one, "style:name"): one for one in descendants(source.styles, "style:page-layout")}
        self._declared = {
            (name, attr(one, "presentation:name")): text_of(one).strip()
            for name, one in children(container)
            if name.endswith("-decl")
        }
        self._hidden: list[int] = []
        self._told: set[str] = set()

    def draft(self) -> Draft:
        """All of it."""
        slides = [one for name, one in children(self._container) if name == "draw:page"]
        over = max(len(slides) - self._max_pages, 0)
        if over:
            self._source.warn("page_limit")
        pages: list[Page] = []
        title: str | None = None
        for number, slide in enumerate(slides[: self._max_pages], 1):
            width, height = self._size(slide)
            start, first_table = len(self._body.blocks), len(self._body.tables)
            shown = self._slide(slide, number, width, height)
            title = title or shown
            blocks = self._body.blocks[start:]
            characters = sum(len(one.text) for one in blocks if one.kind not in FURNITURE and not one.hidden)
            characters += sum(len(cell.text) for table in self._body.tables[first_table:] for cell in table.cells)
            pages.append(
                Page(number=number, width=width, height=height, characters=characters, source=BlockSource.MARKUP)
            )
        self._body.page = self._body.bbox = None
        self._body.finish()
        draft = Draft(blocks=self._body.blocks, tables=self._body.tables, refs=self._body.refs, pages=pages)
        draft.page_count = len(pages)
        document_info(self._source, draft)
        draft.title = draft.title or title
        draft.language = draft.language or self._styles.language
        if self._hidden:
            self._source.warn("hidden_slides")
            draft.metadata["hidden_slides"] = ", ".join(map(str, self._hidden[:MAX_LISTED]))
        account(self._source, draft, self._counts)
        if over:
            draft.dropped.append(Dropped(what="slides_over_limit", count=over))
        return draft

    # --- one slide -----------------------------------------------------------------------------------------------

    def _slide(self, slide: etree._Element, number: int, width: float, height: float) -> str | None:
        """Adds the blocks of a slide; its title, if it has one that the show shows."""
        body = self._body
        body.page, body.bbox = number, None
        shapes = _in_order([_shape(one) for name, one in children(slide) if name in SHAPES])
        title = next((one for one in shapes if one.role == "title"), None)
        text = "" if title is None else " ".join(" ".join(self._lines(title.element)).split())
        hidden = self._is_hidden(slide)
        notes = self._notes(slide)
        if text and title is not None:
            body.bbox = title.box
            shapes.remove(title)
        heading: int | None = None
        if text or notes or any(self._has_words(one) for one in shapes):
            heading = body.put(BlockKind.HEADING, text or f"{self._noun} {number}", level=1)
        if hidden:
            self._hidden.append(number)
            body.bbox = None
            self._hang(BlockKind.METADATA, HIDDEN, heading)
        for shape in shapes:
            self._add(shape, width, height)
        body.bbox = None
        body.flush_notes()
        self._furniture(slide)
        if notes:
            self._hang(BlockKind.FOOTNOTE, notes, heading, marker=NOTES)
        for name, one in children(slide):
            if name == "office:annotation":
                body.comment(one, heading)
        return text if text and not hidden else None

    def _add(self, shape: _Shape, width: float, height: float) -> None:
        body, box = self._body, shape.box
        body.bbox = box
        if attr(shape.element, "presentation:placeholder") == "true":
            return  # what LibreOffice asks for, not what anybody wrote
        kind = _FURNITURE.get(shape.role)
        if kind is not None:
            for line in self._lines(shape.element):
                body.put(kind, line)
            return
        off = box is not None and (box[2] < 0 or box[3] < 0 or box[0] > width or box[1] > height)
        if off:
            self._source.warn("off_slide_text")
        if shape.inside:
            body.shape_figure(shape.element, hidden=off)
            for one in shape.inside:
                self._add(one, width, height)
            return
        body.shape(shape.element, 0, hidden=off)

    def _has_words(self, shape: _Shape) -> bool:
        if attr(shape.element, "presentation:placeholder") == "true" or shape.role in _FURNITURE:
            return False
        return any(str(text).strip() for text in shape.element.itertext()) or bool(
            descendants(shape.element, "draw:object")
        )

    def _hang(self, kind: BlockKind, text: str, heading: int | None, marker: str | None = None) -> None:
        at = self._body.put(kind, text, marker=marker)
        if heading is not None:
            self._body.refs[at] = heading

    def _lines(self, element: etree._Element) -> list[str]:
        inside = child(element, "draw:text-box")
        return self._body.lines(element if inside is None else inside, Found())

    def _notes(self, slide: etree._Element) -> str:
        """The speaker's notes, without the picture of the slide and what stands on every page."""
        lines: list[str] = []
        for shape in children(child(slide, "presentation:notes")):
            one = _shape(shape[1])
            placeholder = attr(one.element, "presentation:placeholder") == "true"
            if shape[0] in SHAPES and one.role not in _FURNITURE and not placeholder:
                lines += self._lines(one.element)
        return "\n".join(lines)

    def _is_hidden(self, slide: etree._Element) -> bool:
        style = self._styles.style("drawing-page", attr(slide, "draw:style-name"))
        properties = None if style is None else child(style.element, "style:drawing-page-properties")
        return properties is not None and attr(properties, "presentation:visibility") == "hidden"

    def _furniture(self, slide: etree._Element) -> None:
        """Header, footer and date that the slide asks for, and texts that its master shows on every slide."""
        for use, kind in (("header", BlockKind.PAGE_HEADER), ("footer", BlockKind.PAGE_FOOTER), ("date-time", None)):
            text = self._declared.get((f"presentation:{use}-decl", attr(slide, f"presentation:use-{use}-name")), "")
            if text:
                self._body.put(kind or BlockKind.PAGE_FOOTER, text)
        master = self._masters.get(attr(slide, "draw:master-page-name"))
        for name, element in children(master):
            is_part = attr(element, "presentation:class") or attr(element, "presentation:placeholder") == "true"
            if name not in SHAPES or is_part:
                continue
            inside = child(element, "draw:text-box")
            text = "\n".join(self._side.lines(element if inside is None else inside, Found()))
            if text and text not in self._told:
                self._told.add(text)
                self._body.put(BlockKind.BOILERPLATE, text)

    def _size(self, slide: etree._Element) -> tuple[float, float]:
        master = self._masters.get(attr(slide, "draw:master-page-name"))
        layout = None if master is None else self._layouts.get(attr(master, "style:page-layout-name"))
        properties = child(layout, "style:page-layout-properties")
        sides = [
            None if properties is None else points(attr(properties, name))
            for name in ("fo:page-width", "fo:page-height")
        ]
        width, height = sides
        return (width, height) if width and height and width > 0 and height > 0 else _SIZE


def _in_order(shapes: list[_Shape]) -> list[_Shape]:
    """As they are read; shapes without a place last."""
    placed = [shape for shape in shapes if shape.box is not None]
    order = reading_order([shape.box for shape in placed if shape.box is not None])
    return [placed[at] for at in order] + [shape for shape in shapes if shape.box is None]


def _shape(element: etree._Element) -> _Shape:
    role = attr(element, "presentation:class") or ""
    if name_of(element) in ("draw:g", "draw:a"):
        inside = _in_order([_shape(one) for name, one in children(element) if name in SHAPES])
        boxes = [one.box for one in inside if one.box is not None]
        around = (
            min((box[0] for box in boxes), default=0.0),
            min((box[1] for box in boxes), default=0.0),
            max((box[2] for box in boxes), default=0.0),
            max((box[3] for box in boxes), default=0.0),
        )
        return _Shape(element, around if boxes else None, role, inside)
    return _Shape(element, _box(element), role)


def _box(element: etree._Element) -> Box | None:
    """Where a shape stands: by its corner and size, by its ends, or moved by a transformation (19.228)."""
    x, y = points(attr(element, "svg:x")), points(attr(element, "svg:y"))
    width, height = points(attr(element, "svg:width")), points(attr(element, "svg:height"))
    ends = [points(attr(element, f"svg:{name}")) for name in ("x1", "y1", "x2", "y2")]
    if ends[0] is not None and ends[1] is not None and ends[2] is not None and ends[3] is not None:
        return min(ends[0], ends[2]), min(ends[1], ends[3]), max(ends[0], ends[2]), max(ends[1], ends[3])
    if width is None or height is None:
        width = height = 0.0
        if x is None:
            return None
    moved = _translated(attr(element, "draw:transform"))
    x, y = (x or 0.0) + moved[0], (y or 0.0) + moved[1]
    return round(x, 2), round(y, 2), round(x + width, 2), round(y + height, 2)


def _translated(transform: str | None) -> tuple[float, float]:
    """The shift of a transformation; what it turns is taken as unturned."""
    _, found, rest = (transform or "").partition("translate")
    parts = rest.partition("(")[2].partition(")")[0].replace(",", " ").split() if found else []
    return (points(parts[0]) or 0.0 if parts else 0.0), (points(parts[1]) or 0.0 if len(parts) > 1 else 0.0)
