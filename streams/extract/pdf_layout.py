"""Reading order: a page's lines in columns under full-width lines, rows in columns, paragraphs of rows."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sequence
from statistics import median

import msgspec

from streams.extract.pdf_lines import Line

_SENTENCE_END = (".", "!", "?", ":", ".”", '."', ".)", "。", "！", "？")
_MARKER = re.compile(
    r"(?:[•‣◦▪●○■□–—−*·➢✓✔►▶❖o\-]|\(?\d{1,3}[.)]|\(?[a-z][.)]|\([A-Z]\)|\(?[ivx]{1,5}[.)]|\[\d{1,3}\])$"
)
MARKED = re.compile(
    r"([•‣◦▪●○■□–—−*·➢✓✔►▶❖]|[o\-](?=\s)|\(?\d{1,3}[.)](?=\s)|\(?[a-z][.)](?=\s)|\([A-Z]\)(?=\s)"
    r"|\(?[ivx]{1,5}[.)](?=\s)|\[\d{1,3}\](?=\s))\s*(?=\S)"
)
CAPTION = re.compile(
    r"(?P<label>Figure|Fig\.?|FIGURE|Table|TABLE|Tab\.|Exhibit|Chart|Listing|Scheme|Algorithm"
    r"|Abbildung|Abb\.|Tabelle|Tableau|Figura|Tabla|Tabella|Рис\.|Таблица|Obr\.|Obrázek|Tabulka|Rys\.)"
    r"\s*(?P<number>[A-Z]?\d{1,3}(?:[.\-–]\d{1,3})*[a-z]?)(?P<sign>\s*[:.\-–—|]|\s|$)\s*(?P<rest>.*)",
    re.DOTALL,
)
RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹†‡"
_COLUMN_LETTERS = 14  # letters in a typical line of a column; shorter ones are cells or labels
_SIDE_BY_SIDE = 3  # lines of two columns that stand beside each other, at least


class Row(msgspec.Struct, gc=False):
    """Pieces on one baseline within a column."""

    lines: list[Line]
    text: str
    u0: float
    v0: float
    u1: float
    v1: float
    base: float
    size: float
    bold: bool
    italic: bool
    mono: bool
    lead: str
    raised: str
    starts_bold: bool
    table: int


class Paragraph(msgspec.Struct, gc=False):
    """Rows that belong together. `column` is the region's left and right edge."""

    rows: list[Row]
    column: tuple[float, float]
    region: int  # of the page, in reading order
    gap: float = 0.0  # white space above, in font sizes

    @property
    def first(self) -> Row:
        return self.rows[0]

    @property
    def size(self) -> float:
        return self.rows[0].size

    @property
    def box(self) -> tuple[float, float, float, float]:
        return (
            min(row.u0 for row in self.rows),
            min(row.v0 for row in self.rows),
            max(row.u1 for row in self.rows),
            max(row.v1 for row in self.rows),
        )


def paragraphs(lines: Sequence[Line]) -> list[Paragraph]:
    """Paragraphs of the lines of one frame of a page, in reading order."""
    found: list[Paragraph] = []
    for index, region in enumerate(regions(list(lines))):
        found += _split(rows(region), index)
    return found


# --- columns ---------------------------------------------------------------------------------------------------------


def regions(lines: list[Line]) -> list[list[Line]]:
    """Lines of each single column, columns and full-width lines in reading order.

    An XY-cut driven by evidence: a gutter is where lines stand side by side again and again, and lines that cross it
    cut the page into bands, so that neither a title nor aligned paragraph gaps interleave the columns.
    """
    gutter = _gutter(lines)
    if gutter is None:
        return [lines] if lines else []
    found: list[list[Line]] = []
    band: list[Line] = []
    crossing: list[Line] = []
    for line in sorted(lines, key=lambda item: (item.v0 + item.v1, item.u0)):
        if line.u0 < gutter - 1 and line.u1 > gutter + 1:
            found += _sides(band, gutter)
            band = []
            crossing.append(line)
        else:
            if crossing and not _shares_row(line, crossing):
                found += regions(crossing)
                crossing = []
            (crossing if crossing else band).append(line)
    found += regions(crossing) if crossing else []
    found += _sides(band, gutter)
    return found


def _shares_row(line: Line, others: list[Line]) -> bool:
    return any(abs(line.base - other.base) < 0.3 * min(line.size, other.size) for other in others[-4:])


def _sides(band: list[Line], gutter: float) -> list[list[Line]]:
    if not band:
        return []
    left = [line for line in band if line.u0 + line.u1 < 2 * gutter]
    right = [line for line in band if line.u0 + line.u1 >= 2 * gutter]
    if not left or not right:
        return regions(left or right)
    sides = (right, left) if is_right_to_left("".join(line.text for line in band)) else (left, right)
    return [region for side in sides for region in regions(side)]


