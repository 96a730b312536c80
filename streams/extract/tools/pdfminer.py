"""pdfminer.six behind plain records: a reader written from the specification alone, slow and of another mind."""

from __future__ import annotations

import io
import logging
import struct
import zlib
from typing import Any

from pdfminer.converter import PDFLayoutAnalyzer
from pdfminer.layout import LTChar, LTContainer
from pdfminer.pdfdocument import PDFDocument
from pdfminer.pdfinterp import PDFPageInterpreter, PDFResourceManager
from pdfminer.pdfpage import PDFPage
from pdfminer.pdfparser import PDFParser
from pdfminer.psexceptions import PSException

from streams.extract.tools.glyphs import MOST_GLYPHS, Glyph, ReaderFailed

NAME = "pdfminer.six"

_MOST_FIGURES = 500  # forms drawn on one page; forms that draw forms multiply

# pdfminer raises whatever it meets on malformed objects; these are all the page's fault here.
_FAULTS: tuple[type[Exception], ...] = (
    PSException,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    AssertionError,
    ArithmeticError,
    RecursionError,
    NotImplementedError,
    EOFError,
    OSError,
    struct.error,
    zlib.error,
)


def glyphs(page: bytes) -> list[Glyph]:
    """Characters of the first page of a PDF, see `streams.extract.tools.glyphs.GlyphReader`."""
    logging.getLogger("pdfminer").setLevel(logging.CRITICAL)  # what it can't read is told by what it does not give
    try:
        document = PDFDocument(PDFParser(io.BytesIO(page)), caching=False)
        first = next(PDFPage.create_pages(document), None)
        if first is None:
            raise ReaderFailed(f"{NAME}: no page")
        first.rotate = 0  # so that positions stay in user space
        resources = PDFResourceManager()
        collector = _Collector(resources)
        PDFPageInterpreter(resources, collector).process_page(first)
        x, y = float(first.mediabox[0]), float(first.mediabox[1])
        return [Glyph(text, (x0 + x, y0 + y, x1 + x, y1 + y)) for text, (x0, y0, x1, y1) in collector.found]
    except _FAULTS as error:
        raise ReaderFailed(f"{NAME}: {error or type(error).__name__}") from error


class _Collector(PDFLayoutAnalyzer):
    """Characters in the order of the content; lines, paths and pictures are not looked at."""

    def __init__(self, resources: PDFResourceManager) -> None:
        super().__init__(resources, laparams=None)
        self.found: list[tuple[str, tuple[float, float, float, float]]] = []
        self._figures = 0
        self._characters = 0

    def render_char(self, *arguments: Any, **more: Any) -> float:
        self._characters += 1
        if self._characters > MOST_GLYPHS:
            raise ReaderFailed(f"{NAME}: more than {MOST_GLYPHS} characters on one page")
        return float(super().render_char(*arguments, **more))

    def handle_undefined_char(self, font: Any, cid: int) -> str:
        return "\ufffd"

    def begin_figure(self, *arguments: Any) -> None:
        self._figures += 1
        if self._figures > _MOST_FIGURES:
            raise ReaderFailed(f"{NAME}: more than {_MOST_FIGURES} forms on one page")
        super().begin_figure(*arguments)

    def paint_path(self, *arguments: Any) -> None:
        pass

    def render_image(self, *arguments: Any) -> None:
        pass

    def receive_layout(self, ltpage: Any) -> None:
        waiting: list[Any] = [ltpage]
        while waiting:
            item = waiting.pop()
            if isinstance(item, LTChar):
                self.found.append((item.get_text(), item.bbox))
            elif isinstance(item, LTContainer):
                waiting += reversed(list(item))
