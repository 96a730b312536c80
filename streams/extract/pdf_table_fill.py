"""A grid becomes a table: rows and columns mended by what stands in them, words in their cells, the head found."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence

import msgspec

from streams.extract.pdf_grid import Grid, PageTable
from streams.extract.pdf_lines import Frame
from streams.extract.pdf_lines import Line as TextLine
from streams.extract.pdf_table_columns import split_columns, under_heads
from streams.extract.pdf_table_rows import split_rows, without_title_and_notes
from streams.extract.pdf_table_words import contents, is_value, place, text_rows
from streams.extract.tools.mupdf import Word
from streams.records import Cell

_DOTS = " .·…"
_PACKED = 12  # words; more than half of them values

Row = tuple[int, float, float]  # the band of the grid it comes from, and its v from and to


def fill(grid: Grid, words: Sequence[Word], lines: Sequence[TextLine], frame: Frame) -> PageTable | None:
    """The table of a grid; None when it holds next to nothing, so that no text disappears into a frame."""
    placed = place(words, lines, frame, grid)
    trimmed = without_title_and_notes(grid, placed)
    if trimmed is not grid:
        grid, placed = trimmed, place(words, lines, frame, trimmed)
    held = contents(grid, placed)
    if any(height >= 4 and len(text_rows(held[row, col])) >= 4 for row, col, height, _ in grid.spans):
        return None  # a tall cell that holds a text: a form, or a page laid out with rules
    box = grid.box
    grid, bands = split_rows(grid, placed)
    grid = split_columns(under_heads(grid, placed), placed)
    held = contents(grid, placed)
    cells = [
        Cell(
            row=row,
            col=col,
            row_span=height,
            col_span=width,
            text=_without_leader("\n".join(text_row.text for text_row in text_rows(held[row, col]))),
        )
        for row, col, height, width in grid.spans
    ]
    rows = [(band, grid.vs[row], grid.vs[row + 1]) for row, band in enumerate(bands)]
    cells, rows, us = _without_empty(cells, rows, grid.us)
    filled = [cell for cell in cells if cell.text]
    if len(rows) < 2 or len(us) < 3 or len(filled) < 3 or len({cell.col for cell in filled}) < 2:
        return None
    by_row = _by_row(filled)
    if sum(len(by_row[row]) >= 2 for row in range(len(rows))) < 0.4 * len(rows):
        return None
    header_rows = _header_rows(cells, rows, lines)
    cells, rows, header_rows = _with_heads_joined(cells, rows, header_rows)
    cells = [
        msgspec.structs.replace(cell, text=" ".join(cell.text.split("\n")), header=cell.row < header_rows)
        for cell in sorted(cells, key=lambda item: (item.row, item.col))
    ]
    return PageTable(box=box, us=us, cells=cells, n_rows=len(rows), n_cols=len(us) - 1, header_rows=header_rows)


def is_whole(table: PageTable) -> bool:
    """Whether a drawn grid has the table's rows and columns, so that no cell holds many values below one another."""
    packed = sum(_is_column_of_values(cell.text) for cell in table.cells)
    return packed < 2


def _is_column_of_values(text: str) -> bool:
    words = text.split()
    return len(words) >= _PACKED and sum(is_value(word) for word in words) > 0.5 * len(words)


def _without_leader(text: str) -> str:
    """A label without the dots that lead the eye to its value."""
    bare = text.rstrip(_DOTS)
    dots = text[len(bare) :]
    return bare if bare and (len(dots.replace(" ", "")) > 3 or " ." in dots) else text


def _without_empty(cells: list[Cell], rows: list[Row], us: list[float]) -> tuple[list[Cell], list[Row], list[float]]:
    """Without columns and rows in which no text begins: double rules and spacers make them."""
    kept_rows = sorted({cell.row for cell in cells if cell.text})
    kept_cols = sorted({cell.col for cell in cells if cell.text})
    kept = []
    for cell in cells:
        row, col = bisect_left(kept_rows, cell.row), bisect_left(kept_cols, cell.col)
        row_span = bisect_left(kept_rows, cell.row + cell.row_span) - row
        col_span = bisect_left(kept_cols, cell.col + cell.col_span) - col
        if row_span and col_span:
            kept.append(msgspec.structs.replace(cell, row=row, col=col, row_span=row_span, col_span=col_span))
    return kept, [rows[row] for row in kept_rows], [us[col] for col in kept_cols] + us[-1:]


def _by_row(cells: list[Cell]) -> defaultdict[int, list[Cell]]:
    found: defaultdict[int, list[Cell]] = defaultdict(list)
    for cell in cells:
        found[cell.row].append(cell)
    return found


def _header_rows(cells: list[Cell], rows: list[Row], lines: Sequence[TextLine]) -> int:
    """Rows at the top that name the columns: no figures in them while figures stand below, or bold above plain."""
    by_row = _by_row(cells)
    top = range(min(len(rows), 8))
    figures = [sum(is_value(cell.text.replace("\n", " ")) for cell in by_row[row]) for row in top]
    texts = [sum(cell.text != "" for cell in by_row[row]) for row in top]
    bold = [_is_bold(row, lines) for row in rows[:8]]
    heavy = next((row for row in top if not bold[row]), len(top))
    if 0 < heavy <= 4 and not any(bold[heavy : heavy + 3]):
        return heavy
    body = next((row for row in top if figures[row] >= max(1, 0.3 * texts[row])), None)
    if body is not None and 0 < body <= 3:
        return body if all(texts[row] > 1 for row in range(body)) else 1
    return 0


def _is_bold(row: Row, lines: Sequence[TextLine]) -> bool:
    inside = [line.bold for line in lines if row[1] <= line.base <= row[2]]
    return bool(inside) and all(inside)


def _with_heads_joined(cells: list[Cell], rows: list[Row], header_rows: int) -> tuple[list[Cell], list[Row], int]:
    """Header rows that no rule divides are the lines of one header row."""
    if header_rows < 2 or len({row[0] for row in rows[:header_rows]}) > 1:
        return cells, rows, header_rows
    heads: defaultdict[int, list[Cell]] = defaultdict(list)
    for cell in sorted(cells, key=lambda item: (item.row, item.col)):
        if cell.row < header_rows:
            heads[cell.col].append(cell)
    joined = [
        msgspec.structs.replace(parts[0], row=0, text=" ".join(cell.text for cell in parts if cell.text))
        for parts in heads.values()
    ]
    below = [msgspec.structs.replace(cell, row=cell.row - header_rows + 1) for cell in cells if cell.row >= header_rows]
    band, top, _ = rows[0]
    return joined + below, [(band, top, rows[header_rows - 1][2]), *rows[header_rows:]], 1
