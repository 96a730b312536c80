"""What an embedded OLE object really is: the file that was dropped in, a package, or a document of its own.

The same storage stands in old Office files, in `.bin` parts of new ones, in Outlook messages and in TNEF. Formulas and
form controls are part of the document that shows them; they are left out, with a warning.
Sources: [MS-OLEDS] 2.2 and 2.3 (native data, CompObj), [MS-OLEPS]; Ole10Native's package header as the Object Packager
writes it.
"""

from __future__ import annotations

import struct
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import BinaryIO

from streams.decode.unpack.compound import Compound, Entry
from streams.decode.unpack.compound_writer import copy_of, written
from streams.decode.unpack.mail_headers import as_text
from streams.decode.unpack.model import MemberError, Sink, TooMuchError

MAX_EXPANDED = 1 << 30
"""Bytes of compressed objects of one document that are expanded to look inside."""
MAX_RATIO = 200
RATIO_FROM = 10 << 20

_WHOLE: dict[str, str] = {
    "worddocument": ".doc",
    "workbook": ".xls",
    "book": ".xls",
    "powerpoint document": ".ppt",
    "pp40": ".ppt",
    "visiodocument": ".vsd",
    "__properties_version1.0": ".msg",
    "quill": ".pub",
    "hwpsummaryinformation": ".hwp",
}
"""Streams that tell a document which is a compound file."""
_PACKAGES: dict[str, str] = {
    "word.document.12": ".docx",
    "word.documentmacroenabled.12": ".docm",
    "excel.sheet.12": ".xlsx",
    "excel.chart.12": ".xlsx",
    "excel.sheetmacroenabled.12": ".xlsm",
    "excel.sheetbinarymacroenabled.12": ".xlsb",
    "powerpoint.show.12": ".pptx",
    "powerpoint.slide.12": ".pptx",
    "powerpoint.slideshow.12": ".ppsx",
    "powerpoint.showmacroenabled.12": ".pptm",
    "visio.drawing.15": ".vsdx",
}
_BEGINNINGS: tuple[tuple[bytes, str], ...] = (
    (b"%PDF-", ".pdf"),
    (b"PK\x03\x04", ".zip"),
    (b"\x89PNG", ".png"),
    (b"\xff\xd8\xff", ".jpg"),
    (b"GIF8", ".gif"),
    (b"BM", ".bmp"),
    (b"{\\rtf", ".rtf"),
    (b"\xd7\xcd\xc6\x9a", ".wmf"),
)
_OPEN_CHART = b"application/vnd.oasis.opendocument.chart"
_SHOWN_ONLY = frozenset({"\x01ole", "\x01compobj", "\x03objinfo", "\x03linkinfo", "\x03print", "\x03eprint"})


class Budget:
    """How much may be expanded to look inside. Raises TooMuchError."""

    def __init__(self, container_size: int) -> None:
        self.container_size = container_size
        self.size = 0

    def take(self, count: int) -> None:
        self.size += count
        if self.size > MAX_EXPANDED or (self.size > RATIO_FROM and self.size > MAX_RATIO * self.container_size):
            raise TooMuchError(f"more than {self.size - count} bytes of compressed objects")


def expanded(chunks: Iterable[bytes], sink: Sink, budget: Budget) -> BinaryIO:
    """An object on the disk, to be read in any order; the caller closes it. Raises MemberError and TooMuchError."""
    file = tempfile.TemporaryFile(dir=sink.into)  # noqa: SIM115 - the caller closes it
    try:
        for chunk in chunks:
            budget.take(len(chunk))
            file.write(chunk)
    except BaseException:
        file.close()
        raise
    return file


def inflated(chunks: Iterable[bytes], size: int) -> Iterator[bytes]:
    """zlib data that give `size` bytes, undone while they stream.

    Writers leave out the end of the data, so that what counts is whether all bytes came. Raises MemberError(corrupt).
    """
    machine = zlib.decompressobj()
    left = size
    try:
        for chunk in chunks:
            data = chunk
            while left > 0 and not machine.eof:
                out = machine.decompress(data, min(left, 1 << 16))
                yield out
                left -= len(out)
                data = machine.unconsumed_tail
                if not data and not out:
                    break
            if left <= 0 or machine.eof:
                break
    except zlib.error as error:
        raise MemberError("corrupt", f"Its compressed data are damaged: {error}.") from None
    if left > 0:
        raise MemberError("corrupt", f"Its compressed data lack {left} of {size} bytes.")


