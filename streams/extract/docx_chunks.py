"""Foreign content that Word imports when it opens the file (w:altChunk): HTML, MHTML, plain text, another DOCX."""

from __future__ import annotations

import email
import email.policy
import importlib
import re
import tempfile
from email.message import EmailMessage
from pathlib import Path

from streams.errors import DocumentError
from streams.extract.ooxml import Package
from streams.extract.outcome import Draft, Request
from streams.records import Block, BlockKind, BlockSource, Detection

DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
MAX_DEPTH = 4
"""Documents that import documents."""
_KINDS = {
    "message/rfc822": "mhtml",
    "multipart/related": "mhtml",
    "application/x-mimearchive": "mhtml",
    "text/html": "html",
    "application/xhtml+xml": "html",
    "text/plain": "text",
    "application/txt": "text",
    DOCX: "docx",
    DOCX + ".main+xml": "docx",
    "application/vnd.ms-word.document.macroenabled.main+xml": "docx",
    "mht": "mhtml",
    "mhtml": "mhtml",
    "html": "html",
    "htm": "html",
    "xhtml": "html",
    "txt": "text",
    "docx": "docx",
}
_META = re.compile(rb"<meta[^>]+charset\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]+)", re.IGNORECASE)


def read_chunk(package: Package, part: str) -> Draft | None:
    """What a chunk says; null if nothing here can read it. Errors of the chunk itself are DocumentErrors."""
    kind = _KINDS.get(package.content_type(part).partition(";")[0]) or _KINDS.get(part.lower().rpartition(".")[2])
    if kind is None or part not in package:
        return None
    data = package.read(part)
    charset: str | None = None
    if kind == "mhtml":
        kind, data, charset = _main_part(data)
    if kind == "html":
        return _html(data, charset or _charset(data))
    if kind == "docx":
        return _document(data, package)
    if kind == "text":
        text = _decoded(data, charset or _charset(data))
        paragraphs = [found.strip() for found in re.split(r"\r?\n\s*\r?\n", text)]
        return Draft(
            blocks=[
                Block(kind=BlockKind.PARAGRAPH, text=found, source=BlockSource.MARKUP) for found in paragraphs if found
            ]
        )
    return None


def _document(data: bytes, within: Package) -> Draft | None:
    """A document in the document. One may hold itself, so there is an end to it."""
    if within.depth >= MAX_DEPTH:
        return None
    reader = importlib.import_module("streams.extract.docx")  # which imports this module
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        with Package(Path(file.name), within) as package:
            draft = reader.read_package(package)
    return draft if isinstance(draft, Draft) else None


def _html(data: bytes, encoding: str) -> Draft | None:
    """What the HTML extractor makes of the chunk; null where it is not installed."""
    try:
        extractor = importlib.import_module("streams.extract.html")
    except ModuleNotFoundError as error:
        if error.name != "streams.extract.html":
            raise
        return None
    detection = Detection(media_type="text/html", detected_by="altchunk", encoding=encoding, encoding_source="http")
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        draft = extractor.read(Request(path=Path(file.name), detection=detection), whole_page=False)
    return draft if isinstance(draft, Draft) else None


def _main_part(data: bytes) -> tuple[str | None, bytes, str | None]:
    """The first HTML part of an MHTML file (RFC 2557), else its first text."""
    message = email.message_from_bytes(data, policy=email.policy.default)
    plain: EmailMessage | None = None
    for found in message.walk():
        if not isinstance(found, EmailMessage) or found.is_multipart():
            continue
        if found.get_content_type() in ("text/html", "application/xhtml+xml"):
            return "html", _payload(found), found.get_content_charset()
        if found.get_content_type() == "text/plain" and plain is None:
            plain = found
    if plain is None:
        return None, b"", None
    return "text", _payload(plain), plain.get_content_charset()


def _payload(message: EmailMessage) -> bytes:
    payload = message.get_payload(decode=True)
    return payload if isinstance(payload, bytes) else b""


def _charset(data: bytes) -> str:
    """BOM, then UTF-8 that validates, then what the markup declares, then what browsers assume."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        match = _META.search(data[:2048])
        return match[1].decode("ascii") if match else "windows-1252"
    return "utf-8"


def _decoded(data: bytes, charset: str) -> str:
    try:
        return data.decode(charset, errors="replace").lstrip("\ufeff")
    except LookupError as error:
        raise DocumentError("corrupt", f"A text chunk declares the unknown encoding {charset!r}.") from error
