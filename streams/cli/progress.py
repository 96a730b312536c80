"""Progress while work goes on: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

LINE_EVERY_S = 5.0


class Meter:
    """Shows `done` of `total` and a text; both may change while it runs."""

    def __init__(self, label: str, *, quiet: bool = False) -> None:
        self._label = label
        self._quiet = quiet
        self._bar: Progress | None = None
        self._said = time.monotonic()

    def __enter__(self) -> Meter:
        if not self._quiet and sys.stderr.isatty():
            self._bar = Progress(
                SpinnerColumn(),
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TextColumn("{task.fields[text]}"),
                console=Console(stderr=True),
                transient=True,
            )
            self._task = self._bar.add_task(self._label, total=None, text="")
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, done: int, total: int | None, text: str = "") -> None:
        if self._bar is not None:
            self._bar.update(self._task, completed=done, total=total, text=text)
        elif not self._quiet and time.monotonic() - self._said >= LINE_EVERY_S:
            self._said = time.monotonic()
            of = f" of {total}" if total is not None else ""
            print(f"{self._label}: {done}{of} {text}".rstrip(), file=sys.stderr, flush=True)  # noqa: T201


@contextlib.contextmanager
def progress_bar(total: int, label: str, *, quiet: bool = False) -> Iterator[Callable[[], float]]:
    """A bar over a known number of steps; each call of what is yielded is one step and gives the seconds so far."""
    started = time.monotonic()
    done = 0
    with Meter(label, quiet=quiet) as meter:
        meter.update(0, total)

        def advance() -> float:
            nonlocal done
            done += 1
            seconds = time.monotonic() - started
            meter.update(done, total, f"{done / seconds:.0f}/s" if seconds else "")
            return seconds

        yield advance
