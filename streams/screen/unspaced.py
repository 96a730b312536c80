"""Damage in scripts that set no words apart: Chinese, Japanese, Korean (whose particles are glued on) and Thai.

Where no token can be looked up, pairs of characters can: damage parts characters that stand together in words. Thai has
no word list here, but its script has an order of letters and marks that undamaged text keeps.
"""

from __future__ import annotations

import gzip
import re
import threading
from collections import Counter
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from streams.screen import words

if TYPE_CHECKING:
    import numpy as np

    Pairs = np.ndarray[tuple[int], np.dtype[np.uint32]]
    Flags = np.ndarray[tuple[int], np.dtype[np.bool_]]

LEAST = 150
"""Characters of the script below which nothing is said."""

PAIR = 1e-6
RARE = 3e-6
"""Frequencies (per word of running text): pairs below the first are none of the language, characters below the second
are rare in it."""

_AT_ONCE = 1_000_000  # characters; all of a large text at once would take 20 bytes for each
_LAST = "\uffff"  # of plane 0
_LEAST_ZIPF = 1.0  # lists reach down to here
_RUN = re.compile(r"[\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_THAI = re.compile(r"[\u0e01-\u0e4e]")

# The order of input that Thai terminals check (WTT 2.0): a leading vowel needs a consonant after it, a vowel above or
# below one before it, a tone mark one of both before it.
_MISSPELT_THAI = re.compile(r"[เ-ไ](?![ก-ฮ])|(?<![ก-ฮ])[ัิ-ู็]|(?<![ก-ฮัิ-ู])[่-๋]|(?<![ก-ฮ่-๋า])ะ|(?<![ก-ฮ่-๋])[าำ]|(?<![ก-ฮิ-ู])์")


class Characters(NamedTuple):
    """What the characters of a text say; a share is None where the script has no such measure."""

    total: int
    in_pairs: float | None = None  # share of those that stand in a pair that words of the language have
    rare: float | None = None  # share of those that the language hardly uses
    misspelt: float | None = None  # share of letters and marks that stand where none can


def characters(text: str, language: str | None) -> Characters | None:
    """Measures prose in zh, ja, ko or th; None for other languages and below LEAST characters."""
    if language == "th":
        count = len(_THAI.findall(text))
        return Characters(count, misspelt=len(_MISSPELT_THAI.findall(text)) / count) if count >= LEAST else None
    if language not in ("zh", "ja", "ko"):
        return None
    if language == "zh":
        text = text.translate(_simplified())
    joined = "\n".join(_RUN.findall(text))
    with _lock:
        pairs, usual = _read(language)
    count = len(joined) - joined.count("\n")
    if count < LEAST:
        return None
    import numpy as np

    codes = np.frombuffer(joined.encode("utf-32-le"), np.uint32)
    # Whether each character and the next are a pair; one that stands in a pair is its first or its second.
    known = np.concatenate(
        [_are_pairs(codes[at : at + _AT_ONCE + 1], pairs) for at in range(0, len(codes) - 1, _AT_ONCE)]
    )
    paired = int(np.count_nonzero(np.append(known, False) | np.append(False, known)))
    rare = int(np.count_nonzero(~usual[codes]))
    return Characters(count, in_pairs=paired / count, rare=(rare - joined.count("\n")) / count)


def _are_pairs(codes: Pairs, pairs: Pairs) -> Flags:
    wanted = codes[:-1] << 16 | codes[1:]
    are_pairs: Flags = pairs.take(pairs.searchsorted(wanted), mode="clip") == wanted
    return are_pairs


_lock = threading.Lock()


@cache
def _read(language: str) -> tuple[Pairs, Flags]:
    """What a language has, from the words of its list and how often they are used; all in plane 0, as `_RUN` is.

    Returns:
        Its pairs, sorted, each the numbers of two characters in one; of each character, whether it is not rare.
    """
    import numpy as np

    singles: Counter[str] = Counter()
    pairs: Counter[str] = Counter()
    for zipf, listed in words.buckets(language, _LEAST_ZIPF):
        frequency = 10 ** (zipf - 9)
        for word in listed:
            for at, character in enumerate(word):
                singles[character] += frequency  # type: ignore[assignment]  # a Counter adds floats as well
                if at:
                    pairs[word[at - 1 : at + 1]] += frequency  # type: ignore[assignment]
    found = [pair for pair, frequency in pairs.items() if frequency > PAIR and max(pair) <= _LAST]
    usual = np.zeros(ord(_LAST) + 1, bool)
    usual[[ord(one) for one, frequency in singles.items() if frequency >= RARE and one <= _LAST]] = True
    return np.array(sorted(ord(pair[0]) << 16 | ord(pair[1]) for pair in found), np.uint32), usual


@cache
def _simplified() -> dict[int, str]:
    """wordfreq's list has simplified characters only, and this table of its own for the others."""
    import msgpack  # type: ignore[import-untyped]  # wordfreq's own format and dependency
    import wordfreq

    packed = Path(wordfreq.__file__).parent / "data" / "_chinese_mapping.msgpack.gz"
    with gzip.open(packed, "rb") as file:
        table: dict[int, str] = msgpack.load(file, raw=False, strict_map_key=False)
    return table
