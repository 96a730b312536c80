"""How commands speak: tables and lines for a person, one JSON value for a program, errors in one line on stderr."""

from __future__ import annotations

import json
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


def json_option(command: F) -> F:
    """Adds `--json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON for programs instead of text.")(command)


def console() -> Console:
    """For stdout; plain where that is no terminal."""
    return Console(highlight=False, soft_wrap=not sys.stdout.isatty())


def show_json(value: Any) -> None:
    click.echo(json.dumps(value, ensure_ascii=False, default=str))


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
    """Text for a terminal: control characters of documents and names can't steer it."""
    text = "" if value is None else str(value)
    return "".join(char if char.isprintable() or char in " \n\t" else f"\\x{ord(char):02x}" for char in text)


def say(text: str = "") -> None:
    click.echo(safe(text))


def note(text: str) -> None:
    """Something on the side: stderr, so that output stays clean for programs."""
    click.echo(safe(text), err=True)


def fail(error: CanonryError) -> int:
    """Says an error in one line; the exit status for it."""
    note(f"canonry: {error}")
    if isinstance(error, UsageError | SettingsError):
        return EXIT_USAGE
    if isinstance(error, NotFound):
        return EXIT_INCOMPLETE
    return EXIT_UNAVAILABLE
