"""Words in the cells of a PDF's tables."""

from __future__ import annotations

import pytest

from streams.extract.pdf_table_words import Placed, text_rows


@pytest.mark.parametrize(
    ("seen", "read"),
    [  # words as they stand on the page, from left to right; the letters of each in the order of reading
        (["total", "income"], "total income"),
        (["הכנסות", "הכל", "סך"], "סך הכל הכנסות"),
        (["2020", "הכנסות", "סך"], "סך הכנסות 2020"),
        (["צריכה", "Red", "Hat", "חברת"], "חברת Red Hat צריכה"),
        (["المحلي", "الناتج"], "الناتج المحلي"),
    ],
)
def test_words_of_a_cell_are_told_as_they_are_read(seen: list[str], read: str) -> None:
    words = [Placed(40.0 * i, 0, 40.0 * i + 30, 10, text) for i, text in enumerate(seen)]
    (row,) = text_rows(words)
    assert row.text == read
