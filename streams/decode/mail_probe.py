"""Whether a text is a message, a mailbox or a saved web page in MIME, by its header fields (RFC 5322, 2557, 4155).

libmagic wants one of a few names on the first line; here the fields count, in any order and case, with what they hold:
a memo has From, To and Subject as well, and a capture of HTTP has Date and Content-Type.
"""

from __future__ import annotations

import re

from streams.decode.kinds import TextKind, words

LONGEST_HEADER = 1 << 17
MAX_FIELDS = 1000
_LONGEST_VALUE = 4000

_FIELD = re.compile(r"([!-9;-~]{1,76})[ \t]*:(?:[ \t]*(.*))?$", re.DOTALL)
_FROM_LINE = re.compile(
    r"From (?:\S+|\"[^\"]{1,200}\"\S*)(?: at \S+)?(?: via \S+| \S+)? {1,4}(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)?,? ?"
    r".{0,20}\b\d{1,2}:\d{2}(?::\d{2})?\b.{0,30}\b(?:19|20)\d{2}\b"
)
_ASCTIME = re.compile(r" [A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d (?:[A-Z]{3,4} )?\d{4}\s*$")
_GIT_PATCH = re.compile(r"From [0-9a-f]{40} Mon Sep 17 00:00:00 2001")
_DATE = re.compile(r"(?:[A-Za-z]{3},?\s+)?\d{1,2}[\s-]+[A-Za-z]{3}[a-z]*[\s-]+\d{2,4}\b|[A-Za-z]{3} [A-Za-z]{3} +\d")
_ADDRESS = re.compile(r"[^\s@<>]{1,100}@[^\s@<>]|<[^<>\s]{0,200}>|\S{1,100} at \S{1,100}\.\S")
_MEDIA_TYPE = re.compile(
    r"\s*(?:text|multipart|message|application|image|audio|video)/[\w.+-]+\s*(?:;|$)", re.IGNORECASE
)
_TRANSFER = re.compile(r"\s*(?:7bit|8bit|binary|base64|quoted-printable|x-uue|x-uuencode)\s*(?:;|$)", re.IGNORECASE)
_ENCODED_WORD = re.compile(r"=\?[\w.-]{2,40}\?[QqBb]\?")
"""RFC 2047: nothing but mail has these."""
_MULTIPART = re.compile(r"multipart/[\w.+-]+\s*;.{0,500}\bboundary\b", re.IGNORECASE | re.DOTALL)

_STRONG = words(
    "message-id received return-path delivered-to x-received in-reply-to x-mailer x-original-to "
    "envelope-to dkim-signature received-spf authentication-results resent-from x-mimeole mime-version "
    "list-unsubscribe content-transfer-encoding x-spam-status x-mozilla-status x-envelope-from "
    "x-gmail-labels newsgroups"
)
"""Fields that hardly anything but mail has."""
_KNOWN = _STRONG | frozenset(
    [
        "from",
        "to",
        "subject",
        "date",
        "cc",
        "bcc",
        "reply-to",
        "sender",
        "content-type",
        "content-disposition",
        "references",
        "list-id",
        "importance",
        "x-priority",
        "user-agent",
        "thread-topic",
        "thread-index",
        "content-language",
        "organization",
        "lines",
        "precedence",
        "errors-to",
        "resent-to",
        "resent-date",
        "status",
        "x-status",
        "content-length",
        "keywords",
        "comments",
        "content-id",
        "content-description",
        "auto-submitted",
        "apparently-to",
        "list-post",
        "disposition-notification-to",
        "posted-date",
        "sent",
    ]
)
_ADDRESSES = frozenset(["from", "to", "cc", "sender", "reply-to"])
_LINE_END = re.compile(r"[\r\n]")
_HTTP = words(
    "server connection keep-alive accept-ranges etag last-modified cache-control expires host accept "
    "accept-encoding transfer-encoding set-cookie location vary pragma cookie content-encoding"
)
_WEB_ARCHIVE_NAMES = (".mht", ".mhtml")
_MAIL_NAMES = (".eml", ".emlx", ".msg", ".nws", *_WEB_ARCHIVE_NAMES)
_MBOX_NAMES = (".mbox", ".mbx")


