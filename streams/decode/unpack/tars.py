"""Members of a tar, read from front to back in one pass, so that a compressed one need not be unpacked first.

Sources: POSIX.1-2017 `pax`, "ustar Interchange Format" and "pax Header Block"; GNU tar manual, "Basic Tar Format" and
"Storing Sparse Files". `tarfile` is not used: it reads a header of any claimed size into memory, and stops for good
where one header is damaged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from streams.decode.labels import codec_of
from streams.decode.unpack import decoders
from streams.decode.unpack.model import MemberError, Sink, UnpackError
from streams.decode.unpack.names_charset import charset_of_names
from streams.decode.unpack.tar_headers import (
    BLOCK,
    Header,
    Region,
    gnu_sparse_block,
    modified,
    parse_header,
    parse_pax,
    sparse_of_pax,
    sparse_of_text,
)

MAX_META = 1 << 20
"""Bytes of a long name or of a pax header that are read; no file has a name of that length."""
_MAX_LOOKAHEAD = 256 << 20
_MAX_SPARSE_BLOCKS = 10_000
_ZEROS = bytes(decoders.PIECE)

_REGULAR = frozenset(b"0\x007")
_LINKS = frozenset(b"12")
_DEVICES = frozenset(b"346")
_FOLDERS = frozenset(b"5D")


def unpack(path: Path, sink: Sink) -> None:
    """Puts the members of the tar at `path` into the sink. Raises UnpackError, TooMuchError."""
    size = path.stat().st_size

    def content() -> Iterator[bytes]:
        with path.open("rb") as file:
            yield from decoders.read(file, 0, size)

    read_tar(content(), sink, content)


class Source:
    """A stream that is read forwards, and whose end or damage is an answer, not an error."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._rest = memoryview(b"")
        self.failure: MemberError | None = None  # why it ended, unless it ended well

    def some(self, most: int) -> bytes:
        """Up to `most` bytes; empty at the end."""
        while not self._rest:
            try:
                piece = next(self._pieces, None)
            except MemberError as error:
                self.failure = error
                piece = None
            if piece is None:
                return b""
            self._rest = memoryview(piece)
        taken, self._rest = bytes(self._rest[:most]), self._rest[most:]
        return taken

    def read(self, size: int) -> bytes:
        """`size` bytes, or what there is before the end."""
        parts: list[bytes] = []
        while size > 0 and (part := self.some(size)):
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def stream(self, size: int) -> Iterator[bytes]:
        """`size` bytes as they come. Raises MemberError where they end before."""
        while size > 0:
            part = self.some(min(size, decoders.PIECE))
            if not part:
                raise self.failure or MemberError("truncated", f"It is cut off: {size} bytes are missing.")
            size -= len(part)
            yield part


class _Pending(msgspec.Struct):
    """What the headers before a member's own said about it."""

    name: bytes | None = None
    pax: dict[str, bytes] = {}


def read_tar(pieces: Iterator[bytes], sink: Sink, again: Callable[[], Iterator[bytes]]) -> None:
    """Puts the members of a tar that streams into the sink.

    Args:
        again: the same stream from its start, for a look ahead at the names where they are no UTF-8.

    Raises:
        UnpackError: not one header in it is whole.
        TooMuchError: more comes out of it than may.
    """
    reader = _Reader(Source(pieces), sink, again)
    reader.run()
    if not reader.headers:
        raise UnpackError("corrupt", "No header of this tar is whole.")


