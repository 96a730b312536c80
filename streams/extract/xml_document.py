"""XML that is a document: sections by their titles, paragraphs, lists, tables and code, in document order."""

from __future__ import annotations

import re
from collections import Counter

from streams.extract import xml_names as names
from streams.extract.grids import add_table
from streams.extract.html_tables import MAX_COL_SPAN, MAX_ROW_SPAN, RawTable, make_table, span
from streams.extract.outcome import Draft
from streams.extract.xml_parse import Element
from streams.records import Block, BlockKind, BlockSource, Dropped, Link, Table

MAX_DEPTH = 150
"""Levels of elements; what is deeper is read as one paragraph."""
SAYING = ("alt", "title", "label", "caption", "summary", "value", "text", "name")
"""Attributes that may say what the element's text does not; the first is taken where there is no text."""

_BASE64 = re.compile(r"[A-Za-z0-9+/=\s]{400,}")


def is_document(root: Element) -> bool:
    """Whether this is a text with marks in it, and no data: when a third of it stands in what is surely a paragraph."""
    total = prose = 0
    stack: list[tuple[Element, bool]] = [(root, False)]
    while stack:
        element, inside = stack.pop()
        name = element.name.lower()
        if name in names.BINARY or _is_binary(element):
            continue
        inside = inside or name in names.SURELY_TEXT
        length = sum(len(one.strip()) for one in element.content if isinstance(one, str))
        total += length
        prose += length * inside
        stack += [(one, inside) for one in element.content if isinstance(one, Element)]
    return prose * 3 >= total > 0


def document(root: Element) -> Draft:
    """The blocks of a document. Errors: DocumentError `too_large` for tables that no slot carries."""
    walk = _Walk(root)
    walk.element(root, 1, 0)
    dropped = [Dropped(what=what, count=count) for what, count in sorted(walk.dropped.items())]
    return Draft(
        blocks=walk.blocks,
        tables=walk.tables,
        refs=walk.refs,
        title=walk.title,
        authors=walk.authors,
        language=root.attributes.get("lang") or walk.language,
        dropped=dropped,
        warnings=["spans_clipped"] * walk.clipped,
    )


