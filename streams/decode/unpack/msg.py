"""Attachments of Outlook messages, read from the property streams of the compound file.

Reads them itself rather than with a library for messages: those load every attachment into memory, and take a damaged
property for a damaged message. Embedded messages are written out as message files of their own.
Sources: [MS-OXMSG] 2.1 to 2.4 (storages, property streams), [MS-OXCMSG] 2.2.2 (attachment properties).
"""

from __future__ import annotations

import struct
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import BinaryIO

from streams.decode.unpack.compound import Compound, CompoundError, Entry
from streams.decode.unpack.compound_writer import Node, bytes_node, copy_of, stream_node, written
from streams.decode.unpack.mail_headers import decode_bytes, shortened
from streams.decode.unpack.model import Sink, UnpackError
from streams.decode.unpack.ole_objects import add_object

_PROPERTIES = "__properties_version1.0"
_NAMES = "__nameid_version1.0"
_ATTACHMENT = "__attach_version1.0_#"
MAX_TEXT = 64 << 10

SUBJECT, DISPLAY_NAME, CREATED, MODIFIED = 0x0037, 0x3001, 0x3007, 0x3008
DATA, EXTENSION, FILE_NAME, METHOD, LONG_NAME = 0x3701, 0x3703, 0x3704, 0x3705, 0x3707
PATH_NAME, LONG_PATH, MIME_TAG, CONTENT_ID, FLAGS, HIDDEN = 0x3708, 0x370D, 0x370E, 0x3712, 0x3714, 0x7FFE
CODE_PAGES = (0x3FFD, 0x3FDE)  # of the message's strings, of its body

_LONG, _BOOLEAN, _TIME = 0x0003, 0x000B, 0x0040
_BY_REFERENCE = frozenset({2, 3, 4, 7})
_EMBEDDED_MESSAGE, _OLE = 5, 6
_SHOWN_IN_HTML = 4  # of FLAGS: the body refers to it


def unpack(path: Path, sink: Sink) -> None:
    """The attachments of the Outlook message at `path`, in the order of their storages.

    A warning of a member is `inline`: the message shows it in its text. Raises UnpackError(corrupt).
    """
    with path.open("rb") as file:
        compound = opened(file, path.stat().st_size)
        attach_all(sink, compound, Properties(compound, compound.root, 32))


def opened(file: BinaryIO, size: int) -> Compound:
    """The compound file of a message. Raises UnpackError(corrupt)."""
    try:
        return Compound(file, size)
    except CompoundError as error:
        raise UnpackError("corrupt", f"The message can't be opened. {error}") from None


def attach_all(sink: Sink, compound: Compound, top: Properties) -> None:
    """Gives the attachments of a message to a sink; `top` are the message's own properties."""
    code_page = top.code_page()
    for number, storage in enumerate(attachments(compound.root), 1):
        _attachment(sink, compound, storage, number, code_page)


class Properties:
    """The properties of a message or an attachment: fixed ones in one stream, the others in one stream each."""

    def __init__(self, compound: Compound, storage: Entry, header: int) -> None:
        self.compound = compound
        self.storage = storage
        self.entries = {entry.name.lower(): entry for entry in storage.entries}
        stream = storage.stream(_PROPERTIES)
        data = compound.read(stream, 1 << 20) if stream is not None else b""
        self.fixed: dict[int, tuple[int, bytes]] = {}
        for at in range(header, len(data) - 15, 16):
            kind, number = struct.unpack_from("<HH", data, at)
            self.fixed.setdefault(number, (kind, data[at + 8 : at + 16]))

    def number(self, number: int) -> int | None:
        """A whole number or a truth value."""
        kind, raw = self.fixed.get(number, (0, b""))
        return int(struct.unpack_from("<i", raw)[0]) if kind in (_LONG, _BOOLEAN) else None

    def time(self, number: int) -> datetime | None:
        """A time in UTC."""
        kind, raw = self.fixed.get(number, (0, b""))
        return file_time(struct.unpack("<Q", raw)[0]) if kind == _TIME else None

    def code_page(self) -> int:
        """The code page of a message's strings; 0 where it does not say."""
        return next((page for page in map(self.number, CODE_PAGES) if page), 0)

    def data(self, number: int, most: int) -> bytes:
        """The first bytes of a binary property."""
        entry = self.entry(number, 0x0102)
        return self.compound.read(entry, most) if entry is not None and entry.is_stream else b""

    def entry(self, number: int, *kinds: int) -> Entry | None:
        """The stream or storage of a property, of the first of these types that is there."""
        names = (f"__substg1.0_{number:04x}{kind:04x}" for kind in kinds)
        return next((self.entries[name] for name in names if name in self.entries), None)

    def text(self, number: int, code_page: int, most: int = MAX_TEXT) -> str:
        """A string, in UTF-16 or in the message's code page."""
        entry = self.entry(number, 0x001F)
        if entry is not None and entry.is_stream:
            return self.compound.read(entry, most).decode("utf-16-le", "replace").strip("\x00 ")
        entry = self.entry(number, 0x001E)
        if entry is None or not entry.is_stream:
            return ""
        return in_code_page(self.compound.read(entry, most), code_page)


