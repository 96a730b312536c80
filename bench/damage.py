"""Damage as it is done to texts on the way out of a file, in measured doses: what the screen has to see.

A dose is a share (0..1) of what the damage works on: of the lines for damage that comes with a run of text (a font, a
code page, a column), of the words or letters for the rest. The same dice give the same damage.
"""

from __future__ import annotations

import random
import re
import textwrap
from collections.abc import Callable

WORD = re.compile(r"\w+")
UNSPACED = frozenset({"ja", "th", "zh"})
NARROW = 42
"""Characters of a line in one of two columns; half as many where they are twice as wide."""

_READ_AS = {"ru": ("cp1251", "koi8-r"), "uk": ("cp1251", "koi8-r"), "el": ("cp1253", "cp1252")}
_READ_AS |= {"he": ("cp1255", "cp1252"), "ar": ("cp1256", "cp1252"), "th": ("cp874", "cp1252")}
_READ_AS |= {"ja": ("cp932", "cp1252"), "zh": ("gb18030", "cp1252"), "ko": ("cp949", "cp1252")}
_READ_AS |= dict.fromkeys(("cs", "hu", "pl"), ("cp1250", "cp1252")) | {"tr": ("cp1254", "cp1257")}
_WESTERN = ("cp1252", "cp850")
_ALPHABETS = {"ru": "абвгдежзийклмнопрстуфхцчшщъыьэюя", "uk": "абвгґдеєжзиіїйклмнопрстуфхцчшщьюя"}
_ALPHABETS |= {"el": "αβγδεζηθικλμνξοπρστυφχψω", "he": "אבגדהוזחטיכלמנסעפצקרשת", "ar": "ابتثجحخدذرزسشصضطظعغفقكلمنهوي"}
_RANGES = {"zh": (0x4E00, 0x9FA5), "ja": (0x3041, 0x3096), "ko": (0xAC00, 0xD7A3), "th": (0x0E01, 0x0E39)}

Damage = Callable[[str, str, float, random.Random], str]
"""Text, language (ISO 639-1), dose, dice: the damaged text."""


def _lines(text: str, dose: float, dice: random.Random, change: Callable[[str], str]) -> str:
    """Every line has the same chance, and at least one is hit."""
    lines = text.split("\n")
    hit = [i for i, line in enumerate(lines) if line.strip()]
    for i in dice.sample(hit, min(len(hit), max(1, round(dose * len(hit))))):
        lines[i] = change(lines[i])
    return "\n".join(lines)


def _words(text: str, dose: float, dice: random.Random, change: Callable[[str], str]) -> str:
    return WORD.sub(lambda m: change(m[0]) if dice.random() < dose else m[0], text)


def _letters(text: str, dose: float, dice: random.Random, change: Callable[[str], str]) -> str:
    return "".join(change(c) if c.isalpha() and dice.random() < dose else c for c in text)


def wrong_code_page(text: str, language: str, dose: float, dice: random.Random) -> str:
    """Bytes of the language's own code page, read with a neighbour's."""
    real, taken = _READ_AS.get(language, _WESTERN)
    return _lines(text, dose, dice, lambda line: line.encode(real, "ignore").decode(taken, "replace"))


def double_decoding(text: str, language: str, dose: float, dice: random.Random) -> str:
    """UTF-8 read as Windows-1252, once."""
    return _lines(text, dose, dice, lambda line: line.encode().decode("cp1252", "replace"))


def _alphabet(language: str) -> str:
    if language in _RANGES:
        first, last = _RANGES[language]
        return "".join(chr(code) for code in range(first, last + 1))
    return _ALPHABETS.get(language, "abcdefghijklmnopqrstuvwxyz")