def _gutter(lines: list[Line]) -> float | None:
    """The u between two columns, or None where there are none."""
    texts = [line for line in lines if line.table < 0]
    if len(texts) < 2 * _SIDE_BY_SIDE:
        return None
    pairs = _pairs(texts)
    votes: Counter[int] = Counter(round(right.u0 / 3) for _, right in pairs)
    best: tuple[int, int, int] | None = None
    answer: float | None = None
    for place, count in sorted(votes.items(), key=lambda item: (-item[1], item[0]))[:6]:
        if count < 2:
            continue
        edge = min(right.u0 for _, right in pairs if round(right.u0 / 3) == place) - 0.5
        left = [line for line in lines if line.u1 <= edge + 1]
        right = [line for line in lines if line.u0 >= edge - 1]
        beside = [(a, b) for a, b in pairs if a.u1 <= edge + 1 and b.u0 >= edge - 1]
        if len({id(a) for a, _ in beside}) < _SIDE_BY_SIDE or len({id(b) for _, b in beside}) < _SIDE_BY_SIDE:
            continue
        if not (_is_column([a for a, _ in beside]) and _is_column([b for _, b in beside])):
            continue
        crossing = len(lines) - len(left) - len(right)
        score = (len(beside) - 2 * crossing, len(beside), -place)
        if best is None or score > best:
            best = score
            answer = edge - min(b.u0 - a.u1 for a, b in beside) / 2
    return answer


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
        median(letters(line.text) for line in lines) >= _COLUMN_LETTERS
        and sum(any(c.isalpha() for c in line.text) for line in lines) > 0.7 * len(lines)
    ) or median(_wide(line.text) for line in lines) >= _COLUMN_LETTERS / 2


def letters(text: str) -> int:
    return len(text) - text.count(" ")


def _wide(text: str) -> int:
    return sum(unicodedata.east_asian_width(c) in "WF" for c in text) if not text.isascii() else 0


def _is_marker(line: Line) -> bool:
    return len(line.text) <= 5 and (not line.text or _MARKER.match(line.text) is not None)


def is_right_to_left(text: str) -> bool:
    """Whether most letters are of a script that runs from right to left."""
    if text.isascii():
        return False
    right = sum(unicodedata.bidirectional(c) in ("R", "AL") for c in text)
    return right * 2 > sum(c.isalpha() for c in text)


# --- rows ------------------------------------------------------------------------------------------------------------


def rows(lines: list[Line]) -> list[Row]:
    """Rows of one column from top to bottom."""
    groups: list[list[Line]] = []
    for line in sorted(lines, key=lambda item: (item.base, item.u0)):
        home = next((group for group in reversed(groups[-3:]) if _same_row(line, group)), None)
        if home is None:
            groups.append([line])
        else:
            home.append(line)
    return [_row(group) for group in groups]


def _same_row(line: Line, group: list[Line]) -> bool:
    main = max(group, key=lambda item: item.size)
    if line.table >= 0 or main.table >= 0:
        return False
    big, small = (main, line) if main.size >= line.size else (line, main)
    if small.size < 0.8 * big.size:
        near = big.base - 0.75 * big.size <= small.base <= big.base + 0.35 * big.size
    else:
        near = abs(line.base - main.base) <= 0.3 * small.size
    return near and all(line.u0 >= other.u1 - 0.3 * line.size or line.u1 <= other.u0 + 0.3 * line.size for other in group)


def _row(lines: list[Line]) -> Row:
    lines.sort(key=lambda item: item.u0)
    if is_right_to_left("".join(line.text for line in lines)):
        lines.reverse()
    main = max(lines, key=lambda item: (letters(item.text), -item.u0))
    parts = [lines[0].text]
    for before, line in zip(lines, lines[1:], strict=False):
        gap = max(line.u0 - before.u1, before.u0 - line.u1)
        glue = gap < 0.1 * main.size
        mark = line.lead if line.lead and line is not lines[0] else ""
        parts.append(mark + ("" if glue else " ") + line.text)
    text = " ".join("".join(parts).split())
    weight = sum(letters(line.text) for line in lines) or 1
    return Row(
        lines=lines,
        text=text,
        u0=lines[0].u0 if len(lines) == 1 else min(line.u0 for line in lines),
        v0=min(line.v0 for line in lines if line.size >= 0.8 * main.size),
        u1=max(line.u1 for line in lines),
        v1=max(line.v1 for line in lines if line.size >= 0.8 * main.size),
        base=main.base,
        size=main.size,
        bold=sum(letters(line.text) for line in lines if line.bold) >= 0.9 * weight,
        italic=sum(letters(line.text) for line in lines if line.italic) >= 0.9 * weight,
        mono=sum(letters(line.text) for line in lines if line.mono) >= 0.9 * weight,
        lead=lines[0].lead,
        raised="".join(line.raised for line in lines),
        starts_bold=lines[0].bold,
        table=main.table,
    )


# --- paragraphs ------------------------------------------------------------------------------------------------------


