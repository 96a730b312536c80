"""Progress while work goes on: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from streams.cli.output import safe

LINE_EVERY_S = 5.0


class Meter:
    """Shows `done` of `total` and a text; both may change while it runs."""

    def __init__(self, label: str, *, quiet: bool = False) -> None:
        self._label = label
        self._quiet = quiet
        self._bar: Progress | None = None
        self._said = time.monotonic()
        self._line = ""

    def __enter__(self) -> Meter:
        if not self._quiet and sys.stderr.isatty():
            self._bar = Progress(
                SpinnerColumn(),
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TextColumn("{task.fields[text]}", markup=False),
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
            self._bar.update(self._task, completed=done, total=total, text=safe(text))
        elif not self._quiet and time.monotonic() - self._said >= LINE_EVERY_S:
            of = f" of {total}" if total is not None else ""
            line = safe(f"{self._label}: {done}{of} {text}".rstrip())
            if line != self._line:
                self._said, self._line = time.monotonic(), line
                print(line, file=sys.stderr, flush=True)  # noqa: T201


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