def mail(text: str, name: str) -> TextKind | None:
    """Message, mailbox or web archive; None when the text is neither.

    Args:
        text: the decoded beginning, 8-bit bytes in any way.
        name: the file's name in lower case: it makes few header fields enough, and tells a mailbox of one message
            from a message with its envelope line.
    """
    start = text[:LONGEST_HEADER].lstrip("\ufeff \t\r\n\0")
    if not _may_begin(_LINE_END.split(start, maxsplit=1)[0]):
        return None
    lines = re.split(r"\r\n|\n|\r", start)
    if _GIT_PATCH.match(lines[0]):
        return None
    first = lines[0]
    envelope = bool(_FROM_LINE.match(first[:1000]))
    if lines[0].rstrip().isdigit() and len(lines) > 1:
        lines = lines[1:]  # Apple Mail writes the length of the message first
    fields, ended = _fields(lines[1:] if envelope or lines[0].startswith(("From ", ">From ")) else lines)
    named = name.endswith(_MAIL_NAMES) or (name.endswith(_MBOX_NAMES) and envelope)
    if not _is_message(fields, ended, named, first if envelope else "", name):
        return None
    content_type = fields.get("content-type", "")
    if _is_web_archive(fields, content_type, name):
        return TextKind("multipart/related", "text:mhtml")
    if envelope and not (name.endswith(_MAIL_NAMES) and not _more_messages(start)):
        return TextKind("application/mbox", "text:mbox")
    return TextKind("message/rfc822", "text:mail_headers")


def _may_begin(line: str) -> bool:
    """Whether a header can begin with this line: most texts are none, and splitting them costs more than all else."""
    if not line.strip() or line.rstrip().isdigit() or line.startswith(("From ", ">From ")):
        return True
    return _FIELD.match(line) is not None or _FROM_LINE.match(line[:1000]) is not None


def _fields(lines: list[str]) -> tuple[dict[str, str], bool]:
    """The header fields by lower-case name, and whether an empty line or the end of the text ends them."""
    fields: dict[str, str] = {}
    previous, odd = "", 0
    for line in lines[: MAX_FIELDS * 4]:
        if not line.strip():
            if fields:
                return fields, True
            continue
        if line[0] in " \t" and previous:
            if len(fields[previous]) < _LONGEST_VALUE:
                fields[previous] += " " + line.strip()[:_LONGEST_VALUE]
            continue
        match = _FIELD.match(line)
        if match is None:
            # A line that fits no rule is tolerated among many that do: gateways and people break headers.
            if not fields:
                return fields, False
            odd += 1
            if odd > 1 + len(fields) // 4:
                return fields, False
            continue
        previous = match[1].lower()
        fields.setdefault(previous, (match[2] or "")[:_LONGEST_VALUE])
    return fields, True


def _is_message(fields: dict[str, str], ended: bool, named: bool, envelope: str, name: str) -> bool:
    known, strong = fields.keys() & _KNOWN, fields.keys() & _STRONG
    http = fields.keys() & _HTTP
    addressed = any(_ADDRESS.search(fields[one]) for one in known & _ADDRESSES)
    dated = _DATE.search(fields.get("date", "")) is not None
    multipart = _MULTIPART.search(fields.get("content-type", "")) is not None
    if not fields:
        return _ASCTIME.search(envelope) is not None
    if named:
        return bool(known) and (ended or len(known) >= 3)
    if len(http) > len(strong) and not addressed:
        return False
    if envelope:
        return bool(known - {"status", "sent", "lines", "keywords", "comments"})
    typed = _MEDIA_TYPE.match(fields.get("content-type", "")) is not None
    if typed and not http and (multipart or _TRANSFER.match(fields.get("content-transfer-encoding", ""))):
        return True  # a MIME entity by itself: a part that was saved, or a message without an author
    proofs = (
        ("message-id" in known and bool(re.search(r"<[^<>]*>|@", fields["message-id"])))
        + ("received" in known and bool(re.search(r"\b(?:from|by)\b.*;?", fields["received"])))
        + ("mime-version" in known and fields["mime-version"].strip()[:1].isdigit())
        + (len(strong - {"message-id", "received", "mime-version"}) > 0)
        + (addressed and "from" in known)
        + (addressed and "to" in known and bool(_ADDRESS.search(fields["to"])))
        + dated
        + ("subject" in known)
        + typed
    )
    both = addressed and "@" in fields.get("from", "") and "@" in fields.get("to", "")
    encoded = any(_ENCODED_WORD.search(fields[one]) for one in known)
    enough = 2 if strong or multipart or encoded or (typed and not http) else 3 if both else 4
    return (
        len(known) >= 2
        and proofs >= enough
        and (len(known) * 4 >= len(fields) or len(strong) >= 2)
        and (not name.endswith(".txt") or bool(strong) or (addressed and dated))
    )


def _is_web_archive(fields: dict[str, str], content_type: str, name: str) -> bool:
    if not content_type.lower().lstrip().startswith("multipart/related"):
        return False
    if "snapshot-content-location" in fields or name.endswith(_WEB_ARCHIVE_NAMES):
        return True
    sent = fields.keys() & {"received", "to", "message-id", "cc", "bcc", "return-path", "delivered-to"}
    return not sent or "saved by" in fields.get("from", "").lower()


def _more_messages(text: str) -> bool:
    return any(_FROM_LINE.match(text, match.end()) for match in re.finditer(r"\n\r?\n", text))
