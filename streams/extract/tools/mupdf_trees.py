"""Page trees: one that is a maze gets a flat tree instead, and one page gets a tree of its own."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from typing import Any

import pymupdf

Get = Callable[[int, str], tuple[str, str]]
_REFERENCE = re.compile(r"(\d+) (\d+) R")
_INHERITABLE = ("Resources", "MediaBox", "CropBox", "Rotate")  # ISO 32000-1, 7.7.3.4
_MOST_NODES = 100_000
_DEEPEST = 50
_MOST_OF_ONE_BYTE = 1032  # deflate gives no more; LZW and run lengths give less
_MOST_INFLATED = 32 * 1024 * 1024  # bytes of all streams of a page but its pictures


def rebuild(document: Any, get: Get) -> bool:
    """Give `document` (a pymupdf.Document, changed in memory only) a page tree of one level.

    Pages come in the order of the old tree, each once; without a usable tree, in the order of their object numbers.
    `get(xref, key)` is the kind and value of an entry, ("null", "null") where it can't be read. Returns whether there
    is a page now; raises what pymupdf raises.
    """
    catalog = document.pdf_catalog()
    root = _reference(get(catalog, "Pages"))
    leaves = _leaves(get, root) if root else []
    if not leaves:
        leaves = [(xref, {}) for xref in range(1, document.xref_length()) if _type(get, xref) == "/Page"]
    if not catalog or not leaves:
        return False
    tree = document.get_new_xref()
    for xref, inherited in leaves:
        for key, value in sorted(inherited.items()):
            document.xref_set_key(xref, key, value)
        document.xref_set_key(xref, "Parent", f"{tree} 0 R")
    kids = " ".join(f"{xref} 0 R" for xref, _ in leaves)
    document.update_object(tree, f"<</Type/Pages/Count {len(leaves)}/Kids[{kids}]>>")
    document.xref_set_key(catalog, "Pages", f"{tree} 0 R")
    document.init_doc()
    return True


def _leaves(get: Get, root: int) -> list[tuple[int, dict[str, str]]]:
    """Pages below `root` in document order, each with the attributes that it inherits and does not set itself."""
    leaves: list[tuple[int, dict[str, str]]] = []
    seen = {root}
    stack: list[tuple[int, dict[str, str], int]] = [(root, {}, 0)]
    while stack and len(seen) < _MOST_NODES:
        xref, inherited, depth = stack.pop()
        own = {}
        for key in _INHERITABLE:
            kind, value = get(xref, key)
            if kind not in ("null", "undefined"):
                own[key] = value
        kind, kids = get(xref, "Kids")
        if kind != "array":
            if _type(get, xref) == "/Page":
                leaves.append((xref, {key: value for key, value in inherited.items() if key not in own}))
            continue
        if depth >= _DEEPEST:
            continue
        below = [int(match.group(1)) for match in _REFERENCE.finditer(kids)]
        for kid in reversed(below):
            if kid not in seen:
                seen.add(kid)
                stack.append((kid, {**inherited, **own}, depth + 1))
    return leaves


def _type(get: Get, xref: int) -> str:
    kind, value = get(xref, "Type")
    return str(value) if kind == "name" else ""


def _reference(value: tuple[str, str]) -> int | None:
    match = _REFERENCE.fullmatch(value[1]) if value[0] == "xref" else None
    return int(match.group(1)) if match else None


def page_alone(document: Any, number: int) -> bytes:
    """A PDF of one page (from 1) with what it draws; raises what pymupdf raises.

    Raises:
        ValueError: its streams inflate to more than 32 MiB: other readers would hold all of it at once.
    """
    alone = pymupdf.open()
    try:
        alone.insert_pdf(document, from_page=number - 1, to_page=number - 1, links=False, annots=False, widgets=False)
        left = _MOST_INFLATED
        for xref in range(1, alone.xref_length()):
            if alone.xref_is_stream(xref) and alone.xref_get_key(xref, "Subtype")[1] != "/Image":
                left -= _inflated_size(alone, xref, left)
                if left <= 0:
                    raise ValueError("its streams inflate to too much")
        return bytes(alone.tobytes(garbage=1))
    finally:
        alone.close()


def _inflated_size(document: Any, xref: int, most: int) -> int:
    """Bytes of a stream once inflated, counted up to `most`; the most that it can be where codings are chained."""
    raw = document.xref_stream_raw(xref)
    coding = document.xref_get_key(xref, "Filter")[1].strip("[] ")
    if coding == "null":
        return len(raw)
    if coding != "/FlateDecode":
        return _MOST_OF_ONE_BYTE * len(raw)
    inflater = zlib.decompressobj()
    size, rest = 0, raw
    while rest and size < most and not inflater.eof:
        try:
            size += len(inflater.decompress(rest, 1 << 16))
        except zlib.error:
            break  # readers get no further either
        rest = inflater.unconsumed_tail
    return size
