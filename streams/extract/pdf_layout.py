"""Rows of the lines of each column, and paragraphs of rows."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from itertools import pairwise

import msgspec

from streams.extract.boxes import Box
from streams.extract.pdf_columns import is_right_to_left, letters, regions, wide
from streams.extract.pdf_initials import close_up, with_initials
from streams.extract.pdf_lines import Line
from streams.extract.pdf_panels import groups

_SENTENCE_END = (".", "!", "?", ":", ".”", '."', ".)", "。", "！", "？")
MARKED = re.compile(
    r"([•‣◦▪●○■□➢✓✔►▶❖]|[o\-–—−*·\ufffd](?=\s)|(?!\(\d{3}\)\s?\d{3}[-. ]\d)\(?\d{1,3}[.)](?=\s)"
    r"|\(?[a-z][.)](?=\s)|\([A-Z]\)(?=\s)|\(?[ivx]{1,5}[.)](?=\s)|\[\d{1,3}\](?=\s))\s*(?=\S)"
)
CAPTION = re.compile(
    r"(?P<label>Figure|Fig\.?|FIGURE|Table|TABLE|Tab\.|Exhibit|Chart|Listing|Scheme|Algorithm"
    r"|Abbildung|Abb\.|Tabelle|Tableau|Figura|Tabla|Tabella|Tabela|Rysunek|Figuur|Tabel|Figur|Tabell|Kuva|Taulukko"
    r"|Рис\.|Рисунок|Таблица|Obr\.|Obrázek|Tabulka|Rys\.|Şekil|Tablo|Σχήμα|Πίνακας|[图圖図表]|그림|표|شكل|جدول|תמונה|טבלה)"
    r"\s*(?P<number>[A-Z]?\d{1,3}(?:[.\-–]\d{1,3})*[a-z]?)(?P<sign>\s*[:.\-–—|]|\s|$)\s*(?P<rest>.*)",
    re.DOTALL,
)
LEADER = re.compile(r"(?:\s?[.·…]){5,}\s*")
ENTRY = re.compile(r".*… \S{1,8}$")  # of a table of contents
_COUNTED = re.compile(r"(\d{1,3})\s+\S")
_LEAST_HANGING = 3  # lines that step in and out again
_NEIGHBOURS = 24  # pieces of a row that a further piece is compared with
RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹†‡"


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
    solid: bool
    tabular: bool  # pieces far apart, as the cells of a table without rules


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
    def stands_for(self) -> Line | None:
        """The line that stands for a table or a figure."""
        return self.rows[0].lines[0] if self.rows[0].solid else None

    @property
    def open_ended(self) -> bool:
        """Whether its last row goes to the column's edge, so that it may go on elsewhere."""
        left, right = self.column
        return not self.rows[-1].tabular and self.rows[-1].u1 > right - 0.15 * (right - left)

    @property
    def box(self) -> tuple[float, float, float, float]:
        return (
            min(row.u0 for row in self.rows),
            min(row.v0 for row in self.rows),
            max(row.u1 for row in self.rows),
            max(row.v1 for row in self.rows),
        )


def paragraphs(lines: Sequence[Line], panels: Sequence[Box] = ()) -> list[Paragraph]:
    """Paragraphs of the lines of one frame of a page, in reading order; `panels` are boxes drawn around some."""
    left = with_initials(list(lines))
    found = groups(left, panels)
    for index, group in enumerate(found):
        gone = {id(line) for cell in group.cells for line in cell}
        u0, v0, u1, v1 = group.box
        stand_in = Line("", u0, v0, u1, v1, v1, 10.0, bold=False, italic=False, mono=False, panels=index)
        left = [*(line for line in left if id(line) not in gone), stand_in]
    parts: list[list[Row]] = []
    for region in regions(left):
        parts.append([])
        for row in rows(region):
            if row.lines[0].panels < 0:
                parts[-1].append(row)
            else:
                parts += [rows(part) for cell in found[row.lines[0].panels].cells for part in regions(cell)]
                parts.append([])
    return [paragraph for index, part in enumerate(filter(None, parts)) for paragraph in _split(part, index)]


# --- rows ---------------------------------------------------------------------------------------------------------


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
    group = group[-_NEIGHBOURS:]
    main = max(group, key=lambda item: item.size)
    if line.solid or main.solid:
        return False
    big, small = (main, line) if main.size >= line.size else (line, main)
    if small.size < 0.8 * big.size:
        near = big.base - 0.75 * big.size <= small.base <= big.base + 0.35 * big.size
    else:
        near = abs(line.base - main.base) <= 0.3 * small.size
    return near and all(
        line.u0 >= other.u1 - 0.3 * line.size or line.u1 <= other.u0 + 0.3 * line.size for other in group
    )


