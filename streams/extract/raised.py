"""Text above or below the line: written plainly, a raised 6 after 10 makes 106 of a million.

Figures and signs become the characters of Unicode's block Superscripts and Subscripts; letters have none for all of
them, so raised ones follow `^`, as in the formulas (UnicodeMath, UTN 28).
"""

from __future__ import annotations

import re
from enum import Enum

_RAISED = str.maketrans("0123456789+-−–=()", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁻⁼⁽⁾")
_LOWERED = str.maketrans("0123456789+-−–=()", "₀₁₂₃₄₅₆₇₈₉₊₋₋₋₌₍₎")
_FIGURES = re.compile(r"[0-9+\-−–=()]+")
_REFERENCES = re.compile(r"\d{1,4}(?:[,;] ?\d{1,4}|[-–]\d{1,4})+")  # several notes at once
_ENDINGS = frozenset(
    word
    for words in (
        "st nd rd th er ère ere re nde ème eme ième ieme de me lle mme gr",
        "os as es mo ma ro ra do da to ta vo va no TM SM MC MD",
    )
    for word in words.split()
)
"""Endings of numbers and of abbreviations, and trademarks, that stand high by custom alone."""
_ENDINGS_OF_NUMBERS = frozenset("edoarsè")
_NUMBER_BEFORE = re.compile(r"(?:\d|\b[IVXLC]+|\b[Nn]|\b[DM])\Z")
MAX_LENGTH = 20
"""Characters; longer text that stands high is no exponent but a way to set words."""


class Place(Enum):
    """Where text stands."""

    LINE = 0
    RAISED = 1
    LOWERED = -1


def raised(text: str, before: str = "x") -> str:
    """Raised text in a line of its own kind: ⁶, ^n, ^(n+1); what is raised by custom alone stays as it is.

    Args:
        before: the text it follows. At the start of a line letters are no exponent.
    """
    inner = text.strip()
    if _FIGURES.fullmatch(inner) or _REFERENCES.fullmatch(inner):
        return text.translate(_RAISED)
    before = before[-20:]
    if (
        not inner
        or len(inner) > MAX_LENGTH
        or "\n" in inner
        or inner[0] == "["  # a reference
        or inner in _ENDINGS
        or (inner in _ENDINGS_OF_NUMBERS and _NUMBER_BEFORE.search(before))
        or not any(sign.isalnum() and sign not in "ªº" for sign in inner)
        or not before
        or before[-1].isspace()
        or before[-1] < " "  # a line break that a reader has not written yet
    ):
        return text
    start = text.index(inner)
    grouped = inner if len(inner) == 1 or (inner[0] + inner[-1] == "()") else f"({inner})"
    return f"{text[:start]}^{grouped}{text[start + len(inner) :]}"


def lowered(text: str) -> str:
    """Lowered figures and signs as characters that say so; letters stay: most have no such character."""
    return text.translate(_LOWERED) if _FIGURES.fullmatch(text.strip()) else text


def placed(text: str, place: Place, before: str = "x") -> str:
    """`text` as its place says it; `before` as for `raised`."""
    if place is Place.LINE:
        return text
    return raised(text, before) if place is Place.RAISED else lowered(text)


class Scripts:
    """Writes runs of text; neighbouring runs that stand alike are one, for programs cut `n+1` where they like."""

    def __init__(self) -> None:
        self._parts: list[str] | None = None
        self._at = 0
        self._text = ""
        self._place = Place.LINE

    def put(self, parts: list[str], text: str, place: Place) -> None:
        """Adds a run to the parts of a paragraph."""
        if place is Place.LINE:
            parts.append(text)
            return
        if self._parts is parts and place is self._place and len(parts) == self._at + 1:
            if len(self._text) > MAX_LENGTH:  # no exponent; and joining on and on costs time
                parts.append(text)
                self._at += 1
                return
            self._text += text
            parts.pop()
        else:
            self._parts, self._at, self._text, self._place = parts, len(parts), text, place
        parts.append(placed(self._text, place, parts[-1] if parts else ""))

    def cut(self) -> None:
        """The next run stands for itself: a link begins or ends here."""
        self._parts = None
