"""Blocks in another language than their document: found, and not asked for where the words themselves say it."""

from __future__ import annotations

import pytest

from streams.extract import block_language
from streams.extract.block_language import FUNCTION_WORDS, with_languages
from streams.records import Block, BlockKind, BlockSource
from streams.screen.language import detect_language

ENGLISH = (
    "The committee met on a wet morning and heard how the bridge had been mended, what it had cost, and why the second "
    "estimate was lower than the first."
)
GERMAN = (
    "Der Ausschuss trat an einem nassen Morgen zusammen und hörte, wie die Brücke ausgebessert worden war, was sie "
    "gekostet hatte und warum der zweite Voranschlag niedriger war als der erste."
)
FRENCH = (
    "Le comité s'est réuni un matin de pluie et a entendu comment le pont avait été réparé, ce qu'il avait coûté, et "
    "pourquoi le deuxième devis était moins élevé que le premier."
)


def paragraph(text: str) -> Block:
    return Block(kind=BlockKind.PARAGRAPH, text=text, source=BlockSource.MARKUP)


@pytest.mark.parametrize(
    ("own", "document", "other"), [("en", ENGLISH, GERMAN), ("de", GERMAN, FRENCH), ("fr", FRENCH, ENGLISH)]
)
def test_a_block_in_another_language_says_so(own: str, document: str, other: str) -> None:
    found = with_languages([paragraph(document), paragraph(other), paragraph(document)], own)

    assert [block.language for block in found] == [None, detect_language(other)[0], None]


def test_blocks_full_of_the_languages_own_words_are_not_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def detect(text: str, hint: str | None) -> tuple[str | None, float]:
        asked.append(text)
        return detect_language(text, hint)

    monkeypatch.setattr(block_language, "detect_language", detect)
    with_languages([paragraph(ENGLISH), paragraph(GERMAN), paragraph(ENGLISH)], "en")

    assert asked == [GERMAN]


def test_without_words_of_its_language_every_block_is_asked_for() -> None:
    found = with_languages([paragraph(ENGLISH), paragraph(GERMAN)], None)

    assert [block.language for block in found] == ["en", "de"]


def test_short_blocks_and_code_are_left_as_they_are() -> None:
    blocks = [paragraph(GERMAN[:79]), Block(kind=BlockKind.CODE, text=GERMAN, source=BlockSource.MARKUP)]

    assert with_languages(blocks, "en") == blocks


def test_tables_of_figures_are_not_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block_language, "detect_language", None)  # no call can succeed
    rows = "".join(f"{hour}:06\t1.{hour}27\t1.{hour}31\t{hour - 9}\n" for hour in range(6, 14))
    blocks = [paragraph("Uhrzeit\tLatte (m)\tPegel (m)\tAbweichung (mm)\n" + rows)]

    assert with_languages(blocks, "de") == blocks


def test_no_language_has_many_words_of_another() -> None:
    for language, words in FUNCTION_WORDS.items():
        for other, others in FUNCTION_WORDS.items():
            if other != language:
                assert len(words & others) <= 0.15 * len(others), (language, other, words & others)
