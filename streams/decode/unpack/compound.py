"""Compound files read stream by stream, for what is embedded in them.

Nothing in the file is believed: no chain is followed twice, so that circles and shared sectors cost nothing, and no
stream is longer than its chain. Source: [MS-CFB] 2.1 to 2.6.
"""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Iterable, Iterator
from typing import BinaryIO, Protocol

from streams.decode.ole import SIGNATURE
from streams.decode.unpack.model import MemberError

MAX_ENTRIES = 200_000
"""Entries of a directory that are read."""
MINI_CUTOFF = 4096
_CHUNK = 1 << 16
_MINI = 64
_END = 0xFFFFFFFE


class File(Protocol):
    """What is read from: a file, or a span of one."""

    def seek(self, offset: int, /) -> int: ...
    def read(self, size: int, /) -> bytes: ...


class Span:
    """A part of a file as a file of its own."""

    def __init__(self, file: BinaryIO, start: int, end: int) -> None:
        self.file = file
        self.start = start
        self.end = end
        self.at = start

    def seek(self, offset: int, /) -> int:
        self.at = self.start + offset
        return offset

    def read(self, size: int, /) -> bytes:
        self.file.seek(self.at)
        data = self.file.read(max(0, min(size, self.end - self.at)))
        self.at += len(data)
        return data


class CompoundError(Exception):
    """The file is no compound file that can be read. The message is for a person."""


class Entry:
    """A stream or a storage, with what is in it."""

    def __init__(self, raw: bytes, is_large: bool) -> None:
        (length,) = struct.unpack_from("<H", raw, 64)
        self.name = raw[: max(0, min(length, 64) - 2)].decode("utf-16-le", "replace")
        self.kind = raw[66]  # 1 a storage, 2 a stream, 5 the root
        self.clsid = raw[80:96]
        self.start: int = struct.unpack_from("<I", raw, 116)[0]
        size: int = struct.unpack_from("<Q", raw, 120)[0]
        self.size: int = size if is_large else size & 0xFFFFFFFF
        self.siblings = struct.unpack_from("<II", raw, 68)
        (self.child,) = struct.unpack_from("<I", raw, 76)
        self.entries: list[Entry] = []

    @property
    def is_stream(self) -> bool:
        return self.kind == 2

    def get(self, name: str) -> Entry | None:
        """The entry of this name, in any case, directly below."""
        wanted = name.lower()
        return next((entry for entry in self.entries if entry.name.lower() == wanted), None)

    def stream(self, name: str) -> Entry | None:
        """The stream of this name directly below."""
        entry = self.get(name)
        return entry if entry is not None and entry.is_stream else None

    def storages(self) -> list[Entry]:
        """The storages directly below, by name."""
        return sorted((entry for entry in self.entries if entry.kind == 1), key=lambda entry: entry.name)


