"""Number formats: a stored number as the sheet shows it (ECMA-376 part 1, 18.8.30 and 18.8.31).

Two things differ from the screen on purpose. A whole date is written as ISO 8601, because what `mm-dd-yy` shows depends
on the reader's machine; and a `General` number keeps its digits, because how many are shown depends on the column.
"""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from decimal import Decimal

from streams.extract.sheet_format_codes import Section, chosen, has, sections
from streams.extract.sheet_format_numbers import MAX_STEPS, ROUNDING, decimal, number

BUILT_IN: dict[int, str] = {
    0: "General", 1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00",
    5: "#,##0;-#,##0", 6: "#,##0;-#,##0", 7: "#,##0.00;-#,##0.00", 8: "#,##0.00;-#,##0.00",
    9: "0%", 10: "0.00%", 11: "0.00E+00", 12: "# ?/?", 13: "# ??/??", 14: "yyyy-mm-dd", 15: "d-mmm-yy", 16: "d-mmm",
    17: "mmm-yy", 18: "h:mm AM/PM", 19: "h:mm:ss AM/PM", 20: "h:mm", 21: "h:mm:ss", 22: "yyyy-mm-dd h:mm",
    37: "#,##0 ;(#,##0)", 38: "#,##0 ;(#,##0)", 39: "#,##0.00;(#,##0.00)", 40: "#,##0.00;(#,##0.00)",
    41: "#,##0;-#,##0;-", 42: "#,##0;-#,##0;-", 43: "#,##0.00;-#,##0.00;-", 44: "#,##0.00;-#,##0.00;-",
    45: "mm:ss", 46: "[h]:mm:ss", 47: "mm:ss.0", 48: "##0.0E+0", 49: "@",
    **dict.fromkeys((*range(27, 32), 36, *range(50, 55), 57, 58), "yyyy-mm-dd"),
    32: "h:mm", 33: "h:mm:ss", 34: "h:mm", 35: "h:mm:ss", 55: "h:mm", 56: "h:mm:ss",
}  # fmt: skip
"""Formats by number that files don't spell out. Their currency sign is that of the reader's machine: none is shown."""

_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_EPOCH_1900 = datetime(1899, 12, 30)  # noqa: DTZ001 - sheets know no zones
_EPOCH_1904 = datetime(1904, 1, 1)  # noqa: DTZ001
_LAST_SERIAL = 2_958_465.99999999  # 9999-12-31


def is_date_format(code: str) -> bool:
    """Whether numbers in this format are days or times."""
    return any(section.is_date for section in sections(code)[:1])


def shown(value: float, code: str, *, date_1904: bool = False) -> tuple[str, str]:
    """A number as `code` shows it, and what it is: `n` a number, `d` a date or time.

    A number that is no date under a date format (negative, after 9999) is shown as a number.
    """
    if math.isnan(value) or math.isinf(value):
        return "#NUM!", "e"
    section, negative = chosen(sections(code), value)
    if section is None or not code:
        return general(value), "n"
    if section.is_date:
        text = _date(value, section, date_1904)
        return (general(value), "n") if text is None else (text, "d")
    amount = abs(value) if negative else value
    return _general(amount, section) if section.general else number(amount, section), "n"


def shown_text(text: str, code: str) -> str:
    """A text as the part with `@` shows it, or as it is: a part that would hide or replace it is not followed."""
    if code == "General":  # that of nearly all texts
        return text
    section = next((part for part in sections(code) if has(part, "text")), None)
    if section is None:
        return text
    return "".join(text if kind == "text" else value for kind, value in section.tokens if kind in ("text", "literal"))


def general(value: float) -> str:
    """A number without a format: up to 15 digits, as many as a sheet keeps."""
    if not math.isfinite(value):
        return "#NUM!"
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    text = f"{value:.15g}"
    if "e" not in text:
        return text
    if 1e-10 < abs(value) < 1:
        return f"{Decimal(text):f}"
    mantissa, _, exponent = text.partition("e")
    return f"{mantissa}E{exponent}"


def _general(value: float, section: Section) -> str:
    """A number without places of its own among literals: `General" kg"`."""
    hundreds = min(sum(kind == "percent" for kind, _ in section.tokens), MAX_STEPS)
    amount = general(abs(value) * 100**hundreds)
    parts = {"general": amount, "percent": "%"}
    text = "".join(parts.get(kind, literal) for kind, literal in section.tokens if kind not in ("digits", "text"))
    return (("-" if value < 0 else "") + text).strip()


