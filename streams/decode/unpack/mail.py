"""Attachments of a mail: what came with the message, told from the message itself (R-FMT, mail).

The text and HTML that make the message are its own document; all else is a member, with a name or without, and a nested
message is one that is opened as a mail of its own. A signature is left out, and what is encrypted is said to be.
"""

from __future__ import annotations

import codecs
import io
import mimetypes
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote, urlsplit

from streams.decode.encoding import bom_of
from streams.decode.unpack.mail_coding import BEGIN, CHUNK, YBEGIN, decoded, plain_chunks, uuencoded_chunks, yenc_chunks
from streams.decode.unpack.mail_headers import as_text, decode_words, lines, moment, read_headers, shortened
from streams.decode.unpack.mail_parts import Part, parse
from streams.decode.unpack.mail_signed import MAX_WRAPPED, signed_content
from streams.decode.unpack.model import Sink
from streams.decode.wide import without_bom

_BODY_TYPES = frozenset({"text/plain", "text/html", "text/enriched", "text/richtext", "text/x-amp-html"})
REPORTS = frozenset({"message/delivery-status", "message/disposition-notification", "message/feedback-report"})
"""Fields about the delivery of a message, which a report shows with its text (RFC 3464, 8098, 5965)."""
_SIGNATURES = frozenset({"application/pkcs7-signature", "application/x-pkcs7-signature", "application/pgp-signature"})
_MIME_WRAPPED = frozenset({"application/pkcs7-mime", "application/x-pkcs7-mime"})
_MESSAGES = frozenset({"message/rfc822", "message/global", "message/rfc2822", "message/news"})
_ENVELOPED = tuple(bytes.fromhex(oid) for oid in ("06092a864886f70d010703", "060b2a864886f70d0109100117"))
"""Object identifiers in DER: EnvelopedData and AuthEnvelopedData of CMS (RFC 5652, RFC 5083)."""
_EXTENSIONS: dict[str, str] = {
    "application/pdf": ".pdf",
    "application/msword": ".doc",
    "application/vnd.ms-excel": ".xls",
    "application/vnd.ms-powerpoint": ".ppt",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": ".xlsx",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": ".pptx",
    "application/vnd.ms-outlook": ".msg",
    "application/vnd.ms-tnef": ".dat",
    "application/ms-tnef": ".dat",
    "application/rtf": ".rtf",
    "application/zip": ".zip",
    "application/json": ".json",
    "application/xml": ".xml",
    "application/octet-stream": "",
    "text/plain": ".txt",
    "text/html": ".html",
    "text/calendar": ".ics",
    "text/csv": ".csv",
    "text/css": ".css",
    "text/xml": ".xml",
    "text/rtf": ".rtf",
    "text/vcard": ".vcf",
    "text/x-vcard": ".vcf",
    "text/rfc822-headers": ".eml",
    "image/jpeg": ".jpg",
    "image/jpg": ".jpg",
    "image/pjpeg": ".jpg",
    "image/png": ".png",
    "image/gif": ".gif",
    "image/tiff": ".tif",
    "image/bmp": ".bmp",
    "image/svg+xml": ".svg",
    "message/delivery-status": ".txt",
    "message/disposition-notification": ".txt",
    "message/feedback-report": ".txt",
}
_TYPES = mimetypes.MimeTypes(filenames=())  # Python's own table: the machine's differs from machine to machine
_HAS_EXTENSION = re.compile(r"[^/\\]+\.[A-Za-z0-9]{1,8}\Z")
_FRAME = re.compile(rb"(?:[ \t]*\r?\n){0,100}(?:(\d{1,12})[ \t]*\r?\n)?(?=[!-9;-~]+[ \t]*:)")
_MAX_UUENCODED = 10_000


def unpack(path: Path, sink: Sink) -> None:
    """The attachments of the mail at `path`, read in bounded memory whatever its size.

    Warnings of a member: `inline` (an image that the message shows), those of its transfer encoding.
    Warnings of the mail: `signature_left_out`, those of `mail_parts.parse`.
    """
    with opened(path) as (file, start, end):
        warnings: list[str] = []
        root = parse(file, start, end, warnings)
        for warning in warnings:
            sink.warn(warning)
        Attachments(file, sink, root).take()


@contextmanager
def opened(path: Path) -> Iterator[tuple[BinaryIO, int, int]]:
    """A message with its begin and end; one that was stored as UTF-16 or UTF-32 as UTF-8, which can be parsed."""
    with path.open("rb") as file:
        head = file.read(4096)
        bom = bom_of(head)
        name = bom[0] if bom else without_bom(head)
        if name is None or not name.startswith(("utf-16", "utf-32")):
            skipped = bom[1] if bom and bom[0] == "utf-8" else 0
            yield (file, *_without_frame(head[skipped:], skipped, path.stat().st_size))
            return
        with tempfile.TemporaryFile() as turned:
            decoder = codecs.getincrementaldecoder(name)("replace")
            file.seek(bom[1] if bom else 0)
            while data := file.read(CHUNK):
                turned.write(decoder.decode(data).encode("utf-8", "replace"))
            turned.write(decoder.decode(b"", final=True).encode("utf-8", "replace"))
            yield turned, 0, turned.tell()


