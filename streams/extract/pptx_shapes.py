"""Where the shapes of a slide stand: groups have coordinates of their own, placeholders take theirs from the layout."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from lxml import etree

from streams.extract.boxes import Box, around
from streams.extract.ooxml import child, children, chosen, descendants
from streams.extract.slide_order import reading_order

EMU = 12_700
"""English metric units of a point (ECMA-376 part 1, 20.1.2.1)."""
FAR = 100_000.0
"""Points beyond which a place is no place."""
_WHOLE = re.compile(r"-?\d{1,18}")
_SHAPES = frozenset({"p:sp", "p:pic", "p:graphicFrame", "p:cxnSp", "p:grpSp", "p:contentPart"})
_SAME_TYPE = {"ctrTitle": "title", "subTitle": "body", "obj": "body"}
"""Placeholders of these types look like those on the master."""


@dataclass(frozen=True)
class Placeholder:
    """`p:ph`: what the shape stands in for."""

    kind: str  # title, ctrTitle, body, obj, dt, ftr, sldNum, ...
    index: str | None


@dataclass
class Shape:
    """One shape with its place on the slide."""

    name: str  # p:sp, p:pic, p:graphicFrame, p:grpSp, ...
    element: etree._Element
    box: Box | None
    placeholder: Placeholder | None
    hidden: bool = False
    inside: list[Shape] = field(default_factory=list)  # of a group, in reading order
    styles: list[etree._Element | None] = field(default_factory=list)  # list styles it inherits, nearest first

    def properties(self) -> etree._Element | None:
        """`p:cNvPr`: its name, alternative text and link."""
        return properties_of(self.element)


@dataclass(frozen=True)
class _Frame:
    """From the coordinates of a group to those of the slide, in EMU."""

    x: float = 0.0
    y: float = 0.0
    scale_x: float = 1.0
    scale_y: float = 1.0

    def box(self, x: float, y: float, width: float, height: float) -> Box:
        x0, y0 = self.x + x * self.scale_x, self.y + y * self.scale_y
        x1, y1 = x0 + width * self.scale_x, y0 + height * self.scale_y
        return _points(min(x0, x1)), _points(min(y0, y1)), _points(max(x0, x1)), _points(max(y0, y1))


class Layout:
    """A slide's layout and master: places and list styles of placeholders."""

    def __init__(self, layout: etree._Element | None, master: etree._Element | None, defaults: etree._Element | None):
        self._by_index: dict[str, etree._Element] = {}
        self._by_kind: dict[str, etree._Element] = {}
        self._on_master: dict[str, etree._Element] = {}
        for placeholder, shape in _placeholders(layout):
            self._by_kind.setdefault(placeholder.kind, shape)
            if placeholder.index:
                self._by_index.setdefault(placeholder.index, shape)
        for placeholder, shape in _placeholders(master):
            self._on_master.setdefault(_SAME_TYPE.get(placeholder.kind, placeholder.kind), shape)
        texts = child(master, "p:txStyles")
        self._styles = {
            kind: child(texts, f"p:{name}Style") for kind, name in (("title", "title"), ("body", "body"), ("", "other"))
        }
        self._defaults = defaults

    def patterns(self, placeholder: Placeholder) -> list[etree._Element]:
        """The shapes on layout and master that a placeholder takes after, nearest first (19.3.1.36)."""
        kind = _SAME_TYPE.get(placeholder.kind, placeholder.kind)
        on_layout = self._by_index.get(placeholder.index or "")
        on_layout = self._by_kind.get(placeholder.kind) if on_layout is None else on_layout
        under = None if on_layout is None else placeholder_of(on_layout)
        kind = kind if under is None else _SAME_TYPE.get(under.kind, under.kind)
        on_master = self._on_master.get(kind)
        return [shape for shape in (on_layout, on_master) if shape is not None]

    def styles(self, placeholder: Placeholder | None) -> list[etree._Element | None]:
        """List styles of a shape beyond its own, nearest first."""
        if placeholder is None:
            return [self._styles[""], self._defaults]
        patterns = self.patterns(placeholder)
        found = [child(child(shape, "p:txBody"), "a:lstStyle") for shape in patterns]
        kind = _SAME_TYPE.get(placeholder.kind, placeholder.kind)
        if kind in ("dt", "ftr", "sldNum"):
            kind = ""
        return [*found, self._styles.get(kind, self._styles["body"]), self._defaults]


def shapes_of(tree: etree._Element | None, layout: Layout) -> list[Shape]:
    """The shapes of a `p:spTree` in reading order, groups with theirs inside. Depth: the parser's 256."""
    return [] if tree is None else _in_order(_inside(tree, layout, _Frame(), hidden=False))


def flat(shapes: list[Shape]) -> Iterator[Shape]:
    """Shapes and those in groups, in reading order; the group itself first."""
    stack = list(reversed(shapes))
    while stack:
        shape = stack.pop()
        yield shape
        stack.extend(reversed(shape.inside))


def properties_of(shape: etree._Element) -> etree._Element | None:
    """`p:cNvPr` of a shape."""
    for name, found in children(shape):
        if name.startswith("p:nv"):
            return child(found, "p:cNvPr")
    return None


