"""Number formats read: parts, tokens, and which part serves a number (ECMA-376 part 1, 18.8.31).

A token is a kind and a text: `digits` (places, points and commas), `general`, `exponent`, `percent`, `slash`, `text`
(the `@`), `literal`; in dates `date`, `elapsed`, `minutes`, `second` and `ampm`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache

MAX_CODE = 1000
"""Characters of a format; Excel has 255."""

_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"?|\\(?P<escaped>.)|_(?P<space>.)|\*(?P<fill>.)|\[(?P<bracket>[^\]]*)\]'
    r"|(?P<general>(?i:General))|(?P<ampm>AM/PM|A/P)|(?P<second>\.0+(?=[^0#?]|$))"
    r"|(?P<date>[yYeE]+(?![+-])|[mM]+|[dD]+|[hH]+|[sS]+|[bB]{2,4}|g+)|(?P<exponent>[eE][+-])|(?P<digits>[0#?,.]+)"
    r"|(?P<percent>%)|(?P<slash>/)|(?P<text>@)|(?P<other>.)",
    re.DOTALL,
)
_CONDITION = re.compile(r"(<=|>=|<>|<|>|=)\s*(-?\d+(?:\.\d+)?)")
_ELAPSED = re.compile(r"h+|m+|s+", re.IGNORECASE)


@dataclass(slots=True)
class Section:
    """One of the up to four parts of a format."""

    tokens: list[tuple[str, str]] = field(default_factory=list)
    condition: tuple[str, float] | None = None
    is_date: bool = False
    general: bool = False


@lru_cache(maxsize=2000)
def sections(code: str) -> list[Section]:
    """The parts of a format, in their order; of what follows the fourth, nothing."""
    parts = [Section()]
    for match in _TOKEN.finditer(code[:MAX_CODE]):
        kind, part = match.lastgroup or "other", parts[-1]
        value = match[kind]
        if kind == "other" and value == ";":
            if len(parts) == 4:
                break
            parts.append(Section())
        elif kind == "bracket":
            _bracket(value, part)
        elif kind == "general":
            part.general = True
            part.tokens.append(("general", ""))
        elif kind in ("quoted", "escaped", "other", "slash"):
            part.tokens.append(("slash" if kind == "slash" else "literal", value))
        elif kind == "space":
            part.tokens.append(("literal", " "))
        elif kind in ("date", "ampm"):
            part.is_date = True
            part.tokens.append((kind, value if kind == "ampm" else value.lower()))
        elif kind == "second" and part.is_date:
            part.tokens.append(("second", value))
        elif kind in ("second", "digits"):  # `.00` without a time is decimals
            before = part.tokens.pop()[1] if part.tokens and part.tokens[-1][0] == "digits" else ""
            part.tokens.append(("digits", before + value))
        elif kind != "fill":
            part.tokens.append((kind, value))
    for part in parts:
        if part.is_date and _begins_with_places(part):
            part.tokens, part.is_date, part.general = [("general", "")], False, True
        _name_minutes(part)
    return parts


def _begins_with_places(part: Section) -> bool:
    """Whether it is a number with an unquoted word (`0.0 CHF`), whose letters are no date: it is shown as `General`."""
    first = next((text for kind, text in part.tokens if kind in ("digits", "date", "elapsed", "ampm")), "")
    return any(place in first for place in "0#?")


def _bracket(value: str, section: Section) -> None:
    condition = _CONDITION.fullmatch(value.strip())
    if condition is not None:
        section.condition = condition[1], float(condition[2])
    elif value.startswith("$"):
        section.tokens.append(("literal", value[1:].partition("-")[0]))
    elif _ELAPSED.fullmatch(value):
        section.is_date = True
        section.tokens.append(("elapsed", value.lower()))


def _name_minutes(section: Section) -> None:
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


def has(section: Section, kind: str) -> bool:
    """Whether a part holds a token of this kind."""
    return any(token == kind for token, _ in section.tokens)


def chosen(parts: list[Section], value: float) -> tuple[Section | None, bool]:
    """The part that serves `value` (null: none does), and whether it shows the value without its minus.

    A part with `@` serves texts, wherever it stands. Without conditions the parts are those of numbers above zero,
    below zero (without a minus: the part says itself how a negative looks) and of zero.
    """
    numeric = [part for part in parts[:3] if part.is_date or not has(part, "text")]
    if not numeric:
        return None, False
    if any(part.condition for part in numeric):
        return _chosen_by_condition(numeric, value)
    if value < 0 and len(numeric) > 1:
        return numeric[1], True
    if value == 0 and len(numeric) > 2:
        return numeric[2], False
    return numeric[0], False


def _chosen_by_condition(parts: list[Section], value: float) -> tuple[Section | None, bool]:
    """The first part whose condition holds; without a condition, the first is of numbers above 0, the last of the rest,
    and the second of three of those below 0.

    18.8.31 is silent about the minus. Excel leaves it out only where a part can't be met by a number above zero:
    `[<-4]0` shows 5 for -5 and `[<100]0` shows -5, as the reader could not know otherwise.
    """
    first = parts[0].condition or (">", 0.0)
    unsaid = {0: first, 1: ("<", 0.0) if len(parts) == 3 else None}
    for number, part in enumerate(parts):
        condition = part.condition or unsaid.get(number)
        if condition is None:
            return part, value < 0 and len(parts) == 2 and _leaves_only_negatives(first)
        if _holds(condition, value):
            return part, value < 0 and _admits_only_negatives(condition)
    return None, False


def _admits_only_negatives(condition: tuple[str, float]) -> bool:
    sign, limit = condition
    return (limit < 0 and sign in ("<", "<=", "=")) or (limit == 0 and sign == "<")


def _leaves_only_negatives(condition: tuple[str, float]) -> bool:
    """Whether the second of two parts is one of negatives, as Excel sees it: any but after `[=7]` and `[>7]`."""
    sign, limit = condition
    return sign != "=" and not (limit > 0 and sign in (">", ">="))


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
