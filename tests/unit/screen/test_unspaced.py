"""Pairs of characters in scripts without spaces: found whatever the size of a text."""

from __future__ import annotations

import pytest

from streams.screen import unspaced
from tests.unit.screen.texts import TEXTS


@pytest.mark.parametrize("language", ["zh", "ja", "ko"])
def test_shares_do_not_depend_on_how_much_is_looked_at_at_once(language: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = TEXTS[language] * 5
    at_once = unspaced.characters(text, language)
    assert at_once is not None
    assert (at_once.in_pairs or 0.0) > 0.7
    monkeypatch.setattr(unspaced, "_AT_ONCE", 7)
    assert unspaced.characters(text, language) == at_once


@pytest.mark.parametrize("language", ["zh", "ja", "ko"])
def test_damage_parts_characters_that_stand_together(language: str) -> None:
    text = TEXTS[language] * 5
    shuffled = "".join(sorted(text, key=lambda character: (hash_of(character), character)))
    whole, damaged = unspaced.characters(text, language), unspaced.characters(shuffled, language)
    assert whole is not None
    assert damaged is not None
    assert (damaged.in_pairs or 0.0) < (whole.in_pairs or 0.0) - 0.1


def hash_of(character: str) -> int:
    """An order that has nothing to do with words, and is the same everywhere."""
    return ord(character) * 2654435761 % 2**32


def test_characters_beyond_plane_0_and_lone_surrogates_are_no_pairs() -> None:
    text = "中文" * 200
    with_others = text + "\U00020000\ud800" * 50
    assert unspaced.characters(with_others, "zh") == unspaced.characters(text, "zh")
