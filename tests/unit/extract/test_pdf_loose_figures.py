"""Pictures and drawings without a caption are told with their places, letterheads and grounds are not."""

from __future__ import annotations

import math
from pathlib import Path

from streams.records import Block, BlockKind
from tests.unit.extract.pdf_files import Maker, run, texts

BODY = [f"Line {n} of the running text of this page, which goes on to its edge" for n in range(8)]


def figures(blocks: list[Block]) -> list[Block]:
    return [block for block in blocks if block.kind is BlockKind.FIGURE]


def test_a_picture_without_a_caption_stands_between_the_paragraphs_around_it(tmp_path: Path) -> None:
    maker = Maker().new_page().lines(72, 100, BODY).image((72, 240, 300, 380)).lines(72, 420, BODY)
    draft = run(tmp_path, maker)
    assert [block.kind for block in draft.blocks] == [BlockKind.PARAGRAPH, BlockKind.FIGURE, BlockKind.PARAGRAPH]
    (figure,) = figures(draft.blocks)
    assert (figure.bbox, figure.text) == ((72.0, 240.0, 300.0, 380.0), "")


def test_a_picture_beside_two_columns_stays_in_its_own(tmp_path: Path) -> None:
    left = [f"left hand text of the column, line {n} of it" for n in range(20)]
    right = [f"Right hand text beside it, and line {n} here" for n in range(8)]
    maker = Maker().new_page().lines(50, 100, left, 10).lines(310, 100, right, 10)
    maker.image((310, 220, 500, 330))
    draft = run(tmp_path, maker)
    assert [block.text[:4] for block in draft.blocks] == ["left", "Righ", ""]


def test_letterheads_grounds_and_icons_are_no_figures(tmp_path: Path) -> None:
    maker = Maker()
    for _ in range(4):
        maker.new_page().image((0, 0, 595, 842)).image((72, 20, 172, 60)).image((72, 96, 84, 108))
        maker.image((60, 180, 560, 320)).lines(90, 100, BODY, leading=2)
    assert not figures(run(tmp_path, maker).blocks)


def test_a_chart_without_a_caption_is_one_figure(tmp_path: Path) -> None:
    maker = Maker().new_page().lines(72, 100, BODY)
    for n in range(8):
        maker.page.draw_rect((100 + 30 * n, 400 - 20 * n, 118 + 30 * n, 420), color=None, fill=(0.2, 0.4, 0.7))
        x, y = 300 + 80 * math.cos(n), 360 + 40 * math.sin(n)
        maker.page.draw_circle((x, y), 4, color=(1, 0, 0))
        maker.text(100 + 30 * n, 432, str(2010 + n), 7)
    found = figures(run(tmp_path, maker).blocks)
    assert len(found) == 1


def test_a_form_of_rules_and_a_panel_with_text_are_no_figures(tmp_path: Path) -> None:
    maker = Maker().new_page().lines(72, 100, BODY)
    for n in range(20):
        maker.page.draw_line((72, 260 + 14 * n), (500, 260 + 14 * n))
        maker.text(72, 258 + 14 * n, "Name of the person who fills in this line of the form")
    maker.page.draw_rect((60, 600, 400, 760), color=None, fill=(0.8, 0.9, 1))
    maker.lines(72, 620, BODY)
    assert not figures(run(tmp_path, maker).blocks)
    assert texts(run(tmp_path, maker), BlockKind.PARAGRAPH)
