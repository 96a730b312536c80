"""The header of a 7z: which streams there are, how each is packed, and which files they hold.

Source: `7zFormat.txt` of the LZMA SDK. Every count is bounded before anything is kept for it: a header of some bytes,
packed itself, may claim billions.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator
from datetime import datetime

import msgspec

from streams.decode.unpack.zip_directory import file_time

SIGNATURE = b"7z\xbc\xaf\x27\x1c"
START = 32
"""Bytes of the first header; positions count from behind it."""
MAX_HEADER = 32 << 20
_MAX_CODERS = 16

_HEADER, _MAIN_STREAMS, _FILES, _PACK, _UNPACK, _SUBSTREAMS = 0x01, 0x04, 0x05, 0x06, 0x07, 0x08
_SIZE, _CRC, _FOLDER, _UNPACK_SIZE, _NUM_STREAMS = 0x09, 0x0A, 0x0B, 0x0C, 0x0D
_EMPTY_STREAM, _EMPTY_FILE, _ANTI, _NAMES, _WRITTEN, _ATTRIBUTES, _ENCODED = 0x0E, 0x0F, 0x10, 0x11, 0x14, 0x15, 0x17


class HeaderError(Exception):
    """The header can't be."""


class TooManyFilesError(Exception):
    """The header lists more files or streams than anybody needs."""


class Coder(msgspec.Struct, frozen=True):
    """One step of packing, and how many bytes come out of it."""

    method: bytes
    properties: bytes
    size: int


class Folder(msgspec.Struct, kw_only=True):
    """A packed stream: one or, in a solid archive, many files in one go."""

    coders: list[Coder]  # from the packed bytes to the files; empty: branched, as BCJ2 is
    size: int
    crc: int | None = None
    start: int = 0  # of the packed bytes in the file
    packed: int = 0
    streams: int = 1  # files in it


class File(msgspec.Struct, kw_only=True):
    """An entry. `stream`: it has bytes; without them it is a folder, or empty."""

    name: str = ""
    stream: bool = True
    folder: bool = False
    anti: bool = False  # it says that a file is to be deleted
    size: int = 0
    crc: int | None = None
    attributes: int = 0
    modified_at: datetime | None = None


class Header(msgspec.Struct, kw_only=True):
    """What a 7z says of itself."""

    folders: list[Folder] = []
    files: list[File] = []


