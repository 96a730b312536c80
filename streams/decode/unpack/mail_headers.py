"""Header fields as mail really has them: raw bytes, odd charsets, parameters in pieces, misplaced encoded words.

Sources: RFC 5322 2.2 (fields), RFC 2045 5.1 (parameters), RFC 2231 (parameters in pieces), RFC 2047 (encoded words).
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import BinaryIO

import msgspec

from streams.decode.labels import codec_of, resolve

MAX_HEADER = 64 << 20
"""Bytes of one header block that are looked at; what follows is body."""
MAX_FIELD = 64 << 10
"""Bytes of one field that are kept."""
MAX_JOINED = 1 << 20
"""Bytes of all occurrences together of a field of which each counts."""
MAX_PARAMETERS = 200

KEPT = frozenset(
    {
        b"content-type",
        b"content-disposition",
        b"content-transfer-encoding",
        b"content-description",
        b"content-id",
        b"content-location",
        b"content-length",
        b"subject",
        b"message-id",
        b"date",
    }
)
_FIELD = re.compile(rb"([!-9;-~]+)[ \t]*:")
_USUAL_FIELD = re.compile(
    rb"(?:Return-Path|Received|From|To|Cc|Date|Subject|Reply-To|Delivered-To|Message-ID|MIME-Version|DKIM-Signature"
    rb"|References|In-Reply-To|Content-(?:Type|Transfer-Encoding|Disposition|ID)|X-[A-Za-z0-9-]+)[ \t]*:",
    re.IGNORECASE,
)
_POSTMARK = re.compile(rb">*From ")
_LINE_END = re.compile(rb"\r{0,2}\n|\r")
_ENCODED_WORD = re.compile(r"=\?([^\s?*]+)(?:\*[^?\s]*)?\?([bBqQ])\?([^?]*)\?=")
_PIECE = re.compile(r"([^*]+)(?:\*(\d{1,6}))?(\*)?\Z")
_QUOTED = re.compile(r'((?:[^"\\]|\\.?)*)"', re.DOTALL)
_TOKEN = re.compile(r"[!#-'*+.0-9A-Z^-~-]+/[!#-'*+.0-9A-Z^-~-]+\Z", re.ASCII)


class Value(msgspec.Struct, frozen=True, kw_only=True):
    """A field of the form `value; name=value; …`."""

    value: str = ""  # in lower case
    parameters: dict[str, str] = {}  # names in lower case, values decoded


class Headers(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of one header block that unpacking needs, unfolded; the first of each name counts."""

    fields: dict[bytes, bytes] = {}
    end: int  # offset of the body
    count: int = 0  # fields of any name
    cut: bool = False  # a field was longer than is kept

    def raw(self, name: bytes) -> bytes:
        """The bytes of a field, unfolded; empty when it is not there."""
        return self.fields.get(name, b"")

    def text(self, name: bytes, charset: str | None = None) -> str:
        """A field as a person reads it."""
        return decode_words(as_text(self.raw(name), charset)).strip()

    def value(self, name: bytes) -> Value:
        """A field with parameters. Bytes that are no UTF-8 stay in it as surrogates, see `as_text`."""
        return parse_value(self.raw(name).decode("utf-8", "surrogateescape"))


def lines(file: BinaryIO, start: int, end: int) -> Iterator[tuple[int, bytes]]:
    """Offsets and lines of a span, with their ends (CRLF, LF, CR). Longer lines than a block come in pieces."""
    at, size, rest = start, 4096, b""
    while at < end:
        file.seek(at + len(rest))
        block = file.read(min(size, end - at - len(rest)))
        data = rest + block
        last = not block or at + len(data) >= end
        position = 0
        for line in _split(data):
            if not last and position + len(line) > len(data) - 2 and not line.endswith(b"\n"):
                break  # not the whole line, or half of its end
            yield at + position, line
            position += len(line)
        rest = data[position:]
        if rest and (last or len(rest) > MAX_FIELD):
            yield at + position, rest
            position, rest = len(data), b""
        at += position
        if last:
            return
        size = min(size * 2, 1 << 18)


def _split(data: bytes) -> Iterator[bytes]:
    """Lines with their ends, CR CR LF being one end."""
    if b"\r\r\n" not in data:
        yield from data.splitlines(keepends=True)
        return
    position = 0
    for found in _LINE_END.finditer(data):
        yield data[position : found.end()]
        position = found.end()
    if position < len(data):
        yield data[position:]