def add_object(
    sink: Sink,
    compound: Compound,
    storage: Entry,
    name: str,
    *,
    key: str | None = None,
    raw: Callable[[], Iterator[bytes]] | None = None,
    warnings: Iterable[str] = (),
    charts_read: bool = False,
) -> None:
    """Gives the sink what an object's storage holds.

    Args:
        name: without an extension, for what has no name of its own.
        raw: the bytes of the file whose root the storage is; null: the storage is written out where it is a document.
        charts_read: the document that holds the object says what its charts say (`streams.extract.ole_charts`).
    """
    streams = {entry.name.lower(): entry for entry in storage.entries if entry.is_stream}
    storages = {entry.name.lower() for entry in storage.entries if not entry.is_stream}
    if "equation native" in streams:
        sink.warn("formulas_left_out")
        return
    if "\x03ocxname" in streams or "\x03ocxdata" in streams or {"f", "o"} <= streams.keys():
        sink.warn("controls_left_out")
        return
    if "vba" in storages or ("project" in streams and "_vba_project" in streams):
        return  # macros
    program = prog_id(compound.read(streams["\x01compobj"], 4096)) if "\x01compobj" in streams else ""
    if program.lower().startswith("equation."):
        sink.warn("formulas_left_out")
        return
    package = streams.get("package") or streams.get("embeddedodf") or streams.get("package_stream")
    if charts_read and (
        (program.lower().startswith("msgraph.chart") and "workbook" in streams)
        or (package is not None and _OPEN_CHART in compound.read(package, 128))
    ):
        return
    native = streams.get("\x01ole10native")
    if native is not None:
        _add_native(sink, compound, native, name, key, warnings)
        return
    if package is not None:
        extension = _PACKAGES.get(program.lower()) or _extension_of(compound.read(package, 8)) or ".bin"
        sink.add(name + extension, compound.chunks(package), key=key, warnings=warnings)
        return
    whole: str | None = next((kind for stream, kind in _WHOLE.items() if stream in streams), None)
    contents = streams.get("contents")
    if whole is None and contents is not None:
        known = _extension_of(compound.read(contents, 8))
        if known is not None:
            sink.add(name + known, compound.chunks(contents), key=key, warnings=warnings)
            return
    if whole is None and not storages and all(_is_picture(stream) for stream in streams):
        _fail_shown(sink, compound, streams.get("\x01ole"), name)
        return
    chunks = raw() if raw is not None else written(copy_of(compound, storage))
    sink.add(name + (whole or ".ole"), chunks, key=key, warnings=warnings)


def _is_picture(stream: str) -> bool:
    return stream in _SHOWN_ONLY or stream.startswith("\x02olepres")


def _fail_shown(sink: Sink, compound: Compound, ole: Entry | None, name: str) -> None:
    """Records an object of which only a picture is there: one that is linked, or whose data are gone."""
    head = compound.read(ole, 8) if ole is not None else b""
    if len(head) == 8 and head[4] & 1:
        sink.fail(name, "broken_link", "The object is a link to a file outside of the document.")
    else:
        sink.fail(name, "unsupported_format", "Of the object there is a picture at most, and no data.")


def _add_native(
    sink: Sink, compound: Compound, entry: Entry, name: str, key: str | None, warnings: Iterable[str]
) -> None:
    head = compound.read(entry, 8192)
    package = _package_header(head)
    if package is None:
        extension = _extension_of(head[4:12]) or ".bin"
        size = max(0, entry.size - 4)
        sink.add(name + extension, compound.part_chunks(entry, 4, size), key=key, warnings=warnings)
        return
    names, is_link, offset = package
    if is_link:
        sink.fail(names or name, "broken_link", "The package is a link to a file outside of the document.")
        return
    (size,) = struct.unpack_from("<I", compound.part(entry, offset, 4).ljust(4, b"\x00"))
    unicode_name = _unicode_label(compound.part(entry, offset + 4 + size, 8192))
    found = unicode_name or names or f"{name}.bin"
    sink.add(found, compound.part_chunks(entry, offset + 4, size), key=key, warnings=warnings)


def _package_header(head: bytes) -> tuple[str, bool, int] | None:
    """Name, whether it is a link, and where the size of the data stands; None: this is no package."""
    if len(head) < 16 or head[4:6] != b"\x02\x00":
        return None
    label_end = head.find(b"\x00", 6)
    path_end = head.find(b"\x00", label_end + 1)
    if label_end < 0 or path_end < 0 or path_end + 9 > len(head):
        return None
    kind, length = struct.unpack_from("<II", head, path_end + 1)
    offset = path_end + 9 + length
    if kind not in (0x00030000, 0x00010000) or length > 4096:
        return None
    name = _base(as_text(head[6:label_end])) or _base(as_text(head[label_end + 1 : path_end]))
    return name, kind == 0x00010000, offset


def _unicode_label(tail: bytes) -> str:
    """The label in UTF-16 behind the data: temporary path, label, path, each with its length in characters."""
    at = 0
    for index in range(2):
        if at + 4 > len(tail):
            return ""
        (length,) = struct.unpack_from("<I", tail, at)
        if length > 2000 or at + 4 + length * 2 > len(tail):
            return ""
        if index == 1:
            return _base(tail[at + 4 : at + 4 + length * 2].decode("utf-16-le", "replace").rstrip("\x00"))
        at += 4 + length * 2
    return ""


def _base(path: str) -> str:
    """The file of a path of another machine."""
    return path.replace("\\", "/").rsplit("/", 1)[-1].strip()


def _extension_of(head: bytes) -> str | None:
    return next((extension for beginning, extension in _BEGINNINGS if head.startswith(beginning)), None)


def prog_id(data: bytes) -> str:
    """The program of an object by its CompObj stream; empty: it does not say ([MS-OLEDS] 2.3.7)."""
    at = 28
    for field in range(3):
        if at + 4 > len(data):
            return ""
        (length,) = struct.unpack_from("<I", data, at)
        at += 4
        if field == 1 and length in (0xFFFFFFFF, 0xFFFFFFFE):
            at += 4
            continue
        if length > 400 or at + length > len(data):
            return ""
        if field == 2:
            return data[at : at + length].rstrip(b"\x00").decode("latin-1")
        at += length
    return ""
