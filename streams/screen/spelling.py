"""Words that no language has: letters that were replaced, moved or lost, spaces that are missing, capitals at random.

A rate of known words alone can't tell a text in which every fifth word is damaged from one full of names and terms.
How the unknown ones are spelt can: names and terms are made of the language's own runs of letters.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from streams.screen import words
from streams.screen.counting import character_counts
from streams.screen.language import LATIN, script_of
from streams.screen.words import Kind, Words

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
_SIGN = re.compile("[¡-´¶¸-¿×÷ƒˆ˜‰†‡\u2500-\u259f]")
_SIGN_IN_WORD = re.compile(rf"(?<=[^\W\d_]){_SIGN.pattern}(?=[^\W\d_])")


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


def spelling(tokens: Words, code: str, others: Sequence[str] = ()) -> Spelling:
    """How the words of a text are spelt.

    Args:
        tokens: words as written, each with its number.
        code: the list that knows most of them, from `words.list_for`.
        others: lists of other languages that parts of the text are in.
    """
    unlisted = words.kinds(tokens.unlisted(code), code)
    special, odd_case = 0, 0
    for word, times in tokens.items():
        lower, ascii_only = word.islower(), word.isascii()
        if (lower and ascii_only) or len(word) > words.LONGEST:
            continue
        if not ascii_only and script_of(word[0]) is LATIN:
            special += times
        if not lower and word not in unlisted and _is_odd(word):
            odd_case += times
    found: Counter[str] = Counter()
    for word, said in _broken(unlisted, code, others):
        found[said] += tokens[word]
    return Spelling(tokens.total(), found["garbled"], found["glued"], odd_case, special, found["special_garbled"])


def _broken(unlisted: dict[str, Kind], code: str, others: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Words that the list of the language does not know, and what is wrong with them, if anything."""
    rest = [word for word in unlisted if len(word) <= words.LONGEST]
    elsewhere = [_kinds(rest, other) for other in others]
    rest = [word for word in rest if all(word in found for found in elsewhere)]
    latin = {word for word in rest if script_of(word[0]) is LATIN}
    if latin and code != ENGLISH:
        english = words.common(latin, ENGLISH)
        rest = [word for word in rest if word not in english]
    rest = [word for word in rest if word not in latin or not _is_identifier(word)]
    kinds: dict[str, Kind | None] = {word: unlisted[word] for word in rest}
    if latin and not words.is_latin(code):  # how Latin letters go together, Greek and Russian do not tell
        garbled = [word for word in rest if word in latin and kinds[word] is Kind.GARBLED]
        english_kinds = _kinds(garbled, ENGLISH) if garbled else {}
        kinds.update((word, english_kinds.get(word)) for word in garbled)
    for word, kind in kinds.items():
        if kind is Kind.GARBLED and any(found[word] is not Kind.GARBLED for found in elsewhere):
            kind = Kind.UNKNOWN
        is_latin = word in latin
        if kind is Kind.GARBLED and (
            (not is_latin and any("a" <= c <= "z" for c in word.lower())) or _in_ligature(word)
        ):
            continue
        if (
            is_latin
            and not word.isascii()
            and (kind is Kind.GARBLED or all(words.has_foreign_letter(word, each) for each in (code, *others)))
        ):
            yield word, "special_garbled"
        if kind is Kind.GARBLED:
            yield word, "garbled"
        elif kind is Kind.GLUED:
            yield word, "glued"


def _kinds(some: list[str], code: str) -> dict[str, Kind]:
    return words.kinds(words.unlisted(some, code), code)


def _is_identifier(word: str) -> bool:
    """Whether a word in Latin letters is an identifier or an abbreviation."""
    inner_capital = not (word.islower() or word.isupper() or word[1:].islower())
    return word.isascii() and (inner_capital or (len(word) < ACRONYM and word.isupper()))


def _is_odd(word: str) -> bool:
    if word[1:].islower() and word.isalpha():
        return False  # most words with a capital
    return any(
        not (part.islower() or part.isupper() or part[1:].islower())
        and len(part) > 1
        and part.lower() != part.upper()
        and not _NAME.fullmatch(part)
        for part in _PARTS.split(word)
    )


def _in_ligature(word: str) -> bool:
    """Whether a word is Arabic with a lam after the alef that it stands before: many fonts' ligatures give them so."""
    return bool(_LAM_ALEF.search(word))


def signs_in_words(text: str) -> int:
    """Signs that stand between two letters: what a wrong code page makes of letters with accents."""
    return len(_SIGN_IN_WORD.findall(text)) if _SIGN.search("".join(character_counts(text))) else 0
