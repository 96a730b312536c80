"""One slide of a binary presentation as blocks, in the form that PPTX's have."""

from __future__ import annotations

from collections import Counter

import msgspec

from streams.extract.block_list import BlockList
from streams.extract.ppt_shapes import DATE, FOOTER, HEADER, NUMBER, TITLES, Shape
from streams.extract.ppt_text import NOTES_TEXT, Body, Paragraph
from streams.extract.ppt_text import TITLES as TITLE_TEXTS
from streams.extract.pptx_slide import HIDDEN, NOTES
from streams.extract.sheet_model import Drawn
from streams.records import FURNITURE, BlockKind, Cell, Link, Table

SAME_LINE = 3.0
"""Points within which two edges of cells are one line of the grid."""
MAX_POSITIONS = 100_000
_FURNITURE = {DATE: BlockKind.PAGE_FOOTER, FOOTER: BlockKind.PAGE_FOOTER, HEADER: BlockKind.PAGE_HEADER,
              NUMBER: BlockKind.PAGE_NUMBER}  # fmt: skip


class Deck(BlockList):
    """Collects the blocks of all slides."""

    def __init__(
        self, links: dict[int, str], charts: dict[int, Drawn], fonts: dict[int, str], counts: Counter[str]
    ) -> None:
        super().__init__()
        self.tables: list[Table] = []
        self.refs: dict[int, int] = {}
        self.languages: Counter[int] = Counter()
        self._links, self._charts, self._fonts, self._counts = links, charts, fonts, counts
        self._told: set[str] = set()

    def add_slide(self, number: int, shapes: list[Shape], notes: list[Shape], rest: list[Body], *, hidden: bool) -> int:
        """The blocks of a slide and its notes; the index of its heading.

        Args:
            rest: texts that the document lists for the slide and no shape shows.
        """
        heading, title = self._heading(number, shapes)
        if hidden:
            self._hang(number, BlockKind.METADATA, HIDDEN, heading)
        said = {body.text for shape in shapes for body in shape.bodies}
        for shape in shapes:
            if shape is not title:
                self._shape(number, shape)
        for body in rest:
            if body.text not in said:
                self._texts(number, Shape(bodies=[body]))
        self._notes(number, notes, heading)
        return heading

    def has_words(self, start: int) -> bool:
        """Whether anything but furniture stands from this block on."""
        return any(
            block.text or block.table is not None for block in self.blocks[start:] if block.kind not in FURNITURE
        )

    def furniture(self, number: int, kind: BlockKind, text: str) -> None:
        """A header, footer or text of a master: each distinct one once."""
        if text and text not in self._told:
            self._told.add(text)
            self._add(kind, text, page=number)

    def comment(self, number: int, author: str, text: str, heading: int) -> None:
        """A remark of an author on the slide."""
        self._hang(number, BlockKind.COMMENT, f"{author}: {text}" if author else text, heading)

    def _heading(self, number: int, shapes: list[Shape]) -> tuple[int, Shape | None]:
        """The title of the slide; without one it is called as PowerPoint calls it, so that it is no part of another."""
        for wanted in (_is_title_place, _is_title_text):
            for shape in shapes:
                paragraphs = self._paragraphs(number, shape) if wanted(shape) else []
                if paragraphs:
                    text = " ".join(" ".join(one.text.split()) for one in paragraphs)
                    links = [link for one in paragraphs for link in one.links]
                    at = self._add(BlockKind.HEADING, text, level=1, links=links, page=number, bbox=shape.box)
                    return at, shape
        return self._add(BlockKind.HEADING, f"Slide {number}", level=1, page=number), None

    def _shape(self, number: int, shape: Shape) -> None:
        if shape.cells is not None:
            self._table(number, shape)
            return
        self._texts(number, shape)
        chart = None if shape.object is None else self._charts.get(shape.object)
        if chart is not None:
            self._chart(number, shape, chart)
            return
        if shape.is_picture:
            self._counts["pictures"] += 1
        if shape.is_picture or (shape.description and not shape.bodies):
            self._add(BlockKind.FIGURE, shape.description, hidden=shape.is_hidden, page=number, bbox=shape.box)

    def _chart(self, number: int, shape: Shape, chart: Drawn) -> None:
        """A figure, and the values as a table that belongs to it."""
        text = "\n".join(dict.fromkeys(one for one in (shape.description, chart.text) if one))
        at = self._add(BlockKind.FIGURE, text, hidden=shape.is_hidden, page=number, bbox=shape.box)
        if chart.table is None:
            self._counts["empty_charts"] += 1
            return
        table = len(self.tables)
        self.tables.append(msgspec.structs.replace(chart.table, pages=[number]))
        self.refs[self._add(BlockKind.TABLE, "", table=table, hidden=shape.is_hidden, page=number, bbox=shape.box)] = at

    def _texts(self, number: int, shape: Shape) -> None:
        furniture = None if shape.placeholder is None else _FURNITURE.get(shape.placeholder)
        for paragraph in self._paragraphs(number, shape):
            kind = BlockKind.PARAGRAPH if paragraph.marker is None else BlockKind.LIST_ITEM
            listed = kind is BlockKind.LIST_ITEM and furniture is None
            self._counts["hidden"] += len(paragraph.text) if shape.is_hidden else 0
            self._add(
                furniture or kind,
                paragraph.text,
                level=paragraph.level if listed else None,
                marker=paragraph.marker if listed else None,
                links=paragraph.links,
                hidden=shape.is_hidden,
                page=number,
                bbox=shape.box,
            )

    def _paragraphs(self, number: int, shape: Shape) -> list[Paragraph]:
        found: list[Paragraph] = []
        for body in shape.bodies:
            self.languages.update(body.languages)
            found += body.paragraphs(self._links, number, self._fonts)
            self._counts["symbols"] += body.lost
            self._counts["approximated"] += body.approximated
        target = self._links.get(shape.link) if shape.link is not None else None
        if target:
            for paragraph in found:
                paragraph.links.append(Link(text=paragraph.text, target=target))
        return found

    def _table(self, number: int, shape: Shape) -> None:
        cells = shape.cells or []
        columns = _lines([edge for cell in cells if cell.box for edge in (cell.box[0], cell.box[2])])
        rows = _lines([edge for cell in cells if cell.box for edge in (cell.box[1], cell.box[3])])
        links: list[Link] = []
        found: list[Cell] = []
        taken: set[tuple[int, int]] = set()
        for cell in cells:
            paragraphs = self._paragraphs(number, cell)
            links += [link for one in paragraphs for link in one.links]
            text = "\n".join(one.text for one in paragraphs)
            if cell.box is None:
                continue
            left, right = _line(columns, cell.box[0]), _line(columns, cell.box[2])
            top, bottom = _line(rows, cell.box[1]), _line(rows, cell.box[3])
            places = {
                (row, col) for row in range(top, max(bottom, top + 1)) for col in range(left, max(right, left + 1))
            }
            if places & taken or len(taken) + len(places) > MAX_POSITIONS:  # boxes that lie on each other are no grid
                self._loose(number, shape, cells)
                return
            taken |= places
            spans = max(1, bottom - top), max(1, right - left)
            found.append(Cell(row=top, col=left, row_span=spans[0], col_span=spans[1], text=text))
        if not any(cell.text for cell in found):
            self._counts["empty_tables"] += 1
            return
        n_rows = max(cell.row + cell.row_span for cell in found)
        n_cols = max(cell.col + cell.col_span for cell in found)
        at = len(self.tables)
        self._add(BlockKind.TABLE, "", table=at, links=links, hidden=shape.is_hidden, page=number, bbox=shape.box)
        self.tables.append(Table(n_rows=n_rows, n_cols=n_cols, cells=found, pages=[number]))

    def _loose(self, number: int, shape: Shape, cells: list[Shape]) -> None:
        for cell in cells:
            cell.is_hidden = cell.is_hidden or shape.is_hidden
            self._texts(number, cell)

    def _notes(self, number: int, shapes: list[Shape], heading: int) -> None:
        """The speaker's notes: one block that belongs to the slide's heading."""
        lines: list[str] = []
        links: list[Link] = []
        for shape in shapes:
            furniture = None if shape.placeholder is None else _FURNITURE.get(shape.placeholder)
            for paragraph in self._paragraphs(number, shape):
                if furniture is BlockKind.PAGE_NUMBER:
                    continue
                if furniture is not None:
                    self.furniture(number, furniture, paragraph.text)
                    continue
                is_notes = any(body.kind == NOTES_TEXT for body in shape.bodies)
                marker = paragraph.marker if not is_notes or paragraph.marker else None
                lines.append(f"{marker} {paragraph.text}" if marker else paragraph.text)
                links += paragraph.links
        if lines:
            self._hang(number, BlockKind.FOOTNOTE, "\n".join(lines), heading, marker=NOTES, links=links)

    def _hang(
        self,
        number: int,
        kind: BlockKind,
        text: str,
        heading: int,
        *,
        marker: str | None = None,
        links: list[Link] | None = None,
    ) -> None:
        self.refs[self._add(kind, text, marker=marker, links=links, page=number)] = heading


def _is_title_place(shape: Shape) -> bool:
    return shape.placeholder in TITLES


def _is_title_text(shape: Shape) -> bool:
    return any(body.kind in TITLE_TEXTS for body in shape.bodies)


def _lines(edges: list[float]) -> list[float]:
    """The lines of a grid: edges that are nearly the same are one."""
    lines: list[float] = []
    for edge in sorted(edges):
        if not lines or edge - lines[-1] > SAME_LINE:
            lines.append(edge)
    return lines


def _line(lines: list[float], edge: float) -> int:
    return min(range(len(lines)), key=lambda number: abs(lines[number] - edge))
