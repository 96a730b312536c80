"""Where a tail begins, which line is suggested, and that the policy and the page say it."""

from __future__ import annotations

import random
from pathlib import Path

from streams.ops.calibrate import Document, calibrate, histogram, policy_text, quantile, suggest
from streams.ops.calibrate_page import page
from streams.screen import Policy, read_policy


def _documents(values: list[float]) -> list[Document]:
    return [
        Document(
            path=f"<b>{n}</b>.txt",
            source="share",
            media_type="text/plain",
            language="en",
            problems=["low_dictionary_rate"] if value < 0.5 else [],
            scores={"dictionary_rate": value},
            words="<script>alert(1)</script>",
        )
        for n, value in enumerate(values)
    ]


def _body(dice: random.Random, count: int) -> list[float]:
    return [min(1.0, dice.gauss(0.95, 0.01)) for _ in range(count)]


def test_a_tail_apart_gets_a_line_between() -> None:
    dice = random.Random(2)  # noqa: S311  # the same numbers each time
    line, why = suggest(sorted([*_body(dice, 200), 0.6, 0.62, 0.3]), above=False)
    assert line is not None
    assert 0.62 < line < 0.93
    assert "3 of 203" in why


def test_no_line_without_a_tail() -> None:
    dice = random.Random(2)  # noqa: S311
    assert suggest(sorted(_body(dice, 200)), above=False)[0] is None
    assert suggest(sorted([*_body(dice, 100), *(0.3 for _ in range(50))]), above=False)[0] is None
    assert suggest([0.1] * 10, above=True)[0] is None
    assert suggest([0.1] * 100, above=True)[0] is None


def test_policy_and_page(tmp_path: Path) -> None:
    dice = random.Random(2)  # noqa: S311
    policy = Policy(sources={"old scans": {"max_space": 0.9}})
    found = calibrate(_documents([*_body(dice, 200), 0.6, 0.62, 0.3]), policy)
    (rate,) = found.distributions
    assert (rate.beyond, rate.beyond_suggested) == (1, 3)
    assert [group.by for group in rate.groups] == ["format", "source", "language"]
    file = tmp_path / "p.toml"
    file.write_text(policy_text(found, policy), "utf-8")
    assert "3 of 203" in file.read_text("utf-8")
    read = read_policy(file)
    assert read.version == "2"
    assert read.defaults.min_dictionary_rate == rate.suggested
    assert read.thresholds(media_type="text/plain", source="old scans").max_space == 0.9
    shown = page(found)
    assert "<script>" not in shown
    assert "&lt;b&gt;202&lt;/b&gt;.txt" in shown
    assert "<svg" in shown


def test_numbers() -> None:
    assert quantile([0.0, 1.0], 0.5) == 0.5
    assert sum(histogram([0.0, 0.5, 1.0])) == 3
    assert histogram([2.0, 2.0])[0] == 2
