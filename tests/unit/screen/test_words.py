"""What is counted as a word, and what a word list says of it: asked for all words of a text at once."""

from __future__ import annotations

import time
from collections import Counter

import pytest

from streams.screen import scores, words
from streams.screen.words import Kind, Words


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The gate, the (gate) and the «gate».", {"The": 1, "the": 2, "gate": 3, "and": 1}),
        ("don't l’eau it's' 'tis", {"don't": 1, "l’eau": 1, "it's": 1, "tis": 1}),
        ("well-known snake_case", {"well": 1, "known": 1, "snake": 1, "case": 1}),
        ("A4 page 12 x2y h2o", {"page": 1}),
        ("see www.example.org, www. mail@example.org /usr/share/doc C:\\a\\b and/or", {"see": 1, "and": 1, "or": 1}),
        ("cafe\u0301 \u0915\u093f\u0924\u093e\u092c", {"cafe\u0301": 1, "\u0915\u093f\u0924\u093e\u092c": 1}),
        ("_word_ *word* word\u2026", {"word": 3}),
        ("", {}),
    ],
)
def test_words_of_a_text(text: str, found: dict[str, int]) -> None:
    assert words.tokens(text) == Counter(found)


def test_known_words_are_counted_as_often_as_they_stand_there() -> None:
    found = words.tokens("The harbour and the bridge; qzxv the harbour qzxv.")
    assert found.total() == 9
    assert found.known("en") == 7
    assert set(found.unlisted("en")) == {"qzxv"}


def test_elision_is_known_when_all_parts_are() -> None:
    assert Words(["l'eau", "L’Eau"]).known("fr") == 2
    assert words.unlisted(["l'qzxveau"], "fr") == {"l'qzxveau": ["qzxveau"]}


def test_what_is_too_long_is_not_looked_up() -> None:
    assert words.unlisted(["house", "a" * 61], "en") == {"a" * 61: []}
    assert words.kinds({"a" * 61: []}, "en") == {"a" * 61: Kind.UNKNOWN}


def test_kinds_of_unlisted_words() -> None:
    found = words.unlisted(["house", "thehouse", "qzxvk", "marsterine"], "en")
    assert words.kinds(found, "en") == {
        "thehouse": Kind.GLUED,
        "qzxvk": Kind.GARBLED,
        "marsterine": Kind.UNKNOWN,
    }


def test_words_are_folded_together_as_they_are_alone() -> None:
    turkish = ["Işık", "İstanbul", "KIZ", "ağaç"]
    assert words.unlisted(turkish, "tr") == {k: v for word in turkish for k, v in words.unlisted([word], "tr").items()}
    assert words.common(["House", "THE", "marsterine"], "en") == {"House", "THE"}
    assert words.unlisted([], "en") == {}
    assert words.common([], "en") == set()


@pytest.mark.parametrize("known", [True, False])
def test_sixty_thousand_words_of_one_page_are_all_looked_up_quickly(known: bool) -> None:
    words.lexicon("en")
    others = (f"{'bcdfghjklm'[n % 10]}{'npqrstvwxz'[n // 10 % 10]}{'q' * (n // 100 % 20)}" for n in range(60_000))
    text = "the house is old and " * 12_000 if known else " ".join(others)
    scores.dictionary_rate("xq " * 20, scores.spaced_words("xq " * 20), ["en"], enough=0.6)  # reads the model
    began = time.process_time()
    rate = scores.dictionary_rate(text, scores.spaced_words(text), ["en"], enough=0.6)
    assert time.process_time() - began < 2
    assert rate.words == 60_000
    assert rate.value is None or (rate.value > 0.9) == known
