"""How far a long document is: a line now and then, and no stage that counts as stuck meanwhile."""

from __future__ import annotations

import io
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pymupdf
import pytest

from streams.blobs import open_store
from streams.ops.inspect import Declared, examine
from streams.records import Content, Decoded, Detection, Outcome
from streams.runtime import progress
from streams.runtime.progress import Progress
from streams.runtime.slots import Slots
from streams.runtime.stage import StageApp
from streams.runtime.stages import ExtractStage, Workshop
from streams.settings import Settings
from streams.topology import STAGES
from tests.unit.ledger.make import result, up
from tests.unit.runtime.test_stages import incoming


def report(pages: int) -> bytes:
    """A PDF with text on each page."""
    out = pymupdf.open()
    for number in range(pages):
        who = ("harbour master keeps a book of all ships", "pilot has brought the ship home", "keeper is away")[number]
        page = out.new_page()
        for line in range(12):  # one line alone would be taken for the head of the page
            page.insert_text((60, 250 + 15 * line + 7 * number), f"The {who} until the evening of day {line + 3}.")
    return bytes(out.tobytes())


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [1000.0]
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: now[0]))
    return now


def test_a_line_comes_every_ten_seconds_and_none_of_what_is_quickly_done(
    clock: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger=progress.__name__)
    told = Progress("Extraction").of("share:report.pdf", after=5)
    for second in range(35):
        clock[0] = 1000.0 + second
        told(second, 40)
    assert caplog.messages == [
        f"Extraction of share:report.pdf: pages to go: {left}" for left in (35, 25, 15)
    ]  # fmt: skip
    caplog.clear()
    told = Progress("Extraction").of("share:report.pdf")
    clock[0] += 60.0
    told(40, 40)
    assert not caplog.messages  # it is done: the outcome says so


async def test_a_document_in_extraction_tells_its_pages_and_keeps_the_stage_moving(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(progress, "TELL_EVERY_S", 0.0)
    caplog.set_level("INFO", logger=progress.__name__)
    settings = Settings(data_dir=tmp_path)
    store, slots = open_store(settings), Slots(settings.worker)
    stage = ExtractStage(Workshop(settings, store, slots))
    unused: Any = None
    app = StageApp(STAGES["extract"], stage, settings, "127.0.0.1:1", unused)
    app.progressed_at -= 1000.0
    assert app.idle_s >= 1000.0
    put = store.put_file(io.BytesIO(report(3)))
    document = msgspec.structs.replace(result(up(0, "x")).document, content=Content(sha256=put.sha256, size=put.size))
    detection = Detection(media_type="application/pdf", detected_by="signature:pdf", rules="1")
    try:
        await stage.handle(incoming("decoded", Decoded(document=document, detection=detection)))
    finally:
        await slots.stop()
    assert caplog.messages[0] == "Extraction of share:doc: pages to go: 3"  # a new slot tells its first step at once
    assert app.idle_s < 120.0


async def test_a_file_without_a_log_tells_its_pages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(progress, "TELL_EVERY_S", 0.0)
    caplog.set_level("INFO", logger=progress.__name__)
    settings = Settings(data_dir=tmp_path)
    path = tmp_path / "report.pdf"
    path.write_bytes(report(2))
    slots = Slots(settings.worker)
    try:
        examined = await examine(path, "report.pdf", settings, slots, Declared())
    finally:
        await slots.stop()
    assert examined.found.screening.outcome is Outcome.READY
    assert caplog.messages[0] == "Extraction of report.pdf: pages to go: 2"