def shifted_glyphs(text: str, language: str, dose: float, dice: random.Random) -> str:
    """A subset font without a way back: each letter stands for the one three places further on."""
    letters = _alphabet(language)
    moved = str.maketrans(letters + letters.upper(), letters[3:] + letters[:3] + (letters[3:] + letters[:3]).upper()) \
        if len(letters.upper()) == len(letters) and language not in _RANGES else \
        {ord(c): letters[(i + 3) % len(letters)] for i, c in enumerate(letters)}  # fmt: skip
    return _lines(text, dose, dice, lambda line: line.translate(moved))


def dropped_spaces(text: str, language: str, dose: float, dice: random.Random) -> str:
    """Words run together, as where gaps are narrow."""
    return re.sub(r"(?<=\w) (?=\w)", lambda m: "" if dice.random() < dose else " ", text)


def columns_in_order(text: str, language: str, dose: float, dice: random.Random) -> str:
    """No damage: a page in two columns among pages in one, each column read to its end."""
    before, left, right, after = _columns(text, language, dose, dice)
    return "\n".join([*before, *left, *right, *after])


def interleaved_lines(text: str, language: str, dose: float, dice: random.Random) -> str:
    """The same page read across: a line of one column, then the line beside it.

    What stands together, the dose of all lines, is set anew as narrow columns are (NARROW characters a line).
    """
    before, left, right, after = _columns(text, language, dose, dice)
    across = [line for pair in zip(left, right, strict=False) for line in pair]
    return "\n".join([*before, *across, *left[len(right) :], *after])


def _columns(text: str, language: str, dose: float, dice: random.Random) -> tuple[list[str], ...]:
    """The lines before the page in two columns, its columns, the lines after it."""
    lines = [line for line in text.split("\n") if line.strip()]
    taken = round(dose * len(lines))
    start = dice.randrange(len(lines) - taken + 1)
    page = lines[start : start + taken]
    if language in UNSPACED - {"th"}:
        narrow = textwrap.wrap("".join(page), NARROW // 2)
    else:
        narrow = textwrap.wrap(" ".join(page), NARROW, break_on_hyphens=False)
    half = -(-len(narrow) // 2)
    return lines[:start], narrow[:half], narrow[half:], lines[start + taken :]


def replaced_letters(text: str, language: str, dose: float, dice: random.Random) -> str:
    """Each letter may be any other of its alphabet."""
    letters = _alphabet(language)
    return _letters(text, dose, dice, lambda _: dice.choice(letters))


def dropped_letters(text: str, language: str, dose: float, dice: random.Random) -> str:
    return _letters(text, dose, dice, lambda _: "")


def glyph_numbers(text: str, language: str, dose: float, dice: random.Random) -> str:
    """Words as the numbers of their glyphs."""
    return _words(text, dose, dice, lambda word: "".join(f"(cid:{ord(c) % 900})" for c in word))


def lost_characters(text: str, language: str, dose: float, dice: random.Random) -> str:
    """Letters as U+FFFD."""
    return _letters(text, dose, dice, lambda _: "\ufffd")


def reversed_words(text: str, language: str, dose: float, dice: random.Random) -> str:
    """Words back to front, as where the direction of writing is taken wrong."""
    return _words(text, dose, dice, lambda word: word[::-1])


def scrambled_case(text: str, language: str, dose: float, dice: random.Random) -> str:
    """Words of letters in either case at random."""
    return _words(text, dose, dice, lambda word: "".join(c.upper() if dice.random() < 0.5 else c.lower() for c in word))


DAMAGES: dict[str, Damage] = {
    "wrong_code_page": wrong_code_page,
    "double_decoding": double_decoding,
    "shifted_glyphs": shifted_glyphs,
    "dropped_spaces": dropped_spaces,
    "interleaved_lines": interleaved_lines,
    "replaced_letters": replaced_letters,
    "dropped_letters": dropped_letters,
    "glyph_numbers": glyph_numbers,
    "lost_characters": lost_characters,
    "reversed_words": reversed_words,
    "scrambled_case": scrambled_case,
}
