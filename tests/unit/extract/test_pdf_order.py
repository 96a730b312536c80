"""The score of a page's reading order: clean pages high, shuffled and overlapping ones low."""

from __future__ import annotations

import random
from pathlib import Path

from tests.unit.extract.pdf_files import Maker, run

WORDS = ["harbour", "crane", "winter", "storm", "quay", "ledger", "cargo", "signal", "captain", "harvest", "meadow"]


def score(tmp_path: Path, maker: Maker) -> float:
    (page,) = run(tmp_path, maker).pages
    assert page.reading_order is not None
    return page.reading_order


def test_one_column_is_sure(tmp_path: Path) -> None:
    maker = Maker().new_page()
    for n in range(6):
        maker.lines(72, 80 + 110 * n, [f"Paragraph {n} has lines that follow each other, and this is one."] * 5)
    assert score(tmp_path, maker) >= 0.95


def test_two_clean_columns_are_sure(tmp_path: Path) -> None:
    maker = Maker().new_page()
    for x in (60, 320):
        for n in range(5):
            maker.lines(x, 80 + 120 * n, [f"a line of paragraph {n} of a column of text"] * 6, 10)
    assert score(tmp_path, maker) >= 0.9


def test_words_strewn_over_the_page_are_not_sure(tmp_path: Path) -> None:
    strewn = random.Random(7)  # noqa: S311 - the same page in every run
    maker = Maker().new_page()
    for _ in range(150):
        maker.text(strewn.uniform(40, 480), strewn.uniform(60, 800), " ".join(strewn.sample(WORDS, 2)), 11)
    assert score(tmp_path, maker) < 0.5


def test_text_over_text_is_not_sure(tmp_path: Path) -> None:
    maker = Maker().new_page()
    for n in range(3):
        maker.lines(72 + 31 * n, 100 + 5 * n, [f"layer {n} of lines that lie over each other"] * 14, 12 + 4 * n, 1.4)
    assert score(tmp_path, maker) < 0.5


def test_columns_written_in_turns_are_less_sure_than_columns_written_one_after_the_other(tmp_path: Path) -> None:
    places = [(x, 80 + 120 * n) for x in (60, 320) for n in range(5)]
    shuffled = [places[index] for index in (7, 2, 9, 0, 5, 3, 8, 1, 6, 4)]
    scores = []
    for order in (places, shuffled):
        maker = Maker().new_page()
        for x, y in order:
            maker.lines(x, y, ["a line of a paragraph of a column of text"] * 6, 10)
        scores.append(score(tmp_path, maker))
    assert scores[1] < scores[0] - 0.15


def test_a_page_without_text_has_no_score(tmp_path: Path) -> None:
    (page,) = run(tmp_path, Maker().new_page()).pages
    assert page.reading_order is None
