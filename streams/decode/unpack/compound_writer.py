"""Storages written as compound files: to be documents of their own, embedded documents have to be written out.

Source: [MS-CFB] 2.1 to 2.6. Version 3, with sectors of 512 bytes.
"""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Callable, Iterable, Iterator

from streams.decode.ole import SIGNATURE
from streams.decode.unpack.compound import MINI_CUTOFF, Compound, Entry
from streams.decode.unpack.model import MemberError

_CHUNK = 1 << 16
_SECTOR = 512
_MINI = 64
_FREE, _END, _FAT, _DIFAT, _NONE = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD, 0xFFFFFFFC, 0xFFFFFFFF


class Node:
    """A stream or storage to be written."""

    def __init__(
        self,
        name: str,
        *,
        size: int = 0,
        chunks: Callable[[], Iterable[bytes]] | None = None,
        nodes: Iterable[Node] = (),
        clsid: bytes = bytes(16),
    ) -> None:
        self.name = name[:31]
        self.size = size
        self.chunks = chunks
        self.nodes = list(nodes)
        self.clsid = clsid
        self.start = _END


def copy_of(compound: Compound, storage: Entry) -> Node:
    """A storage with all that is in it, to be written as a compound file."""
    top = Node("Root Entry", clsid=storage.clsid)
    waiting = [(storage, top)]
    while waiting:
        entry, node = waiting.pop()
        for below in entry.entries:
            if below.is_stream:
                node.nodes.append(stream_node(compound, below))
            else:
                node.nodes.append(Node(below.name, clsid=below.clsid))
                waiting.append((below, node.nodes[-1]))
    return top


def stream_node(compound: Compound, entry: Entry) -> Node:
    """A stream to be written, as far as it is there."""
    size = compound.available(entry)
    return Node(
        entry.name, size=size, chunks=lambda: compound.chunks(entry) if size == entry.size else _cut(compound, entry)
    )


def _cut(compound: Compound, entry: Entry) -> Iterator[bytes]:
    try:
        yield from compound.chunks(entry)
    except MemberError:
        return  # its size was taken down already


def bytes_node(name: str, data: bytes) -> Node:
    """A stream of these bytes."""
    return Node(name, size=len(data), chunks=lambda: (data,))


def written(root: Node) -> Iterator[bytes]:
    """A compound file of version 3, piece by piece: header, directory, small streams, large streams, tables."""
    entries = _directory_order(root)
    small = [node for node, _ in entries if node.chunks is not None and 0 < node.size < MINI_CUTOFF]
    large = [node for node, _ in entries if node.chunks is not None and node.size >= MINI_CUTOFF]
    fat: array[int] = array("I")

    def allot(count: int) -> int:
        """A chain of neighbouring sectors; where it begins."""
        if not count:
            return _END
        begin = len(fat)
        fat.extend(range(begin + 1, begin + count))
        fat.append(_END)
        return begin

    directory_sectors = _sectors(len(entries) * 128)
    directory = allot(directory_sectors)
    mini_fat: array[int] = array("I")
    for node in small:
        node.start, count = len(mini_fat), (node.size + _MINI - 1) // _MINI
        mini_fat.extend(range(node.start + 1, node.start + count))
        mini_fat.append(_END)
    mini_fat_start = allot(_sectors(len(mini_fat) * 4))
    mini_size = len(mini_fat) * _MINI
    root.start = allot(_sectors(mini_size))
    for node in large:
        node.start = allot(_sectors(node.size))
    fat_count, difat_count = _table_sizes(len(fat))
    fat_start = len(fat)
    fat.extend([_FAT] * fat_count)
    fat.extend([_DIFAT] * difat_count)
    yield _header(directory, mini_fat_start, _sectors(len(mini_fat) * 4), fat_start, fat_count, difat_count)
    empty = bytes(68) + b"\xff" * 12 + bytes(48)
    yield _padded(b"".join(_entry(node, links, mini_size) for node, links in entries), _SECTOR, empty)
    yield _padded(_packed(mini_fat), _SECTOR, b"\xff")
    sent = 0
    for node in small:
        yield from _exactly(node, _MINI)
        sent += (node.size + _MINI - 1) // _MINI * _MINI
    yield bytes(-sent % _SECTOR)
    for node in large:
        yield from _exactly(node, _SECTOR)
    yield _padded(_packed(fat), _SECTOR, b"\xff")[: fat_count * _SECTOR]
    for index in range(difat_count):
        first = 109 + index * 127
        numbers = [fat_start + n if n < fat_count else _FREE for n in range(first, first + 127)]
        following = fat_start + fat_count + index + 1 if index + 1 < difat_count else _END
        yield struct.pack("<128I", *numbers, following)


