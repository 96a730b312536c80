"""Pages of a PDF as grey images, through MuPDF: one page at a time, never more pixels than asked for."""

from __future__ import annotations

from typing import Any

import pymupdf
from PIL import Image

from streams.extract.boxes import Box
from streams.extract.tools.mupdf import PageError, Pdf
from streams.extract.tools.mupdf_faults import FAULTS


def render(pdf: Pdf, number: int, *, dpi: float, max_pixels: int, clip: Box | None = None) -> tuple[Image.Image, float]:
    """Page `number` (from 1) as displayed, in grey, and the pixels per point.

    Args:
        dpi: pixels per inch; fewer where the image would have more than `max_pixels`.
        clip: the part of the page that is wanted; None: all of it.

    Raises:
        PageError: it can't be rendered.
        MemoryError: MuPDF said so.
    """
    try:
        page: Any = pdf._document.load_page(number - 1)
        part = page.rect if clip is None else page.rect & pymupdf.Rect(clip)
        width, height = float(part.width), float(part.height)
        scale = min(dpi / 72, (max_pixels / max(1.0, width * height)) ** 0.5)
        pixels = page.get_pixmap(
            matrix=pymupdf.Matrix(scale, scale), colorspace=pymupdf.csGRAY, alpha=False, clip=clip and part
        )
        image = Image.frombytes("L", (int(pixels.width), int(pixels.height)), pixels.samples)
    except FAULTS as error:
        if "malloc" in str(error) or "out of memory" in str(error):
            raise MemoryError(str(error)) from error
        raise PageError(f"page {number}: {str(error).strip() or type(error).__name__}") from error
    finally:
        pymupdf.TOOLS.store_shrink(100)
    return image, scale
