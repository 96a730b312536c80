"""What other readers of PDF are asked for: the characters of one page and where they stand."""

from __future__ import annotations

from typing import NamedTuple, Protocol

MOST_GLYPHS = 50_000
"""Characters of one page; a page with more is no page of text. An A4 page of 6-point type has some 15,000."""


class Glyph(NamedTuple):
    """A character as a reader understands it, U+FFFD where it can't; `box` is in user space (ISO 32000-1, 8.3.2.3)."""

    text: str
    box: tuple[float, float, float, float]  # x0, y0, x1, y1; y grows upwards; as wide as the advance


class ReaderFailed(Exception):
    """A reader can't read a page that another one may read."""


class GlyphReader(Protocol):
    """One library. `page` is a PDF of that one page, without protection."""

    def __call__(self, page: bytes) -> list[Glyph]:
        """Characters in the order of the content, blanks among them. Raises ReaderFailed."""
        ...