class Reader:
    """A cursor over a header. Raises HeaderError at its end."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def left(self) -> int:
        return len(self._data) - self._at

    def take(self, count: int) -> bytes:
        if not 0 <= count <= self.left:
            raise HeaderError("it ends too early")
        self._at += count
        return self._data[self._at - count : self._at]

    def byte(self) -> int:
        return self.take(1)[0]

    def number(self) -> int:
        """A number of 1 to 9 bytes: the ones at the front of the first byte say how many follow."""
        first = self.byte()
        mask, value = 0x80, 0
        for count in range(8):
            if not first & mask:
                return value | (first & (mask - 1)) << (8 * count)
            value |= self.byte() << (8 * count)
            mask >>= 1
        return value

    def bits(self, count: int) -> list[bool]:
        data = self.take((count + 7) // 8)
        return [bool(data[i >> 3] & (0x80 >> (i & 7))) for i in range(count)]

    def defined(self, count: int) -> list[bool]:
        return [True] * count if self.byte() else self.bits(count)

    def crcs(self, count: int) -> list[int | None]:
        return [struct.unpack("<I", self.take(4))[0] if known else None for known in self.defined(count)]


def read_header(
    read: Callable[[int, int], bytes], size: int, unpacked: Callable[[Folder], Iterator[bytes]], most: int
) -> Header:
    """The header of a 7z of `size` bytes.

    Args:
        read: bytes of the file, by start and count.
        unpacked: what is packed in a folder; a header is mostly packed itself.
        most: files, or streams of them, that may be listed.

    Raises:
        HeaderError: it is damaged; TooManyFilesError.
    """
    first = read(0, START)
    if len(first) < START or first[:6] != SIGNATURE or zlib.crc32(first[12:]) != struct.unpack_from("<I", first, 8)[0]:
        raise HeaderError("its first 32 bytes are damaged")
    start, length, crc = struct.unpack_from("<QQI", first, 12)
    if START + start + length > size:
        raise EOFError("it is cut off: its header is missing")
    if not length:
        return Header()
    if length > MAX_HEADER:
        raise HeaderError(f"its header claims {length} bytes")
    data = read(START + start, length)
    for _ in range(4):  # headers may be packed more than once
        if zlib.crc32(data) != crc:
            raise HeaderError("its header has a wrong checksum")
        reader = Reader(data)
        kind = reader.number()
        if kind == _HEADER:
            return _plain(reader, most)
        if kind != _ENCODED:
            break
        folders = _streams(reader, most)[0]
        if len(folders) != 1 or folders[0].size > MAX_HEADER:
            raise HeaderError("its header is packed in a way that can't be")
        data = b"".join(unpacked(folders[0]))
        crc = folders[0].crc if folders[0].crc is not None else zlib.crc32(data)
    raise HeaderError("it has no header")


def _plain(reader: Reader, most: int) -> Header:
    header = Header()
    sizes: list[tuple[int, int | None]] = []
    while kind := reader.number():
        if kind == 0x02:
            while reader.number():
                reader.take(reader.number())
        elif kind == 0x03:
            _streams(reader, most)
        elif kind == _MAIN_STREAMS:
            header.folders, sizes = _streams(reader, most)
        elif kind == _FILES:
            header.files = _files(reader, most)
        else:
            raise HeaderError(f"an unknown part {kind:#x}")
    with_bytes = [file for file in header.files if file.stream]
    if len(with_bytes) != len(sizes):
        raise HeaderError(f"{len(with_bytes)} files share {len(sizes)} streams")
    for file, (size, crc) in zip(with_bytes, sizes, strict=True):
        file.size, file.crc = size, crc
    return header


def _streams(reader: Reader, most: int) -> tuple[list[Folder], list[tuple[int, int | None]]]:
    """The folders, and size and CRC of each file in them."""
    start, packed = 0, list[int]()
    folders: list[Folder] = []
    consumed: list[int] = []
    files: list[tuple[int, int | None]] | None = None
    while kind := reader.number():
        if kind == _PACK:
            start, packed = _packed(reader, most)
        elif kind == _UNPACK:
            folders, consumed = _folders(reader, most)
        elif kind == _SUBSTREAMS:
            files = _substreams(reader, folders, most)
        else:
            raise HeaderError(f"an unknown part {kind:#x}")
    if sum(consumed) > len(packed):
        raise HeaderError("there are fewer packed streams than folders")
    at, position = 0, START + start
    for folder, count in zip(folders, consumed, strict=True):
        folder.start, folder.packed = position, packed[at]
        position += sum(packed[at : at + count])
        at += count
    return folders, [(folder.size, folder.crc) for folder in folders] if files is None else files


def _packed(reader: Reader, most: int) -> tuple[int, list[int]]:
    start, count = reader.number(), _count(reader, most)
    sizes: list[int] = []
    while kind := reader.number():
        if kind == _SIZE:
            sizes = [reader.number() for _ in range(count)]
        elif kind == _CRC:
            reader.crcs(count)
        else:
            raise HeaderError(f"an unknown part {kind:#x}")
    return start, sizes


def _count(reader: Reader, most: int) -> int:
    count = reader.number()
    if count > most:
        raise TooManyFilesError
    return count


def _folders(reader: Reader, most: int) -> tuple[list[Folder], list[int]]:
    """The folders, and how many packed streams each takes."""
    if reader.number() != _FOLDER:
        raise HeaderError("no folders where they must be")
    count = _count(reader, most)
    if reader.byte():
        raise HeaderError("its folders are described elsewhere")
    raw = [_coders(reader) for _ in range(count)]
    if reader.number() != _UNPACK_SIZE:
        raise HeaderError("no sizes where they must be")
    folders: list[Folder] = []
    for methods, order, main, _, outputs in raw:
        sizes = [reader.number() for _ in range(outputs)]
        coders = [Coder(methods[index][0], methods[index][1], sizes[index]) for index in order]
        folders.append(Folder(coders=coders, size=sizes[main]))
    while kind := reader.number():
        if kind != _CRC:
            raise HeaderError(f"an unknown part {kind:#x}")
        for folder, crc in zip(folders, reader.crcs(count), strict=True):
            folder.crc = crc
    return folders, [packed for _, _, _, packed, _ in raw]


def _coders(reader: Reader) -> tuple[list[tuple[bytes, bytes]], list[int], int, int, int]:
    """Methods with properties, their order from the packed bytes on, the last output, and numbers of in- and outputs.

    The order is empty where the coders are no chain.
    """
    count = reader.number()
    if not 0 < count <= _MAX_CODERS:
        raise HeaderError(f"{count} coders in a folder")
    methods: list[tuple[bytes, bytes]] = []
    inputs = outputs = 0
    for _ in range(count):
        flags = reader.byte()
        method = reader.take(flags & 15)
        ins, outs = (reader.number(), reader.number()) if flags & 0x10 else (1, 1)
        if not (0 < ins <= _MAX_CODERS and outs == 1):
            raise HeaderError("a coder with too many streams")
        methods.append((method, reader.take(reader.number()) if flags & 0x20 else b""))
        inputs, outputs = inputs + ins, outputs + outs
    bound = [(reader.number(), reader.number()) for _ in range(outputs - 1)]  # (input, the output that feeds it)
    packed = inputs - len(bound)
    if packed < 1:
        raise HeaderError("a folder without packed bytes")
    if packed > 1:
        for _ in range(packed):
            reader.number()
    ends = set(range(outputs)) - {output for _, output in bound}
    if len(ends) != 1:
        raise HeaderError("a folder whose coders are not joined")
    main = ends.pop()
    return methods, _chain(main, dict(bound), count) if inputs == count else [], main, packed, outputs


def _chain(main: int, feeds: dict[int, int], count: int) -> list[int]:
    """The coders from the packed bytes to the last output."""
    order = [main]
    while order[-1] in feeds and len(order) <= count:
        order.append(feeds[order[-1]])
    if len(order) != count or len(set(order)) != count or max(order) >= count:
        raise HeaderError("a folder whose coders go round in a circle")
    return order[::-1]


def _substreams(reader: Reader, folders: list[Folder], most: int) -> list[tuple[int, int | None]]:
    kind = reader.number()
    if kind == _NUM_STREAMS:
        total = 0
        for folder in folders:
            folder.streams = reader.number()
            total += folder.streams
            if total > most:
                raise TooManyFilesError
        kind = reader.number()
    sizes: list[int] = []
    known: list[int | None] = []
    for folder in folders:
        rest = folder.size
        for _ in range(folder.streams - 1):
            size = reader.number() if kind == _SIZE else 0
            sizes.append(size)
            rest -= size
        if folder.streams:
            sizes.append(rest)
        if rest < 0:
            raise HeaderError("files larger than what they are packed in")
        known += [folder.crc] if folder.streams == 1 else [None] * folder.streams
    if kind == _SIZE:
        kind = reader.number()
    while kind:
        if kind != _CRC:
            raise HeaderError(f"an unknown part {kind:#x}")
        unknown = [index for index, crc in enumerate(known) if crc is None]
        for index, crc in zip(unknown, reader.crcs(len(unknown)), strict=True):
            known[index] = crc
        kind = reader.number()
    return list(zip(sizes, known, strict=True))


def _files(reader: Reader, most: int) -> list[File]:
    count = _count(reader, most)
    files = [File() for _ in range(count)]
    without: list[File] = []
    while kind := reader.number():
        part = Reader(reader.take(reader.number()))
        if kind == _EMPTY_STREAM:
            for file, empty in zip(files, part.bits(count), strict=True):
                file.stream = not empty
                file.folder = empty
            without = [file for file in files if not file.stream]
        elif kind == _EMPTY_FILE:
            for file, empty in zip(without, part.bits(len(without)), strict=True):
                file.folder = not empty
        elif kind == _ANTI:
            for file, anti in zip(without, part.bits(len(without)), strict=True):
                file.anti = anti
        elif kind == _NAMES:
            _names(part, files)
        elif kind in (_WRITTEN, _ATTRIBUTES):
            _properties(part, kind, files)
    return files


def _names(part: Reader, files: list[File]) -> None:
    if part.byte():
        raise HeaderError("its names are described elsewhere")
    data = part.take(part.left)
    names = data[: len(data) // 2 * 2].decode("utf-16-le", "replace").split("\0")
    if len(names) < len(files):
        raise HeaderError("there are fewer names than files")
    for file, name in zip(files, names, strict=False):
        file.name = name


def _properties(part: Reader, kind: int, files: list[File]) -> None:
    known = part.defined(len(files))
    if part.byte():
        raise HeaderError("its properties are described elsewhere")
    for file, there in zip(files, known, strict=True):
        if not there:
            continue
        if kind == _WRITTEN:
            file.modified_at = file_time(struct.unpack("<Q", part.take(8))[0])
        else:
            file.attributes = struct.unpack("<I", part.take(4))[0]
