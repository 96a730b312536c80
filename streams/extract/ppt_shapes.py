"""The shapes of a binary slide: where each stands, what it is for, its text, and which of them are a table.

Source: [MS-ODRAW] 2.2.13 to 2.2.16 (containers), 2.3 (properties); [MS-PPT] 2.7 (anchors and placeholders).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

from streams.extract.boxes import Box
from streams.extract.ppt_records import MAX_DEPTH, Record, tagged
from streams.extract.ppt_styles import NUMBERINGS, read_numberings
from streams.extract.ppt_text import INTERACTIVE, INTERACTIVE_ATOM, Body, read_bodies
from streams.extract.slide_order import reading_order

DRAWING, DRAWING_GROUP, GROUP, SHAPE = 0x040C, 0xF002, 0xF003, 0xF004
SHAPE_ATOM = 0xF00A
_GROUP_BOX, _OPTIONS, _THIRD_OPTIONS = 0xF009, 0xF00B, 0xF122
_TEXT, _CHILD_ANCHOR, _ANCHOR, _CLIENT_DATA = 0xF00D, 0xF00F, 0xF010, 0xF011
_PLACEHOLDER, _OBJECT, _OUTLINE_REFERENCE = 0x0BC3, 0x0BC1, 0x0F9E
_PICTURE_FRAME = 75
_PICTURE, _WORD_ART, _DESCRIPTION, _IS_TABLE, _HIDDEN = 0x0104, 0x00C0, 0x0381, 0x039F, 0x03BF
MASTER_UNITS = 8.0
"""Units per point: 576 to the inch."""
MAX_SHAPES = 50_000
TITLES = frozenset({0x0D, 0x0F, 0x11})
DATE, NUMBER, FOOTER, HEADER = 0x07, 0x08, 0x09, 0x0A


@dataclass(slots=True)
class Shape:
    """A shape that stands alone, or a table with its cells."""

    box: Box | None = None
    placeholder: int | None = None
    bodies: list[Body] = field(default_factory=list)
    is_picture: bool = False
    is_hidden: bool = False
    description: str = ""
    link: int | None = None
    object: int | None = None
    cells: list[Shape] | None = None


@dataclass(frozen=True, slots=True)
class _Frame:
    """How coordinates inside a group become points of the slide."""

    scale_x: float = 1 / MASTER_UNITS
    scale_y: float = 1 / MASTER_UNITS
    shift_x: float = 0.0
    shift_y: float = 0.0

    def box(self, values: tuple[int, int, int, int]) -> Box:
        x0, y0, x1, y1 = values
        xs = sorted((x0 * self.scale_x + self.shift_x, x1 * self.scale_x + self.shift_x))
        ys = sorted((y0 * self.scale_y + self.shift_y, y1 * self.scale_y + self.shift_y))
        return xs[0], ys[0], xs[1], ys[1]


def shapes_of(slide: Record, outline: list[Body]) -> list[Shape]:
    """The shapes of a slide, its notes or its master, in the order in which they are read.

    Args:
        outline: texts of the slide that stand in the document's list, to which its placeholders refer.
    """
    drawing = slide.find(DRAWING)
    group = None if drawing is None else drawing.find(DRAWING_GROUP)
    if group is None:
        return []
    found: list[Shape] = []
    for one in group.inside():
        if one.kind == GROUP:
            found += _group(one, _Frame(), outline, 0, is_top=True)
        if len(found) > MAX_SHAPES:
            break
    placed = [shape for shape in found if shape.box is not None]
    order = reading_order([shape.box for shape in placed if shape.box is not None]) if len(placed) < 2000 else None
    if order is not None:
        placed = [placed[number] for number in order]
    return placed + [shape for shape in found if shape.box is None]


def _group(group: Record, frame: _Frame, outline: list[Body], depth: int, *, is_top: bool) -> list[Shape]:
    """The shapes of a group; its first says where the group stands, and whether it is a table."""
    found: list[Shape] = []
    inner, is_table, own = frame, False, Shape()
    for number, one in enumerate(group.inside()):
        if number >= MAX_SHAPES:
            break
        if number == 0 and one.kind == SHAPE:
            own = _shape(one, frame, outline)
            is_table = bool(_property(one, _THIRD_OPTIONS, _IS_TABLE) & 1)
            inner = frame if is_top else _inner(one, own.box, frame)
        elif one.kind == SHAPE:
            found.append(_shape(one, inner, outline))
        elif one.kind == GROUP and depth < MAX_DEPTH:
            found += _group(one, inner, outline, depth + 1, is_top=False)
    if own.is_hidden:
        for shape in found:
            shape.is_hidden = True
    if is_table and len(found) > 1:
        return [Shape(box=own.box, cells=[shape for shape in found if shape.box is not None and shape.bodies])]
    if own.description and not is_top:
        found.append(Shape(box=own.box, is_picture=True, description=own.description))
    return found


def _inner(first: Record, box: Box | None, frame: _Frame) -> _Frame:
    """The coordinates inside a group: its own rectangle becomes the box where it stands."""
    atom = first.find(_GROUP_BOX)
    if atom is None or atom.end - atom.start < 16 or box is None:
        return frame
    x0, y0, x1, y1 = struct.unpack_from("<4i", atom.data, atom.start)
    if x1 == x0 or y1 == y0:
        return frame
    scale_x, scale_y = (box[2] - box[0]) / (x1 - x0), (box[3] - box[1]) / (y1 - y0)
    return _Frame(scale_x, scale_y, box[0] - x0 * scale_x, box[1] - y0 * scale_y)


def _shape(container: Record, frame: _Frame, outline: list[Body]) -> Shape:
    shape = Shape()
    for one in container.inside():
        match one.kind:
            case 0xF00A:
                shape.is_picture = one.instance == _PICTURE_FRAME
            case 0xF00F if one.end - one.start >= 16:
                shape.box = frame.box(struct.unpack_from("<4i", one.data, one.start))
            case 0xF010:
                shape.box = _anchor(one, frame) or shape.box
            case 0xF011:
                _client_data(shape, one)
            case 0xF00D:
                shape.bodies = list(_bodies(one, outline))
    data = container.find(_CLIENT_DATA)
    numberings = None if data is None else next(tagged(data, NUMBERINGS), None)
    if numberings is not None:
        for body in shape.bodies:
            body.numberings = body.numberings or read_numberings(numberings.content())
    shape.description = said_of(container)
    shape.is_hidden = bool(_property(container, _OPTIONS, _HIDDEN) & 2)
    return shape


def _anchor(record: Record, frame: _Frame) -> Box | None:
    """[MS-PPT] 2.7.1: top, left, right, bottom, as short or long numbers."""
    size = record.end - record.start
    if size not in (8, 16):
        return None
    top, left, right, bottom = struct.unpack_from("<4h" if size == 8 else "<4i", record.data, record.start)
    return frame.box((left, top, right, bottom))


def _client_data(shape: Shape, record: Record) -> None:
    atom = record.find(_PLACEHOLDER)
    if atom is not None and atom.end - atom.start >= 5:
        shape.placeholder = atom.data[atom.start + 4]
    reference = record.find(_OBJECT)
    if reference is not None:
        shape.object = int.from_bytes(reference.content()[:4], "little")
    interactive = record.find(INTERACTIVE)
    link = None if interactive is None else interactive.find(INTERACTIVE_ATOM)
    if link is not None:
        shape.link = int.from_bytes(link.content()[4:8], "little")


def _bodies(record: Record, outline: list[Body]) -> Iterator[Body]:
    yield from read_bodies(record.inside())
    for reference in record.all(_OUTLINE_REFERENCE):
        number = int.from_bytes(reference.content()[:4], "little")
        if number < len(outline):
            yield outline[number]


def said_of(shape: Record) -> str:
    """What a shape says besides its text: its alternative text, and the letters of WordArt."""
    options = shape.find(_OPTIONS)
    if options is None:
        return ""
    return "\n".join(text for number in (_DESCRIPTION, _WORD_ART) if (text := _text_property(options, number).strip()))


def shows_picture(shape: Record) -> bool:
    """Whether the shape is a picture, or filled with one in its place."""
    return _property(shape, _OPTIONS, _PICTURE) != 0


def _property(container: Record, table: int, number: int) -> int:
    """The value of a property of a shape; 0 where it has none."""
    options = container.find(table)
    if options is None:
        return 0
    for at in range(options.start, min(options.end - 5, options.start + 6 * options.instance), 6):
        identifier, value = struct.unpack_from("<HI", options.data, at)
        if identifier & 0x3FFF == number:
            return int(value)
    return 0


def _text_property(options: Record, wanted: int) -> str:
    """A property whose text stands behind the table, after those of the properties before it ([MS-ODRAW] 2.3.1)."""
    at = options.start + 6 * options.instance
    for place in range(options.start, min(options.end - 5, options.start + 6 * options.instance), 6):
        identifier, size = struct.unpack_from("<HI", options.data, place)
        if not identifier & 0x8000:
            continue
        if identifier & 0x3FFF == wanted:
            text = options.data[at : min(at + size, options.end)]
            return " ".join(text.decode("utf-16-le", "replace").replace("\0", "").split())
        at += size
    return ""
