"""Pages that are pictures, recognised by the real engine."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import pytest
from PIL import Image, ImageOps

from streams.extract import extract
from streams.extract.finish import body_text
from streams.extract.outcome import Request
from streams.extract.recognise import RecogniseRequest, fingerprint, pages_needing, recognise
from streams.extract.tools.tesseract import Tesseract
from streams.records import BlockSource, CanonBody, Detection, Method
from tests.unit.extract.page_images import GERMAN, LETTER, REPLY, page, picture, scan

pytestmark = pytest.mark.skipif(shutil.which("tesseract") is None, reason="tesseract is not installed")


def _needs(language: str) -> None:
    if language not in Tesseract().languages():
        pytest.skip(f"tesseract has no model for {language!r}")


def _body(path: Path) -> tuple[Detection, CanonBody]:
    kinds = {".pdf": "application/pdf", ".png": "image/png", ".tif": "image/tiff", ".jpg": "image/jpeg"}
    detection = Detection(media_type=kinds[path.suffix], detected_by="test")
    return detection, extract(Request(path=path, detection=detection), content_hash="00")


def _recognised(path: Path, pages: tuple[int, ...] = (), languages: tuple[str, ...] = ("en",)) -> CanonBody:
    detection, body = _body(path)
    return recognise(
        RecogniseRequest(path=path, detection=detection, body=body, pages=list(pages), languages=list(languages))
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
    assert body.fingerprint == fingerprint(detection, ["en"]) != before.fingerprint
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
    body = _recognised(scan(tmp_path / "mixed.pdf", picture(page()), texts={1: REPLY, 3: "The end. " + REPLY}))
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
    body = _recognised(scan(tmp_path / "columns.pdf", picture(page(LETTER, second=REPLY, title="Harbour wall"))))
    assert _text(body) == f"Harbour wall {LETTER} {REPLY}"


def test_another_language_than_expected_is_found(tmp_path: Path) -> None:
    _needs("de")
    body = _recognised(scan(tmp_path / "german.pdf", picture(page(GERMAN))), languages=("en",))
    assert _text(body) == GERMAN
    assert body.language == "de"
    assert "recognition_language_missing" not in body.warnings
