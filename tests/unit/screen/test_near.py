"""Signatures of texts: the same everywhere, and estimates of how alike texts are."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest

from streams.records import Block, BlockKind, BlockSource, CanonBody
from streams.screen import near
from streams.screen.near import bands, signature, similarity

STARTS, ENDS = ["ka", "lo", "mi", "nu", "pe", "ri", "so", "tu", "va", "wo"], ["bar", "den", "fel", "gus", "him"]
WORDS = [start + end for start in STARTS for end in ENDS]
TEXT = "The quay of the old harbour was measured again, stone by stone, and not one was found to be missing. " * 3


def body(*texts: str, **fields: Any) -> CanonBody:
    return CanonBody(
        content_hash="",
        fingerprint="",
        extractor="",
        extractor_version="",
        media_type="text/plain",
        blocks=[
            Block(**{"kind": BlockKind.PARAGRAPH, "text": text, "source": BlockSource.MARKUP, **fields})
            for text in texts
        ],
    )


def of(words: list[str]) -> bytes:
    found = signature(body(" ".join(words)))
    assert found is not None
    return found


def alike(one: list[str], other: list[str]) -> float:
    """The share of runs of three words that both have, counted."""
    a, b = ({tuple(words[n : n + 3]) for n in range(len(words) - 2)} for words in (one, other))
    return len(a & b) / len(a | b)


def pair(draw: random.Random, low: float, high: float, words: int = 400) -> tuple[list[str], list[str], float]:
    """Two texts that are as alike as that: single words of the second one are others."""
    while True:
        first = [f"{draw.choice(WORDS)}{draw.randrange(60)}" for _ in range(words)]
        second = list(first)
        share = draw.uniform(low, high)
        for at in draw.sample(range(words), round(words * (1 - (2 * share / (1 + share)) ** (1 / 3)))):
            second[at] = "changed" + str(draw.randrange(10**6))
        if low <= (found := alike(first, second)) <= high:
            return first, second, found


def test_the_same_text_has_the_same_signature_on_every_machine_and_with_every_version_that_is_allowed() -> None:
    """When this fails after an upgrade, raise the scheme in `streams.screen.near` and these values with it."""
    found = signature(body(TEXT))
    assert found is not None
    assert found[0] == 0x12
    assert len(found) == 129
    assert found[1:17].hex() == "64f686fa0ac7701a9241c2b72b8b5d31"


def test_case_width_and_furniture_make_no_difference() -> None:
    assert signature(body(TEXT)) == signature(body(TEXT.upper()))
    assert signature(body("ﬁnding " * 60)) == signature(body("finding " * 60))
    plain = body(TEXT)
    header = Block(kind=BlockKind.PAGE_HEADER, text="Confidential " * 50, source=BlockSource.MARKUP)
    hidden = Block(kind=BlockKind.PARAGRAPH, text="unseen " * 50, source=BlockSource.MARKUP, hidden=True)
    furnished = msgspec.structs.replace(plain, blocks=[header, *plain.blocks, hidden])
    assert signature(furnished) == signature(plain)
    words = TEXT.split()
    assert signature(body(*words)) == signature(body(TEXT)), "however it is cut into blocks"


@pytest.mark.parametrize("text", ["", "word " * (near.MIN_WORDS - 1), "。、" * 100])
def test_nothing_is_claimed_of_a_short_text(text: str) -> None:
    assert signature(body(text)) is None


def test_from_fifty_words_on_there_is_a_signature_also_in_scripts_without_spaces() -> None:
    assert signature(body("word " * near.MIN_WORDS)) is not None
    one, other = (
        signature(body("港湾の古い岸壁は石ごとに測り直された" * 4)),
        signature(body("まったく別の文章がここにある" * 5)),
    )
    assert one is not None
    assert other is not None
    assert similarity(one, other) == 0


def test_of_a_huge_text_only_the_beginning_counts() -> None:
    draw = random.Random(1)  # noqa: S311 - the same each time
    words = [draw.choice(WORDS) for _ in range(near.MOST_WORDS)]
    assert of(words) == of([*words, *WORDS * 100])


def test_signatures_of_different_schemes_are_not_compared() -> None:
    found = of(TEXT.split())
    assert similarity(found, bytes([found[0] + 1]) + found[1:]) is None
    assert similarity(found, found[:65]) is None
    assert similarity(found, found) == 1
    assert set(bands(found)).isdisjoint(bands(bytes([found[0] + 1]) + found[1:]))
    assert all(0 <= band < 2**52 for band in bands(found))


@pytest.mark.parametrize("share", [0.2, 0.5, 0.7, 0.8, 0.9, 0.97])
def test_estimates_are_right_on_average_and_within_their_error(share: float) -> None:
    draw = random.Random(int(share * 100))  # noqa: S311 - the same each time
    errors = []
    for _ in range(100):
        first, second, true = pair(draw, share - 0.02, share + 0.02)
        found = similarity(of(first), of(second))
        assert found is not None
        errors.append(found - true)
    standard = near.standard_error(share)
    assert abs(sum(errors) / len(errors)) < 0.4 * standard, "four standard errors of the mean of 100"
    assert sum(error**2 for error in errors) / len(errors) < (1.4 * standard) ** 2
    assert max(map(abs, errors)) < 4.5 * standard


def test_what_is_alike_meets_in_a_band_and_what_is_not_hardly_ever() -> None:
    draw = random.Random(5)  # noqa: S311 - the same each time
    met = {}
    for low, high in ((0.8, 1.0), (0.2, 0.3), (0.0, 0.05)):
        pairs = [pair(draw, low, high) for _ in range(200)]
        met[low] = sum(not set(bands(of(one))).isdisjoint(bands(of(other))) for one, other, _ in pairs) / 200
    assert met[0.8] >= 0.98
    assert met[0.2] < 0.08
    assert met[0.0] < 0.01
