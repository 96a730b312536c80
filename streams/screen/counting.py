"""How often each character stands in a text, counted once for all measures: character classes, scripts, code pages.

A text may be one line of many megabytes, and lists of all its words or numbers of all its characters take ten times as
much: what is counted is counted in pieces.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache

_SHORT = 500
"""Characters below which counting one by one is quicker, and loads nothing."""

AT_ONCE = 1_000_000
"""Characters of a piece, at least: nearly all documents are one."""

_SPACE = re.compile(r"\s")

_MOST_CODES = 0x20000  # planes 0 and 1; room for all 17 would cost more than counting one by one


@lru_cache(maxsize=4)  # the same text is asked for more than once
def character_counts(text: str) -> Mapping[str, int]:
    """Each character of a text and how often it stands there; the order means nothing."""
    if len(text) < _SHORT:
        return Counter(text)
    import numpy as np

    counts = np.zeros(0, np.int64)
    for at in range(0, len(text), AT_ONCE):
        codes = np.frombuffer(text[at : at + AT_ONCE].encode("utf-32-le", "surrogatepass"), np.uint32)
        if codes.max() >= _MOST_CODES:
            return Counter(text)
        more = np.bincount(codes, minlength=len(counts))
        more[: len(counts)] += counts
        counts = more
    found = np.flatnonzero(counts)
    return dict(zip(map(chr, found.tolist()), counts[found].tolist(), strict=True))


def pieces(text: str) -> Iterator[str]:
    """The text in pieces that end before white space, so that no word is in two of them."""
    at = 0
    while len(text) - at > AT_ONCE:
        space = _SPACE.search(text, at + AT_ONCE)
        end = space.start() if space else len(text)
        yield text[at:end]
        at = end
    yield text[at:]
