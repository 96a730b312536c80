"""Panels that stand side by side are read one after the other; tables and columns of text are read as before."""

from __future__ import annotations

from pathlib import Path

from tests.unit.extract.pdf_files import Maker, run


def words(maker: Maker, tmp_path: Path) -> str:
    return " ".join(block.text for block in run(tmp_path, maker).blocks)


def test_large_figures_in_a_row_keep_their_words(tmp_path: Path) -> None:
    maker = (
        Maker().new_page().lines(72, 100, ["Some running text that stands above the figures of the year, all over"] * 3)
    )
    for n, (figure, label) in enumerate([("92 %", "of all users"), ("45", "countries"), ("1.2 m", "days of work")]):
        maker.text(72 + 160 * n, 200, figure, 30).text(72 + 160 * n, 220, label).text(72 + 160 * n, 234, "so far")
    maker.lines(72, 300, ["Some running text that stands below the figures of the year, all over"] * 3)
    said = words(maker, tmp_path)
    assert "92 % of all users so far 45 countries so far 1.2 m days of work so far Some" in said


def test_panels_of_a_poster_are_read_one_after_the_other(tmp_path: Path) -> None:
    maker = Maker().new_page(800, 900).text(40, 50, "A Poster", 30)
    for column in (0, 1):
        for row in (0, 1, 2):
            x, y = 40 + 380 * column, 80 + 250 * row + 60 * column
            maker.page.draw_rect((x, y, x + 340, y + 220), color=(0, 0, 0), fill=(0.95, 0.95, 1))
            maker.text(x + 10, y + 20, f"Panel {column}{row}", 16)
            for n in range(5):
                maker.text(x + 10, y + 50 + 31 * n, f"Point {column}{row}{n}", 10)
                maker.text(x + 200, y + 54 + 31 * n, f"value {column}{row}{n}", 10)
    said = words(maker, tmp_path)
    heads = [said.index(f"Panel {column}{row}") for column in (0, 1) for row in (0, 1, 2)]
    assert heads == sorted(heads)
    for place in ("00", "01", "02", "10", "11"):
        part = said[said.index(f"Panel {place}") :]
        assert part.index(f"value {place}4") < part.index("Panel", 5)


def test_a_row_of_large_words_above_columns_of_text_is_a_row(tmp_path: Path) -> None:
    maker = Maker().new_page()
    maker.text(50, 100, "One", 20).text(310, 100, "Two", 20)
    maker.lines(50, 130, [f"left hand text of the column, line {n} of it" for n in range(12)], 10)
    maker.lines(310, 130, [f"right hand text beside it, and line {n} here" for n in range(12)], 10)
    said = words(maker, tmp_path)
    assert said.index("One") < said.index("line 11 of it") < said.index("Two") < said.index("line 11 here")


def test_a_text_with_a_box_beside_it_is_not_cut_into_bands(tmp_path: Path) -> None:
    maker = Maker().new_page()
    maker.lines(50, 100, [f"left hand text of the column, line {n} of it" for n in range(40)], 10)
    maker.lines(310, 100, [f"right hand text of the page, and line {n} here" for n in range(20)], 10)
    maker.page.draw_rect((305, 380, 560, 480), color=(0, 0, 0))
    maker.lines(312, 400, ["a box with a few words of its own", "and a second line of them"], 10)
    said = words(maker, tmp_path)
    assert said.index("line 39 of it") < said.index("line 0 here") < said.index("a box with")
