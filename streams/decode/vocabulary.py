"""What the languages are made of, from wordfreq's lists: known words, and how common the characters of CJK are."""

from __future__ import annotations

import gzip
import math
from array import array
from bisect import bisect_left
from collections.abc import Iterator
from functools import cache

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
    return array("q", sorted(hash(word) for _, words in _buckets(language) for word in words))


def has_words(language: str) -> bool:
    """Whether there is a word list for the language."""
    return language not in _NO_LIST


def is_word(word: str, language: str) -> bool:
    """Whether a lower-case word is used more than about once in a million words of the language."""
    known = _hashes(language)
    key = hash(word)
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


__all__ = ["characters", "has_words", "is_word", "simplified"]
