"""How commands speak: tables and lines for a person, one JSON value for a program, errors in one line on stderr."""

from __future__ import annotations

import io
import json
import logging
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from streams.errors import CanonryError, NotFound, SettingsError, UsageError

F = TypeVar("F", bound=Callable[..., Any])

EXIT_INCOMPLETE = 1
EXIT_USAGE = 2
EXIT_UNAVAILABLE = 3
EXIT_INTERRUPTED = 130  # as shells report a command that SIGINT ended
UNBROKEN = 1_000_000  # columns
CLIENTS = ("faust", "mode", "aiokafka")  # they call passing states errors; what does not pass, we say ourselves
# Control characters but tab and line feed, line separators, lone surrogates; bidirectional embeddings and isolates.
STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\u202a-\u202e\u2066-\u2069]")


def json_option(command: F) -> F:
    """Adds `--json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON for programs instead of text.")(command)


def console() -> Console:
    """For stdout; plain where that is no terminal, and then no line is broken, however long it is."""
    piped = not sys.stdout.isatty()
    return Console(highlight=False, soft_wrap=piped, width=UNBROKEN if piped else None)


def show_json(value: Any) -> None:
    """One JSON value in one line."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    click.echo(STEERING.sub(lambda match: f"\\u{ord(match[0]):04x}", text))


def show_table(columns: Sequence[str], rows: Iterable[Sequence[Any]], *, title: str | None = None) -> None:
    """A table whose cells are plain text: nothing from a document is taken for markup or control codes."""
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    numbers = [True] * len(columns)
    rows = [list(row) for row in rows]
    for row in rows:
        for index, cell in enumerate(row):
            numbers[index] &= isinstance(cell, int | float) or cell == ""
    for index, column in enumerate(columns):
        table.add_column(column, justify="right" if rows and numbers[index] else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(safe(cell)) for cell in row))
    console().print(table)


def safe(value: Any) -> str:
    """Text for a terminal: nothing in a document or a name can steer it or turn its line around."""
    return STEERING.sub(_visible, "" if value is None else str(value))


def _visible(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def say(text: str = "") -> None:
    click.echo(safe(text))


def note(text: str) -> None:
    """Something on the side: stderr, so that output stays clean for programs."""
    click.echo(safe(text), err=True)


def prepare_streams() -> None:
    """What a terminal's encoding lacks is shown as an escape instead of ending the command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def tell_progress(name: str) -> None:
    """On a terminal, what a module tells of its progress is shown on the side."""
    if sys.stderr.isatty():
        handler = logging.StreamHandler()
        handler.setFormatter(_Safe())
        logger = logging.getLogger(name)
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)


class _Safe(logging.Formatter):
    """Names of documents can't steer the terminal."""

    def format(self, record: logging.LogRecord) -> str:
        return safe(super().format(record))


def quiet_clients(level: int = logging.CRITICAL) -> None:
    """What the libraries of the log say of each attempt to connect is noise beside our one line."""
    for name in CLIENTS:
        logging.getLogger(name).setLevel(level)


def misused(error: click.ClickException) -> int:
    """Says how a command was called wrongly, in one line; the exit status for it."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    hint = f" See `{context.command_path} --help`." if context is not None else ""
    note(f"canonry: {' '.join(error.format_message().split())}{hint}")
    return EXIT_USAGE


def fail(error: CanonryError) -> int:
    """Says an error; the exit status for it."""
    note(f"canonry: {error}")
    if isinstance(error, UsageError | SettingsError):
        return EXIT_USAGE
    if isinstance(error, NotFound):
        return EXIT_INCOMPLETE
    return EXIT_UNAVAILABLE
