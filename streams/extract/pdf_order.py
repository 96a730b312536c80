"""How sure the reading order of a page is: a score from what would make a person hesitate, too."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from streams.extract.pdf_columns import letters
from streams.extract.pdf_layout import Paragraph, Row
from streams.extract.pdf_lines import Frame, Line

_MOST_PARAGRAPHS = 400  # of a page whose pairs are compared; a page with more is a map or a drawing
_OVERLAP = 0.25  # share of the smaller box that two paragraphs may share
_FRAGMENT = 12  # letters of a paragraph that is a label or a cell
_FAR = 2.5  # font sizes between two pieces of one row that may be two columns


def order_score(
    paragraphs: Sequence[Paragraph], groups: Sequence[tuple[Frame, Sequence[Line]]], agreement: float | None
) -> float | None:
    """0..1 for the main frame of a page; None where there is no text to order.

    A factor for each sign of doubt, each between 1 (none) and what it leaves at its worst:
    paragraphs over each other (0), rows with pieces far apart that may belong to two columns (0.3), many fragments
    (0.4), text in other directions (0.5), and blocks against the order of the page's content (0.4, or 0.8 where the
    page is one column) and against the order of its tags (0.5).

    Args:
        agreement: share of neighbouring blocks whose order the tags confirm; None without tags.
    """
    texts = [paragraph for paragraph in paragraphs if paragraph.stands_for is None]
    weights = [sum(letters(row.text) for row in paragraph.rows) for paragraph in texts]
    total = sum(weights)
    if not total:
        return None
    if len(texts) > _MOST_PARAGRAPHS:
        return 0.2
    over = sum(weight for weight, hit in zip(weights, _overlapping(texts), strict=True) if hit) / total
    loose = sum(letters(row.text) for paragraph in texts for row in paragraph.rows if _is_loose(row)) / total
    fragments = sum(weight < _FRAGMENT for weight in weights) / len(texts) if len(texts) > 8 else 0.0
    others = sum(letters(line.text) for _, lines in groups[1:] for line in lines)
    turned = others / (others + total)
    columns = len({paragraph.region for paragraph in texts}) > 1
    score = (
        (1 - over)
        * (1 - 0.7 * loose)
        * (1 - 0.6 * fragments)
        * (1 - 0.5 * turned)
        * (1 - (0.6 if columns else 0.2) * _against(texts, groups[0][1]))
    )
    if agreement is not None:
        score *= 1 - 0.5 * (1 - agreement)
    return round(max(0.0, score), 2)


def _overlapping(paragraphs: Sequence[Paragraph]) -> list[bool]:
    """For each paragraph, whether it lies over another one, more than lines of text that touch."""
    boxes = [paragraph.box for paragraph in paragraphs]
    hit = [False] * len(boxes)
    order = sorted(range(len(boxes)), key=lambda index: (boxes[index][1], index))
    for place, a in enumerate(order):
        u0, v0, u1, v1 = boxes[a]
        for b in order[place + 1 :]:
            other = boxes[b]
            if other[1] >= v1:
                break
            width, height = min(u1, other[2]) - max(u0, other[0]), min(v1, other[3]) - max(v0, other[1])
            smaller = min((u1 - u0) * (v1 - v0), (other[2] - other[0]) * (other[3] - other[1]))
            if width > 0 and height > 0 and width * height > _OVERLAP * smaller:
                hit[a] = hit[b] = True
    return hit


def _is_loose(row: Row) -> bool:
    return any(
        max(right.u0 - left.u1, left.u0 - right.u1) > _FAR * row.size
        and min(letters(left.text), letters(right.text)) >= 3
        for left, right in pairwise(row.lines)
    )


def _against(paragraphs: Sequence[Paragraph], lines: Sequence[Line]) -> float:
    """Share of neighbouring paragraphs of which the second one comes first in the page's content."""
    places = {id(line): index for index, line in enumerate(lines)}
    first = [min(places.get(id(line), 0) for row in paragraph.rows for line in row.lines) for paragraph in paragraphs]
    pairs = list(pairwise(first))
    return sum(a > b for a, b in pairs) / len(pairs) if len(pairs) > 1 else 0.0
