"""Pages that are pictures, recognised by the real engine."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pymupdf
import pytest
from PIL import Image, ImageDraw, ImageOps

from streams.extract import extract
from streams.extract.finish import body_text
from streams.extract.outcome import Request
from streams.extract.recognise import RecogniseRequest, fingerprint, pages_needing, recognise
from streams.extract.recognise.engine import SeenLine, SeenWord
from streams.extract.recognise.reader import Reading, without_noise
from streams.extract.tools.tesseract import Tesseract
from streams.records import BlockSource, CanonBody, Detection, Method, Outcome
from streams.screen import screen
from streams.screen.policy import Policy
from tests.unit.extract.page_images import GERMAN, LETTER, REPLY, page, picture, scan

pytestmark = pytest.mark.skipif(shutil.which("tesseract") is None, reason="tesseract is not installed")


def _needs(language: str) -> None:
    if language not in Tesseract().languages():
        pytest.skip(f"tesseract has no model for {language!r}")


def _body(path: Path) -> tuple[Detection, CanonBody]:
    kinds = {".pdf": "application/pdf", ".png": "image/png", ".tif": "image/tiff", ".jpg": "image/jpeg"}
    detection = Detection(media_type=kinds[path.suffix], detected_by="test")
    return detection, extract(Request(path=path, detection=detection), content_hash="00")


DPI = 150
"""Of most pages here: type of 12 points is read as well as at 300, in a third of the time."""


def _recognised(path: Path, pages: tuple[int, ...] = (), languages: tuple[str, ...] = ("en",)) -> CanonBody:
    detection, body = _body(path)
    return recognise(
        RecogniseRequest(
            path=path, detection=detection, body=body, pages=list(pages), languages=list(languages), dpi=DPI
        )
    )


def _text(body: CanonBody) -> str:
    return " ".join(body_text(body).split())


def test_scanned_page_becomes_text_with_places_and_confidence(tmp_path: Path) -> None:
    path = scan(tmp_path / "scan.pdf", picture(page()))
    detection, before = _body(path)
    assert pages_needing(before) == [1]
    body = recognise(RecogniseRequest(path=path, detection=detection, body=before, languages=["en"]))
    assert _text(body) == LETTER
    assert body.method is Method.OCR
    assert body.language == "en"
    assert body.extractor == "pdf+tesseract"
    assert Tesseract().version in body.extractor_version
    assert body.fingerprint == fingerprint(detection, ["en"], before=before.fingerprint) != before.fingerprint
    (block,) = body.blocks
    assert block.source is BlockSource.OCR
    assert block.confidence is not None
    assert block.confidence > 0.9
    assert block.bbox == pytest.approx((72, 124, 520, 186), abs=4)
    assert body.pages[0].source is BlockSource.OCR
    assert pages_needing(body) == []


def test_image_file_becomes_text(tmp_path: Path) -> None:
    path = tmp_path / "page.png"
    picture(page(), dpi=200).save(path)
    body = _recognised(path)
    assert _text(body) == LETTER
    assert (body.method, body.page_count) == (Method.OCR, 1)
    assert body.extractor == "image+tesseract"


@pytest.mark.parametrize("degrees", [90, 180, 270])
def test_turned_pages_are_read_upright(tmp_path: Path, degrees: int) -> None:
    body = _recognised(scan(tmp_path / "scan.pdf", picture(page(), dpi=200).rotate(degrees, expand=True), points=0.36))
    assert _text(body) == LETTER


def test_mixed_document_keeps_its_order_and_says_which_is_which(tmp_path: Path) -> None:
    body = _recognised(
        scan(tmp_path / "mixed.pdf", picture(page(), DPI), points=0.48, texts={1: REPLY, 3: "The end. " + REPLY})
    )
    assert _text(body) == f"{REPLY} {LETTER} The end. {REPLY}"
    assert body.method is Method.MIXED
    assert [block.source for block in body.blocks] == [BlockSource.TEXT_LAYER, BlockSource.OCR, BlockSource.TEXT_LAYER]


def test_same_request_gives_the_same_bytes(tmp_path: Path) -> None:
    path = scan(tmp_path / "scan.pdf", picture(page(), dpi=150), points=0.48)
    assert msgspec.msgpack.encode(_recognised(path)) == msgspec.msgpack.encode(_recognised(path))


def test_blank_page_stays_empty(tmp_path: Path) -> None:
    body = _recognised(scan(tmp_path / "blank.pdf", Image.new("L", (1240, 1754), 250), points=0.48))
    assert body.blocks == []
    assert body.pages[0].source is BlockSource.OCR


def test_white_on_black_is_read(tmp_path: Path) -> None:
    body = _recognised(scan(tmp_path / "dark.pdf", ImageOps.invert(picture(page(), dpi=200)), points=0.36))
    assert _text(body) == LETTER


def test_columns_are_read_one_after_the_other(tmp_path: Path) -> None:
    body = _recognised(
        scan(tmp_path / "columns.pdf", picture(page(LETTER, second=REPLY, title="Harbour wall"), DPI), points=0.48)
    )
    assert _text(body) == f"Harbour wall {LETTER} {REPLY}"


def test_another_language_than_expected_is_found(tmp_path: Path) -> None:
    _needs("de")
    body = _recognised(scan(tmp_path / "german.pdf", picture(page(GERMAN), DPI), points=0.48), languages=("en",))
    assert _text(body) == GERMAN
    assert body.language == "de"
    assert "recognition_language_missing" not in body.warnings


class _Without(Tesseract):
    """Tesseract on a machine that lacks the models of some languages."""

    def __init__(self, *missing: str) -> None:
        super().__init__()
        self._missing = frozenset(missing)

    def languages(self) -> frozenset[str]:
        return super().languages() - self._missing


def _with(engine: Tesseract, path: Path, pages: Sequence[int] = (), languages: Sequence[str] = ()) -> CanonBody:
    detection, body = _body(path)
    request = RecogniseRequest(
        path=path, detection=detection, body=body, pages=[*pages], languages=[*languages], dpi=DPI
    )
    return recognise(request, engine=engine)


@pytest.mark.parametrize("expected", [(), ("en",), ("de",)])
def test_missing_language_is_said_and_never_passes_for_english(tmp_path: Path, expected: tuple[str, ...]) -> None:
    path = scan(tmp_path / "german.pdf", picture(page(GERMAN), dpi=200), points=0.36)
    body = _with(_Without("de"), path, languages=expected)
    assert "recognition_language_missing" in body.warnings
    assert body.metadata["recognition_languages_missing"] == "de"
    assert body.confidence is not None
    assert body.confidence <= 0.5
    problems = screen(body, Policy(), size=path.stat().st_size).problems
    assert "recognition_language_missing" in problems


def test_expected_language_without_model_does_no_harm_to_another(tmp_path: Path) -> None:
    body = _with(_Without("de"), scan(tmp_path / "a.pdf", picture(page(), dpi=200), points=0.36), languages=("de",))
    assert _text(body) == LETTER
    assert body.warnings == []
    assert body.confidence is not None
    assert body.confidence > 0.9


def test_broken_text_layer_is_replaced_by_what_is_to_be_seen(tmp_path: Path) -> None:
    document = pymupdf.open(scan(tmp_path / "clean.pdf", picture(page(), dpi=200), points=0.36))
    shifted = "".join(chr(ord(c) + 29) if c.isalpha() else c for c in LETTER)
    document[0].insert_textbox((72, 120, 520, 700), shifted, fontsize=12, overlay=False, color=(0, 0, 0))
    document.save(tmp_path / "shifted.pdf")
    body = _recognised(tmp_path / "shifted.pdf", pages=(1,))
    assert _text(body) == LETTER
    assert body.method is Method.OCR
    assert {item.what for item in body.dropped} == {"replaced_text_layer"}


def test_text_in_a_picture_is_added_and_text_of_the_layer_is_not_doubled(tmp_path: Path) -> None:
    inside = picture(page(REPLY, size=14), dpi=150).crop((130, 230, 1100, 400))
    document = pymupdf.open()
    sheet = document.new_page(width=595, height=842)
    sheet.insert_textbox((72, 72, 520, 300), LETTER, fontsize=12)
    pixels = pymupdf.Pixmap(pymupdf.csGRAY, inside.width, inside.height, inside.tobytes(), False)
    sheet.insert_image((72, 400, 537, 482), pixmap=pixels)
    document.save(tmp_path / "page.pdf")
    body = _recognised(tmp_path / "page.pdf", pages=(1,))
    assert _text(body).count("divers") == 1
    assert _text(body).startswith(LETTER)
    assert "fishermen may use the northern stairs" in _text(body)
    assert [block.source for block in body.blocks if block.text] == [BlockSource.TEXT_LAYER, BlockSource.OCR]
    assert body.method is Method.MIXED


def test_picture_without_text_gives_no_text(tmp_path: Path) -> None:
    photo = Image.radial_gradient("L").resize((900, 700))
    draw = ImageDraw.Draw(photo)
    for step in range(40):
        draw.ellipse((step * 20, step * 13 % 500, step * 20 + 60, step * 13 % 500 + 80), fill=step * 6, outline=255)
    photo.save(tmp_path / "photo.png")
    body = _recognised(tmp_path / "photo.png", languages=())
    assert body.blocks == []
    assert body.pages[0].source is BlockSource.OCR


@pytest.mark.parametrize("degrees", [-3.0, 1.5])
def test_skewed_page_is_straightened_and_its_boxes_lie_on_the_page(tmp_path: Path, degrees: float) -> None:
    askew = picture(page(), dpi=200).rotate(degrees, Image.Resampling.BICUBIC, fillcolor=255)
    body = _recognised(scan(tmp_path / "askew.pdf", askew, points=0.36))
    assert _text(body) == LETTER
    box = body.blocks[0].bbox
    assert box is not None
    ink = ImageOps.invert(askew).getbbox()
    assert ink is not None
    assert box == pytest.approx([value * 0.36 for value in ink], abs=18)  # around the corners of a turned box


def test_small_type_is_read_enlarged(tmp_path: Path) -> None:
    picture(page(size=11), dpi=72).save(tmp_path / "small.png")
    body = _recognised(tmp_path / "small.png")
    read = _text(body).split()
    assert len(set(read) & set(LETTER.split())) >= 0.9 * len(set(LETTER.split()))


def test_every_frame_of_a_tiff_is_read(tmp_path: Path) -> None:
    first, second = picture(page(LETTER), dpi=150), picture(page(REPLY), dpi=150)
    first.save(tmp_path / "pages.tif", save_all=True, append_images=[second])
    body = _recognised(tmp_path / "pages.tif")
    assert _text(body) == f"{LETTER} {REPLY}"
    assert [block.page for block in body.blocks] == [1, 2]


class _Asked(Tesseract):
    """Tesseract, and how large the images are that it is asked about."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: list[tuple[int, int]] = []

    def read(
        self, image: Image.Image, languages: Sequence[str], *, dpi: int | None, seconds: float, block: bool = False
    ) -> list[SeenLine]:
        self.sizes.append(image.size)
        return super().read(image, languages, dpi=dpi, seconds=seconds, block=block)


