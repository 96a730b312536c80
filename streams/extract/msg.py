"""An Outlook message as a document: head, text, and the names of what is attached."""

from __future__ import annotations

import io
import struct
from datetime import datetime
from typing import BinaryIO

from streams.decode.unpack.compound import Compound
from streams.decode.unpack.mail_parts import parse
from streams.decode.unpack.mail_signed import content as signed_content
from streams.decode.unpack.model import TooMuchError, UnpackError
from streams.decode.unpack.msg import MIME_TAG, Properties, attach_all, attachments, opened
from streams.errors import DocumentError
from streams.extract.mail import message_draft
from streams.extract.mail_addresses import MAX_MAILBOXES, Mailbox
from streams.extract.mail_body import BodyReader, Content
from streams.extract.mail_listing import Listing
from streams.extract.msg_message import (
    ADDRESS,
    CLASS,
    MAX_BODY,
    NAME,
    NAMED_SETS,
    RECIPIENT_TYPE,
    SMTP,
    body,
    envelope,
    mailbox_of,
    particulars,
    shown_time,
)
from streams.extract.outcome import Draft, Request

_HEADER, _RECIPIENT_HEADER, _ATTACHMENT_HEADER = 32, 8, 8  # bytes before the properties of a stream
_RECIPIENT = "__recip_version1.0_#"
_NAMES = "__nameid_version1.0"
_DATA = 0x3701
MAX_NAMES = 1 << 20
MAX_HEAD = 1 << 20


class MsgSource:
    """The properties of the message in a compound file."""

    def __init__(self, properties: Properties) -> None:
        self.properties = properties
        self.page = properties.code_page()

    def string(self, number: int) -> str:
        return self.properties.text(number, self.page, MAX_HEAD)

    def long_string(self, number: int) -> tuple[bytes, bool]:
        for kind, is_wide in ((0x001F, True), (0x001E, False)):
            entry = self.properties.entry(number, kind)
            if entry is not None and entry.is_stream:
                return self.properties.compound.read(entry, MAX_BODY), is_wide
        return b"", False

    def binary(self, number: int) -> bytes:
        return self.properties.data(number, MAX_BODY)

    def integer(self, number: int) -> int | None:
        return self.properties.number(number)

    def moment(self, number: int) -> datetime | None:
        return self.properties.time(number)


def extract(request: Request) -> Draft:
    """The blocks of an Outlook message.

    Errors: DocumentError `corrupt`; `encrypted` when its text is (S/MIME, rights management).
    Warnings: `damaged_body`, `text_left_out`, those of the bytes of its text, `members_left_out`.
    """
    with request.path.open("rb") as file:
        return _draft(file, request.path.stat().st_size)


def _draft(file: BinaryIO, size: int) -> Draft:
    try:
        compound = opened(file, size)
    except UnpackError as error:
        raise DocumentError("corrupt", error.message) from error
    top = Properties(compound, compound.root, _HEADER)
    source = MsgSource(top)
    warnings: list[str] = []
    listing = Listing()
    try:
        attach_all(listing, compound, top)
    except TooMuchError:
        warnings.append("members_left_out")
    content = Content(blocks=particulars(source, _named(compound, top)))
    content.add(body(source))
    wrapped = _wrapped(compound, source)
    if wrapped is not None and (wrapped.says_something() or not content.says_something()):
        content = wrapped
    if content.encrypted:
        raise DocumentError("encrypted", "The text of the message is encrypted (S/MIME or rights management).")
    if not top.fixed and not top.entries:
        raise DocumentError("corrupt", "The file has no properties of a message.")
    return message_draft(envelope(source, _recipients(compound, source.page)), content, listing.names(), warnings)


def _recipients(compound: Compound, message_page: int) -> list[tuple[int, Mailbox]]:
    found: list[tuple[int, Mailbox]] = []
    for storage in compound.root.storages():
        if not storage.name.lower().startswith(_RECIPIENT):
            continue
        if len(found) >= MAX_MAILBOXES:
            break
        properties = Properties(compound, storage, _RECIPIENT_HEADER)
        page = properties.code_page() or message_page
        mailbox = mailbox_of(*(properties.text(number, page) for number in (NAME, SMTP, ADDRESS)))
        if mailbox is not None:
            found.append(((properties.number(RECIPIENT_TYPE) or 1) & 0xFF, mailbox))
    return found


def _wrapped(compound: Compound, source: MsgSource) -> Content | None:
    """The text of a message that stands whole in its one attachment, as signed and encrypted ones do."""
    kind = source.string(CLASS).upper()
    is_protected = kind.startswith(("IPM.NOTE.RPMSG", "IPM.NOTE.MICROSOFT.VOICEMAIL.RPMSG"))
    if not is_protected and ".SMIME" not in kind and ".SECURE" not in kind:
        return None
    if is_protected:
        return Content(encrypted=True)
    for storage in attachments(compound.root)[:1]:
        attachment = Properties(compound, storage, _ATTACHMENT_HEADER)
        data = attachment.data(_DATA, MAX_BODY)
        if attachment.text(MIME_TAG, source.page).lower().startswith("multipart/") or data[:8].lower() == b"content-":
            return _mime(data)
        inner = signed_content(data)
        return Content(encrypted=True) if inner is None else _mime(inner)
    return None


def _mime(data: bytes) -> Content:
    file = io.BytesIO(data)
    warnings: list[str] = []
    content = BodyReader(file).read(parse(file, 0, len(data), warnings))
    content.warn(*warnings)
    return content


def _named(compound: Compound, top: Properties) -> dict[str, str]:
    """Values of named properties that are read; the names stand in a table of their own ([MS-OXMSG] 2.2.3)."""
    storage = compound.root.get(_NAMES)
    if storage is None or storage.is_stream:
        return {}
    sets, entries = storage.stream("__substg1.0_00020102"), storage.stream("__substg1.0_00030102")
    if sets is None or entries is None:
        return {}
    guids, table = compound.read(sets, MAX_NAMES), compound.read(entries, MAX_NAMES)
    page = top.code_page()
    found: dict[str, str] = {}
    for at in range(0, len(table) - 7, 8):
        number, kind, index = struct.unpack_from("<IHH", table, at)
        place = (kind >> 1) - 3
        if kind & 1 or place < 0:
            continue
        label = NAMED_SETS.get(guids[place * 16 : place * 16 + 16].hex(), {}).get(number)
        if label is None:
            continue
        value = shown_time(top.time(0x8000 + index)) or top.text(0x8000 + index, page)
        if value:
            found.setdefault(label, value)
    return found
