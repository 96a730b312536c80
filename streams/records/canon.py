"""The canon: what a document says, as typed blocks and grids. A pure function of (content, fingerprint)."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Record(msgspec.Struct, frozen=True):
    """Base of all records: immutable, one Avro record each. `kw_only` is not inherited: each says it."""


class BlockKind(StrEnum):
    """What a block is (R-CAN-1)."""

    UNKNOWN = "unknown"
    TITLE = "title"
    HEADING = "heading"
    PARAGRAPH = "paragraph"
    LIST_ITEM = "list_item"
    TABLE = "table"
    FIGURE = "figure"
    CAPTION = "caption"
    FOOTNOTE = "footnote"
    CODE = "code"
    FORMULA = "formula"
    PAGE_HEADER = "page_header"
    PAGE_FOOTER = "page_footer"
    PAGE_NUMBER = "page_number"
    FORM_FIELD = "form_field"
    COMMENT = "comment"
    METADATA = "metadata"
    QUOTE = "quote"
    SIGNATURE = "signature"
    BOILERPLATE = "boilerplate"


FURNITURE = frozenset(
    {
        BlockKind.PAGE_HEADER,
        BlockKind.PAGE_FOOTER,
        BlockKind.PAGE_NUMBER,
        BlockKind.COMMENT,
        BlockKind.METADATA,
        BlockKind.BOILERPLATE,
    }
)
"""Kinds that are kept and labelled but are no part of the body text (R-CAN-4)."""


TEXT_IN_PICTURES = "text_in_pictures"
"""Warning of a canon whose pages have text in pictures that nobody has read."""


class BlockSource(StrEnum):
    """Where a block's text comes from."""

    UNKNOWN = "unknown"
    TEXT_LAYER = "text_layer"
    MARKUP = "markup"
    OCR = "ocr"


class Method(StrEnum):
    """How a canon's text was won."""

    UNKNOWN = "unknown"
    NATIVE = "native"
    OCR = "ocr"
    MIXED = "mixed"


class Link(Record, frozen=True, kw_only=True):
    """A link inside a block: its text and its target as the document has it."""

    text: str
    target: str


class Block(Record, frozen=True, kw_only=True):
    """One block in reading order. `text` of a table is its rows, cells joined by tabs."""

    id: str = ""  # set by `streams.extract.finish`: hash of kind and text, stable over versions
    kind: BlockKind
    text: str
    level: int | None = None  # headings and list items, from 1
    marker: str | None = None  # of a list item or footnote, as shown: "3.", "•", "a)"
    page: int | None = None  # from 1
    bbox: tuple[float, float, float, float] | None = None  # x0, y0, x1, y1 in points, origin top left, as displayed
    section: list[str] = []  # texts of the headings above, outermost first; set by `finish`
    source: BlockSource
    confidence: float | None = None  # 0..1
    language: str | None = None  # ISO 639-1, where it differs from the document's or is sure
    table: int | None = None  # index into Canon body's tables
    ref: str | None = None  # id of the block this one belongs to: caption -> figure or table, footnote -> its marker
    links: list[Link] = []
    hidden: bool = False  # in the file, but not shown to its reader


class Cell(Record, frozen=True, kw_only=True):
    """A cell of a grid, once, at its first position (R-CAN-3)."""

    row: int
    col: int
    row_span: int = 1
    col_span: int = 1
    text: str
    header: bool = False


class Table(Record, frozen=True, kw_only=True):
    """A grid. `n_rows` counts header rows."""

    number: str | None = None
    caption: str | None = None
    pages: list[int] = []
    n_rows: int
    n_cols: int
    header_rows: int = 0
    header_cols: int = 0
    cells: list[Cell]
    confidence: float | None = None  # 0..1, where the grid was inferred from positions


class Page(Record, frozen=True, kw_only=True):
    """Geometry and evidence of one page."""

    number: int
    width: float  # points, as displayed
    height: float
    rotation: int = 0  # degrees clockwise, as stored in the file
    characters: int = 0
    source: BlockSource
    confidence: float | None = None
    image_area: float = 0.0  # share of the page covered by images, 0..1
    reader: str = ""  # the library that read its text layer, where it is not the extractor's first one
    unreadable: bool = False  # it has a text layer that no library reads as text; recognition is needed
    picture_text: bool = False  # a picture on it seems to hold text that its text layer does not have
    reading_order: float | None = None  # 0..1: how sure the order of its blocks is


class Dropped(Record, frozen=True, kw_only=True):
    """Something that was left out on purpose, and how much of it."""

    what: str  # e.g. invisible_text, off_page_text, script
    count: int


class CanonBody(Record, frozen=True, kw_only=True):
    """What a document says. Same content, same fingerprint: same bytes, on every machine (R-CAN-7).

    It holds nothing of where the document came from: no path, no name, no rights, no time of extraction.
    """

    content_hash: str
    fingerprint: str
    extractor: str
    extractor_version: str
    media_type: str
    method: Method = Method.NATIVE
    title: str | None = None
    authors: list[str] = []
    created: str | None = None  # ISO 8601, UTC; null when absent or impossible
    modified: str | None = None
    language: str | None = None
    page_count: int | None = None
    pages: list[Page] = []
    blocks: list[Block] = []
    tables: list[Table] = []
    warnings: list[str] = []
    dropped: list[Dropped] = []
    confidence: float | None = None
    metadata: dict[str, str] = {}