def placeholder_of(shape: etree._Element) -> Placeholder | None:
    """What a shape stands in for; null for a shape of its own. Without a type it is `obj` (19.7.10)."""
    for name, found in children(shape):
        if name.startswith("p:nv"):
            placeholder = child(child(found, "p:nvPr"), "p:ph")
            if placeholder is None:
                return None
            return Placeholder(placeholder.get("type") or "obj", placeholder.get("idx"))
    return None


def _placeholders(root: etree._Element | None) -> Iterator[tuple[Placeholder, etree._Element]]:
    for shape in descendants(root, "p:sp") if root is not None else ():
        placeholder = placeholder_of(shape)
        if placeholder is not None:
            yield placeholder, shape


def _inside(tree: etree._Element, layout: Layout, frame: _Frame, *, hidden: bool) -> list[Shape]:
    found: list[Shape] = []
    stack = list(reversed(list(children(tree))))
    while stack:
        name, element = stack.pop()
        if name == "mc:AlternateContent":
            branch = chosen(element)
            if branch is not None:
                stack.extend(reversed(list(children(branch))))
        elif name in _SHAPES:
            found.append(_shape(name, element, layout, frame, hidden=hidden))
    return found


def _shape(name: str, element: etree._Element, layout: Layout, frame: _Frame, *, hidden: bool) -> Shape:
    properties, placeholder = properties_of(element), placeholder_of(element)
    hidden = hidden or (properties is not None and properties.get("hidden") in ("1", "true"))
    shape = Shape(
        name, element, _box(_transform(element), frame), placeholder, hidden, styles=layout.styles(placeholder)
    )
    if name == "p:grpSp":
        inner = _group_frame(_transform(element), frame)
        shape.inside = _in_order(_inside(element, layout, inner, hidden=hidden))
        boxes = [one.box for one in shape.inside if one.box is not None]
        if boxes:
            shape.box = around(boxes)
    elif shape.box is None and placeholder is not None:
        boxes = [box for one in layout.patterns(placeholder) if (box := _box(_transform(one), _Frame())) is not None]
        shape.box = boxes[0] if boxes else None
    return shape


def _in_order(shapes: list[Shape]) -> list[Shape]:
    """As they are read; a shape without a place keeps its place behind the one before it."""
    runs: list[list[Shape]] = []
    lost: list[Shape] = []
    for shape in shapes:
        if shape.box is not None:
            runs.append([shape])
        elif runs:
            runs[-1].append(shape)
        else:
            lost.append(shape)
    order = reading_order([run[0].box for run in runs if run[0].box is not None])
    return lost + [shape for at in order for shape in runs[at]]


def _transform(shape: etree._Element) -> etree._Element | None:
    for name in ("p:spPr", "p:grpSpPr"):
        found = child(child(shape, name), "a:xfrm")
        if found is not None:
            return found
    return child(shape, "p:xfrm")


def _pair(transform: etree._Element | None, name: str, first: str, second: str) -> tuple[int, int] | None:
    found = child(transform, name)
    one, two = ("", "") if found is None else (found.get(first) or "", found.get(second) or "")
    return (int(one), int(two)) if _WHOLE.fullmatch(one) and _WHOLE.fullmatch(two) else None


def _box(transform: etree._Element | None, frame: _Frame) -> Box | None:
    """Where a shape stands; turned by about a quarter, its sides change places (20.1.7.6)."""
    at, size = _pair(transform, "a:off", "x", "y"), _pair(transform, "a:ext", "cx", "cy")
    if transform is None or at is None or size is None:
        return None
    (x, y), (width, height) = at, size
    turn = transform.get("rot") or "0"
    degrees = int(turn) / 60_000 % 180 if _WHOLE.fullmatch(turn) else 0
    if 45 <= degrees < 135:
        x, y, width, height = x + (width - height) // 2, y + (height - width) // 2, height, width
    return frame.box(x, y, width, height)


def _group_frame(transform: etree._Element | None, frame: _Frame) -> _Frame:
    """The frame of what is in a group: `chOff` and `chExt` are mapped on `off` and `ext` (20.1.7.5)."""
    at, size = _pair(transform, "a:off", "x", "y"), _pair(transform, "a:ext", "cx", "cy")
    inner_at, inner_size = _pair(transform, "a:chOff", "x", "y"), _pair(transform, "a:chExt", "cx", "cy")
    if at is None or size is None or inner_at is None or inner_size is None:
        return frame
    scale_x = size[0] / inner_size[0] if inner_size[0] else 1.0
    scale_y = size[1] / inner_size[1] if inner_size[1] else 1.0
    return _Frame(
        x=_bounded(frame.x + (at[0] - inner_at[0] * scale_x) * frame.scale_x),
        y=_bounded(frame.y + (at[1] - inner_at[1] * scale_y) * frame.scale_y),
        scale_x=_bounded(frame.scale_x * scale_x),
        scale_y=_bounded(frame.scale_y * scale_y),
    )


def _bounded(value: float) -> float:
    return min(max(value, -1e15), 1e15)


def _points(emu: float) -> float:
    return round(min(max(emu / EMU, -FAR), FAR), 2)
