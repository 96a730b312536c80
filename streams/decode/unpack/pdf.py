"""Files attached to a PDF: those of the document, of a portfolio, and of annotations on its pages.

Most PDFs have none, and must not cost anything: the bytes are searched for the names that an attachment needs, and only
where these are, or may be hidden in a compressed object, is the file opened.
Source: ISO 32000-2, 7.7.4 (name tree EmbeddedFiles), 7.11.3 and 7.11.4 (file specifications), 12.5.6.15 (annotations).
"""

from __future__ import annotations

import mmap
import re
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pymupdf
from pymupdf import mupdf

from streams.decode.unpack.model import MemberError, Sink, UnpackError

_TELLING = (b"EmbeddedFile", b"FileAttachment")
_OBJECTS = re.compile(rb"/ObjStm")
_STREAM = re.compile(rb"stream\r?\n")
MAX_OBJECTS = 64 << 20
"""Bytes of one stream of compressed objects that are searched."""
MAX_ANNOTATIONS = 200_000
"""Annotations of one file that are looked at."""
MAX_OTHER = 16 << 20
"""Bytes of a stream in another filter than Flate, which can only be undone in memory."""
_DATE = re.compile(r"(?:D:)?(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?(?:([+-Z])(?:(\d\d)'?(\d\d)?)?)?")
_ERRORS = (RuntimeError, ValueError, mupdf.FzErrorBase)


def unpack(path: Path, sink: Sink) -> None:
    """The files attached to the PDF at `path`. One that needs a password has none that can be told; no error.

    A warning of a member is `annotation`: it is attached to a place on a page. Raises UnpackError(corrupt).
    """
    if not _may_have_files(path):
        return
    pymupdf.TOOLS.mupdf_display_errors(False)
    pymupdf.TOOLS.mupdf_display_warnings(False)
    try:
        with pymupdf.open(path, filetype="pdf") as document:
            if document.needs_pass:
                return
            _Files(document, sink).read()
    except _ERRORS as error:
        raise UnpackError("corrupt", f"The PDF can't be opened: {error}.") from None


def _may_have_files(path: Path) -> bool:
    """Whether the names that an attachment needs stand in the file, its compressed objects included.

    What can't be looked into, an encrypted file say, may have some.
    """
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        if any(data.find(word) >= 0 for word in _TELLING):
            return True
        return any(_is_telling(data, found.end()) for found in _OBJECTS.finditer(data))


def _is_telling(data: mmap.mmap, at: int) -> bool:
    """Whether a stream of compressed objects, the middle of whose dictionary is at `at`, has one of the names."""
    dictionary = data[max(0, at - 1000) : at + 1000]
    begin = _STREAM.search(data, at, at + 2000)
    if begin is None or b"/Predictor" in dictionary or b"/FlateDecode" not in dictionary:
        return True
    machine, before, size, at = zlib.decompressobj(), b"", 0, begin.end()
    try:
        while not machine.eof and at < len(data):
            out = machine.decompress(data[at : at + (1 << 16)], 1 << 20)
            at += (1 << 16) - len(machine.unconsumed_tail)
            size += len(out)
            if any(word in before + out for word in _TELLING) or size > MAX_OBJECTS:
                return True
            before = out[-16:]
    except zlib.error:
        return True
    return not machine.eof


