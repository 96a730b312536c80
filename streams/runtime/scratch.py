"""Folders for what a job writes on its way; those of processes that died are cleared."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from streams.errors import CanonryError
from streams.settings import Settings

PREFIX = "canonry-members-"
LEFTOVER_S = 6 * 3600.0
"""Age at which a folder belongs to a process that died; no job takes so long."""


class ScratchUnavailable(CanonryError):
    """The scratch folder can't be written to. Transient: a full disk is nobody's document's fault."""

    code = "scratch_unavailable"
    transient = True


@contextmanager
def scratch_folder(settings: Settings) -> Iterator[Path]:
    """An empty folder below `data_dir`, and its end.

    Raises:
        ScratchUnavailable: none can be made.
    """
    root = settings.data_dir / "scratch"
    try:
        root.mkdir(parents=True, exist_ok=True)
        _clear_leftovers(root)
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=root)).absolute()
    except OSError as error:
        raise unavailable(f"{root}: {error.strerror or error}") from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def unavailable(why: str) -> ScratchUnavailable:
    """The error for a scratch folder that can't be written to."""
    return ScratchUnavailable(
        f"The scratch folder can't be written to: {why}.",
        remedy="Free space on its file system or correct data_dir (CANONRY_DATA_DIR); work goes on by itself then.",
    )


@cache
def _clear_leftovers(root: Path) -> None:
    """Once in each process: no other one outlives its jobs by so much that it had to be looked for again."""
    horizon = time.time() - LEFTOVER_S
    for folder in root.glob(f"{PREFIX}*"):
        with suppress(FileNotFoundError):  # another process clears, too
            if folder.stat().st_mtime < horizon:
                shutil.rmtree(folder, ignore_errors=True)