class _Walk:
    """Goes over the elements once, in their order."""

    def __init__(self, root: Element) -> None:
        self.root = root
        self.blocks: list[Block] = []
        self.tables: list[Table] = []
        self.refs: dict[int, int] = {}
        self.title: str | None = None
        self.authors: list[str] = []
        self.language: str | None = None
        self.dropped: Counter[str] = Counter()
        self.clipped = False
        self._holders = _holders(root)
        self._notes: list[str] = []

    def element(self, element: Element, level: int, depth: int, lists: int = 0, front: bool = False) -> None:
        """The blocks of one element. `level`: of the next heading; `lists`: how many lists are open."""
        name = element.name.lower()
        if name in names.BINARY or _is_binary(element):
            self.dropped["binary_data"] += 1
        elif name in names.NO_TEXT:
            self.dropped[name] += 1
        elif name in names.TABLES and self._table(element, depth):
            pass
        elif name in names.CODE:
            self._block(BlockKind.CODE, element.text().strip("\n"))
        elif depth >= MAX_DEPTH or id(element) not in self._holders:
            self._leaf(element, name, level, lists, front)
        else:
            self._container(element, name, level, depth, lists, front)

    def _container(self, element: Element, name: str, level: int, depth: int, lists: int, front: bool) -> None:
        front = front or name in names.FRONT
        titled = next((one for one in element.elements() if one.name.lower() in names.TITLES), None)
        below = level
        if titled is not None and not front:
            self._title(element, titled, level)
            below = level + (element is not self.root)
        elif name == "worksheet" and "Name" in element.attributes:
            self._block(BlockKind.HEADING, element.attributes["Name"], level=level)
            below = level + 1
        marker = 0
        for one in element.content:
            if isinstance(one, str):
                if one.strip():
                    self._block(BlockKind.PARAGRAPH, " ".join(one.split()))
            elif one is titled and not front:
                continue
            elif one.name.lower() in names.ITEMS:
                marker += 1
                shown = f"{marker}." if name in names.ORDERED else "•"
                self._item(one, shown, below, depth + 1, lists + 1)
            else:
                self.element(one, below, depth + 1, lists, front)

    def _item(self, item: Element, marker: str, level: int, depth: int, lists: int) -> None:
        """A list item: its first paragraph is the item, what follows stands below it."""
        first = len(self.blocks)
        if id(item) in self._holders and depth < MAX_DEPTH:
            for one in item.content:
                if isinstance(one, Element):
                    self.element(one, level, depth + 1, lists)
                elif one.strip():
                    self._block(BlockKind.PARAGRAPH, " ".join(one.split()))
        else:
            self._leaf(item, "", level, lists, False)
        if len(self.blocks) > first and self.blocks[first].kind is BlockKind.PARAGRAPH:
            found = self.blocks[first]
            self.blocks[first] = Block(
                kind=BlockKind.LIST_ITEM,
                text=found.text,
                links=found.links,
                level=lists,
                marker=marker,
                source=BlockSource.MARKUP,
            )

    def _title(self, element: Element, titled: Element, level: int) -> None:
        text, links = self._inline(titled)
        if element is self.root:
            self.title = self.title or text
            self._block(BlockKind.TITLE, text, links=links)
        else:
            label = element.attributes.get("label", "").strip()
            self._block(BlockKind.HEADING, f"{label} {text}" if label else text, level=level, links=links)

    def _leaf(self, element: Element, name: str, level: int, lists: int, front: bool) -> None:
        text, links = self._inline(element)
        if not text:
            text = next((v for key in SAYING if (v := element.attributes.get(key, "").strip())), "")
        if front and text:
            if name in names.TITLES and self.title is None:
                self.title = text
                self._block(BlockKind.TITLE, text, links=links)
                return
            if name in names.AUTHORS:
                self.authors.append(text)
            if name in ("lang", "language") and self.language is None:
                self.language = element.attributes.get("ident", text)
        if name in names.HEADINGS or (name in names.TITLES and not front):
            outline = element.attributes.get("outline-level", "")
            self._block(
                BlockKind.HEADING,
                text,
                level=int(outline) if outline in "123456789" and outline else level,
                links=links,
            )
        elif text:
            self._block(BlockKind.PARAGRAPH, text, links=links)
        for note in self._notes:
            self.refs[len(self.blocks)] = len(self.blocks) - 1
            self._block(BlockKind.FOOTNOTE, note)
        self._notes = []

    def _inline(self, element: Element) -> tuple[str, list[Link]]:
        """The text of an element without blocks inside; footnotes are put aside, and breaks are breaks.

        Where no text stands between its elements, they are names and numbers of their own: a blank parts them.
        """
        parts: list[str] = []
        links: list[Link] = []
        loose = not any(isinstance(one, str) and one.strip() for one in element.content)
        stack: list[Element | str] = list(reversed(element.content))
        while stack:
            one = stack.pop()
            if isinstance(one, str):
                parts.append(one)
                continue
            name = one.name.lower()
            if name in names.FOOTNOTES:
                self._notes.append(" ".join(one.text().split()))
            elif name in names.NO_TEXT or name in names.BINARY:
                self.dropped["binary_data" if name in names.BINARY else name] += 1
            elif name in ("br", "lb", "line-break", "cr", "tab", "s"):
                parts.append(" ")
            else:
                target = one.attributes.get("href") or one.attributes.get("url") or ""
                shown = " ".join(one.text().split()) if "://" in target else ""
                if shown:
                    links.append(Link(text=shown, target=target))
                stack += [" "] * loose
                stack += reversed(one.content)
        return " ".join("".join(parts).split()), links

    def _block(self, kind: BlockKind, text: str, *, level: int | None = None, links: list[Link] | None = None) -> None:
        self.blocks.append(Block(kind=kind, text=text, level=level, links=links or [], source=BlockSource.MARKUP))

    def _table(self, element: Element, depth: int) -> bool:
        """Rows and cells, wherever in the table they stand; False when there are none."""
        raw = RawTable()
        caption = next((one for one in element.elements() if one.name.lower() in (*names.TITLES, "caption")), None)
        if caption is not None:
            raw.caption = [self._inline(caption)[0]]
        stack: list[tuple[Element, bool]] = [(one, False) for one in reversed(element.elements())]
        while stack:
            one, head = stack.pop()
            name = one.name.lower()
            if name in names.HEADS and name not in names.ROWS:
                head = True
            if name in names.ROWS:
                raw.start_group(head=head or name in names.HEADS or one.attributes.get("role") == "label")
                raw.start_row()
                self._row(one, raw)
            elif name not in names.CELLS and one is not caption:
                stack += [(inner, head) for inner in reversed(one.elements())]
        if not any(raw.rows):
            return False
        raw.groups = [0] * len(raw.rows)
        table, clipped = make_table(raw)
        self.clipped = self.clipped or clipped
        if table is None:
            return False
        add_table(self.blocks, self.tables, table)
        return True

    def _row(self, row: Element, raw: RawTable) -> None:
        for cell in row.elements():
            name = cell.name.lower()
            if name not in names.CELLS:
                continue
            said = cell.attributes
            more, across = said.get("morerows"), said.get("MergeAcross")
            for _ in range(min(span(said.get("Index"), MAX_COL_SPAN) - 1, MAX_COL_SPAN) - len(raw.rows[-1])):
                raw.start_cell(header=False, row_span=1, col_span=1)  # SpreadsheetML leaves empty cells out
            rows = span(said.get("rowspan") or said.get("number-rows-spanned") or said.get("rows"), MAX_ROW_SPAN)
            found = raw.start_cell(
                header=name == "th" or said.get("role") == "label",
                row_span=min(span(more, MAX_ROW_SPAN) + 1, MAX_ROW_SPAN) if more else max(rows, 1),
                col_span=span(across, MAX_COL_SPAN - 1) + 1
                if across
                else span(said.get("colspan") or said.get("number-columns-spanned") or said.get("cols"), MAX_COL_SPAN),
            )
            lines = [one for one in cell.elements() if one.name.lower() in names.PARAGRAPHS]
            texts = [self._inline(one)[0] for one in lines] if len(lines) > 1 else [self._inline(cell)[0]]
            found.lines = [text for text in texts if text]


def _holders(root: Element) -> set[int]:
    """Ids of the elements that hold blocks."""
    order: list[tuple[Element, int]] = [(root, -1)]
    at = 0
    while at < len(order):
        order += [(one, at) for one in order[at][0].content if isinstance(one, Element)]
        at += 1
    holds = bytearray(len(order))
    found: set[int] = set()
    for index in range(len(order) - 1, -1, -1):
        element, parent = order[index]
        if holds[index]:
            found.add(id(element))
        name = element.name.lower()
        if parent >= 0 and name not in names.FOOTNOTES and (holds[index] or name in names.BLOCKS):
            holds[parent] = 1
    return found


def _is_binary(element: Element) -> bool:
    """Base64 where text would stand."""
    if len(element.content) != 1 or not isinstance(element.content[0], str):
        return False
    text = element.content[0]
    return len(text) > 400 and _BASE64.fullmatch(text) is not None and max(map(len, text.split())) > 60
