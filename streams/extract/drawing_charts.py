"""Charts of Office files: the values that were last drawn stand in the chart's own part, and are its table.

DrawingML charts (ECMA-376 part 1, 21.2) and the newer kinds such as waterfall and treemap ([MS-ODRAWXML] 2.24.3).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from lxml import etree

from streams.extract.grids import check_size
from streams.extract.ooxml import child, children, descendants, short
from streams.extract.sheet_formats import shown
from streams.records import Cell, Table


@dataclass
class Chart:
    """What a chart says."""

    title: str = ""
    texts: list[str] = field(default_factory=list)  # titles of axes and labels that the author wrote
    table: Table | None = None  # categories x series; null if no values are kept


@dataclass
class _Series:
    name: str = ""
    categories: dict[int, str] = field(default_factory=dict)
    values: dict[int, str] = field(default_factory=dict)
    sizes: dict[int, str] = field(default_factory=dict)


def read_chart(root: etree._Element) -> Chart:
    """Titles and values of a chart part. Errors: DocumentError `too_large` for more values than a canon carries."""
    if short(root.tag).startswith("cx:"):
        return _extended(root)
    chart = child(root, "c:chart")
    area = child(chart, "c:plotArea")
    found = Chart(title=_rich(child(chart, "c:title")))
    date_1904 = (_value(child(root, "c:date1904")) or "0") in ("1", "true")
    series: list[_Series] = []
    axis = ""
    for name, element in children(area) if area is not None else ():
        if name.endswith("Chart"):
            series += [_series(one, date_1904) for tag, one in children(element) if tag == "c:ser"]
        title = _rich(child(element, "c:title"))
        if title:
            axis = axis or (title if name in ("c:catAx", "c:dateAx") else "")
            found.texts.append(title)
    found.texts += [
        text for label in (descendants(area, "c:dLbl") if area is not None else ()) if (text := _rich(label))
    ]
    found.table = _table(series, found.title, axis)
    return found


def _series(element: etree._Element, date_1904: bool) -> _Series:
    def points(*names: str) -> dict[int, str]:
        return next((_points(one, date_1904) for name in names if (one := child(element, name)) is not None), {})

    name = points("c:tx")
    return _Series(
        name=" ".join(name[at] for at in sorted(name)),
        categories=points("c:cat", "c:xVal"),
        values=points("c:val", "c:yVal"),
        sizes=points("c:bubbleSize"),
    )


def _points(source: etree._Element, date_1904: bool) -> dict[int, str]:
    """Cached points by index, as shown; levels of a category, outermost first, joined."""
    direct = child(source, "c:v")
    if direct is not None:
        return {0: direct.text or ""}
    levels: list[dict[int, str]] = []
    for cache in _caches(source):
        code = child(cache, "c:formatCode")
        common = "" if code is None else code.text or ""
        level: dict[int, str] = {}
        for name, point in children(cache):
            place, content = _place(point), child(point, "c:v")
            if name == "c:pt" and place is not None and content is not None:
                text = (content.text or "").strip()
                is_number = short(cache.tag) in ("c:numCache", "c:numLit")
                level[place] = _number(text, point.get("formatCode") or common, date_1904) if is_number else text
        levels.insert(0, level)
    if len(levels) <= 1:
        return levels[0] if levels else {}
    joined: dict[int, str] = {}
    outer = [""] * len(levels)
    for at in sorted(set().union(*levels)):
        for depth, level in enumerate(levels):  # an outer level says its text once, where it begins
            outer[depth] = level.get(at, outer[depth] if depth < len(levels) - 1 else "")
        joined[at] = " / ".join(text for text in outer if text)
    return joined


def _place(point: etree._Element) -> int | None:
    text = point.get("idx") or ""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 9 else None


def _caches(source: etree._Element) -> Iterator[etree._Element]:
    for name, element in children(source):
        if name in ("c:strCache", "c:numCache", "c:strLit", "c:numLit", "c:lvl"):
            yield element
        elif name in ("c:strRef", "c:numRef", "c:multiLvlStrRef", "c:multiLvlStrCache"):
            yield from _caches(element)


def _number(text: str, code: str, date_1904: bool) -> str:
    try:
        return shown(float(text), code, date_1904=date_1904)[0]
    except (ValueError, OverflowError):
        return text


def _table(series: list[_Series], title: str, axis: str) -> Table | None:
    """One row a category where all series have the same ones, else one row a point."""
    series = [one for one in series if one.values or one.categories]
    if not series:
        return None
    categories = series[0].categories
    columns: list[tuple[str, dict[int, str]]]
    if all(one.categories in (categories, {}) for one in series):
        columns = [(axis, categories)]
        for one in series:
            columns.append((one.name, one.values))
            if one.sizes:
                columns.append((f"{one.name} (size)".strip(), one.sizes))
    else:
        columns = [(name, {}) for name in ("", "x", "y", "size" if any(one.sizes for one in series) else "")]
        start = 0
        for one in series:
            places = sorted({*one.categories, *one.values})
            for row, at in enumerate(places, start):
                for column, texts in enumerate(({at: one.name}, one.categories, one.values, one.sizes)):
                    if at in texts:
                        columns[column][1][row] = texts[at]
            start += len(places)
        columns = columns[: 4 if columns[3][0] else 3]
    rows = {at: row for row, at in enumerate(sorted(set().union(*(texts for _, texts in columns))), 1)}
    cells = [Cell(row=0, col=col, text=name, header=True) for col, (name, _) in enumerate(columns)]
    cells += [
        Cell(row=rows[at], col=col, text=text, header=col == 0)
        for col, (_, texts) in enumerate(columns)
        for at, text in texts.items()
    ]
    check_size(len(cells), sum(len(cell.text) for cell in cells), "A chart")
    return Table(
        n_rows=len(rows) + 1, n_cols=len(columns), header_rows=1, header_cols=1, caption=title or None, cells=cells
    )


def _rich(element: etree._Element | None) -> str:
    """The text of a title or label: written by hand, or taken from a cell."""
    text = child(element, "c:tx")
    if text is None:
        return ""
    rich, reference = child(text, "c:rich"), child(text, "c:strRef")
    if rich is not None:
        lines = ("".join(run.text or "" for run in descendants(one, "a:t")) for one in descendants(rich, "a:p"))
        return " ".join(" ".join(lines).split())
    cached = {} if reference is None else _points(text, False)
    return " ".join(" ".join(cached[at] for at in sorted(cached)).split())


def _value(element: etree._Element | None) -> str | None:
    return None if element is None else element.get("val")


# --- waterfall, treemap, sunburst, histogram, funnel, maps ----------------------------------------------------------


def _extended(root: etree._Element) -> Chart:
    chart = child(root, "cx:chart")
    found = Chart(title=_extended_text(child(chart, "cx:title")))
    data: dict[str, _Series] = {}
    for element in descendants(root, "cx:data"):
        one = data[element.get("id") or ""] = _Series()
        for name, dimension in children(element):
            levels = [_extended_points(level) for tag, level in children(dimension) if tag == "cx:lvl"]
            if name == "cx:strDim" and levels:
                places = sorted(set().union(*levels))
                one.categories = {
                    at: " / ".join(level[at] for level in reversed(levels) if level.get(at)) for at in places
                }
            elif name == "cx:numDim" and levels:
                one.values = levels[0]
    series: list[_Series] = []
    for element in descendants(root, "cx:series"):
        source = child(element, "cx:dataId")
        values = data.get("" if source is None else source.get("val") or "", _Series())
        series.append(_Series(_extended_text(element), values.categories, values.values))
    for element in descendants(root, "cx:axis"):
        title = _extended_text(child(element, "cx:title"))
        if title:
            found.texts.append(title)
    found.table = _table(series or list(data.values()), found.title, "")
    return found


def _extended_points(level: etree._Element) -> dict[int, str]:
    code = level.get("formatCode") or ""
    found: dict[int, str] = {}
    for name, point in children(level):
        place, text = _place(point), (point.text or "").strip()
        if name == "cx:pt" and place is not None:
            found[place] = _number(text, code, False) if code else text
    return found


def _extended_text(element: etree._Element | None) -> str:
    text = child(element, "cx:tx")
    if text is None:
        return ""
    said = [one.text or "" for one in descendants(text, "a:t")] or [one.text or "" for one in descendants(text, "cx:v")]
    return " ".join("".join(said).split())
