"""The measure of articles: runs of four words, means over pages, two halves that do not depend on the run."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from bench.articles import counts, half, measure, runs, score

TEXT = "One two three four five six. " * 12


def test_runs_are_counted_as_often_as_they_come() -> None:
    assert runs("a b c d e") == {("a", "b", "c", "d"): 1, ("b", "c", "d", "e"): 1}
    assert runs("a, b") == {("a", "b"): 1}
    assert runs("") == {}
    assert runs("a a a a a")["a", "a", "a", "a"] == 2
    assert counts(runs("a b c d e f"), runs("x a b c d e")) == (2, 1, 1)


def test_scores_are_means_over_pages() -> None:
    f1, precision, recall = score([(3, 1, 1), (0, 0, 4), (2, 0, 0)])
    assert precision == pytest.approx((0.75 + 1) / 2)
    assert recall == pytest.approx((0.75 + 0 + 1) / 3)
    assert f1 == pytest.approx(2 * precision * recall / (precision + recall))


def test_a_folder_is_measured(tmp_path: Path) -> None:
    (tmp_path / "html").mkdir()
    page = f"<nav>Home and more</nav><article><h1>Headline of it</h1><p>{TEXT}</p></article>"
    (tmp_path / "html" / "k.html.gz").write_bytes(gzip.compress(page.encode()))
    (tmp_path / "ground-truth.json").write_text(json.dumps({"k": {"articleBody": TEXT}}), "utf-8")
    result = measure(tmp_path, ())
    assert result.values["met"] is True
    assert result.values["not_content"] == 0
    assert result.values["canonry"]["f1"] == 1.0
    assert {half("k"), half("b"), half("c"), half("d"), half("e")} == {0, 1}
