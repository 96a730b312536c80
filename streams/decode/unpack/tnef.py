"""Attachments in a winmail.dat, and where in it the text of its message stands.

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

SIGNATURE = b"\x78\x9f\x3e\x22"
MAX_ATTRIBUTES = 200_000
MAX_PROPERTIES = 10_000
MAX_SHORT = 64 << 10
MAX_RECIPIENTS = 10_000

FROM, SUBJECT, SENT, MESSAGE_ID, BODY = 0x08000, 0x18004, 0x38005, 0x18009, 0x2800C
"""Attributes of the message that older programs write instead of properties."""
_MESSAGE_PROPERTIES, _RECIPIENTS, _CODE_PAGE = 0x69003, 0x69004, 0x69007
_ATTACHMENT_BEGINS, _TITLE, _ATTACHMENT_DATA, _CHANGED, _PROPERTIES = 0x69002, 0x18010, 0x6800F, 0x38013, 0x69005
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
    """The attachments of the winmail.dat at `path`; its own text is the document.

    A warning of a member is `inline`. Of the container: `truncated` when it ends within an attribute.
    Raises UnpackError(corrupt) when nothing of it can be read.
    """
    with path.open("rb") as file:
        Reader(file, sink, path.stat().st_size).read()


class Reader:
    """Reads one winmail.dat: its attachments go to the sink, what is the message's own stays here."""

    def __init__(self, file: BinaryIO, sink: Sink, size: int) -> None:
        self.file = file
        self.sink = sink
        self.size = size
        self.code_page = 0
        self.own: dict[int, tuple[int, int]] = {}  # attributes of the message: where their values stand
        self.properties: dict[int, Value] = {}
        self.named: dict[tuple[str, int], Value] = {}  # set (GUID in hex) and number -> the first value of that name
        self.recipients: list[dict[int, Value]] = []
        self.count = 0

    def read(self) -> None:
        """Reads all attributes. Raises UnpackError(corrupt)."""
        if self.bytes(0, 4) != SIGNATURE:
            raise UnpackError("corrupt", "It does not begin as a winmail.dat does.")
        current: _Attachment | None = None
        seen = 0
        for number, start, end in self._attributes():
            seen += 1
            if number == _CODE_PAGE:
                self.code_page = int.from_bytes(self.bytes(start, min(end, start + 4)), "little")
            elif number in (FROM, SUBJECT, SENT, MESSAGE_ID, BODY):
                self.own[number] = start, end
            elif number == _MESSAGE_PROPERTIES:
                self.properties, _ = self._properties(start, end)
            elif number == _RECIPIENTS:
                self._recipients(start, end)
            elif number == _ATTACHMENT_BEGINS:
                if current is not None:
                    self._attachment(current)
                current = _Attachment()
            elif number in (_TITLE, _ATTACHMENT_DATA, _CHANGED, _PROPERTIES):
                current = current or _Attachment()  # where its beginning is left out
                if number == _TITLE:
                    current.title = self.bytes(start, min(end, start + MAX_SHORT))
                elif number == _ATTACHMENT_DATA:
                    current.data = start, end
                elif number == _CHANGED:
                    current.changed = date(self.bytes(start, min(end, start + 14)))
                else:
                    current.properties, _ = self._properties(start, end)
        if current is not None:
            self._attachment(current)
        if not seen:
            raise UnpackError("corrupt", "Its first attribute can't be read.")

    def _attributes(self) -> Iterator[tuple[int, int, int]]:
        """Number, begin and end of each attribute; the last may be cut off."""
        at = 6
        for _ in range(MAX_ATTRIBUTES):
            head = self.bytes(at, at + 9)
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

    def _recipients(self, start: int, end: int) -> None:
        """A table of properties: its rows, one after the other."""
        count, at = self._long(start), start + 4
        for _ in range(min(count, MAX_RECIPIENTS)):
            if at + 4 > end:
                break
            row, at = self._properties(at, end)
            self.recipients.append(row)

    def _properties(self, start: int, end: int) -> tuple[dict[int, Value], int]:
        """The properties in a span, each with its first value, as many as can be read; and where they end."""
        found: dict[int, Value] = {}
        count = self._long(start)
        at = start + 4
        for _ in range(min(count, MAX_PROPERTIES)):
            if at + 4 > end:
                break
            head = self.bytes(at, at + 4)
            if len(head) < 4:
                break
            kind, number = struct.unpack("<HH", head)
            at += 4
            name: tuple[str, int] | None = None
            if number >= 0x8000:  # named: its set, then a number or a name
                name = self.bytes(at, at + 16).hex(), self._long(at + 20)
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
                    return found, end
                if at + length > end + 3:
                    self.sink.warn("truncated")
                    found.setdefault(number, Value(base, at, max(at, end)))
                    return found, end
                if index == 0:
                    found.setdefault(number, Value(base, at, at + length))
                    if name is not None:
                        self.named.setdefault(name, Value(base, at, at + length))
                at += _four(length)
        return found, at

    def _attachment(self, found: _Attachment) -> None:
        self.count += 1
        properties = found.properties
        title = in_code_page(found.title, self.code_page)
        name = self.string(properties, LONG_NAME) or title or self.string(properties, FILE_NAME)
        shown = shortened(self.string(properties, DISPLAY_NAME))
        changed = found.changed or self.time(properties, MODIFIED) or self.time(properties, CREATED)
        media_type = self.string(properties, MIME_TAG).lower() or None
        warnings = ["inline"] if self.string(properties, CONTENT_ID) else []
        data = properties.get(DATA)
        invented = f"attachment-{self.count}"
        if data is not None and data.kind == _OBJECT:
            interface = self.bytes(data.start, min(data.end, data.start + 16))
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
        path = name or (shown if "." in shown else f"{shown or invented}{self.string(properties, EXTENSION)}")
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

    def bytes(self, start: int, end: int) -> bytes:
        """The bytes of a span."""
        self.file.seek(start)
        return self.file.read(max(0, end - start))

    def _long(self, at: int) -> int:
        return int.from_bytes(self.bytes(at, at + 4), "little")

    def string(self, properties: dict[int, Value], number: int) -> str:
        """A short string of some properties; empty where there is none."""
        value = properties.get(number)
        if value is None or value.kind not in (_TEXT8, _TEXT16):
            return ""
        data = self.bytes(value.start, min(value.end, value.start + MAX_SHORT))
        if value.kind == _TEXT16:
            return data.decode("utf-16-le", "replace").partition("\x00")[0].strip()
        return in_code_page(data, self.code_page)

    def time(self, properties: dict[int, Value], number: int) -> datetime | None:
        """A time in UTC."""
        value = properties.get(number)
        if value is None or value.kind != 0x0040:
            return None
        return file_time(int.from_bytes(self.bytes(value.start, value.start + 8), "little"))


def _four(length: int) -> int:
    return (length + 3) // 4 * 4


def date(data: bytes) -> datetime | None:
    """Year, month, day, hour, minute, second; the zone is not said and taken as UTC."""
    if len(data) < 12:
        return None
    try:
        year, month, day, hour, minute, second = struct.unpack_from("<6H", data)
        return datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None
