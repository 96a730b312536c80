"""XLSB workbooks ([MS-XLSB]), and XLS that xlrd refuses, through calamine, which tells no number formats."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import TypeVar

from python_calamine import CalamineError, CalamineWorkbook, PasswordError

from streams.errors import DocumentError
from streams.extract.sheet_formats import general
from streams.extract.sheet_model import (
    DATE,
    ERROR,
    MAX_MERGES,
    NUMBER,
    TEXT,
    TRUTH,
    Area,
    Budget,
    Row,
    Sheet,
    Visibility,
)

MAX_POSITIONS = 30_000_000
"""Positions (rows x columns) of a sheet's used area, which calamine spreads out in memory."""

_T = TypeVar("_T")
_ERRORS = frozenset({"#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#N/A", "#GETTING_DATA"})
_VISIBILITY = {"Hidden": Visibility.HIDDEN, "VeryHidden": Visibility.VERY_HIDDEN}


class CalamineSheets:
    """An opened workbook; `sheets` reads one after the other."""

    def __init__(self, path: Path, budget: Budget) -> None:
        """Errors: DocumentError `encrypted` or `corrupt`."""
        self._budget = budget
        self._book = _called(lambda: CalamineWorkbook.from_path(str(path)))

    def sheets(self) -> Iterator[Sheet]:
        """All sheets in their order. One that is damaged is a warning `sheet_damaged`."""
        self._budget.warn("number_formats_not_read")
        whole = broken = 0
        for number, about in enumerate(self._book.sheets_metadata):
            sheet = Sheet(
                name=about.name, visibility=_VISIBILITY.get(str(about.visible).rpartition(".")[2], Visibility.VISIBLE)
            )
            if "chart" in str(about.typ).lower():
                sheet.charts = 1
            else:
                try:
                    self._read(number, sheet)
                    whole += 1
                except DocumentError as error:
                    if error.problem != "corrupt":
                        raise
                    broken += 1
                    self._budget.warn("sheet_damaged")
            yield sheet
        if broken and not whole:
            raise DocumentError("corrupt", "None of the sheets can be read.")

    def _read(self, number: int, sheet: Sheet) -> None:
        source = _called(lambda: self._book.get_sheet_by_index(number))
        if source.height * source.width > MAX_POSITIONS:
            raise DocumentError("too_large", f"The sheet {sheet.name} spans more than {MAX_POSITIONS} cells.")
        start = source.start
        if start is None:
            return
        top, left = start
        for (first, one), (last, other) in (source.merged_cell_ranges or [])[:MAX_MERGES]:
            sheet.merges.append(Area(first, one, last, other))
        # the rows of `iter_rows` begin in the first one of the sheet, those of `to_python` in the first used one
        for at, values in enumerate(source.to_python()):
            row = Row(top + at)
            for col, value in enumerate(values):
                text, kind = _shown(value)
                if text:
                    row.add(left + col, self._budget.same(text), kind)
            self._budget.keep(sheet, row)


def _called(call: Callable[[], _T]) -> _T:
    """What calamine gives, with its errors as ours. A panic of its is named by no class that can be imported."""
    try:
        return call()
    except PasswordError as error:
        raise DocumentError("encrypted", "The workbook needs a password.") from error
    except (CalamineError, OSError, ValueError) as error:
        raise DocumentError("corrupt", f"The workbook can't be read: {error}.") from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise DocumentError("corrupt", f"The workbook can't be read: {error}.") from error


def _shown(value: object) -> tuple[str, int]:
    if isinstance(value, bool):
        return ("TRUE" if value else "FALSE"), TRUTH
    if isinstance(value, int | float):
        return general(float(value)), NUMBER
    if isinstance(value, datetime):
        text = value.isoformat(" ", "seconds")
        return text.removesuffix(" 00:00:00"), DATE
    if isinstance(value, date | time):
        return value.isoformat(), DATE
    if isinstance(value, timedelta):
        seconds = round(value.total_seconds())
        return f"{seconds // 3600}:{seconds // 60 % 60:02d}:{seconds % 60:02d}", DATE
    text = str(value)
    return text, ERROR if text in _ERRORS else TEXT
