"""A winmail.dat as a document: the message that Outlook wrapped, with the names of what is attached."""

from __future__ import annotations

from datetime import datetime

from streams.decode.unpack.mail_headers import as_text
from streams.decode.unpack.model import TooMuchError, UnpackError
from streams.decode.unpack.msg import in_code_page
from streams.decode.unpack.tnef import BODY, FROM, MESSAGE_ID, SENT, SUBJECT, Reader, date
from streams.errors import DocumentError
from streams.extract import msg_message as outlook
from streams.extract.mail import message_draft
from streams.extract.mail_addresses import Mailbox
from streams.extract.mail_body import Content
from streams.extract.mail_envelope import ids, iso
from streams.extract.mail_listing import Listing
from streams.extract.outcome import Draft, Request

_STRINGS = (0x001E, 0x001F)
_BINARY, _WIDE = 0x0102, 0x001F
_NUMBERS = (0x0002, 0x0003, 0x000B)
MAX_SHORT = 64 << 10


class TnefSource:
    """The properties of the message in a winmail.dat; attributes stand in for those that older programs leave out."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.page = reader.code_page

    def string(self, number: int) -> str:
        found = self.reader.string(self.reader.properties, number)
        return found or (self.attribute(SUBJECT) if number == outlook.SUBJECT else "")

    def attribute(self, number: int) -> str:
        """A string of an attribute; empty where it is not there."""
        start, end = self.reader.own.get(number, (0, 0))
        return in_code_page(self.reader.bytes(start, min(end, start + MAX_SHORT)), self.page)

    def long_string(self, number: int) -> tuple[bytes, bool]:
        value = self.reader.properties.get(number)
        if value is not None and value.kind in _STRINGS and value.end > value.start:
            end = min(value.end, value.start + outlook.MAX_BODY)
            return self.reader.bytes(value.start, end), value.kind == _WIDE
        if number != outlook.BODY:
            return b"", False
        start, end = self.reader.own.get(BODY, (0, 0))
        return self.reader.bytes(start, min(end, start + outlook.MAX_BODY)), False

    def binary(self, number: int) -> bytes:
        value = self.reader.properties.get(number)
        if value is None or value.kind != _BINARY:
            return b""
        return self.reader.bytes(value.start, min(value.end, value.start + outlook.MAX_BODY))

    def integer(self, number: int) -> int | None:
        value = self.reader.properties.get(number)
        if value is None or value.kind not in _NUMBERS:
            return None
        return int.from_bytes(self.reader.bytes(value.start, value.end), "little", signed=True)

    def moment(self, number: int) -> datetime | None:
        found = self.reader.time(self.reader.properties, number)
        if found is None and number == outlook.SUBMITTED and SENT in self.reader.own:
            start, end = self.reader.own[SENT]
            found = date(self.reader.bytes(start, min(end, start + 14)))
        return found


def extract(request: Request) -> Draft:
    """The blocks of the message in a winmail.dat.

    Errors: DocumentError `corrupt`. Warnings: `truncated`, `damaged_body`, `members_left_out`, those of its bytes.
    """
    listing = Listing()
    warnings: list[str] = []
    with request.path.open("rb") as file:
        reader = Reader(file, listing, request.path.stat().st_size)
        try:
            reader.read()
        except UnpackError as error:
            raise DocumentError("corrupt", error.message) from error
        except TooMuchError:
            warnings.append("members_left_out")
        source = TnefSource(reader)
        found = outlook.envelope(source, _recipients(reader))
        sender = _sender(source)
        if "from" not in found.people and sender is not None:
            found.people = found.people | {"from": [sender]}
        found.message_id = found.message_id or (ids(source.attribute(MESSAGE_ID)) or [""])[0]
        if not found.created and (sent := source.moment(outlook.SUBMITTED)):
            found.created = iso(sent)
        content = Content(blocks=outlook.particulars(source, _named(reader)))
        content.add(outlook.body(source))
    return message_draft(found, content, listing.names(), [*listing.warnings, *warnings])


def _recipients(reader: Reader) -> list[tuple[int, Mailbox]]:
    found = []
    for row in reader.recipients:
        texts = (reader.string(row, number) for number in (outlook.NAME, outlook.SMTP, outlook.ADDRESS))
        mailbox = outlook.mailbox_of(*texts)
        if mailbox is not None:
            kind = row.get(outlook.RECIPIENT_TYPE)
            number = int.from_bytes(reader.bytes(kind.start, kind.end), "little") if kind else 1
            found.append((number & 0xFF, mailbox))
    return found


def _named(reader: Reader) -> dict[str, str]:
    found: dict[str, str] = {}
    for (group, number), value in reader.named.items():
        label = outlook.NAMED_SETS.get(group, {}).get(number)
        if label is not None:
            one = {0: value}
            found.setdefault(label, outlook.shown_time(reader.time(one, 0)) or reader.string(one, 0))
    return found


def _sender(source: TnefSource) -> Mailbox | None:
    """The sender of an attribute: four numbers, a name, and `SMTP:` with an address ([MS-OXTNEF] 2.1.3.3)."""
    start, end = source.reader.own.get(FROM, (0, 0))
    data = source.reader.bytes(start, min(end, start + MAX_SHORT))
    if len(data) < 8:
        return None
    name_length, address_length = int.from_bytes(data[4:6], "little"), int.from_bytes(data[6:8], "little")
    name = in_code_page(data[8 : 8 + name_length], source.page)
    address = as_text(data[8 + name_length : 8 + name_length + address_length].partition(b"\x00")[0])
    return outlook.mailbox_of(name, address.partition(":")[2], address)
