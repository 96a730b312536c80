"""Objects in OpenDocument frames: formulas as text, charts as the table of their values."""

from __future__ import annotations

from typing import Protocol

import msgspec
from lxml import etree

from streams.extract.docx_tables import record
from streams.extract.odf import Source, attr, child, children, descendants, name_of
from streams.extract.odf_math import linear
from streams.extract.odf_tables import read_grid
from streams.records import Table


class Lines(Protocol):
    """What reads the text of a cell."""

    def plain_lines(self, container: etree._Element) -> str:
        """The text of a cell, a paragraph a line."""


def formula_of(source: Source, frame: etree._Element) -> str | None:
    """The formula that a frame holds as one line; null for a frame that holds something else."""
    element = child(frame, "draw:object")
    if element is None:
        return None
    root = source.object_root(element)
    if root is None or name_of(root) != "math:math":
        return None
    return linear(root) or None


def object_table(source: Source, element: etree._Element, reader: Lines) -> tuple[Table | None, list[str]]:
    """The values of a chart as a grid, and its titles; null for any other object."""
    chart = chart_of(source.object_root(element))
    return (None, []) if chart is None else chart_table(chart, reader)


def chart_of(root: etree._Element | None) -> etree._Element | None:
    """The chart (part 3, 11) in the content of an object; null in that of another one."""
    return next(iter(descendants(root, "chart:chart")), None)


def chart_table(chart: etree._Element, reader: Lines) -> tuple[Table | None, list[str]]:
    """The values of a chart as a grid, and its titles."""
    titles = [
        text
        for one in descendants(chart, "chart:title", "chart:subtitle")
        if (text := " ".join(reader.plain_lines(one).split()))
    ]
    grid_element = child(chart, "table:table")
    if grid_element is None:
        return None, titles
    grid = read_grid(grid_element)
    texts = [_value(cell.element, reader) for cell in grid.cells]
    if grid.clipped or not any(texts):
        return None, titles
    table = record(grid, texts, grid.header_rows())
    has_title = any(name == "chart:title" for name, _ in children(chart))
    return msgspec.structs.replace(table, caption=titles[0] if has_title and titles else None, header_cols=1), titles


def _value(cell: etree._Element, reader: Lines) -> str:
    """What a cell of a chart's table shows; LibreOffice writes "NaN" for a value that is not there."""
    text = reader.plain_lines(cell)
    if not text:
        text = attr(cell, "office:value") or attr(cell, "office:string-value") or ""
    return "" if text == "NaN" else text
