"""Who wrote to whom, when and about what, from whichever format of mail says it.

Sources: RFC 5322 3.3 and 3.6 (dates, fields), RFC 2919 (List-Id), RFC 3834 (Auto-Submitted).
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import BinaryIO

import msgspec

from streams.decode.unpack.mail_headers import Headers, as_text, decode_words, read_headers
from streams.extract.mail_addresses import Mailbox, mailboxes, shown
from streams.records import Block, BlockKind, BlockSource

MAX_IDS = 1000
"""Message ids of References that are kept."""
MAX_LISTED = 2000
"""Names of attachments that are listed."""
MAX_SUBJECT = 10_000

_PEOPLE = (
    ("from", "From"),
    ("sender", "Sender"),
    ("reply-to", "Reply-To"),
    ("to", "To"),
    ("cc", "Cc"),
    ("bcc", "Bcc"),
    ("resent-from", "Resent-From"),
    ("resent-to", "Resent-To"),
)
_PLAIN = ("list-id", "importance", "auto-submitted", "organization", "newsgroups", "keywords", "comments")
_IDS = ("message-id", "in-reply-to", "references")
FIELDS = frozenset(name.encode() for name in (*dict(_PEOPLE), *_PLAIN, *_IDS, "date", "subject", "content-type"))
JOINED = frozenset(name.encode() for name in (*dict(_PEOPLE), "references"))
"""Fields that count all of their occurrences, not the first only."""

_ID = re.compile(r"<([^<>]{1,998})>")
_UNKNOWN_ZONE = re.compile(r"-0000\b")


class Envelope(msgspec.Struct, kw_only=True):
    """What a message says of itself, decoded."""

    subject: str = ""
    people: dict[str, list[Mailbox]] = {}  # field name in lower case -> mailboxes
    date: str = ""  # as the message has it
    created: str | None = None  # ISO 8601; or the date as it stands, where it is none
    message_id: str = ""
    in_reply_to: list[str] = []
    references: list[str] = []
    others: dict[str, str] = {}  # further fields, as they stand
    warnings: list[str] = []

    def authors(self) -> list[str]:
        """Names of the senders, an address where there is no name."""
        return [mailbox.name or mailbox.address for mailbox in self.people.get("from", [])][:100]

    def metadata(self) -> dict[str, str]:
        """Ids and participants, for the canon's metadata."""
        found = {name.replace("-", "_"): shown(self.people[name]) for name, _ in _PEOPLE if self.people.get(name)}
        found |= {name.replace("-", "_"): text for name, text in self.others.items()}
        found |= {"message_id": self.message_id, "date": self.date}
        found |= {"in_reply_to": " ".join(self.in_reply_to), "references": " ".join(self.references)}
        return {name: text for name, text in found.items() if text}

    def blocks(self, attachments: list[str]) -> list[Block]:
        """The head of a message as a reader sees it: the subject, then a metadata block for each field."""
        lines = [f"{label}: {shown(self.people[name])}" for name, label in _PEOPLE if self.people.get(name)]
        lines += [f"Date: {self.date}"] * bool(self.date)
        lines += [f"{name.title()}: {text}" for name, text in self.others.items()]
        if attachments:
            names = ", ".join(attachments[:MAX_LISTED])
            more = len(attachments) - MAX_LISTED
            lines.append(f"Attachments: {names}" + (f", and {more} more" if more > 0 else ""))
        source = BlockSource.MARKUP
        title = [Block(kind=BlockKind.TITLE, text=self.subject, source=source)] if self.subject else []
        return title + [Block(kind=BlockKind.METADATA, text=line, source=source) for line in lines]


def read_envelope(file: BinaryIO, start: int, end: int, charset: str | None) -> Envelope:
    """The envelope of the message in a span.

    Args:
        charset: label for bytes beyond ASCII that stand in the header unencoded.
    """
    return from_headers(read_headers(file, start, end, FIELDS, JOINED), charset)


def from_headers(headers: Headers, charset: str | None) -> Envelope:
    """The envelope that header fields make. Warnings: `participants_left_out`, `bad_address`."""
    warnings: list[str] = ["header_cut"] if headers.cut else []
    people: dict[str, list[Mailbox]] = {}
    for name, _ in _PEOPLE:
        found, more = mailboxes(as_text(headers.raw(name.encode()), charset))
        if more:
            warnings.append("participants_left_out")
        if found:
            people[name] = found
    date = " ".join(headers.text(b"date", charset).split())[:200]
    return Envelope(
        subject=_one_line(headers.text(b"subject", charset))[:MAX_SUBJECT],
        people=people,
        date=date,
        created=created(date),
        message_id=(ids(headers.text(b"message-id", charset)) or [""])[0],
        in_reply_to=ids(headers.text(b"in-reply-to", charset)),
        references=ids(headers.text(b"references", charset)),
        others={
            name: text
            for name in _PLAIN
            if (text := _one_line(decode_words(as_text(headers.raw(name.encode()), charset)))[:2000])
        },
        warnings=warnings,
    )


def created(date: str) -> str | None:
    """A date of a header field as ISO 8601; the text itself where it is none, so that the finishing step flags it.

    Without a zone only the day is known; `-0000` says UTC (RFC 5322 3.3).
    """
    if not date:
        return None
    try:
        found = parsedate_to_datetime(date)
        if found.tzinfo is None and not _UNKNOWN_ZONE.search(date):
            return found.date().isoformat()
        return iso(found if found.tzinfo else found.replace(tzinfo=UTC))
    except (ValueError, TypeError, IndexError, OverflowError):
        return date


def iso(moment: datetime | None) -> str | None:
    """A moment as the canon writes it."""
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z") if moment else None


def ids(text: str) -> list[str]:
    """Message ids, without their brackets; a text without brackets is one id if it has no blank in it."""
    found = _ID.findall(text[: 1 << 20])
    if not found and text and len(text.split()) == 1:
        found = [text[:998]]
    return list(dict.fromkeys("".join(each.split()) for each in found))[-MAX_IDS:]


def _one_line(text: str) -> str:
    return " ".join(text.split())
