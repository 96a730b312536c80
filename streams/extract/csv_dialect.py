"""How a file of delimited values is written: its delimiter and its quotes, by which of them makes the best table.

The measure follows van den Burg, Nazabal and Sutton, "Wrangling messy CSV files by detecting row and type patterns"
(2019): rows of equal width, and cells that are of some kind. Files are read whole for it up to `SAMPLE` characters.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

DELIMITERS = (",", ";", "\t", "|")
SAMPLE = 2_000_000
"""Characters that the candidates are compared on."""
TYPED_CELLS = 20_000
"""Cells of a candidate, spread over the sample, whose kinds are looked at."""
REREAD = 4
"""How many times the length of the text is read again after stray quotes; from then on quotes mean nothing."""

_SEPARATOR_LINE = re.compile(r"sep=(.)[ \t]*(?:\n|\Z)", re.IGNORECASE)
_NUMBER = r"[-+(]?\s?[$€£¥₽]?\s?\d[\d.,' _\u00a0\u202f]*(?:[eE][-+]?\d+)?\s?(?:%|[$€£¥₽]|[A-Z]{3})?\)?|[-+]?[.,]\d+"
_TIME = r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:\s?(?:Z|[+-]\d{2}:?\d{2}|[AaPp][Mm]))?"
_DATE = rf"\d{{1,4}}[-./]\d{{1,2}}[-./]\d{{1,4}}(?:[T ]{_TIME})?|{_TIME}"
_WORDS = r"[\w@#&*+%$€£°'’.:()/?! -]*(?:, [\w@#&*+%$€£°'’.:()/?! -]+)*"
_ADDRESS = r"[\w.+-]+@[\w.-]+|(?:https?|ftp)://\S+"
_NUMBER_OR_DATE = re.compile(f"{_NUMBER}|{_DATE}")
_OF_A_KIND = re.compile(f"{_WORDS}|{_NUMBER}|{_DATE}|{_ADDRESS}")


class Dialect(msgspec.Struct, frozen=True, kw_only=True):
    """Delimiter (None: one column), quote (None: quotes mean nothing), and whether blanks may stand before a quote."""

    delimiter: str | None
    quote: str | None = '"'
    skip_blanks: bool = False


def separator_line(text: str) -> tuple[str | None, int]:
    """The delimiter that a first line `sep=;` names, as Excel reads and writes it, and where the table begins."""
    match = _SEPARATOR_LINE.match(text)
    return (match[1], match.end()) if match else (None, 0)


def find_dialect(text: str, preferred: str | None = None) -> Dialect:
    """The dialect that makes the best table of the text.

    Args:
        preferred: the delimiter that the format's name promises; it wins when others are not better.
    """
    sample = text if len(text) <= SAMPLE else text[: text.rfind("\n", 0, SAMPLE) + 1 or SAMPLE]
    quote = _quote(sample)
    best, best_score = Dialect(delimiter=None, quote=quote), 0.0
    for delimiter in DELIMITERS:
        if delimiter not in sample:
            continue
        dialect = with_delimiter(sample, delimiter, quote)
        score = _score(sample, dialect) * (1.15 if delimiter == preferred else 1.0)
        if score > best_score + 1e-9:
            best, best_score = dialect, score
    return best


def with_delimiter(text: str, delimiter: str, quote: str | None = None) -> Dialect:
    """The dialect of a text whose delimiter is known."""
    quote = quote or _quote(text)
    spaced = text.count(f'{delimiter} "') if quote == '"' and delimiter != "\t" else 0
    return Dialect(delimiter=delimiter, quote=quote, skip_blanks=spaced > text.count(f'{delimiter}"'))


def _quote(sample: str) -> str | None:
    """Double quotes, unless single ones stand around most values."""
    singles = len(re.findall(r"(?:^|[,;\t|])'[^'\n]*'(?=[,;\t|\n]|\Z)", sample[:200_000], re.MULTILINE))
    doubles = len(re.findall(r'(?:^|[,;\t|])"', sample[:200_000], re.MULTILINE))
    lines = sample.count("\n", 0, 200_000) + 1
    return "'" if singles > doubles and singles >= lines else '"'


def _score(sample: str, dialect: Dialect) -> float:
    """Share of the rows with the widths of their neighbours, wide ones more, times the share of cells of a kind."""
    widths: list[int] = []
    step = 1 + len(sample) // (TYPED_CELLS * 8)
    typed = looked = 0
    for number, row in enumerate(Reader(sample, dialect)):
        if not any(row):
            continue
        widths.append(len(row))
        if number % step == 0:
            looked += len(row)
            typed += sum(map(_has_kind, row))
    if not widths:
        return 0.0
    counts = Counter(widths)
    alike = sum(
        (width - 1) / width
        for at, width in enumerate(widths)
        if width > 1 and (counts[width] > 0.5 * len(widths) or width in (widths[at - 1 : at] + widths[at + 1 : at + 2]))
    )
    patterns = sum(1 for count in counts.values() if count > 0.01 * len(widths))
    return alike / len(widths) / (1 + 0.2 * max(0, patterns - 1)) * (0.001 + typed / max(1, looked))


def _has_kind(cell: str) -> bool:
    """Whether the cell is empty, a number, a date, an address, or plain words: what is none is cut at wrong places."""
    text = cell.strip()
    return len(text) <= 300 and _OF_A_KIND.fullmatch(text) is not None


def is_number_or_date(cell: str) -> bool:
    """Whether a cell holds a value that column names are not."""
    text = cell.strip()
    return bool(text) and len(text) <= 60 and _NUMBER_OR_DATE.fullmatch(text) is not None


class Reader:
    """The rows of a text, an empty one for each empty line; `strays` counts the quotes that could mean nothing.

    A quote that opens a cell and is not closed as it should be would swallow what follows: its line is then read as if
    quotes meant nothing, and reading goes on below it. What is read twice for that is bounded.
    """

    def __init__(self, text: str, dialect: Dialect) -> None:
        self.strays = 0
        self._text, self._dialect = text, dialect
        self._at = 0  # where the next line begins

    def __iter__(self) -> Iterator[list[str]]:
        if self._dialect.delimiter is None:
            for line in self._lines():
                yield [line.rstrip("\n")] if line.strip() else []
            return
        with _long_fields(len(self._text)):
            if self._dialect.quote == '"' and '\\"' in self._text and not self._is_strict():
                self._text = self._text.replace('\\"', '""')  # escaped by a backslash instead of doubled
            yield from self._rows(self._dialect.delimiter)

    def _rows(self, delimiter: str) -> Iterator[list[str]]:
        self._at = start = 0
        quote = self._dialect.quote
        budget = REREAD * len(self._text) + 10_000
        while self._at < len(self._text):
            reader = csv.reader(
                self._lines(),
                delimiter=delimiter,
                quotechar=quote,
                quoting=csv.QUOTE_MINIMAL if quote else csv.QUOTE_NONE,
                skipinitialspace=self._dialect.skip_blanks,
                strict=True,
            )
            try:
                while True:
                    start = self._at
                    row = next(reader, None)
                    if row is None:
                        return
                    yield row
            except csv.Error:
                self.strays += 1
                budget -= self._at - start
                if budget < 0:
                    quote = None
                self._at = start
                yield next(self._lines()).rstrip("\n").split(delimiter)

    def _is_strict(self) -> bool:
        try:
            for _ in csv.reader(self._lines(), delimiter=self._dialect.delimiter or ",", strict=True):
                pass
        except csv.Error:
            return False
        finally:
            self._at = 0
        return True

    def _lines(self) -> Iterator[str]:
        text = self._text
        while self._at < len(text):
            end = text.find("\n", self._at) + 1 or len(text)
            line = text[self._at : end]
            self._at = end
            yield line


@contextmanager
def _long_fields(limit: int) -> Iterator[None]:
    """A cell may be as long as the file: the reader's own limit of 131,072 characters is for all of the process."""
    before = csv.field_size_limit(max(limit, 131_072))
    try:
        yield
    finally:
        csv.field_size_limit(before)
