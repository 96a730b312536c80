"""From recognised lines to blocks: the same columns, paragraphs, headings and furniture as for a text layer."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from statistics import median

import msgspec

from streams.extract import pdf_blocks, pdf_furniture, pdf_layout
from streams.extract.boxes import Box, around
from streams.extract.pdf_blocks import Item
from streams.extract.pdf_lines import Frame, Line, PageLines
from streams.extract.recognise.engine import SeenLine, SeenWord
from streams.extract.recognise.reader import Reading, confidence, letters
from streams.records import Block, BlockKind, BlockSource

_CELL_GAP = 1.8  # of the type size: white space inside a line that separates columns or cells, not words
_SAME_SIZE = 0.15  # type sizes of one page that differ by less are one: the engine measures no better
_COPY = 0.6  # share of a page's lines that stand on another, too: it is the same page again
_BULLETS = frozenset("¢©®«»°¥*+e")  # what the engine makes of a bullet, alone at the start of a line
_MOST_HEADING = 80  # characters
_TYPE = 1.05  # font size for each unit from descender to ascender
_NEAR_BY = 20  # pages that a page is compared with
_COMPOUND = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)+")


class SeenPage(msgspec.Struct, kw_only=True):
    """A page as read, with its size as displayed, in points, and the lines that count."""

    number: int
    width: float
    height: float
    pixels_per_point: float
    reading: Reading
    lines: list[SeenLine]
    most_confidence: float = 1.0  # of its blocks; less where the model for its language is missing


def blocks_of(pages: Sequence[SeenPage], page_count: int) -> list[tuple[Block, float]]:
    """Blocks of the recognised pages in reading order, each with the type size that it was set in.

    Pages that were not recognised stay empty in between, so that furniture is looked for at the right distance.
    """
    laid = _Pages(pages, page_count)
    furniture = pdf_furniture.find_furniture(_without_copies(laid.lines))
    compounds = {
        word.casefold()
        for page in laid.lines
        for _, group in page.groups
        for line in group
        if "-" in line.text
        for word in _COMPOUND.findall(line.text)
    }
    columns = {
        page.number: [
            pdf_layout.paragraphs([line for line in group if id(line) not in furniture[page.number - 1]])
            for _, group in page.groups
        ]
        for page in laid.lines
        if page.groups
    }
    style = pdf_blocks.body_style([p for groups in columns.values() for group in groups for p in group])
    outline = pdf_blocks.Outline()  # a scan has none that was made with its text
    items: list[Item] = []
    for number, groups in columns.items():
        page = laid.lines[number - 1]
        heads = _furniture(page, furniture[number - 1])
        items += [item for item in heads if item.kind is BlockKind.PAGE_HEADER]
        for index, (frame, _) in enumerate(page.groups):
            items += pdf_blocks.make_items(
                number, index, frame.size[1], groups[index], style, outline, compounds.__contains__
            )
        items += [item for item in heads if item.kind is not BlockKind.PAGE_HEADER]
    for item in items:
        if item.kind is BlockKind.HEADING and not _is_clear_heading(item, style.size):
            _demote(item)
    items = pdf_blocks.join_over_breaks(items, style, compounds.__contains__)
    pdf_blocks.find_title(items, style)
    pdf_blocks.set_levels(items, outline)
    pdf_blocks.set_list_levels(items)
    return [(laid.block(item), item.size) for item in items]


def _without_copies(pages: list[PageLines]) -> list[PageLines]:
    """The pages, and empty ones in the place of those that were there before: their heads are no running heads."""
    seen: list[set[str]] = []
    kept: list[PageLines] = []
    for page in pages:
        texts = {line.text.casefold() for _, group in page.groups for line in group}
        if texts and any(len(texts & other) >= _COPY * len(texts) for other in seen[-_NEAR_BY:]):
            kept.append(msgspec.structs.replace(page, groups=[]))
        else:
            kept.append(page)
            seen.append(texts)
    return kept


def _is_clear_heading(item: Item, body: float) -> bool:
    """Type sizes are measured by the engine to a tenth or so, so only what is clearly larger or numbered is one."""
    text = item.text
    return len(text) <= _MOST_HEADING and not text[:1].islower() and (item.size >= 1.25 * body or text[:1].isdigit())


def _demote(item: Item) -> None:
    mark = pdf_layout.MARKED.match(item.text)
    item.kind = BlockKind.PARAGRAPH
    if mark is not None:
        item.kind, item.marker, item.text = BlockKind.LIST_ITEM, mark[1], item.text[mark.end() :]


def _furniture(page: PageLines, kinds: dict[int, BlockKind]) -> list[Item]:
    found = [line for line in page.groups[0][1] if id(line) in kinds]
    found.sort(key=lambda line: (round(line.base), line.u0))
    return [
        Item(kind=kinds[id(line)], text=line.text, page=page.number, box=(line.u0, line.v0, line.u1, line.v1))
        for line in found
    ]


class _Pages:
    """Recognised pages as the layout of text layers takes them, and the way back to places and confidences."""

    def __init__(self, pages: Sequence[SeenPage], page_count: int) -> None:
        self._seen = {page.number: page for page in pages}
        self._sure: dict[int, list[tuple[int, Box, list[SeenWord]]]] = {}
        self.lines = [
            self._page(self._seen[number])
            if number in self._seen
            else PageLines(number=number, width=0, height=0, groups=[], image_area=0)
            for number in range(1, page_count + 1)
        ]

    def _page(self, page: SeenPage) -> PageLines:
        main = Frame((360 - page.reading.turn) % 360, page.width, page.height)
        scale = 1 / (page.pixels_per_point * page.reading.factor)
        sizes = _type_sizes(page.lines, scale)
        frames: dict[int, Frame] = {main.turn: main}
        groups: dict[int, list[Line]] = {main.turn: []}
        sure = self._sure.setdefault(page.number, [])
        for line, size in zip(_with_bullets(page.lines), sizes, strict=True):
            turn = (main.turn + line.turn) % 360
            frame = frames.setdefault(turn, Frame(turn, page.width, page.height))
            for words in _pieces(line):
                u0, v0, u1, v1 = (edge * scale for edge in around(word.box for word in words))
                base = line.base * scale
                if line.turn:
                    u0, v0, u1, v1 = frame.inside(main.shown((u0, v0, u1, v1)))
                    base = v1 - 0.2 * size
                made = Line(
                    text=" ".join(word.text for word in words),
                    u0=u0,
                    v0=min(v0, base - 0.8 * size),
                    u1=u1,
                    v1=max(v1, base + 0.2 * size),
                    base=base,
                    size=size,
                    bold=False,
                    italic=False,
                    mono=False,
                    ocr=True,
                )
                groups.setdefault(turn, []).append(made)
                sure.append((turn, (u0, v0, u1, v1), words))
        ordered = sorted(
            ((frames[turn], lines) for turn, lines in groups.items() if lines),
            key=lambda group: (-sum(len(line.text) for line in group[1]), group[0].turn),
        )
        return PageLines(
            number=page.number, width=page.width, height=page.height, groups=ordered, image_area=1.0, ocr=True
        )

    def block(self, item: Item) -> Block:
        page = self._seen[item.page]
        lines = self.lines[item.page - 1]
        frame = lines.groups[max(0, item.frame)][0]
        box = item.box
        mean = None
        if box is not None:
            inside = [
                word
                for turn, place, words in self._sure[item.page]
                if turn == frame.turn and _is_inside(place, box)
                for word in words
            ]
            mean = confidence(inside)
            box = _clipped(_as_displayed(frame.shown(box), page), page)
        return Block(
            kind=item.kind,
            text=item.text,
            level=item.level,
            marker=item.marker,
            page=item.page,
            bbox=box,
            source=BlockSource.OCR,
            confidence=round(min(page.most_confidence, 0.0 if mean is None else mean), 4),
        )


def _is_inside(place: Box, box: Box) -> bool:
    u, v = (place[0] + place[2]) / 2, (place[1] + place[3]) / 2
    return box[0] - 1 <= u <= box[2] + 1 and box[1] - 1 <= v <= box[3] + 1


def _as_displayed(box: Box, page: SeenPage) -> Box:
    """A box on the straightened page as it lies on the page: around its corners, turned back about the middle."""
    if not page.reading.skew:
        return box
    angle = math.radians(page.reading.skew)
    cosine, sine = math.cos(angle), math.sin(angle)
    mx, my = page.width / 2, page.height / 2
    corners = [
        (mx + (x - mx) * cosine - (y - my) * sine, my + (x - mx) * sine + (y - my) * cosine)
        for x in (box[0], box[2])
        for y in (box[1], box[3])
    ]
    xs, ys = zip(*corners, strict=True)
    return min(xs), min(ys), max(xs), max(ys)


def _clipped(box: Box, page: SeenPage) -> Box:
    x0, y0, x1, y1 = box
    return (
        round(min(max(0.0, x0), page.width), 1),
        round(min(max(0.0, y0), page.height), 1),
        round(min(max(0.0, x1), page.width), 1),
        round(min(max(0.0, y1), page.height), 1),
    )


def _pieces(line: SeenLine) -> list[list[SeenWord]]:
    """Words of a line, apart where the white space between them is wider than between words."""
    if line.turn:
        return [line.words]
    found = [[line.words[0]]]
    for word in line.words[1:]:
        before = found[-1][-1]
        gap = max(word.box[0] - before.box[2], before.box[0] - word.box[2])
        if gap > _CELL_GAP * line.size:
            found.append([word])
        else:
            found[-1].append(word)
    return found


def _type_sizes(lines: Sequence[SeenLine], scale: float) -> list[float]:
    """Font size of each line in points: that of its paragraph, sizes that are hardly apart taken for one."""
    by_paragraph: dict[int, list[float]] = {}
    for line in lines:
        by_paragraph.setdefault(line.paragraph, []).append(line.size)
    measured = {paragraph: median(sizes) for paragraph, sizes in by_paragraph.items()}
    weights: Counter[float] = Counter()
    for line in lines:
        weights[measured[line.paragraph]] += max(1, letters(line.text))
    sizes: dict[float, float] = {}
    for main, _ in sorted(weights.items(), key=lambda entry: (-entry[1], entry[0])):
        for size in weights:
            if abs(size - main) <= _SAME_SIZE * main:
                sizes.setdefault(size, sizes.get(main, main))
    return [max(1.0, round(sizes[measured[line.paragraph]] * scale * _TYPE * 2) / 2) for line in lines]


def _with_bullets(lines: Sequence[SeenLine]) -> list[SeenLine]:
    """Lines of a page with the signs at their starts, where they come again and again, as bullets."""
    signs = Counter(line.words[0].text for line in lines if len(line.words) > 1 and line.words[0].text in _BULLETS)
    if signs.total() < 2 or (signs.total() == signs["e"] and signs["e"] < 3):
        return list(lines)
    return [
        msgspec.structs.replace(line, words=[line.words[0]._replace(text="•"), *line.words[1:]])
        if len(line.words) > 1 and line.words[0].text in signs
        else line
        for line in lines
    ]
