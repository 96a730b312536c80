"""Tesseract by a process that has its models loaded reads as the program does, and what goes wrong costs one image."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest
from PIL import Image

from streams.extract.recognise.engine import EngineFailed, EngineTooSlow, SeenLine
from streams.extract.tools import tesseract, tesseract_process
from streams.extract.tools.tesseract import Tesseract
from tests.unit.extract.page_images import LETTER, REPLY, page, picture


def _image(text: str, dpi: int = 150) -> Image.Image:
    return picture(page(text), dpi=dpi).convert("L").crop((0, 0, 1200, 500))


def _read(image: Image.Image, seconds: float = 60.0) -> list[SeenLine]:
    return Tesseract().read(image, ["en"], dpi=150, seconds=seconds)


@pytest.fixture(autouse=True)
def _afresh() -> Iterator[None]:
    tesseract_process.close_all()
    yield
    tesseract_process.close_all()


def _process() -> tesseract_process.Loaded:
    (process,) = tesseract_process._processes.values()
    assert process is not None
    return process


def test_reads_as_the_program_does_whatever_was_read_before(monkeypatch: pytest.MonkeyPatch) -> None:
    images = [_image(LETTER), _image(REPLY).rotate(90, expand=True), _image(LETTER)]
    ready = [_read(image) for image in images]
    assert _process().is_alive
    monkeypatch.setattr(tesseract, "loaded", lambda *_: None)
    assert [_read(image) for image in images[:2]] == ready[:2]
    assert ready[2] == ready[0] != []


def test_an_image_without_time_costs_itself_alone() -> None:
    image = _image(LETTER)
    assert _read(image)
    before = _process()
    with pytest.raises(EngineTooSlow):
        _read(image, seconds=0.001)
    assert _read(image)
    assert _process() is before


def test_a_process_that_ends_costs_one_image() -> None:
    image = _image(LETTER)
    assert _read(image)
    process = _process()
    os.kill(process._process.pid, signal.SIGKILL)
    with pytest.raises(EngineFailed):
        process.read(image, layout=3, dpi=None, seconds=60.0, most=1 << 20)
    assert _read(image)


def test_a_library_of_another_version_is_not_asked() -> None:
    folder = tesseract._installed("tesseract")[1]
    assert folder is not None
    environment = tesseract._environment()
    assert tesseract_process.loaded("tesseract", "0.1", folder, "eng", environment) is None
    assert tesseract_process.loaded("no-such-program", "5.3.0", folder, "eng", environment) is None


def test_no_more_processes_than_are_kept() -> None:
    if "de" not in Tesseract().languages():
        pytest.skip("needs the model for de")
    image = _image(LETTER)
    for languages in (["en"], ["en", "de"], ["de"]):
        Tesseract().read(image, languages, dpi=None, seconds=60.0)
    assert len(tesseract_process._processes) <= tesseract_process.KEPT
