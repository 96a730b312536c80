"""The pages of a PDF, one after the other: their lines, ruled tables, figures, fields and notes."""

from __future__ import annotations

import re
from collections import Counter, defaultdict

import msgspec

from streams.extract import pdf_figures, pdf_grid, pdf_layout
from streams.extract.pdf_grid import RuledTable
from streams.extract.pdf_lines import Line, PageLines, page_lines
from streams.extract.tools.mupdf import Box, Field, Note, PageError, PageRead, Pdf, Word

_COMPOUND = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)+")
_BAND = 40.0  # points
_MOST_GRIDS = 30  # tables of one page; a page with more is a drawing


class Work(msgspec.Struct, kw_only=True):
    """A document on its way: what each of its pages holds."""

    pages: list[PageLines] = []
    tables: list[list[RuledTable]] = []  # by page
    figures: list[list[str]] = []
    notes: list[list[Note]] = []
    fields: list[list[Field]] = []
    rotations: list[int] = []
    attachments: int = 0
    warnings: list[str] = []
    dropped: Counter[str] = msgspec.field(default_factory=Counter)
    compounds: set[str] = msgspec.field(default_factory=set)

    def warn(self, code: str) -> None:
        if code not in self.warnings:
            self.warnings.append(code)


def read_pages(pdf: Pdf) -> Work:
    """All pages of an open PDF. A page that fails is empty, with the warning `page_failed`."""
    work = Work()
    for number in range(1, pdf.page_count + 1):
        try:
            page = pdf.read(number)
        except PageError:
            work.warn("page_failed")
            page = PageRead(
                width=0, height=0, rotation=0, lines=[], vectors=[], images=[], shades=[], clipped=0, notes=[],
                fields=[], attachments=0,
            )  # fmt: skip
        lines = page_lines(page, number)
        tables = _ruled(pdf, page, lines, work)
        figures = _figures(page, lines)
        for _, group in lines.groups:
            for line in group:
                if "-" in line.text:
                    work.compounds.update(word.casefold() for word in _COMPOUND.findall(line.text))
        if lines.ocr:
            work.warn("ocr_layer")
        work.dropped.update(lines.dropped)
        work.pages.append(lines)
        work.tables.append(tables)
        work.figures.append(figures)
        work.notes.append(page.notes)
        work.fields.append(page.fields)
        work.rotations.append(page.rotation)
        work.attachments += page.attachments
    return work


def _ruled(pdf: Pdf, page: PageRead, lines: PageLines, work: Work) -> list[RuledTable]:
    """Tables of a page; a line that stands for it takes the place of each one's text."""
    if not lines.groups:
        return []
    frame, group = lines.groups[0]
    grids = pdf_grid.grids(page.vectors, frame)
    if not grids or len(grids) > _MOST_GRIDS:
        return []
    try:
        words = _seen_words(pdf.words(lines.number), lines)
    except PageError:
        work.warn("page_failed")
        return []
    tables: list[RuledTable] = []
    for grid in grids:
        table = pdf_grid.fill(grid, words, group, frame)
        if table is not None:
            _replace(lines, table.box, [line for line in group if _is_inside(line, table.box)], table=len(tables))
            tables.append(table)
    return tables


def _seen_words(words: list[Word], lines: PageLines) -> list[Word]:
    """Words of a page without those that its lines leave out; a line of another direction is one word."""
    frame, main = lines.groups[0]
    turned = [
        Word(other.shown((line.u0, line.v0, line.u1, line.v1)), line.text)
        for other, group in lines.groups[1:]
        for line in group
    ]
    if not turned and not lines.dropped:
        return words
    bands: defaultdict[int, list[Line]] = defaultdict(list)  # by height, so that few lines are asked for each word
    for line in main:
        for band in range(int(line.v0 // _BAND), int(line.v1 // _BAND) + 1):
            bands[band].append(line)
    seen = []
    for word in words:
        u0, v0, u1, v1 = frame.inside(word.box)
        u, v = (u0 + u1) / 2, (v0 + v1) / 2
        near = bands.get(int(v // _BAND), ())
        if any(line.u0 - 1 <= u <= line.u1 + 1 and line.v0 <= v <= line.v1 and not line.solid for line in near):
            seen.append(word)
    return seen + turned


def _replace(lines: PageLines, box: Box, inside: list[Line], table: int = -1, figure: int = -1) -> None:
    """Put one line in the place of all lines of the box, whatever their direction."""
    frame, group = lines.groups[0]
    size = min((line.size for line in inside), default=10.0)
    gone = {id(line) for line in inside}
    u0, v0, u1, v1 = box
    stand_in = Line("", u0, v0, u1, v1, v0 + size, size, bold=False, italic=False, mono=False)
    stand_in.table, stand_in.figure = table, figure
    group[:] = [*(line for line in group if id(line) not in gone), stand_in]
    x0, y0, x1, y1 = frame.shown(box)
    for other, turned in lines.groups[1:]:
        other_box = other.inside((x0, y0, x1, y1))
        turned[:] = [line for line in turned if not _is_inside(line, other_box)]


def _is_inside(line: Line, box: Box) -> bool:
    u, v = (line.u0 + line.u1) / 2, (line.v0 + line.v1) / 2
    return not line.solid and box[0] <= u <= box[2] and box[1] <= v <= box[3]


def _figures(page: PageRead, lines: PageLines) -> list[str]:
    """Labels of each captioned figure of a page; a line that stands for it takes their place."""
    if not lines.groups:
        return []
    frame, group = lines.groups[0]
    texts: list[str] = []
    for box, labels in pdf_figures.find_figures(page, frame, list(group)):
        rows = pdf_layout.rows(labels)
        _replace(lines, box, labels, figure=len(texts))
        texts.append("\n".join(row.text for row in rows))
    return texts
