"""Figures: what is drawn next to a figure's caption, and the labels in it, which are no part of the running text."""

from __future__ import annotations

from collections.abc import Sequence

from streams.extract.boxes import Box, around, meet
from streams.extract.pdf_layout import CAPTION, is_caption, is_table_caption
from streams.extract.pdf_lines import Frame, Line, stands_in
from streams.extract.tools.mupdf import PageRead

_NEAR = 14.0  # points: shapes nearer than this are one drawing
_SMALLEST = 24.0
_FROM_CAPTION = 45.0  # points between a drawing and its caption
_LABEL = 60  # characters; a longer line is text that stands on a background
_MOST_SHAPES = 20_000
_WHITE = 0xF0F0F0
_EDGE = 6.0  # points by which a label may stand over the edge


def find_figures(page: PageRead, frame: Frame, lines: Sequence[Line]) -> list[tuple[Box, list[Line]]]:
    """(box in the frame, labels) of each captioned figure. Those without a caption: `pdf_loose_figures`."""
    captions = [line for line in lines if not line.solid and is_caption(line.text) and not is_table_caption(line.text)]
    if not captions or not 0 < len(page.images) + len(page.vectors) <= _MOST_SHAPES:
        return []
    width, height = frame.size
    tables = [line.box for line in lines if line.solid]
    painted = page.images + [vector.box for vector in page.vectors if vector.color < _WHITE]
    shapes = [
        box
        for box in map(frame.inside, painted)
        if not (box[2] - box[0] > 0.85 * width and box[3] - box[1] > 0.7 * height)
        and not any(meet(box, table) for table in tables)
    ]
    texts = [line for line in lines if len(line.text) > _LABEL]
    found: list[tuple[Box, list[Line]]] = []
    taken: set[int] = set()
    for caption in sorted(captions, key=lambda line: (line.v0, line.u0)):
        free = [box for box in shapes if not any(meet(box, other) for other, _ in found)]
        box = _beside(caption, free, texts)
        if box is None or min(box[2] - box[0], box[3] - box[1]) < _SMALLEST:
            continue
        labels = [line for line in lines if id(line) not in taken and _is_label(line, box)]
        taken.update(id(line) for line in labels)
        found.append((box, labels))
    return found


def _is_label(line: Line, box: Box) -> bool:
    return (
        not line.solid and len(line.text) <= _LABEL and stands_in(line, box, _EDGE) and CAPTION.match(line.text) is None
    )


def _beside(caption: Line, shapes: list[Box], texts: list[Line]) -> Box | None:
    """The drawing that ends right above the caption, else the one that begins right below it."""
    above = sorted((box for box in shapes if box[3] <= caption.v0 + 6), key=lambda box: (-box[3], box))
    found = _grown(caption, above, texts)
    if found is None:
        below = sorted((box for box in shapes if box[1] >= caption.v1 - 6), key=lambda box: (box[1], box))
        found = _grown(caption, below, texts)
    return found


def _grown(caption: Line, shapes: list[Box], texts: list[Line]) -> Box | None:
    """A box around the shape next to the caption and all that touch or nearly touch it; `shapes`: nearest first.

    It never grows over a line of running text, which a background or the drawing of another column would make it do.
    """
    box: Box | None = None
    for other in shapes:
        if max(caption.v0 - other[3], other[1] - caption.v1) > _FROM_CAPTION:
            break
        rule = other[3] - other[1] < 3 and other[2] - other[0] > 100  # often set between a figure and its caption
        beside = other[0] < caption.u1 + 40 and other[2] > caption.u0 - 40
        if beside and not rule and not _holds(other, texts):
            box = other
            break
    if box is None:
        return None
    rest = shapes
    for _ in range(20):
        left = []
        for other in rest:
            if box[0] <= other[0] and box[1] <= other[1] and box[2] >= other[2] and box[3] >= other[3]:
                continue
            near = meet((box[0] - _NEAR, box[1] - _NEAR, box[2] + _NEAR, box[3] + _NEAR), other)
            if near and not _holds(union := around((box, other)), texts):
                box = union
            else:
                left.append(other)
        if len(left) == len(rest):
            break
        rest = left
    return box


def _holds(box: Box, texts: list[Line]) -> bool:
    return any(stands_in(line, box, _EDGE) for line in texts)