class _Files:
    def __init__(self, document: Any, sink: Sink) -> None:
        self.document = document
        self.pdf = mupdf.pdf_document_from_fz_document(document)
        self.sink = sink
        self.seen: set[int] = set()  # streams: one file may be attached in several ways

    def read(self) -> None:
        try:
            tree = mupdf.pdf_load_name_tree(self.pdf, mupdf.pdf_new_name("EmbeddedFiles"))
            for index in range(mupdf.pdf_dict_len(tree)):
                name = mupdf.pdf_to_text_string(mupdf.pdf_dict_get_key(tree, index))
                self._file(mupdf.pdf_dict_get_val(tree, index), name, [])
        except _ERRORS:
            self.sink.warn("attachments_damaged")
        self._annotations()

    def _annotations(self) -> None:
        looked_at = 0
        for number in range(self.document.page_count):
            try:
                page = mupdf.pdf_lookup_page_obj(self.pdf, number)
                annotations = mupdf.pdf_dict_gets(page, "Annots")
                for index in range(mupdf.pdf_array_len(annotations)):
                    looked_at += 1
                    annotation = mupdf.pdf_array_get(annotations, index)
                    if mupdf.pdf_to_name(mupdf.pdf_dict_gets(annotation, "Subtype")) == "FileAttachment":
                        said = mupdf.pdf_to_text_string(mupdf.pdf_dict_gets(annotation, "Contents"))
                        self._file(mupdf.pdf_dict_gets(annotation, "FS"), said, ["annotation"])
            except _ERRORS:
                self.sink.warn("attachments_damaged")
            if looked_at > MAX_ANNOTATIONS:
                self.sink.warn("members_left_out")
                return

    def _file(self, specification: Any, fallback: str, warnings: list[str]) -> None:
        """One file specification."""
        names = (
            mupdf.pdf_to_text_string(mupdf.pdf_dict_gets(specification, key)) for key in ("UF", "F", "Unix", "DOS")
        )
        name = next((found for found in names if found), "") or fallback or f"attachment-{len(self.sink.members) + 1}"
        embedded = mupdf.pdf_dict_gets(specification, "EF")
        streams = (mupdf.pdf_dict_gets(embedded, key) for key in ("UF", "F", "Unix", "DOS", "Mac"))
        stream = next((found for found in streams if mupdf.pdf_is_stream(found)), None)
        if stream is None:
            self.sink.fail(name, "broken_link", "The PDF names the file and does not hold it.")
            return
        number = mupdf.pdf_to_num(stream)
        if number in self.seen:
            return
        self.seen.add(number)
        parameters = mupdf.pdf_dict_gets(stream, "Params")
        dates = (mupdf.pdf_to_text_string(mupdf.pdf_dict_gets(parameters, key)) for key in ("ModDate", "CreationDate"))
        changed = next((found for found in map(moment, dates) if found is not None), None)
        media_type = mupdf.pdf_to_name(mupdf.pdf_dict_gets(stream, "Subtype")).lower()
        self.sink.add(
            name,
            self._chunks(number, warnings),
            media_type=media_type if "/" in media_type else None,
            modified_at=changed,
            warnings=warnings,
        )

    def _chunks(self, number: int, warnings: list[str]) -> Iterator[bytes]:
        """The bytes of a stream. Flate, which can hide gigabytes in little, is undone piece by piece."""
        try:
            _, filters = self.document.xref_get_key(number, "Filter")
            plain_flate = filters.strip("[] ") in ("/FlateDecode", "/Fl")
            parameters = self.document.xref_get_key(number, "DecodeParms")[0]
            raw = self.document.xref_stream_raw(number)
            if filters == "null" or filters.strip("[] ") == "":
                yield from _pieces(raw)
            elif plain_flate and parameters == "null":
                yield from _inflated(raw, warnings)
            elif len(raw) > MAX_OTHER:
                raise MemberError(
                    "too_large", f"The file is stored with {filters}, and in more than {MAX_OTHER} bytes."
                )
            else:
                yield from _pieces(self.document.xref_stream(number))
        except _ERRORS as error:
            raise MemberError("corrupt", f"The file can't be read: {error}.") from None


def _pieces(data: bytes) -> Iterator[bytes]:
    for at in range(0, len(data), 1 << 16):
        yield data[at : at + (1 << 16)]


def _inflated(data: bytes, warnings: list[str]) -> Iterator[bytes]:
    machine = zlib.decompressobj()
    try:
        while not machine.eof:
            out = machine.decompress(data, 1 << 16)
            data = machine.unconsumed_tail
            if out:
                yield out
            elif not data:
                break
    except zlib.error as error:
        raise MemberError("corrupt", f"Its compressed data are damaged: {error}.") from None
    if not machine.eof:
        warnings.append("end_missing")


def moment(text: str) -> datetime | None:
    """A date as PDF writes it (7.9.4), in UTC; None for what is none."""
    found = _DATE.match(text.strip())
    if found is None:
        return None
    year, month, day, hour, minute, second = (int(part) if part else None for part in found.groups()[:6])
    try:
        offset = timedelta(hours=int(found[8] or 0), minutes=int(found[9] or 0))
        zone = timezone(-offset if found[7] == "-" else offset)
        value = datetime(year or 0, month or 1, day or 1, hour or 0, minute or 0, second or 0, tzinfo=zone)
        return value.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
