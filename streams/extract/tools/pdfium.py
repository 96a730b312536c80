"""PDFium behind plain records: the characters of a page as Chrome's reader understands them (pypdfium2)."""

from __future__ import annotations

from typing import Any

import pypdfium2
import pypdfium2.raw as pdfium

from streams.extract.tools.glyphs import MOST_GLYPHS, Glyph, ReaderFailed

NAME = "pypdfium2"

_FAULTS: tuple[type[Exception], ...] = (pypdfium2.PdfiumError, RuntimeError, ValueError, TypeError, OSError)


def glyphs(page: bytes) -> list[Glyph]:
    """Characters of the first page of a PDF, see `streams.extract.tools.glyphs.GlyphReader`."""
    try:
        document = pypdfium2.PdfDocument(page)
    except _FAULTS as error:
        raise ReaderFailed(f"{NAME}: {error}") from error
    try:
        opened = document[0]
        textpage = opened.get_textpage()
        try:
            return _glyphs(textpage)
        finally:
            textpage.close()
            opened.close()
    except _FAULTS as error:
        raise ReaderFailed(f"{NAME}: {error}") from error
    finally:
        document.close()


def _glyphs(textpage: Any) -> list[Glyph]:
    raw = textpage.raw
    count = int(pdfium.FPDFText_CountChars(raw))
    if count > MOST_GLYPHS:
        raise ReaderFailed(f"{NAME}: {count} characters on one page")
    box = pdfium.FS_RECTF()
    found: list[Glyph] = []
    for index in range(count):
        if pdfium.FPDFText_IsGenerated(raw, index) == 1:
            continue  # blanks and line ends that PDFium guesses; ours are guessed the same way for all readers
        code = int(pdfium.FPDFText_GetUnicode(raw, index))
        unknown = code == 0 or code > 0x10FFFF or pdfium.FPDFText_HasUnicodeMapError(raw, index) == 1
        if pdfium.FPDFText_GetLooseCharBox(raw, index, box):
            sides = float(box.left), float(box.bottom), float(box.right), float(box.top)
            found.append(Glyph("\ufffd" if unknown else chr(code), sides))
    return found
