"""By how much a scanned page lies askew: the angle at which its lines of text stand out most sharply.

The dark pixels are projected along slightly turned lines; where the lines of text lie along them, rows of ink and rows
of paper alternate most, so that the sum of squared differences of neighbouring rows is greatest.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from PIL import Image

LARGEST = 8.0
"""Degrees; a page that lies more askew is none that a feeder has pulled in."""

WORTH_MENDING = 0.3
"""Degrees below which the engine reads as well without (measured, see the test)."""

_SIDE = 1000  # pixels of the longer side of the copy that is measured
_MOST_POINTS = 60_000
_COARSE, _FINE = 0.5, 0.05  # steps, degrees
_SHARPER = 1.5  # than the page as it lies: half a degree gives 2 and more, lines across at most 1.3


def skew(image: Image.Image) -> float:
    """Degrees clockwise by which the lines of an upright grey page sink to the right; 0.0 when it can't be told."""
    small = _reduced(image, _SIDE)
    pixels = np.asarray(small)
    rows, columns = np.nonzero(pixels < _threshold(pixels))
    if not 200 <= len(rows) <= 0.5 * pixels.size:
        return 0.0
    if len(rows) > _MOST_POINTS:
        step = -(-len(rows) // _MOST_POINTS)
        rows, columns = rows[::step], columns[::step]
    across = columns - small.width / 2

    def sharpness(degrees: float) -> float:
        shifted = np.rint(rows - across * np.tan(np.radians(degrees))).astype(np.int64)
        counts = np.bincount(shifted - shifted.min()).astype(np.float64)
        return float(np.square(np.diff(counts)).sum())

    count = round(LARGEST / _COARSE)
    best = max((sharpness(step * _COARSE), -abs(step), step * _COARSE) for step in range(-count, count + 1))
    around = round(_COARSE / _FINE)
    fine = max(
        (sharpness(degrees), -abs(degrees), degrees)
        for degrees in (round(best[2] + step * _FINE, 3) for step in range(-around, around + 1))
    )
    if abs(fine[2]) > LARGEST - _COARSE or fine[0] < _SHARPER * sharpness(0.0):
        return 0.0
    return fine[2]


def _threshold(pixels: Any) -> float:
    """Half way between the paper and its darkest hundredth."""
    paper, ink = np.percentile(pixels, (75, 1))
    return float((paper + ink) / 2)


def _reduced(image: Image.Image, side: int) -> Image.Image:
    """An image with at most so many pixels on its longer side, each the mean of a square: the quickest way to it."""
    return image.reduce(max(1, -(-max(image.size) // side)))


def is_dark(image: Image.Image) -> bool:
    """Whether a page is light on dark: most of it is darker than the middle of its range."""
    pixels = np.asarray(_reduced(image, 200))
    low, high = np.percentile(pixels, (1, 99))
    return bool(high - low > 60 and np.median(pixels) < min(110.0, (low + high) / 2))


def is_blank(image: Image.Image) -> bool:
    """Whether nothing at all stands on it: no grey value stands out from the rest."""
    extremes: Any = image.getextrema()
    return bool(extremes[1] - extremes[0] < 24)
