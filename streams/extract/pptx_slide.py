"""One slide as blocks: its title a heading, its shapes in reading order, then notes and comments that belong to it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import msgspec
from lxml import etree

from streams.extract.block_list import BlockList
from streams.extract.boxes import Box
from streams.extract.docx_tables import Grid, GridCell
from streams.extract.docx_tables import record as table_record
from streams.extract.drawing_charts import read_chart
from streams.extract.drawing_diagrams import diagram_texts
from streams.extract.ole_charts import embedded_chart
from streams.extract.ooxml import Package, attr, child, children, chosen, descendants
from streams.extract.pptx_shapes import Shape, flat
from streams.extract.pptx_text import Paragraph, TextReader
from streams.records import FURNITURE, BlockKind, Link, Table

MAX_SPAN = 1000
"""Columns or rows that one cell may cover."""
_FURNITURE = {"dt": BlockKind.PAGE_FOOTER, "ftr": BlockKind.PAGE_FOOTER, "sldNum": BlockKind.PAGE_NUMBER}
_TITLES = frozenset({"title", "ctrTitle"})
NOTES = "Notes"
"""Marker of a block that holds a slide's notes."""
HIDDEN = "Hidden slide"
"""Says of a slide that the show leaves it out. Its text is body text: PowerPoint shows it to whoever opens the file."""
_NOTE_FURNITURE = {"hdr": BlockKind.PAGE_HEADER, "ftr": BlockKind.PAGE_FOOTER, "dt": BlockKind.PAGE_FOOTER}


@dataclass(frozen=True)
class Sheet:
    """The slide that is read: where its blocks say they stand."""

    number: int  # from 1, in the order of the presentation, hidden ones counted
    level: int  # of its heading
    hidden: bool  # left out when the slides are shown; whoever opens the file sees it
    width: float  # points
    height: float


