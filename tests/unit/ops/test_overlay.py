"""Which pages `--overlay` draws, and into which files."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.ops.overlay import file_of, parse_pages


def test_ranges() -> None:
    assert parse_pages("2") == [(2, 2)]
    assert parse_pages("1-3, 7") == [(1, 3), (7, 7)]
    assert parse_pages("4-")[0][0] == 4


@pytest.mark.parametrize("text", ["", "0", "a", "3-1", "-2", "1,,2", "1-2-3", "²"])
def test_no_ranges(text: str) -> None:
    with pytest.raises(ValueError, match="no list of pages"):
        parse_pages(text)


def test_names_of_files() -> None:
    assert file_of(Path("x/out.png"), 7, 1, 7) == Path("x/out.png")
    assert file_of(Path("x/out.png"), 7, 3, 12) == Path("x/out-07.png")
    assert file_of(Path("out"), 1, 2, 2) == Path("out-1.png")
