"""What Outlook's properties say of a message, whichever file they stand in: its head, its text, a meeting, a person.

Sources: [MS-OXPROPS] 2 (property ids), [MS-OXOMSG] 2.2 (sender, recipients), [MS-OXBBODY] 2.1 (which body),
[MS-OXOCAL] 2.2 and [MS-OXOCNTC] 2.2 (meetings, contacts).
"""

from __future__ import annotations

import io
import re
from datetime import datetime
from typing import Protocol

import msgspec

from streams.decode.unpack.mail_headers import read_headers
from streams.decode.unpack.model import MemberError
from streams.decode.unpack.msg import label_of
from streams.decode.unpack.rtf_compressed import rtf_chunks
from streams.extract.mail_addresses import Mailbox
from streams.extract.mail_body import Content, chosen, html_content, plain_content
from streams.extract.mail_charset import decode_part
from streams.extract.mail_envelope import FIELDS, JOINED, Envelope, from_headers, ids, iso
from streams.extract.mail_history import mark_history
from streams.extract.rtf_document import RtfDocument
from streams.records import Block, BlockKind, BlockSource

MAX_BODY = 64 << 20
"""Bytes of one form of a body that are read."""

CLASS, SUBJECT, TRANSPORT_HEADERS = 0x001A, 0x0037, 0x007D
BODY, RTF, HTML, NATIVE = 0x1000, 0x1009, 0x1013, 0x1016
MESSAGE_ID, REFERENCES, REPLY_TO_ID = 0x1035, 0x1039, 0x1042
SUBMITTED, DELIVERED, CREATED = 0x0039, 0x0E06, 0x3007
SHOWN_BCC, SHOWN_CC, SHOWN_TO = 0x0E02, 0x0E03, 0x0E04
NAME, ADDRESS, SMTP, RECIPIENT_TYPE = 0x3001, 0x3003, 0x39FE, 0x0C15
START, END = 0x0060, 0x0061
INTERNET_CODE_PAGE = 0x3FDE
_SENDERS = (("from", 0x0042, 0x5D02, 0x0065), ("sender", 0x0C1A, 0x5D01, 0x0C1F))  # name, SMTP, address of any kind
_CONTACT = (
    (0x3001, ""),
    (0x3A17, "Title"),
    (0x3A18, "Department"),
    (0x3A16, "Company"),
    (0x3A08, "Business phone"),
    (0x3A1C, "Mobile phone"),
    (0x3A09, "Home phone"),
    (0x3A24, "Business fax"),
    (0x3A15, "Address"),
    (0x3A51, "Web page"),
)
NAMED_SETS: dict[str, dict[int, str]] = {
    "0220060000000000c000000000000046": {0x8208: "Location", 0x820D: "Start", 0x820E: "End", 0x8232: "Repeats"},
    "0320060000000000c000000000000046": {0x8104: "Start", 0x8105: "Due"},
    "0420060000000000c000000000000046": {0x8083: "Email", 0x8093: "Email2", 0x80A3: "Email3"},
}
"""Sets of named properties, GUIDs as they stand in the file, and what is read of them ([MS-OXPROPS] 1.3.2)."""
_CLASS_NAME = re.compile(r"[A-Za-z0-9._-]{1,200}")
_ADDRESS = re.compile(r"[^@\s<>]+@[^@\s<>]+")


class Source(Protocol):
    """The properties of a message, by number."""

    @property
    def page(self) -> int:
        """Code page of its 8-bit strings; 0 where it does not say."""

    def string(self, number: int) -> str:
        """A short string; empty where there is none."""

    def long_string(self, number: int) -> tuple[bytes, bool]:
        """The bytes of a string of any length, and whether they are UTF-16."""

    def binary(self, number: int) -> bytes:
        """A binary property."""

    def integer(self, number: int) -> int | None:
        """A whole number."""

    def moment(self, number: int) -> datetime | None:
        """A time in UTC."""


def envelope(source: Source, recipients: list[tuple[int, Mailbox]]) -> Envelope:
    """The head of a message. Internet headers that it kept count first, for what properties do not say as well.

    Args:
        recipients: each with its type: 1 To, 2 Cc, 3 Bcc.
    """
    headers = source.string(TRANSPORT_HEADERS).encode("utf-8", "replace")
    file = io.BytesIO(headers)
    found = from_headers(read_headers(file, 0, len(headers), FIELDS, JOINED), None) if headers else Envelope()
    people = _senders(source)
    for kind, name, shown in ((1, "to", SHOWN_TO), (2, "cc", SHOWN_CC), (3, "bcc", SHOWN_BCC)):
        listed = [mailbox for each, mailbox in recipients if each == kind]
        if not listed and (text := source.string(shown)):
            listed = [Mailbox(part.strip()) for part in text.split(";") if part.strip()]
        if listed:
            people[name] = listed
    moment = next((at for at in (source.moment(n) for n in (SUBMITTED, DELIVERED, CREATED)) if at), None)
    found.subject = " ".join(_subject(source.string(SUBJECT)).split()) or found.subject
    found.people = people | _named(found.people, people)
    found.created = found.created if found.created and not _is_bad(found) else iso(moment) or found.created
    found.date = found.date or (iso(moment) or "")
    found.message_id = found.message_id or (ids(source.string(MESSAGE_ID)) or [""])[0]
    found.in_reply_to = found.in_reply_to or ids(source.string(REPLY_TO_ID))
    found.references = found.references or ids(source.string(REFERENCES))
    name = source.string(CLASS)
    if _CLASS_NAME.fullmatch(name) and name.upper() != "IPM.NOTE":
        found.others = found.others | {"message-class": name}
    return found