def test_a_paragraph_in_another_language_is_read_again_and_it_alone(tmp_path: Path) -> None:
    _needs("de")
    document = page(LETTER + " " + REPLY)
    document[0].insert_textbox((72, 400, 520, 600), GERMAN, fontsize=12, fontname="tiro")
    engine = _Asked()
    body = _with(engine, scan(tmp_path / "two.pdf", picture(document, DPI), points=0.48), languages=("en",))
    assert _text(body) == f"{LETTER} {REPLY} {GERMAN}"
    assert body.metadata["recognition_languages"] == "en de"
    whole, part = engine.sizes
    assert part[0] * part[1] < 0.2 * whole[0] * whole[1]
    box = body.blocks[-1].bbox
    assert box is not None
    assert box[1] == pytest.approx(400, abs=8)


def test_lines_that_run_down_are_turned_without_a_second_reading(tmp_path: Path) -> None:
    engine = _Asked()
    image = picture(page(), 200).rotate(270, expand=True)
    body = _with(engine, scan(tmp_path / "scan.pdf", image, points=0.36), languages=("en",))
    assert _text(body) == LETTER
    assert len(engine.sizes) == 1


class _Slow(Tesseract):
    """Tesseract that has no time for pages after the first `most`."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._left_over = most

    def read(
        self, image: Image.Image, languages: Sequence[str], *, dpi: int | None, seconds: float, block: bool = False
    ) -> list[SeenLine]:
        self._left_over -= 1
        limit = seconds if self._left_over >= 0 else 0.001
        return super().read(image, languages, dpi=dpi, seconds=limit, block=block)


def test_a_page_without_time_is_held_and_its_canon_is_not_taken_for_the_whole(tmp_path: Path) -> None:
    first, second = picture(page(LETTER), DPI), picture(page(REPLY), DPI)
    path = scan(tmp_path / "scan.pdf", first, second, points=0.48)
    body = _with(_Slow(1), path, languages=("en",))
    assert _text(body) == LETTER
    assert "page_failed" in body.warnings
    assert pages_needing(body) == [2]
    assert "needs_recognition" in screen(body, Policy(), size=path.stat().st_size).problems
    detection, before = _body(path)
    planned = fingerprint(detection, ["en"], before=before.fingerprint, dpi=DPI)
    assert body.fingerprint != planned
    assert body.fingerprint[:8] == planned[:8]
    assert _with(Tesseract(), path, languages=("en",)).fingerprint == planned


def test_a_picture_that_could_not_be_read_is_not_skipped_as_one_without_text(tmp_path: Path) -> None:
    picture(page(), DPI).save(tmp_path / "page.png")
    body = _with(_Slow(0), tmp_path / "page.png", languages=("en",))
    assert body.warnings == ["page_failed"]
    screening = screen(body, Policy(), size=10_000)
    assert screening.outcome is Outcome.QUARANTINED
    assert "needs_recognition" in screening.problems


def test_a_doubtful_line_of_known_words_is_no_noise() -> None:
    def line(text: str, sure: float, top: float) -> SeenLine:
        words = [SeenWord(word, (10.0, top, 90.0, top + 20), sure) for word in text.split()]
        return SeenLine(words=words, box=(10.0, top, 90.0, top + 20), base=top + 16, size=20, paragraph=1)

    lines = [line("Example of several pages", 0.95, 0), line("Page 2", 0.07, 30), line("bq cvw", 0.07, 60)]
    kept, dropped = without_noise(Reading(lines=lines, size=(100, 100), languages=("en",)))
    assert [line.text for line in kept] == ["Example of several pages", "Page 2"]
    assert dropped == 5


def test_two_scripts_on_one_page(tmp_path: Path) -> None:
    _needs("ru")
    russian = (
        "Уважаемые члены совета, водолазы осмотрели стену под старым краном. Ниже уровня воды есть трещина длиной два "
        "метра, и три больших камня рядом с ней не закреплены. Мы советуем закрыть набережную."
    )
    document = page(LETTER)
    document[0].insert_htmlbox((72, 300, 520, 700), f"<p style='font-family:serif;font-size:12pt'>{russian}</p>")
    body = _recognised(scan(tmp_path / "two.pdf", picture(document, DPI), points=0.48), languages=("en",))
    words = set(russian.split())
    assert len(words & set(_text(body).split())) >= 0.9 * len(words)
    assert "divers have looked at the wall" in _text(body)
    missing = _with(_Without("ru", "uk", "bg", "sr", "be", "mk"), tmp_path / "two.pdf")
    assert "recognition_language_missing" in missing.warnings
