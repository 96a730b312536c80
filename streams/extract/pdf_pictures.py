"""Pictures with writing on pages that have a text layer: which of them recognition should read.

A photograph costs recognition seconds and gives nothing, so a picture is looked at first: writing is rows of thin
strokes on one background, with rows of background between them.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from PIL import Image

from streams.extract.boxes import Box, area
from streams.extract.pdf_lines import PageLines
from streams.extract.tools.mupdf import PageError, PageRead, Pdf
from streams.extract.tools.mupdf_render import render

MOST_PAGES = 200
"""Pages of a document whose pictures are looked at: a tenth of a second each."""

_MOST_PICTURES = 6  # of a page, the largest first
_SMALLEST = (90.0, 36.0)  # points: less is a logo or a button
_SMALLEST_SHARE = 0.04  # of the page
_ENOUGH_TEXT = 25  # characters of the layer upon a picture: the layer says what it shows
_DPI = 100.0
_MOST_PIXELS = 1 << 20

_BACKGROUND = 24  # grey levels around the most frequent one
_LEAST_BACKGROUND = 0.55  # share of the pixels
_INK = 60  # grey levels from the background
_STROKES = 6  # of a row of pixels through a line of writing
_LINE_HEIGHTS = (4, 60)  # pixels
_LEAST_LINES = 2


class Pictures:
    """Looks at the pictures of a document's pages."""

    def __init__(self, pdf: Pdf) -> None:
        self._pdf = pdf
        self._left = MOST_PAGES

    def hold_text(self, page: PageRead, lines: PageLines) -> bool:
        """Whether a picture of a text page seems to show writing that the page's text layer does not have."""
        if lines.ocr or not lines.characters:
            return False
        boxes = [box for box in page.images if _is_large(box, lines) and _characters_in(box, page) < _ENOUGH_TEXT]
        if not boxes or not self._left:
            return False
        self._left -= 1
        boxes.sort(key=lambda box: (-area(box), box))
        return any(self._is_written(lines.number, box) for box in boxes[:_MOST_PICTURES])

    def _is_written(self, number: int, box: Box) -> bool:
        try:
            image, _ = render(self._pdf, number, dpi=_DPI, max_pixels=_MOST_PIXELS, clip=box)
        except PageError:
            return False
        return looks_written(image)


def looks_written(image: Image.Image) -> bool:
    """Whether a grey picture of some 100 dots an inch shows two or more lines of writing."""
    grey = np.asarray(image, dtype=np.int16)
    if grey.shape[0] < _LINE_HEIGHTS[0] or grey.shape[1] < _STROKES:
        return False
    background = int(np.bincount(grey.ravel(), minlength=256).argmax())
    off = np.abs(grey - background)
    if (off <= _BACKGROUND).mean() < _LEAST_BACKGROUND:
        return False
    ink = off > _INK
    begins = ink[:, 0].astype(np.int32) + (ink[:, 1:] & ~ink[:, :-1]).sum(axis=1)
    amount = ink.sum(axis=1)
    busy = np.concatenate(([False], begins >= _STROKES, [False]))
    edges = np.flatnonzero(busy[1:] != busy[:-1])
    written = [
        (top, end)
        for top, end in zip(edges[::2], edges[1::2], strict=True)
        if _LINE_HEIGHTS[0] <= end - top <= _LINE_HEIGHTS[1]
        # strokes are thinner than letters are high
        and amount[top:end].sum() <= (end - top) * begins[top:end].sum() / 1.5
    ]
    # between two lines of writing there is nothing but background
    clear = sum(bool((begins[end:top] <= 1).any()) for (_, end), (top, _) in pairwise(written))
    return len(written) >= _LEAST_LINES and clear >= _LEAST_LINES - 1


def _is_large(box: Box, lines: PageLines) -> bool:
    width, height = box[2] - box[0], box[3] - box[1]
    share = area(box) / max(1.0, lines.width * lines.height)
    return width >= _SMALLEST[0] and height >= _SMALLEST[1] and share >= _SMALLEST_SHARE


def _characters_in(box: Box, page: PageRead) -> int:
    count = 0
    for line in page.lines:
        x, y = (line.box[0] + line.box[2]) / 2, (line.box[1] + line.box[3]) / 2
        if box[0] <= x <= box[2] and box[1] <= y <= box[3]:
            count += sum(len(span.text) for span in line.spans if span.visible)
    return count