def _row(lines: list[Line]) -> Row:
    lines.sort(key=lambda item: item.u0)
    if is_right_to_left("".join(line.text for line in lines)):
        lines.reverse()
    main = max(lines, key=lambda item: (letters(item.text), -item.u0))
    parts = [lines[0].text]
    for before, line in pairwise(lines):
        gap = max(line.u0 - before.u1, before.u0 - line.u1)
        glue = gap < 0.1 * main.size
        mark = line.lead if line.lead and line is not lines[0] else ""
        parts.append(mark + ("" if glue else " ") + line.text)
    text = close_up(" ".join(LEADER.sub(" … ", "".join(parts)).split()))
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
        solid=main.solid,
        tabular=_is_tabular(lines, main.size),
    )


def _is_tabular(lines: list[Line], size: float) -> bool:
    """Whether pieces stand apart as cells do, and not as the words of a line that was stretched to the margin."""
    gaps = [max(b.u0 - a.u1, a.u0 - b.u1) for a, b in pairwise(lines)]
    if len(gaps) < 2 or min(gaps) <= size:
        return False
    return max(gaps) > 2.5 * size or max(gaps) - min(gaps) > 0.2 * size


# --- paragraphs ------------------------------------------------------------------------------------------------------


def _split(column: list[Row], region: int) -> list[Paragraph]:
    if not column:
        return []
    left = min(row.u0 for row in column)
    right = max(row.u1 for row in column)
    leadings = _leadings(column)
    hanging = left if _is_hanging(column, left, right) else None
    found = [Paragraph([column[0]], (left, right), region, gap=1.0)]
    for before, row in pairwise(column):
        if _breaks(found[-1], before, row, leadings, right, hanging):
            gap = max(0.0, row.v0 - before.v1) / row.size
            found.append(Paragraph([row], (left, right), region, round(gap, 3)))
        else:
            found[-1].rows.append(row)
    return found


def _leadings(column: list[Row]) -> dict[int, float]:
    """Usual distance of baselines for each font size (in points, rounded), in font sizes."""
    steps: defaultdict[int, list[float]] = defaultdict(list)
    for before, row in pairwise(column):
        if abs(row.size - before.size) < 0.1 * row.size and row.base > before.base and not (row.solid or before.solid):
            steps[round(row.size)].append((row.base - before.base) / row.size)
    return {size: _usual(found) for size, found in steps.items()}