def _without_frame(head: bytes, start: int, size: int) -> tuple[int, int]:
    """Where a message stands in its file: behind blank lines, and within the count of bytes that Apple Mail writes."""
    frame = _FRAME.match(head)
    if frame is None:
        return start, size
    begin = start + frame.end()
    counted = begin + int(frame[1]) if frame[1] else size
    return begin, counted if begin < counted <= size else size


def is_body(part: Part) -> bool:
    """Whether a part is the message itself, in one of its versions."""
    if part.disposition.value.startswith("attachment"):
        return False
    if part.media_type in REPORTS:
        return part.parent is not None and part.parent.media_type == "multipart/report"
    if part.media_type not in _BODY_TYPES:
        return False
    if part.parent is None or part.parent.media_type == "multipart/alternative":
        return True
    if part.parent.media_type == "multipart/related" and part.parent.parts[0] is part:
        return True
    return not given_name(part, None)


def is_wrapped(part: Part) -> bool:
    """Whether a part is wrapped for S/MIME: by its type, or by the name where a gateway took the type."""
    if part.media_type == "application/octet-stream":
        return given_name(part, None).lower().endswith(".p7m")
    return part.media_type in _MIME_WRAPPED


def is_enveloped(file: BinaryIO, part: Part) -> bool:
    """Whether a part that is wrapped for S/MIME is encrypted."""
    kind = part.content_type.parameters.get("smime-type", "").lower()
    if kind:
        return kind in ("enveloped-data", "authenveloped-data")
    head = next(decoded(file, part.start, part.end, part.encoding, []), b"")[:64]
    return any(oid in head for oid in _ENVELOPED)


def given_name(part: Part, charset: str | None) -> str:
    """The name that the mail gives a part; empty: none."""
    for value in (part.disposition, part.content_type):
        for key in ("filename", "name"):
            name = as_text(value.parameters.get(key, ""), charset).strip()
            if name:
                return name
    return ""


def charset_of(root: Part) -> str | None:
    """The charset that a message uses, for names whose own is not said."""
    charsets = (part.charset for part in root.walk() if part.charset)
    return next((found for found in charsets if found.lower() not in ("utf-8", "us-ascii")), None)