class _Reader:
    def __init__(self, source: Source, sink: Sink | None, again: Callable[[], Iterator[bytes]]) -> None:
        self._source = source
        self._sink = sink  # none: only names are wanted
        self._again = again
        self._global: dict[str, bytes] = {}
        self._charset: str | None = None
        self._passed = 0
        self.headers = 0
        self.odd_names: list[bytes] = []

    def run(self) -> None:
        pending = _Pending()
        ended = trailing = False
        while block := self._source.read(BLOCK):
            self._pass(len(block))
            if len(block) == BLOCK and not any(block):
                ended = True
                continue
            header = parse_header(block) if len(block) == BLOCK else None
            if header is None:
                trailing = True
                self._warn("trailing_data" if ended else "damaged_headers")
                continue
            self.headers += 1
            ended = False  # archives that were put one behind the other
            pending = self._entry(header, block, pending)
        if self._source.failure is not None:
            self._warn(self._source.failure.code)
        elif not ended and not trailing and self.headers:
            self._warn("truncated")  # no end mark: members may be missing

    def _entry(self, header: Header, block: bytes, pending: _Pending) -> _Pending:
        """Reads what follows one header. Returns what is known for the next one."""
        kind = header.kind
        if kind in b"LKxXgN":
            return self._meta(header, pending)
        pax = {**self._global, **pending.pax}
        size = _number(pax.get("size"), header.size)
        name = pax.get("GNU.sparse.name") or pax.get("path") or pending.name or header.name
        regions: list[Region] | None = None
        real = size
        if kind == ord("S"):
            regions, real = self._old_sparse(block)
        elif kind in _REGULAR and "GNU.sparse.map" in pax:
            regions, real = sparse_of_pax(pax), _number(pax.get("GNU.sparse.size"), size)
        if kind in _LINKS:
            self._warn("links_left_out")
        elif kind in _DEVICES:
            self._warn("devices_left_out")
        elif kind in _FOLDERS or (kind == 0 and name.endswith(b"/")):
            if kind == ord("D"):
                self._skip(size)
        else:
            self._member(name, header, pax, size, regions, real)
        return _Pending()

    def _meta(self, header: Header, pending: _Pending) -> _Pending:
        size = header.size
        data = self._source.read(min(size, MAX_META))
        self._pass(len(data))
        self._skip(size - len(data), padding=-size % BLOCK)
        if size > MAX_META:
            self._warn("damaged_headers")
            return pending
        match chr(header.kind):
            case "L":
                return _Pending(data.rstrip(b"\0"), pending.pax)
            case "x" | "X":
                return _Pending(pending.name, parse_pax(data))
            case "g":
                self._global.update({key: value for key, value in parse_pax(data).items() if key == "mtime"})
        return pending

    def _member(
        self, name: bytes, header: Header, pax: dict[str, bytes], size: int, regions: list[Region] | None, real: int
    ) -> None:
        left = size

        def stored() -> Iterator[bytes]:
            nonlocal left
            for piece in self._source.stream(size):
                left -= len(piece)
                yield piece

        if self._sink is None:
            if not _is_utf8(name):
                self.odd_names.append(name)
        elif header.kind == ord("M"):
            self._sink.fail(self._text(name), "truncated", "It began in another volume of the archive.")
        else:
            when = modified(pax.get("mtime"), header.mtime)
            content = stored()
            if pax.get("GNU.sparse.major") == b"1" and header.kind in _REGULAR:
                content = _sparse_in_front(content, size, _number(pax.get("GNU.sparse.realsize"), 0))
            elif regions is not None:
                content = _expanded(content, regions, real)
            self._sink.add(self._text(name), content, modified_at=when)
        self._skip(left, padding=-size % BLOCK)

    def _old_sparse(self, block: bytes) -> tuple[list[Region], int]:
        """GNU's own sparse files: the regions stand in the header and in blocks behind it."""
        regions, more, real = gnu_sparse_block(block, first=True)
        for _ in range(_MAX_SPARSE_BLOCKS):
            if not more:
                break
            block = self._source.read(BLOCK)
            self._pass(len(block))
            if len(block) < BLOCK:
                break
            further, more, _ = gnu_sparse_block(block, first=False)
            regions += further
        return regions, real

    def _text(self, name: bytes) -> str | bytes:
        if _is_utf8(name):
            return name.decode("utf-8")
        if self._charset is None:
            ahead = _Reader(Source(_at_most(self._again(), _MAX_LOOKAHEAD)), None, self._again)
            ahead.run()
            self._charset = charset_of_names([*ahead.odd_names, name])
        return name.decode(codec_of(self._charset), "replace")

    def _skip(self, size: int, padding: int = 0) -> None:
        left = size + padding
        while left > 0 and (part := self._source.some(min(left, decoders.PIECE))):
            left -= len(part)
            self._pass(len(part))

    def _pass(self, count: int) -> None:
        """Counts bytes that are no member's. A header for each member is no sign of a bomb; headers without end are."""
        if self._sink is not None:
            self._sink.passed(count)

    def _warn(self, code: str) -> None:
        if self._sink is not None:
            self._sink.warn(code)


def _is_utf8(name: bytes) -> bool:
    try:
        name.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _at_most(pieces: Iterator[bytes], size: int) -> Iterator[bytes]:
    for piece in pieces:
        yield piece
        size -= len(piece)
        if size <= 0:
            return


def _number(text: bytes | None, default: int) -> int:
    """A decimal number of a pax record that can be a size; else what the header says."""
    return int(text) if text is not None and text.isdigit() and len(text) < 20 else default


def _sparse_in_front(stored: Iterator[bytes], size: int, real: int) -> Iterator[bytes]:
    """A sparse file whose regions stand before its data, in whole blocks (pax format 1.0)."""
    source = Source(stored)
    head = b""
    regions: list[Region] | None = None
    while regions is None and len(head) < min(size, MAX_META):
        block = source.read(BLOCK)
        if not block:
            raise source.failure or MemberError("truncated", "It is cut off in the list of its regions.")
        head += block
        regions = sparse_of_text(head)
    if regions is None:
        raise MemberError("corrupt", "The list of its regions is damaged.")
    yield from _expanded(source.stream(max(0, size - len(head))), regions, real)


def _expanded(stored: Iterator[bytes], regions: list[Region], real: int) -> Iterator[bytes]:
    """The bytes of a sparse file, its holes filled with zeros. Raises MemberError."""
    source = Source(stored)
    at = 0
    for offset, length in regions:
        if offset < at or offset + length > real:
            raise MemberError("corrupt", "The list of its regions is damaged.")
        yield from _hole(offset - at)
        yield from source.stream(length)
        at = offset + length
    yield from _hole(real - at)


def _hole(size: int) -> Iterator[bytes]:
    while size > 0:
        yield _ZEROS[:size]
        size -= len(_ZEROS)
