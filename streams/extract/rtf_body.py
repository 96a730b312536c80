"""Paragraphs, tables and notes of RTF as blocks of the canon."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from streams.extract.block_list import BlockList
from streams.extract.docx_captions import bind
from streams.extract.docx_numbering import formatted
from streams.extract.docx_styles import Styles, heading_level
from streams.extract.rtf_story import Figure, Item, Note, Paragraph, TableItem, rows_of_text
from streams.extract.rtf_tables import make_table
from streams.records import BlockKind, Link, Table

_ROLES = {
    "title": BlockKind.TITLE,
    "caption": BlockKind.CAPTION,
    "quote": BlockKind.QUOTE,
    "code": BlockKind.CODE,
}


@dataclass(slots=True)
class Style:
    """One paragraph style of the style sheet."""

    name: str = ""
    outline: int | None = None
    based_on: int | None = None


class _Found:
    """What stands in a cell or note besides its lines."""

    def __init__(self) -> None:
        self.links: list[Link] = []
        self.figures: list[Figure] = []
        self.hidden: list[str] = []
        self.notes: list[Note] = []
        self.nested: list[TableItem] = []
        self.page_field = False


class Body(BlockList):
    """Takes the items of the stories and writes the blocks."""

    def __init__(self, styles: dict[int, Style], counts: Counter[str]) -> None:
        super().__init__()
        self.tables: list[Table] = []
        self.refs: dict[int, int] = {}
        self.warnings: list[str] = []
        self._styles = styles
        self._names = Styles(None)  # what a style's name alone says
        self._counts = counts
        self._notes: list[tuple[Note, int | None]] = []
        self._endnotes: list[tuple[Note, int | None]] = []
        self._numbers: Counter[bool] = Counter()
        self._furniture: dict[str, int] = {}

    # --- paragraphs ----------------------------------------------------------------------------------------------

    def add(self, item: Item) -> None:
        """The next item of the body."""
        if isinstance(item, TableItem):
            self._table(item, None)
        else:
            self._paragraph(item)

    def _paragraph(self, paragraph: Paragraph) -> None:
        kind, level = self._kind(paragraph)
        text = paragraph.text
        if kind is BlockKind.CODE:
            text = "".join(paragraph.parts).strip("\n").rstrip()
        if kind in (BlockKind.HEADING, BlockKind.TITLE):
            text = " ".join(text.split())
        at: int | None = None
        if text:
            if kind is BlockKind.HEADING:
                self._flush(self._notes)
            at = self._add(kind, text, level=level, marker=paragraph.marker or None, links=paragraph.links)
        self._hidden(paragraph.hidden)
        for figure in paragraph.figures:
            self._figure(figure, None)
        for box in paragraph.boxes:
            for item in box:
                self.add(item)
        self._remember(paragraph.notes, at)

    def _figure(self, figure: Figure, outer: int | None) -> None:
        """A figure that belongs to block `outer`, and the values of a chart, which belong to it."""
        at = self._add(BlockKind.FIGURE, figure.text)
        if outer is not None:
            self.refs[at] = outer
        if figure.table is not None:
            self.refs[self._add(BlockKind.TABLE, "", table=len(self.tables))] = at
            self.tables.append(figure.table)

    def _kind(self, paragraph: Paragraph) -> tuple[BlockKind, int | None]:
        """Kind of a paragraph, and its level: by its own outline level, its style, its list."""
        rules = paragraph.rules
        chain = self._chain(rules.style)
        level = next((found for style in chain if (found := self._level(style)) is not None), None)
        if rules.outline is not None:
            level = heading_level(rules.outline)
        if level:
            return BlockKind.HEADING, level
        if paragraph.formula and not paragraph.plain and not paragraph.bold:
            return BlockKind.FORMULA, None
        role = next((role for style in chain if (role := self._names.look(style.name).role)), None)
        if role in ("title", "caption"):
            return _ROLES[role], None
        if rules.list_id or paragraph.marker or role == "list":
            return BlockKind.LIST_ITEM, min(max(rules.list_level, 0), 8) + 1
        return _ROLES.get(role or "", BlockKind.PARAGRAPH), None

    def _level(self, style: Style) -> int | None:
        """Level of a heading that a style says: 0 where it says that it is none."""
        if style.outline is not None:
            return heading_level(style.outline) or 0
        return self._names.look(style.name).level

    def _chain(self, number: int) -> list[Style]:
        chain: list[Style] = []
        seen: set[int] = set()
        following: int | None = number
        while following is not None and following in self._styles and following not in seen:
            seen.add(following)
            chain.append(self._styles[following])
            following = chain[-1].based_on
        return chain

    def _hidden(self, text: str) -> None:
        if text:
            self._counts["hidden"] += len(text)
            self._add(BlockKind.PARAGRAPH, text, hidden=True)

    # --- tables --------------------------------------------------------------------------------------------------

    def _table(self, item: TableItem, outer: int | None) -> None:
        if len(item.rows) == 1 and len(item.rows[0][0]) == 1:  # a frame around text, no table
            for inner in item.rows[0][0][0]:
                self.add(inner)
            return
        found = _Found()
        rows = rows_of_text(item, lambda cell: self._lines(cell, found))
        at: int | None = None
        if any(text for row in rows for text in row.texts):
            table = make_table(rows)
            if table is None:
                self._warn("table_too_large")
                for row in rows:
                    at = self._add(BlockKind.PARAGRAPH, "\t".join(" ".join(text.split()) for text in row.texts))
            else:
                at = self._add(BlockKind.TABLE, "", links=found.links, table=len(self.tables))
                self.tables.append(table)
            if outer is not None and at is not None:
                self.refs[at] = outer
        elif not found.nested:
            self._counts["empty_tables"] += 1
        for figure in found.figures:
            self._figure(figure, at)
        for text in found.hidden:
            self._hidden(text)
        self._remember(found.notes, at)
        for nested in found.nested:
            self._table(nested, at)

    def _lines(self, items: list[Item], found: _Found, *, flat: bool = False) -> list[str]:
        """The text of a cell or note, a paragraph a line; what is no text goes to `found`."""
        out: list[str] = []
        for item in items:
            if isinstance(item, TableItem):
                if not flat:
                    found.nested.append(item)
                    continue
                rows = rows_of_text(item, lambda cell: self._lines(cell, found, flat=True))
                out += ["\t".join(" ".join(text.split()) for text in row.texts).rstrip("\t") for row in rows]
                continue
            text = item.text
            found.links += item.links
            found.figures += item.figures
            found.notes += item.notes
            found.page_field = found.page_field or item.page_field
            if item.hidden:
                found.hidden.append(item.hidden)
            if text:
                out.append(f"{item.marker} {text}" if item.marker else text)
            for box in item.boxes:
                out += self._lines(box, found, flat=flat)
        return out

    # --- what hangs on the text ----------------------------------------------------------------------------------

    def furniture(self, items: list[Item], kind: BlockKind) -> None:
        """A header or footer of some section: each distinct text once."""
        found = _Found()
        text = "\n".join(line for line in self._lines(items, found, flat=True) if line)
        self._counts["header_images"] += len(found.figures)
        if found.page_field and not any(sign.isalpha() for sign in text):
            kind = BlockKind.PAGE_NUMBER
        if text and text not in self._furniture:
            self._furniture[text] = self._add(kind, text, links=found.links)

    def _remember(self, notes: list[Note], at: int | None) -> None:
        for note in notes:
            (self._endnotes if note.end else self._notes).append((note, at))

    def _flush(self, pending: list[tuple[Note, int | None]]) -> None:
        """Notes stand at the end of their section: near their text, and in nobody's way."""
        taken, pending[:] = list(pending), []
        for note, at in taken:
            found = _Found()
            text = "\n".join(self._lines(note.items, found, flat=True))
            marker = note.marker
            if marker == "":
                self._numbers[note.end] += 1
                marker, _ = formatted(self._numbers[note.end], "lowerRoman" if note.end else "decimal")
            if not text:
                continue
            if note.kind is BlockKind.COMMENT and note.author:
                text = f"{note.author}: {text}"
            index = self._add(note.kind, text, marker=marker, links=found.links)
            if at is not None:
                self.refs[index] = at
            for hidden in found.hidden:
                self._hidden(hidden)
            self._remember(found.notes, index)

    def finish(self) -> None:
        """Gives the notes that are still pending, and binds captions to what they are about."""
        while self._notes or self._endnotes:
            self._flush(self._notes)
            self._flush(self._endnotes)
        bind(self.blocks, self.tables, self.refs, {})

    def _warn(self, code: str) -> None:
        if code not in self.warnings:
            self.warnings.append(code)