def _split(column: list[Row], region: int) -> list[Paragraph]:
    if not column:
        return []
    left = min(row.u0 for row in column)
    right = max(row.u1 for row in column)
    leading = _leading(column)
    found = [Paragraph([column[0]], (left, right), region)]
    for before, row in zip(column, column[1:], strict=False):
        if _breaks(found[-1], before, row, leading, right):
            gap = max(0.0, row.v0 - before.v1) / row.size
            found.append(Paragraph([row], (left, right), region, round(gap, 3)))
        else:
            found[-1].rows.append(row)
    return found


def _leading(column: list[Row]) -> float:
    """Distance of baselines inside paragraphs, in font sizes: the lower third is free of the gaps between them."""
    steps = sorted(
        (row.base - before.base) / row.size
        for before, row in zip(column, column[1:], strict=False)
        if abs(row.size - before.size) < 0.1 * row.size and row.base > before.base and row.table < 0 > before.table
    )
    if len(steps) < 3:
        return 1.3
    return min(2.2, max(1.0, steps[len(steps) // 3]))


def _breaks(paragraph: Paragraph, before: Row, row: Row, leading: float, right: float) -> bool:
    """Whether `row` begins a paragraph of its own."""
    if row.table >= 0 or before.table >= 0:
        return True
    step = (row.base - before.base) / max(row.size, before.size)
    if step > leading * 1.25 + 0.05 or step < 0:
        return True
    if max(row.size, before.size) > 1.12 * min(row.size, before.size):
        return True
    if row.u0 > before.u1 or row.u1 < before.u0:
        return True
    if row.lead or _begins_item(row, paragraph) or is_caption(row.text) or row.text[0] in RAISED:
        return True
    return _style_breaks(paragraph, before, row, right) or _indent_breaks(paragraph, before, row, right)


def _begins_item(row: Row, paragraph: Paragraph) -> bool:
    if not MARKED.match(row.text):
        return False
    # a hanging line may begin with "5. " or "- " by chance: an item does not stand deeper than the text above it
    first = paragraph.first
    hanging = paragraph.rows[1].u0 if len(paragraph.rows) > 1 else first.u0
    return not (row.text[0] in "-–—o" and abs(row.u0 - hanging) < 0.5 and not MARKED.match(first.text))


def is_caption(text: str) -> bool:
    """Whether a text begins as a caption does, and not as a sentence about a figure."""
    match = CAPTION.match(text)
    if match is None:
        return False
    if match["sign"].strip() or not match["rest"]:
        return True
    return match["rest"][:1].isupper() or match["rest"][:1] in "(“\""


def _style_breaks(paragraph: Paragraph, before: Row, row: Row, right: float) -> bool:
    short = right - before.u1 > 0.15 * (right - paragraph.column[0])
    if all(item.bold for item in paragraph.rows) and not row.starts_bold and (short or before.size != row.size):
        return True
    if row.bold and not before.bold and (short or before.text.endswith(_SENTENCE_END)):
        return True
    if all(item.italic for item in paragraph.rows) and not row.italic:
        return right - before.u1 > 0.3 * (right - paragraph.column[0]) and row.text[:1].isupper()
    return row.mono != before.mono and (short or row.mono)


def _indent_breaks(paragraph: Paragraph, before: Row, row: Row, right: float) -> bool:
    if is_right_to_left(row.text):
        return False
    indent = (row.u0 - before.u0) / row.size
    hanging = bool(before.lead or MARKED.match(before.text))
    if indent > 0.7 and not hanging and indent < 6:
        if len(paragraph.rows) == 1 and not before.text.endswith(_SENTENCE_END):
            return False  # second line of a hanging paragraph
        return True
    ends = before.text.endswith(_SENTENCE_END) and right - before.u1 > 0.2 * (right - paragraph.column[0])
    if ends and (row.text[:1].isupper() or row.text[:1].isdigit()):
        return True
    item = bool(paragraph.first.lead or MARKED.match(paragraph.first.text))
    return item and len(paragraph.rows) > 1 and indent < -0.7


def paragraph_text(rows: Sequence[Row], keep_hyphen: Callable[[str], bool]) -> str:
    """Rows as running text; a hyphen at a line's end goes when lower case follows, unless `keep_hyphen(word)`."""
    text = rows[0].text
    for row in rows[1:]:
        text = join(text, row.text, keep_hyphen)
    return text.replace("\u00ad", "").strip()


def join(text: str, more: str, keep_hyphen: Callable[[str], bool]) -> str:
    """Two lines of one paragraph as one."""
    if not text or not more:
        return text or more
    if text[-1] == "\u00ad":
        return text[:-1] + more
    if text[-1] in "-‐" and len(text) > 1 and text[-2].isalpha() and more[0].islower():
        word = re.split(r"[\s(\[“\"]", text)[-1] + re.split(r"[\s.,;:)\]”\"]", more)[0]
        return text + more if keep_hyphen(word.replace("‐", "-").casefold()) else text[:-1] + more
    if _wide(text[-1]) and _wide(more[0]):
        return text + more
    return f"{text} {more}"