def read_headers(
    file: BinaryIO, start: int, end: int, kept: frozenset[bytes] = KEPT, joined: frozenset[bytes] = frozenset()
) -> Headers:
    """The header block that begins at `start`. It ends at a blank line, or where no more field comes; one line
    that is no field, but has a usual one behind it, is passed over.

    Args:
        kept: names of the fields to keep, in lower case.
        joined: those of them that count each time they come: their values are joined with commas, and may be longer.
    """
    fields: dict[bytes, bytearray] = {}
    name, value, count = b"", bytearray(), 0
    cut = False
    whole = True  # the line before this one was a whole one
    body = end
    odd: int | None = None  # where a line stands that is no field; the next one tells whether the header goes on
    mended = False

    def keep() -> None:
        nonlocal cut
        if name not in kept:
            return
        if name not in fields:
            fields[name] = value.strip()
        elif name in joined and len(fields[name]) + len(value) < MAX_JOINED:
            fields[name] += b", " + value.strip()
        elif name in joined:
            cut = True

    for offset, line in lines(file, start, min(end, start + MAX_HEADER)):
        content = line.rstrip(b"\r\n")
        if not whole or (content[:1] in (b" ", b"\t") and content.strip()):
            if name in kept:
                if len(value) < (MAX_JOINED if name in joined else MAX_FIELD):
                    value += content
                else:
                    cut = True
            whole = content != line
            continue
        if not content.strip():
            body = offset + len(line) if odd is None else odd
            break
        found = _FIELD.match(content)
        if found is None or content.startswith(b"--"):
            if offset == start and _POSTMARK.match(content):
                continue
            if odd is not None or mended or not count or content.startswith(b"--"):
                body = offset if odd is None else odd
                break
            keep()
            name, odd = b"", offset
            continue
        if odd is not None:
            if not _USUAL_FIELD.match(content):
                body = odd
                break
            odd, mended = None, True
        keep()
        name, value, count = found[1].lower(), bytearray(content[found.end() :]), count + 1
        whole = content != line
    else:
        body = min(end, start + MAX_HEADER) if odd is None else odd
    keep()
    return Headers(fields={key: bytes(found) for key, found in fields.items()}, end=body, count=count, cut=cut)


def as_text(raw: bytes | str, charset: str | None = None) -> str:
    """Raw bytes of a field, or a parameter with surrogates for them, as text.

    ASCII is the rule; else UTF-8, the message's charset, and windows-1252 as the last.
    """
    if isinstance(raw, str):
        if raw.isascii():
            return raw
        raw = raw.encode("utf-8", "surrogateescape") if _escapes_only(raw) else raw.encode("utf-8", "replace")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return decode_bytes(raw, charset or "windows-1252")


