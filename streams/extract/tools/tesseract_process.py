"""Asks processes that have tesseract's models loaded (tesseract_loaded.py), and keeps those that were asked last."""

from __future__ import annotations

import atexit
import contextlib
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

from PIL import Image

from streams.extract.recognise.engine import EngineFailed, EngineTooSlow
from streams.extract.tools import tesseract_loaded
from streams.extract.tools.tesseract_loaded import HEAD, LENGTH, TOO_SLOW, Head

KEPT = 2
"""Processes that stay, each for other languages: the document's, and those of its parts. One has some 50 MB."""

_processes: dict[tuple[Path, str], Loaded | None] = {}
"""By the folder and the names of their models; None where there can be none."""


class Loaded:
    """One process. Raises OSError if it can't be started, or finds no library of that version."""

    def __init__(self, program: Path, version: str, folder: Path, models: str, environment: Mapping[str, str]) -> None:
        libraries = program.resolve().parent.parent / "lib"
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", tesseract_loaded.__file__, str(libraries), str(folder), models],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in: BinaryIO = self._process.stdin  # type: ignore[assignment]
        self._out: BinaryIO = self._process.stdout  # type: ignore[assignment]
        try:
            said = self._frame(1 << 10)
            if said.decode("ascii", "replace") != version:
                raise EngineFailed("It is of another version than the program.")
        except EngineFailed as error:
            self.close()
            raise OSError(str(error)) from error

    def read(self, image: Image.Image, *, layout: int, dpi: int | None, seconds: float, most: int) -> bytes:
        """The hOCR of a grey image.

        Args:
            layout: tesseract's page segmentation mode.
            dpi: pixels per inch, where known.
            seconds: that it may take.
            most: bytes of an answer.

        Raises:
            EngineFailed: there is no answer (EngineTooSlow: in time).
        """
        head = Head(image.width, image.height, layout, dpi or 0, seconds)
        try:
            self._in.write(HEAD.pack(*head))
            self._in.write(image.tobytes())
            self._in.flush()
        except OSError as error:
            self.close()
            raise EngineFailed("Its process has ended.") from error
        return self._frame(most)

    def _frame(self, most: int) -> bytes:
        raw = self._out.read(LENGTH.size)
        length = LENGTH.unpack(raw)[0] if len(raw) == LENGTH.size else None
        if length == TOO_SLOW:
            raise EngineTooSlow("It took longer than it may.")
        if length is not None and length < 0:
            raise EngineFailed("It ended without an answer.")
        if length is None or length > most:
            self.close()
            raise EngineFailed("Its process has ended." if length is None else f"Its answer has {length} bytes.")
        return self._out.read(length)

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def close(self) -> None:
        """Ends the process."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._in, self._out):
            with contextlib.suppress(OSError):  # what was not written goes nowhere
                pipe.close()


def loaded(program: str, version: str, folder: Path, models: str, environment: Mapping[str, str]) -> Loaded | None:
    """The process with these models, started if need be; None where there is no library of the program's version.

    Args:
        program: that would read instead, by its name or path.
        version: what the program says; another library might read otherwise.
        folder: of the models.
        models: their names, joined by `+`.
    """
    key = (folder, models)
    process = _processes.pop(key, None) if key in _processes else _started(program, version, *key, environment)
    if process is not None and not process.is_alive:
        process.close()
        process = _started(program, version, *key, environment)
    _processes[key] = process  # the last one of all, so that it stays longest
    while len(_processes) > KEPT:
        oldest = _processes.pop(next(iter(_processes)))
        if oldest is not None:
            oldest.close()
    return process


def _started(program: str, version: str, folder: Path, models: str, environment: Mapping[str, str]) -> Loaded | None:
    place = shutil.which(program)
    if place is None:
        return None
    try:
        with open(place, "rb") as file:
            if file.read(2) == b"#!":
                return None  # somebody's own script, which may do more than call the library
        return Loaded(Path(place), version, folder, models, environment)
    except OSError:
        return None


@atexit.register
def close_all() -> None:
    """Ends all processes; they would end with this one by themselves."""
    while _processes:
        process = _processes.popitem()[1]
        if process is not None:
            process.close()
