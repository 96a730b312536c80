"""Which models read a page: the expected language first, then what the text itself says, checked by reading again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from streams.screen import words
from streams.screen.language import detect_language

BY_SCRIPT: dict[str, tuple[str, ...]] = {
    "Arabic": ("ar", "fa", "ur"),
    "Armenian": ("hy",),
    "Bengali": ("bn",),
    "Cyrillic": ("ru", "uk", "bg", "sr", "be", "mk"),
    "Devanagari": ("hi", "mr", "ne"),
    "Ethiopic": ("am",),
    "Georgian": ("ka",),
    "Greek": ("el",),
    "Gujarati": ("gu",),
    "Gurmukhi": ("pa",),
    "Han": ("zh", "ja"),
    "Hangul": ("ko",),
    "Hebrew": ("he", "yi"),
    "Hiragana": ("ja",),
    "Japanese": ("ja",),
    "Kannada": ("kn",),
    "Katakana": ("ja",),
    "Khmer": ("km",),
    "Korean": ("ko",),
    "Lao": ("lo",),
    "Malayalam": ("ml",),
    "Myanmar": ("my",),
    "Oriya": ("or",),
    "Sinhala": ("si",),
    "Tamil": ("ta",),
    "Telugu": ("te",),
    "Thai": ("th",),
    "Tibetan": ("bo",),
}
"""Script as the engine names it -> its languages, most written first. A script that is not here is Latin."""

_SCRIPT_OF = {code: script for script, codes in BY_SCRIPT.items() for code in codes}

SURE = 0.85
"""Probability from which a text's own language counts against the expected one."""

MIN_LETTERS = 60
"""Letters below which a text's language is not asked for."""

GOOD_RATE = 0.85
"""Share of known words from which a text is taken to be in the language it was read with."""

_MIN_WORDS = 12
_BETTER = 0.08  # dictionary rate by which the detected language must be ahead


def script_of(language: str) -> str:
    """The script of a language: Latin unless it is known to have another."""
    return _SCRIPT_OF.get(language, "Latin")


def first_choice(wanted: Sequence[str], installed: frozenset[str]) -> str:
    """The language to begin with: the first that is wanted and installed, else one of the same script, else any."""
    for code in wanted:
        if code in installed:
            return code
    scripts = [script_of(code) for code in wanted] or ["Latin"]
    near = [code for code in sorted(installed) if script_of(code) == scripts[0]]
    pool = near or sorted(installed)
    return "en" if "en" in pool else pool[0]


def rate(text: str, language: str) -> float | None:
    """Share of the words that a word list of the language knows; None for too few words and without a list."""
    code = words.list_for(language)
    if code is None:
        return None
    found = words.tokens(text)
    return words.known(found, code) / len(found) if len(found) >= _MIN_WORDS else None


def written_in(text: str, read_with: Sequence[str]) -> str | None:
    """The language that a recognised text is surely in, when it is none of those it was read with.

    The model of languages must be sure, and the word list of its answer must know more of the words than those of the
    languages read with: marks that a wrong model loses do not hide a language, chance does not make one.
    """
    if sum(character.isalpha() for character in text) < MIN_LETTERS:
        return None
    language, sure = detect_language(text, read_with[0])
    if language is None or language in read_with or sure < SURE:
        return None
    own = rate(text, language)
    others = [found for code in read_with if (found := rate(text, code)) is not None]
    if own is None or not others:
        return language
    return language if own >= max(others) + _BETTER else None


def language_of(text: str) -> str | None:
    """The language of a text, where the model of languages tells one."""
    return detect_language(text)[0]


def foreign_parts(paragraphs: Iterable[str], read_with: Sequence[str]) -> list[str]:
    """Further languages of single paragraphs, most text first."""
    found: dict[str, int] = {}
    for text in paragraphs:
        if len(text) >= 2 * MIN_LETTERS and (language := written_in(text, read_with)) is not None:
            found[language] = found.get(language, 0) + len(text)
    return sorted(found, key=lambda code: (-found[code], code))
