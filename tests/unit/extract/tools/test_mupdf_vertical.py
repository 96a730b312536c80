"""Vertical writing: the boxes of lines and words lie on the glyphs."""

from __future__ import annotations

from pathlib import Path

import pymupdf
import pytest

from streams.extract.boxes import Box, around
from streams.extract.tools.mupdf import open_pdf

TEXT = "国語国語"


def vertical(path: Path, rotation: int) -> Path:
    """A page with four characters below one another, 40 points each, from (300, 700) in user space."""
    with pymupdf.open() as document:
        page = document.new_page(width=595, height=842)
        font, below, content = (document.get_new_xref() for _ in range(3))
        document.update_object(
            below,
            "<</Type/Font/Subtype/CIDFontType0/BaseFont/HeiseiMin-W3/CIDSystemInfo<</Registry(Adobe)/Ordering(Japan1)"
            "/Supplement 2>>/FontDescriptor<</Type/FontDescriptor/FontName/HeiseiMin-W3/Flags 4"
            "/FontBBox[0 -120 1000 880]/ItalicAngle 0/Ascent 880/Descent -120/CapHeight 700/StemV 80>>>>",
        )
        document.update_object(
            font,
            f"<</Type/Font/Subtype/Type0/BaseFont/HeiseiMin-W3/Encoding/UniJIS-UTF16-V/DescendantFonts[{below} 0 R]>>",
        )
        document.update_object(content, "<<>>")
        document.xref_set_key(page.xref, "Resources", f"<</Font<</F1 {font} 0 R>>>>")
        document.xref_set_key(page.xref, "Contents", f"{content} 0 R")
        codes = TEXT.encode("utf-16-be").hex()
        document.update_stream(content, f"BT /F1 40 Tf 300 700 Td <{codes}> Tj ET".encode())
        page.set_rotation(rotation)
        document.save(path)
    return path


def ink(path: Path) -> Box:
    with pymupdf.open(path) as document:
        picture = document[0].get_pixmap(colorspace=pymupdf.csGRAY)
        rows = [bytes(picture.samples[y * picture.stride :][: picture.width]) for y in range(picture.height)]
        ys = [y for y, row in enumerate(rows) if min(row) < 128]
        xs = [x for x in range(picture.width) if any(row[x] < 128 for row in rows)]
    return min(xs), min(ys), max(xs) + 1, max(ys) + 1


@pytest.mark.parametrize("rotation", [0, 90, 180])
def test_boxes_lie_on_the_glyphs(tmp_path: Path, rotation: int) -> None:
    path = vertical(tmp_path / "vertical.pdf", rotation)
    with open_pdf(path) as pdf:
        page = pdf.read(1)
        words = pdf.words(1)
    assert "".join(span.text for line in page.lines for span in line.spans) == TEXT
    assert "".join(word.text for word in words) == TEXT
    painted = ink(path)
    for box in (around([line.box for line in page.lines]), around([word.box for word in words])):
        assert box == pytest.approx(painted, abs=4)
