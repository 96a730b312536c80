"""Inline elements of HTML whose text is more than its words: what is raised or lowered, formulas, deletions.

A formula (MathML) is put together as OpenDocument's are: 1/2, x^2.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

from selectolax.lexbor import LexborNode

from streams.extract.html_dom import is_hidden
from streams.extract.odf_math import BUILT, combined
from streams.extract.raised import Place, placed

_RAISING_STYLE = re.compile(r"(?:^|[;\s])vertical-align\s*:\s*(super|sub)\s*(?:;|!|$)", re.IGNORECASE)

_STYLED = frozenset(["span", "font", "small", "big", "b", "strong", "i", "em", "u"])
"""Elements whose style sheet may raise text; that of a picture only says where it stands."""


@dataclass
class _Open:
    node: int
    start: int  # where in the buffer its text begins
    place: Place = Place.LINE
    built: str = ""  # an element of a formula
    opening: str = "("
    closing: str = ")"
    bounds: list[int] = field(default_factory=list)  # where each of its children begins
    linked: bool = False  # it holds a link: the mark of a note


class InlineScripts:
    """The open ones of these elements, innermost last."""

    def __init__(self) -> None:
        self._open: list[_Open] = []

    def enter(self, node: LexborNode, tag: str, attributes: dict[str, str | None], at: int, note_at: int) -> None:
        """An inline element opens.

        Args:
            at: length of the buffer.
            note_at: where in the buffer the text of the link begins that leads to a place on a page; -1 for none.
        """
        inner = self._open[-1] if self._open else None
        if inner is not None and inner.built and (parent := node.parent) is not None and parent.mem_id == inner.node:
            inner.bounds.append(at)
        if tag == "a":
            for one in self._open:
                one.linked = True
        elif tag in BUILT:
            opening, closing = attributes.get("open"), attributes.get("close")
            self._open.append(_Open(node.mem_id, at, built=tag, opening=opening or "(", closing=closing or ")"))
        elif (place := _place(tag, attributes)) is not Place.LINE:
            self._open.append(_Open(node.mem_id, at, place, linked=note_at == at))

    def leave(self, node: LexborNode, buffer: list[str], tidy: Callable[[list[str]], str]) -> None:
        """An inline element closes: its text in the buffer becomes what it says."""
        if not self._open or self._open[-1].node != node.mem_id:
            return
        ended = self._open.pop()
        if ended.built:
            bounds = [*ended.bounds, len(buffer)]
            parts = [tidy(buffer[start:end]) for start, end in pairwise(bounds)]
            if parts:
                buffer[ended.start :] = [combined(ended.built, parts, ended.opening, ended.closing)]
        elif not ended.linked:
            text = "".join(buffer[ended.start :])
            before = buffer[ended.start - 1] if ended.start else ""
            buffer[ended.start :] = [placed(text, ended.place, before)] if text else []

    def broken(self) -> None:
        """A block begins or ends inside: what is open is no exponent and no formula."""
        self._open.clear()


def _place(tag: str, attributes: dict[str, str | None]) -> Place:
    if tag in ("sup", "sub"):
        return Place.RAISED if tag == "sup" else Place.LOWERED
    match = _RAISING_STYLE.search(attributes.get("style") or "") if tag in _STYLED else None
    if match is None:
        return Place.LINE
    return Place.RAISED if match[1].lower() == "super" else Place.LOWERED


def is_deletion(node: LexborNode, attributes: dict[str, str | None]) -> bool:
    """Whether a `del` is a change that was tracked: it says when or why, or an `ins` stands beside it.

    Any other is text that its author shows as struck out.
    """
    if "datetime" in attributes or "cite" in attributes:
        return True
    return any(_beside(node, step) == "ins" for step in ("next", "prev"))


def _beside(node: LexborNode, step: str) -> str | None:
    found = getattr(node, step)
    if found is not None and found.is_text_node and not (found.text_content or "").strip():
        found = getattr(found, step)
    return None if found is None else str(found.tag)


def first_number(node: LexborNode) -> int:
    """Where a reversed list begins: the number of its items that are shown (HTML, 4.4.5)."""
    count, item = 0, node.child
    while item is not None:
        count += item.tag == "li" and not is_hidden("li", item.attributes)
        item = item.next
    return count
