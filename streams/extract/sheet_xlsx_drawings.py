"""What lies over the cells of an XLSX sheet: charts, pictures, text boxes, SmartArt (ECMA-376 part 1, 20.5)."""

from __future__ import annotations

from collections.abc import Iterator

from lxml import etree

from streams.extract.drawing_charts import read_chart
from streams.extract.drawing_diagrams import diagram_texts
from streams.extract.ooxml import Package, attr, child, children, chosen, descendants
from streams.extract.sheet_model import Drawn

MAX_DRAWN = 5_000
"""Shapes of one sheet that are read; more are a warning `drawings_not_read`."""

_SHAPES = ("xdr:sp", "xdr:cxnSp", "xdr:pic", "xdr:graphicFrame")
_ANCHORS = ("xdr:twoCellAnchor", "xdr:oneCellAnchor", "xdr:absoluteAnchor")


def drawn_of(package: Package, part: str) -> list[Drawn]:
    """The drawing of the sheet `part`, by rows of the cells that its shapes begin at.

    Errors: DocumentError `bomb` or `too_large`. A damaged part of it is a warning.
    """
    drawing = package.related(part, "drawing")
    root = package.optional_xml(drawing)
    if root is None or drawing is None:
        return []
    found: list[tuple[tuple[int, int], Drawn]] = []
    for tag, anchor in children(root):
        if tag not in _ANCHORS and tag != "mc:AlternateContent":
            continue
        place = _place(anchor)
        for name, shape in _shapes(tag, anchor):
            if len(found) >= MAX_DRAWN:
                package.warn("drawings_not_read")
                break
            one = _read(package, drawing, name, shape)
            if one is not None:
                found.append((place, one))
    return [one for _, one in sorted(found, key=lambda placed: placed[0])]


def _shapes(tag: str, anchor: etree._Element) -> Iterator[tuple[str, etree._Element]]:
    """Shapes below, in groups too; of alternatives the one that a reader shows."""
    stack = [(tag, anchor)]
    while stack:
        name, element = stack.pop()
        if name in _SHAPES:
            yield name, element
        elif name == "mc:AlternateContent":
            branch = chosen(element)
            if branch is not None:
                stack.append(("", branch))
        else:
            stack += reversed(list(children(element)))


def _place(anchor: etree._Element) -> tuple[int, int]:
    """Row and column of its first cell; what says none comes first."""
    start = next(descendants(anchor, "xdr:from"), None)
    texts = [(child(start, name) if start is not None else None) for name in ("xdr:row", "xdr:col")]
    said = ["" if one is None else (one.text or "").strip() for one in texts]
    row, col = (int(one) if one.isascii() and one.isdigit() and len(one) < 9 else 0 for one in said)
    return row, col


def _read(package: Package, drawing: str, name: str, shape: etree._Element) -> Drawn | None:
    about = next(descendants(shape, "xdr:cNvPr"), None)
    described = "" if about is None else (about.get("descr") or about.get("title") or "").strip()
    hidden = about is not None and about.get("hidden") in ("1", "true")
    if name in ("xdr:sp", "xdr:cxnSp"):
        said = _text(shape)
        text = "\n".join(one for one in (said, "" if said else described) if one)
        return Drawn(text=text, figure=not said, hidden=hidden) if text else None
    if name == "xdr:pic":
        return Drawn(text=described, figure=True, hidden=hidden) if described else None
    for kind in ("c:chart", "cx:chart"):
        reference = next(descendants(shape, kind), None)
        if reference is not None:
            return _chart(package, _target(package, drawing, attr(reference, "r:id")), described, hidden)
    diagram = next(descendants(shape, "dgm:relIds"), None)
    root = None if diagram is None else package.optional_xml(_target(package, drawing, attr(diagram, "r:dm")))
    nodes = [] if root is None else [text for _, text in diagram_texts(root)]
    text = "\n".join(one for one in (described, *nodes) if one)
    return Drawn(text=text, figure=True, hidden=hidden) if text else None


def _chart(package: Package, part: str | None, described: str, hidden: bool) -> Drawn:
    root = package.optional_xml(part)
    chart = None if root is None else read_chart(root)
    if chart is None or chart.table is None:
        package.warn("chart_values_not_read")
    said = (described,) if chart is None else (described, chart.title, *chart.texts)
    text = "\n".join(dict.fromkeys(one for one in said if one))
    return Drawn(text=text, figure=True, table=None if chart is None else chart.table, hidden=hidden)


def _target(package: Package, drawing: str, identifier: str | None) -> str | None:
    """The part that a shape shows; null for one outside."""
    relationship = package.relationships(drawing).get(identifier or "")
    return None if relationship is None or relationship.external else relationship.target


def _text(shape: etree._Element) -> str:
    """Paragraphs of a text box, a line each."""
    lines = []
    for paragraph in descendants(shape, "a:p"):
        runs = (text.text or "" for text in descendants(paragraph, "a:t"))
        lines.append("".join(runs).strip())
    return "\n".join(lines).strip()
