"""Line numbers in a margin are no text; numbers of entries and of rows are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.unit.extract.pdf_files import Maker, run

_TEXT = (
    "The council of the town decided to build a new garden house beside the river, and to open it to all citizens. "
    "The costs are borne by the fund for parks, which a merchant founded long ago, so that nobody had expected "
    "the plan to pass so soon. A second vote follows in autumn when the harvest is over, and until then children "
    "may play on the ground, which stays as it is. Pilots are needed from the lighthouse on in winter, and their "
    "pay is settled anew each year between the guild and the town, as the old custom of the harbour demands. "
)
PROSE = _TEXT.split()


def lines_of(words: Sequence[str], length: int = 9) -> list[str]:
    return [" ".join(words[n : n + length]) for n in range(0, len(words), length)]


def numbered(step: int, leading: float, lines: Sequence[str], *, blank: int = 0, x: float = 50) -> Maker:
    maker = Maker().new_page()
    for n in range(len(lines) + blank):
        if (n + 1) % step == 0:
            maker.text(x - (3 if n > 8 else 0), 80 + n * leading, str(n + 1), 9)
        if n < len(lines):
            maker.text(90, 80 + n * leading, lines[n])
    return maker


def said(tmp_path: Path, maker: Maker) -> tuple[str, dict[str, int]]:
    draft = run(tmp_path, maker)
    return " ".join(block.text for block in draft.blocks), {item.what: item.count for item in draft.dropped}


def test_numbers_of_each_line_are_counted_and_not_told(tmp_path: Path) -> None:
    lines = lines_of(PROSE)
    text, dropped = said(tmp_path, numbered(1, 24, lines, blank=8))
    assert text == " ".join(PROSE)
    assert dropped == {"line_number": len(lines) + 8}


def test_numbers_of_each_fifth_line_and_in_the_right_margin(tmp_path: Path) -> None:
    lines = lines_of(PROSE * 2)
    for x in (50, 540):
        text, dropped = said(tmp_path, numbered(5, 14, lines, x=x))
        assert text == " ".join(PROSE * 2)
        assert dropped == {"line_number": len(lines) // 5}


def test_numbers_of_entries_stay(tmp_path: Path) -> None:
    entries = [f"Entry about the {word} that the council heard on this day" for word in PROSE[:12]]
    text, dropped = said(tmp_path, numbered(1, 24, entries))
    assert not dropped
    assert [word for word in text.split() if word.isdigit()] == [str(n + 1) for n in range(12)]


def test_numbers_with_text_beyond_them_stay(tmp_path: Path) -> None:
    maker = numbered(1, 20, lines_of(PROSE))
    maker.lines(20, 80, ["of"] * len(lines_of(PROSE)), 9, 20 / 9)
    _, dropped = said(tmp_path, maker)
    assert not dropped
