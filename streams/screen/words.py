"""Word lists: is this a word of that language? From wordfreq, kept as 64-bit hashes (5 MB a language, not 100)."""

from __future__ import annotations

import re
import threading
from array import array
from bisect import bisect_left
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

ZIPF = 1.5
"""A word is what is used more than about 30 times in a thousand million words (measured: good text .97 of tokens)."""

_ALIASES = {"no": "nb", "nn": "nb", "hr": "sh", "sr": "sh", "bs": "sh", "tl": "fil"}
_NO_TOKENS = frozenset({"zh", "ja", "ko", "th", "lo", "km", "my", "bo"})

# Letters with their marks: `\w` leaves out the vowel signs of Indic scripts and Hebrew and Arabic points.
_MARKS = (
    "\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670\u0900-\u0903\u093a-\u094f"
    "\u0981-\u0983\u09bc-\u09d7\u0b82\u0bbe-\u0bd7"
)
TOKEN = re.compile(rf"(?:[^\W\d_]|[{_MARKS}])+(?:['’](?:[^\W\d_]|[{_MARKS}])+)*")
_WITH_DIGIT = re.compile(r"\b\w*?\d\w*")  # the boundary keeps a megabyte without a space linear


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


_lock = threading.Lock()


@cache
def _read(code: str) -> array[int]:
    import gzip

    import msgpack  # type: ignore[import-untyped]  # wordfreq's own format and dependency

    with gzip.open(Path(_paths()[code]), "rb") as packed:
        unpacker: Any = msgpack.Unpacker(packed, raw=False)
        buckets = unpacker.read_array_header()
        unpacker.skip()  # the header
        hashes = array("q")
        for _ in range(min(buckets - 1, round((9 - ZIPF) * 100) + 1)):  # one bucket for each centibel below 0
            hashes.extend(hash(word) for word in unpacker.unpack())
    return array("q", sorted(hashes))


def _words(code: str) -> array[int]:
    with _lock:  # reading one list twice at once would cost its memory twice
        return _read(code)


def _is_address(chunk: str) -> bool:
    slashes = chunk.count("/") + chunk.count("\\")
    return slashes > 1 or "@" in chunk or chunk.startswith("www.")


def tokens(text: str) -> list[str]:
    """Words of a text, as written: no token with a digit, no address, path or link."""
    if "/" in text or "@" in text or "\\" in text or "www." in text:
        text = " ".join(chunk for chunk in text.split() if not _is_address(chunk))
    return TOKEN.findall(_WITH_DIGIT.sub(" ", text))


def known(words: list[str], code: str) -> int:
    """How many of the words are in a list; an elision such as "l'eau" counts when all of its parts are."""
    from langcodes import Language
    from wordfreq.preprocess import preprocess_text

    listed = _words(code)
    language = Language.get(code)

    def listed_word(word: str) -> bool:
        position = bisect_left(listed, key := hash(word))
        return position < len(listed) and listed[position] == key

    count = 0
    for word, times in Counter(words).items():
        folded = str(preprocess_text(word.replace("’", "'"), language))
        if listed_word(folded) or ("'" in folded and all(listed_word(part) for part in folded.split("'") if part)):
            count += times
    return count
