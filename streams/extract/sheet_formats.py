"""Number formats: a stored number as the sheet shows it (ECMA-376 part 1, 18.8.30 and 18.8.31).

Two things differ from the screen on purpose. A whole date is written as ISO 8601, because what `mm-dd-yy` shows depends
on the reader's machine; and a `General` number keeps its digits, because how many are shown depends on the column.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from functools import lru_cache

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

MAX_DIGITS = 30
"""Decimals of a format; Excel has 30."""
MAX_CODE = 1000
"""Characters of a format; Excel has 255."""

_ROUNDING = Context(prec=400, rounding=ROUND_HALF_UP)  # the largest number has 309 digits
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_EPOCH_1900 = datetime(1899, 12, 30)  # noqa: DTZ001 - sheets know no zones
_EPOCH_1904 = datetime(1904, 1, 1)  # noqa: DTZ001
_LAST_SERIAL = 2_958_465.99999999  # 9999-12-31
_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"?|\\(?P<escaped>.)|_(?P<space>.)|\*(?P<fill>.)|\[(?P<bracket>[^\]]*)\]'
    r"|(?P<general>General)|(?P<ampm>AM/PM|A/P)|(?P<second>\.0+(?=[^0#?]|$))"
    r"|(?P<date>[yYeE]+(?![+-])|[mM]+|[dD]+|[hH]+|[sS]+|[bB]{2,4}|g+)|(?P<exponent>[eE][+-])|(?P<digits>[0#?,.]+)"
    r"|(?P<percent>%)|(?P<slash>/)|(?P<text>@)|(?P<other>.)",
    re.DOTALL,
)
_CONDITION = re.compile(r"(<=|>=|<>|<|>|=)\s*(-?\d+(?:\.\d+)?)")
_ELAPSED = re.compile(r"h+|m+|s+", re.IGNORECASE)


@dataclass(slots=True)
class _Section:
    """One of the up to four parts of a format."""

    tokens: list[tuple[str, str]] = field(default_factory=list)
    condition: tuple[str, float] | None = None
    is_date: bool = False
    general: bool = False


def is_date_format(code: str) -> bool:
    """Whether numbers in this format are days or times."""
    return any(section.is_date for section in _sections(code)[:1])


def shown(value: float, code: str, *, date_1904: bool = False) -> tuple[str, str]:
    """A number as `code` shows it, and what it is: `n` a number, `d` a date or time.

    A number that is no date under a date format (negative, after 9999) is shown as a number.
    """
    if math.isnan(value) or math.isinf(value):
        return "#NUM!", "e"
    section, negative = _chosen(_sections(code), value)
    if section is None or not code or (section.general and len(section.tokens) == 1):
        return general(value), "n"
    if section.is_date:
        text = _date(value, section, date_1904)
        return (general(value), "n") if text is None else (text, "d")
    return _number(abs(value) if negative else value, section), "n"


def shown_text(text: str, code: str) -> str:
    """A text as the fourth part of a format shows it."""
    parts = _sections(code)
    section = parts[3] if len(parts) > 3 else parts[0] if len(parts) == 1 and _has(parts[0], "text") else None
    if section is None or not _has(section, "text"):
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


# --- reading a format ------------------------------------------------------------------------------------------------


@lru_cache(maxsize=2000)
def _sections(code: str) -> list[_Section]:
    sections = [_Section()]
    for match in _TOKEN.finditer(code[:MAX_CODE]):
        kind, section = match.lastgroup or "other", sections[-1]
        value = match[kind]
        if kind == "other" and value == ";":
            if len(sections) == 4:
                break
            sections.append(_Section())
        elif kind == "bracket":
            _bracket(value, section)
        elif kind == "general":
            section.general = True
            section.tokens.append(("general", ""))
        elif kind in ("quoted", "escaped", "other", "slash"):
            section.tokens.append(("slash" if kind == "slash" else "literal", value))
        elif kind == "space":
            section.tokens.append(("literal", " "))
        elif kind in ("date", "ampm"):
            section.is_date = True
            section.tokens.append((kind, value if kind == "ampm" else value.lower()))
        elif kind == "second":  # fractions of a second, or decimals
            section.tokens.append(("second" if section.is_date else "digits", value))
        elif kind != "fill":
            section.tokens.append((kind, value))
    for section in sections:
        _name_minutes(section)
    return sections


def _bracket(value: str, section: _Section) -> None:
    condition = _CONDITION.fullmatch(value.strip())
    if condition is not None:
        section.condition = condition[1], float(condition[2])
    elif value.startswith("$"):
        section.tokens.append(("literal", value[1:].partition("-")[0]))
    elif _ELAPSED.fullmatch(value):
        section.is_date = True
        section.tokens.append(("elapsed", value.lower()))


def _name_minutes(section: _Section) -> None:
    """`m` is minutes after hours or before seconds (18.8.31), else months."""
    dates = [at for at, (kind, _) in enumerate(section.tokens) if kind in ("date", "elapsed")]
    for number, at in enumerate(dates):
        kind, value = section.tokens[at]
        if kind != "date" or value[0] != "m" or len(value) > 2:
            continue
        before = section.tokens[dates[number - 1]][1][0] if number else ""
        after = section.tokens[dates[number + 1]][1][0] if number + 1 < len(dates) else ""
        if before == "h" or after == "s" or (before == "s" and number == 1):
            section.tokens[at] = "minutes", value


def _has(section: _Section, kind: str) -> bool:
    return any(token == kind for token, _ in section.tokens)


def _chosen(sections: list[_Section], value: float) -> tuple[_Section | None, bool]:
    """The part that serves `value`, and whether it shows it without its sign."""
    numeric = sections[:3]
    if any(section.condition for section in numeric):
        for number, section in enumerate(numeric):
            if section.condition is None:
                if number == len(numeric) - 1 or number == 1:
                    return section, value < 0 and number > 0
            elif _holds(section.condition, value):
                return section, value < 0 and (number > 0 or section.condition[0] in ("<", "<="))
        return None, False
    if len(numeric) == 1 and _has(numeric[0], "text") and not numeric[0].is_date:
        return None, False
    if value < 0 and len(numeric) > 1:
        return numeric[1], True
    if value == 0 and len(numeric) > 2:
        return numeric[2], False
    return numeric[0], False


def _holds(condition: tuple[str, float], value: float) -> bool:
    sign, other = condition
    return {
        "<": value < other,
        ">": value > other,
        "=": value == other,
        "<=": value <= other,
        ">=": value >= other,
        "<>": value != other,
    }[sign]


# --- numbers ---------------------------------------------------------------------------------------------------------


def _number(value: float, section: _Section) -> str:
    tokens = section.tokens
    if not any(kind in ("digits", "general") for kind, _ in tokens):
        sign = "-" if value < 0 and tokens else ""
        return (sign + "".join(text for kind, text in tokens if kind in ("literal", "percent", "slash"))).strip()
    if _has(section, "slash") and any(kind == "digits" for kind, _ in tokens):
        return _fraction(value, section)
    pattern = "".join(text for kind, text in tokens if kind == "digits")
    exponent = next((at for at, (kind, _) in enumerate(tokens) if kind == "exponent"), None)
    if exponent is not None:
        return _scientific(value, section, exponent)
    scale = Decimal(100) ** min(sum(kind == "percent" for kind, _ in tokens), 9)
    trailing = len(pattern) - len(pattern.rstrip(","))
    before_point = re.search(r",+(?=\.)", pattern)
    trailing = min(trailing + (len(before_point[0]) if before_point else 0), 9)
    scale /= Decimal(1000) ** trailing
    whole, _, decimals = pattern.partition(".")
    decimals = re.sub(r"[^0#?]", "", decimals)[:MAX_DIGITS]
    amount = _decimal(value) * scale
    rounded = abs(amount).quantize(Decimal(1).scaleb(-len(decimals)), context=_ROUNDING)
    digits, _, after = f"{rounded:f}".partition(".")
    whole_places = re.sub(r"[^0#?]", "", whole)
    digits = digits.lstrip("0").rjust(whole_places.count("0"), "0")
    if "," in whole.rstrip(","):
        digits = re.sub(r"(?<=\d)(?=(?:\d{3})+$)", ",", digits)
    while after and decimals[len(after) - 1] in "#?" and after[-1] == "0":
        after = after[:-1]
    number = digits + ("." + after if "." in pattern and (after or "0" in decimals or not decimals) else "")
    negative = amount < 0 and rounded != 0
    return _placed(number, section, negative=negative)


def _placed(number: str, section: _Section, *, negative: bool) -> str:
    """The number among the literals of its format: where digits stand in several places, at the first."""
    out: list[str] = []
    done = False
    for kind, text in section.tokens:
        if kind in ("digits", "general"):
            if not done:
                out.append(number)
            done = True
        elif kind in ("literal", "percent", "slash"):
            out.append("%" if kind == "percent" else text)
    return (("-" if negative else "") + "".join(out)).strip()


def _decimal(value: float) -> Decimal:
    """15 digits, as sheets keep them: 1.005 is 1.005 and not what binary makes of it."""
    return Decimal(f"{value:.15g}")


def _scientific(value: float, section: _Section, exponent: int) -> str:
    mantissa = "".join(text for kind, text in section.tokens[:exponent] if kind == "digits")
    places = "".join(text for kind, text in section.tokens[exponent + 1 :] if kind == "digits")
    before, _, after = mantissa.partition(".")
    decimals = min(len(re.sub(r"[^0#?]", "", after)), MAX_DIGITS)
    step = max(1, len(re.sub(r"[^0#?]", "", before)))
    power = 0 if value == 0 else math.floor(math.log10(abs(value)))
    power = power // step * step if step > 1 else power
    scaled = (abs(_decimal(value)).scaleb(-power)).quantize(Decimal(1).scaleb(-decimals), context=_ROUNDING)
    if scaled >= Decimal(10) ** step:
        power += step
        scaled = (abs(_decimal(value)).scaleb(-power)).quantize(Decimal(1).scaleb(-decimals), context=_ROUNDING)
    sign = "-" if power < 0 else "+" if "+" in section.tokens[exponent][1] else ""
    text = f"{scaled:f}E{sign}{str(abs(power)).rjust(places.count('0') or 1, '0')}"
    before_literals = "".join(text for kind, text in section.tokens[:exponent] if kind == "literal")
    return f"{'-' if value < 0 else ''}{before_literals}{text}".strip()


def _fraction(value: float, section: _Section) -> str:
    slash = next(at for at, (kind, _) in enumerate(section.tokens) if kind == "slash")
    before = [text for kind, text in section.tokens[:slash] if kind == "digits"]
    below = "".join(text for kind, text in section.tokens[slash + 1 :] if kind in ("digits", "literal"))
    fixed = re.match(r"\s*([1-9]\d*)", below)
    exact = abs(Fraction(_decimal(value)))
    has_whole = len(before) > 1
    whole = int(exact) if has_whole else 0
    rest = exact - whole
    if fixed:
        bottom = int(fixed[1][:6])
        top = round(rest * bottom)
    else:
        near = rest.limit_denominator(10 ** min(max(1, len(re.sub(r"[^0#?]", "", below))), 7) - 1)
        top, bottom = near.numerator, near.denominator
    if has_whole and top == bottom:
        whole, top = whole + 1, 0
    sign = "-" if value < 0 else ""
    if has_whole and top == 0:
        return f"{sign}{whole}"
    return f"{sign}{whole} {top}/{bottom}" if whole else f"{sign}{top}/{bottom}"


# --- dates and times -------------------------------------------------------------------------------------------------


def _date(value: float, section: _Section, date_1904: bool) -> str | None:
    fraction = next((len(text) - 1 for kind, text in section.tokens if kind == "second"), 0)
    elapsed = _has(section, "elapsed")
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
    twelve = _has(section, "ampm")
    out = [_date_part(kind, text, moment, twelve) for kind, text in section.tokens]
    return "".join(out).strip()


def _rounded(moment: datetime, step: timedelta) -> datetime:
    over = (moment - datetime(1, 1, 1)) % step  # noqa: DTZ001
    return moment - over + (step if over * 2 >= step else timedelta())


def _iso(moment: datetime, section: _Section, fraction: int) -> str:
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


def _elapsed(value: float, section: _Section, fraction: int) -> str:
    """Hours, minutes or seconds that go on beyond a day: `[h]:mm`."""
    unit = 10 ** min(fraction, 6)
    ticks = int((abs(_decimal(value)) * 86_400 * unit).quantize(Decimal(1), context=_ROUNDING))
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
