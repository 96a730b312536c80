"""Figures without a caption: pictures and drawings that a reader of the page sees, so the canon says they are there."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from streams.extract.boxes import Box, area, around, common
from streams.extract.pdf_blocks import Item
from streams.extract.pdf_lines import Frame, Line, stands_in
from streams.extract.tools.mupdf import PageRead
from streams.records import BlockKind

_SMALLEST_PICTURE = 36.0  # points: less is an icon
_SMALLEST_DRAWING = 90.0
_LARGEST = 0.85  # share of the page: more is its background
_TILES = 2.0  # points between the parts of one picture
_NEAR = 12.0  # points between the shapes of one drawing
_MOST_SHAPES = 1500
_SHAPES = 12  # of a drawing, of which some are neither rules nor grounds
_MARKS = 6
_MARK = (2.0, 90.0)  # points
_TEXT_UPON = 60  # characters: more text makes a ground of it
_LETTERS_IN_DRAWING = 400
_LABEL = 40
_OFTEN = 2  # pages with the same picture at the same place: more is a letterhead


def find_loose_figures(page: PageRead, frame: Frame, lines: Sequence[Line]) -> list[Box]:
    """Boxes in the frame of pictures and drawings that no line stands for."""
    whole = page.width * page.height
    solid = [line.box for line in lines if line.solid]
    texts = [line for line in lines if not line.solid]
    pictures = [
        box
        for box in _joined([frame.inside(box) for box in page.images if area(box) < _LARGEST * whole], _TILES)
        if min(box[2] - box[0], box[3] - box[1]) >= _SMALLEST_PICTURE
        and area(box) < _LARGEST * whole
        and sum(len(line.text) for line in texts if stands_in(line, box)) <= _TEXT_UPON
    ]
    drawings = [
        box
        for box in _drawings(page, frame, texts)
        if not any(common(box, picture) > 0.3 * area(box) for picture in pictures)
    ]
    return [
        box
        for box in sorted({*pictures, *drawings}, key=lambda box: (box[1], box))
        if not any(common(box, other) > 0.3 * area(box) for other in solid)
    ]


def without_letterheads(pages: Sequence[Sequence[Box]]) -> list[list[Box]]:
    """The figures of each page that do not stand at the same place of many."""
    places = Counter((round(box[0]), round(box[1]), round(box[2]), round(box[3])) for page in pages for box in page)
    return [
        [box for box in page if places[round(box[0]), round(box[1]), round(box[2]), round(box[3])] <= _OFTEN]
        for page in pages
    ]


def place_figures(items: list[Item], boxes: Sequence[Box], number: int) -> list[Item]:
    """The items of a page's main frame with its figures: each after what ends above it in its own column."""
    placed = list(items)
    for box in boxes:
        figure = Item(kind=BlockKind.FIGURE, text="", page=number, box=box)
        above = [
            index
            for index, item in enumerate(placed)
            if item.box is not None and item.frame == 0 and item.box[3] <= box[1] + 6 and _is_beside(item.box, box)
        ]
        below = [
            index
            for index, item in enumerate(placed)
            if item.box is not None and item.frame == 0 and item.box[1] >= box[3] - 6 and _is_beside(item.box, box)
        ]
        earlier = [
            index
            for index, item in enumerate(placed)
            if item.box is not None and item.frame == 0 and item.box[1] + item.box[3] <= box[1] + box[3]
        ]
        at = above[-1] + 1 if above else below[0] if below else earlier[-1] + 1 if earlier else 0
        placed.insert(at, figure)
    return placed


def _drawings(page: PageRead, frame: Frame, texts: Sequence[Line]) -> list[Box]:
    """Boxes of many shapes close together that hold labels at most."""
    shapes = [frame.inside(vector.box) for vector in page.vectors]
    if not _SHAPES <= len(shapes) <= _MOST_SHAPES or sum(map(_is_mark, shapes)) < _MARKS:
        return []
    whole = page.width * page.height
    found: list[Box] = []
    for box, parts in _clusters([shape for shape in shapes if area(shape) < 0.5 * whole], _NEAR):
        marks = sum(_is_mark(part) for part in parts)
        if len(parts) < _SHAPES or marks < _MARKS or min(box[2] - box[0], box[3] - box[1]) < _SMALLEST_DRAWING:
            continue
        inside = [line for line in texts if stands_in(line, box)]
        labels = all(len(line.text) <= _LABEL for line in inside)
        if labels and sum(len(line.text) for line in inside) <= _LETTERS_IN_DRAWING and area(box) < 0.7 * whole:
            found.append(box)
    return found


def _is_mark(box: Box) -> bool:
    """Whether a shape is no rule and no ground: a bar, a marker, a piece of a curve."""
    low, high = _MARK
    return low < box[2] - box[0] < high and low < box[3] - box[1] < 2 * high


def _joined(boxes: list[Box], near: float) -> list[Box]:
    if len(boxes) > _MOST_SHAPES:
        return []
    return [box for box, _ in _clusters(boxes, near)]


def _clusters(boxes: list[Box], near: float) -> list[tuple[Box, list[Box]]]:
    """Boxes that lie within `near` of each other, in groups, each with the box around it."""
    order = sorted(range(len(boxes)), key=lambda index: (boxes[index][0], index))
    home = list(range(len(boxes)))

    def root(index: int) -> int:
        while home[index] != index:
            home[index] = home[home[index]]
            index = home[index]
        return index

    active: list[int] = []
    for index in order:
        u0, v0, _, v1 = boxes[index]
        active = [other for other in active if boxes[other][2] + near >= u0]
        for other in active:
            if boxes[other][1] - near <= v1 and boxes[other][3] + near >= v0:
                home[root(index)] = root(other)
        active.append(index)
    groups: defaultdict[int, list[Box]] = defaultdict(list)
    for index in range(len(boxes)):
        groups[root(index)].append(boxes[index])
    return [(around(group), group) for group in groups.values()]


def _is_beside(a: Box, b: Box) -> bool:
    """Whether two boxes share a good part of their widths."""
    return min(a[2], b[2]) - max(a[0], b[0]) > 0.3 * min(a[2] - a[0], b[2] - b[0])
