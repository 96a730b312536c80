"""Numbers among the places and literals of a format: `(###) ###-####`, `0.00E+00`, `# ?/?` (ECMA-376, 18.8.31)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction

from streams.extract.sheet_format_codes import Section, has

MAX_DIGITS = 30
"""Decimals of a format; Excel has 30."""
MAX_STEPS = 9
"""Hundreds or thousands that percent signs and commas of one format count for."""
ROUNDING = Context(prec=400, rounding=ROUND_HALF_UP)  # the largest number has 309 digits

_PLACES = "0#?"
_DENOMINATOR = re.compile(r"[0-9]+")  # the 16 of `# ??/16`


@dataclass(slots=True)
class _Layout:
    """Where the digits of a number go: `whole` and `decimal` places, the `point`, and the `literal` around them."""

    items: list[tuple[str, str]] = field(default_factory=list)
    grouped: bool = False
    """Whether commas part the thousands."""
    thousands: int = 0
    """How often the number is divided by 1000."""

    def places(self, kind: str) -> str:
        return "".join(text for item, text in self.items if item == kind)


def number(value: float, section: Section) -> str:
    """A number as the tokens of one part show it; a minus stands before all of them.

    Percent signs multiply by 100 each, commas behind the last place divide by 1000 each, halves round away from zero.
    """
    tokens = section.tokens
    if not has(section, "digits"):
        return (("-" if value < 0 and tokens else "") + _literals(tokens)).strip()
    exponent = next((at for at, (kind, _) in enumerate(tokens) if kind == "exponent"), None)
    slashes = [at for at, (kind, _) in enumerate(tokens) if kind == "slash"]
    if len(slashes) == 1:
        fraction = _fraction(value, tokens, slashes[0])
        if fraction is not None:
            return fraction
    if exponent is not None:
        return _scientific(value, tokens, exponent)
    layout = _layout(tokens)
    hundreds = min(sum(kind == "percent" for kind, _ in tokens), MAX_STEPS)
    amount = decimal(value) * Decimal(100) ** hundreds / Decimal(1000) ** layout.thousands
    rounded = _rounded(amount, layout)
    negative = amount < 0 and rounded != 0
    return (("-" if negative else "") + _filled(layout, rounded)).strip()


def decimal(value: float) -> Decimal:
    """15 digits, as sheets keep them: 1.005 is 1.005 and not what binary makes of it."""
    return Decimal(f"{value:.15g}")


def _literals(tokens: list[tuple[str, str]]) -> str:
    return "".join(_literal(kind, text) for kind, text in tokens)


def _literal(kind: str, text: str) -> str:
    return "%" if kind == "percent" else text if kind in ("literal", "slash") else ""


# --- places ----------------------------------------------------------------------------------------------------------


def _layout(tokens: list[tuple[str, str]]) -> _Layout:
    layout = _Layout()
    whole_commas = decimal_commas = decimals = 0
    pointed = False
    for kind, text in tokens:
        if kind != "digits":
            layout.items.append(("literal", _literal(kind, text)))
            continue
        for at, char in enumerate(text):
            if char in _PLACES and not pointed:
                layout.items.append(("whole", char))
                whole_commas = 0  # commas scale only after the last place
            elif char in _PLACES:
                decimals += 1
                if decimals <= MAX_DIGITS:
                    layout.items.append(("decimal", char))
                decimal_commas = 0
            elif char == "." and not pointed:
                pointed = True
                layout.items.append(("point", char))
            elif char == "." or not text[:at].strip(","):  # a second point, or a comma behind a literal
                layout.items.append(("literal", char))
            elif pointed:
                decimal_commas += 1
            elif text[at:].lstrip(",")[:1] in tuple(_PLACES):
                layout.grouped = True
            else:
                whole_commas += 1
    layout.thousands = min(whole_commas + decimal_commas, MAX_STEPS)
    if not layout.places("whole"):  # the whole digits have to stand somewhere
        point = next((at for at, (kind, _) in enumerate(layout.items) if kind == "point"), len(layout.items))
        layout.items.insert(point, ("whole", "#"))
    return layout


def _show_zero(layout: _Layout) -> None:
    """Let a zero show, though all places are `#`, as in `E+#` and in the whole part of `# ?/?`."""
    last = max(at for at, (kind, _) in enumerate(layout.items) if kind == "whole")
    if "0" not in layout.places("whole"):
        layout.items[last] = ("whole", "0")


def _rounded(amount: Decimal, layout: _Layout) -> Decimal:
    return abs(amount).quantize(Decimal(1).scaleb(-len(layout.places("decimal"))), context=ROUNDING)


def _filled(layout: _Layout, rounded: Decimal) -> str:
    """The digits of `rounded` (as many decimals as there are places) in their places.

    Whole digits are laid from the right, and what is too long for its places stands at the first. A place without
    a digit shows nothing, but for zeros at `0` and right of it; the spaces of `?` only align, and are left out.
    """
    whole, _, after = f"{rounded:f}".partition(".")
    whole_places, decimal_places = layout.places("whole"), layout.places("decimal")
    least = len(whole_places) - whole_places.index("0") if "0" in whole_places else 0
    whole = whole.lstrip("0").rjust(least, "0")
    shown = len(after)
    while shown and decimal_places[shown - 1] != "0" and after[shown - 1] == "0":
        shown -= 1
    out: list[str] = []
    left, laid, decimals = len(whole_places), 0, 0
    for kind, text in layout.items:
        if kind == "whole":
            left -= 1
            upto = max(len(whole) - left, 0)
            out.extend(_grouped(whole, laid, upto) if layout.grouped else whole[laid:upto])
            laid = upto
        elif kind == "decimal":
            out.append(after[decimals:shown][:1])
            decimals += 1
        elif kind == "literal" or shown or not decimal_places:
            out.append(text)
    return "".join(out)


def _grouped(whole: str, start: int, end: int) -> list[str]:
    """The digits from `start` to `end`, a comma before each that begins three."""
    return [f",{whole[at]}" if at and (len(whole) - at) % 3 == 0 else whole[at] for at in range(start, end)]


# --- powers and fractions --------------------------------------------------------------------------------------------


def _scientific(value: float, tokens: list[tuple[str, str]], exponent: int) -> str:
    mantissa, powers = _layout(tokens[:exponent]), _layout(tokens[exponent + 1 :])
    amount = decimal(value)
    step = len(mantissa.places("whole"))
    power = (amount.adjusted() if amount else 0) // step * step
    scaled = _rounded(amount.scaleb(-power), mantissa)
    if scaled >= Decimal(10) ** step:
        power += step
        scaled = _rounded(amount.scaleb(-power), mantissa)
    sign = "-" if power < 0 else "+" if "+" in tokens[exponent][1] else ""
    _show_zero(powers)
    minus = "-" if amount < 0 else ""
    return f"{minus}{_filled(mantissa, scaled)}E{sign}{_filled(powers, Decimal(abs(power)))}".strip()


def _fraction(value: float, tokens: list[tuple[str, str]], slash: int) -> str | None:
    """A number as a fraction, or null where the slash has no places on both sides."""
    numerator = next((at for at in range(slash - 1, -1, -1) if tokens[at][0] == "digits"), None)
    start = end = slash + (2 if tokens[slash + 1 : slash + 2] == [("literal", " ")] else 1)
    while end < len(tokens) and (tokens[end][0] == "digits" or _DENOMINATOR.fullmatch(tokens[end][1])):
        end += 1
    below = "".join(text for _, text in tokens[start:end])
    if numerator is None or not below:
        return None
    exact = abs(Fraction(decimal(value)))
    has_whole = any(kind == "digits" for kind, _ in tokens[:numerator])
    whole = int(exact) if has_whole else 0
    rest = exact - whole
    if re.fullmatch(r"[1-9]\d*", below):
        bottom = int(below[:6])
        top = round(rest * bottom)
    else:
        near = rest.limit_denominator(10 ** min(max(1, len(re.sub(r"[^0#?]", "", below))), 7) - 1)
        top, bottom = near.numerator, near.denominator
    if has_whole and top == bottom:
        whole, top = whole + 1, 0
    part = f"{top}{_literals(tokens[numerator + 1 : slash])}/{bottom}"
    if not has_whole:
        before = _literals(tokens[:numerator])
    elif top:
        before = _filled(_layout(tokens[:numerator]), Decimal(whole)).lstrip()
    else:  # a whole number has no fraction beside it
        layout, part = _layout(tokens[:numerator]), ""
        _show_zero(layout)
        before = _filled(layout, Decimal(whole)).rstrip()
    minus = "-" if value < 0 and (whole or top) else ""
    return f"{minus}{before}{part}{_literals(tokens[end:])}".strip()