class Compound:
    """A compound file that is open. Raises CompoundError where its directory can't be read."""

    def __init__(self, file: File, size: int) -> None:
        self.file = file
        self.size = size
        file.seek(0)
        header = file.read(512)
        if len(header) < 512 or not header.startswith(SIGNATURE):
            raise CompoundError("It is no compound file, or ends within its header.")
        (shift,) = struct.unpack_from("<H", header, 0x1E)
        if shift not in (9, 12):
            raise CompoundError(f"It has sectors of 2^{shift} bytes.")
        self.sector = 1 << shift
        self.total = max(0, (size + self.sector - 1) // self.sector - 1)
        self.fat = self._read_fat(header)
        self._claimed = bytearray(self.total)
        self._chains: dict[int, array[int]] = {}
        directory, mini_fat = struct.unpack_from("<I", header, 0x30)[0], struct.unpack_from("<I", header, 0x3C)[0]
        self.root = self._read_directory(self._claim(directory))
        self._mini_stream = self._claim(self.root.start)
        self._mini_fat = self._table(self._claim(mini_fat))
        self._mini_claimed = bytearray(len(self._mini_fat))

    def chunks(self, entry: Entry) -> Iterator[bytes]:
        """The bytes of a stream. Raises MemberError(corrupt) once they end too early."""
        left = entry.size
        for data in self._pieces(entry):
            yield data[:left]
            left -= len(data)
            if left <= 0:
                return
        if left > 0:
            raise MemberError("corrupt", f"The stream {entry.name!r} lacks {left} of {entry.size} bytes.")

    def read(self, entry: Entry, most: int) -> bytes:
        """The first bytes of a stream, as many as there are."""
        out = bytearray()
        for data in self._pieces(entry):
            out += data
            if len(out) >= most:
                break
        return bytes(out[: min(most, entry.size)])

    def part(self, entry: Entry, offset: int, size: int) -> bytes:
        """Bytes from the middle of a stream; fewer where it ends."""
        size = min(size, entry.size - offset)
        if size <= 0:
            return b""
        if self._is_mini(entry):
            return self.read(entry, entry.size)[offset : offset + size]
        out = bytearray()
        first, within = divmod(offset, self.sector)
        for data in self._pieces(entry, first, within + size):
            out += data
        return bytes(out[within : within + size])

    def part_chunks(self, entry: Entry, offset: int, size: int) -> Iterator[bytes]:
        """The same, piece by piece. Raises MemberError(corrupt) where they are not all there."""
        while size > 0:
            data = self.part(entry, offset, min(size, _CHUNK))
            if not data:
                raise MemberError("corrupt", f"The stream {entry.name!r} lacks {size} bytes.")
            yield data
            offset, size = offset + len(data), size - len(data)

    def available(self, entry: Entry) -> int:
        """How many bytes of a stream are there, which may be fewer than it says."""
        chain = self._chain(entry)
        return min(entry.size, len(chain) * (_MINI if self._is_mini(entry) else self.sector))

    def _is_mini(self, entry: Entry) -> bool:
        return entry.size < MINI_CUTOFF

    def _pieces(self, entry: Entry, first_index: int = 0, most: int | None = None) -> Iterator[bytes]:
        """The sectors of a stream, neighbours together; of a large one, from a place in its chain, as far as needed."""
        chain = self._chain(entry)
        needed = entry.size if most is None else most
        if self._is_mini(entry):
            per_sector = self.sector // _MINI
            for number in chain:
                outer, inner = divmod(number, per_sector)
                if outer >= len(self._mini_stream):
                    return
                data = self._at((self._mini_stream[outer] + 1) * self.sector + inner * _MINI, _MINI)
                yield data
                if len(data) < _MINI:
                    return
            return
        index = first_index
        while index < len(chain) and needed > 0:
            first, count = chain[index], 1
            while (
                index + count < len(chain)
                and chain[index + count] == first + count
                and count * self.sector < min(_CHUNK, needed)
            ):
                count += 1
            data = self._at((first + 1) * self.sector, count * self.sector)
            if data:
                yield data
            if len(data) < count * self.sector:
                return
            needed -= len(data)
            index += count

    def _at(self, offset: int, size: int) -> bytes:
        self.file.seek(offset)
        return self.file.read(size)

    def _chain(self, entry: Entry) -> array[int]:
        key = id(entry)
        if key not in self._chains:
            if entry.size == 0:
                self._chains[key] = array("I")
            elif self._is_mini(entry):
                self._chains[key] = _follow(self._mini_fat, entry.start, self._mini_claimed, entry.size // _MINI + 1)
            else:
                most = (entry.size + self.sector - 1) // self.sector
                self._chains[key] = _follow(self.fat, entry.start, self._claimed, most)
        return self._chains[key]

    def _claim(self, start: int) -> array[int]:
        return _follow(self.fat, start, self._claimed, self.total)

    def _table(self, sectors: Iterable[int]) -> array[int]:
        data = bytearray()
        for sector in sectors:
            data += self._at((sector + 1) * self.sector, self.sector)
        return _numbers(bytes(data))

    def _read_fat(self, header: bytes) -> array[int]:
        sectors = [number for number in struct.unpack_from("<109I", header, 0x4C) if number < self.total]
        (following,) = struct.unpack_from("<I", header, 0x44)
        needed = self.total // (self.sector // 4) + 1
        seen: set[int] = set()
        while following < self.total and following not in seen and len(sectors) < needed:
            seen.add(following)
            numbers = self._table([following])
            if len(numbers) < self.sector // 4:
                break
            sectors += [number for number in numbers[:-1] if number < self.total]
            following = numbers[-1]
        return self._table(dict.fromkeys(sectors[: needed + 1]))

    def _read_directory(self, sectors: array[int]) -> Entry:
        raw: list[bytes] = []
        for sector in sectors:
            data = self._at((sector + 1) * self.sector, self.sector)
            raw += [data[at : at + 128] for at in range(0, len(data) - 127, 128)]
            if len(raw) >= MAX_ENTRIES:
                break
        if not raw:
            raise CompoundError("Its directory is not there.")
        is_large = self.sector == 4096
        root = Entry(raw[0], is_large)
        seen = {0}
        parents = [root]
        while parents:
            parent = parents.pop()
            waiting = [parent.child]
            while waiting:
                number = waiting.pop()
                if number >= len(raw) or number in seen:
                    continue
                seen.add(number)
                entry = Entry(raw[number], is_large)
                waiting += reversed(entry.siblings)
                if entry.kind == 1:
                    parents.append(entry)
                if entry.kind in (1, 2):
                    parent.entries.append(entry)
        return root


def _numbers(data: bytes) -> array[int]:
    found = array("I", data[: len(data) // 4 * 4])
    if sys.byteorder == "big":
        found.byteswap()
    return found


def _follow(table: array[int], start: int, claimed: bytearray, most: int) -> array[int]:
    """A chain until its end, or a sector that is another's or its own."""
    found: array[int] = array("I")
    number = start
    while number < len(claimed) and not claimed[number] and len(found) < most:
        claimed[number] = 1
        found.append(number)
        number = table[number] if number < len(table) else _END
    return found
