"""The order in which the bytes are asked what they are (R-DEC-1): fixed bytes, containers, text, then libmagic."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from streams.decode import encoding as encodings
from streams.decode.encoding import Encoding, bom_of
from streams.decode.escapes import escaped
from streams.decode.labels import codec_of
from streams.decode.mail_probe import LONGEST_HEADER, mail
from streams.decode.ole import SIGNATURE as OLE_SIGNATURE
from streams.decode.ole import identify_ole
from streams.decode.signatures import by_signature, pdf_offset, pdf_without_header
from streams.decode.text_probe import probe
from streams.decode.wide import without_bom
from streams.decode.zips import identify_zip
from streams.records import Failure

HEAD = 1 << 20
TAIL = 4096
WHOLE_TEXT = 16 << 20
"""Texts up to this size are read whole where the probe needs it (JSON)."""

_CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\f\x1b\x1a\x08")) + b"\x7f"
_OWN_ENCODING = frozenset({"message/rfc822", "application/mbox", "multipart/related", "text/rtf"})
"""Formats that say the encoding of each part inside: one for the whole file would be wrong."""
_MARKUP = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:<!doctype\s+html\b|<html[\s>]|<\?xml\s)", re.IGNORECASE)
"""What stands at the beginning of markup only, whatever follows."""
_HEADER_END = re.compile(rb"\n\r?\n|\r\r")
_UTF = ("utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """What the bytes are, by which rule, and what is wrong with them."""

    media_type: str
    rule: str
    encoding: Encoding | None = None
    failure: Failure | None = None
    warnings: list[str] = []


def identify(path: Path, size: int, *, file_name: str, http_content_type: str | None) -> Identity:
    """What the file at `path` is. Its name only breaks ties between text formats."""
    with path.open("rb") as file:
        head = file.read(HEAD)
        file.seek(max(0, size - TAIL))
        tail = file.read(TAIL)
    if head.startswith(b"%PDF-"):
        return Identity(media_type="application/pdf", rule="signature:pdf")
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08PK\x03\x04", b"PK00PK\x03\x04")):
        zipped = identify_zip(path, size)
        failure = Failure(code=zipped.damage, message=zipped.detail) if zipped.damage else None
        return Identity(media_type=zipped.media_type, rule=zipped.rule, failure=failure)
    if head.startswith(OLE_SIGNATURE):
        return _ole(path, size)
    if found := by_signature(head):
        return Identity(media_type=found, rule="signature")
    if letter := _mail(head, file_name):
        return letter
    if pdf_offset(head) is not None:
        return Identity(media_type="application/pdf", rule="pdf_after_junk", warnings=["junk_before_header"])
    if head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{\\rtf"):
        return Identity(media_type="text/rtf", rule="signature:rtf")
    if pdf_without_header(head, tail):
        return Identity(media_type="application/pdf", rule="pdf_without_header", warnings=["no_header"])
    text = _text(path, size, head, tail, file_name, http_content_type)
    if text is not None:
        return text
    from streams.decode.magic_tool import media_type_of

    found = media_type_of(head)
    if found is not None and not found.startswith("text/"):
        return Identity(media_type=found, rule="libmagic")
    return Identity(media_type="application/octet-stream", rule="unknown")


def _mail(head: bytes, file_name: str) -> Identity | None:
    """Mail by its header alone: what follows may be binary, or a PDF that is not packed."""
    if bom_of(head):
        return None
    kind = mail(head[:LONGEST_HEADER].decode("latin-1"), file_name.lower())
    if kind is None or b"\0" in _HEADER_END.split(head[:LONGEST_HEADER].lstrip(), maxsplit=1)[0]:
        return None
    return Identity(media_type=kind.media_type, rule=kind.rule)


def _ole(path: Path, size: int) -> Identity:
    kind = identify_ole(path, size)
    failure = Failure(code=kind.failure, message=kind.detail) if kind.failure else None
    if kind.thumbnails:
        failure = Failure(code="system_file", message="A cache of thumbnails.", skip=True)
    return Identity(media_type=kind.media_type, rule=kind.rule, failure=failure)


def looks_like_text(data: bytes) -> bool:
    """Whether bytes can be text in some encoding: a BOM, UTF-16 by its characters, or next to no control characters."""
    if bom_of(data) or without_bom(data):
        return True
    controls = len(data) - len(data.translate(None, _CONTROLS))
    return controls * 200 <= len(data) or (b"\x0e" in data and data.isascii() and escaped(data) == "iso-2022-kr")


def _reads_as_nothing(sample: bytes, judged: float) -> bool:
    """Bytes that are mostly beyond ASCII, and of which no encoding makes words: data, not text."""
    odd = sum(1 for byte in sample[:8192] if byte > 127)
    return judged < 0.5 and odd >= 100 and odd * 4 >= len(sample[:8192])


def _text(
    path: Path, size: int, head: bytes, tail: bytes, file_name: str, http_content_type: str | None
) -> Identity | None:
    sample = head[: 256 << 10]
    marked = _MARKUP.match(sample) is not None
    if not marked and not looks_like_text(sample):
        return None
    bom = bom_of(sample)
    guess = bom[0] if bom else without_bom(sample) or "latin-1"
    # The first look reads bytes as Latin-1: enough for tags and headers, which are ASCII in every encoding here.
    short = size <= len(sample)
    first = probe(_decoded(sample, guess), whole=short, tail=_decoded(tail, guess), file_name=file_name)
    if first.media_type in _OWN_ENCODING:
        if guess == "latin-1":
            return Identity(media_type=first.media_type, rule=first.rule)
        found = encodings.determine(path, size, head, first.media_type, None)
        return Identity(media_type=first.media_type, rule=first.rule, encoding=found)
    found = encodings.determine(path, size, head, first.media_type, http_content_type)
    if found.judged is not None and not marked and _reads_as_nothing(sample, found.judged):
        return None
    whole = size <= len(head)
    data = head
    if not whole and size <= WHOLE_TEXT and head.lstrip()[:1] in (b"{", b"["):
        data, whole = path.read_bytes(), True
    if short and bom is None and sample.isascii() and guess == "latin-1" and b"\x1b" not in sample:
        kind = first  # in every encoding that it can be, it reads the same
    else:
        kind = probe(_decoded(data, found.name), whole=whole, tail=_decoded(tail, found.name), file_name=file_name)
    warnings = list(found.warnings)
    if (
        found.name not in ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be", "iso-2022-kr")
        and head.translate(None, _CONTROLS) != head
    ):
        warnings.append("control_characters")
    if found.confidence < 0.5 and "encoding_guess" not in warnings:
        warnings.append("encoding_guess")
    return Identity(
        media_type=kind.media_type,
        rule=kind.rule,
        encoding=msgspec.structs.replace(found, warnings=[]),
        warnings=warnings,
    )


def _decoded(data: bytes, encoding: str) -> str:
    bom = bom_of(data)
    if bom is not None and bom[0] == encoding:
        data = data[bom[1] :]
    if encoding in ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"):
        data = data[: len(data) // 4 * 4] if encoding.startswith("utf-32") else data[: len(data) // 2 * 2]
    return data.decode(codec_of(encoding), "replace")
