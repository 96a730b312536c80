"""A data directory and a broker of a benchmark's own; the folders that are measured."""

from __future__ import annotations

import hashlib
import os
import random
from pathlib import Path

from bench.office import make_office
from bench.processes import Measured, canonry
from demo.collect import collect_local_documents
from demo.make_documents import make_documents
from streams.log import broker
from streams.log.local_process import BrokerInfo
from streams.settings import Settings

MADE, COLLECTED = 600, 1400
OFFICE = 300
TEXT = """the meter stands in the cellar and is read every month by the tenant who writes down the number with the date
before the invoice is sent by post to the office where somebody compares it with last year and calls when it looks wrong
because a pipe may leak or a valve was left open over the winter"""
WORDS = TEXT.split()


class World:
    """Use as a context manager: the broker starts with it, and has created all topics before anything is measured."""

    def __init__(self, work: Path) -> None:
        self.work = work
        self.settings = Settings.load(data_dir=work / "data", broker="")
        inherited = {key: value for key, value in os.environ.items() if not key.startswith("CANONRY_")}
        self.environment = inherited | {"CANONRY_DATA_DIR": str(work / "data"), "CANONRY_CONFIG": str(work / "none")}
        self.broker: BrokerInfo | None = None

    def __enter__(self) -> World:
        self.work.mkdir(parents=True, exist_ok=True)
        (self.work / "none").touch()  # an empty configuration: nobody's own settings count here
        self.broker = broker.start(self.settings)
        return self

    def __exit__(self, *_: object) -> None:
        broker.stop(self.settings)

    @property
    def address(self) -> str:
        assert self.broker is not None
        return self.broker.address

    def canonry(self, *words: str) -> Measured:
        assert self.broker is not None
        return canonry(self.environment, *words, broker_pid=self.broker.pid)

    def one_document(self, name: str) -> Path:
        """A folder with one small text of its own."""
        return self.small_files(1, name)

    def small_files(self, count: int, name: str) -> Path:
        """A folder of that many texts of about 60 words, each another one; made once."""
        folder = self.work / name
        for number in range(count):
            file = folder / f"{number // 100:03d}" / f"note-{number:05d}.txt"
            if not file.exists():
                file.parent.mkdir(parents=True, exist_ok=True)
                chance = random.Random(f"{name}/{number}")  # noqa: S311 - texts, no secrets
                sentences = [" ".join(chance.choices(WORDS, k=12)).capitalize() + "." for _ in range(5)]
                file.write_text(f"Note {number} of {name}\n\n" + "\n".join(sentences) + "\n", "utf-8")
        return folder

    def office(self) -> tuple[Path, list[Path]]:
        """Documents of several pages, as `bench.office` says."""
        folder = self.work / "office"
        if not folder.exists():
            make_office(folder, OFFICE)
        return folder, one_of_each(folder)

    def documents(self) -> tuple[Path, list[Path]]:
        """Made and real documents, each content once, so that the log gains nothing by knowing contents already."""
        folder = self.work / "documents"
        if not folder.exists():
            folder.mkdir(parents=True)
            make_documents(folder, MADE)
            collect_local_documents(folder, COLLECTED)
        return folder, one_of_each(folder)


def one_of_each(folder: Path) -> list[Path]:
    """Removes files whose content another one has; the files that stay."""
    seen: set[str] = set()
    stay: list[Path] = []
    for file in sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()):
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        if digest in seen:
            file.unlink()
            continue
        seen.add(digest)
        stay.append(file)
    return stay
