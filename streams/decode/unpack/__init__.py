"""Members and attachments of containers: archives, mail, and documents that carry others (R-DEC-5)."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from streams.decode.unpack.model import Limits, Member, Sink, Tally, TooMuchError, Unpacked, UnpackError
from streams.records import Failure

_OOXML = "application/vnd.openxmlformats-officedocument."
_ARCHIVES: dict[str, str] = {
    "application/zip": "zips",
    "application/x-tar": "tars",
    "application/gzip": "compressed",
    "application/x-bzip2": "compressed",
    "application/x-xz": "compressed",
    "application/x-lzma": "compressed",
    "application/zstd": "compressed",
    "application/x-7z-compressed": "sevenzip",
    "application/vnd.rar": "rar",
    "application/mbox": "mbox",
}
"""Media type -> module of this package that opens it. Of these the members are all there is."""
_CARRIERS: dict[str, str] = {
    "message/rfc822": "mail",
    "application/vnd.ms-outlook": "msg",
    "application/vnd.ms-tnef": "tnef",
    "application/pdf": "pdf",
    _OOXML + "wordprocessingml.document": "ooxml",
    _OOXML + "wordprocessingml.template": "ooxml",
    _OOXML + "spreadsheetml.sheet": "ooxml",
    _OOXML + "spreadsheetml.template": "ooxml",
    _OOXML + "presentationml.presentation": "ooxml",
    _OOXML + "presentationml.slideshow": "ooxml",
    _OOXML + "presentationml.template": "ooxml",
    "application/vnd.ms-word.document.macroEnabled.12": "ooxml",
    "application/vnd.ms-word.template.macroEnabled.12": "ooxml",
    "application/vnd.ms-excel.sheet.macroEnabled.12": "ooxml",
    "application/vnd.ms-excel.sheet.binary.macroEnabled.12": "ooxml",
    "application/vnd.ms-powerpoint.presentation.macroEnabled.12": "ooxml",
    "application/vnd.ms-powerpoint.slideshow.macroEnabled.12": "ooxml",
    "application/msword": "ole",
    "application/vnd.ms-excel": "ole",
    "application/vnd.ms-powerpoint": "ole",
}
"""Documents of their own that may carry others."""

_PROBED = 64 << 10

Unpacker = Callable[[Path, Sink], None]


def is_archive(media_type: str) -> bool:
    """Whether the members are all there is to a format."""
    return media_type in _ARCHIVES


def may_have_members(media_type: str) -> bool:
    """Whether a format can carry other documents."""
    return media_type in _ARCHIVES or media_type in _CARRIERS


def unpack(path: Path, media_type: str, into: Path, limits: Limits, *, file_name: str = "") -> Unpacked:
    """The members of the container at `path`, written to the empty folder `into`.

    What is nested in them is opened as well, to be counted and thrown away: a bomb is told by all of it, and its outer
    shell is where a person looks. Bytes are never more than the limits, on the disk and in memory.

    Args:
        file_name: of the container; what a compressed file holds is named after it.

    A container that can't be opened and one that holds too much are answers, with a failure; OSError is raised.
    """
    size = path.stat().st_size
    if not size:  # a document without a byte carries nothing, but is not judged here
        failed = Failure(code="truncated", message="It has zero bytes.") if is_archive(media_type) else None
        return Unpacked(failure=failed)
    tally = Tally(limits, size)
    sink = Sink(into, tally, file_name)
    try:
        _open(path, media_type, sink)
        _count_nested(sink, tally, limits.depth - 1)
    except UnpackError as error:
        failure = Failure(code=error.code, message=error.message)
    except TooMuchError as error:
        failure = Failure(code="bomb", message=f"It holds {error}, when {tally.found()}.")
    else:
        return Unpacked(members=sink.members, warnings=sink.warnings)
    shutil.rmtree(into)
    into.mkdir()
    return Unpacked(failure=failure, warnings=sink.warnings)


def _open(path: Path, media_type: str, sink: Sink) -> None:
    module = import_module(f"{__name__}.{_ARCHIVES.get(media_type) or _CARRIERS[media_type]}")
    opener: Unpacker = module.unpack
    opener(path, sink)


def _count_nested(sink: Sink, tally: Tally, levels: int) -> None:
    """Opens what is nested, one member at a time, and keeps none of it. Raises TooMuchError."""
    if levels <= 0:
        return
    for member in sink.members:
        if not member.file or not member.size:
            continue
        file = sink.into / member.file
        media_type = _nested_type(file, member)
        if not may_have_members(media_type):
            continue
        with tempfile.TemporaryDirectory(dir=os.fspath(sink.into)) as folder:
            nested = Sink(Path(folder), tally, member.path)
            try:
                _open(file, media_type, nested)
            except UnpackError:
                continue  # its own event says so
            _count_nested(nested, tally, levels - 1)


def _nested_type(file: Path, member: Member) -> str:
    """What a member is. Of a text only whether it is mail: its encoding, which costs time, matters when it is read."""
    from streams.decode.identify import identify, looks_like_text
    from streams.decode.signatures import by_signature, pdf_offset
    from streams.decode.text_probe import probe

    with file.open("rb") as opened:
        head = opened.read(_PROBED)
    if by_signature(head) is None and pdf_offset(head) is None and looks_like_text(head):
        return probe(head.decode("latin-1"), whole=False, tail="", file_name=member.path).media_type
    return identify(file, member.size, file_name=member.path, http_content_type=None).media_type


__all__ = ["Limits", "Member", "Unpacked", "is_archive", "may_have_members", "unpack"]
