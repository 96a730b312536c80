"""Makes the PDFs of the tests, so that a reader sees what is special about each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pymupdf

from streams.extract.outcome import Draft, Request
from streams.extract.pdf import extract
from streams.records import BlockKind, Detection

WIDTH, HEIGHT = 595, 842


class Maker:
    """A PDF in the making, with short methods for what tests need."""

    def __init__(self) -> None:
        self.document: Any = pymupdf.open()
        self.page: Any = None

    def new_page(self, width: float = WIDTH, height: float = HEIGHT) -> Maker:
        self.page = self.document.new_page(width=width, height=height)
        return self

    def text(self, x: float, y: float, text: str, size: float = 11, font: str = "helv", **options: Any) -> Maker:
        self.page.insert_text((x, y), text, fontsize=size, fontname=font, **options)
        return self

    def lines(self, x: float, y: float, lines: Sequence[str], size: float = 11, leading: float = 1.3) -> Maker:
        for index, line in enumerate(lines):
            self.text(x, y + index * size * leading, line, size)
        return self

    def grid(self, x: float, y: float, rows: Sequence[Sequence[str]], width: float = 90, height: float = 20) -> Maker:
        """A table with all of its rules drawn; "" leaves a cell empty."""
        n_cols = len(rows[0])
        for r in range(len(rows) + 1):
            self.page.draw_line((x, y + r * height), (x + n_cols * width, y + r * height))
        for c in range(n_cols + 1):
            self.page.draw_line((x + c * width, y), (x + c * width, y + len(rows) * height))
        for r, row in enumerate(rows):
            for c, cell in enumerate(row):
                if cell:
                    self.text(x + c * width + 4, y + r * height + 14, cell, 10)
        return self

    def image(self, box: tuple[float, float, float, float]) -> Maker:
        pixels = pymupdf.Pixmap(pymupdf.csGRAY, pymupdf.IRect(0, 0, 40, 40))
        pixels.clear_with(200)
        self.page.insert_image(pymupdf.Rect(*box), pixmap=pixels)
        return self

    def content(self, operators: bytes) -> Maker:
        """Append raw operators to the page's content; the font /helv is there."""
        self.page.insert_font(fontname="helv")
        self.page.clean_contents()
        xref = self.page.get_contents()[0]
        self.document.update_stream(xref, self.document.xref_stream(xref) + b"\n" + operators)
        return self

    def bytes(self, **options: Any) -> bytes:
        return bytes(self.document.tobytes(**options))


def run(tmp_path: Path, content: bytes | Maker, **options: Any) -> Draft:
    """The draft of these bytes."""
    path = tmp_path / "document"
    path.write_bytes(content.bytes() if isinstance(content, Maker) else content)
    return extract(Request(path=path, detection=Detection(media_type="application/pdf", detected_by="test"), **options))


def texts(draft: Draft, kind: BlockKind) -> list[str]:
    return [block.text for block in draft.blocks if block.kind is kind]


def made(build: Callable[[Maker], object]) -> Maker:
    maker = Maker().new_page()
    build(maker)
    return maker
