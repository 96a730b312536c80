"""What are these bytes: format by content, encoding by evidence, and what no extractor needs to see (R-DEC).

`decode` is a pure function of the bytes, their name and what was declared. It reads in bounded memory.
"""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from streams.decode.identify import Identity, identify
from streams.decode.names import essence, mismatch
from streams.decode.rules import rules
from streams.decode.unpack import is_archive
from streams.extract.registry import plan
from streams.records import Detection, Failure

_EXECUTABLES = frozenset(
    {
        "application/vnd.microsoft.portable-executable",
        "application/x-elf",
        "application/x-mach-binary",
        "application/java-vm",
        "application/wasm",
        "application/vnd.android.dex",
    }
)
_SYSTEM = frozenset({"application/x-apple-dsstore", "application/applefile"})
_DESKTOP_INI = re.compile(rb"^\s*(?:\xff\xfe)?\[\x00?\.?(?:ShellClassInfo|ViewState|LocalizedFileNames)")


class DecodeResult(msgspec.Struct, frozen=True, kw_only=True):
    """What the bytes are, or why that is the end, or both. Without a failure there is a detection, and an extractor."""

    detection: Detection | None = None
    failure: Failure | None = None


def decode(
    path: Path,
    *,
    declared_media_type: str | None,
    http_content_type: str | None,
    file_name: str,
    max_bytes: int,
) -> DecodeResult:
    """What the bytes at `path` are.

    Args:
        declared_media_type, http_content_type: what the source said; recorded and compared, never believed, but for
            the charset of `http_content_type`.
        file_name: breaks ties between text formats, and is compared with what was found.
        max_bytes: above, the file is `too_large` and only its first bytes are looked at.

    Failures are part of the answer, with codes of `PROBLEMS` or rules of `SKIP_RULES`. OSError of the file is raised.
    """
    size = path.stat().st_size
    if size == 0:
        return DecodeResult(failure=Failure(code="empty_file", message="It has zero bytes.", skip=True))
    if size > max_bytes:
        message = f"It has {size} bytes; the limit is {max_bytes} ([limits] max_document_bytes)."
        return DecodeResult(failure=Failure(code="too_large", message=message))
    system = _system_file(path, size, file_name)
    found = identify(path, size, file_name=file_name, http_content_type=http_content_type)
    detection = _detection(found, declared_media_type, http_content_type, file_name)
    return DecodeResult(detection=detection, failure=system or found.failure or _end(detection))


def _detection(
    found: Identity, declared_media_type: str | None, http_content_type: str | None, file_name: str
) -> Detection:
    declared = essence(declared_media_type) or essence(http_content_type)
    differs = mismatch(found.media_type, declared, file_name)
    encoding = found.encoding
    return Detection(
        media_type=found.media_type,
        declared_media_type=declared,
        mismatch=differs,
        detected_by=found.rule,
        encoding=encoding.name if encoding else None,
        encoding_source=encoding.source if encoding else None,
        encoding_confidence=encoding.confidence if encoding else None,
        candidates=encoding.candidates if encoding else [],
        warnings=found.warnings,
        rules=rules(),
    )


def _system_file(path: Path, size: int, file_name: str) -> Failure | None:
    """Files that a program leaves for itself, where the name and the bytes agree."""
    name = file_name.lower()
    with path.open("rb") as file:
        head = file.read(64)
    what = None
    if head.startswith(b"\x00\x00\x00\x01Bud1") or (name.startswith("._") and head.startswith(b"\x00\x05\x16\x07")):
        what = "macOS folder settings"
    elif name == "thumbs.db" and head.startswith(b"\xd0\xcf\x11\xe0"):
        what = "Windows thumbnails"
    elif name == "desktop.ini" and _DESKTOP_INI.match(head):
        what = "Windows folder settings"
    elif name.startswith("~$") and size <= 1024 and 0 < head[0] < 64 and not head.startswith(b"PK"):
        what = "an Office lock"
    elif name.startswith(".~lock.") and name.endswith("#") and size <= 4096 and b"," in head:
        what = "a LibreOffice lock"
    return Failure(code="system_file", message=f"It is {what}, no document.", skip=True) if what else None


def _end(detection: Detection) -> Failure | None:
    """Why nothing more is done with these bytes, if that is so.

    Only a signature skips: libmagic goes by a byte or two where it has no more, and a guess must not hide a document.
    """
    if detection.detected_by == "libmagic":
        return Failure(code="unsupported_format", message=f"No extractor is installed for {detection.media_type}.")
    media_type = detection.media_type
    main = media_type.split("/", 1)[0]
    if media_type in _SYSTEM:
        return Failure(code="system_file", message=f"{media_type}: written by macOS for itself.", skip=True)
    if main in ("audio", "video") or media_type == "application/ogg":
        return Failure(code="media", message=f"{media_type}: audio or video.", skip=True)
    if media_type in _EXECUTABLES:
        return Failure(code="executable", message=f"{media_type}: a program.", skip=True)
    if main == "font" or media_type.startswith("application/font") or media_type == "application/vnd.ms-fontobject":
        return Failure(code="font", message=f"{media_type}: a font.", skip=True)
    if is_archive(media_type):
        return Failure(code="container", message="An archive; its members are documents of their own.", skip=True)
    if plan(detection) is None:
        return Failure(code="unsupported_format", message=f"No extractor is installed for {media_type}.")
    return None


__all__ = ["DecodeResult", "decode"]