def _named(people: dict[str, list[Mailbox]], listed: dict[str, list[Mailbox]]) -> dict[str, list[Mailbox]]:
    """Mailboxes of the headers; one that is a bare address there has the name that Outlook shows."""
    names = {box.address.lower(): box.name for boxes in listed.values() for box in boxes if box.address and box.name}
    return {
        field: [msgspec.structs.replace(box, name=box.name or names.get(box.address.lower(), "")) for box in boxes]
        for field, boxes in people.items()
    }


def _is_bad(found: Envelope) -> bool:
    return found.created == found.date


def _subject(text: str) -> str:
    """Without the mark of its prefix: U+0001 and its length ([MS-OXCMSG] 2.2.1.46)."""
    return text[2:] if text.startswith("\x01") else text


def _senders(source: Source) -> dict[str, list[Mailbox]]:
    people: dict[str, list[Mailbox]] = {}
    for field, name, smtp, address in _SENDERS:
        mailbox = mailbox_of(source.string(name), source.string(smtp), source.string(address))
        if mailbox is not None:
            people[field] = [mailbox]
    if "from" not in people and "sender" in people:
        people["from"] = people["sender"]
    if people.get("from") == people.get("sender"):
        people.pop("sender", None)
    return people


def mailbox_of(name: str, smtp: str, address: str) -> Mailbox | None:
    """A mailbox of its name and addresses. Names of an Exchange directory (`/O=…`) are no addresses for a reader."""
    found = next((a.strip() for a in (smtp, address) if _ADDRESS.fullmatch(a.strip())), "")
    name = name.strip().strip("'")
    return Mailbox("" if name == found else name, found) if name or found else None


def body(source: Source) -> Content:
    """The text of a message in its best form: HTML, rich text, or plain where the others say less.

    Warnings: `damaged_body` where a form can't be read, those of its bytes.
    """
    contents: list[Content] = []
    warnings: list[str] = []
    if plain := _string(source, BODY, "text/plain", source.page, warnings):
        contents.append(plain_content(plain.rstrip("\x00")))
    page = source.integer(INTERNET_CODE_PAGE) or source.page
    html = source.binary(HTML)
    text = decode_part(html, label_of(page), "text/html", warnings) if html else ""
    text = text or _string(source, HTML, "text/html", page, warnings)
    if text.strip("\x00 \r\n\t"):
        contents.append(html_content(text.rstrip("\x00")))
    if not contents or (source.integer(NATIVE) == 2 and not text) or not any(c.says_something() for c in contents):
        contents += _rich(source, warnings)
    elif not text:  # the plain text says it, too; the rich one has its tables and links
        contents += [content for content in _rich(source, []) if content.rich]
    content = chosen(contents)
    content.warn(*warnings)
    return content


def _string(source: Source, number: int, media_type: str, page: int, warnings: list[str]) -> str:
    data, is_wide = source.long_string(number)
    if is_wide:
        return data.decode("utf-16-le", "replace").replace("\r\n", "\n").replace("\r", "\n")
    return decode_part(data.rstrip(b"\x00"), label_of(page), media_type, warnings) if data else ""


def _rich(source: Source, warnings: list[str]) -> list[Content]:
    compressed = source.binary(RTF)
    if len(compressed) <= 16:
        return []
    try:
        data = b"".join(rtf_chunks(compressed))
    except MemberError:
        warnings.append("damaged_body")
        return []
    return [rtf_content(data)]


def rtf_content(data: bytes) -> Content:
    """The blocks of a body in rich text; HTML that was wrapped into it as the HTML it was."""
    start = data[:4096].find(b"{\\rtf")
    if start < 0:
        return Content(warnings=["damaged_body"])
    document = RtfDocument()
    document.read_all(data[start:])
    if document.html is not None:
        content = html_content(document.html.source())
    elif b"\\fromtext" in data[:1000]:  # plain text that was wrapped ([MS-OXRTFEX] 2.1.2)
        content = plain_content("\n".join(block.text for block in document.body.blocks))
    else:
        blocks, refs = mark_history(document.body.blocks, document.body.refs)
        content = Content(blocks=blocks, tables=document.body.tables, refs=refs, rich=True)
    content.warn(*document.warnings)
    return content


def particulars(source: Source, named: dict[str, str]) -> list[Block]:
    """What a meeting or a contact says beside its text.

    Args:
        named: values of named properties: `Start`, `End`, `Location`, `Email` and the like.
    """
    kind = source.string(CLASS).upper()
    lines: list[str] = []
    if kind.startswith(("IPM.APPOINTMENT", "IPM.SCHEDULE.MEETING")):
        start = named.get("Start") or shown_time(source.moment(START))
        end = named.get("End") or shown_time(source.moment(END))
        lines = [f"Start: {start}"] * bool(start) + [f"End: {end}"] * bool(end)
        lines += [f"{label}: {named[label]}" for label in ("Location", "Repeats") if named.get(label)]
    elif kind.startswith("IPM.TASK"):
        lines = [f"{label}: {named[label]}" for label in ("Start", "Due") if named.get(label)]
    elif kind.startswith("IPM.CONTACT"):
        for number, label in _CONTACT:
            if value := source.string(number):
                lines.append(f"{label}: {value}" if label else value)
        lines += [f"Email: {named[label]}" for label in ("Email", "Email2", "Email3") if named.get(label)]
    text = "\n".join(lines)
    return [Block(kind=BlockKind.PARAGRAPH, text=text, source=BlockSource.MARKUP)] if text else []


def shown_time(moment: datetime | None) -> str:
    """A time for a reader; empty where there is none."""
    return f"{moment:%Y-%m-%d %H:%M} UTC" if moment else ""


__all__ = ["Source", "body", "envelope", "mailbox_of", "particulars", "rtf_content", "shown_time"]
