"""What RTF's words add up to: paragraphs and tables of one story (body, header, note, box), in reading order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from streams.extract.rtf_tables import RowRule, RowText
from streams.records import BlockKind, Link, Table

MAX_TABLE_DEPTH = 15
"""Tables inside tables; deeper ones are read as part of the deepest."""


@dataclass(slots=True)
class ParagraphRules:
    """Formatting of a paragraph that says what it is."""

    style: int = 0
    outline: int | None = None
    in_table: int = 0
    depth: int | None = None  # \itap
    list_id: int = 0
    list_level: int = 0


@dataclass(slots=True)
class Figure:
    """A picture, by its alternative text, or a chart with its values."""

    text: str = ""
    table: Table | None = None


@dataclass(slots=True)
class Note:
    """A foot- or endnote or a comment that hangs on a paragraph."""

    kind: BlockKind
    items: list[Item]
    marker: str | None = None
    author: str = ""
    end: bool = False  # an endnote


@dataclass(slots=True)
class Paragraph:
    """A paragraph as it grows, then as it is."""

    parts: list[str] = field(default_factory=list)
    hidden_parts: list[str] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)
    boxes: list[list[Item]] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    rules: ParagraphRules = field(default_factory=ParagraphRules)
    marker: str | None = None
    plain: int = 0  # visible letters that are not bold
    bold: int = 0
    formula: bool = False
    page_field: bool = False

    @property
    def text(self) -> str:
        return "".join(self.parts).strip(" \t\n")

    @property
    def hidden(self) -> str:
        return "".join(self.hidden_parts).strip(" \t\n")

    def is_empty(self) -> bool:
        """Whether nothing would be lost without it."""
        return not (self.parts or self.hidden_parts or self.figures or self.boxes or self.notes or self.page_field)


@dataclass(slots=True)
class TableItem:
    """A whole table: for each row the items of its cells, and its definition."""

    rows: list[tuple[list[list[Item]], RowRule]]


Item = Paragraph | TableItem


@dataclass(slots=True)
class _OpenTable:
    rows: list[tuple[list[list[Item]], RowRule]] = field(default_factory=list)
    cells: list[list[Item]] = field(default_factory=list)
    items: list[Item] = field(default_factory=list)


class Story:
    """Collects the paragraphs of one story; tables are put together from cells and rows as they end."""

    def __init__(self, emit: Callable[[Item], None]) -> None:
        self._emit = emit
        self._tables: list[_OpenTable] = []
        self._row_began = False  # \trowd was seen and no \row yet: cells also without \intbl
        self.paragraph = Paragraph()

    def begin_row(self) -> None:
        """`\\trowd`: what follows are cells, whether each paragraph says so or not."""
        self._row_began = True

    def end_paragraph(self, rules: ParagraphRules) -> None:
        """`\\par`: the paragraph goes to the open cell or to the story."""
        depth = self._depth(rules)
        paragraph, self.paragraph = self.paragraph, Paragraph()
        paragraph.rules = rules
        if depth == 0 and paragraph.is_empty():
            self._close_to(0)
            return
        self._to_depth(depth)
        if not paragraph.is_empty():
            self._add(paragraph)

    def end_cell(self, rules: ParagraphRules, *, nested: bool) -> None:
        """`\\cell` or `\\nestcell`."""
        depth = max(2, self._depth(rules)) if nested else 1
        self._to_depth(depth)
        if not self.paragraph.is_empty():
            self.paragraph.rules = rules
            self._add(self.paragraph)
        self.paragraph = Paragraph()
        table = self._tables[-1]
        table.cells.append(table.items)
        table.items = []

    def end_row(self, rule: RowRule, *, nested: bool) -> None:
        """`\\row` or `\\nestrow`. `rule`: the definition in force; it may come before or after the cells."""
        if not nested:
            self._close_to(1)
            self._row_began = False
        if not self._tables or (nested and len(self._tables) < 2):
            return
        table = self._tables[-1]
        if not self.paragraph.is_empty():  # text after the last \cell
            table.items.append(self.paragraph)
            self.paragraph = Paragraph()
        if table.items:
            table.cells.append(table.items)
            table.items = []
        if not table.cells:
            return
        last = table.rows[-1][1].index if table.rows else None
        if rule.index == 0 and last is not None and last > 0:  # the next table follows without a paragraph between
            self._finish(_OpenTable(rows=table.rows), len(self._tables) - 1)
            table.rows = []
        table.rows.append((table.cells, rule))
        table.cells = []

    def close(self, rules: ParagraphRules) -> None:
        """The end of the story: whatever is open counts as ended."""
        self._row_began = False
        self.end_paragraph(rules)
        self._close_to(0)

    def _depth(self, rules: ParagraphRules) -> int:
        if rules.depth:
            return min(rules.depth, MAX_TABLE_DEPTH)
        if rules.in_table or self._row_began:
            return 1
        return 0

    def _to_depth(self, depth: int) -> None:
        self._close_to(depth)
        while len(self._tables) < depth:
            self._tables.append(_OpenTable())

    def _close_to(self, depth: int) -> None:
        while len(self._tables) > depth:
            table = self._tables.pop()
            self._finish(table, len(self._tables))

    def _finish(self, table: _OpenTable, depth: int) -> None:
        """Hands a table to the cell it stands in, or to the story. Cells without the end of their row are kept."""
        loose: list[Item] = []
        if table.cells or table.items:
            if table.rows or len(table.cells) > 1:
                cells = [*table.cells, table.items] if table.items else table.cells
                table.rows.append((cells, RowRule()))
            else:
                loose = [item for cell in [*table.cells, table.items] for item in cell]
        found: list[Item] = [TableItem(table.rows)] if table.rows else []
        for item in [*found, *loose]:
            if depth:
                self._tables[depth - 1].items.append(item)
            else:
                self._emit(item)

    def _add(self, paragraph: Paragraph) -> None:
        if self._tables:
            self._tables[-1].items.append(paragraph)
        else:
            self._emit(paragraph)


def rows_of_text(table: TableItem, lines: Callable[[list[Item]], list[str]]) -> list[RowText]:
    """The rows of a table with the text of each cell."""
    return [
        RowText(
            texts=["\n".join(lines(cell)) for cell in cells],
            bold=[_is_bold(cell) for cell in cells],
            rule=rule,
        )
        for cells, rule in table.rows
    ]


def _is_bold(items: list[Item]) -> bool:
    found = [item for item in items if isinstance(item, Paragraph)]
    return any(item.bold for item in found) and not any(item.plain for item in found)