def in_code_page(data: bytes, code_page: int) -> str:
    """A string of 8-bit characters. UTF-8 that validates is that; what the page does not say is windows-1252."""
    data = data.partition(b"\x00")[0]
    try:
        return data.decode("utf-8").strip()
    except UnicodeDecodeError:
        return decode_bytes(data, label_of(code_page) or "windows-1252").strip()


def label_of(code_page: int) -> str | None:
    """The charset of a Windows code page; None where it says nothing about a byte beyond ASCII."""
    if code_page in (0, 20127):
        return None
    if 28591 <= code_page <= 28605:
        return f"iso-8859-{code_page - 28590}"
    named = {65001: "utf-8", 20866: "koi8-r", 21866: "koi8-u", 51932: "euc-jp", 51949: "euc-kr", 10000: "macintosh"}
    named |= {50220: "iso-2022-jp", 50221: "iso-2022-jp", 50222: "iso-2022-jp", 54936: "gb18030", 1200: "utf-16le"}
    return named.get(code_page, f"cp{code_page}")


def file_time(ticks: int) -> datetime | None:
    """A Windows time: tenths of microseconds since 1601. None for none, and for what no calendar has."""
    try:
        return datetime(1601, 1, 1, tzinfo=UTC) + timedelta(microseconds=ticks // 10) if ticks else None
    except OverflowError:
        return None


def attachments(storage: Entry) -> list[Entry]:
    """The storages of a message's attachments."""
    return [entry for entry in storage.storages() if entry.name.lower().startswith(_ATTACHMENT)]


def _attachment(sink: Sink, compound: Compound, storage: Entry, number: int, code_page: int) -> None:
    found = Properties(compound, storage, 8)
    method = found.number(METHOD)
    name = next((text for text in (found.text(n, code_page) for n in (LONG_NAME, FILE_NAME)) if text), "")
    title = shortened(found.text(DISPLAY_NAME, code_page))
    extension = found.text(EXTENSION, code_page)
    media_type = found.text(MIME_TAG, code_page).lower() or None
    changed = found.time(MODIFIED) or found.time(CREATED)
    shown = (found.number(FLAGS) or 0) & _SHOWN_IN_HTML or found.number(HIDDEN)
    warnings = ["inline"] if shown and found.entry(CONTENT_ID, 0x001F, 0x001E) else []
    whole = found.entry(DATA, 0x000D)
    data = found.entry(DATA, 0x0102)
    if whole is not None and not whole.is_stream and (method == _EMBEDDED_MESSAGE or whole.stream(_PROPERTIES)):
        subject = shortened(Properties(compound, whole, 24).text(SUBJECT, code_page)) or title
        path = f"{subject or f'attachment-{number}'}.msg"
        sink.add(path, written(_message(compound, whole)), media_type="application/vnd.ms-outlook", modified_at=changed)
    elif whole is not None and not whole.is_stream:
        stem = (name or title).rpartition(".")[0] or name or title or f"attachment-{number}"
        add_object(sink, compound, whole, stem, warnings=warnings)
    elif method in _BY_REFERENCE and data is None:
        where = found.text(LONG_PATH, code_page) or found.text(PATH_NAME, code_page) or "elsewhere"
        message = f"The message only says where it stands: {where[:200]}."
        sink.fail(name or title or f"attachment-{number}", "broken_link", message)
    elif data is not None and data.is_stream:
        if (media_type or "").startswith("multipart/"):
            extension = ".eml"  # a signed message: its parts with the signature, as they were sent
        path = name or (title if "." in title else "") or f"{title or f'attachment-{number}'}{extension}"
        sink.add(path, compound.chunks(data), media_type=media_type, modified_at=changed, warnings=warnings)
    else:
        sink.fail(name or title or f"attachment-{number}", "corrupt", "The attachment has no data.")


def _message(compound: Compound, storage: Entry) -> Node:
    """An embedded message as a file of its own: a longer head of its properties, and the names of the outer one."""
    top = copy_of(compound, storage)
    properties = storage.stream(_PROPERTIES)
    data = compound.read(properties, 1 << 20) if properties is not None else bytes(24)
    top.nodes = [node for node in top.nodes if node.name != _PROPERTIES]
    top.nodes.append(bytes_node(_PROPERTIES, data[:24].ljust(24, b"\x00") + bytes(8) + data[24:]))
    names = compound.root.get(_NAMES)
    if names is not None and not names.is_stream and not any(node.name == _NAMES for node in top.nodes):
        node = Node(_NAMES)
        node.nodes = [stream_node(compound, entry) for entry in names.entries if entry.is_stream]
        top.nodes.append(node)
    return top
