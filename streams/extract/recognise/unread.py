"""Writing that the engine has passed over: what is left of a page when all that was read is taken away."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PIL import Image

from streams.extract.pdf_pictures import looks_written
from streams.extract.recognise.engine import SeenLine

_LOOKED_AT = 1_000_000  # pixels of the copy that is looked at: A4 at 100 dpi
_AROUND = 0.25  # of a line's height: accents and tails


def unread(image: Image.Image, lines: Sequence[SeenLine]) -> Image.Image | None:
    """A grey page with the lines that were read in the colour of its paper; None where no more writing is left."""
    factor = max(1, round((image.width * image.height / _LOOKED_AT) ** 0.5))
    small = _without(image.reduce(factor), lines, 1 / factor)
    return _without(image, lines, 1.0) if looks_written(small) else None


def _without(image: Image.Image, lines: Sequence[SeenLine], scale: float) -> Image.Image:
    left = image.copy()
    paper = int(np.bincount(np.asarray(image).ravel()[::7], minlength=256).argmax())
    for line in lines:
        x0, y0, x1, y1 = line.box
        by = _AROUND * min(y1 - y0, x1 - x0)
        left.paste(
            paper,
            (round(scale * (x0 - by)), round(scale * (y0 - by)), round(scale * (x1 + by)), round(scale * (y1 + by))),
        )
    return left
