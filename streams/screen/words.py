"""Word lists: is this a word of that language, and if not, could it be one?

From wordfreq, kept as 64-bit hashes and runs of three letters (6 MB a language, not 100)."""

from __future__ import annotations

import re
import threading
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from enum import Enum
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

ZIPF = 1.5
"""A word is what is used more than about 30 times in a thousand million words (measured: good text .97 of tokens)."""

ZIPF_COMMON = 3.5
"""Common words, some 20,000: what two words that ran together are told by, and English in other languages."""

ZIPF_SPELLING = 2.5
"""How a language spells is learned from words that are used so much; rarer ones are often foreign or misspelt."""

RARE_RUN = 8e-6
"""Runs of three letters with a smaller share of all runs are no spelling of the language (measured: of undamaged texts
of 22 languages below 1 % of the words have one and are on no list, of words spelt backwards more than half)."""

RARE_LETTER = 2e-4
"""Letters with a smaller share are no letters of the language: "ø" in Czech."""

_MIN_ACCENTS = 3  # letters beyond ASCII in an alphabet; English has "é" in loans

LONGEST = 60
"""Letters of the longest word that is looked up."""

_ALIASES = {"no": "nb", "nn": "nb", "hr": "sh", "sr": "sh", "bs": "sh", "tl": "fil"}
_NO_TOKENS = frozenset({"zh", "ja", "ko", "th", "lo", "km", "my", "bo"})

# Letters with their marks: `\w` leaves out the vowel signs of Indic scripts and Hebrew and Arabic points.
_MARKS = (
    "\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670\u0900-\u0903\u093a-\u094f"
    "\u0981-\u0983\u09bc-\u09d7\u0b82\u0bbe-\u0bd7"
)
TOKEN = re.compile(rf"(?:[^\W\d_]|[{_MARKS}])+(?:['’](?:[^\W\d_]|[{_MARKS}])+)*")
_UNMARKED = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")  # the same where there are no marks, in half the time
_MARK = re.compile(f"[{_MARKS}]")
_WITH_DIGIT = re.compile(r"\b[^\W\d]*+\d\w*+")  # possessive: a megabyte without a space stays linear


@cache
def _paths() -> dict[str, str]:
    import wordfreq

    return {str(code): str(path) for code, path in wordfreq.available_languages("best").items()}


def list_for(language: str | None) -> str | None:
    """The word list that serves a language (ISO 639-1), or None where there is none or words do not stand apart."""
    if language is None or language in _NO_TOKENS:
        return None
    code = _ALIASES.get(language, language)
    return code if code in _paths() else None


class Lexicon(NamedTuple):
    """What is kept of one list."""

    listed: array[int]  # sorted hashes of its words
    common: array[int]  # of those with at least ZIPF_COMMON
    runs: frozenset[str]  # the runs of three letters that its words are made of, "^" and "$" for their ends
    alphabet: frozenset[str]  # the letters


class Kind(Enum):
    """What a list says of a word."""

    KNOWN = 0
    GARBLED = 1  # unknown, and not spelt as words of the language are
    GLUED = 2  # unknown, and two common words without the space between them
    UNKNOWN = 3  # a name, a term, a rare form


_lock = threading.Lock()


def buckets(code: str, zipf: float) -> Iterator[tuple[float, list[str]]]:
    """The words of a list by how often they are used: Zipf value (log10 of uses in a thousand million words), words."""
    import gzip

    import msgpack  # type: ignore[import-untyped]  # wordfreq's own format and dependency

    with gzip.open(Path(_paths()[code]), "rb") as packed:
        unpacker: Any = msgpack.Unpacker(packed, raw=False)
        count = unpacker.read_array_header()
        unpacker.skip()  # the header
        for number in range(min(count - 1, round((9 - zipf) * 100) + 1)):  # one bucket for each centibel below 0
            yield 9 - number / 100, unpacker.unpack()


@cache
def _read(code: str) -> Lexicon:
    listed, common = array("q"), array("q")
    spelling: list[str] = []
    for zipf, words in buckets(code, ZIPF):
        hashes = array("q", map(hash, words))
        listed += hashes
        if zipf >= ZIPF_COMMON:
            common += hashes
        if zipf >= ZIPF_SPELLING:
            spelling += words
    runs = _count_runs(spelling)
    total = sum(runs.values())
    letters: Counter[str] = Counter()
    for run, count in runs.items():
        letters[run[1:2]] += count
    return Lexicon(
        _sorted(listed),
        _sorted(common),
        frozenset(run for run, count in runs.items() if count >= RARE_RUN * total),
        frozenset(letter for letter, count in letters.items() if count >= RARE_LETTER * total),
    )


