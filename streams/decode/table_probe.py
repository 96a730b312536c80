"""Whether a text is a table of delimited values (RFC 4180 and its many cousins), and with which delimiter.

A table's rows have the same number of cells, and its columns hold things of one kind. Prose has commas, too: they are
followed by a space, and what stands between them is long.
"""

from __future__ import annotations

import csv
import re
from collections import Counter

from streams.decode.kinds import TextKind

SAMPLE = 50_000
MAX_ROWS = 200

_CSV_NAMES = (".csv",)
_TSV_NAMES = (".tsv", ".tab")
_NUMBER = re.compile(
    r"""["']?\s*[-+(]?[$€£]?\s?\d[\d.,:/ T'+_-]*(?:[eE][-+]?\d+)?\s?[%)Z]?\s*["']?|true|false|yes|no""", re.IGNORECASE
)
_CODE_LINE = re.compile(r"[{};]\s*$|^\s*(?://|/\*|#include|def |class |import |function |return\b)")
_LEAST = {"\t": (2, 2), ";": (2, 3), ",": (2, 3), "|": (3, 3)}
"""Delimiter -> least columns, least rows."""


def table(text: str, name: str) -> TextKind | None:
    """Tab-separated or comma-separated values; None when the text is neither. `name`: in lower case."""
    delimiter = find_delimiter(text)
    if name.endswith(_TSV_NAMES):
        return TextKind("text/tab-separated-values", "name:tsv")
    if name.endswith(_CSV_NAMES):
        return TextKind("text/csv", "name:csv")
    if delimiter is None:
        return None
    return TextKind("text/tab-separated-values" if delimiter == "\t" else "text/csv", "text:table")


def find_delimiter(text: str) -> str | None:
    """The delimiter that makes a table of the text's beginning; None when none does."""
    sample = text[:SAMPLE]
    lines = re.split(r"\r\n|\n|\r", sample)
    if len(text) > SAMPLE:
        lines = lines[:-1]
    lines = [line for line in lines[:MAX_ROWS] if line.strip()]
    if len(lines) < 2 or sum(map(_is_code, lines)) > 0.3 * len(lines):
        return None
    return next((one for one in _LEAST if _is_table(lines, one)), None)


def _is_code(line: str) -> bool:
    return line.count(";") < 3 and _CODE_LINE.search(line) is not None


def _is_table(lines: list[str], delimiter: str) -> bool:
    least_columns, least_rows = _LEAST[delimiter]
    if sum(1 for line in lines if delimiter in line) < max(least_rows, len(lines) // 2) - 1:
        return False
    try:
        rows = [row for row in csv.reader(lines, delimiter=delimiter) if row]
    except csv.Error:
        return False
    widths = Counter(len(row) for row in rows)
    width, same = max(widths.items(), key=lambda item: (item[1], item[0]))
    if width < least_columns or same < least_rows:
        return False
    # A preamble of a title or a few remarks stands above many tables, and a sum below.
    body = [row for row in rows if len(row) == width]
    strays = len(rows) - len(body)
    if strays > max(0.05 * len(rows), min(5, 0.3 * len(rows))):
        return False
    cells = [cell for row in body for cell in row]
    filled = [cell for cell in cells if cell.strip()]
    if len(filled) < 0.3 * len(cells) or sum(len(cell) <= 80 for cell in cells) < 0.9 * len(cells):
        return False
    if sum(1 for row in body if not row[0].strip()) > 0.5 * len(body):
        return False  # indentation, or a list whose first column is empty
    spaced = sum(cell.startswith(" ") for row in body for cell in row[1:]) / max(1, len(body) * (width - 1))
    quoted = sum(1 for line in lines if line.count('"') >= 2 * (width - 1)) >= 0.8 * len(lines)
    typed = sum(_is_typed([row[column] for row in body[1:]]) for column in range(width))
    if delimiter == "\t":
        aligned = any(not any(row[column].strip() for row in body) for column in range(1, width - 1))
        return typed > 0 or (same >= 3 and not aligned)
    if quoted and width >= 2:
        return True
    if typed == 0:
        return same >= 4 and ((width >= 4 and spaced <= 0.1 and _mean(filled) <= 25) or (spaced == 0 and width >= 3))
    return (width >= 3 and spaced <= 0.5) or typed == width or (spaced <= 0.1 and same >= 3)


def _is_typed(cells: list[str]) -> bool:
    """Whether the column holds numbers, dates, times or truth values; a title above the header may be among them."""
    filled = [cell for cell in cells if cell.strip()]
    fitting = sum(_NUMBER.fullmatch(cell.strip()) is not None for cell in filled[:50])
    return len(filled) >= 0.3 * len(cells) > 0 and fitting >= 0.8 * min(len(filled), 50)


def _mean(cells: list[str]) -> float:
    return sum(map(len, cells)) / max(1, len(cells))
