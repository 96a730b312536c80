"""Pictures: their pages and sizes. What is written on them is found by recognition, which begins with this canon."""

from __future__ import annotations

from streams.extract.outcome import Draft, Request
from streams.extract.tools.pillow import FrameInfo, open_picture
from streams.records import BlockSource, Page

CHECKED_PIXELS = 1 << 22
"""The first frame is decoded to this many pixels, to know now whether its data is whole."""


def extract(request: Request) -> Draft:
    """A draft without text: one page for each frame of a TIFF, one page for every other picture.

    Raises:
        DocumentError: `truncated` or `corrupt` when nothing of the first frame can be read, `bomb`, `too_large` for
            more than `request.max_pages` frames, `unsupported_format`.
    """
    with open_picture(request.path, request.detection.media_type) as picture:
        frames = picture.frames(request.max_pages)
        picture.gray(1, CHECKED_PIXELS)
        truncated = picture.truncated
    return Draft(
        blocks=[],
        pages=[page_of(number, frame) for number, frame in enumerate(frames, 1)],
        page_count=len(frames),
        warnings=["truncated"] if truncated else [],
    )


def points_per_pixel(frame: FrameInfo) -> float:
    """Points of the page for each pixel; where the file does not say how large it is, a pixel is a point."""
    return 72 / frame.dpi if frame.dpi else 1.0


def page_of(number: int, frame: FrameInfo) -> Page:
    """The page that a frame is: all of it is picture."""
    scale = points_per_pixel(frame)
    return Page(
        number=number,
        width=round(frame.width * scale, 2),
        height=round(frame.height * scale, 2),
        source=BlockSource.UNKNOWN,
        image_area=1.0,
    )
