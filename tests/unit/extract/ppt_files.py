"""Writes binary presentations ([MS-PPT]) of what a test is about: slides, shapes, texts, notes."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tests.unit.decode.unpack.compounds import Tree, compound

KIND = "application/vnd.ms-powerpoint"
TITLE, BODY, NOTES, OTHER = 0, 1, 2, 4


def atom(kind: int, content: bytes = b"", instance: int = 0) -> bytes:
    """A record that holds bytes."""
    return struct.pack("<HHI", instance << 4, kind, len(content)) + content


def box(kind: int, *inner: bytes, instance: int = 0) -> bytes:
    """A record that holds records."""
    content = b"".join(inner)
    return struct.pack("<HHI", instance << 4 | 15, kind, len(content)) + content


def text(words: str, kind: int = OTHER, *more: bytes, narrow: bool = False) -> bytes:
    """The records of a text."""
    chars = atom(0x0FA8, words.encode("latin-1")) if narrow else atom(0x0FA0, words.encode("utf-16-le"))
    return atom(0x0F9F, struct.pack("<I", kind)) + chars + b"".join(more)


def style(*runs: tuple[int, int, int | None], looks: Sequence[tuple[int, int, int]] = ()) -> bytes:
    """How many characters, their level, and whether they have a bullet (null: as the master says).

    `looks`: how many characters, by how much they are raised, and which numbering they refer to.
    """
    out = b""
    for count, level, bullet in runs:
        out += struct.pack("<IHI", count, level, 0 if bullet is None else 1)
        out += b"" if bullet is None else struct.pack("<H", bullet)
    for count, position, numbering in looks:
        out += struct.pack("<IIHHh", count, 1 << 10 | 1 << 17 | 1 << 19, numbering << 10, 24, position)
    return atom(0x0FA1, out)


def numberings(*entries: tuple[int, int] | None) -> bytes:
    """Automatic numbers, scheme and start, in the tags that PowerPoint 2000 added."""
    return tags(numbering_atom(*entries))


def numbering_atom(*entries: tuple[int, int] | None) -> bytes:
    """StyleTextProp9Atom."""
    out = b""
    for entry in entries:
        out += struct.pack("<IHHH", 0x03000000, 1, *entry) if entry else struct.pack("<I", 0)
        out += struct.pack("<IIIH", 0x100000, 0, 2, 0x409)
    return atom(0x0FAC, out)


def tags(*inner: bytes) -> bytes:
    """Records of later versions."""
    return box(0x1388, box(0x138A, atom(0x0FBA, "___PPT9".encode("utf-16-le")), atom(0x138B, b"".join(inner))))


def shape(
    *texts: bytes,
    at: tuple[int, int, int, int] = (0, 0, 800, 400),
    placeholder: int | None = None,
    child: bool = False,
    picture: bool = False,
    properties: bytes = b"",
    shown_object: int | None = None,
    more: bytes = b"",
) -> bytes:
    """A shape. `at`: left, top, right, bottom in units of 1/576 inch."""
    left, top, right, bottom = at
    anchor = (
        atom(0xF00F, struct.pack("<4i", *at)) if child else atom(0xF010, struct.pack("<4h", top, left, right, bottom))
    )
    data = b"" if placeholder is None else atom(0x0BC3, struct.pack("<IBBH", 0, placeholder, 0, 0))
    data += b"" if shown_object is None else atom(0x0BC1, struct.pack("<I", shown_object))
    data = box(0xF011, data, more) if data or more else b""
    words = box(0xF00D, *texts) if texts else b""
    return box(0xF004, atom(0xF00A, b"\0" * 8, 75 if picture else 1), properties, anchor, data, words)


def described(words: str) -> bytes:
    """The alternative text of a shape ([MS-ODRAW] 2.3.4.25)."""
    raw = words.encode("utf-16-le") + b"\0\0"
    return atom(0xF00B, struct.pack("<HI", 0x8381, len(raw)) + raw, 1)


def group(
    at: tuple[int, int, int, int], inner: tuple[int, int, int, int], *shapes: bytes, table: bool = False
) -> bytes:
    """Shapes in coordinates of their own; or the cells of a table."""
    left, top, right, bottom = at
    mark = atom(0xF122, struct.pack("<HI", 0x039F, 1), 1) if table else b""
    first = box(
        0xF004,
        atom(0xF009, struct.pack("<4i", *inner)),
        atom(0xF00A, b"\0" * 8),
        mark,
        atom(0xF010, struct.pack("<4h", top, left, right, bottom)),
    )
    return box(0xF003, first, *shapes)


def drawing(*shapes: bytes) -> bytes:
    """The drawing of a slide."""
    first = box(0xF004, atom(0xF009, b"\0" * 16), atom(0xF00A, b"\0" * 8))
    return box(0x040C, box(0xF002, box(0xF003, first, *shapes)))


@dataclass
class Slide:
    """A slide with its number in the show's order left to its place."""

    shapes: Sequence[bytes] = ()
    notes: Sequence[bytes] = ()
    listed: bytes = b""  # texts in the document's list
    hidden: bool = False
    more: bytes = b""