def _sectors(size: int) -> int:
    return (size + _SECTOR - 1) // _SECTOR


def _packed(numbers: array[int]) -> bytes:
    if sys.byteorder == "big":
        numbers = array("I", numbers)
        numbers.byteswap()
    return numbers.tobytes()


def _padded(data: bytes, unit: int, filler: bytes) -> bytes:
    missing = -len(data) % unit
    return data + (filler * (missing // len(filler) + 1))[:missing]


def _exactly(node: Node, unit: int) -> Iterator[bytes]:
    """The bytes of a stream, as many as it says, and up to the end of its last sector."""
    left = node.size
    for data in node.chunks() if node.chunks else ():
        yield data[:left]
        left -= min(left, len(data))
    while left > 0:
        yield bytes(min(left, _CHUNK))
        left -= min(left, _CHUNK)
    yield bytes(-node.size % unit)


def _table_sizes(sectors: int) -> tuple[int, int]:
    """Sectors of the table, and of the table of those that do not fit the header."""
    fat_count = difat_count = 0
    while True:
        needed = (sectors + fat_count + difat_count + 127) // 128
        needed_difat = (max(0, needed - 109) + 126) // 127
        if (needed, needed_difat) == (fat_count, difat_count):
            return fat_count, difat_count
        fat_count, difat_count = needed, needed_difat


def _header(directory: int, mini_fat: int, mini_count: int, fat_start: int, fat_count: int, difat_count: int) -> bytes:
    numbers = [fat_start + n if n < fat_count else _FREE for n in range(109)]
    difat = fat_start + fat_count if difat_count else _END
    return (
        SIGNATURE
        + bytes(16)
        + struct.pack("<HHHHH6x", 0x3E, 3, 0xFFFE, 9, 6)
        + struct.pack("<IIIIIIIII", 0, fat_count, directory, 0, MINI_CUTOFF, mini_fat, mini_count, difat, difat_count)
        + struct.pack("<109I", *numbers)
    )


def _directory_order(root: Node) -> list[tuple[Node, list[int]]]:
    """All entries, each with [left, right, child, is red]: siblings form a balanced tree ([MS-CFB] 2.6.4)."""
    entries: list[tuple[Node, list[int]]] = [(root, [_NONE, _NONE, _NONE, 0])]
    storages = [0]
    while storages:
        parent = storages.pop()
        node, links = entries[parent]
        siblings = sorted(node.nodes, key=lambda n: (len(n.name.encode("utf-16-le")), n.name.upper()))
        first = len(entries)
        for sibling in siblings:
            if sibling.chunks is None:
                storages.append(len(entries))
            entries.append((sibling, [_NONE, _NONE, _NONE, 0]))
        links[2] = _balanced(entries, first, len(siblings))
    return entries


def _balanced(entries: list[tuple[Node, list[int]]], first: int, count: int) -> int:
    """Links a sorted run of entries; the middle one is the top, and the deepest level is red."""
    if not count:
        return _NONE
    deepest = count.bit_length()
    waiting = [(first, first + count, 1)]
    while waiting:
        low, high, level = waiting.pop()
        middle = (low + high) // 2
        links = entries[middle][1]
        links[3] = int(level == deepest and level > 1)
        if low < middle:
            links[0] = (low + middle) // 2
            waiting.append((low, middle, level + 1))
        if middle + 1 < high:
            links[1] = (middle + 1 + high) // 2
            waiting.append((middle + 1, high, level + 1))
    return (first + first + count) // 2


def _entry(node: Node, links: list[int], mini_size: int) -> bytes:
    is_root = node.name == "Root Entry" and links[0] == links[1] == _NONE and node.chunks is None
    kind = 5 if is_root else 1 if node.chunks is None else 2
    name = node.name.encode("utf-16-le", "surrogatepass")[:62]
    size = mini_size if is_root else node.size
    start = node.start if kind != 1 else 0
    return (
        name.ljust(64, b"\x00")
        + struct.pack("<HBB", len(name) + 2, kind, 0 if links[3] else 1)
        + struct.pack("<III", *links[:3])
        + node.clsid
        + bytes(20)
        + struct.pack("<IQ", start, size)
    )
