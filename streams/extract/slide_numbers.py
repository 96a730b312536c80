"""Automatic numbers of paragraphs on slides, which PPT and PPTX count alike."""

from __future__ import annotations

from streams.extract.docx_numbering import formatted

_FORMATS = {
    "arabic": "decimal",
    "arabicDb": "decimalFullWidth",
    "alphaLc": "lowerLetter",
    "alphaUc": "upperLetter",
    "romanLc": "lowerRoman",
    "romanUc": "upperRoman",
    "circleNumDb": "decimalEnclosedCircle",
}
_FRAMES = {"Period": "{}.", "ParenR": "{})", "ParenBoth": "({})", "Minus": "- {} -"}


class Numbers:
    """Counts the paragraphs of one text, by level."""

    def __init__(self) -> None:
        self._last: dict[int, tuple[str, int]] = {}  # level -> numbering and its last number

    def next(self, level: int, kind: str, start: int) -> int:
        """The number of the next paragraph. Counting starts again where kind or start are others."""
        self._end(level + 1)
        kind = f"{kind} {start}"
        last = self._last.get(level)
        number = last[1] + 1 if last is not None and last[0] == kind else start
        self._last[level] = kind, number
        return number

    def interrupt(self, level: int) -> None:
        """A paragraph without a number: on its level and on deeper ones counting starts again."""
        self._end(level)

    def _end(self, level: int) -> None:
        for deeper in [one for one in self._last if one >= level]:
            del self._last[deeper]


def numeral(number: int, digits: str, frame: str) -> tuple[str, bool]:
    """The number as shown, and whether these digits can be written here; in decimal ones where not.

    Args:
        digits: as the types of DrawingML begin (ECMA-376 part 1, 20.1.10.61): `romanLc`.
        frame: as they end: `Period`.
    """
    known = _FORMATS.get(digits)
    text, exact = formatted(number, known or "decimal")
    return _FRAMES.get(frame, "{}").format(text), exact and known is not None
