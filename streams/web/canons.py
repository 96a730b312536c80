"""A canon as a page shows it: the blocks of one page or part, each with its place, tables as grids; all bounded."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from streams.blobs.store import BlobStore
from streams.errors import BlobCorrupt, BlobNotFound, UndecodableMessage
from streams.records import FURNITURE, Block, BlockKind, CanonBody, Page, Table
from streams.records.codec import decode

MOST_BYTES = 48_000_000
"""Of a canon that is shown; beyond, `canonry canon` writes it to a file."""

ON_A_PART = 150
"""Blocks of a document without pages that are shown at a time; of one page, at most thrice as many."""

MOST_CHARACTERS = 3000
"""Of one block. A line of a megabyte is shown by its beginning."""

UNSURE = 0.6
"""Confidence below which a block that was recognised is marked."""

BROKEN = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\ufffd\ue000-\uf8ff]")
"""Characters that stand for none: controls, U+FFFD, private use."""

MOST_ROWS, MOST_COLUMNS, MOST_CELL = 60, 30, 400

COLOURS = {
    BlockKind.TITLE: "head",
    BlockKind.HEADING: "head",
    BlockKind.PARAGRAPH: "text",
    BlockKind.QUOTE: "text",
    BlockKind.LIST_ITEM: "list",
    BlockKind.TABLE: "table",
    BlockKind.FIGURE: "figure",
    BlockKind.CAPTION: "figure",
}
OTHER, GRAY = "other", "gray"


class Piece(msgspec.Struct, frozen=True, kw_only=True):
    """One block, ready to be shown."""

    number: int  # of the block in the canon, from 1
    block: Block
    colour: str
    text: str
    left_out: int  # characters
    doubt: str = ""  # what about it is in doubt
    table: Grid | None = None


class Grid(msgspec.Struct, frozen=True, kw_only=True):
    """A table's first rows and columns."""

    rows: list[list[dict[str, Any]]]
    caption: str
    rows_left_out: int
    columns_left_out: int


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """What is shown at once: a page, or some blocks of what has no pages."""

    number: int
    numbers: list[int]  # of all parts
    page: Page | None
    pieces: list[Piece]
    left_out: int = 0  # blocks


def read(store: BlobStore, key: str, sha256: str) -> CanonBody | str:
    """A stored canon, or why it can't be shown. Raises BlobStoreUnavailable."""
    try:
        data = store.get(key, sha256=sha256)
        if len(data) <= MOST_BYTES:
            return decode(CanonBody, data)
    except (BlobCorrupt, BlobNotFound, UndecodableMessage) as error:
        return f"The stored text can't be used: {error}"
    return f"The text is too long to be shown here: {len(data) / 1e6:.0f} MB. `canonry canon ID --as text` writes it."


def part_of(body: CanonBody, wanted: int | None) -> Part:
    """The page or part of this number; the first one where there is none."""
    if body.pages:
        numbers = [page.number for page in body.pages]
        number = wanted if wanted in numbers else numbers[0]
        page = next(page for page in body.pages if page.number == number)
        blocks = [
            (at, block)
            for at, block in enumerate(body.blocks, 1)
            if block.page == number or (block.page is None and number == numbers[0])
        ]
        most = 3 * ON_A_PART
    else:
        numbers = list(range(1, max(1, -(-len(body.blocks) // ON_A_PART)) + 1))
        number = wanted if wanted is not None and wanted in numbers else 1
        page, most = None, ON_A_PART
        start = (number - 1) * ON_A_PART
        blocks = list(enumerate(body.blocks[start : start + ON_A_PART], start + 1))
    pieces = list(_pieces(body, blocks[:most]))
    return Part(number=number, numbers=numbers, page=page, pieces=pieces, left_out=len(blocks[most:]))


def _pieces(body: CanonBody, blocks: Iterable[tuple[int, Block]]) -> Iterable[Piece]:
    for number, block in blocks:
        gray = block.kind in FURNITURE or block.hidden
        table = body.tables[block.table] if block.table is not None and block.table < len(body.tables) else None
        yield Piece(
            number=number,
            block=block,
            colour=GRAY if gray else COLOURS.get(block.kind, OTHER),
            text=block.text[:MOST_CHARACTERS],
            left_out=max(0, len(block.text) - MOST_CHARACTERS),
            doubt=_doubt(block),
            table=_grid(table) if table is not None else None,
        )


def _doubt(block: Block) -> str:
    """What about a block may be why its document is held, as far as the block itself shows it."""
    if BROKEN.search(block.text, 0, MOST_CHARACTERS):
        return "broken characters"
    return "unsure" if block.confidence is not None and block.confidence < UNSURE else ""


def _grid(table: Table) -> Grid:
    rows: list[list[dict[str, Any]]] = [[] for _ in range(min(table.n_rows, MOST_ROWS))]
    for cell in sorted(table.cells, key=lambda cell: (cell.row, cell.col)):
        if cell.row < len(rows) and cell.col < MOST_COLUMNS:
            rows[cell.row].append(
                {
                    "text": cell.text[:MOST_CELL] + ("…" if len(cell.text) > MOST_CELL else ""),
                    "header": cell.header,
                    "row_span": min(cell.row_span, len(rows) - cell.row),
                    "col_span": min(cell.col_span, MOST_COLUMNS - cell.col),
                }
            )
    return Grid(
        rows=rows,
        caption=" ".join(part for part in (table.number, table.caption) if part)[:MOST_CELL],
        rows_left_out=table.n_rows - len(rows),
        columns_left_out=max(0, table.n_cols - MOST_COLUMNS),
    )
