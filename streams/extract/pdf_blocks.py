"""What a paragraph is: title, heading, list item, caption, footnote; and which paragraphs go on over a break."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence

import msgspec

from streams.extract.boxes import Box
from streams.extract.pdf_columns import is_right_to_left, letters
from streams.extract.pdf_layout import (
    CAPTION,
    ENTRY,
    MARKED,
    RAISED,
    Paragraph,
    is_caption,
    is_table_caption,
    join,
    paragraph_text,
)
from streams.records import FURNITURE, BlockKind

_FOOTNOTE = re.compile(r"(?P<marker>\d{1,3}(?=[\s.)])|[⁰¹²³⁴-⁹]{1,3}|[*∗]{1,3}|[†‡§])[.)]?\s*(?=\S)")
_NUMBERED = re.compile(r"(?:\d+(?:\.\d+)*\.?|[IVX]+\.|[A-Z]\.)\s+\S")
_HEADING_LETTERS = 200
_SMALL_CAPITALS = 0.75  # times the body size: the type of headings in capitals
_FURTHEST = 80  # blocks between the two halves of a paragraph: figures with their labels, tables, notes
_ENDS_OPEN = (",", ";", "-", "–", "—")
_SENTENCE_END = (".", "!", "?", ":", "。", "！", "？", "”", '"')


_StyleKey = tuple[float, bool, bool]  # size, bold, italic


class Style(msgspec.Struct, frozen=True):
    """Body type of a document."""

    size: float
    bold: bool
    italic: bool


class Item(msgspec.Struct, kw_only=True):
    """A block in the making."""

    kind: BlockKind
    text: str
    page: int
    box: Box | None  # in the frame of its text
    frame: int = 0  # which of the page's frames
    region: int = -1
    size: float = 0.0
    bold: bool = False
    italic: bool = False
    level: int | None = None
    told: int = 0  # the level that the document's tags tell; 0 for none
    marker: str | None = None
    indent: float = 0.0
    raised: str = ""
    open_ended: bool = False
    table: int | None = None
    figure: int | None = None


class Outline:
    """The bookmarks of a document: they make a heading only of what stands on the page they lead to."""

    def __init__(self, entries: Iterable[tuple[int, str, int]] = ()) -> None:
        """Args: level, title and page (from 1; less where it is not told) of each bookmark."""
        self._known: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        for level, title, page in entries:
            if title.strip():
                self._known[normal(title)].append((page, level))

    def level(self, text: str, page: int) -> int:
        """The level of a heading with this text on this page or next to it; 0 where no bookmark leads there."""
        found = self._known.get(normal(text), ())
        return next((level for at, level in found if at < 1 or abs(at - page) <= 1), 0)


def body_style(paragraphs: Sequence[Paragraph]) -> Style:
    """The style of most letters."""
    sizes: Counter[float] = Counter()
    bold = italic = total = 0
    for paragraph in paragraphs:
        for row in paragraph.rows:
            count = letters(row.text)
            sizes[round(row.size * 2) / 2] += count
            total += count
            bold += count if row.bold else 0
            italic += count if row.italic else 0
    if not sizes:
        return Style(10.0, False, False)
    size = max(sizes.items(), key=lambda entry: (entry[1], -entry[0]))[0]
    return Style(size, bold > 0.6 * total, italic > 0.6 * total)


def make_items(
    page: int,
    frame: int,
    height: float,
    paragraphs: Sequence[Paragraph],
    style: Style,
    outline: Outline,
    keep_hyphen: Callable[[str], bool],
) -> list[Item]:
    """Items of the paragraphs of one frame of a page, `height` points high."""
    notes = _footnotes(paragraphs, style, height)
    items = []
    for paragraph in paragraphs:
        first = paragraph.first
        text = paragraph_text(paragraph.rows, keep_hyphen)
        item = Item(
            kind=BlockKind.PARAGRAPH,
            text=text,
            page=page,
            box=paragraph.box,
            frame=frame,
            region=paragraph.region,
            size=first.size,
            bold=all(row.bold for row in paragraph.rows),
            italic=all(row.italic for row in paragraph.rows),
            indent=first.u0,
            raised="".join(row.raised for row in paragraph.rows),
            open_ended=paragraph.open_ended,
        )
        solid = paragraph.stands_for
        if solid is not None and solid.table >= 0:
            item.kind, item.table = BlockKind.TABLE, solid.table
        elif solid is not None:
            item.kind, item.figure = BlockKind.FIGURE, solid.figure
        elif id(paragraph) in notes:
            _mark(item, _FOOTNOTE.match(text), first.lead, BlockKind.FOOTNOTE)
        elif is_caption(text):
            item.kind = BlockKind.CAPTION
        elif _is_heading(paragraph, item, style, outline):
            item.kind = BlockKind.HEADING
            if first.lead:
                item.text = f"{first.lead} {text}".strip()
        elif first.lead or MARKED.match(text):
            _mark(item, MARKED.match(text), first.lead, BlockKind.LIST_ITEM)
        elif all(row.mono for row in paragraph.rows) and len(paragraph.rows) > 1:
            item.kind = BlockKind.CODE
            item.text = "\n".join(row.text for row in paragraph.rows)
        items.append(item)
    return [item for item in items if item.text or item.table is not None or item.figure is not None]


def _mark(item: Item, match: re.Match[str] | None, lead: str, kind: BlockKind) -> None:
    item.kind = kind
    if lead:
        item.marker = lead
    elif match is not None:
        item.marker = match[1]
        item.text = item.text[match.end() :]


def is_footnote_text(text: str) -> bool:
    """Whether a text begins with a marker as footnotes do."""
    return _FOOTNOTE.match(text) is not None


def mark_footnote(item: Item) -> None:
    """Make a footnote of an item whose text begins with its marker."""
    _mark(item, _FOOTNOTE.match(item.text), "", BlockKind.FOOTNOTE)


def _footnotes(paragraphs: Sequence[Paragraph], style: Style, height: float) -> set[int]:
    """Identities of the paragraphs in small type, with a marker, at the foot of their column."""
    by_region: defaultdict[int, list[Paragraph]] = defaultdict(list)
    for paragraph in paragraphs:
        by_region[paragraph.region].append(paragraph)
    found: set[int] = set()
    for group in by_region.values():
        for paragraph in reversed(group):
            if paragraph.size > 0.93 * style.size or paragraph.first.v0 < 0.5 * height:
                break
            if paragraph.first.lead.strip("\ufffd•") or _FOOTNOTE.match(paragraph.first.text):
                found.add(id(paragraph))
    return found


def normal(title: str) -> str:
    """A title without its number, for comparison with the outline."""
    return " ".join(re.sub(r"^(?:(?:chapter|kapitel)\s+)?[\dIVX.]+\s+", "", title.strip()).casefold().split())


def _is_heading(paragraph: Paragraph, item: Item, style: Style, outline: Outline) -> bool:
    text = item.text
    if len(text) > _HEADING_LETTERS or len(paragraph.rows) > 5 or sum(c.isalpha() for c in text) < 2:
        return False
    if ENTRY.match(text):
        return False
    ratio = item.size / style.size
    if outline.level(text, item.page) and (ratio >= 1.05 or item.bold or item.italic or len(paragraph.rows) == 1):
        return True
    numbered = _NUMBERED.match(text) is not None
    if text.endswith(_ENDS_OPEN) or (text.endswith((".", "。")) and not (numbered and len(text) < 80) and ratio < 1.5):
        return False
    if sum(c.isalpha() for c in text) < 0.5 * letters(text) or (paragraph.first.lead and not text[:1].isalpha()):
        return False
    short = len(paragraph.rows) <= 2
    if text[0].islower() and (not short or text.endswith(":")):
        return False  # the rest of a paragraph whose type is larger than that of the small print around it
    if ratio >= 1.12:
        return item.bold or ratio >= 1.3 or len(paragraph.rows) == 1
    if text[0].islower():
        return False
    bullet = MARKED.match(text) is not None and not text[0].isdigit()
    if item.bold and not style.bold and ratio >= (_SMALL_CAPITALS if text.isupper() else 0.95):
        return short and not bullet
    left, right = paragraph.column
    alone = paragraph.gap >= 0.4 and len(paragraph.rows) == 1 and paragraph.first.u1 - left < 0.75 * (right - left)
    return (
        item.italic
        and not style.italic
        and ratio >= 0.95
        and alone
        and text[:1].isupper()
        and 4 <= len(text) <= 80
        and not text.endswith(_SENTENCE_END)
        and not bullet
    )


# --- the document as a whole --------------------------------------------------------------------------------------


def join_over_breaks(items: list[Item], style: Style, keep_hyphen: Callable[[str], bool]) -> list[Item]:
    """Paragraphs that go on in the next column or on the next page become one; its place is where it begins."""
    kept: list[Item] = []
    for item in items:
        before = _goes_on(item, kept, style)
        if before is None:
            kept.append(item)
        else:
            before.text = join(before.text, item.text, keep_hyphen)
            before.raised += item.raised
            before.open_ended = item.open_ended
    return kept


def _goes_on(item: Item, kept: list[Item], style: Style) -> Item | None:
    """The item that `item` is the rest of."""
    if item.kind is not BlockKind.PARAGRAPH or not _may_go_on(item.text) or item.frame != 0:
        return None
    for before in reversed(kept[-_FURTHEST:]):
        if item.page - before.page > 1:
            return None
        if before.kind not in (BlockKind.PARAGRAPH, BlockKind.LIST_ITEM) or before.size < 0.93 * style.size:
            if before.kind is BlockKind.HEADING:
                return None
            continue
        other_place = (before.page, before.region) != (item.page, item.region)
        same_type = abs(before.size - item.size) <= 0.06 * item.size
        ends_open = (before.open_ended or is_right_to_left(before.text)) and not before.text.endswith(_SENTENCE_END)
        return before if other_place and same_type and ends_open else None
    return None


def _may_go_on(text: str) -> bool:
    """Whether a text may be the rest of another one: by a small letter, or one of a script without capitals."""
    first = text[:1]
    return first.islower() or (first.isalpha() and first.lower() == first.upper())


def set_levels(items: Sequence[Item], outline: Outline) -> None:
    """Levels of headings by their style, larger and bolder above; the outline decides where it knows the heading."""
    headings = [item for item in items if item.kind is BlockKind.HEADING]
    known: defaultdict[_StyleKey, Counter[int]] = defaultdict(Counter)
    for item in headings:
        known[_style_of(item)][outline.level(item.text, item.page) or item.told or _depth(item.text)] += 1
    order = sorted(known, key=lambda key: (-key[0], not key[1], key[2]))
    told = [_told(known[style]) for style in order]
    levels: dict[_StyleKey, int] = {}
    level = 0
    for index, style in enumerate(order):
        below = next((value for value in told[index + 1 :] if value), 6)
        level = told[index] or max(1, min(level + 1, below))
        levels[style] = level
    for item in headings:
        item.level = outline.level(item.text, item.page) or item.told or levels[_style_of(item)]


def _told(counts: Counter[int]) -> int:
    """The level that the outline or the numbers give to at least half of the headings of a style; 0 for none."""
    level, count = max(counts.items(), key=lambda entry: (entry[1], -entry[0]))
    return level if count * 2 >= counts.total() else 0


def _depth(text: str) -> int:
    match = re.match(r"(?:chapter\s+|kapitel\s+)?(\d{1,3}(?:\.\d{1,3})*)\.?\s", text, re.IGNORECASE)
    return min(6, match[1].count(".") + 1) if match else 0


def _style_of(item: Item) -> _StyleKey:
    return round(item.size * 2) / 2, item.bold, item.italic


def set_list_levels(items: Sequence[Item]) -> None:
    """Levels of list items by how deep they stand, from 1 in each list."""
    stack: list[float] = []
    for item in items:
        if item.kind is not BlockKind.LIST_ITEM:
            if item.kind in (BlockKind.HEADING, BlockKind.PARAGRAPH, BlockKind.TITLE):
                stack = []
            continue
        near = 0.6 * item.size
        while stack and item.indent < stack[-1] - near:
            stack.pop()
        if not stack or item.indent > stack[-1] + near:
            stack.append(item.indent)
        item.level = item.told or len(stack)


def find_title(items: list[Item], style: Style) -> None:
    """The one largest heading of the first page is the title, where no other heading is as large."""
    _join_title_lines(items)
    headings = [item for item in items if item.kind is BlockKind.HEADING]
    first = [item for item in headings if item.page == 1]
    if not first:
        return
    largest = max(first, key=lambda item: item.size)
    rivals = [item for item in headings if item is not largest and item.size >= largest.size - 0.4]
    section = re.match(r"\d{1,2}(?:\.\d+)*\.?\s+\S", largest.text) is not None
    if not rivals and not section and largest.size >= 1.2 * style.size:
        largest.kind = BlockKind.TITLE
        _demote_below_title(items, largest)


def _join_title_lines(items: list[Item]) -> None:
    """The largest headings of the first page that follow each other, as lines set far apart do, become one."""
    first = [item for item in items if item.kind is BlockKind.HEADING and item.page == 1 and item.frame == 0]
    size = max((item.size for item in first), default=0.0)
    largest = next((item for item in first if item.size == size), None)
    at = next((index for index, item in enumerate(items) if item is largest), None)
    while at is not None and at + 1 < len(items):
        head, more = items[at], items[at + 1]
        if more.kind is not BlockKind.HEADING or more.page != 1 or head.box is None or more.box is None:
            return
        near = more.region == head.region and more.box[1] - head.box[3] < 1.5 * size
        if not near or abs(more.size - size) > 0.4 or more.bold != head.bold or _NUMBERED.match(more.text):
            return
        head.text = f"{head.text} {more.text}"
        head.raised += more.raised
        head.box = (
            min(head.box[0], more.box[0]),
            head.box[1],
            max(head.box[2], more.box[2]),
            max(head.box[3], more.box[3]),
        )
        del items[at + 1]


def _demote_below_title(items: Sequence[Item], title: Item) -> None:
    """What is large between the title and the first text heads nothing: authors, places, a publisher's name.

    Only what stands right before that text may be its heading.
    """
    first = [item for item in items if item.page == 1 and item.kind not in FURNITURE]
    start = next(index for index, item in enumerate(first) if item is title)
    end = next((i for i in range(start, len(first)) if _is_text(first[i])), None)
    if end is None:
        return
    for item in first[start + 1 : end - 1]:
        if item.kind is BlockKind.HEADING and not item.told and not _NUMBERED.match(item.text):
            item.kind = BlockKind.PARAGRAPH


def _is_text(item: Item) -> bool:
    return item.kind is BlockKind.PARAGRAPH and letters(item.text) >= 150


def bind(items: Sequence[Item]) -> dict[int, int]:
    """Captions to the table or figure that stands next to them, footnotes to the block that holds their mark."""
    refs: dict[int, int] = {}
    taken: set[int] = set()
    for index, item in enumerate(items):
        if item.kind is BlockKind.CAPTION:
            above_first = is_table_caption(item.text)  # tables have their captions above, figures below
            owner = BlockKind.TABLE if above_first else BlockKind.FIGURE
            for step in (1, -1, 2, -2) if above_first else (-1, 1, -2, 2):
                other = index + step
                if 0 <= other < len(items) and other not in taken and items[other].kind is owner:
                    refs[index] = other
                    taken.add(other)
                    break
        elif item.kind is BlockKind.FOOTNOTE and item.marker:
            mark = item.marker.strip(".)")
            for other in range(index - 1, -1, -1):
                if items[other].page < item.page - 1:
                    break
                if items[other].kind is not BlockKind.FOOTNOTE and _has_mark(items[other], mark):
                    refs[index] = other
                    break
    return refs


def _has_mark(item: Item, mark: str) -> bool:
    if f" {mark} " in item.raised:
        return True
    return (mark[0] in RAISED or not mark.isdigit()) and mark in item.text


def caption_parts(text: str) -> tuple[str | None, str]:
    """Number and wording of a caption."""
    match = CAPTION.match(text)
    return (match["number"], match["rest"].strip() or text) if match else (None, text)