class Deck(BlockList):
    """Collects the blocks of all slides."""

    def __init__(self, package: Package, counts: Counter[str]) -> None:
        super().__init__()
        self.tables: list[Table] = []
        self.refs: dict[int, int] = {}
        self._package, self._counts = package, counts
        self._told: set[str] = set()  # headers and footers of notes already given

    # --- the slide -----------------------------------------------------------------------------------------------

    def add_slide(
        self, sheet: Sheet, shapes: list[Shape], reader: TextReader, notes: list[Shape], notes_reader: TextReader | None
    ) -> int | None:
        """The blocks of a slide and of its notes; index of its heading, null for a slide without a word.

        A slide without a title is headed `Slide N`, as PowerPoint names it: else it would be part of the one before.
        """
        start = len(self.blocks)
        everything = list(flat(shapes))
        said = self._title(sheet, everything, reader)
        if said is None:
            self._add(BlockKind.HEADING, f"Slide {sheet.number}", level=sheet.level, page=sheet.number)
        if sheet.hidden:
            self._hang(sheet, BlockKind.METADATA, HIDDEN, start)
        for shape in everything:
            if shape is not said:
                self._shape(sheet, shape, reader)
        if notes_reader is not None:
            self._notes(sheet, notes, notes_reader, start)
        if said is None and not self._has_words(start + 1):
            self._forget(start)
            return None
        return start

    def _title(self, sheet: Sheet, shapes: list[Shape], reader: TextReader) -> Shape | None:
        """Adds the heading; the shape it comes from."""
        for shape in shapes:
            if shape.placeholder is None or shape.placeholder.kind not in _TITLES:
                continue
            paragraphs = reader.paragraphs(child(shape.element, "p:txBody"), shape.styles)
            text = " ".join(" ".join(paragraph.text.split()) for paragraph in paragraphs)
            if text:
                links = [link for paragraph in paragraphs for link in paragraph.links]
                self._add(
                    BlockKind.HEADING,
                    text,
                    level=sheet.level,
                    links=links + self._shape_links(shape, text, reader),
                    page=sheet.number,
                    bbox=shape.box,
                )
                return shape
        return None

    def _has_words(self, start: int) -> bool:
        return any(
            block.kind is BlockKind.TABLE or (block.text and block.kind not in FURNITURE)
            for block in self.blocks[start:]
        )

    def _forget(self, at: int) -> None:
        """Takes a heading back over which nothing stands; what follows it moves up."""
        del self.blocks[at]
        moved = {source: target for source, target in self.refs.items() if source > at}
        for source, target in moved.items():
            del self.refs[source]
            if target != at:
                self.refs[source - 1] = target - 1

    def _shape(self, sheet: Sheet, shape: Shape, reader: TextReader) -> None:
        hidden = shape.hidden or self._is_off(sheet, shape.box)
        if hidden:
            self._package.warn("hidden_text" if shape.hidden else "off_slide_text")
        match shape.name:
            case "p:sp" | "p:cxnSp":
                self._text(sheet, shape, reader, hidden)
            case "p:pic":
                self._picture(sheet, shape, hidden)
            case "p:graphicFrame":
                self._graphic(sheet, shape, reader, hidden)
            case "p:grpSp":
                self._figure(sheet, shape, _alternative(shape), hidden, always=False)
            case _:
                self._counts["ink"] += 1

    @staticmethod
    def _is_off(sheet: Sheet, box: Box | None) -> bool:
        return box is not None and (box[2] < 0 or box[3] < 0 or box[0] > sheet.width or box[1] > sheet.height)

    def _text(self, sheet: Sheet, shape: Shape, reader: TextReader, hidden: bool) -> None:
        body = child(shape.element, "p:txBody")
        paragraphs = reader.paragraphs(body, shape.styles)
        furniture = _FURNITURE.get(shape.placeholder.kind) if shape.placeholder is not None else None
        for paragraph in paragraphs:
            kind = furniture or kind_of(paragraph)
            listed = kind is BlockKind.LIST_ITEM
            self._add(
                kind,
                paragraph.text,
                level=paragraph.level if listed else None,
                marker=paragraph.marker if listed else None,
                links=paragraph.links + self._shape_links(shape, paragraph.text, reader),
                hidden=hidden,
                page=sheet.number,
                bbox=shape.box,
            )
        if not paragraphs and shape.placeholder is None:
            self._figure(sheet, shape, _alternative(shape), hidden, always=False)

    def _shape_links(self, shape: Shape, text: str, reader: TextReader) -> list[Link]:
        target = reader.target(shape.properties())
        return [Link(text=text, target=target)] if target else []

    def _figure(self, sheet: Sheet, shape: Shape, text: str, hidden: bool, *, always: bool) -> int | None:
        if not text and not always:
            return None
        return self._add(BlockKind.FIGURE, text, hidden=hidden, page=sheet.number, bbox=shape.box)

    def _picture(self, sheet: Sheet, shape: Shape, hidden: bool) -> None:
        properties = shape.properties()
        if any(
            True for tag in ("a:videoFile", "a:audioFile", "a:wavAudioFile") for _ in descendants(shape.element, tag)
        ):
            self._counts["media"] += 1
        decorative = None if properties is None else next(descendants(properties, "adec:decorative"), None)
        if decorative is not None and decorative.get("val") in ("1", "true"):
            self._counts["decorative"] += 1
            return
        self._figure(sheet, shape, _alternative(shape), hidden, always=True)

    # --- tables, charts, diagrams --------------------------------------------------------------------------------

    def _graphic(self, sheet: Sheet, shape: Shape, reader: TextReader, hidden: bool) -> None:
        data = child(child(shape.element, "a:graphic"), "a:graphicData")
        described = _alternative(shape)
        for name, element in _alternatives(data):
            if name == "a:tbl":
                self._table(sheet, shape, element, reader, hidden)
            elif name in ("c:chart", "cx:chart"):
                self._chart(sheet, shape, self._part(reader, attr(element, "r:id")), hidden)
            elif name == "dgm:relIds":
                self._figure(sheet, shape, described, hidden, always=True)
                self._diagram(sheet, shape, self._part(reader, attr(element, "r:dm")), hidden)
            elif name == "p:oleObj":
                described = described or _object_alternative(element)
                chart = embedded_chart(self._package, reader.part, attr(element, "r:id"))
                if chart is not None:
                    self._drawn(sheet, shape, [described, chart.text], chart.table, hidden)
                    continue
                self._figure(sheet, shape, described, hidden, always=True)
                self._counts["objects"] += 1
            else:
                self._figure(sheet, shape, described, hidden, always=False)

    def _part(self, reader: TextReader, identifier: str | None) -> etree._Element | None:
        relationship = self._package.relationships(reader.part).get(identifier or "")
        if relationship is None or relationship.external:
            self._package.warn("part_missing")
            return None
        return self._package.optional_xml(relationship.target)

    def _table(self, sheet: Sheet, shape: Shape, element: etree._Element, reader: TextReader, hidden: bool) -> None:
        grid = _grid(element)
        if grid.clipped:
            self._package.warn("impossible_span")
        links: list[Link] = []
        texts: list[str] = []
        for cell in grid.cells:
            paragraphs = reader.paragraphs(child(cell.element, "a:txBody"), shape.styles)
            links += [link for paragraph in paragraphs for link in paragraph.links]
            texts.append("\n".join(paragraph.line() for paragraph in paragraphs))
        for covered in grid.covered:
            self._counts["covered"] += bool(reader.paragraphs(child(covered, "a:txBody")))
        if not any(texts):
            self._counts["empty_tables"] += 1
            return
        properties = child(element, "a:tblPr")
        first_col = properties is not None and (properties.get("firstCol") or "0") in ("1", "true")
        table = table_record(grid, texts, grid.header_rows())
        self._add_table(
            sheet, shape, msgspec.structs.replace(table, header_cols=int(first_col and grid.n_cols > 1)), links, hidden
        )

    def _add_table(self, sheet: Sheet, shape: Shape, table: Table, links: list[Link], hidden: bool) -> int:
        at = self._add(
            BlockKind.TABLE, "", table=len(self.tables), links=links, hidden=hidden, page=sheet.number, bbox=shape.box
        )
        self.tables.append(msgspec.structs.replace(table, pages=[sheet.number]))
        return at

    def _chart(self, sheet: Sheet, shape: Shape, root: etree._Element | None, hidden: bool) -> None:
        described = _alternative(shape)
        if root is None:
            self._figure(sheet, shape, described, hidden, always=True)
            return
        chart = read_chart(root)
        self._drawn(sheet, shape, [described, chart.title, *chart.texts], chart.table, hidden)

    def _drawn(self, sheet: Sheet, shape: Shape, texts: list[str], values: Table | None, hidden: bool) -> None:
        """A chart: a figure with what it says, and its values."""
        said = dict.fromkeys(text for text in texts if text)
        figure = self._figure(sheet, shape, "\n".join(said), hidden, always=True)
        if values is None:
            self._package.warn("chart_values_not_read")
        else:
            table = self._add_table(sheet, shape, values, [], hidden)
            if figure is not None:
                self.refs[table] = figure

    def _diagram(self, sheet: Sheet, shape: Shape, root: etree._Element | None, hidden: bool) -> None:
        for level, text in diagram_texts(root) if root is not None else ():
            self._add(BlockKind.LIST_ITEM, text, level=level, hidden=hidden, page=sheet.number, bbox=shape.box)

    # --- what hangs on a slide -----------------------------------------------------------------------------------

    def _notes(self, sheet: Sheet, shapes: list[Shape], reader: TextReader, heading: int) -> None:
        """The speaker's notes: one block that belongs to the slide's heading."""
        lines: list[str] = []
        links: list[Link] = []
        for shape in flat(shapes):
            kind = "body" if shape.placeholder is None else shape.placeholder.kind
            paragraphs = reader.paragraphs(child(shape.element, "p:txBody"), shape.styles)
            links += [link for paragraph in paragraphs for link in paragraph.links]
            if kind in _NOTE_FURNITURE:
                self._note_furniture(sheet, _NOTE_FURNITURE[kind], [paragraph.text for paragraph in paragraphs])
            elif kind != "sldNum":
                lines += [paragraph.line() for paragraph in paragraphs]
                for row in descendants(shape.element, "a:tr"):
                    texts = [reader.lines(body) for body in descendants(row, "a:txBody")]
                    lines.append("\t".join(" ".join(text.split()) for text in texts))
        if lines:
            self._hang(sheet, BlockKind.FOOTNOTE, "\n".join(lines), heading, marker=NOTES, links=links)

    def _note_furniture(self, sheet: Sheet, kind: BlockKind, texts: list[str]) -> None:
        """Header and footer of the notes pages, each text once."""
        for text in texts:
            if text not in self._told:
                self._told.add(text)
                self._add(kind, text, page=sheet.number)

    def add_comment(self, sheet: Sheet, author: str, text: str, heading: int | None) -> None:
        """A remark of an author on the slide."""
        self._hang(sheet, BlockKind.COMMENT, f"{author}: {text}" if author else text, heading)

    def _hang(
        self,
        sheet: Sheet,
        kind: BlockKind,
        text: str,
        heading: int | None,
        *,
        marker: str | None = None,
        links: list[Link] | None = None,
    ) -> None:
        at = self._add(kind, text, marker=marker, links=links, page=sheet.number)
        if heading is not None:
            self.refs[at] = heading


