"""Members of a 7z. A solid block is unpacked once, from front to back, and each member is cut out of it.

py7zr is not used: it gives blocks of up to 128 MB, decodes Deflate and Deflate64 without a bound, and keeps a
dictionary for each of possibly millions of entries before anything can be counted.
"""

from __future__ import annotations

import lzma
import stat
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from streams.decode.unpack import decoders
from streams.decode.unpack.model import MemberError, Sink, TooMuchError, UnpackError
from streams.decode.unpack.sevenzip_header import (
    Coder,
    File,
    Folder,
    Header,
    HeaderError,
    TooManyFilesError,
    read_header,
)

_FOLDERS_TOO = 5
"""Entries for each member that is allowed: folders and links are entries as well."""
_AES = b"\x06\xf1\x07\x01"
_COPY, _DELTA, _LZMA, _LZMA2 = b"\x00", b"\x03", b"\x03\x01\x01", b"\x21"
_BRANCHES = {
    b"\x03\x03\x01\x03": "BCJDecoder",
    b"\x03\x03\x02\x05": "PPCDecoder",
    b"\x03\x03\x04\x01": "IA64Decoder",
    b"\x03\x03\x05\x01": "ARMDecoder",
    b"\x03\x03\x07\x01": "ARMTDecoder",
    b"\x03\x03\x08\x05": "SparcDecoder",
    b"\x04": "BCJDecoder",
    b"\x05": "PPCDecoder",
    b"\x06": "IA64Decoder",
    b"\x07": "ARMDecoder",
    b"\x08": "ARMTDecoder",
    b"\x09": "SparcDecoder",
}
"""Filters for machine code, by their old and their new numbers."""
_UNREAD = {b"\x03\x04\x01": "PPMd", b"\x04\xf7\x11\x02": "Brotli", b"\x04\xf7\x11\x04": "LZ4"}
"""Methods by name that are not read. PPMd: its library for Python destroys the heap when the data are damaged."""
_UNIX_MODE = 0x8000
_REPARSE_POINT = 0x400


