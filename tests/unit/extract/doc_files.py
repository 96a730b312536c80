"""Writes binary Word documents ([MS-DOC]) of what a test is about: stories, properties, styles, lists."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from streams.extract.doc_fib import Part
from tests.unit.decode.unpack.compounds import Tree, compound

KIND = "application/msword"
BOLD, HIDDEN, DELETED, INSERTED, SPECIAL = (
    struct.pack("<HB", number, 1) for number in (0x0835, 0x083C, 0x0800, 0x0801, 0x0855)
)
IN_TABLE = struct.pack("<HB", 0x2416, 1)
_TEXT_AT = 0x800
_PAGE = 512
STORIES = ("body", "footnotes", "headers", "macros", "comments", "endnotes", "boxes", "header_boxes")


@dataclass
class P:
    """A paragraph: runs of text with the sprms of each, its style, its own sprms, and its mark."""

    runs: str | Sequence[tuple[str, bytes]]
    sprms: bytes = b""
    style: int = 0
    mark: str = "\r"
    mark_look: bytes = b""

    def parts(self) -> list[tuple[str, bytes]]:
        found = [(self.runs, b"")] if isinstance(self.runs, str) else list(self.runs)
        return [*found, (self.mark, self.mark_look)]


@dataclass
class Doc:
    """A document; `data` writes it."""

    stories: Mapping[str, Sequence[P]]
    parts: dict[Part, bytes] = field(default_factory=dict)
    streams: Tree = field(default_factory=dict)
    narrow: bool = False  # characters of one byte
    old: bool = False  # Word 6
    flags: int = 0
    language: int = 0x409
    codec: str = "cp1252"
    pieces: Sequence[tuple[int, int]] | None = None  # spans of characters in the order of the text
    piece_changes: Mapping[int, bytes] = field(default_factory=dict)
    changed: Mapping[int, bytes] = field(default_factory=dict)  # bytes to write over the main stream

    def data(self) -> bytes:
        """The compound file."""
        main, table = self._streams()
        for at, value in self.changed.items():
            main = main[:at] + value + main[at + len(value) :]
        tree: dict[str, object] = {"WordDocument": main, **self.streams}
        if not self.old:
            tree["0Table"] = table
        return compound(tree)  # type: ignore[arg-type]

    def _streams(self) -> tuple[bytes, bytes]:
        paragraphs = [one for name in STORIES for one in self.stories.get(name, ())]
        width = 1 if self.narrow or self.old else 2
        text = b""
        looks: list[tuple[int, int, bytes]] = []
        rules: list[tuple[int, int, bytes]] = []
        for paragraph in paragraphs:
            start = _TEXT_AT + len(text)
            for words, look in paragraph.parts():
                at = _TEXT_AT + len(text)
                text += words.encode(self.codec if width == 1 else "utf-16-le")
                looks.append((at, _TEXT_AT + len(text), look))
            rules.append((start, _TEXT_AT + len(text), struct.pack("<H", paragraph.style) + paragraph.sprms))
        main = bytearray(_TEXT_AT) + text
        table = bytearray(main if self.old else b"\0" * 16)
        parts = dict(self.parts)
        number = 2 if self.old else 4
        for part, spans, write in (
            (Part.CHARACTER_PAGES, looks, _character_page),
            (Part.PARAGRAPH_PAGES, rules, _paragraph_page_old if self.old else _paragraph_page),
        ):
            bounds: list[int] = []
            numbers: list[int] = []
            for first in range(0, len(spans), 6):
                main += b"\0" * (-len(main) % _PAGE)
                bounds.append(spans[first][0])
                numbers.append(len(main) // _PAGE)
                main += write(spans[first : first + 6])
            bounds.append(spans[-1][1] if spans else _TEXT_AT)
            parts[part] = struct.pack(f"<{len(bounds)}I", *bounds) + b"".join(
                one.to_bytes(number, "little") for one in numbers
            )
        if not self.old:
            parts.setdefault(Part.PIECES, self._pieces(len(text) // width, width))
        if self.old:
            table = main
        places: dict[Part, tuple[int, int]] = {}
        for part, value in parts.items():
            places[part] = (len(table), len(value) if part is not Part.LISTS else 2 + 28 * value[0])
            table += value
        fib = self._fib(places, len(text), width)
        main[: len(fib)] = fib
        return bytes(main), bytes(table)

    def _pieces(self, count: int, width: int) -> bytes:
        spans = self.pieces or [(0, count)]
        positions, entries, lists, at = [0], b"", b"", 0
        for number, (start, end) in enumerate(spans):
            at += end - start
            positions.append(at)
            offset = _TEXT_AT + start * width
            place = offset if width == 2 else (offset * 2) | 0x40000000
            modifier = 0
            if number in self.piece_changes:
                modifier = (lists.count(b"\x01\xff") << 1) | 1
                lists += b"\x01" + struct.pack("<H", len(self.piece_changes[number])) + self.piece_changes[number]
            entries += struct.pack("<HIH", 0, place, modifier)
        plc = struct.pack(f"<{len(positions)}I", *positions) + entries
        return lists + b"\x02" + struct.pack("<I", len(plc)) + plc

    def _fib(self, places: Mapping[Part, tuple[int, int]], size: int, width: int) -> bytes:
        fib = bytearray(_TEXT_AT)
        struct.pack_into("<HH", fib, 0, 0xA5DC if self.old else 0xA5EC, 101 if self.old else 193)
        struct.pack_into("<HHH", fib, 6, self.language, 0, self.flags)
        struct.pack_into("<II", fib, 0x18, _TEXT_AT, _TEXT_AT + size)
        lengths = [sum(len("".join(t for t, _ in p.parts())) for p in self.stories.get(name, ())) for name in STORIES]
        if width == 1:
            lengths = [
                sum(len("".join(t for t, _ in p.parts()).encode(self.codec)) for p in self.stories.get(name, ()))
                for name in STORIES
            ]
        struct.pack_into("<8I", fib, 0x34 if self.old else 0x4C, *lengths)
        for part, place in places.items():
            at = (0x58 if part < 38 else 0x62) + 8 * part if self.old else 0x9A + 8 * part
            struct.pack_into("<II", fib, at, *place)
        return bytes(fib)


def _page(spans: Sequence[tuple[int, int, bytes]], entries: bytes, body: bytes, body_at: int) -> bytes:
    bounds = [start for start, _, _ in spans] + [spans[-1][1]]
    page = bytearray(_PAGE)
    head = struct.pack(f"<{len(bounds)}I", *bounds) + entries
    page[: len(head)] = head
    page[body_at : body_at + len(body)] = body
    page[511] = len(spans)
    return bytes(page)


def _character_page(spans: Sequence[tuple[int, int, bytes]]) -> bytes:
    at, body, entries = 64, b"", b""
    for _, _, sprms in spans:
        entries += bytes([(at + len(body)) // 2 if sprms else 0])
        body += (bytes([len(sprms)]) + sprms + b"\0" * ((len(sprms) + 1) % 2)) if sprms else b""
    return _page(spans, entries, body, at)


def _paragraph_page(spans: Sequence[tuple[int, int, bytes]], width: int = 13) -> bytes:
    at, body, entries = 128, b"", b""
    for _, _, sprms in spans:
        entries += bytes([(at + len(body)) // 2]) + b"\0" * (width - 1)
        even = sprms + b"\0" * (len(sprms) % 2)
        body += (b"\0" + bytes([len(even) // 2]) + even) if width == 13 else bytes([len(even) // 2]) + even + b"\0"
    return _page(spans, entries, body, at)


def _paragraph_page_old(spans: Sequence[tuple[int, int, bytes]]) -> bytes:
    return _paragraph_page(spans, 7)


def plc(positions: Sequence[int], entries: Sequence[bytes] = ()) -> bytes:
    """A PLC: positions, then a structure for each but the last."""
    return struct.pack(f"<{len(positions)}I", *positions) + b"".join(entries)


def row(*edges: int, cells: Sequence[int] = (), header: bool = False) -> bytes:
    """Sprms of the end of a row: edges of its cells, and the flags of each ([MS-DOC] 2.9.315, TCGRF)."""
    flags = list(cells) or [0] * (len(edges) - 1)
    body = bytes([len(edges) - 1]) + struct.pack(f"<{len(edges)}h", *edges)
    body += b"".join(struct.pack("<H18x", flag) for flag in flags)
    found = IN_TABLE + struct.pack("<HB", 0x2417, 1) + struct.pack("<HH", 0xD608, len(body) + 1) + body
    return found + (struct.pack("<HB", 0x3404, 1) if header else b"")


def cell(text: str, sprms: bytes = b"", look: bytes = b"") -> P:
    """The last paragraph of a cell."""
    return P([(text, look)] if text else [], IN_TABLE + sprms, mark="\x07")


def row_end(sprms: bytes) -> P:
    """The mark that ends a row."""
    return P([], sprms, mark="\x07")


def styles(*entries: tuple[int, int, str, int, bytes, bytes]) -> bytes:
    """An STSH: for each style its built-in number, kind (1 paragraph, 2 character), name, base, and sprms of both."""
    out = struct.pack("<H", 4) + struct.pack("<HH", len(entries), 10)
    for built_in, kind, name, base, paragraph, character in entries:
        body = struct.pack("<HHHHH", built_in, kind | base << 4, 2 if kind == 1 else 1, 0, 0)
        body += struct.pack("<H", len(name)) + name.encode("utf-16-le") + b"\0\0"
        for part in [b"\0\0" + paragraph, character] if kind == 1 else [character]:
            body += b"\0" * (len(body) % 2) + struct.pack("<H", len(part)) + part
        body += b"\0" * (len(body) % 2)
        out += struct.pack("<H", len(body)) + body
    return out


def level(start: int, number_format: int, text: str, sprms: bytes = b"") -> bytes:
    """An LVL: `text` has the characters 0 to 8 where the numbers of the levels stand."""
    head = struct.pack("<iBB", start, number_format, 0) + b"\0" * 18 + bytes([len(sprms), 0, 0, 0])
    return head + sprms + struct.pack("<H", len(text)) + text.encode("utf-16-le")


def lists(list_id: int, levels: Sequence[bytes]) -> dict[Part, bytes]:
    """One list with nine levels, and the one override that leads to it."""
    entry = struct.pack("<II", list_id, 0) + b"\0" * 18 + b"\0\0"
    every = [*levels, *[level(1, 0, "")] * (9 - len(levels))]
    override = struct.pack("<III", list_id, 0, 0) + b"\0" * 4
    return {
        Part.LISTS: struct.pack("<H", 1) + entry + b"".join(every),
        Part.LIST_OVERRIDES: struct.pack("<I", 1) + override + b"\xff\xff\xff\xff",
    }


def listed(number: int, depth: int = 0) -> bytes:
    """Sprms of a paragraph in a list."""
    return struct.pack("<HB", 0x260A, depth) + struct.pack("<Hh", 0x460B, number)


def summary(properties: Mapping[int, str | int], page: int = 1252) -> bytes:
    """A stream of properties ([MS-OLEPS]): strings, and times as FILETIME."""
    entries = [(1, struct.pack("<IHH", 2, page, 0))]
    for number, value in properties.items():
        if isinstance(value, int):
            entries.append((number, struct.pack("<IQ", 0x40, value)))
        else:
            raw = value.encode(f"cp{page}") + b"\0"
            entries.append((number, struct.pack("<II", 0x1E, len(raw)) + raw + b"\0" * (-len(raw) % 4)))
    at = 8 + 8 * len(entries)
    table = body = b""
    for number, raw in entries:
        table += struct.pack("<II", number, at + len(body))
        body += raw
    section = struct.pack("<II", at + len(body), len(entries)) + table + body
    return b"\xfe\xff\0\0" + b"\0" * 20 + struct.pack("<I", 1) + b"\0" * 16 + struct.pack("<I", 48) + section
