"""Tables of a PDF: found on each page, filled with the words that are seen there, joined over pages."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from streams.extract import pdf_grid, pdf_table_fill, pdf_table_laid, pdf_table_signs
from streams.extract.boxes import Box
from streams.extract.pdf_grid import PageTable
from streams.extract.pdf_lines import PageLines
from streams.extract.pdf_stand_ins import is_inside, replace
from streams.extract.pdf_table_words import LinesAt
from streams.extract.tools.mupdf import PageError, PageRead, Pdf, Word
from streams.extract.tools.mupdf_layout import LayoutFailed, LayoutMissing
from streams.records import BlockKind, Cell, Table

_SAME_RULE = 4.0  # points
_SAME_EDGE = 12.0
_MOST_GRIDS = 30  # tables of one page; a page with more is a drawing


def page_tables(
    pdf: Pdf, page: PageRead, lines: PageLines, warn: Callable[[str], None], *, unreadable: bool = False
) -> list[PageTable]:
    """Tables of a page; a line that stands for it takes the place of each one's text.

    Tables whose rules are drawn come first; the layout model is asked for what else looks like one, unless the page's
    text is `unreadable`, for recognition will read it anew. `warn` is told `page_failed` when words can't be read,
    `tables_unsure` when the model can't be had, fails, or is asked too much.
    """
    if not lines.groups:
        return []
    frame, group = lines.groups[0]
    tables: list[PageTable] = []
    try:
        words = _Words(pdf, lines)
        grids = pdf_grid.grids(page.vectors, frame)
        for grid in grids if len(grids) <= _MOST_GRIDS else ():
            table = pdf_table_fill.fill(grid, words.seen(), group, frame)
            if table is not None and pdf_table_fill.is_whole(table):
                _keep(table, lines, tables)
        if not unreadable and pdf_table_signs.may_hold_tables(group, page.vectors, frame):
            for laid in pdf.laid_tables(lines.number, frame.turn, len(page.lines) + len(page.vectors)):
                if not any(_overlap(laid.box, table.box) for table in tables):
                    table = pdf_table_laid.fill(laid, words.seen(), group, frame)
                    if table is not None:
                        _keep(table, lines, tables)
    except PageError:
        warn("page_failed")
    except (LayoutMissing, LayoutFailed):
        warn("tables_unsure")
    return tables


def _keep(table: PageTable, lines: PageLines, tables: list[PageTable]) -> None:
    inside = [line for line in lines.groups[0][1] if is_inside(line, table.box)]
    replace(lines, table.box, inside, table=len(tables))
    tables.append(table)


def _overlap(one: Box, other: Box) -> bool:
    return one[0] < other[2] - 1 and other[0] < one[2] - 1 and one[1] < other[3] - 1 and other[1] < one[3] - 1


class _Words:
    """The words of a page that its reader sees, read when the first table asks for them."""

    def __init__(self, pdf: Pdf, lines: PageLines) -> None:
        self._pdf, self._lines = pdf, lines
        self._found: list[Word] | None = None

    def seen(self) -> list[Word]:
        """Raises PageError when the words can't be read."""
        if self._found is None:
            self._found = _seen_words(self._pdf.words(self._lines.number), self._lines)
        return self._found


def _seen_words(words: list[Word], lines: PageLines) -> list[Word]:
    """Words of a page without those that its lines leave out; a line of another direction is one word."""
    frame, main = lines.groups[0]
    turned = [Word(other.shown(line.box), line.text) for other, group in lines.groups[1:] for line in group]
    if not turned and not lines.dropped:
        return words
    shown = LinesAt(line for line in main if not line.solid)
    seen = []
    for word in words:
        u0, v0, u1, v1 = frame.inside(word.box)
        if shown.holds((u0 + u1) / 2, (v0 + v1) / 2):
            seen.append(word)
    return seen + turned


def document_tables(
    pages: list[PageLines], found: list[list[PageTable]], furniture: list[dict[int, BlockKind]]
) -> tuple[list[Table], dict[tuple[int, int], int]]:
    """Tables of the document, and for each (page index, table of the page) that begins one, which it is."""
    tables: list[Table] = []
    begins: dict[tuple[int, int], int] = {}
    before: PageTable | None = None
    for index, page in enumerate(pages):
        here = found[index]
        body = [line for line in page.groups[0][1] if id(line) not in furniture[index]] if page.groups else []
        for number, table in enumerate(here):
            first = not any(line.v0 < table.box[1] - 1 and line.table != number for line in body)
            if before is not None and first and _goes_on(before, table):
                tables[-1] = _appended(tables[-1], table, page.number)
            else:
                begins[index, number] = len(tables)
                tables.append(
                    Table(
                        pages=[page.number],
                        n_rows=table.n_rows,
                        n_cols=table.n_cols,
                        header_rows=table.header_rows,
                        cells=table.cells,
                        confidence=table.confidence,
                    )
                )
            last = not any(line.v1 > table.box[3] + 1 and line.table != number for line in body)
            before = table if last else None
        if not here and body:
            before = None
    return tables, begins


def _goes_on(before: PageTable, table: PageTable) -> bool:
    """Whether a table at the top of a page continues one at the end of the page before: the same columns.

    Edges that the model gives follow the text of their page, so they may differ more than rules do.
    """
    drawn = before.confidence is None and table.confidence is None
    near = _SAME_RULE if drawn else _SAME_EDGE
    return before.n_cols == table.n_cols and all(abs(a - b) <= near for a, b in zip(before.us, table.us, strict=True))


def _appended(table: Table, more: PageTable, page: int) -> Table:
    """A table and its continuation; a header that is repeated counts once."""
    heads = [_texts(table.cells, row) for row in range(table.header_rows)]
    again = [_texts(more.cells, row) for row in range(table.header_rows)]
    skip = table.header_rows if heads == again else 0
    cells = [
        msgspec.structs.replace(cell, row=cell.row - skip + table.n_rows, header=False)
        for cell in more.cells
        if cell.row >= skip
    ]
    sure = [one for one in (table.confidence, more.confidence) if one is not None]
    return msgspec.structs.replace(
        table,
        pages=[*table.pages, page],
        n_rows=table.n_rows + more.n_rows - skip,
        cells=[*table.cells, *cells],
        confidence=min(sure, default=None),
    )


def _texts(cells: list[Cell], row: int) -> list[str]:
    return [cell.text for cell in cells if cell.row == row]


def table_text(table: Table) -> str:
    grid = [[""] * table.n_cols for _ in range(table.n_rows)]
    for cell in table.cells:
        grid[cell.row][cell.col] = cell.text
    return "\n".join("\t".join(row) for row in grid)
