"""Drawings of pages: boxes where the blocks are, in their colours, on the page as displayed."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from PIL import Image

from streams.errors import DocumentError
from streams.extract import extract
from streams.extract.outcome import Request
from streams.extract.overlay import DPI, draw_page
from streams.records import Block, BlockKind, BlockSource, CanonBody, Detection, Page
from tests.unit.extract.pdf_files import Maker

PDF = Detection(media_type="application/pdf", detected_by="test")


def drawn(tmp_path: Path, maker: Maker, number: int = 1) -> tuple[Image.Image, CanonBody]:
    path = tmp_path / "document.pdf"
    path.write_bytes(maker.bytes())
    body = extract(Request(path=path, detection=PDF), content_hash="")
    return Image.open(io.BytesIO(draw_page(path, PDF, body, number))).convert("RGB"), body


def colour_at(image: Image.Image, x: float, y: float) -> tuple[int, int, int]:
    """The colour at a point of the page."""
    found = image.getpixel((round(x * DPI / 72), round(y * DPI / 72)))
    assert isinstance(found, tuple)
    return found[0], found[1], found[2]


def is_gray(colour: tuple[int, int, int]) -> bool:
    return max(colour) - min(colour) < 6


def test_blocks_have_boxes_and_the_rest_of_the_page_has_none(tmp_path: Path) -> None:
    maker = Maker().new_page().lines(72, 100, ["Some words of text that make a paragraph of two lines,", "as here."])
    maker.grid(72, 300, [["Name", "Count"], ["oak", "12"], ["elm", "7"]])
    image, body = drawn(tmp_path, maker)
    for block in body.blocks:
        assert block.bbox is not None
        x0, y0, _, y1 = block.bbox
        assert not is_gray(colour_at(image, x0 + 0.3, (y0 + y1) / 2))
    assert colour_at(image, 400, 600) == (255, 255, 255)
    assert image.height > 842 * DPI / 72  # the legend below


def test_furniture_is_gray(tmp_path: Path) -> None:
    maker = Maker()
    for number in range(3):
        maker.new_page().text(72, 40, "Harbour Report", 9).text(72, 300, f"The text of page {number} of this report.")
    image, body = drawn(tmp_path, maker, 2)
    head = next(block for block in body.blocks if block.kind is BlockKind.PAGE_HEADER and block.page == 2)
    assert head.bbox is not None
    colour = colour_at(image, head.bbox[0] + 1, head.bbox[1] + 1)
    assert is_gray(colour)
    assert colour != (255, 255, 255)


def test_turned_page_is_drawn_as_displayed(tmp_path: Path) -> None:
    maker = Maker().new_page().text(72, 100, "Some words of text that make a line of a turned page.")
    maker.page.set_rotation(90)
    image, body = drawn(tmp_path, maker)
    assert image.width > image.height
    (block,) = body.blocks
    assert block.bbox is not None
    assert not is_gray(colour_at(image, (block.bbox[0] + block.bbox[2]) / 2, block.bbox[1] + 0.3))


def test_picture_with_recognised_blocks(tmp_path: Path) -> None:
    path = tmp_path / "page.png"
    Image.new("L", (400, 300), 255).save(path)
    detection = Detection(media_type="image/png", detected_by="test")
    block = Block(kind=BlockKind.PARAGRAPH, text="x", page=1, bbox=(50, 50, 150, 90), source=BlockSource.OCR)
    page = Page(number=1, width=200, height=150, source=BlockSource.OCR)
    body = CanonBody(
        content_hash="", fingerprint="", extractor="", extractor_version="", media_type="image/png",
        pages=[page], blocks=[block],
    )  # fmt: skip
    image = Image.open(io.BytesIO(draw_page(path, detection, body, 1))).convert("RGB")
    assert image.getpixel((200, 140)) != (255, 255, 255)  # inside, at two pixels a point
    assert image.getpixel((320, 140)) == (255, 255, 255)


def test_what_has_no_pages_says_so(tmp_path: Path) -> None:
    body = CanonBody(content_hash="", fingerprint="", extractor="", extractor_version="", media_type="text/plain")
    with pytest.raises(DocumentError) as caught:
        draw_page(tmp_path / "x", Detection(media_type="text/plain", detected_by="test"), body, 1)
    assert caught.value.problem == "corrupt"


def test_same_page_same_bytes(tmp_path: Path) -> None:
    maker = Maker().new_page().text(72, 100, "Some words of text that make a line of a page.")
    first, _ = drawn(tmp_path, maker)
    second, _ = drawn(tmp_path, maker)
    assert first.tobytes() == second.tobytes()
