"""MuPDF's layout model behind plain records: the tables of a page, with rules or without.

The model (pymupdf-layout) runs in onnxruntime on the CPU, in one thread, without any network. It is loaded with the
first page that is asked for and stays, for that costs a second and some 150 MiB. Its answer for a page costs half a
second, 200 times the text: whoever asks chooses the pages.
"""

from __future__ import annotations

import contextlib
import importlib
import io
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import pymupdf

from streams.extract.boxes import Box
from streams.extract.tools.mupdf_faults import FAULTS

MOST_OF_A_PAGE = 1_600  # lines and vectors: some 8 seconds and 600 MiB
MOST_OF_A_DOCUMENT = 16_000  # some 60 seconds: a job of one document has two minutes

_NEAR = 3.0  # points within which two edges of cells are one
_STEP = 0.5  # points; what the model says is a float of this machine, and a rounded one is the same on each


class LayoutMissing(Exception):
    """The model isn't installed or can't be loaded."""


class LayoutFailed(Exception):
    """The model gives no answer for a page."""


class LaidCell(msgspec.Struct, frozen=True, gc=False):
    """A cell of a laid table: the rows and columns it covers."""

    row: int
    col: int
    row_span: int
    col_span: int


class LaidTable(msgspec.Struct, frozen=True):
    """A table as the model and the rules of the page give it, in points of the upright page that was asked for."""

    us: list[float]  # edges of the columns
    vs: list[float]  # edges of the rows
    cells: list[LaidCell]
    header_rows: int

    @property
    def box(self) -> Box:
        return self.us[0], self.vs[0], self.us[-1], self.vs[-1]


class _State:
    """Of this process."""

    missing: str = ""
    loaded: bool = False
    pages: int = 0


def pages_asked() -> int:
    """How many pages this process has asked the model for."""
    return _State.pages


def find_tables(document: Any, number: int, turn: int) -> list[LaidTable]:
    """Tables of page `number` (from 1) of a pymupdf document, in the order in which the model reads them.

    `turn` is how many degrees clockwise the text is turned as the page is displayed; the page is turned back first.

    Raises:
        LayoutMissing: the model isn't installed or can't be loaded.
        LayoutFailed: the model fails on this page.
    """
    _load()
    _State.pages += 1
    try:
        with contextlib.redirect_stdout(io.StringIO()):  # pymupdf prints there what it meets
            page = document.load_page(number - 1)
            if turn or int(page.rotation) % 360:
                with _upright(document, page, turn) as copy:
                    return _find(copy)
            return _find(page)
    except FAULTS as error:
        if "malloc" in str(error) or "out of memory" in str(error):
            raise MemoryError(str(error)) from error
        raise LayoutFailed(f"page {number}: {str(error).strip() or type(error).__name__}") from error


def _load() -> None:
    if _State.loaded:
        return
    if _State.missing:
        raise LayoutMissing(_State.missing)
    try:
        onnxruntime: Any = importlib.import_module("onnxruntime")
        plain = onnxruntime.SessionOptions

        def one_thread() -> Any:
            options = plain()
            options.intra_op_num_threads = options.inter_op_num_threads = 1
            return options

        onnxruntime.disable_telemetry_events()
        onnxruntime.SessionOptions = one_thread  # pymupdf-layout asks for a thread per core and can't be told otherwise
        try:
            importlib.import_module("pymupdf.layout")
            # Half of the time of a page full of rules would go into names of columns, which nobody asks for.
            importlib.import_module("pymupdf.table").Table._get_header = lambda table, y_tolerance=3: None
        finally:
            onnxruntime.SessionOptions = plain
    except (ImportError, OSError, RuntimeError, ValueError) as error:
        _State.missing = f"The layout model can't be loaded: {error}"
        raise LayoutMissing(_State.missing) from error
    _State.loaded = True


@contextlib.contextmanager
def _upright(document: Any, page: Any, turn: int) -> Iterator[Any]:
    """A page like this one, turned so that the text runs to the right; the document stays as it is."""
    rotation = int(page.rotation) % 360
    with pymupdf.open() as source, pymupdf.open() as copy:
        number = page.number
        source.insert_pdf(document, from_page=number, to_page=number, links=False, annots=False, widgets=False)
        source[0].set_rotation(0)  # show_pdf_page would fit the turned box of a rotated page
        width, height = source[0].rect.width, source[0].rect.height
        if (turn - rotation) % 180:
            width, height = height, width
        target = copy.new_page(width=width, height=height)
        target.show_pdf_page(target.rect, source, 0, rotate=(turn - rotation) % 360)
        yield copy[0]


def _find(page: Any) -> list[LaidTable]:
    finder = page.find_tables(use_layout=True, union=True, refine=True)
    if finder is None:  # pymupdf has met an exception and printed it
        raise RuntimeError("the finder failed")
    found = [_table(table) for table in finder.tables]
    return [table for table in found if table is not None]


def _table(table: Any) -> LaidTable | None:
    rows = table.placements or []
    boxes = [tuple(float(value) for value in cell.bbox) for row in rows for cell in row if cell.bbox is not None]
    us = _edges([box[0] for box in boxes] + [box[2] for box in boxes])
    vs = _edges([box[1] for box in boxes] + [box[3] for box in boxes])
    if len(us) < 2 or len(vs) < 2:
        return None
    taken: set[tuple[int, int]] = set()
    cells = []
    for x0, y0, x1, y1 in sorted(boxes, key=lambda box: (box[1], box[0], box[3], box[2])):
        row, col = _nearest(vs[:-1], y0), _nearest(us[:-1], x0)
        row_span, col_span = max(1, _nearest(vs, y1) - row), max(1, _nearest(us, x1) - col)
        covered = {(row + r, col + c) for r in range(row_span) for c in range(col_span)}
        if not covered & taken:
            taken |= covered
            cells.append(LaidCell(row, col, row_span, col_span))
    n_rows = len(vs) - 1
    # places that no cell covers hold text all the same
    cells += [LaidCell(r, c, 1, 1) for r in range(n_rows) for c in range(len(us) - 1) if (r, c) not in taken]
    return LaidTable(us, vs, sorted(cells, key=lambda cell: (cell.row, cell.col)), min(int(table.header_rows), n_rows))


def _edges(values: Sequence[float]) -> list[float]:
    found: list[float] = []
    for value in sorted(round(value / _STEP) * _STEP for value in values):
        if not found or value - found[-1] > _NEAR:
            found.append(value)
    return found


def _nearest(edges: list[float], value: float) -> int:
    index = bisect_left(edges, value)
    return min((i for i in (index - 1, index) if 0 <= i < len(edges)), key=lambda i: (abs(edges[i] - value), i))
