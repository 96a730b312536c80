"""Tags used where they are true: what the author said of each block, checked against what stands on the page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from streams.extract.boxes import Box
from streams.extract.pdf_blocks import Item, is_footnote_text, mark_footnote
from streams.extract.pdf_columns import letters
from streams.extract.pdf_furniture import furniture_kind
from streams.extract.pdf_lines import Frame, PageLines
from streams.extract.tools.mupdf import Pdf
from streams.extract.tools.mupdf_structure import Tag, page_tags, usable_tags
from streams.records import BlockKind

_MOST_LINES = 2000  # of a page; reading the tags of more takes seconds
_ZONE = 0.13  # share of the page's height at its top and foot where artifacts are furniture
_HEADING_LETTERS = 200
_MOST_HEADING_SHARE = 0.4  # of all letters: a document of headings only is one whose tags mean nothing
_LEAST_AGREEMENT = 0.6  # of neighbours whose order the tags confirm
_ENOUGH_HEADINGS = 3  # from here on what is tagged as text is no heading
_LEVELS = {"H1": 1, "H2": 2, "H3": 3, "H4": 4, "H5": 5, "H6": 6, "H": 0, "Title": 1}
_TEXT = frozenset({"P", "LI", "LBody", "TD", "TH", "Note", "FENote", "TOCI", "Caption"})


def read_tags(pdf: Pdf, pages: Sequence[PageLines]) -> list[list[Tag]]:
    """Tags of each page, in their order; empty lists where there are none that can be followed."""
    if not usable_tags(pdf):
        return [[] for _ in pages]
    return [
        page_tags(pdf, page.number) if sum(len(lines) for _, lines in page.groups) <= _MOST_LINES else []
        for page in pages
    ]


def add_artifacts(pages: Sequence[PageLines], tags: Sequence[list[Tag]], furniture: list[dict[int, BlockKind]]) -> None:
    """Adds to the furniture what stands at a page's top or foot and is tagged as no content of it."""
    for page, found, kinds in zip(pages, tags, furniture, strict=True):
        artifacts = [tag.box for tag in found if not tag.role]
        if not page.groups or not artifacts or len(artifacts) * 2 > len(found):
            continue
        frame, lines = page.groups[0]
        height = frame.size[1]
        boxes = [frame.inside(box) for box in artifacts]
        for line in lines:
            top = line.v1 <= height * _ZONE
            if line.solid or not (top or line.v0 >= height * (1 - _ZONE)):
                continue
            u, v = (line.u0 + line.u1) / 2, (line.v0 + line.v1) / 2
            if any(box[0] <= u <= box[2] and box[1] - 1 <= v <= box[3] + 1 for box in boxes):
                kinds.setdefault(id(line), furniture_kind(line.text, top))


class Said:
    """What the tags say of the items of a document, and whether they are believed."""

    def __init__(self, items: Sequence[Item], pages: Sequence[PageLines], tags: Sequence[list[Tag]]) -> None:
        self._tags: dict[int, Tag] = {}  # by identity of the item
        self.agreement: dict[int, float] = {}  # by page number: share of neighbours in the order of the tags
        by_page: dict[int, list[Item]] = {}
        for item in items:
            if item.frame == 0 and item.box is not None and item.kind is not BlockKind.TABLE:
                by_page.setdefault(item.page, []).append(item)
        pairs = agreeing = 0
        for page, found in zip(pages, tags, strict=True):
            if not found:
                continue
            places = [place for item in by_page.get(page.number, ()) if (place := self._find(item, page, found)) >= 0]
            after = sum(a <= b for a, b in pairwise(places))
            if len(places) > 1:
                self.agreement[page.number] = after / (len(places) - 1)
            pairs += max(0, len(places) - 1)
            agreeing += after
        texts = [item for item in items if id(item) in self._tags]
        headings = sum(letters(item.text) for item in texts if self._tags[id(item)].role in _LEVELS)
        total = sum(letters(item.text) for item in items) or 1
        covered = sum(letters(item.text) for item in texts)
        self.present = bool(texts)
        self.believed = (
            self.present
            and covered > 0.3 * total
            and headings <= _MOST_HEADING_SHARE * total
            and agreeing >= _LEAST_AGREEMENT * pairs
        )

    def _find(self, item: Item, page: PageLines, found: list[Tag]) -> int:
        """Remembers the tag of most lines of an item; the place of its first one in the order of tags, else -1."""
        frame: Frame = page.groups[0][0]
        assert item.box is not None
        x0, y0, x1, y1 = frame.shown(item.box)
        inside = [
            index
            for index, tag in enumerate(found)
            if tag.role and _is_inside(tag.box, (x0 - 1, y0 - 1, x1 + 1, y1 + 1))
        ]
        if not inside:
            return -1
        roles = Counter(found[index].role for index in inside)
        most = max(roles.items(), key=lambda entry: (entry[1], entry[0]))[0]
        self._tags[id(item)] = next(found[index] for index in inside if found[index].role == most)
        return inside[0]

    def apply(self, items: Sequence[Item], body_size: float) -> None:
        """Sets kinds and levels by the tags where they are believed."""
        if not self.believed:
            return
        headings = sum(tag.role in _LEVELS for tag in self._tags.values())
        for item in items:
            tag = self._tags.get(id(item))
            if tag is None:
                continue
            text = item.kind is BlockKind.PARAGRAPH
            if tag.role in _LEVELS and (text or item.kind is BlockKind.HEADING):
                if len(item.text) <= _HEADING_LETTERS:
                    item.kind = BlockKind.HEADING
                    item.told = _LEVELS[tag.role]
            elif item.kind is BlockKind.HEADING and tag.role in _TEXT and headings >= _ENOUGH_HEADINGS:
                if item.size < 1.12 * body_size:
                    item.kind = BlockKind.PARAGRAPH
            elif text and tag.role == "Caption":
                item.kind = BlockKind.CAPTION
            elif text and tag.role in ("Note", "FENote") and is_footnote_text(item.text):
                mark_footnote(item)
            elif text and tag.role == "BlockQuote":
                item.kind = BlockKind.QUOTE
            elif item.kind is BlockKind.LIST_ITEM:
                item.told = tag.depth


def _is_inside(box: Box, outer: Box) -> bool:
    x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    return outer[0] <= x <= outer[2] and outer[1] <= y <= outer[3]
