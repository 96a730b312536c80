"""Columns that were read across are held; lists, verse, tables and columns in their order are not."""

from __future__ import annotations

import random

import pytest

from bench.damage import columns_in_order, interleaved_lines
from streams.screen import Policy, screen
from streams.screen.seams import columns_across
from tests.unit.screen.texts import TEXTS, canon

SUBJECTS = ["The old keeper", "A young sailor", "The harbour master", "One of the guards", "My neighbour", "The baker"]
VERBS = ["walked slowly to", "came back from", "looked at the roof of", "paid the rent for", "carried a lamp to"]
PLACES = ["the house on the hill", "a shop near the bridge", "the mill by the river", "the church in the village"]
TAILS = ["because of the rain.", "and sat down by the fire.", "when the bell had rung.", "with a letter in his hand."]


def _story(sentences: int) -> str:
    dice = random.Random(8)  # noqa: S311  # the same text each time
    return "\n".join(" ".join(dice.choice(part) for part in (SUBJECTS, VERBS, PLACES, TAILS)) for _ in range(sentences))


def _dice() -> random.Random:
    return random.Random(4)  # noqa: S311  # the same page each time


@pytest.mark.parametrize("dose", [0.3, 0.6, 1.0])
def test_columns_read_across_are_held(dose: float) -> None:
    text = _story(90)
    found = screen(canon(interleaved_lines(text, "en", dose, _dice())), Policy(), size=7000)
    assert found.problems == ["reading_order"], found.scores
    in_order = screen(canon(columns_in_order(text, "en", dose, _dice())), Policy(), size=7000)
    assert in_order.problems == [], in_order.error
    assert in_order.scores["columns_across"] < 4


def test_columns_that_stand_beside_one_another_in_a_text() -> None:
    lines = interleaved_lines(_story(90), "en", 1.0, _dice()).split("\n")
    beside = "\n".join(f"{left:<46}{right}" for left, right in zip(lines[::2], lines[1::2], strict=False))
    assert columns_across([beside], spaced=True) > 20


HARMLESS = {
    "sentences, a line each": _story(90),
    "list": "\n".join(f"{name} {n}" for n, name in enumerate(["Anna Berg", "Otto Lind", "Ida Holm", "Nils Dahl"] * 30)),
    "table": "\n".join(f"{n}   {n * 7 % 31} kg   shelf {n % 9}   in stock" for n in range(80)),
    "verse": "\n".join(["O wind that sings across the sea,", "thy song is old,", "and still it comes to me"] * 20),
    "dialogue": "\n".join(f"- {line}" for line in _story(40).split("\n")),
    "languages in turn": "\n".join(f"{TEXTS['en']}\n{TEXTS['de']}" for _ in range(20)),
    "keys and values": "\n".join(f"name: value {n}\n  size: {n * 3} mm" for n in range(60)),
}


@pytest.mark.parametrize("name", sorted(HARMLESS))
def test_what_does_not_run_on_gathers_nothing(name: str) -> None:
    assert columns_across([HARMLESS[name]], spaced=True) < 4


def test_short_and_odd_texts() -> None:
    for text in ("", "\n" * 50, "one line", "a\nb\nc", "\u3000\n" * 20, "’\n" * 20, "\ud800\n" * 20):
        assert columns_across([text], spaced=True) == 0 or len(text) > 30
        columns_across([text], spaced=False)