def unpack(path: Path, sink: Sink) -> None:
    """Puts the members of the 7z at `path` into the sink.

    Raises:
        UnpackError: its header is damaged, cut off or encrypted.
        TooMuchError: more comes out of it than may.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        header = _header(file, size, sink)
        for folder, files in _groups(header):
            if folder is None:
                _add_empty(files[0], sink)
            else:
                _Block(file, folder, files).add_to(sink)


def _header(file: BinaryIO, size: int, sink: Sink) -> Header:
    def read(start: int, count: int) -> bytes:
        file.seek(start)
        return file.read(count)

    def unpacked(folder: Folder) -> Iterator[bytes]:
        for piece in _decoded(file, folder):
            sink.passed(len(piece))
            yield piece

    most = sink.limits.members * _FOLDERS_TOO
    try:
        return read_header(read, size, unpacked, most)
    except TooManyFilesError:
        raise TooMuchError(f"more than {most} entries") from None
    except EOFError:
        raise UnpackError("truncated", "The 7z is cut off: its header, which stands at the end, is missing.") from None
    except HeaderError as error:
        raise UnpackError("corrupt", f"The 7z is damaged: {error}.") from None
    except MemberError as error:
        if error.code == "encrypted":
            raise UnpackError("encrypted", "The 7z is encrypted, its names as well.") from None
        raise UnpackError(error.code, f"The header of the 7z can't be unpacked: {error.message}") from None


def _groups(header: Header) -> Iterator[tuple[Folder | None, list[File]]]:
    """The entries in their order: those without bytes one by one, the others with the block that they share."""
    blocks = iter(header.folders)
    left: list[File] = []
    folder: Folder | None = None
    for file in header.files:
        if not file.stream:
            yield None, [file]
            continue
        if folder is None:
            folder = next(blocks, None)
            while folder is not None and not folder.streams:
                folder = next(blocks, None)
        if folder is None:
            raise UnpackError("corrupt", "The 7z is damaged: it lists more files than it holds.")
        left.append(file)
        if len(left) == folder.streams:
            yield folder, left
            folder, left = None, []


def _add_empty(file: File, sink: Sink) -> None:
    if not (file.folder or file.anti or file.attributes & 0x10):
        sink.add(file.name, (), modified_at=file.modified_at)


class _Block:
    """One packed stream and the files in it."""

    def __init__(self, file: BinaryIO, folder: Folder, files: list[File]) -> None:
        self._files = files
        self._pieces = _decoded(file, folder)
        self._rest = b""
        self._failure: MemberError | None = None

    def add_to(self, sink: Sink) -> None:
        for file in self._files:
            mode = file.attributes >> 16 if file.attributes & _UNIX_MODE else 0
            kind = stat.S_IFMT(mode)
            if kind == stat.S_IFLNK or file.attributes & _REPARSE_POINT:
                sink.warn("links_left_out")
            elif kind in (stat.S_IFCHR, stat.S_IFBLK, stat.S_IFIFO, stat.S_IFSOCK):
                sink.warn("devices_left_out")
            else:
                sink.add(file.name, self._content(file), modified_at=file.modified_at)
                continue
            try:
                for piece in self._take(file.size):
                    sink.passed(len(piece))
            except MemberError:
                continue  # the members behind it say so

    def _content(self, file: File) -> Iterator[bytes]:
        crc = 0
        for piece in self._take(file.size):
            crc = zlib.crc32(piece, crc)
            yield piece
        if file.crc is not None and crc != file.crc:
            raise MemberError("corrupt", f"It is damaged: its checksum is {crc:08x}, not {file.crc:08x}.")

    def _take(self, size: int) -> Iterator[bytes]:
        """The next `size` bytes. Where the stream breaks, it is broken for all that follow."""
        while size > 0:
            if not self._rest:
                self._rest = self._next()
            piece, self._rest = self._rest[:size], self._rest[size:]
            size -= len(piece)
            yield piece

    def _next(self) -> bytes:
        if self._failure is None:
            try:
                while (piece := next(self._pieces, None)) is not None:
                    if piece:
                        return piece
                self._failure = MemberError("truncated", "It is cut off.")
            except MemberError as error:
                self._failure = error
        raise self._failure


def _decoded(file: BinaryIO, folder: Folder) -> Iterator[bytes]:
    """What is packed in a folder. Raises MemberError."""
    if any(coder.method == _AES for coder in folder.coders):
        raise MemberError("encrypted", "It is encrypted.")
    if not folder.coders:
        raise MemberError("unsupported_format", "It is packed by coders that branch (BCJ2), which can't be read.")
    pieces = decoders.read(file, folder.start, folder.packed)
    coders = list(folder.coders)
    while coders:
        coder = coders.pop(0)
        filters = [coder]
        while coder.method in (_LZMA, _LZMA2) and coders and coders[0].method == _DELTA:
            filters.append(coders.pop(0))
        pieces = decoders.take(_step(pieces, coder, filters), filters[-1].size)
    yield from pieces


def _step(pieces: Iterator[bytes], coder: Coder, filters: list[Coder]) -> Iterator[bytes]:
    """What one coder makes of the bytes. Raises MemberError."""
    method = coder.method
    if method == _COPY:
        return pieces
    if method in (_LZMA, _LZMA2):
        return decoders.raw_lzma(pieces, [_filter(one) for one in reversed(filters)], coder.size)
    if method in _BRANCHES:
        return decoders.branch_filter(pieces, _BRANCHES[method], coder.size)
    if method == b"\x04\x01\x08":
        return decoders.inflate(pieces)
    if method == b"\x04\x01\x09":
        return decoders.inflate_64(pieces)
    if method == b"\x04\x02\x02":
        return decoders.bunzip2(pieces)
    if method == b"\x04\xf7\x11\x01":
        return decoders.unzstd(pieces)
    name = _UNREAD.get(method) or f"method {method.hex()}"
    raise MemberError("unsupported_format", f"It is packed by {name}, which can't be read.")


def _filter(coder: Coder) -> dict[str, Any]:
    if coder.method == _LZMA:
        return decoders.lzma1_filter(coder.properties)
    if coder.method == _LZMA2:
        return decoders.lzma2_filter(coder.properties)
    if len(coder.properties) != 1:
        raise MemberError("corrupt", "Its parameters of the delta filter are damaged.")
    return {"id": lzma.FILTER_DELTA, "dist": coder.properties[0] + 1}
