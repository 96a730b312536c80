"""Pictures with writing on pages of text: what is taken for writing, and what recognition makes of it."""

from __future__ import annotations

import io
import math
import random
import shutil
from pathlib import Path

import pymupdf
import pytest
from PIL import Image, ImageDraw, ImageFont

from streams.extract.outcome import Request
from streams.extract.pdf import extract
from streams.extract.pdf_pictures import looks_written
from streams.ops.inspect import Declared, examine, line_of
from streams.records import Detection
from streams.runtime.slots import Slots
from streams.settings import RecognitionSettings, Settings

PDF = Detection(media_type="application/pdf", detected_by="signature:pdf", rules="1")
FONT = ImageFont.load_default(size=22)
LINE = "The keeper of the harbour writes the names of all ships into a book that lies on the table by the door"
WORDS = LINE.split()
SEEN = "The ferry to the northern islands leaves at seven"


def writing(width: int = 700, height: int = 260, text: str = SEEN) -> Image.Image:
    image = Image.new("L", (width, height), 255)
    draw = ImageDraw.Draw(image)
    draw.text((20, 15), text, fill=0, font=FONT)
    for row in range(1, height // 34):
        draw.text((20, 15 + 32 * row), " ".join(WORDS[row:] + WORDS[:row])[:60], fill=0, font=FONT)
    return image


def photo(width: int = 700, height: int = 260) -> Image.Image:
    rng = random.Random(1)  # noqa: S311
    image = Image.new("L", (width, height))
    image.putdata(
        [
            int(128 + 70 * math.sin(x / 60) * math.cos(y / 45) + rng.gauss(0, 9))
            for y in range(height)
            for x in range(width)
        ]
    )
    return image


def chart(width: int = 700, height: int = 260) -> Image.Image:
    image = Image.new("L", (width, height), 255)
    draw = ImageDraw.Draw(image)
    for bar in range(8):
        draw.rectangle((40 + 80 * bar, height - 30 - 20 * bar, 90 + 80 * bar, height - 30), fill=90)
    draw.line((30, 10, 30, height - 30, width - 10, height - 30), fill=0, width=2)
    return image


def blocks(width: int = 480, height: int = 480) -> Image.Image:
    """A code of squares, as telephones read it."""
    rng = random.Random(2)  # noqa: S311
    image = Image.new("L", (40, 40), 255)
    image.putdata([rng.choice((0, 255)) for _ in range(1600)])
    return image.resize((width, height), Image.Resampling.NEAREST)


@pytest.mark.parametrize("scale", [0.6, 1.0, 2.0])
def test_lines_of_letters_are_writing(scale: float) -> None:
    image = writing()
    assert looks_written(image.resize((int(700 * scale), int(260 * scale)), Image.Resampling.LANCZOS))
    white = Image.eval(image, lambda value: 255 - value)
    assert looks_written(white)


@pytest.mark.parametrize("make", [photo, chart, blocks])
def test_photographs_bars_and_codes_are_not(make: object) -> None:
    assert callable(make)
    assert not looks_written(make())


def test_an_empty_picture_is_not() -> None:
    assert not looks_written(Image.new("L", (300, 200), 255))
    assert not looks_written(Image.new("L", (1, 1), 0))


def document(image: Image.Image, *, under: bool = False) -> bytes:
    out = pymupdf.open()
    page = out.new_page()
    data = io.BytesIO()
    image.save(data, "PNG")
    box = pymupdf.Rect(72, 400, 523, 400 + 451 * image.height / image.width)
    page.insert_image(box, stream=data.getvalue())
    text = "A page of text that stands above a picture, and goes on for some lines. " * 6
    page.insert_textbox(pymupdf.Rect(72, 72, 523, 380), text, fontsize=12)
    if under:
        page.insert_textbox(box, " ".join(WORDS) * 3, fontsize=12)
    return bytes(out.tobytes())


def test_only_a_picture_with_writing_that_the_layer_lacks_asks_for_recognition(tmp_path: Path) -> None:
    for image, under, expected in ((writing(), False, True), (writing(), True, False), (photo(), False, False)):
        path = tmp_path / "page.pdf"
        path.write_bytes(document(image, under=under))
        draft = extract(Request(path=path, detection=PDF))
        assert [page.picture_text for page in draft.pages] == [expected]
        assert ("text_in_pictures" in draft.warnings) == expected


async def test_recognition_adds_the_picture_and_repeats_nothing(tmp_path: Path) -> None:
    if shutil.which("tesseract") is None:
        pytest.skip("tesseract is not installed")
    path = tmp_path / "page.pdf"
    path.write_bytes(document(writing()))
    for enabled in (True, False):
        settings = Settings(data_dir=tmp_path, recognition=RecognitionSettings(enabled=enabled, languages=["en"]))
        slots = Slots(settings.worker)
        try:
            line = line_of(await examine(path, str(path), settings, slots, Declared()))
        finally:
            await slots.stop()
        assert line["outcome"] == "ready"
        assert line["error"] is None
        assert line["text"].count("stands above a picture") == 6
        assert (SEEN in line["text"]) == enabled
        assert line["method"] == ("mixed" if enabled else "native")
        assert ("text_in_pictures" in line["warnings"]) != enabled
