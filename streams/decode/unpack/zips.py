"""Members of a ZIP, whatever its directory claims; their names in the characters that their maker had.

Source: PKWARE APPNOTE 6.3.10. `zipfile` is not used: it keeps an object for each of possibly millions of entries, reads
names as code page 437, and knows no Deflate64 and no Zstandard.
"""

from __future__ import annotations

import stat
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from streams.decode.labels import codec_of
from streams.decode.unpack import decoders
from streams.decode.unpack.model import MemberError, Sink, TooMuchError, UnpackError
from streams.decode.unpack.names_charset import charset_of_names
from streams.decode.unpack.zip_directory import (
    ENCRYPTED,
    Directory,
    Entry,
    TooManyEntriesError,
    data_offset,
    read_directory,
)

_FOLDERS_TOO = 5
"""Entries for each member that is allowed: folders and links are entries as well."""
_AES = 99


def unpack(path: Path, sink: Sink) -> None:
    """Puts the members of the ZIP at `path` into the sink.

    Raises:
        UnpackError: nothing in it can be read.
        TooMuchError: more comes out of it than may, or its members share their bytes.
    """
    size = path.stat().st_size
    most = sink.limits.members * _FOLDERS_TOO
    with path.open("rb") as file:
        try:
            directory = read_directory(file, size, most)
        except TooManyEntriesError as error:
            raise TooMuchError(str(error)) from None
        entries = [entry for entry in directory.entries if not entry.folder]
        _refuse_overlaps(entries)
        if directory.damaged:
            sink.warn("damaged_directory")
        charset = charset_of_names([entry.raw_name for entry in entries if entry.unicode_name is None])
        for entry in entries:
            _add(file, size, entry, charset, sink)
    _refuse_nothing(directory, sink)


def _refuse_overlaps(entries: list[Entry]) -> None:
    """Raises TooMuchError where members share their bytes, which no archiver writes: a bomb that needs no nesting.

    Source: D. Fifield, "A better zip bomb", WOOT 2019. What a damaged size makes overlap is little, and harmless.
    """
    overlaps = end = 0
    for entry in sorted(entries, key=lambda entry: entry.offset):
        overlaps += entry.offset < end
        end = max(end, entry.offset + 30 + len(entry.raw_name) + (entry.compressed or 0))
    if overlaps > 1 and sum(entry.compressed or 0 for entry in entries) > 2 * end:
        raise TooMuchError(f"{overlaps} members that share their bytes with others")


def _refuse_nothing(directory: Directory, sink: Sink) -> None:
    """Raises UnpackError where damage left nothing at all: the container is what is damaged then."""
    codes = {member.failure.code if member.failure else "" for member in sink.members}
    if codes - {"corrupt", "truncated"} or not (codes or directory.damaged):
        return
    if not directory.has_end:
        raise UnpackError("truncated", "The ZIP is cut off: it has no directory, and no member is whole.")
    raise UnpackError("corrupt", "The ZIP is damaged: no member of it can be read.")


def _add(file: BinaryIO, size: int, entry: Entry, charset: str, sink: Sink) -> None:
    kind = stat.S_IFMT(entry.mode)
    if kind == stat.S_IFLNK:
        sink.warn("links_left_out")
        return
    if kind in (stat.S_IFCHR, stat.S_IFBLK, stat.S_IFIFO, stat.S_IFSOCK):
        sink.warn("devices_left_out")
        return
    name = entry.unicode_name
    if name is None:
        name = entry.raw_name.decode(codec_of(charset), "replace")
    if entry.flags & ENCRYPTED or entry.method == _AES:
        sink.fail(name, "encrypted", "It is encrypted.", modified_at=entry.modified_at)
        return
    sink.add(name, _content(file, size, entry), modified_at=entry.modified_at)


def _content(file: BinaryIO, size: int, entry: Entry) -> Iterator[bytes]:
    """The bytes of a member, checked against its CRC. Raises MemberError."""
    start = data_offset(file, entry)
    if start is None:
        raise MemberError("corrupt", "There is no member where the directory says.")
    compressed = size - start if entry.compressed is None else entry.compressed
    if entry.compressed is not None and start + compressed > size:
        missing = start + compressed - size
        raise MemberError("truncated", f"It is cut off: {missing} of its {compressed} bytes are missing.")
    pieces = decoders.read(file, start, compressed)
    yield from decoders.checked(_decompressed(pieces, entry), entry.crc)


def _decompressed(pieces: Iterator[bytes], entry: Entry) -> Iterator[bytes]:
    match entry.method:  # APPNOTE 4.4.5; 20 is what 93 was called at first
        case 0:
            return pieces
        case 8:
            return decoders.inflate(pieces)
        case 9:
            return decoders.inflate_64(pieces)
        case 12:
            return decoders.bunzip2(pieces)
        case 14:
            return _lzma(pieces, entry)
        case 20 | 93:
            return decoders.unzstd(pieces)
        case 95:
            return decoders.unxz(pieces)
        case _:
            raise MemberError("unsupported_format", f"It is compressed by method {entry.method}, which can't be read.")


def _lzma(pieces: Iterator[bytes], entry: Entry) -> Iterator[bytes]:
    """LZMA behind the header that ZIP gives it (APPNOTE 5.8.8)."""
    head = b""
    for piece in pieces:
        head += piece
        if len(head) >= 9:
            break
    if len(head) < 9 or struct.unpack_from("<H", head, 2)[0] != 5:
        raise MemberError("corrupt", "Its header of LZMA is damaged.")
    one = decoders.lzma1_filter(head[4:9])
    marked_end = bool(entry.flags & 2)

    def rest() -> Iterator[bytes]:
        yield head[9:]
        yield from pieces

    yield from decoders.raw_lzma(rest(), [one], None if marked_end else entry.size)
