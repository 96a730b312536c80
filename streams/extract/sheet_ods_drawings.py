"""What lies over the cells of an OpenDocument sheet: charts, pictures, text boxes (ODF 1.3 part 3, 10)."""

from __future__ import annotations

from collections.abc import Iterator

from lxml import etree

from streams.extract.odf import Source, child, children
from streams.extract.odf_body import alternative
from streams.extract.odf_objects import formula_of, object_table
from streams.extract.ooxml import Package
from streams.extract.sheet_model import Drawn

MAX_DRAWN = 5_000
"""Shapes of one workbook that are read; more are a warning `drawings_not_read`."""
MAX_DEPTH = 32
"""Groups in groups."""


class Drawings:
    """Reads the shapes of one workbook."""

    def __init__(self, package: Package) -> None:
        self._package = package
        self._source = Source(
            content=etree.Element("none"), styles=None, meta=None, package=package, warnings=package.warnings
        )
        self._read = 0

    def below(self, holder: etree._Element) -> list[Drawn]:
        """The shapes of a cell, or of a sheet's `table:shapes`. Errors: DocumentError `too_large` or `bomb`."""
        return list(self._shapes(holder, 0))

    def plain_lines(self, container: etree._Element) -> str:
        """The paragraphs of a text box, a title or a cell, a line each."""
        lines = [
            "".join(str(text) for text in one.itertext()).strip()
            for name, one in children(container)
            if name in ("text:p", "text:h")
        ]
        return "\n".join(lines).strip()

    def _shapes(self, holder: etree._Element, depth: int) -> Iterator[Drawn]:
        for name, element in children(holder):
            if not name.startswith("draw:"):
                continue
            self._read += 1
            if self._read > MAX_DRAWN or depth > MAX_DEPTH:
                self._package.warn("drawings_not_read")
                return
            if name in ("draw:g", "draw:a"):
                yield from self._shapes(element, depth + 1)
                continue
            one = self._frame(element) if name == "draw:frame" else self._box(element, element)
            if one is not None:
                yield one

    def _box(self, shape: etree._Element, holder: etree._Element) -> Drawn | None:
        said = self.plain_lines(holder)
        text = said or alternative(shape)
        return Drawn(text=text, figure=not said) if text else None

    def _frame(self, frame: etree._Element) -> Drawn | None:
        box = child(frame, "draw:text-box")
        if box is not None:
            return self._box(frame, box)
        formula = formula_of(self._source, frame)
        if formula:
            return Drawn(text=formula, figure=False)
        element = child(frame, "draw:object")
        if element is None:
            text = alternative(frame)
            return Drawn(text=text, figure=True) if text else None
        table, texts = object_table(self._source, element, self)
        said = dict.fromkeys(text for text in (alternative(frame), *texts) if text)
        return Drawn(text="\n".join(said), figure=True, table=table) if said or table is not None else None
