"""A chapter of a book: a page without the furniture of the web, with notes, page breaks and the places of its ids.

Source: EPUB 3.3, section 6.1 "XHTML content documents"; EPUB 3 Structural Semantics Vocabulary (`epub:type`); DPUB-ARIA
1.1 (`role="doc-…"`).
"""

from __future__ import annotations

import codecs
import re
from collections import Counter

from selectolax.lexbor import LexborHTMLParser, LexborNode

from streams.decode.labels import codec_of, resolve
from streams.extract.html import as_html, flatten
from streams.extract.html_walk import Frame, Walk, Walker
from streams.records import BlockKind

_NOTES = frozenset({"footnote", "endnote", "rearnote", "note", "doc-footnote", "doc-endnote"})
_BREAKS = frozenset({"pagebreak", "doc-pagebreak"})
_LISTS = frozenset({"toc", "page-list", "landmarks", "loi", "lot", "index", "doc-toc", "doc-pagelist"})
_DECLARED = re.compile(rb"""<\?xml[^>]{0,200}?encoding\s*=\s*["']([A-Za-z0-9._:-]{1,40})["']""")
MAX_IDS = 200_000


class ChapterWalker(Walker):
    """Walks a chapter. `places`: index of the block at which each id stands; `notes`: ids of notes."""

    def __init__(self) -> None:
        super().__init__()
        self.places: dict[str, int] = {}
        self.notes: set[str] = set()
        self.breaks: list[str] = []

    def _enter(self, node: LexborNode, tag: str) -> bool:
        attributes = node.attributes
        types = _types(attributes)
        if types & _BREAKS:
            label = attributes.get("title") or attributes.get("aria-label") or node.text(deep=True) or ""
            self.breaks.append(" ".join(label.split())[:20])
            self.found.dropped["page_break"] += 1
            self._place(attributes)
            return True
        left_out = super()._enter(node, tag)
        self._place(attributes)
        return left_out

    def _place(self, attributes: dict[str, str | None]) -> None:
        name = attributes.get("id")
        if name and len(self.places) < MAX_IDS:
            self.places.setdefault(name, len(self.found.blocks))

    def _open_block(self, node: LexborNode, tag: str, attributes: dict[str, str | None]) -> None:
        before = len(self.frames)
        super()._open_block(node, tag, attributes)
        if not _types(attributes) & _NOTES or self.cells:
            return
        if len(self.frames) == before:
            self.frames.append(Frame(node.mem_id, tag))
        frame = self.frames[-1]
        if frame.kind in (None, BlockKind.LIST_ITEM):
            frame.kind = BlockKind.FOOTNOTE
            self.notes.add(attributes.get("id") or "")

    def _is_furniture(self, tag: str, attributes: dict[str, str | None]) -> bool:
        """Tables of contents only: the asides, headers and footers of a book are its text."""
        return tag == "nav" or bool(_types(attributes) & _LISTS and tag in ("div", "section", "ol", "ul"))


def _types(attributes: dict[str, str | None]) -> set[str]:
    return {*(attributes.get("epub:type") or "").split(), *(attributes.get("role") or "").split()}


def chapter(data: bytes) -> tuple[Walk, ChapterWalker]:
    """What stands in a chapter; `invalid_bytes` and `deep_nesting` are among its warnings."""
    text, invalid = _decoded(data)
    text, flattened = flatten(as_html(text))
    walker = ChapterWalker()
    root = LexborHTMLParser(text).root
    walk = walker.run(root) if root is not None else Walk(dropped=Counter())
    if invalid:
        walk.warnings.add("invalid_bytes")
    if flattened:
        walk.warnings.add("deep_nesting")
        walk.dropped["nesting"] += flattened
    return walk, walker


def _decoded(data: bytes) -> tuple[str, bool]:
    """The text of a chapter, and whether bytes of it had to be replaced: UTF-8, or what its XML declaration says."""
    for bom, encoding in ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        if data.startswith(bom):
            data, found = data[len(bom) :], encoding
            break
    else:
        match = _DECLARED.search(data[:400])
        found = (resolve(match[1].decode("ascii")) if match else None) or "utf-8"
    try:
        return data.decode(codec_of(found)), False
    except UnicodeDecodeError:
        return data.decode(codec_of(found), "replace"), True
