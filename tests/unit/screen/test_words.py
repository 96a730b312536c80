"""Word lists as they are kept: what a list says of words must not depend on how it was counted."""

from __future__ import annotations

from collections import Counter

from streams.screen import words


def test_runs_are_counted_within_words_and_at_their_ends_only() -> None:
    found = ["été", "ab", "ab", "a", "𐐷x"]
    plain = Counter(f"^{word}$"[at : at + 3] for word in found for at in range(len(word)))
    assert words._count_runs(found) == plain
    assert plain["ab$"] == 2


def test_hashes_of_words_are_in_order_and_complete() -> None:
    lexicon = words.lexicon("is")
    listed = [word for _, bucket in words.buckets("is", words.ZIPF) for word in bucket]
    assert list(lexicon.listed) == sorted(map(hash, listed))
    assert set(lexicon.common) <= set(lexicon.listed)
    assert {"t", "é"} <= lexicon.alphabet