def _usual(steps: list[float]) -> float:
    """The most frequent step, else the lower third, which is free of the gaps between paragraphs."""
    if len(steps) < 3:
        return 1.3
    step, count = max(Counter(round(step, 1) for step in steps).items(), key=lambda item: (item[1], -item[0]))
    usual = step if count >= 3 else sorted(steps)[len(steps) // 3]
    return min(2.2, max(1.0, usual))


def _is_hanging(column: list[Row], left: float, right: float) -> bool:
    """Whether the first lines of paragraphs stand out to the left, as in a bibliography.

    There a line that steps back to the edge follows the end of an entry; where first lines stand deeper, it follows one
    of them, which runs on.
    """
    deeper = backward = after_end = after_long = 0
    for before, row in pairwise(column):
        if row.solid or before.solid or row.tabular or before.tabular:
            continue
        step = (row.u0 - before.u0) / row.size
        ended = before.text.endswith(_SENTENCE_END) or right - before.u1 > 0.25 * (right - left)
        if 0.7 < step < 6:
            deeper += 1
            after_long += right - before.u1 < 0.25 * (right - left)
        elif step < -0.7 and abs(row.u0 - left) < 0.5 * row.size:
            backward += 1
            after_end += ended
    few = min(deeper, backward) < _LEAST_HANGING
    return not few and after_long >= 0.75 * deeper and after_end >= 0.75 * backward


def _breaks(
    paragraph: Paragraph, before: Row, row: Row, leadings: dict[int, float], right: float, hanging: float | None
) -> bool:
    """Whether `row` begins a paragraph of its own. `hanging`: where first lines begin that stand out to the left."""
    if row.solid or before.solid:
        return True
    size = max(row.size, before.size)
    step = (row.base - before.base) / size
    usual = leadings.get(round(row.size), 1.3)
    if len(paragraph.rows) > 1:
        usual = (before.base - paragraph.rows[-2].base) / before.size
    if step > usual * 1.25 + 0.05 or step < 0:
        return True
    if max(row.size, before.size) > 1.12 * min(row.size, before.size):
        return True
    if row.u0 > before.u1 or row.u1 < before.u0:
        return True
    if row.tabular or before.tabular:
        return not (row.tabular and before.tabular)
    if row.lead or _begins_item(row, before, paragraph, right) or is_caption(row.text) or row.text[0] in RAISED:
        return True
    if ENTRY.match(before.text) or (_counts_on(paragraph.first, row) and not row.mono):
        return True
    if _style_breaks(paragraph, before, row, right):
        return True
    if hanging is not None:
        back = before.u0 - row.u0 > 0.7 * row.size
        ended = before.text.endswith(_SENTENCE_END) or right - before.u1 > 0.25 * (right - hanging)
        return abs(row.u0 - hanging) < 0.5 * row.size and (back or ended)
    return not _is_ragged_left(paragraph, row) and _indent_breaks(paragraph, before, row, right)


def _is_ragged_left(paragraph: Paragraph, row: Row) -> bool:
    """Whether a row begins where it does because it is centred below the rows above, or ends with all of them."""
    rows, near = [*paragraph.rows[-3:], row], 0.3 * row.size
    begins = sorted(other.u0 for other in rows)
    steps = sum(b - a > near for a, b in pairwise(begins))
    if steps and all(abs(other.u0 + other.u1 - row.u0 - row.u1) < 2 * near for other in rows):
        return True
    return steps > 1 and all(abs(other.u1 - row.u1) < near for other in rows)


def _counts_on(first: Row, row: Row) -> bool:
    """Whether both begin with numbers, one after the other, as notes do."""
    a, b = _COUNTED.match(first.text), _COUNTED.match(row.text)
    return bool(a and b) and abs(first.u0 - row.u0) < 2 and int(b[1]) == int(a[1]) + 1  # type: ignore[index]


def _begins_item(row: Row, before: Row, paragraph: Paragraph, right: float) -> bool:
    if not MARKED.match(row.text) or (row.text[0] in "·•" and f" {row.text[0]} " in before.text):
        return False  # such a sign may stand between the words of an enumeration, too
    # a line may begin with "5. " or "[3] " or "- " by chance: where the text above goes on to the edge without an end,
    # or for a dash, an item does not stand where that text's lines begin
    first = paragraph.first
    hanging = paragraph.rows[1].u0 if len(paragraph.rows) > 1 else first.u0
    if abs(row.u0 - hanging) >= 0.5 or MARKED.match(first.text) or first.lead:
        return True
    runs_on = right - before.u1 < 0.1 * (right - paragraph.column[0]) and not before.text.endswith(_SENTENCE_END)
    return not (row.text[0] in "-–—o" or runs_on)


def is_caption(text: str) -> bool:
    """Whether a text begins as a caption does, and not as a sentence about a figure."""
    match = CAPTION.match(text)
    if match is None:
        return False
    if match["sign"].strip() or not match["rest"]:
        return True
    first = match["rest"][0]
    if first.isalpha() and first.lower() == first.upper():  # a script without capitals
        return len(text) <= 60 and not text.endswith(("。", ".", "۔"))
    return first.isupper() or first in '(“"'


def is_table_caption(text: str) -> bool:
    """Whether a caption is that of a table."""
    return re.match(r"(?:tab|exhibit|таблица|taul|πίνακας|表|표|جدول|טבלה)", text, re.IGNORECASE) is not None


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
        # the second line of a hanging paragraph stands deeper, too
        return len(paragraph.rows) > 1 or before.text.endswith(_SENTENCE_END)
    ends = before.text.endswith(_SENTENCE_END) and right - before.u1 > 0.2 * (right - paragraph.column[0])
    if ends and (row.text[:1].isupper() or row.text[:1].isdigit()):
        return True
    item = bool(paragraph.first.lead or MARKED.match(paragraph.first.text))
    return item and len(paragraph.rows) > 1 and indent < -0.7


def paragraph_text(rows: Sequence[Row], keep_hyphen: Callable[[str], bool]) -> str:
    """Rows as running text; a hyphen at a line's end goes when lower case follows, unless `keep_hyphen(word)`."""
    if rows[0].tabular:
        return "\n".join(row.text for row in rows)
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
    if wide(text[-1]) and wide(more[0]):
        return text + more
    return f"{text} {more}"
