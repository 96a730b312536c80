"""Links of a PDF: a rectangle over a page becomes a link of the block whose words lie below it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from streams.extract.boxes import Box
from streams.extract.tools.mupdf import PageError, Pdf, Word
from streams.extract.tools.mupdf_marks import LinkArea
from streams.records import Block, Link

_BAND = 20.0  # points
_NEAR = 2.0  # points by which a rectangle may stand beside its block


class PlacedLink(NamedTuple):
    """A link with the words below it, in their place on the displayed page."""

    text: str
    target: str
    box: Box


def placed_links(pdf: Pdf, number: int, areas: Sequence[LinkArea]) -> list[PlacedLink]:
    """The links of a page; without words where nothing is written below a rectangle, or the page can't be read."""
    if not areas:
        return []
    try:
        words = pdf.words(number)
    except PageError:
        words = []
    bands: defaultdict[int, list[Word]] = defaultdict(list)  # by height, so that few words are asked for each link
    for word in words:
        bands[int((word.box[1] + word.box[3]) / 2 // _BAND)].append(word)
    return [PlacedLink(" ".join(_below(area.box, bands)), area.target, area.box) for area in areas]


def _below(box: Box, bands: dict[int, list[Word]]) -> list[str]:
    x0, y0, x1, y1 = box
    found = []
    for band in range(int(y0 // _BAND), min(int(y1 // _BAND), int(y0 // _BAND) + 1000) + 1):
        for word in bands.get(band, ()):
            x, y = (word.box[0] + word.box[2]) / 2, (word.box[1] + word.box[3]) / 2
            if x0 <= x <= x1 and y0 <= y <= y1:
                found.append(word.text)
    return found


def with_links(blocks: list[Block], links: Sequence[Sequence[PlacedLink]]) -> tuple[list[Block], int]:
    """The blocks with their links, and the number of links below which no block has words.

    Args:
        blocks: of the document, in reading order.
        links: by page, the first page first.
    """
    if not any(links):
        return blocks, 0
    on_page: defaultdict[int, list[int]] = defaultdict(list)
    for index, block in enumerate(blocks):
        on_page[block.page or 0].append(index)
    keys: dict[int, str] = {}
    found: dict[int, list[Link]] = {}
    lost = 0
    for number, here in enumerate(links, 1):
        for link in here:
            candidates = on_page.get(number, [])
            before = on_page.get(number - 1, [])[-1:]  # a paragraph that goes on over the break
            owner = _owner(link, blocks, candidates, before, keys)
            if owner is None:
                lost += 1
            else:
                _add(found.setdefault(owner, []), link, _key(blocks, owner, keys))
    return [
        msgspec.structs.replace(block, links=[*block.links, *found[index]]) if index in found else block
        for index, block in enumerate(blocks)
    ], lost


def _key(blocks: list[Block], index: int, keys: dict[int, str]) -> str:
    if index not in keys:
        keys[index] = _bare(blocks[index].text)
    return keys[index]


def _bare(text: str) -> str:
    """Without blanks and hyphens, which lines that are joined lose."""
    return "".join(text.replace("-", "").replace("\u00ad", "").split())


def _owner(
    link: PlacedLink, blocks: list[Block], candidates: list[int], before: list[int], keys: dict[int, str]
) -> int | None:
    text = _bare(link.text)
    if not text:
        return None
    x, y = (link.box[0] + link.box[2]) / 2, (link.box[1] + link.box[3]) / 2
    around = [index for index in candidates if _holds(blocks[index].bbox, x, y)]
    for index in (*around, *candidates, *before):
        if text in _key(blocks, index, keys):
            return index
    return around[0] if around else None


def _holds(box: Box | None, x: float, y: float) -> bool:
    return box is not None and box[0] - _NEAR <= x <= box[2] + _NEAR and box[1] - _NEAR <= y <= box[3] + _NEAR


def _add(links: list[Link], link: PlacedLink, key: str) -> None:
    """A link of several lines has a rectangle on each of them."""
    if links and links[-1].target == link.target:
        joined = f"{links[-1].text} {link.text}"
        if _bare(joined) in key:
            links[-1] = msgspec.structs.replace(links[-1], text=joined)
            return
    links.append(Link(text=link.text, target=link.target))
