"""Walks through the blocks of an OpenDocument text, text box or slide in the order of the file; makes blocks and grids.

`walk` makes blocks of a container, `lines` the text of a cell or note.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import msgspec
from lxml import etree

from streams.extract.block_list import BlockList
from streams.extract.docx_captions import bind
from streams.extract.docx_tables import only_first_row_bold, record
from streams.extract.grids import check_size
from streams.extract.odf import Source, attr, child, children, descendants, name_of, text_of, whole
from streams.extract.odf_inline import SHAPES, Inline, InlineReader, annotation
from streams.extract.odf_objects import formula_of, object_table
from streams.extract.odf_stream import MAX_DEPTH, Item, Unwrapper
from streams.extract.odf_styles import Styles
from streams.extract.odf_tables import read_grid
from streams.records import BlockKind, Link, Table

_CAPTIONS = frozenset({"table", "illustration", "figure", "drawing"})


@dataclass
class Found:
    """What hangs on text that is read as lines (cells, notes, headers) and becomes blocks elsewhere."""

    notes: list[etree._Element] = field(default_factory=list)
    comments: list[etree._Element] = field(default_factory=list)
    figures: list[str] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    nested: list[etree._Element] | None = None  # tables inside; null: read them as lines, too
    other: int = 0
    bold: int = 0
    headings: int = 0  # paragraphs in the style of table headings
    paragraphs: int = 0
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
    """Collects the blocks. Counters: inserted, deleted, hidden, and what was left out."""

    def __init__(self, source: Source, styles: Styles, counts: Counter[str]) -> None:
        super().__init__()
        self.tables: list[Table] = []
        self.refs: dict[int, int] = {}
        self.counts = counts
        self.page: int | None = None
        self.bbox: tuple[float, float, float, float] | None = None
        self._source, self.styles = source, styles
        self.reader = InlineReader(styles, counts, lambda frame: formula_of(source, frame))
        self._sequences: dict[int, str] = {}  # caption -> what it numbers
        self._stream = Unwrapper(source, styles, counts)
        self._footnotes: list[tuple[etree._Element, int | None]] = []
        self._endnotes: list[tuple[etree._Element, int | None]] = []
        self._fields: dict[str, etree._Element] | None = None

    def put(
        self, kind: BlockKind, text: str, *, level: int | None = None, marker: str | None = None,
        links: list[Link] | None = None, table: int | None = None, hidden: bool = False,
    ) -> int:  # fmt: skip
        """Adds a block where the walk is; its index."""
        if hidden:
            self.counts["hidden"] += len(text)
        return self._add(
            kind,
            text,
            level=level,
            marker=marker,
            links=links,
            table=table,
            hidden=hidden,
            page=self.page,
            bbox=self.bbox,
        )

    # --- blocks --------------------------------------------------------------------------------------------------

    def walk(self, container: etree._Element, depth: int = 0, *, hidden: bool = False) -> None:
        """Blocks of the body, of a text box, or of a cell that stands alone."""
        for item in self._stream.items(container, depth, hidden=hidden):
            if item.name in ("text:p", "text:h"):
                self._paragraph(item, depth)
            elif item.name == "table:table":
                self.table(item.element, depth, None, hidden=item.hidden)
            elif item.name:
                self.shape(item.element, depth + 1, hidden=item.hidden)
            else:
                self.put(BlockKind.PARAGRAPH, _plain(item.element), hidden=item.hidden)

    def _paragraph(self, item: Item, depth: int) -> None:
        inline = self.reader.read(item.element)
        kind, level = self._kind(item, inline)
        for shape in inline.before:
            self.shape(shape, depth + 1, hidden=item.hidden)
        text, at = inline.text(), None
        if kind is BlockKind.CODE and text:
            text = "".join(inline.parts).strip("\n").rstrip()  # indentation is content
        if kind in (BlockKind.HEADING, BlockKind.TITLE):
            text = " ".join(text.split())
        if text:
            if kind is BlockKind.HEADING:
                self.flush_notes()
            at = self.put(kind, text, level=level, marker=item.marker, links=inline.links, hidden=item.hidden)
            if kind is BlockKind.CAPTION and inline.sequence:
                self._sequences[at] = inline.sequence
        if inline.hidden_text():
            self.put(BlockKind.PARAGRAPH, inline.hidden_text(), hidden=True)
        for shape in inline.after:
            self.shape(shape, depth + 1, hidden=item.hidden)
        self._remember(inline.notes, inline.comments, at)

    def _kind(self, item: Item, inline: Inline) -> tuple[BlockKind, int | None]:
        if item.name == "text:h":
            return BlockKind.HEADING, max(whole(attr(item.element, "text:outline-level")) or 1, 1)
        if inline.formulas and not inline.other:
            return BlockKind.FORMULA, None
        role = self.styles.look("paragraph", attr(item.element, "text:style-name")).role
        if role is BlockKind.CAPTION or (inline.sequence or "").lower() in _CAPTIONS:
            return BlockKind.CAPTION, None
        if role is BlockKind.TITLE:
            return BlockKind.TITLE, None
        if item.begins:
            return BlockKind.LIST_ITEM, item.level
        return role or BlockKind.PARAGRAPH, None

    # --- shapes --------------------------------------------------------------------------------------------------

    def shape(self, element: etree._Element, depth: int, *, hidden: bool = False) -> None:
        """The blocks of a frame, drawn shape or group: its text, table, chart, formula or alternative text."""
        name = name_of(element)
        if depth > MAX_DEPTH:
            self._source.warn("nesting_too_deep")
            self.put(BlockKind.PARAGRAPH, _plain(element), hidden=hidden)
        elif name in ("draw:g", "draw:a"):
            self.shape_figure(element, hidden=hidden)
            for tag, found in children(element):
                if tag in SHAPES:
                    self.shape(found, depth + 1, hidden=hidden)
        elif name == "draw:frame":
            self._frame(element, depth, hidden)
        elif name == "draw:control":
            self._control(element, hidden)
        else:
            start = len(self.blocks)
            self.walk(element, depth + 1, hidden=hidden)
            if len(self.blocks) == start:
                self.shape_figure(element, hidden=hidden)

    def shape_figure(self, element: etree._Element, *, hidden: bool) -> None:
        """The title and description of a shape as a figure, if it has any."""
        text = alternative(element)
        if text:
            self.put(BlockKind.FIGURE, text, hidden=hidden)

    def _frame(self, frame: etree._Element, depth: int, hidden: bool) -> None:
        """One of the contents of a frame is shown, the first that is understood (10.4.2)."""
        for name, element in children(frame):
            match name:
                case "draw:text-box":
                    self.walk(element, depth + 1, hidden=hidden)
                    return
                case "table:table":
                    self.table(element, depth + 1, None, hidden=hidden)
                    return
                case "draw:object":
                    self._object(frame, element, hidden)
                    return
                case "draw:image":
                    self.put(BlockKind.FIGURE, alternative(frame), hidden=hidden)
                    self.walk(element, depth + 1, hidden=hidden)
                    return
                case "draw:plugin" | "draw:applet":
                    self.counts["media"] += 1
                case "draw:object-ole":
                    self.counts["embedded"] += 1
                case _:
                    pass
        self.shape_figure(frame, hidden=hidden)

    def _object(self, frame: etree._Element, element: etree._Element, hidden: bool) -> None:
        formula = formula_of(self._source, frame)
        if formula:
            self.put(BlockKind.FORMULA, formula, hidden=hidden)
            return
        table, texts = object_table(self._source, element, self)
        said = dict.fromkeys(text for text in (alternative(frame), *texts) if text)
        figure = self.put(BlockKind.FIGURE, "\n".join(said), hidden=hidden)
        if table is None:
            self.counts["embedded"] += 1
            return
        self.refs[self._add_table(table, [], hidden)] = figure

    def _control(self, element: etree._Element, hidden: bool) -> None:
        """A control of a form: its label and what is filled in (part 3, 13)."""
        if self._fields is None:
            forms = descendants(self._source.content, "office:forms")
            controls = [one for form in forms for one in form.iterdescendants("*")]
            self._fields = {
                attr(one, "form:id") or attr(one, "xml:id") or "": one
                for one in controls
                if attr(one, "form:id") or attr(one, "xml:id")
            }
        field_ = self._fields.get(attr(element, "draw:control") or "")
        if field_ is None:
            return
        values = [attr(field_, name) for name in ("form:label", "form:current-value", "form:value")]
        state = attr(field_, "form:current-state") or attr(field_, "form:state")
        mark = {"checked": "☒", "unchecked": "☐"}.get(state or "", "")
        said = dict.fromkeys(text for text in (mark, *(value or "" for value in values)) if text.strip())
        self.put(BlockKind.FORM_FIELD, " ".join(said), hidden=hidden)

    # --- tables --------------------------------------------------------------------------------------------------

    def table(self, element: etree._Element, depth: int, outer: int | None, *, hidden: bool = False) -> None:
        """A table as a block with a grid; tables in its cells follow it. Errors: DocumentError `too_large`."""
        if depth > MAX_DEPTH:
            self._source.warn("nesting_too_deep")
            self.put(BlockKind.PARAGRAPH, _plain(element), hidden=hidden)
            return
        grid = read_grid(element)
        self.counts["cells"] += len(grid.cells)
        check_size(self.counts["cells"], 0, "The document, read so far,")
        if grid.clipped:
            self._source.warn("table_too_large")
        self.counts["covered"] += sum(bool(_plain(covered)) for covered in grid.covered)
        if len(grid.cells) == 1:  # a frame around text, no table
            self.walk(grid.cells[0].element, depth + 1, hidden=hidden)
            return
        found = Found(nested=[])
        texts: list[str] = []
        bold: list[bool] = []
        heads: list[bool] = []
        read: dict[etree._Element, int] = {}  # a cell that is repeated is read once
        for cell in grid.cells:
            first = read.setdefault(cell.element, len(texts))
            if first < len(texts):
                texts.append(texts[first])
                bold.append(bold[first])
                heads.append(heads[first])
                continue
            before = found.other, found.bold, found.headings, found.paragraphs
            texts.append("\n".join(self.lines(cell.element, found, depth + 1)))
            other, strong = found.other - before[0], found.bold - before[1]
            bold.append(other > 0 and other == strong)
            heads.append(found.headings > before[2] and found.headings - before[2] == found.paragraphs - before[3])
        at: int | None = None
        if any(texts):
            header_rows = grid.header_rows()
            if not header_rows and grid.first_row_is_header is None and grid.n_rows > 1:
                header_rows = int(only_first_row_bold(grid, texts, heads) or only_first_row_bold(grid, texts, bold))
            at = self._add_table(record(grid, texts, header_rows), found.links, hidden)
            if outer is not None:
                self.refs[at] = outer
        elif not found.nested and not found.figures:
            self.counts["empty_tables"] += 1
        self._hang(found, at, hidden)
        for nested in found.nested or []:
            self.table(nested, depth + 1, at, hidden=hidden)

    def _hang(self, found: Found, at: int | None, hidden: bool) -> None:
        for text in found.figures:
            figure = self.put(BlockKind.FIGURE, text, hidden=hidden)
            if at is not None:
                self.refs[figure] = at
        for text in found.hidden:
            self.put(BlockKind.PARAGRAPH, text, hidden=True)
        self._remember(found.notes, found.comments, at)

    def _add_table(self, table: Table, links: list[Link], hidden: bool) -> int:
        pages = [] if self.page is None else [self.page]
        at = self.put(BlockKind.TABLE, "", table=len(self.tables), links=links, hidden=hidden)
        self.tables.append(msgspec.structs.replace(table, pages=pages))
        return at

    def lines(self, container: etree._Element, found: Found, depth: int = 0) -> list[str]:
        """The text of a cell, note, header or comment, a paragraph a line; the rest goes to `found`."""
        out: list[str] = []
        for item in self._stream.items(container, depth):
            if item.name in ("text:p", "text:h"):
                out += self._line(item, found, depth)
            elif item.name == "table:table":
                if found.nested is not None:
                    found.nested.append(item.element)
                else:
                    grid = read_grid(item.element)
                    rows: dict[int, list[str]] = {}
                    for cell in grid.cells:
                        text = " ".join(" ".join(self.lines(cell.element, found, depth + 2)).split())
                        rows.setdefault(cell.row, []).append(text)
                    out += [row for texts in rows.values() if (row := "\t".join(texts).rstrip())]
            elif item.name:
                out += self._shape_lines(item.element, found, depth + 1)
            else:
                out.append(_plain(item.element))
        return out

    def plain_lines(self, container: etree._Element) -> str:
        """The text of a cell of a chart's table."""
        return "\n".join(self.lines(container, Found()))

    def _line(self, item: Item, found: Found, depth: int) -> list[str]:
        inline = self.reader.read(item.element)
        found.take(inline)
        text = inline.text()
        if text:
            found.paragraphs += 1
            look = self.styles.look("paragraph", attr(item.element, "text:style-name"))
            found.headings += look.is_table_heading
        before = [line for shape in inline.before for line in self._shape_lines(shape, found, depth + 1)]
        after = [line for shape in inline.after for line in self._shape_lines(shape, found, depth + 1)]
        own = [f"{item.marker} {text}" if item.marker else text] if text else []
        return [*before, *own, *after]

    def _shape_lines(self, element: etree._Element, found: Found, depth: int) -> list[str]:
        if depth > MAX_DEPTH:
            self._source.warn("nesting_too_deep")
            return [_plain(element)]
        if name_of(element) in ("draw:g", "draw:a"):
            inside = [one for tag, one in children(element) if tag in SHAPES]
            return [line for one in inside for line in self._shape_lines(one, found, depth + 1)]
        formula = formula_of(self._source, element)
        if formula:
            return [formula]
        parts = [one for tag, one in children(element) if tag in ("draw:text-box", "draw:image", "draw:object")]
        shown = parts[0] if parts else element
        if name_of(shown) in ("draw:image", "draw:object"):
            found.figures.append(alternative(element))
        return self.lines(shown, found, depth + 1)

    # --- what hangs on the text ----------------------------------------------------------------------------------

    def _remember(self, notes: list[etree._Element], comments: list[etree._Element], at: int | None) -> None:
        for note in notes:
            ends = attr(note, "text:note-class") == "endnote"
            (self._endnotes if ends else self._footnotes).append((note, at))
        for comment in comments:
            self.comment(comment, at)

    def comment(self, element: etree._Element, at: int | None) -> None:
        """A remark as a block that belongs to block `at`."""
        author, inside = annotation(element)
        holder = etree.Element("comment")
        holder.extend(inside)  # they are read once; the remark itself is not
        text = "\n".join(self.lines(holder, Found()))
        if text:
            index = self.put(BlockKind.COMMENT, f"{author}: {text}" if author else text)
            if at is not None:
                self.refs[index] = at

    def flush_notes(self) -> None:
        """Footnotes stand at the end of their section: near their text, and in nobody's way."""
        pending, self._footnotes = self._footnotes, []
        self._add_notes(pending)

    def _add_notes(self, pending: list[tuple[etree._Element, int | None]]) -> None:
        for note, at in pending:
            citation, body = child(note, "text:note-citation"), child(note, "text:note-body")
            if body is None:
                continue
            found = Found()
            text = "\n".join(self.lines(body, found))
            if not text:
                continue
            marker = None if citation is None else attr(citation, "text:label") or text_of(citation).strip()
            index = self.put(BlockKind.FOOTNOTE, text, marker=marker or None, links=found.links)
            if at is not None:
                self.refs[index] = at
            self._hang(found, index, hidden=False)

    def finish(self) -> None:
        """Gives what is still pending: notes of the last section, endnotes; binds captions."""
        self.flush_notes()
        pending, self._endnotes = self._endnotes, []
        self._add_notes(pending)
        bind(self.blocks, self.tables, self.refs, self._sequences)


def alternative(element: etree._Element) -> str:
    """Title and description of a shape (10.3.17)."""
    said = [
        " ".join((found.text or "").split()) for name, found in children(element) if name in ("svg:title", "svg:desc")
    ]
    return "\n".join(dict.fromkeys(text for text in said if text))


def _plain(element: etree._Element) -> str:
    return " ".join(" ".join(str(text) for text in element.itertext()).split())