def _escapes_only(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" and not "\udc80" <= character <= "\udcff" for character in text)


def decode_bytes(data: bytes, label: str) -> str:
    """Bytes in the charset that a label means to a browser; an unknown one is read as UTF-8, then windows-1252."""
    name = resolve(label)
    for codec in ([codec_of(name)] if name else []) + ["utf-8", "cp1252", "latin-1"]:
        try:
            return data.decode(codec)
        except (UnicodeError, LookupError):
            continue
    return data.decode("latin-1")


def decode_words(text: str) -> str:
    """RFC 2047 encoded words, wherever they stand. Pieces of one charset are joined before they are decoded, because
    mailers cut characters in two."""
    if "=?" not in text:
        return text
    out: list[str] = []
    waiting: list[tuple[str, bytes]] = []
    position = 0

    def flush() -> None:
        for charset, data in waiting:
            out.append(decode_bytes(data, charset))
        waiting.clear()

    for found in _ENCODED_WORD.finditer(text):
        between = text[position : found.start()]
        if between.strip() or (between and not waiting):
            flush()
            out.append(between)
        data = _b(found[3]) if found[2] in "bB" else _q(found[3])
        charset = found[1].lower()
        if waiting and waiting[-1][0] == charset:
            waiting[-1] = (charset, waiting[-1][1] + data)
        else:
            waiting.append((charset, data))
        position = found.end()
    flush()
    out.append(text[position:])
    return "".join(out)


def _b(text: str) -> bytes:
    data = re.sub(rb"[^A-Za-z0-9+/]", b"", text.encode("ascii", "ignore"))
    data = data[:-1] if len(data) % 4 == 1 else data
    return base64.b64decode(data + b"=" * (-len(data) % 4))


def _q(text: str) -> bytes:
    return binascii.a2b_qp(text.encode("utf-8", "surrogateescape"), header=True)


def parse_value(text: str) -> Value:
    """A Content-Type or Content-Disposition, read leniently: unquoted blanks, missing quotes, pieces in any order."""
    head, _, rest = text.partition(";")
    value = head.strip().lower()
    if "=" in value and "/" not in value:  # only parameters: the value was forgotten
        value, rest = "", text
    pieces: dict[str, list[tuple[int, bool, str]]] = {}
    for count, (name, raw) in enumerate(_parameters(rest)):
        if count >= MAX_PARAMETERS:
            break
        found = _PIECE.match(name.lower())
        if found is not None:
            pieces.setdefault(found[1], []).append((int(found[2]) if found[2] else -1, bool(found[3]), raw))
    return Value(value=value, parameters={name: _joined(found) for name, found in pieces.items()})


def media_type_of(value: Value) -> str | None:
    """The media type of a Content-Type, without what does not belong to it; None when it is none."""
    word = value.value.split()[0].rstrip(",") if value.value.split() else ""
    return word if _TOKEN.match(word) else None


def _parameters(rest: str) -> Iterator[tuple[str, str]]:
    position = 0
    while (equals := rest.find("=", position)) >= 0:
        name = rest[position:equals].rpartition(";")[2].strip()
        position = equals + 1
        while rest[position : position + 1] in (" ", "\t") and position < len(rest):
            position += 1
        if rest[position : position + 1] == '"':
            raw, position = _quoted(rest, position + 1)
        else:
            stop = rest.find(";", position)
            stop = len(rest) if stop < 0 else stop
            raw, position = rest[position:stop].strip(), stop
        if name:
            yield name.split()[-1].strip('"'), raw


def _quoted(text: str, position: int) -> tuple[str, int]:
    """The quoted string whose first character stands at `position`, and where it ends.

    A backslash quotes only a quote or a backslash: names with the folders of another machine are more frequent than
    other escapes, and one that ends in a backslash more than one that ends in a quote.
    """
    found = _QUOTED.match(text, position)
    if found is None:
        unclosed = text[position:].partition(";")[0]
        if unclosed.rstrip().endswith('\\"'):
            return unclosed.rstrip()[:-1], position + len(unclosed)
        return unclosed.strip(), position + len(unclosed)
    return re.sub(r'\\(["\\])', r"\1", found[1]), found.end()


def _joined(found: list[tuple[int, bool, str]]) -> str:
    """One parameter from its pieces (RFC 2231 3 and 4.1). The extended spelling wins over the plain one."""
    extended = [piece for piece in found if piece[0] < 0 and piece[1]]
    numbered = sorted({piece[0]: piece for piece in reversed(found) if piece[0] >= 0}.values())
    chosen = extended[:1] or numbered
    if not chosen:
        return decode_words(found[0][2])
    if not any(piece[1] for piece in chosen):
        return decode_words("".join(piece[2] for piece in chosen))
    data, charset = bytearray(), "utf-8"
    for index, (_, is_extended, raw) in enumerate(chosen):
        piece = raw
        if is_extended and index == 0 and piece.count("'") >= 2:
            charset, _, piece = piece.split("'", 2)
        encoded = piece.encode("utf-8", "surrogateescape")
        data += _unescaped(encoded) if is_extended else encoded
    text = decode_bytes(bytes(data), charset or "utf-8")
    return decode_words(text)


def _unescaped(data: bytes) -> bytes:
    return re.sub(rb"%([0-9A-Fa-f]{2})", lambda found: bytes([int(found[1], 16)]), data)


def moment(text: str) -> datetime | None:
    """A date of a header field in UTC; None where it can't be one."""
    if not text or len(text) > 200:
        return None
    try:
        found = parsedate_to_datetime(text)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def shortened(text: str, most: int = 80) -> str:
    """A subject as part of a file name: one line, no folders, not too long."""
    line = " ".join(re.sub(r"[\x00-\x1f\x7f/\\]+", " ", text).split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"
