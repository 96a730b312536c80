"""Attachments in a winmail.dat, and the text of the message where it is only there.

Attributes and properties are found as spans of the file; only short ones are read into memory.
Sources: [MS-OXTNEF] 2.1 (attributes, properties), [MS-OXCMSG] 2.2.2 (attachment properties).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

import msgspec

from streams.decode.unpack.compound import Compound, CompoundError, Span
from streams.decode.unpack.mail_coding import plain_chunks
from streams.decode.unpack.mail_headers import shortened
from streams.decode.unpack.model import Sink, UnpackError
from streams.decode.unpack.msg import (
    CONTENT_ID,
    CREATED,
    DATA,
    DISPLAY_NAME,
    EXTENSION,
    FILE_NAME,
    LONG_NAME,
    METHOD,
    MIME_TAG,
    MODIFIED,
    file_time,
    in_code_page,
)
from streams.decode.unpack.ole_objects import add_object
from streams.decode.unpack.rtf_compressed import rtf_chunks

SIGNATURE = b"\x78\x9f\x3e\x22"
MAX_ATTRIBUTES = 200_000
MAX_PROPERTIES = 10_000
MAX_SHORT = 64 << 10
MAX_RTF = 64 << 20

_BODY, _MESSAGE_PROPERTIES, _CODE_PAGE = 0x2800C, 0x69003, 0x69007
_ATTACHMENT_BEGINS, _TITLE, _ATTACHMENT_DATA, _CHANGED, _PROPERTIES = 0x69002, 0x18010, 0x6800F, 0x38013, 0x69005
_RTF, _HTML = 0x1009, 0x1013
_FIXED: dict[int, int] = {
    0x0001: 0, 0x0002: 4, 0x0003: 4, 0x0004: 4, 0x0005: 8, 0x0006: 8, 0x0007: 8, 0x000A: 4, 0x000B: 4, 0x0014: 8,
    0x0040: 8, 0x0048: 16,
}  # fmt: skip
"""Property type -> bytes of a value, filled up to four."""
_TEXT8, _TEXT16, _OBJECT, _BINARY = 0x001E, 0x001F, 0x000D, 0x0102
_MESSAGE_INTERFACE = bytes.fromhex("0703020000000000c000000000000046")
_STORAGE_INTERFACE = bytes.fromhex("0b00000000000000c000000000000046")


class Value(msgspec.Struct, frozen=True):
    """A property: its type, and where its first value stands."""

    kind: int
    start: int
    end: int


class _Attachment:
    """What the attributes say of one attachment until the next begins."""

    def __init__(self) -> None:
        self.title = b""
        self.data: tuple[int, int] | None = None
        self.changed: datetime | None = None
        self.properties: dict[int, Value] = {}


def unpack(path: Path, sink: Sink) -> None:
    """The attachments of the winmail.dat at `path`. Its own text comes last, as `body.html`, `body.rtf` or `body.txt`.

    Warnings of a member: `body`, `inline`. Of the container: `truncated` when it ends within an attribute.
    Raises UnpackError(corrupt) when nothing of it can be read.
    """
    with path.open("rb") as file:
        size = path.stat().st_size
        if file.read(4) != SIGNATURE:
            raise UnpackError("corrupt", "It does not begin as a winmail.dat does.")
        _Reader(file, sink, size).read()


class _Reader:
    def __init__(self, file: BinaryIO, sink: Sink, size: int) -> None:
        self.file = file
        self.sink = sink
        self.size = size
        self.code_page = 0
        self.body: tuple[int, int] | None = None
        self.properties: dict[int, Value] = {}
        self.count = 0

    def read(self) -> None:
        current: _Attachment | None = None
        seen = 0
        for number, start, end in self._attributes():
            seen += 1
            if number == _CODE_PAGE:
                self.code_page = int.from_bytes(self._bytes(start, min(end, start + 4)), "little")
            elif number == _BODY:
                self.body = start, end
            elif number == _MESSAGE_PROPERTIES:
                self.properties = self._properties(start, end)
            elif number == _ATTACHMENT_BEGINS:
                if current is not None:
                    self._attachment(current)
                current = _Attachment()
            elif number in (_TITLE, _ATTACHMENT_DATA, _CHANGED, _PROPERTIES):
                current = current or _Attachment()  # where its beginning is left out
                if number == _TITLE:
                    current.title = self._bytes(start, min(end, start + MAX_SHORT))
                elif number == _ATTACHMENT_DATA:
                    current.data = start, end
                elif number == _CHANGED:
                    current.changed = _date(self._bytes(start, min(end, start + 14)))
                else:
                    current.properties = self._properties(start, end)
        if current is not None:
            self._attachment(current)
        if not seen:
            raise UnpackError("corrupt", "Its first attribute can't be read.")
        self._text()

    def _attributes(self) -> Iterator[tuple[int, int, int]]:
        """Number, begin and end of each attribute; the last may be cut off."""
        at = 6
        for _ in range(MAX_ATTRIBUTES):
            head = self._bytes(at, at + 9)
            if len(head) < 9 or head[0] not in (1, 2):
                if head.strip(b"\x00\r\n"):
                    self.sink.warn("truncated")
                return
            number, length = struct.unpack_from("<II", head, 1)
            start = at + 9
            if start + length > self.size:
                self.sink.warn("truncated")
                yield number, start, self.size
                return
            yield number, start, start + length
            at = start + length + 2
        self.sink.warn("members_left_out")

    def _properties(self, start: int, end: int) -> dict[int, Value]:
        """The properties in a span, each with its first value; as many as can be read."""
        found: dict[int, Value] = {}
        count = self._long(start)
        at = start + 4
        for _ in range(min(count, MAX_PROPERTIES)):
            if at + 4 > end:
                break
            head = self._bytes(at, at + 4)
            if len(head) < 4:
                break
            kind, number = struct.unpack("<HH", head)
            at += 4
            if number >= 0x8000:  # named: its set, then a number or a name
                named_by_text = self._long(at + 16) == 1
                at += 24 + (_four(self._long(at + 20)) if named_by_text else 0)
            values = 1
            base = kind & 0x0FFF
            is_sized = base in (_TEXT8, _TEXT16, _OBJECT, _BINARY)
            if kind & 0x1000 or is_sized:
                values = self._long(at)
                at += 4
            for index in range(min(values, MAX_PROPERTIES)):
                if is_sized:
                    length, at = self._long(at), at + 4
                elif base in _FIXED:
                    length = _FIXED[base]
                else:
                    return found
                if at + length > end + 3:
                    self.sink.warn("truncated")
                    found.setdefault(number, Value(base, at, max(at, end)))
                    return found
                if index == 0:
                    found.setdefault(number, Value(base, at, at + length))
                at += _four(length)
        return found

    def _attachment(self, found: _Attachment) -> None:
        self.count += 1
        properties = found.properties
        title = in_code_page(found.title, self.code_page)
        name = self._string(properties, LONG_NAME) or title or self._string(properties, FILE_NAME)
        shown = shortened(self._string(properties, DISPLAY_NAME))
        changed = found.changed or self._time(properties, MODIFIED) or self._time(properties, CREATED)
        media_type = self._string(properties, MIME_TAG).lower() or None
        warnings = ["inline"] if self._string(properties, CONTENT_ID) else []
        data = properties.get(DATA)
        invented = f"attachment-{self.count}"
        if data is not None and data.kind == _OBJECT:
            interface = self._bytes(data.start, min(data.end, data.start + 16))
            if interface == _MESSAGE_INTERFACE:
                path = f"{shown or shortened(name) or invented}.dat"
                chunks = plain_chunks(self.file, data.start + 16, data.end)
                self.sink.add(path, chunks, media_type="application/vnd.ms-tnef", modified_at=changed)
            else:
                stem = name.rpartition(".")[0] or name or shown or invented
                self._object(data.start + (16 if interface == _STORAGE_INTERFACE else 0), data.end, stem, warnings)
            return
        span = found.data
        if span is None and data is not None:
            span = data.start, data.end
        path = name or (shown if "." in shown else f"{shown or invented}{self._string(properties, EXTENSION)}")
        if span is None:
            method = properties.get(METHOD)
            code = "broken_link" if method is not None and self._long(method.start) in (2, 3, 4, 7) else "corrupt"
            self.sink.fail(path, code, "The attachment has no data here.")
            return
        chunks = plain_chunks(self.file, *span)
        self.sink.add(path, chunks, media_type=media_type, modified_at=changed, warnings=warnings)

    def _object(self, start: int, end: int, stem: str, warnings: list[str]) -> None:
        try:
            compound = Compound(Span(self.file, start, end), end - start)
        except CompoundError:
            self.sink.add(f"{stem}.bin", plain_chunks(self.file, start, end), warnings=warnings)
            return
        raw = lambda: plain_chunks(self.file, start, end)  # noqa: E731
        add_object(self.sink, compound, compound.root, stem, raw=raw, warnings=warnings)

    def _text(self) -> None:
        """The message's own text, in its richest form."""
        html, rtf = self.properties.get(_HTML), self.properties.get(_RTF)
        if html is not None and html.end > html.start:
            self.sink.add("body.html", plain_chunks(self.file, html.start, html.end), warnings=["body"])
        elif rtf is not None and rtf.end - rtf.start > 16:
            data = self._bytes(rtf.start, min(rtf.end, rtf.start + MAX_RTF))
            self.sink.add("body.rtf", rtf_chunks(data), media_type="text/rtf", warnings=["body"])
        elif self.body is not None and self._bytes(*self.body).strip(b"\x00 \t\r\n"):
            text = in_code_page(self._bytes(*self.body), self.code_page)
            self.sink.add("body.txt", [text.encode()], media_type="text/plain", warnings=["body"])

    def _bytes(self, start: int, end: int) -> bytes:
        self.file.seek(start)
        return self.file.read(max(0, end - start))

    def _long(self, at: int) -> int:
        return int.from_bytes(self._bytes(at, at + 4), "little")

    def _string(self, properties: dict[int, Value], number: int) -> str:
        value = properties.get(number)
        if value is None or value.kind not in (_TEXT8, _TEXT16):
            return ""
        data = self._bytes(value.start, min(value.end, value.start + MAX_SHORT))
        if value.kind == _TEXT16:
            return data.decode("utf-16-le", "replace").partition("\x00")[0].strip()
        return in_code_page(data, self.code_page)

    def _time(self, properties: dict[int, Value], number: int) -> datetime | None:
        value = properties.get(number)
        if value is None or value.kind != 0x0040:
            return None
        return file_time(int.from_bytes(self._bytes(value.start, value.start + 8), "little"))


def _four(length: int) -> int:
    return (length + 3) // 4 * 4


def _date(data: bytes) -> datetime | None:
    """Year, month, day, hour, minute, second; the zone is not said and taken as UTC."""
    if len(data) < 12:
        return None
    try:
        year, month, day, hour, minute, second = struct.unpack_from("<6H", data)
        return datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None
