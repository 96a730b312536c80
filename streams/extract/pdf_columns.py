"""Columns: where lines stand side by side again and again, and which lines lie across them."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections import Counter
from statistics import median

from streams.extract.pdf_lines import Line

_COLUMN_LETTERS = 14  # letters in a typical line of a column; shorter ones are cells or labels
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")  # Hebrew to Arabic, with their forms
_DEEPEST = 6  # cuts inside cuts
_MOST_LINES = 1500  # of a page: more is a map or a drawing, and has no columns
_SIDE_BY_SIDE = 3  # lines of two columns that stand beside each other, at least


_MARKER = re.compile(
    r"(?:[•‣◦▪●○■□–—−*·➢✓✔►▶❖o\ufffd\-]|\(?\d{1,3}[.)]|\(?[a-z][.)]|\([A-Z]\)|\(?[ivx]{1,5}[.)]|\[\d{1,3}\])$"
)


def regions(lines: list[Line], depth: int = 0) -> list[list[Line]]:
    """Lines of each single column, columns and full-width lines in reading order.

    An XY-cut driven by evidence: a gutter is where lines stand side by side again and again, and lines that cross it
    cut the page into bands, so that neither a title nor aligned paragraph gaps interleave the columns.
    """
    split = (_gutter(lines) or _margin(lines)) if depth < _DEEPEST else None
    if split is None:
        return [lines] if lines else []
    gutter, loose = split
    found: list[list[Line]] = []
    band: list[Line] = []
    crossing: list[Line] = []
    for line in sorted(lines, key=lambda item: (item.v0 + item.v1, item.u0)):
        if (line.u0 < gutter - 1 and line.u1 > gutter + 1) or id(line) in loose:
            found += _sides(band, gutter, depth)
            band = []
            crossing.append(line)
        else:
            if crossing and not _shares_row(line, crossing) and not _ends_block(line, crossing[-1], lines):
                found += regions(crossing, depth + 1)
                crossing = []
            (crossing if crossing else band).append(line)
    found += regions(crossing, depth + 1) if crossing else []
    found += _sides(band, gutter, depth)
    return found


def _shares_row(line: Line, others: list[Line]) -> bool:
    return any(abs(line.base - other.base) < 0.3 * min(line.size, other.size) for other in others[-4:])


def _ends_block(line: Line, before: Line, lines: list[Line]) -> bool:
    """Whether a line is the short last one of a full-width block: close below it, like it, and alone on its row."""
    size = before.size
    return (
        abs(line.u0 - before.u0) < 1
        and abs(line.size - size) < 0.05 * size
        and line.bold == before.bold
        and line.v0 - before.v1 < 0.3 * size
        and not any(other is not line and abs(other.base - line.base) < 0.5 * size for other in lines)
    )


def _sides(band: list[Line], gutter: float, depth: int) -> list[list[Line]]:
    if not band:
        return []
    head = _centred_head(band, gutter)
    if head:
        gone = {id(line) for line in head}
        rest = [line for line in band if id(line) not in gone]
        return regions(head, depth + 1) + _sides(rest, gutter, depth)
    left = [line for line in band if line.u0 + line.u1 < 2 * gutter]
    right = [line for line in band if line.u0 + line.u1 >= 2 * gutter]
    if not left or not right:
        return regions(left or right, depth + 1)
    sides = (right, left) if is_right_to_left("".join(line.text for line in band)) else (left, right)
    return [region for side in sides for region in regions(side, depth + 1)]


def _centred_head(band: list[Line], gutter: float) -> list[Line]:
    """Lines above a white row that stand in both columns and fill neither, as the authors of a paper do."""
    lines = sorted(band, key=lambda line: line.v0)
    left = [line for line in lines if line.u1 <= gutter]
    right = [line for line in lines if line.u0 >= gutter]
    if len(left) < 2 * _SIDE_BY_SIDE or len(right) < 2 * _SIDE_BY_SIDE:
        return []
    edges = [(median(line.u0 for line in side), median(line.u1 for line in side)) for side in (left, right)]
    foot = lines[0].v1
    for index, line in enumerate(lines):
        if line.v0 - foot > 1.2 * line.size:
            head = lines[:index]
            return head if head and any(item.u0 > gutter for item in head) else []
        u0, u1 = edges[line.u0 >= gutter]
        if line.u1 - line.u0 > 0.8 * (u1 - u0) or line.u0 < u0 + line.size:
            return []
        foot = max(foot, line.v1)
    return []


def _gutter(lines: list[Line]) -> tuple[float, set[int]] | None:
    """The u between two columns, and the identities of lines above or below them that are rows of a table.

    None where there are no columns.
    """
    texts = [line for line in lines if not line.solid]
    if not 2 * _SIDE_BY_SIDE <= len(texts) <= _MOST_LINES:
        return None
    pairs = _pairs(texts)
    wordy = [(a, b) for a, b in pairs if _is_wordy(a) and _is_wordy(b)]
    votes: Counter[int] = Counter(round(right.u0 / 3) for _, right in wordy)
    best: tuple[int, int, int] | None = None
    answer: tuple[float, set[int]] | None = None
    for place, count in sorted(votes.items(), key=lambda item: (-item[1], item[0]))[:6]:
        if count < 2:
            continue
        edge = min(right.u0 for _, right in wordy if round(right.u0 / 3) == place) - 0.5
        beside = [(a, b) for a, b in wordy if a.u1 <= edge + 1 and b.u0 >= edge - 1]
        if len({id(a) for a, _ in beside}) < _SIDE_BY_SIDE or len({id(b) for _, b in beside}) < _SIDE_BY_SIDE:
            continue
        top, foot = min(a.v0 for a, _ in beside), max(max(a.v1, b.v1) for a, b in beside)
        cells = [pair for pair in pairs if pair[0].u1 <= edge + 1 and pair[1].u0 >= edge - 1]
        top, foot = _with_short_ends(cells, texts, edge, top, foot)
        within = [(a, b) for a, b in cells if a.v1 > top and a.v0 < foot]
        if not (_is_column([a for a, _ in within]) and _is_column([b for _, b in within])):
            continue
        loose = _on_rows_of([a for a, _ in cells if a.v1 <= top or a.v0 >= foot], texts)
        crossing = sum(line.u0 < edge - 1 and line.u1 > edge + 1 for line in lines)
        score = (len(beside) - 2 * crossing, len(beside), -place)
        if best is None or score > best:
            best = score
            answer = edge - min(b.u0 - a.u1 for a, b in beside) / 2, loose
    return answer


def _margin(lines: list[Line]) -> tuple[float, set[int]] | None:
    """The white between the text and its side notes: nothing crosses it, and the two sides have rows of their own."""
    texts = [line for line in lines if not line.solid and len(line.text) > 1]
    if not 2 * _SIDE_BY_SIDE <= len(texts) <= _MOST_LINES:
        return None
    size = median(line.size for line in texts)
    gaps: list[tuple[float, float]] = []  # width, middle
    reach = -1e9
    for line in sorted(lines, key=lambda item: item.u0):
        if line.u0 - reach > size and reach > -1e9:
            gaps.append((line.u0 - reach, (line.u0 + reach) / 2))
        reach = max(reach, line.u1)
    for _, middle in sorted(gaps, reverse=True)[:4]:
        left = [line for line in texts if line.u1 < middle]
        right = [line for line in texts if line.u0 > middle]
        if min(len(left), len(right)) < _SIDE_BY_SIDE or not (_is_column(left) and _is_column(right)):
            continue
        few, many = sorted((left, right), key=len)
        bases = [line.base for line in many]
        shared = sum(any(abs(line.base - base) < 0.15 * line.size for base in bases) for line in few)
        if shared * 2 < len(few):
            return middle, set()
    return None


def _with_short_ends(
    cells: list[tuple[Line, Line]], texts: list[Line], edge: float, top: float, foot: float
) -> tuple[float, float]:
    """Top and foot of two columns with the rows next to them that are theirs: a heading beside text or a heading."""
    within = [(a, b) for a, b in cells if a.v1 > top and a.v0 < foot]
    sides = min(a.u0 for a, _ in within), min(b.u0 for _, b in within)
    for a, b in sorted(cells, key=lambda pair: -pair[0].v0):
        if a.v1 <= top and (
            _begins_both((a, b), sides, top - a.v1) or any(_goes_on(line, texts, edge, below=True) for line in (a, b))
        ):
            top = min(a.v0, b.v0)
    for a, b in sorted(cells, key=lambda pair: pair[0].v0):
        if a.v0 >= foot and (
            _begins_both((a, b), sides, a.v0 - foot) or any(_goes_on(line, texts, edge, below=False) for line in (a, b))
        ):
            foot = max(a.v1, b.v1)
    return top, foot


def _begins_both(pair: tuple[Line, Line], sides: tuple[float, float], gap: float) -> bool:
    """Whether both lines of a row near by begin where their columns do. A row of a table rarely fits both."""
    return gap < 2.0 * max(line.size for line in pair) and all(
        abs(line.u0 - left) < 1.0 for line, left in zip(pair, sides, strict=True)
    )


def _goes_on(line: Line, texts: list[Line], edge: float, *, below: bool) -> bool:
    """Whether a long line has a neighbour above or below in its own column, at its left edge or near to it."""
    if not _is_wordy(line):
        return False
    near = 0.6 * line.size
    column = [other for other in texts if other is not line and (other.u1 <= edge + 1 or other.u0 >= edge - 1)]
    return any(
        -near < (other.v0 - line.v1 if below else line.v0 - other.v1) < near
        and abs(other.u0 - line.u0) < 3 * line.size
        and abs(other.size - line.size) < 0.1 * line.size
        and _is_wordy(other)
        for other in column
    )


def _on_rows_of(cells: list[Line], lines: list[Line]) -> set[int]:
    """Identities of all lines on the rows of these cells."""
    found: set[int] = set()
    for cell in {round(cell.base): cell for cell in cells}.values():
        found.update(id(line) for line in lines if cell.v0 <= (line.v0 + line.v1) / 2 <= cell.v1)
    return found


def _is_wordy(line: Line) -> bool:
    return letters(line.text) >= _COLUMN_LETTERS * 0.7 or wide(line.text) >= _COLUMN_LETTERS / 2


def _pairs(lines: list[Line]) -> list[tuple[Line, Line]]:
    """Each line with its next neighbour to the right, where the white space between them is no word space."""
    by_top = sorted(lines, key=lambda line: line.v0)
    tops = [line.v0 for line in by_top]
    tallest = max(line.v1 - line.v0 for line in lines)
    pairs = []
    for line in by_top:
        middle = (line.v0 + line.v1) / 2
        nearest: Line | None = None
        for other in by_top[bisect_left(tops, middle - tallest) :]:
            if other.v0 > middle:
                break
            if (
                other.v1 >= middle
                and other.u0 >= line.u1 + 0.8 * line.size
                and (nearest is None or other.u0 < nearest.u0)
            ):
                nearest = other
        if nearest is not None and not _is_marker(line):
            pairs.append((line, nearest))
    return pairs


def _is_column(lines: list[Line]) -> bool:
    return (
        bool(lines)
        and (
            median(letters(line.text) for line in lines) >= _COLUMN_LETTERS
            and sum(any(c.isalpha() or c == "\ufffd" for c in line.text) for line in lines) > 0.7 * len(lines)
        )
    ) or median(wide(line.text) for line in lines) >= _COLUMN_LETTERS / 2


def letters(text: str) -> int:
    """Number of characters without blanks."""
    return len(text) - text.count(" ")


def wide(text: str) -> int:
    """Number of full-width (East Asian) characters."""
    return sum(unicodedata.east_asian_width(c) in "WF" for c in text) if text and max(text) >= "\u1100" else 0


def _is_marker(line: Line) -> bool:
    return len(line.text) <= 5 and (not line.text or _MARKER.match(line.text) is not None)


def is_right_to_left(text: str) -> bool:
    """Whether most letters are of a script that runs from right to left."""
    if not _RIGHT_TO_LEFT.search(text):
        return False
    right = sum(unicodedata.bidirectional(c) in ("R", "AL") for c in text)
    return right * 2 > sum(c.isalpha() for c in text)