def _sorted(hashes: array[int]) -> array[int]:
    return array("q", np.sort(np.frombuffer(hashes, dtype=np.int64)).tobytes())


def _count_runs(words: list[str]) -> dict[str, int]:
    """How often each run of three letters occurs in the words and at their ends (`_runs`)."""
    text = "\n".join(f"^{word}$" for word in words)
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32).astype(np.int64)
    # a code point has 21 bits: three make one number, and counting numbers takes a tenth of counting strings
    keys, counts = np.unique(codes[:-2] << 42 | codes[1:-1] << 21 | codes[2:], return_counts=True)
    point = (1 << 21) - 1
    runs = {
        chr(key >> 42) + chr(key >> 21 & point) + chr(key & point): count
        for key, count in zip(keys.tolist(), counts.tolist(), strict=True)
    }
    return {run: count for run, count in runs.items() if "\n" not in run}  # those of two words


def _runs(word: str) -> list[str]:
    marked = f"^{word}$"
    return [marked[at : at + 3] for at in range(len(marked) - 2)]


def lexicon(code: str) -> Lexicon:
    """The list `code` (`list_for`); read once in a process, some 0.2 s."""
    with _lock:  # reading one list twice at once would cost its memory twice
        return _read(code)


def _is_address(chunk: str) -> bool:
    slashes = chunk.count("/") + chunk.count("\\")
    return slashes > 1 or "@" in chunk or chunk.startswith("www.")


def tokens(text: str) -> list[str]:
    """Words of a text, as written: no token with a digit, no address, path or link."""
    if "/" in text or "@" in text or "\\" in text or "www." in text:
        text = " ".join(chunk for chunk in text.split() if not _is_address(chunk))
    pattern = TOKEN if _MARK.search(text) else _UNMARKED
    return pattern.findall(_WITH_DIGIT.sub(" ", text))


def known(words: list[str], code: str) -> int:
    """How many of the words are in a list; an elision such as "l'eau" counts when all of its parts are."""
    return sum(times for word, times in Counter(words).items() if kind_of(word, code) is Kind.KNOWN)


@lru_cache(maxsize=1 << 16)
def kind_of(word: str, code: str) -> Kind:
    """What the list `code` says of a word as it is written."""
    if len(word) > LONGEST:
        return Kind.UNKNOWN
    found = lexicon(code)
    folded = _folded(word, code)
    if _in(found.listed, folded):
        return Kind.KNOWN
    unlisted = [part for part in folded.split("'") if part and not _in(found.listed, part)]
    if "'" in folded and not unlisted:
        return Kind.KNOWN
    if any(run not in found.runs for part in unlisted for run in _runs(part)):
        return Kind.GARBLED
    if any(_in(found.common, part[:at]) and _in(found.common, part[at:]) for part in unlisted for at in _splits(part)):
        return Kind.GLUED
    return Kind.UNKNOWN


@lru_cache(maxsize=1 << 14)
def is_common(word: str, code: str) -> bool:
    """Whether it is one of a list's common words."""
    return len(word) <= LONGEST and _in(lexicon(code).common, _folded(word, code))


def _folded(word: str, code: str) -> str:
    from wordfreq.preprocess import preprocess_text

    return str(preprocess_text(word.replace("’", "'"), _language(code)))


@cache
def _language(code: str) -> Any:
    from langcodes import Language

    return Language.get(code)


def _splits(word: str) -> range:
    return range(2, len(word) - 1)


def _in(hashes: array[int], word: str) -> bool:
    position = bisect_left(hashes, key := hash(word))
    return position < len(hashes) and hashes[position] == key


@cache
def is_latin(code: str) -> bool:
    """Whether a list's words are written in Latin letters."""
    runs = lexicon(code).runs
    return 4 * sum(run.strip("^$").isascii() for run in runs) > len(runs)


@cache
def has_accents(code: str) -> bool:
    """Whether a list's words have letters beyond ASCII, and not in a loan now and then."""
    return sum(not letter.isascii() for letter in lexicon(code).alphabet) >= _MIN_ACCENTS


def has_foreign_letter(word: str, code: str) -> bool:
    """Whether a word has a letter beyond ASCII that is not in the alphabet of a list."""
    alphabet = lexicon(code).alphabet
    return any(not letter.isascii() and letter not in alphabet for letter in word.lower() if letter.isalpha())
