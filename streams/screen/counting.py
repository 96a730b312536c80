"""How often each character stands in a text, counted once for all measures: character classes, scripts, code pages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import lru_cache

_SHORT = 500
"""Characters below which counting one by one is quicker, and loads nothing."""

_MOST_CODES = 0x20000  # planes 0 and 1; room for all 17 would cost more than counting one by one


@lru_cache(maxsize=4)  # the same text is asked for more than once
def character_counts(text: str) -> Mapping[str, int]:
    """Each character of a text and how often it stands there; the order means nothing."""
    if len(text) < _SHORT:
        return Counter(text)
    import numpy as np

    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    if codes.max() >= _MOST_CODES:
        return Counter(text)
    counts = np.bincount(codes)
    found = np.flatnonzero(counts)
    return dict(zip(map(chr, found.tolist()), counts[found].tolist(), strict=True))
