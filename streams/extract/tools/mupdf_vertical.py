"""Vertical writing in MuPDF's text: its boxes are moved to where the glyphs are, so that what lies on them is found."""

from __future__ import annotations

from typing import Any

_ORIGIN = 0.88  # of the size


def to_glyphs(line: Any) -> tuple[float, float]:
    """How far the boxes of a line of vertical writing lie from its glyphs; (0, 0) for other lines.

    MuPDF lets such a box begin at the baseline of its glyph, which lies 0.88 of the size below the glyph's top unless
    the font says otherwise (ISO 32000-1, 9.7.4.3, DW2).
    """
    if not line["wmode"] or not line["spans"]:
        return 0.0, 0.0
    shift = _ORIGIN * max(float(span["size"]) for span in line["spans"])
    return -shift * line["dir"][0], -shift * line["dir"][1]


def moved(box: Any, move: tuple[float, float]) -> tuple[float, float, float, float]:
    """A box (x0, y0, x1, y1) moved by (dx, dy)."""
    return box[0] + move[0], box[1] + move[1], box[2] + move[0], box[3] + move[1]


def vertical_lines(textpage: Any) -> dict[tuple[int, int], tuple[float, float]]:
    """(number of the block, of the line) of each line of vertical writing, and how far its words are to be moved."""
    return {
        (block["number"], index): to_glyphs(line)
        for block in textpage.extractDICT()["blocks"]
        for index, line in enumerate(block.get("lines", ()))
        if line["wmode"]
    }
