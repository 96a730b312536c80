"""A page's lines with the characters that another reader sees in their places, and the words that they make."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

import msgspec

from streams.extract.boxes import Box, around
from streams.extract.tools.glyphs import Glyph
from streams.extract.tools.mupdf import PageRead, RawLine, Span, Word

_BAND = 40.0  # points
_GAP = 0.2  # of the font size: from here on two characters belong to two words
_DOUBLE = 0.15  # of the font size: how far apart the two prints of fake bold lie; a full stop is 0.25 wide
_MARGIN = 0.15  # of the font size: how far the boxes of two readers differ


class _Seen(msgspec.Struct, gc=False):
    """A character in its place on the displayed page."""

    text: str
    box: Box

    @property
    def middle(self) -> tuple[float, float]:
        return (self.box[0] + self.box[2]) / 2, (self.box[1] + self.box[3]) / 2


def with_glyphs(page: PageRead, glyphs: Sequence[Glyph], place: Callable[[Box], Box]) -> tuple[PageRead, list[Word]]:
    """The page with the text of the glyphs, and its words.

    Lines, styles and visibility stay those of the page. A span in whose place the other reader sees nothing keeps its
    text, as one of vertical writing does; what it sees where no span is, is left out.

    Args:
        place: gives the place of a box of user space on the displayed page.
    """
    by_span = _by_span(page, glyphs, place)
    lines: list[RawLine] = []
    words: list[Word] = []
    number = 0
    for line in page.lines:
        spans: list[Span] = []
        before: _Seen | None = None
        word: list[_Seen] = []
        for span in line.spans:
            text = ""
            for seen in by_span.get(number, ()):
                blank = not seen.text.strip()
                if blank or (before is not None and _gap(before, seen, line) > _GAP * span.size):
                    _end(word, words)
                    text += "" if not text or text.endswith(" ") else " "
                if not blank:
                    text += seen.text
                    if span.visible:
                        word.append(seen)
                    before = seen
            spans.append(span._replace(text=text) if text else span)
            number += 1
        _end(word, words)
        lines.append(line._replace(spans=spans))
    return msgspec.structs.replace(page, lines=lines), words


def _end(word: list[_Seen], words: list[Word]) -> None:
    if word:
        words.append(Word(around(seen.box for seen in word), "".join(seen.text for seen in word)))
        word.clear()


def _gap(before: _Seen, after: _Seen, line: RawLine) -> float:
    """Blank between two characters along their line; negative where they overlap or the second one stands before."""
    dx, dy = line.direction
    if abs(dx) >= abs(dy):
        return after.box[0] - before.box[2] if dx >= 0 else before.box[0] - after.box[2]
    return after.box[1] - before.box[3] if dy > 0 else before.box[1] - after.box[3]


def _by_span(page: PageRead, glyphs: Sequence[Glyph], place: Callable[[Box], Box]) -> dict[int, list[_Seen]]:
    """Characters by the number of the span that they stand in, in the order of the content."""
    spans = [span for line in page.lines for span in line.spans]
    vertical = [line.vertical for line in page.lines for _ in line.spans]
    bands: defaultdict[int, list[int]] = defaultdict(list)
    for number, span in enumerate(spans):
        if vertical[number]:
            continue  # PDFium gives such characters the places of horizontal ones
        for band in range(int(max(span.box[1], -_BAND) // _BAND), int(min(span.box[3], page.height) // _BAND) + 1):
            bands[band].append(number)
    found: dict[int, list[_Seen]] = {}
    printed: dict[tuple[int, str, int, int], list[tuple[float, float]]] = {}  # places, so that few are compared
    last = -1
    for glyph in glyphs:
        seen = _Seen(glyph.text, place(glyph.box))
        if not seen.text.strip():  # blanks have no height in some readers
            if last >= 0:
                found.setdefault(last, []).append(seen)
            continue
        x, y = seen.middle
        around = bands.get(int(y // _BAND), ())
        near_by = (last, *around) if last >= 0 else around
        last = next(
            (n for margin in (0.0, _MARGIN) for n in near_by if _stands_in(x, y, spans[n], margin * spans[n].size)), -1
        )
        if last < 0:
            continue
        near = _DOUBLE * max(spans[last].size, 1.0)
        place_of = (last, seen.text, int(x // near), int(y // near))
        beside = ((last, seen.text, place_of[2] + du, place_of[3] + dv) for du in (-1, 0, 1) for dv in (-1, 0, 1))
        if not any(abs(u - x) < near and abs(v - y) < near for at in beside for u, v in printed.get(at, ())):
            found.setdefault(last, []).append(seen)
            printed.setdefault(place_of, []).append((x, y))
    return found


def _stands_in(x: float, y: float, span: Span, margin: float) -> bool:
    x0, y0, x1, y1 = span.box
    return x0 - margin <= x <= x1 + margin and y0 - margin <= y <= y1 + margin
