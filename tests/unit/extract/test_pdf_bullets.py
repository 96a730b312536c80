"""Drawn bullets make items of the lines after them; signs of a legend and boxes of a form's row do not."""

from __future__ import annotations

from pathlib import Path

from streams.records import BlockKind
from tests.unit.extract.pdf_files import Maker, run, texts

POINTS = ["To give an overview", "Show how to define a group", "Show how to find a measure"]


def test_pictures_and_shapes_before_lines_are_bullets(tmp_path: Path) -> None:
    maker = Maker().new_page().text(60, 60, "Objectives", 28)
    for n, point in enumerate(POINTS):
        maker.text(100, 120 + 40 * n, point, 20).text(100, 142 + 40 * n, "and its second line", 20)
        maker.image((76, 108 + 40 * n, 88, 120 + 40 * n))
    for n, point in enumerate(POINTS):
        maker.text(100, 400 + 20 * n, point)
        maker.page.draw_rect((84, 394 + 20 * n, 89, 399 + 20 * n), color=None, fill=(0, 0, 1))
    draft = run(tmp_path, maker)
    items = [block for block in draft.blocks if block.kind is BlockKind.LIST_ITEM]
    assert [item.text for item in items] == [f"{point} and its second line" for point in POINTS] + POINTS
    assert {item.marker for item in items} == {"•"}


def test_a_row_of_signs_is_no_list(tmp_path: Path) -> None:
    maker = Maker().new_page().lines(72, 100, ["A line of running text above it"] * 3)
    for n, name in enumerate(["North", "South", "East"]):
        maker.text(100 + 90 * n, 200, name)
        maker.page.draw_rect((90 + 90 * n, 194, 96 + 90 * n, 200), color=None, fill=(0, 0, 1))
    assert not texts(run(tmp_path, maker), BlockKind.LIST_ITEM)
