"""A backlog of scans on a real log: texts pass it, and a kill in the middle costs no page and repeats none."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections import Counter
from pathlib import Path

import pymupdf
import pytest

from streams.settings import RecognitionSettings, Settings, WorkerSettings
from tests.integration.way import Way, interrupt, running, until

SHIPS = [
    ["Aurora", "Bonanza", "Caravel"],
    ["Dolphin", "Emerald", "Falcon"],
    ["Gondola", "Hercules", "Iceberg"],
]
"""Of each book, the ship on each page."""
TEXTS_WITHIN_S = 20.0  # alone they take less than one; other tests may be at work beside this one
TESSERACT = shutil.which("tesseract")

pytestmark = pytest.mark.skipif(TESSERACT is None, reason="tesseract is not installed")


def scan(ships: list[str]) -> bytes:
    """A PDF of pictures of text."""
    out = pymupdf.open()
    for ship in ships:
        typed = pymupdf.open()
        sheet = typed.new_page(width=420, height=140)
        text = f"The pilot has brought the {ship} into the harbour before the evening, and went home."
        sheet.insert_textbox(pymupdf.Rect(30, 30, 390, 130), text, fontsize=16)
        out.new_page(width=420, height=140).insert_image((0, 0, 420, 140), pixmap=sheet.get_pixmap(dpi=150))
    return bytes(out.tobytes())


class Reads:
    """A tesseract that notes which pictures it was given, before it reads them."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._log = folder / "pictures"
        program = folder / "tesseract"
        program.write_text(
            f'#!/bin/sh\n[ "$1" = stdin ] && md5sum < /proc/self/fd/0 >> {self._log}\nexec {TESSERACT} "$@"\n'
        )
        program.chmod(0o755)
        self.path = f"{folder}:{os.environ['PATH']}"

    def count(self) -> Counter[str]:
        return Counter(self._log.read_text().split("  -\n")[:-1]) if self._log.exists() else Counter()


def test_texts_pass_a_backlog_of_scans_and_a_kill_repeats_no_page(settings: Settings, tmp_path: Path) -> None:
    reads = Reads(tmp_path / "bin")
    recognition = RecognitionSettings(slots=1, languages=["en"], pages_per_minute=50)
    settings = settings.model_copy(update={"recognition": recognition, "worker": WorkerSettings(slots=1, shutdown_s=8)})
    way = Way(settings, tmp_path / "share", PATH=reads.path)
    for number, ships in enumerate(SHIPS):
        way.write(f"book-{number}.pdf", scan(ships))
    with running(way.start("run", str(way.folder), "--source", "share", "--watch")) as process:
        until(lambda: reads.count().total() >= 1, 60, "recognition has begun")
        began = time.monotonic()
        texts = [f"note-{number}.txt" for number in range(3)]
        for name in texts:
            way.write(name, f"The {name} says that the harbour master is away until the end of the week.\n" * 3)
        until(lambda: {way.documents()[n].outcome for n in texts if n in way.documents()} == {"ready"}, 60, "the texts")
        took = time.monotonic() - began
        waiting = [row for name, row in way.documents().items() if name.endswith(".pdf") and row.outcome == "pending"]
        assert waiting, "the scans were done before the texts"
        assert took < TEXTS_WITHIN_S

        until(lambda: reads.count().total() >= 3, 60, "some pages are read")
        worker = way.worker_pid(process.pid)
        assert worker is not None
        os.kill(worker, signal.SIGKILL)
        before = reads.count()
        until(lambda: way.worker_pid(process.pid) not in (None, worker), 30, "another worker")
        until(
            lambda: all(row.outcome == "ready" for row in way.documents().values()),
            90,
            f"every document is ready: {[(n, r.outcome, r.error) for n, r in way.documents().items()]}",
        )
        interrupt(process)
    after = reads.count()
    assert len(after) == sum(map(len, SHIPS))  # no page is lost
    again = {picture for picture, times in after.items() if times > 1}
    # What the killed worker had in hand comes again, and nothing that was done before.
    assert again <= set(before)
    assert len(again) <= 2
    for number, ships in enumerate(SHIPS):
        for ship in ships:
            assert way.found(ship) == [f"book-{number}.pdf"]
