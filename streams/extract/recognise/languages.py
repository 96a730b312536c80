"""Which models read a page: the expected language first, then what the text itself says, checked by reading again."""

from __future__ import annotations

from collections.abc import Sequence

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
_SHORTEST = 4  # letters of a word that chance hardly makes
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
    return found.known(code) / found.total() if found.total() >= _MIN_WORDS else None


def all_known(text: str, read_with: Sequence[str]) -> bool:
    """Whether a text has words, and a word list of the languages that it was read with knows each of them."""
    found = words.tokens(text)
    long = any(len(word) >= _SHORTEST for word in found)
    lists = [code for language in read_with if (code := words.list_for(language)) is not None]
    return long and any(found.known(code) == found.total() for code in lists)


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


def of_parts(paragraphs: Sequence[str], read_with: Sequence[str]) -> list[str | None]:
    """The language of each paragraph that is in another one than those it was read with.

    A long paragraph tells its language for sure; a short one counts for a language that a long one has, and what says
    too little for any goes with the paragraph before or after it.
    """
    asked = [_of_part(text, read_with) for text in paragraphs]
    sure = {code for code, text in zip(asked, paragraphs, strict=True) if code and len(text) >= 2 * MIN_LETTERS}
    told = [code if code in sure else None for code in asked]
    found = list(told)
    for number, text in enumerate(paragraphs):
        if told[number] is None and len(text) < 2 * MIN_LETTERS and not _is_known(text, read_with):
            beside = [told[at] for at in (number - 1, number + 1) if 0 <= at < len(told) and told[at]]
            found[number] = beside[0] if beside else None
    return found


def _of_part(text: str, read_with: Sequence[str]) -> str | None:
    # the word list is quicker than the model of languages
    return None if _is_known(text, read_with) else written_in(text, read_with)


def _is_known(text: str, read_with: Sequence[str]) -> bool:
    return any((known := rate(text, code)) is not None and known >= GOOD_RATE for code in read_with)
