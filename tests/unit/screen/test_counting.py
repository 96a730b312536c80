"""Counting characters gives what counting one by one gives, whatever the text has."""

from __future__ import annotations

from collections import Counter

import pytest

from streams.screen.counting import character_counts


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a",
        "short \u00e9 \U0001f600",
        "The quick brown fox, na\u00efve. " * 40,
        "\u6f22\u5b57\u304b\u306a\n" * 200,
        "emoji \U0001f600 " * 100,
        "private \U00100000 " * 100,
        "lone \ud800 surrogate " * 100,
        "nul \x00 and \x85 " * 100,
    ],
)
def test_counts_are_those_of_counting_one_by_one(text: str) -> None:
    assert dict(character_counts(text)) == Counter(text)
