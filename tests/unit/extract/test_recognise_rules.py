"""Ruled tables on pages that are pictures: their lines are taken away before the engine sees them."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from streams.extract import extract
from streams.extract.finish import body_text
from streams.extract.outcome import Request
from streams.extract.recognise import RecogniseRequest, recognise
from streams.extract.recognise.engine import SeenLine, SeenWord
from streams.extract.recognise.rules import without_rules
from streams.extract.recognise.unread import unread
from streams.extract.tools.tesseract import Tesseract
from streams.records import Detection
from tests.unit.extract.page_images import LETTER, REPLY, page, picture

ROWS = [
    ("Name", "Units", "Price"),
    ("Bolt", "117", "31.15 EUR"),
    ("Nut", "234", "62.25 EUR"),
    ("Washer", "351", "93.35 EUR"),
    ("Screw", "468", "124.45 EUR"),
]
needs_engine = pytest.mark.skipif(shutil.which("tesseract") is None, reason="tesseract is not installed")


def _table(*, scale: float = 1.0, rule: int = 3, above: str = "", paper: int = 255, ink: int = 0) -> Image.Image:
    """A ruled table with three columns, below a line of text."""
    size = round(32 * scale)
    font = ImageFont.load_default(size)
    top = 3 * size if above else size
    wide, high = 10 * size, round(2.2 * size)
    image = Image.new("L", (3 * wide + 3 * size, top + len(ROWS) * high + 2 * size), paper)
    draw = ImageDraw.Draw(image)
    draw.text((size, size), above, font=font, fill=ink)
    for row, cells in enumerate(ROWS):
        for column, cell in enumerate(cells):
            x, y = size + column * wide, top + row * high
            draw.rectangle((x, y, x + wide, y + high), outline=ink, width=rule)
            draw.text((x + size // 2, y + size // 2), cell, font=font, fill=ink)
    return image


def _read(path: Path) -> list[str]:
    detection = Detection(media_type="image/png", detected_by="test")
    body = extract(Request(path=path, detection=detection), content_hash="00")
    body = recognise(RecogniseRequest(path=path, detection=detection, body=body, languages=["en"]))
    return body_text(body).split()


@needs_engine
@pytest.mark.parametrize(("scale", "rule"), [(1.0, 3), (1.0, 1), (1.8, 5)])
def test_every_cell_of_a_ruled_table_is_read(tmp_path: Path, scale: float, rule: int) -> None:
    _table(scale=scale, rule=rule, above="All prices in euro.").save(tmp_path / "table.png")
    read = _read(tmp_path / "table.png")
    assert sorted(read) == sorted(" ".join(["All prices in euro.", *(cell for row in ROWS for cell in row)]).split())


@needs_engine
def test_a_picture_of_nothing_but_a_table_is_no_picture_without_text(tmp_path: Path) -> None:
    _table().save(tmp_path / "table.png")
    assert {cell.split()[0] for row in ROWS for cell in row} <= set(_read(tmp_path / "table.png"))


@pytest.mark.parametrize(("paper", "ink"), [(255, 0), (225, 60)])
@pytest.mark.parametrize("rule", [1, 4])
def test_rules_go_and_letters_stay(paper: int, ink: int, rule: int) -> None:
    ruled = _table(rule=rule, paper=paper, ink=ink)
    bare = np.asarray(_table(rule=0, paper=paper, ink=ink))
    cleared = np.asarray(without_rules(ruled))
    assert np.asarray(ruled).tolist() != bare.tolist()
    assert (cleared != bare).mean() < 0.0005


def test_rules_of_a_scan_with_noise_and_a_slight_slope_go() -> None:
    random = np.random.default_rng(7)

    def scanned(image: Image.Image) -> Image.Image:
        grey = np.asarray(image.rotate(0.2, Image.Resampling.BICUBIC, fillcolor=255), dtype=np.float64)
        return Image.fromarray(np.clip(grey + random.normal(0, 14, grey.shape), 0, 255).astype(np.uint8))

    ruled, bare = scanned(_table(rule=4)), scanned(_table(rule=0))
    dark = [int((np.asarray(image) < 128).sum()) for image in (ruled, without_rules(ruled), bare)]
    assert dark[1] - dark[2] < 0.03 * (dark[0] - dark[2])


def test_a_page_without_rules_stays_as_it_is() -> None:
    plain = picture(page(LETTER, second=REPLY, title="HEIL - EFHT"), dpi=150)
    assert without_rules(plain) is plain
    # single rules, a big word, a sign in a thin face, and a filled bar: none is a grid
    image = Image.new("L", (1200, 900), 255)
    draw = ImageDraw.Draw(image)
    draw.line((100, 80, 1100, 80), fill=0, width=3)
    draw.line((100, 90, 1100, 90), fill=0, width=1)
    draw.text((100, 120), "HELTI", font=ImageFont.load_default(180), fill=0)
    for x0, y0, x1, y1 in ((100, 400, 180, 400), (100, 440, 180, 440), (100, 480, 180, 480), (100, 400, 100, 480)):
        draw.line((x0, y0, x1, y1), fill=0, width=3)
    draw.rectangle((100, 600, 1100, 660), fill=0)
    draw.text((140, 610), "white on black", font=ImageFont.load_default(36), fill=255)
    assert without_rules(image) is image


def test_a_filled_head_of_a_table_keeps_its_letters() -> None:
    image = _table()
    draw = ImageDraw.Draw(image)
    draw.rectangle((32, 32, 992, 102), fill=0)
    draw.text((60, 50), "Name of article", font=ImageFont.load_default(32), fill=255)
    before, after = np.asarray(image)[40:95, 50:300], np.asarray(without_rules(image))[40:95, 50:300]
    assert (before != after).mean() < 0.02


@pytest.mark.parametrize("step", [2, 3])
def test_stripes_cost_little(step: int) -> None:
    pixels = np.full((3000, 2200), 255, dtype=np.uint8)
    pixels[::step] = 0
    pixels[:, :: 2 * step] = 0
    image = Image.fromarray(pixels)
    started = time.process_time()
    without_rules(image)
    assert time.process_time() - started < 3


def _line(text: str, box: tuple[float, float, float, float]) -> SeenLine:
    return SeenLine(words=[SeenWord(text, box, 0.9)], box=box, base=box[3], size=box[3] - box[1], paragraph=1)


def test_writing_that_no_line_covers_is_found() -> None:
    image = picture(page(LETTER), dpi=150)
    assert unread(image, []) is not None
    assert unread(image, [_line("all", (0, 0, image.width, image.height))]) is None
    ruled = without_rules(_table(rule=2))
    assert unread(ruled, [_line("names", (0, 0, 340, ruled.height))]) is not None


class _Half(Tesseract):
    """Tesseract that loses the right half of the page when it is asked for a page."""

    asked = 0

    def read(
        self, image: Image.Image, languages: Sequence[str], *, dpi: int | None, seconds: float, block: bool = False
    ) -> list[SeenLine]:
        self.asked += 1
        if not block:
            image = image.copy()
            image.paste(255, (image.width // 2, 0, image.width, image.height))
        return super().read(image, languages, dpi=dpi, seconds=seconds, block=block)


@needs_engine
def test_what_the_first_reading_left_is_asked_for_once_more(tmp_path: Path) -> None:
    path = tmp_path / "page.png"
    picture(page(LETTER, second=REPLY, title="Harbour wall"), dpi=150).save(path)
    detection = Detection(media_type="image/png", detected_by="test")
    body = extract(Request(path=path, detection=detection), content_hash="00")
    engine = _Half()
    body = recognise(
        RecogniseRequest(path=path, detection=detection, body=body, languages=["en"]),
        engine=engine,
    )
    assert engine.asked == 2
    assert " ".join(body_text(body).split()) == f"Harbour wall {LETTER} {REPLY}"
