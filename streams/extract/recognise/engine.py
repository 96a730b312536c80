"""What recognition asks of an engine, and what it gets: words with boxes and confidence, whatever the engine's name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import msgspec
from PIL import Image

from streams.errors import CanonryError
from streams.extract.boxes import Box

PixelBox = Box


class EngineUnavailable(CanonryError):
    """No engine for recognition can be run here. No document is at fault."""

    code = "engine_unavailable"
    remedy = "Install it (Debian: `apt-get install tesseract-ocr tesseract-ocr-eng`) and run `canonry doctor`."


class EngineFailed(Exception):
    """The engine gave no answer for one image: it crashed, or took longer than it may."""


class EngineTooSlow(EngineFailed):
    """It took longer than it may."""


class SeenWord(NamedTuple):
    """A word as recognised; `confidence` is 0..1."""

    text: str
    box: PixelBox
    confidence: float


class SeenLine(msgspec.Struct, kw_only=True):
    """Words on one baseline, in the order of reading."""

    words: list[SeenWord]
    box: PixelBox
    base: float  # y of the baseline in the middle of the line
    size: float  # height of the type from descender to ascender, in pixels
    turn: int = 0  # degrees clockwise by which the line lies on the image: 0, 90, 180, 270
    paragraph: int = 0  # lines of one paragraph, as the engine sees it, have the same number

    @property
    def text(self) -> str:
        return " ".join(word.text for word in self.words)


class Orientation(NamedTuple):
    """How the text of an image lies, and its script. Confidences are the engine's own, without an upper bound."""

    turn: int  # degrees clockwise by which the image must be turned to be upright
    confidence: float
    script: str  # as ISO 15924 names it in English: Latin, Cyrillic, Han
    script_confidence: float


class Engine(Protocol):
    """One engine. It may be asked for several images at once from several processes, never keeps state."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str: ...

    def languages(self) -> frozenset[str]:
        """ISO 639-1 codes of the languages whose models are installed."""
        ...

    def identity(self) -> str:
        """A digest of all that can change what the engine reads: its version and its models."""
        ...

    def read(
        self, image: Image.Image, languages: Sequence[str], *, dpi: int | None, seconds: float, block: bool = False
    ) -> list[SeenLine]:
        """Lines of a grey image. Raises EngineFailed, also when it takes longer than so many seconds.

        Args:
            block: take all of it for one block of text, instead of telling columns and pictures apart.
        """
        ...

    def orientation(self, image: Image.Image, *, seconds: float) -> Orientation | None:
        """How the text lies; None where the engine can't tell. Raises EngineFailed, as `read`."""
        ...
