"""Words that no language has: letters that were replaced, moved or lost, spaces that are missing, capitals at random.

A rate of known words alone can't tell a text in which every fifth word is damaged from one full of names and terms.
How the unknown ones are spelt can: names and terms are made of the language's own runs of letters.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from streams.screen import words
from streams.screen.language import LATIN, script_of
from streams.screen.words import Kind

USUAL = {"ar": 0.012, "cs": 0.012, "fi": 0.025, "he": 0.01, "hu": 0.07, "ko": 0.02, "tr": 0.055, "uk": 0.015}
"""Share of broken words that undamaged texts have in the median, where the list is small for the language's many forms;
elsewhere USUAL_ELSEWHERE. Measured on the texts of `bench/README.md`."""

USUAL_ELSEWHERE = 0.008
ACRONYM = 6
"""Letters of the longest word in capitals that may be an abbreviation."""

ENGLISH = "en"

_NAME = re.compile("(?:[a-z]{2,}|[A-Z][a-z]+)(?:[A-Z][a-z]+|[A-Z]{2,})*")  # "JavaScript", "innerHTML"
_LAM_ALEF = re.compile("\u0627[\u0622\u0623\u0625\u0627]\u0644")
_PARTS = re.compile("['’]")
# What a wrong code page puts between the letters of a word; no middle dot, which is Catalan.
_SIGNS = re.compile(r"(?<=[^\W\d_])[¡-´¶¸-¿×÷ƒˆ˜‰†‡\u2500-\u259f](?=[^\W\d_])")


class Spelling(NamedTuple):
    """Counts of words (tokens)."""

    words: int
    garbled: int  # unknown, and not spelt as words are
    glued: int  # two common words without a space
    odd_case: int  # known, but in capitals and small letters as nobody writes
    special: int  # with letters beyond ASCII, in a Latin script
    special_garbled: int  # of these, garbled or with a letter that the language does not have

    def broken(self, language: str | None) -> float:
        """Share (0..1) of words that are broken, beyond what is usual for the language."""
        share = (self.garbled + self.glued) / self.words
        return max(0.0, share - USUAL.get(language or "", USUAL_ELSEWHERE))


def spelling(tokens: Sequence[str], code: str, others: Sequence[str] = ()) -> Spelling:
    """How the words of a text are spelt.

    Args:
        tokens: words as written.
        code: the list that knows most of them, from `words.list_for`.
        others: lists of other languages that parts of the text are in.
    """
    found = dict.fromkeys(("garbled", "glued", "odd_case", "special", "special_garbled"), 0)
    lists = tuple(others)
    for word, times in Counter(tokens).items():
        for name in _said(word, code, lists):
            found[name] += times
    total = len(tokens)
    return Spelling(
        total, found["garbled"], found["glued"], found["odd_case"], found["special"], found["special_garbled"]
    )


def _said(word: str, code: str, others: tuple[str, ...]) -> list[str]:
    if len(word) > words.LONGEST:
        return []
    return _said_of(word, code, others)


@lru_cache(maxsize=1 << 16)
def _said_of(word: str, code: str, others: tuple[str, ...]) -> list[str]:
    said = []
    latin = script_of(word[0]) is LATIN
    special = latin and not word.isascii()
    if special:
        said.append("special")
    kind = words.kind_of(word, code)
    odd = _is_odd(word)
    if kind is Kind.KNOWN:
        return [*said, "odd_case"] if odd else said
    if any(words.kind_of(word, other) is Kind.KNOWN for other in others) or (
        latin and code != ENGLISH and words.is_common(word, ENGLISH)
    ):
        return said
    inner_capital = not (word.islower() or word.isupper() or word[1:].islower())
    if latin and word.isascii() and (inner_capital or (len(word) < ACRONYM and word.isupper())):
        return said  # an identifier or an abbreviation
    if latin and kind is Kind.GARBLED and not words.is_latin(code):
        kind = words.kind_of(word, ENGLISH)  # how Latin letters go together, Greek and Russian do not tell
    if kind is Kind.GARBLED and any(words.kind_of(word, other) is not Kind.GARBLED for other in others):
        kind = Kind.UNKNOWN
    if kind is Kind.GARBLED and ((not latin and any("a" <= c <= "z" for c in word.lower())) or _in_ligature(word)):
        return said
    if special and (kind is Kind.GARBLED or all(words.has_foreign_letter(word, each) for each in (code, *others))):
        said.append("special_garbled")
    if kind is Kind.GARBLED:
        said.append("garbled")
    elif kind is Kind.GLUED:
        said.append("glued")
    return said


def _is_odd(word: str) -> bool:
    return any(
        part.lower() != part.upper() and not (part.islower() or part.isupper() or part[1:].islower())
        for part in _PARTS.split(word)
        if len(part) > 1 and not _NAME.fullmatch(part)
    )


def _in_ligature(word: str) -> bool:
    """Whether a word is Arabic with a lam after the alef that it stands before: many fonts' ligatures give them so."""
    return bool(_LAM_ALEF.search(word))


def signs_in_words(text: str) -> int:
    """Signs that stand between two letters: what a wrong code page makes of letters with accents."""
    return len(_SIGNS.findall(text))