class Attachments:
    """Decides part by part what is a member, and gives it to the sink."""

    def __init__(self, file: BinaryIO, sink: Sink, root: Part) -> None:
        self.file = file
        self.sink = sink
        self.root = root
        self.charset = charset_of(root)
        self.count = 0
        self.wrapped = 0  # signatures around it

    def take(self) -> None:
        hidden: set[int] = set()  # parts of what is encrypted
        for part in self.root.walk():
            if part.parent is not None and id(part.parent) in hidden:
                hidden.add(id(part))
                continue
            if part.media_type == "multipart/encrypted" and part.parts:
                hidden.add(id(part))
                self._encrypted(part.parts[-1])
            elif not part.is_multipart:
                self._leaf(part)

    def _leaf(self, part: Part) -> None:
        if part.media_type in _SIGNATURES:
            self.sink.warn("signature_left_out")
        elif is_wrapped(part) and is_enveloped(self.file, part):
            self._encrypted(part)
        elif is_wrapped(part) and (inner := signed_content(self.file, part)) is not None:
            self._signed(inner)
        elif part.media_type == "message/external-body":
            self.count += 1
            where = part.content_type.parameters
            place = where.get("url") or "/".join(where[key] for key in ("site", "directory", "name") if where.get(key))
            said = f"The mail only says where it stands: {place[:200]}." if place else "It stands outside of the mail."
            self.sink.fail(self._name(part), "broken_link", said)
        elif is_body(part):
            self._encoded_files(part)
        else:
            self._member(part)

    def _signed(self, inner: bytes) -> None:
        """The attachments of a message that stands inside its signature."""
        self.sink.warn("signature_left_out")
        if self.wrapped >= MAX_WRAPPED:
            self.sink.warn("members_left_out")
            return
        self.sink.passed(len(inner))
        file = io.BytesIO(inner)
        reader = Attachments(file, self.sink, parse(file, 0, len(inner), []))
        reader.count, reader.wrapped = self.count, self.wrapped + 1
        reader.take()
        self.count = reader.count

    def _is_inline(self, part: Part) -> bool:
        """Whether the message shows it where it stands: an image that its HTML names, or one between its paragraphs."""
        if part.disposition.value.startswith("attachment"):
            return False
        related = part.parent is not None and part.parent.media_type == "multipart/related"
        if related and part.headers.raw(b"content-id") != b"":
            return True
        return part.media_type.startswith("image/") and (related or part.disposition.value == "inline")

    def _member(self, part: Part) -> None:
        self.count += 1
        warnings = ["inline"] if self._is_inline(part) else []
        parameters = part.disposition.parameters
        changed = moment(parameters.get("modification-date", "")) or moment(parameters.get("creation-date", ""))
        encoding = part.encoding
        if part.media_type in _MESSAGES and encoding not in ("base64", "quoted-printable"):
            encoding = "8bit"  # RFC 2046 5.2.1 allows no other, and what is said beyond that is wrong
        if part.is_multipart:
            encoding = ""
        chunks = decoded(self.file, part.start, part.end, encoding, warnings)
        media_type = part.media_type if part.has_type else None
        self.sink.add(self._name(part), chunks, media_type=media_type, modified_at=changed, warnings=warnings)

    def _encrypted(self, part: Part) -> None:
        self.count += 1
        self.sink.fail(self._name(part), "encrypted", "This part of the mail is encrypted (S/MIME or PGP).")

    def _name(self, part: Part) -> str:
        """The name of a part, invented where the mail gives none."""
        name = given_name(part, self.charset) or self._uuencoded_name(part)
        if name:
            if part.media_type == "application/applefile" and not name.startswith("._"):
                return f"._{name}"
            return name
        description = part.headers.text(b"content-description", self.charset)
        if _HAS_EXTENSION.match(description) and len(description) <= 200:
            return description
        location = part.headers.text(b"content-location")
        if location and len(location) <= 2000:
            last = _last_of_url(location)
            if _HAS_EXTENSION.match(last):
                return last
        if part.media_type in _MESSAGES or part.media_type == "text/rfc822-headers":
            inner = read_headers(self.file, part.start, part.end)
            subject = shortened(inner.text(b"subject", self.charset)) or shortened(description)
            return f"{subject or f'attachment-{self.count}'}.eml"
        extension = _EXTENSIONS.get(part.media_type)
        if extension is None:
            extension = _TYPES.guess_extension(part.media_type) or ""
        return f"{shortened(description) or f'attachment-{self.count}'}{extension}"

    def _uuencoded_name(self, part: Part) -> str:
        if part.encoding not in ("uuencode", "x-uuencode", "x-uue", "uue"):
            return ""
        for _, line in lines(self.file, part.start, min(part.end, part.start + 4096)):
            if found := BEGIN.match(line):
                return as_text(found[1].strip(), self.charset)
        return ""

    def _encoded_files(self, part: Part) -> None:
        """Files that stand in the text of the message itself, as mailers did before MIME."""
        if part.encoding in ("base64", "quoted-printable") or part.media_type != "text/plain":
            return
        if not self._mentions(part, b"begin"):
            return
        for name, start, kind in list(self._begun(part)):
            self.count += 1
            warnings: list[str] = []
            decode = yenc_chunks if kind == "yenc" else uuencoded_chunks
            self.sink.add(decode_words(name), decode(self.file, start, part.end, warnings), warnings=warnings)

    def _mentions(self, part: Part, word: bytes) -> bool:
        before = b""
        for chunk in plain_chunks(self.file, part.start, part.end):
            if word in before + chunk:
                return True
            before = chunk[-len(word) :]
        return False

    def _begun(self, part: Part) -> Iterator[tuple[str, int, str]]:
        """Name, offset and coding of each encoded file in a text."""
        waiting: tuple[str, int] | None = None
        inside = False
        found = 0
        for offset, raw in lines(self.file, part.start, part.end):
            line = raw.rstrip(b"\r\n")
            if inside:
                inside = line not in (b"end", b"====") and not line.startswith(b"=yend")
                continue
            if waiting is not None:
                if _is_uuencoded(line):
                    yield *waiting, "uu"
                    inside, found = True, found + 1
                waiting = None
            if not inside and (match := BEGIN.match(line)):
                waiting = as_text(match[1].strip(), self.charset), offset
            elif not inside and (match := YBEGIN.match(line)):
                yield as_text(match[1].strip(), self.charset) or "yenc", offset, "yenc"
                inside, found = True, found + 1
            if found >= _MAX_UUENCODED:
                return


def _is_uuencoded(line: bytes) -> bool:
    """Whether a line is one of uuencode: its first character says how many bytes the others carry."""
    if not line or min(line) < 32 or max(line) > 96:
        return line == b"end"
    needed = (((line[0] - 32) & 63) + 2) // 3 * 4
    return needed - 2 <= len(line) - 1 <= needed + 2 or (needed == 0 and len(line) <= 2)


def _last_of_url(location: str) -> str:
    try:
        return unquote(urlsplit(location).path).rsplit("/", 1)[-1]
    except ValueError:
        return ""
