"""Messages of a mailbox file: each is a member, and keeps its id when others come and go.

Four dialects share the format (RFC 4155 and the qmail manual's mbox page): mboxo and mboxrd quote `From ` in bodies
with `>`, mboxcl counts the bytes of each message too, mboxcl2 counts and does not quote. Which one a file is nobody
says, so a `From ` line separates only where it looks like one, and a count is believed only where it leads to one.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from streams.connectors.names import readable
from streams.decode.unpack.mail_coding import plain_chunks
from streams.decode.unpack.mail_headers import Headers, as_text, read_headers, shortened
from streams.decode.unpack.model import Sink, UnpackError

_CHUNK = 1 << 18
_LONGEST = 1024  # of a separator and the line behind it
_BEGIN = re.compile(rb"[\r\n]From ")
_MONTH = rb"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_POSTMARK = re.compile(
    rb"From [^\r\n]{0,400}?(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[, ]+"
    rb"(?:" + _MONTH + rb" +\d{1,2}|\d{1,2} +" + _MONTH + rb")"
    rb"[^\r\n]{0,60}\d{2}:\d{2}"
)
_LINE_END = re.compile(rb"\r{0,2}\n|\r")
_FIELD = re.compile(rb"(?:>?From |[!-9;-~]{1,78}[ \t]*:)")
_MAIL_FIELD = re.compile(
    rb"(?:Return-Path|Received|From|To|Cc|Date|Subject|Sender|Reply-To|Delivered-To|Message-ID|MIME-Version|Status|"
    rb"Content-[A-Za-z-]+|Envelope-To|X-[A-Za-z0-9-]+|DKIM-Signature|Authentication-Results)[ \t]*:",
    re.IGNORECASE,
)
_QUOTED = re.compile(rb"(?<=[\r\n])>(?=>*From )")
_UNQUOTED = re.compile(rb"(?:\n\r?\n|\r\r)From ")
_NO_BLANK = re.compile(rb"[^ \t\r\n]")
MAX_ID = 500


def unpack(path: Path, sink: Sink) -> None:
    """The messages of the mailbox at `path`, one after the other, in bounded memory whatever its size.

    A message's key is its Message-ID, and where it has none the hash of its bytes.

    Raises UnpackError(corrupt) when there is no message.
    """
    with path.open("rb") as file:
        end = path.stat().st_size
        count = 0
        for start, stop in _spans(file, end):
            headers = read_headers(file, start, stop)
            count += 1
            unquoted = _has_separator(file, headers.end, stop)
            subject = shortened(headers.text(b"subject"))
            name = f"{count:05d}{' ' if subject else ''}{subject}.eml"
            key = _key(file, headers, start, stop)
            chunks = plain_chunks(file, start, stop) if unquoted else _without_quotes(file, start, stop)
            sink.add(name, chunks, key=key, media_type="message/rfc822")
        if not count:
            raise UnpackError("corrupt", "The mailbox has no message.")


def _key(file: BinaryIO, headers: Headers, start: int, stop: int) -> str:
    message_id = readable(as_text(headers.raw(b"message-id"))).strip()
    if message_id and len(message_id) <= MAX_ID:
        return message_id
    digest = hashlib.sha256()
    for chunk in plain_chunks(file, start, stop):
        digest.update(chunk)
    return digest.hexdigest()


def _spans(file: BinaryIO, end: int) -> Iterator[tuple[int, int]]:
    """Where each message begins, behind its separator, and ends, before the blank line of the next."""
    start: int | None = None
    counted = 0  # where the message that counts its bytes ends
    for offset, body in _separators(file, end):
        if offset < counted:
            continue
        if start is not None:
            yield start, _before_blank_line(file, offset, start)
        elif _holds_something(file, offset):
            yield 0, _before_blank_line(file, offset, 0)  # a message whose separator is missing
        start = body
        counted = _counted_end(file, body, end)
    if start is not None:
        yield start, _before_blank_line(file, end, start)


def _separators(file: BinaryIO, end: int) -> Iterator[tuple[int, int]]:
    """Offsets of the lines that begin a message, and of what stands behind them."""
    at, before = 0, b"\n\n\n\n"  # what stands before the block: the file's beginning is as good as a blank line
    while at < end:
        file.seek(at)
        block = file.read(min(_CHUNK, end - at))
        if not block:
            return
        last = at + len(block) >= end
        data = before + block
        stop = len(data) if last else max(len(before) + 1, len(data) - _LONGEST)
        for found in _BEGIN.finditer(data, len(before) - 1):
            begin = found.start() + 1
            if begin >= stop:
                break
            if _separates(data, begin):
                line_end = _LINE_END.search(data, begin)
                body = line_end.end() if line_end else len(data)
                yield at + begin - len(before), at + body - len(before)
        if last:
            return
        at += stop - len(before)
        before = data[stop - 4 : stop]


def _separates(data: bytes, begin: int) -> bool:
    """Whether the line at `begin` begins a message rather than a sentence.

    With a blank line before it, it has a date or a header field follows; without one, both, and the field is a known
    one.
    """
    line_end = _LINE_END.search(data, begin, begin + _LONGEST)
    if line_end is None:
        return _POSTMARK.match(data, begin) is not None and data[begin - 2 : begin] in (b"\n\n", b"\r\r")
    dated = _POSTMARK.match(data, begin) is not None
    behind = line_end.end()
    if data[begin - 2 : begin] in (b"\n\n", b"\r\r") or data[begin - 3 : begin] in (b"\n\r\n",):
        return (dated and _followed(data, behind)) or _MAIL_FIELD.match(data, behind) is not None
    return dated and _MAIL_FIELD.match(data, behind) is not None


def _followed(data: bytes, behind: int) -> bool:
    """Whether a header field or nothing at all stands behind a separator."""
    rest = data[behind : behind + 2]
    return not rest.strip() or _FIELD.match(data, behind) is not None


def _counted_end(file: BinaryIO, start: int, end: int) -> int:
    """Where a message ends that says how long its body is; 0 when it does not, or when no separator stands there."""
    headers = read_headers(file, start, end)
    digits = headers.raw(b"content-length")
    if not digits.isdigit() or len(digits) > 15:
        return 0
    stop = headers.end + int(digits)
    if stop > end:
        return 0
    file.seek(stop)
    behind = file.read(_LONGEST).lstrip(b"\r\n")
    if not behind and stop + _LONGEST < end:
        return 0
    return stop if not behind or behind.startswith(b"From ") else 0


def _has_separator(file: BinaryIO, start: int, stop: int) -> bool:
    """Whether a body has a `From ` line that should be quoted and is not: then its `>From ` lines are not quotes."""
    before = b""
    for chunk in plain_chunks(file, start, stop):
        data = before + chunk
        if b"From " in data and _UNQUOTED.search(data):
            return True
        before = data[-8:]
    return False


def _without_quotes(file: BinaryIO, start: int, stop: int) -> Iterator[bytes]:
    """The bytes of a message, one `>` less before each quoted `From `."""
    before, pending = b"\n", b""
    for chunk in plain_chunks(file, start, stop):
        data = pending + chunk
        cut = max(data.rfind(b"\n"), data.rfind(b"\r")) + 1
        if len(data) - cut > _LONGEST:  # the middle of a long line, where nothing is quoted
            cut = len(data)
        piece, pending = data[:cut], data[cut:]
        if piece:
            yield _unquoted(before, piece)
            before = piece[-1:]
    if pending:
        yield _unquoted(before, pending)


def _unquoted(before: bytes, piece: bytes) -> bytes:
    """Whole lines without their quotes; `before` is the byte in front of them."""
    return _QUOTED.sub(b"", before + piece)[1:] if b">From " in piece else piece


def _before_blank_line(file: BinaryIO, at: int, floor: int) -> int:
    """The end of a message: the blank line before the next separator is none of its own."""
    begin = max(floor, at - 4)
    file.seek(begin)
    data = file.read(at - begin)
    for blank in (b"\r\n\r\n", b"\n\n", b"\r\r"):
        if data.endswith(blank):
            return at - len(blank) // 2
    return at


def _holds_something(file: BinaryIO, stop: int) -> bool:
    """Whether there is more than white space before the first separator."""
    return any(_NO_BLANK.search(chunk) for chunk in plain_chunks(file, 0, stop))


__all__ = ["unpack"]
