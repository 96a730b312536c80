"""Double decoding, in every pair that is known to happen, and never in clean text."""

from __future__ import annotations

import random

import pytest
from ftfy.badness import badness

from streams.screen.decoding import SINGLE_BYTE, double_decoding_share, impossible_combinations
from tests.unit.screen.texts import TEXTS, UNLISTED

ACCENTED = ["de", "fr", "es", "cs", "pl", "ru", "uk", "el", "vi", "he", "ar", "hi"]


@pytest.mark.parametrize("language", [*TEXTS, *UNLISTED])
def test_clean(language: str) -> None:
    assert double_decoding_share({**TEXTS, **UNLISTED}[language]) == 0


def test_clean_symbols_and_capitals() -> None:
    assert double_decoding_share("α ≤ β ± 5 µm × 3 ÷ 2 ° • – — “quoted” ‘x’ … ™ © ® § ¶ £ ¥ € ½ ² ³ ÉCOLE ÀÂÊ ÄÖÜ") == 0


@pytest.mark.parametrize("language", ACCENTED)
@pytest.mark.parametrize("encoding", SINGLE_BYTE)
def test_utf8_read_as(language: str, encoding: str) -> None:
    damaged = TEXTS[language].encode().decode(encoding, "replace")
    assert double_decoding_share(damaged) > 0.35


@pytest.mark.parametrize("language", ACCENTED)
def test_decoded_twice(language: str) -> None:
    damaged = TEXTS[language].encode().decode("latin-1").encode().decode("cp1252", "replace")
    assert double_decoding_share(damaged) > 0.35


@pytest.mark.parametrize("language", ["de", "fr", "es", "pl", "ru", "el"])
def test_utf8_read_as_chinese(language: str) -> None:
    assert double_decoding_share(TEXTS[language].encode().decode("gb18030", "replace")) > 0.35


def test_two_odd_characters_are_no_evidence() -> None:
    assert double_decoding_share("The sign Ã¼ was printed instead of ü, and Ã© instead of é.") == 0


def test_impossible_combinations_are_those_that_ftfy_counts() -> None:
    """All text is made of the characters that ftfy's expression speaks of, mixed with letters and spaces."""
    special = sorted(
        {chr(code) for code in range(0x80, 0x180)}
        | set("“”‘’„‚‹›•–—…†‡‰€™ƒˆ˜№√≈∞≠≤≥∂∑∏∫\ufffd\uf8ffвЂГўВРСДжĐőűŠžœŒÀβΒΓΞΟā│║█àÃÂ")
    )
    plain = list("aezAZ  \n.,0°")
    dice = random.Random(5)  # noqa: S311  # the same texts each time
    for number in range(300):
        share = dice.choice((0.02, 0.1, 0.3, 0.8))
        text = "".join(dice.choice(special if dice.random() < share else plain) for _ in range(300))
        assert impossible_combinations(text) == badness(text), (number, text)
    assert impossible_combinations("ГўВЂВ™a" * 3) == badness("ГўВЂВ™a" * 3) > 0
    assert impossible_combinations("") == 0
