"""What the languages are made of, from wordfreq's lists: known words, and how common the characters of CJK are."""

from __future__ import annotations

import gzip
import math
import unicodedata
from array import array
from bisect import bisect_left
from collections.abc import Iterator
from functools import cache
from itertools import chain

from streams.decode.letters import LETTERS

LISTED = (
    *("en", "de", "fr", "es", "pt", "it", "nl", "sv", "da", "nb", "fi", "ca", "is"),
    *("pl", "cs", "hu", "sk", "sl", "sh", "ro", "lt", "lv", "tr", "vi"),
    *("ru", "uk", "bg", "mk", "el", "he", "ar", "fa"),
)
"""Languages with word lists whose words stand apart."""
_NO_LIST = frozenset({"be", "et", "sr", "th", "eo", "ga", "mt"})


def _buckets(language: str) -> Iterator[tuple[float, list[str]]]:
    """Words with their share of all words, the most frequent first.

    The lists are buckets of a hundredth of a decade each; read one by one they cost a tenth of the memory of
    wordfreq's own dictionary.
    """
    import msgpack  # type: ignore[import-untyped]
    from wordfreq.util import data_path

    with gzip.open(data_path(f"small_{language}.msgpack.gz"), "rb") as packed:
        unpacker = msgpack.Unpacker(packed, raw=False)
        count = unpacker.read_array_header()
        unpacker.skip()  # the header
        for index in range(count - 1):
            yield 10 ** (-index / 100), unpacker.unpack()


@cache
def _hashes(language: str) -> array[int]:
    """A sorted array of hashes: 8 bytes a word, where a set of strings takes 100."""
    if language in _NO_LIST:
        return array("q")
    return array("q", sorted(chain.from_iterable(map(hash, words) for _, words in _buckets(language))))


def has_words(language: str) -> bool:
    """Whether there is a word list for the language."""
    return language not in _NO_LIST


def is_word(word: str, language: str) -> bool:
    """Whether a lower-case word is used more than about once in a million words of the language."""
    known = _hashes(language)
    key = hash(word.replace("ß", "ss") if language == "de" else word)  # as in the list
    position = bisect_left(known, key)
    return position < len(known) and known[position] == key


@cache
def characters(language: str) -> dict[str, float]:
    """How telling each character of a language without spaces is: log2 of its share times 2000, from 0.2 to 3."""
    counts: dict[str, float] = {}
    for frequency, words in _buckets(language):
        for word in words:
            for character in word:
                if character > "\x7f":
                    counts[character] = counts.get(character, 0.0) + frequency
    total = sum(counts.values())
    return {c: max(0.2, min(3.0, math.log2(n / total * 2000))) for c, n in counts.items()}


@cache
def _alphabets() -> frozenset[str]:
    return frozenset(c for letters in LETTERS.values() for letter in letters for c in (letter, letter.upper()))


def is_usual(character: str) -> bool:
    """Whether a character beyond ASCII is a letter of a language that is known here, a usual ideograph, or a mark."""
    if character in _alphabets() or "\u3040" <= character <= "\u30ff" or "\uff01" <= character <= "\uff5e":
        return True
    if unicodedata.category(character)[0] in "PSZ":
        return character < "\u2500" or "\u3000" <= character <= "\u303f"
    return any(characters(language).get(character, 0.0) >= 0.2 for language in ("zh", "ja", "ko"))


@cache
def _simplified_map() -> dict[int, str]:
    import msgpack
    from wordfreq.util import data_path

    # wordfreq's own function for this needs a Chinese tokenizer to be installed; its table does not
    with gzip.open(data_path("_chinese_mapping.msgpack.gz")) as file:
        mapping: dict[int, str] = msgpack.load(file, raw=False, strict_map_key=False)
    return mapping


def simplified(text: str) -> str:
    """Chinese in simplified characters: the list of Chinese knows no others."""
    return text.translate(_simplified_map())


__all__ = ["LISTED", "characters", "has_words", "is_usual", "is_word", "simplified"]