def serial_date(value: float, *, date_1904: bool = False) -> datetime | None:
    """The moment of a serial day number, to the microsecond as stored; null for what is none.

    Days before 1900-03-01 are one later than they count, because the 1900 epoch has a 29 February 1900.
    """
    if not 0 <= value <= _LAST_SERIAL:
        return None
    days = int(value)
    epoch = _EPOCH_1904 if date_1904 else _EPOCH_1900
    if not date_1904 and 0 < days < 60:
        days += 1
    try:
        return epoch + timedelta(days=days, microseconds=round((value - int(value)) * 86_400_000_000))
    except OverflowError:
        return None


# --- dates and times -------------------------------------------------------------------------------------------------


def _date(value: float, section: Section, date_1904: bool) -> str | None:
    fraction = next((len(text) - 1 for kind, text in section.tokens if kind == "second"), 0)
    elapsed = has(section, "elapsed")
    if elapsed:
        return _elapsed(value, section, fraction)
    moment = serial_date(value, date_1904=date_1904)
    if moment is None:
        return None
    step = timedelta(microseconds=10 ** (6 - min(fraction, 6)))
    try:
        moment = _rounded(moment, step)
    except OverflowError:
        return None
    letters = {text[0] for kind, text in section.tokens if kind == "date"}
    if {"y", "m", "d"} <= letters or {"e", "m", "d"} <= letters:
        return _iso(moment, section, fraction)
    twelve = has(section, "ampm")
    out = [_date_part(kind, text, moment, twelve) for kind, text in section.tokens]
    return "".join(out).strip()


def _rounded(moment: datetime, step: timedelta) -> datetime:
    over = (moment - datetime(1, 1, 1)) % step  # noqa: DTZ001
    return moment - over + (step if over * 2 >= step else timedelta())


def _iso(moment: datetime, section: Section, fraction: int) -> str:
    """A whole date, with the time as exact as the format shows it."""
    day = f"{moment.year:04d}-{moment.month:02d}-{moment.day:02d}"
    if not any(kind == "date" and text[0] == "h" for kind, text in section.tokens):
        return day
    time = f"{moment.hour:02d}:{moment.minute:02d}"
    if any(kind == "date" and text[0] == "s" for kind, text in section.tokens):
        time += f":{moment.second:02d}"
        if fraction:
            time += f".{moment.microsecond:06d}"[: fraction + 1]
    return f"{day} {time}"


def _date_part(kind: str, text: str, moment: datetime, twelve: bool) -> str:
    if kind in ("literal", "slash"):
        return text
    if kind == "ampm":
        word = "AM" if moment.hour < 12 else "PM"
        return word if len(text) > 3 else word[0]
    if kind == "minutes":
        return str(moment.minute).rjust(len(text), "0")
    if kind == "second":
        return f".{moment.microsecond:06d}"[: len(text)]
    if kind == "digits":
        return text if set(text) <= {".", ","} else ""
    if kind != "date":
        return ""
    letter, length = text[0], len(text)
    if letter in "ye":
        return f"{moment.year % 100:02d}" if letter == "y" and length < 3 else f"{moment.year:04d}"
    if letter == "m":
        name = _MONTHS[moment.month - 1]
        return {1: str(moment.month), 2: f"{moment.month:02d}", 3: name[:3], 5: name[0]}.get(length, name)
    if letter == "d":
        name = _DAYS[moment.weekday()]
        return {1: str(moment.day), 2: f"{moment.day:02d}", 3: name[:3]}.get(length, name)
    if letter == "h":
        hour = (moment.hour % 12 or 12) if twelve else moment.hour
        return str(hour).rjust(min(length, 2), "0")
    if letter == "s":
        return str(moment.second).rjust(min(length, 2), "0")
    return ""


def _elapsed(value: float, section: Section, fraction: int) -> str:
    """Hours, minutes or seconds that go on beyond a day: `[h]:mm`."""
    unit = 10 ** min(fraction, 6)
    ticks = int((abs(decimal(value)) * 86_400 * unit).quantize(Decimal(1), context=ROUNDING))
    seconds, part = divmod(ticks, unit)
    out: list[str] = ["-" if value < 0 and ticks else ""]
    for kind, text in section.tokens:
        letter = "m" if kind == "minutes" else text[:1]
        if kind == "elapsed":
            size = {"h": 3600, "m": 60, "s": 1}[letter]
            out.append(str(seconds // size).rjust(len(text), "0"))
        elif kind in ("date", "minutes") and letter in "hms":
            number = {"h": seconds // 3600, "m": seconds // 60 % 60, "s": seconds % 60}[letter]
            out.append(str(number).rjust(len(text), "0"))
        elif kind == "second":
            out.append(f".{part:0{fraction}d}")
        elif kind in ("literal", "slash"):
            out.append(text)
    return "".join(out).strip()
