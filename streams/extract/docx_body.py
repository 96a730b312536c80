"""Walks through the blocks of a Word document in the order of the file and makes canon blocks and grids of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import msgspec
from lxml import etree

from streams.errors import DocumentError
from streams.extract.block_list import BlockList
from streams.extract.docx_captions import bind
from streams.extract.docx_chunks import read_chunk
from streams.extract.docx_inline import Anchored, Inline, InlineReader, NoteRef
from streams.extract.docx_notes import Notes
from streams.extract.docx_numbering import Numbering
from streams.extract.docx_paragraphs import Properties, kind_of, properties_of
from streams.extract.docx_styles import Styles
from streams.extract.docx_tables import Grid, only_first_row_bold, read_grid, record, text_rows
from streams.extract.ooxml import DELETED, INSERTED, attr, children, chosen, descendants
from streams.extract.outcome import Draft
from streams.records import BlockKind, Link, Table

MAX_DEPTH = 24
"""Tables in tables and boxes in boxes; deeper ones are read as plain text."""
_TRANSPARENT = frozenset({"w:sdt", "w:sdtContent", "w:customXml"})


@dataclass
class Found:
    """What hangs on text that is read as lines (cells, notes, headers) and becomes blocks elsewhere."""

    notes: list[NoteRef] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)
    figures: list[str] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)  # values of charts
    hidden: list[str] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    nested: list[etree._Element] | None = None  # tables inside; null: read them as lines, too
    other: int = 0
    bold: int = 0
    page_field: bool = False
    outside_fields: list[str] = field(default_factory=list)

    def take(self, inline: Inline) -> None:
        """Collects from one paragraph."""
        self.notes += inline.notes
        self.comments += inline.comments
        self.links += inline.links
        self.other += inline.other
        self.bold += inline.bold
        self.page_field = self.page_field or inline.page_field
        self.outside_fields += inline.outside_fields
        if inline.hidden_text():
            self.hidden.append(inline.hidden_text())


class Body(BlockList):
    """Collects the blocks; `finish` gives them. Counters: inserted, deleted, hidden, and what was left out."""

    def __init__(self, reader: InlineReader, styles: Styles, numbering: Numbering, notes: Notes) -> None:
        super().__init__()
        self.tables: list[Table] = []
        self.refs: dict[int, int] = {}
        self.counts: Counter[str] = reader.counts
        self._package = reader.package
        self._styles, self._numbering, self._notes = styles, numbering, notes
        self._sequences: dict[int, str] = {}  # caption -> identifier of its SEQ field
        self._footnotes: list[tuple[NoteRef, int | None]] = []
        self._endnotes: list[tuple[NoteRef, int | None]] = []
        self._comments: list[tuple[str, int | None]] = []
        self._told: set[str] = set()  # comments already given

    # --- blocks --------------------------------------------------------------------------------------------------

    def walk(self, reader: InlineReader, container: etree._Element, depth: int = 0) -> None:
        """Blocks of the body, of a text box, or of a cell that stands alone."""
        if depth > MAX_DEPTH:
            self._package.warn("nesting_too_deep")
            self._add(BlockKind.PARAGRAPH, "".join(text.text or "" for text in descendants(container, "w:t")))
            return
        carried: Inline | None = None
        for name, element in self._stream(container):
            if name == "w:p":
                carried = self._paragraph(reader, element, depth, carried)
                continue
            if carried is not None:
                self._emit(reader, carried, BlockKind.PARAGRAPH, depth)
                carried = None
            if name == "w:tbl":
                self._table(reader, element, depth, None)
            elif name == "w:altChunk":
                self._chunk(reader, element)
            else:
                self._emit(reader, reader.formula(element), BlockKind.FORMULA, depth)
        if carried is not None:
            self._emit(reader, carried, BlockKind.PARAGRAPH, depth)

    def _stream(self, container: etree._Element) -> Iterator[tuple[str, etree._Element]]:
        """Paragraphs, tables, chunks and equations of a container, whatever wraps them, in the accepted view."""
        stack = list(reversed(list(children(container))))
        while stack:
            name, found = stack.pop()
            if name in ("w:p", "w:tbl", "w:altChunk", "m:oMathPara", "m:oMath"):
                yield name, found
            elif name in DELETED:
                self.counts["deleted"] += 1
            elif name in _TRANSPARENT or name in INSERTED:
                self.counts["inserted"] += name in INSERTED
                stack.extend(reversed(list(children(found))))
            elif name == "mc:AlternateContent":
                branch = chosen(found)
                if branch is not None:
                    stack.extend(reversed(list(children(branch))))

    def _paragraph(
        self, reader: InlineReader, paragraph: etree._Element, depth: int, carried: Inline | None
    ) -> Inline | None:
        """Emits one paragraph, or gives its content back when it is one with the next."""
        properties, inline = self._read(reader, paragraph, carried)
        if properties.joins_next:
            return inline
        marker = self._marker(properties, inline)
        kind, level = kind_of(properties, inline)
        self._emit(reader, inline, kind, depth, level, marker)
        return None

    def _read(
        self, reader: InlineReader, paragraph: etree._Element, carried: Inline | None
    ) -> tuple[Properties, Inline]:
        properties = properties_of(paragraph, self._styles, self._numbering)
        inline = reader.read(paragraph, properties.look)
        self.counts["deleted"] += properties.mark_deleted
        if carried is not None:
            carried.add_all(inline)
            inline = carried
        return properties, inline

    def _marker(self, properties: Properties, inline: Inline) -> str | None:
        if properties.num_id is None or (properties.mark_hidden and not inline.text()):
            return None
        return self._numbering.marker(properties.num_id, properties.ilvl)

    def _emit(
        self,
        reader: InlineReader,
        inline: Inline,
        kind: BlockKind,
        depth: int,
        level: int | None = None,
        marker: str | None = None,
    ) -> None:
        self._anchored(reader, inline.before, depth)
        text = inline.text()
        if kind is BlockKind.CODE:
            text = "".join(inline.parts).strip("\n").rstrip()  # indentation is content
        if kind in (BlockKind.HEADING, BlockKind.TITLE):
            text = " ".join(text.split())
        at: int | None = None
        if text:
            if kind is BlockKind.HEADING:
                self._flush_notes()
            at = self._add(kind, text, level=level, marker=marker, links=inline.links)
            if kind is BlockKind.CAPTION and inline.sequence:
                self._sequences[at] = inline.sequence
        self._hidden([inline.hidden_text()], kind if not text else BlockKind.PARAGRAPH)
        self._anchored(reader, inline.after, depth)
        self._remember(inline.notes, inline.comments, at)

    def _hidden(self, texts: list[str], kind: BlockKind = BlockKind.PARAGRAPH) -> None:
        for text in texts:
            if text:
                self.counts["hidden"] += len(text)
                self._add(kind if kind is not BlockKind.HEADING else BlockKind.PARAGRAPH, text, hidden=True)

    def _anchored(self, reader: InlineReader, things: list[Anchored], depth: int) -> None:
        for thing in things:
            if thing.box is not None:
                # a box is a story of its own: fields that are open around it are not its
                self.walk(InlineReader(reader.package, reader.part, self._styles, self.counts), thing.box, depth + 1)
            else:
                figure = self._add(BlockKind.FIGURE, thing.text)
                self._charts(thing.tables, figure)

    def _charts(self, tables: Sequence[Table], at: int | None) -> None:
        """Values of charts as tables that belong to block `at`."""
        for table in tables:
            index = self._add(BlockKind.TABLE, "", table=len(self.tables))
            self.tables.append(table)
            if at is not None:
                self.refs[index] = at

    # --- tables --------------------------------------------------------------------------------------------------

    def _table(self, reader: InlineReader, element: etree._Element, depth: int, outer: int | None) -> None:
        if depth > MAX_DEPTH:
            self._package.warn("nesting_too_deep")
            self._add(BlockKind.PARAGRAPH, "".join(text.text or "" for text in descendants(element, "w:t")))
            return
        grid = read_grid(element, self.counts)
        if grid.clipped:
            self._package.warn("impossible_span")
        hidden = self._hidden_rows(reader, grid, depth)
        if len(grid.cells) == 1:  # a frame around text, no table
            self.walk(reader, grid.cells[0].element, depth + 1)
            self._hidden(hidden)
            return
        found = Found(nested=[])
        texts, bold = self._cells(reader, grid, found, depth)
        for covered in grid.covered:
            self.counts["covered"] += any((text.text or "").strip() for text in descendants(covered, "w:t"))
        at: int | None = None
        rows = text_rows(grid, texts)
        if grid.too_large:
            self._package.warn("table_too_large")
            for row in rows:
                at = self._add(BlockKind.PARAGRAPH, row)
        elif any(texts):
            at = self._add(BlockKind.TABLE, "\n".join(rows), links=found.links, table=len(self.tables))
            header_rows = grid.header_rows()
            if not header_rows and grid.first_row_is_header is None and grid.n_rows > 1:
                header_rows = int(only_first_row_bold(grid, texts, bold))
            self.tables.append(record(grid, texts, header_rows))
            if outer is not None:
                self.refs[at] = outer
        else:
            self.counts["empty_tables"] += 1
        for text in found.figures:
            figure = self._add(BlockKind.FIGURE, text)
            if at is not None:
                self.refs[figure] = at
        self._charts(found.tables, at)
        self._hidden([*hidden, *found.hidden])
        self._remember(found.notes, found.comments, at)
        for nested in found.nested or []:
            self._table(reader, nested, depth + 1, at)

    def _hidden_rows(self, reader: InlineReader, grid: Grid, depth: int) -> list[str]:
        """Rows that Word does not show (ECMA-376 part 1, 17.4.20) as text, cells joined by tabs."""
        rows: list[str] = []
        for cells in grid.hidden:
            found = Found()
            texts = [" ".join(self.lines(reader, cell, found, depth + 1)) for cell in cells]
            rows += ["\t".join(texts).strip(), *found.hidden]
        return rows

    def _cells(self, reader: InlineReader, grid: Grid, found: Found, depth: int) -> tuple[list[str], list[bool]]:
        texts: list[str] = []
        bold: list[bool] = []
        for cell in grid.cells:
            other, strong = found.other, found.bold
            texts.append("\n".join(self.lines(reader, cell.element, found, depth)))
            bold.append(found.other > other and found.other - other == found.bold - strong)
        return texts, bold

    def lines(self, reader: InlineReader, container: etree._Element, found: Found, depth: int = 0) -> list[str]:
        """The text of a cell, note, header or comment, a paragraph a line; the rest goes to `found`."""
        if depth > MAX_DEPTH:
            self._package.warn("nesting_too_deep")
            return ["".join(text.text or "" for text in descendants(container, "w:t"))]
        out: list[str] = []
        carried: Inline | None = None
        for name, element in self._stream(container):
            if name == "w:p":
                properties, inline = self._read(reader, element, carried)
                carried = inline if properties.joins_next else None
                if carried is None:
                    out += self._line(reader, inline, self._marker(properties, inline), found, depth)
            elif name == "w:altChunk":
                self._package.warn("altchunk_not_read")
            elif name != "w:tbl":
                out += self._line(reader, reader.formula(element), None, found, depth)
            elif found.nested is not None:
                found.nested.append(element)
            else:
                grid = read_grid(element, self.counts)
                found.hidden += self._hidden_rows(reader, grid, depth)
                texts = ["\n".join(self.lines(reader, cell.element, found, depth + 1)) for cell in grid.cells]
                out += [row for row in text_rows(grid, texts) if row]
        if carried is not None:
            out += self._line(reader, carried, None, found, depth)
        return out

    def _line(self, reader: InlineReader, inline: Inline, marker: str | None, found: Found, depth: int) -> list[str]:
        found.take(inline)
        out: list[str] = []
        for things, line in ((inline.before, inline.text()), (inline.after, "")):
            for thing in things:
                if thing.box is None:
                    found.figures.append(thing.text)
                    found.tables += thing.tables
                else:
                    box = InlineReader(reader.package, reader.part, self._styles, self.counts)
                    out += self.lines(box, thing.box, found, depth + 1)
            if line:
                out.append(f"{marker} {line}" if marker else line)
        return out

    # --- what hangs on the text ----------------------------------------------------------------------------------

    def _remember(self, notes: list[NoteRef], comments: list[str], at: int | None) -> None:
        for reference in notes:
            (self._footnotes if reference.kind == "footnote" else self._endnotes).append((reference, at))
        self._comments += [(identifier, at) for identifier in comments]

    def _flush_notes(self) -> None:
        """Footnotes and comments stand at the end of their section: near their text, and in nobody's way."""
        pending, self._footnotes = self._footnotes, []
        self._add_notes(pending)
        comments, self._comments = self._comments, []
        for identifier, at in comments:
            self._comment(identifier, at)

    def _add_notes(self, pending: list[tuple[NoteRef, int | None]]) -> None:
        for reference, at in pending:
            taken = self._notes.take(reference)
            if taken is None:
                continue
            note, marker = taken
            found = Found()
            text = "\n".join(self.lines(note.reader, note.element, found))
            if not text:
                continue
            index = self._add(BlockKind.FOOTNOTE, text, marker=marker or None, links=found.links)
            if at is not None:
                self.refs[index] = at
            self._hidden(found.hidden)
            self._comments += [(identifier, index) for identifier in found.comments]

    def _comment(self, identifier: str, at: int | None) -> None:
        comment = self._notes.comments.get(identifier)
        if comment is None or identifier in self._told:
            return
        self._told.add(identifier)
        found = Found()
        text = "\n".join(self.lines(comment.reader, comment.element, found))
        if not text:
            return
        index = self._add(BlockKind.COMMENT, f"{comment.author}: {text}" if comment.author else text, links=found.links)
        if at is not None:
            self.refs[index] = at

    def _chunk(self, reader: InlineReader, element: etree._Element) -> None:
        relationship = self._package.relationships(reader.part).get(attr(element, "r:id") or "")
        draft: Draft | None = None
        if relationship is not None and not relationship.external:
            try:
                draft = read_chunk(self._package, relationship.target)
            except DocumentError as error:
                if error.problem == "bomb":
                    raise
        if draft is None:
            self._package.warn("altchunk_not_read")
            return
        blocks, tables = len(self.blocks), len(self.tables)
        for block in draft.blocks:
            moved = None if block.table is None else block.table + tables
            self.blocks.append(msgspec.structs.replace(block, table=moved))
        self.tables += draft.tables
        self.refs.update({index + blocks: target + blocks for index, target in draft.refs.items()})
        for warning in draft.warnings:
            self._package.warn(warning)
        for dropped in draft.dropped:
            self.counts[f"chunk:{dropped.what}"] += dropped.count

    def finish(self) -> None:
        """Gives what is still pending: notes of the last section, endnotes, unanchored comments; binds captions."""
        self._flush_notes()
        pending, self._endnotes = self._endnotes, []
        self._add_notes(pending)
        self._flush_notes()
        for identifier in self._notes.comments:
            self._comment(identifier, None)
        bind(self.blocks, self.tables, self.refs, self._sequences)