@dataclass
class Deck:
    """A presentation; `data` writes it."""

    slides: Sequence[Slide]
    document: bytes = b""  # more records of the document
    streams: Tree = field(default_factory=dict)
    objects: Mapping[int, bytes] = field(default_factory=dict)  # number that shapes refer to -> compound file
    older: Mapping[int, Slide] = field(default_factory=dict)  # slides as an earlier edit had them
    token: int = 0xE391C05F

    def data(self) -> bytes:
        """The compound file."""
        stream = b""
        offsets: dict[int, int] = {}
        slides = notes = b""
        before = 0
        for number, slide in self.older.items():
            offsets[2 + 2 * number] = len(stream)
            stream += _slide(slide, 0)
        if self.older:
            directory = len(stream)
            stream += _directory(offsets)
            before = len(stream)
            stream += _edit(0, directory)
            offsets = {}
        for number, slide in enumerate(self.slides):
            identifier = 256 + number
            offsets[2 + 2 * number] = len(stream)
            stream += _slide(slide, identifier if slide.notes else 0)
            slides += atom(0x03F3, struct.pack("<5I", 2 + 2 * number, 0, 0, identifier, 0)) + slide.listed
            if slide.notes:
                offsets[3 + 2 * number] = len(stream)
                stream += box(0x03F0, atom(0x03F1, struct.pack("<II", identifier, 0)), drawing(*slide.notes))
                notes += atom(0x03F3, struct.pack("<5I", 3 + 2 * number, 0, 0, identifier, 0))
        listed = b""
        for number, stored in self.objects.items():
            offsets[1000 + number] = len(stream)
            stream += atom(0x1011, struct.pack("<I", len(stored)) + zlib.compress(stored), 1)
            listed += box(0x0FCC, atom(0x0FC3, struct.pack("<6I", 1, 0, number, 0, 1000 + number, 0)))
        offsets[1] = len(stream)
        stream += box(
            0x03E8,
            atom(0x03E9, struct.pack("<2i", 5760, 4320) + b"\0" * 32),
            self.document,
            box(0x0409, atom(0x040A, struct.pack("<I", len(self.objects) + 1)), listed) if listed else b"",
            box(0x0FF0, slides),
            box(0x0FF0, notes, instance=2),
        )
        directory = len(stream)
        stream += _directory(offsets)
        newest = len(stream)
        stream += _edit(before, directory)
        user = atom(0x0FF6, struct.pack("<III", 0x14, self.token, newest) + b"\0" * 8)
        tree: dict[str, object] = {"PowerPoint Document": stream, "Current User": user, **self.streams}
        return compound(tree)  # type: ignore[arg-type]


def _slide(slide: Slide, notes: int) -> bytes:
    head = atom(0x03EF, b"\0" * 12 + struct.pack("<IIHH", 0, notes, 0, 0))
    show = atom(0x03F9, b"\0" * 10 + struct.pack("<HI", 4 if slide.hidden else 0, 0))
    return box(0x03EE, head, show, drawing(*slide.shapes), slide.more)


def _directory(offsets: Mapping[int, int]) -> bytes:
    return atom(0x1772, b"".join(struct.pack("<II", number | 1 << 20, offset) for number, offset in offsets.items()))


def _edit(before: int, directory: int) -> bytes:
    return atom(0x0FF5, struct.pack("<IIIIIIHH", 0, 0, before, directory, 1, 100, 0, 0))
