"""The tags of a PDF (its logical structure, ISO 32000-1, 14.8) through MuPDF: for each line of a page, what its author
said it is. Whether that is true is for others to judge."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

import pymupdf

from streams.extract.boxes import Box
from streams.extract.tools.mupdf import Pdf, _Placement
from streams.extract.tools.mupdf_faults import FAULTS

_DEEPEST = 64
"""Levels of the tree. MuPDF opens all levels above each marked piece of text: of 100,000 levels for minutes."""

_MOST_ELEMENTS = 100_000
_MOST_BYTES = 8 << 20  # of one page's structure as JSON
_UNREADABLE: tuple[type[Exception], ...] = (*FAULTS, RecursionError)
_REFERENCE = re.compile(r"(\d+) 0 R")
_FLAGS = pymupdf.TEXT_PRESERVE_WHITESPACE | pymupdf.TEXT_COLLECT_STRUCTURE
_BLOCKS = frozenset(
    {"H", "H1", "H2", "H3", "H4", "H5", "H6", "P", "LI", "LBody", "Lbl", "TD", "TH", "Caption", "Note", "TOCI"}
    | {"BlockQuote", "Code", "Formula", "Figure", "Title", "FENote"}
)


class Tag(NamedTuple):
    """A line of text and its element. `role` is a standard structure type, "" for what is tagged as no content."""

    role: str
    depth: int  # of a list item: how many lists it is in; else 0
    box: Box


def usable_tags(pdf: Pdf) -> bool:
    """Whether the document has a structure tree of a size and depth that can be followed."""
    document: Any = pdf._document
    try:
        root = _entry(document, int(document.pdf_catalog()), "StructTreeRoot")
        tree = _entry(document, root, "ParentTree") if root else 0
        return bool(tree) and _is_shallow(document, root, _leaves(document, tree))
    except _UNREADABLE:
        return False


def page_tags(pdf: Pdf, number: int) -> list[Tag]:
    """The tagged lines of page `number`, in the order of the structure; empty where it can't be read.

    Call it only where `usable_tags` says yes.
    """
    document: Any = pdf._document
    try:
        page = document.load_page(number - 1)
        place = _Placement(page.rotation_matrix if int(page.rotation) % 360 else None)
        text = page.get_textpage(clip=pymupdf.INFINITE_RECT(), flags=_FLAGS)
        buffer = pymupdf.mupdf.FzBuffer(1024)
        out = pymupdf.mupdf.FzOutput(buffer)
        pymupdf.mupdf.fz_print_stext_page_as_json(out, text.this, 1)
        out.fz_close_output()
        raw = bytes(buffer.fz_buffer_extract())
        if len(raw) > _MOST_BYTES:
            return []
        found: list[Tag] = []
        _collect(json.loads(raw)["blocks"], "", 0, place, found)
        return found
    except _UNREADABLE:
        return []


def _collect(blocks: list[Any], role: str, depth: int, place: _Placement, found: list[Tag]) -> None:
    for block in blocks:
        if block["type"] == "text":
            for line in block["lines"]:
                if line["text"].strip():
                    x, y, width, height = (float(line["bbox"][key]) for key in ("x", "y", "w", "h"))
                    found.append(Tag(role, depth, place.box((x, y, x + width, y + height))))
        elif block["type"] == "structure":
            own = str(block.get("std", ""))
            inner = own if own in _BLOCKS and not (own == "P" and role in _BLOCKS - {"P"}) else role or "P"
            _collect(block.get("contents", []), inner, depth + (own == "L"), place, found)


def _entry(document: Any, xref: int, key: str) -> int:
    """The object that an entry refers to; 0 where it refers to none."""
    kind, value = document.xref_get_key(xref, key)
    return int(value.split()[0]) if kind == "xref" else 0


def _leaves(document: Any, tree: int) -> set[int]:
    """Objects that the parent tree names: elements, and arrays of them. More than `_MOST_ELEMENTS` end the search."""
    waiting, seen, leaves = [tree], {tree}, set[int]()
    while waiting and len(leaves) <= _MOST_ELEMENTS and len(seen) <= _MOST_ELEMENTS:
        node = waiting.pop()
        for kid in map(int, _REFERENCE.findall(document.xref_get_key(node, "Kids")[1])):
            if kid not in seen:
                seen.add(kid)
                waiting.append(kid)
        kind, value = document.xref_get_key(node, "Nums")
        if kind == "xref":
            value = document.xref_object(int(value.split()[0]), compressed=True)
        leaves.update(map(int, _REFERENCE.findall(value)))
    return leaves


def _is_shallow(document: Any, root: int, leaves: set[int]) -> bool:
    """Whether each way up from a leaf ends at the root in few steps."""
    depths: dict[int, int] = {root: 0}
    waiting = list(leaves)
    while waiting:
        if len(depths) > _MOST_ELEMENTS or len(waiting) > _MOST_ELEMENTS:
            return False
        leaf = waiting.pop()
        way: list[int] = []
        at = leaf
        while at not in depths:
            way.append(at)
            if len(way) > _DEEPEST:
                return False
            above = _entry(document, at, "P")
            if not above:
                if at == leaf:  # an array of elements, or an element that hangs on nothing
                    text = document.xref_object(leaf, compressed=True)
                    if text.startswith("["):
                        waiting += {int(kid) for kid in _REFERENCE.findall(text)} - depths.keys()
                break
            at = above
        depth = depths.get(at, 0)
        for step, element in enumerate(reversed(way), 1):
            depths[element] = depth + step
            if depth + step > _DEEPEST:
                return False
    return True
