"""UTF-16 and UTF-32 that lack a byte order mark, in any script, told from data by what their characters are."""

from __future__ import annotations

import unicodedata
from collections import Counter

from streams.decode.vocabulary import characters

SAMPLE = 8192
"""Bytes that are looked at: units of two or four bytes look alike all over a text."""
ENOUGH = 0.6
"""How well the characters must fit a text, from -4 to 1, to be called one; random pairs of bytes have less than 0."""

_CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\f\x1b\x1a\x08")) + b"\x7f"
_COMMON = frozenset(
    "\t\n\r \u00a0\u3000，。、；：？！“”‘’「」『』（）《》【】〈〉—–…·・ー々℃№€£©®°«»"
    "\u200b\u200c\u200d\u200e\u200f\ufeff"
)


def without_bom(data: bytes) -> str | None:
    """`utf-16-le`, `utf-16-be`, `utf-32-le` or `utf-32-be` when that is what the bytes are, else None.

    Args:
        data: the first bytes of a file, or all of them. Two characters are the least that can be told.
    """
    sample = data[:SAMPLE]
    # Text in bytes has no zeros and next to no controls; half the bytes of most alphabets in UTF-16 are either.
    controls = len(sample) - len(sample.translate(None, _CONTROLS))
    if len(sample) < 4 or controls * 100 < len(sample):
        return None
    whole = len(data) <= SAMPLE
    if sample.count(0) * 5 > len(sample):
        for name in ("utf-32-le", "utf-32-be"):
            text = _decoded(sample, name, 4, whole)
            if text is not None and _fits(text) >= ENOUGH:
                return name
    fits = {}
    for name in ("utf-16-le", "utf-16-be"):
        text = _decoded(sample, name, 2, whole)
        if text is not None:
            fits[name] = _fits(text)
    best = max(fits, key=lambda name: fits[name], default=None)
    return best if best is not None and fits[best] >= ENOUGH else None


def _decoded(sample: bytes, name: str, width: int, whole: bool) -> str | None:
    """The sample as text; None when more than one unit in a hundred is none. A torn last unit is let pass."""
    units = len(sample) // width
    if whole and len(sample) % width and units < 50:
        return None
    text = sample[: units * width].decode(name, "replace")
    return text if text.count("\ufffd") * 100 <= units + 1 else None


def _fits(text: str) -> float:
    """Mean over the characters: 1 for one that a text is likely to have, down to -4 for one that no text has."""
    counts = Counter(text)
    total = counts.total()
    letters = Counter[int]()  # by blocks of 256 code points: an alphabet takes one or two of them
    for character, count in counts.items():
        if character > "\x7f" and character.isalpha() and not _ideographic(character):
            letters[ord(character) >> 8] += count
    of_alphabets = letters.total()
    home = {block for block, count in letters.items() if count * 10 >= of_alphabets}
    score = 0.0
    for character, count in counts.items():
        score += count * _weight(character, home)
    return score / total


def _weight(character: str, home: set[int]) -> float:
    code = ord(character)
    if character in _COMMON or " " <= character <= "~":
        return 1.0
    category = unicodedata.category(character)
    if category in ("Cn", "Co", "Cs", "Cc"):
        return -4.0
    if _ideographic(character):
        return 1.0 if any(character in characters(language) for language in ("zh", "ja", "ko")) else -0.5
    if 0x3040 <= code <= 0x30FF or code >> 8 == 0xFF:
        return 1.0
    if code >= 0x10000:
        return 0.5  # pictures and rare scripts; of data, surrogates hardly ever come in pairs
    if category[0] in "LM":
        # Alphabets up to Thai, Georgian and the extensions of Latin and Greek; what is above is as rare as data
        common = code < 0x0E80 or 0x10A0 <= code < 0x1100 or 0x1780 <= code < 0x1800 or 0x1E00 <= code < 0x2000
        return 1.0 if code >> 8 in home and common and len(home) <= 3 else -0.5
    return 0.3 if 0x2010 <= code < 0x2600 or code < 0x0700 else -0.5


def _ideographic(character: str) -> bool:
    return "\u3400" <= character <= "\u9fff" or "\uac00" <= character <= "\ud7a3"


__all__ = ["without_bom"]