def kind_of(paragraph: Paragraph) -> BlockKind:
    """What kind of block a paragraph of a slide is."""
    if paragraph.formulas and not paragraph.words:
        return BlockKind.FORMULA
    return BlockKind.PARAGRAPH if paragraph.marker is None else BlockKind.LIST_ITEM


def _alternative(shape: Shape) -> str:
    properties = shape.properties()
    return "" if properties is None else (properties.get("descr") or properties.get("title") or "").strip()


def _object_alternative(element: etree._Element) -> str:
    """The alternative text of the picture that stands for an embedded object."""
    return next((text for one in descendants(element, "p:cNvPr") if (text := (one.get("descr") or "").strip())), "")


def _alternatives(data: etree._Element | None) -> list[tuple[str, etree._Element]]:
    """What a graphic frame shows: one branch of alternatives, and the Microsoft kinds beneath."""
    found: list[tuple[str, etree._Element]] = []
    for name, element in children(data) if data is not None else ():
        if name == "mc:AlternateContent":
            found += _alternatives(chosen(element))
        else:
            found.append((name, element))
    return found


def _span(element: etree._Element, name: str, grid: Grid) -> int:
    text = element.get(name) or "1"
    if not (text.isascii() and text.isdigit()):
        return 1
    if len(text) > 9 or int(text) > MAX_SPAN:
        grid.clipped = True
        return MAX_SPAN
    return max(int(text), 1)


def _grid(table: etree._Element) -> Grid:
    """The grid of an `a:tbl` (21.1.3): merged cells are written again where they are covered."""
    properties = child(table, "a:tblPr")
    grid = Grid(first_row_is_header=properties is not None and (properties.get("firstRow") or "0") in ("1", "true"))
    for tag, row in children(table):
        if tag != "a:tr":
            continue
        col = 0
        for name, element in children(row):
            if name != "a:tc":
                continue
            if element.get("hMerge") in ("1", "true") or element.get("vMerge") in ("1", "true"):
                grid.covered.append(element)
            else:
                across, down = _span(element, "gridSpan", grid), _span(element, "rowSpan", grid)
                grid.cells.append(GridCell(grid.n_rows, col, across, element, down))
            col += 1
        grid.n_cols = max(grid.n_cols, col)
        grid.n_rows += 1
    for cell in grid.cells:  # a span never reaches beyond the table
        cell.col_span = min(cell.col_span, grid.n_cols - cell.col)
        cell.row_span = min(cell.row_span, grid.n_rows - cell.row)
    return grid
