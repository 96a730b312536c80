"""Unwraps what an OpenDocument file puts around paragraphs, and counts its lists and headings as it goes along.

Lists, sections and indexes (part 3, 5.3, 5.4 and 8) hold paragraphs, tables and shapes; these are given in order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from lxml import etree

from streams.extract.odf import Source, attr, children, descendants, whole
from streams.extract.odf_inline import SHAPES
from streams.extract.odf_styles import Numbers, Styles

MAX_DEPTH = 40
"""Sections, lists, boxes and tables in each other; what is deeper is read as plain text."""
_INDEXES = frozenset(
    {
        "text:table-of-content", "text:illustration-index", "text:table-index", "text:object-index", "text:user-index",
        "text:alphabetical-index", "text:bibliography",
    }
)  # fmt: skip
_INSIDE = frozenset({"text:index-body", "text:index-title"})


@dataclass(frozen=True)
class Item:
    """A paragraph, table or shape, unwrapped. `level` of its list from 1; a marker only where it begins an item."""

    name: str
    element: etree._Element
    level: int = 0
    begins: bool = False
    marker: str | None = None
    hidden: bool = False


class Unwrapper:
    """Gives the items of containers; the order of the calls is that of the file, for the sake of the numbers."""

    def __init__(self, source: Source, styles: Styles, counts: Counter[str]) -> None:
        self._source, self._styles, self._counts = source, styles, counts
        self._outline = Numbers()
        self._lists: dict[str, Numbers] = {}  # by their ids
        self._last: dict[str, Numbers] = {}  # by their styles

    def items(self, container: etree._Element, depth: int, *, hidden: bool = False) -> Iterator[Item]:
        """Paragraphs, tables and shapes of a container."""
        if depth > MAX_DEPTH:
            self._source.warn("nesting_too_deep")
            yield Item("", container, hidden=hidden)
            return
        for name, element in children(container):
            if name in ("text:p", "text:h", "table:table") or name in SHAPES:
                marker = self._heading_number(element) if name == "text:h" else None
                yield Item(name, element, marker=marker, hidden=hidden)
            elif name == "text:list":
                yield from self._list(element, depth, hidden)
            elif name == "text:numbered-paragraph":
                yield from self._numbered(element, hidden)
            elif name == "text:section" or name in _INDEXES or name in _INSIDE:
                unseen = attr(element, "text:display") == "none" or attr(element, "text:is-hidden") == "true"
                yield from self.items(element, depth + 1, hidden=hidden or unseen)
            elif name == "text:tracked-changes":
                self._counts["inserted"] += len(descendants(element, "text:insertion"))
                self._counts["deleted"] += len(descendants(element, "text:deletion"))

    def _list(self, element: etree._Element, depth: int, hidden: bool) -> Iterator[Item]:
        style = attr(element, "text:style-name")
        continued = attr(element, "text:continue-list")
        numbers = self._outline if style == "Outline" else None
        if numbers is None and continued:
            numbers = self._lists.get(continued)
        if numbers is None and attr(element, "text:continue-numbering") == "true":
            numbers = self._last.get(style or "")
        numbers = Numbers() if numbers is None else numbers
        self._last[style or ""] = numbers
        self._lists[attr(element, "xml:id") or ""] = numbers
        yield from self._items(element, style, numbers, 0, depth, hidden)

    def _items(
        self, element: etree._Element, style: str | None, numbers: Numbers, level: int, depth: int, hidden: bool
    ) -> Iterator[Item]:
        if depth + level > MAX_DEPTH:
            self._source.warn("nesting_too_deep")
            yield Item("", element, hidden=hidden)
            return
        for tag, item in children(element):
            if tag not in ("text:list-item", "text:list-header"):
                continue
            begins = tag == "text:list-item"
            for name, found in children(item):
                if name == "text:list":
                    own = attr(found, "text:style-name") or style
                    yield from self._items(found, own, numbers, level + 1, depth, hidden)
                elif name in ("text:p", "text:h"):
                    used = style or self._styles.look("paragraph", attr(found, "text:style-name")).list_style
                    start = whole(attr(item, "text:start-value"))
                    marker = self._styles.marker(used, numbers, level, start) if begins else None
                    yield Item(name, found, level=level + 1, begins=begins, marker=marker, hidden=hidden)
                    begins = False
                elif name == "table:table" or name in SHAPES:
                    yield Item(name, found, hidden=hidden)

    def _numbered(self, element: etree._Element, hidden: bool) -> Iterator[Item]:
        style, identifier = attr(element, "text:style-name"), attr(element, "text:list-id") or ""
        level = min(max(whole(attr(element, "text:level")) or 1, 1), 10)
        numbers = self._lists.setdefault(identifier, Numbers())
        for name, found in children(element):
            if name in ("text:p", "text:h"):
                marker = self._styles.marker(style, numbers, level - 1, whole(attr(element, "text:start-value")))
                yield Item(name, found, level=level, begins=True, marker=marker, hidden=hidden)

    def _heading_number(self, element: etree._Element) -> str | None:
        """The number of a heading outside of lists, by the outline style or by the list style of its own style."""
        if attr(element, "text:is-list-header") == "true":
            return None
        own = self._styles.look("paragraph", attr(element, "text:style-name")).list_style
        if own == "":
            return None
        level = max((whole(attr(element, "text:outline-level")) or 1) - 1, 0)
        if attr(element, "text:restart-numbering") == "true":
            start: int | None = whole(attr(element, "text:start-value")) or 1
        else:
            start = None
        return self._styles.marker("Outline" if own is None else own, self._outline, level, start)
