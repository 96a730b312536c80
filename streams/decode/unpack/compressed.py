"""One compressed stream: gzip, bzip2, xz, lzma, Zstandard. A tar in it is one container with it, not a second one.

Sources: RFC 1952 (gzip), RFC 8878 (Zstandard), the .xz file format 1.2.1.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from datetime import datetime
from itertools import chain
from pathlib import Path

import msgspec

from streams.decode.unpack import decoders
from streams.decode.unpack.model import MemberError, Sink, TooMuchError, UnpackError
from streams.decode.unpack.tar_headers import BLOCK, modified, parse_header
from streams.decode.unpack.tars import read_tar

_FEED = 16 << 10
"""Bytes fed at once: what one stream leaves of them is copied for the next, and streams may be tiny."""
_MANY_STREAMS = 10_000
_SMALL_STREAM = 512
"""Bytes that each of many streams must give on average; an archive of empty ones costs time and gives nothing."""
_SUFFIXES = {
    ".gz": "",
    ".bz2": "",
    ".xz": "",
    ".lzma": "",
    ".zst": "",
    ".tgz": ".tar",
    ".tbz2": ".tar",
    ".txz": ".tar",
    ".tzst": ".tar",
    ".svgz": ".svg",
    ".emz": ".emf",
    ".wmz": ".wmf",
}


class _Format(msgspec.Struct, frozen=True):
    name: str
    starts: Callable[[bytes], bool]
    decoder: Callable[[], decoders.Bounded]


def _is_zstd(head: bytes) -> bool:
    """A frame, or one to skip, which parallel compressors put in front."""
    return head.startswith(b"\x28\xb5\x2f\xfd") or (
        len(head) >= 4 and head[1:4] == b"\x2a\x4d\x18" and head[0] >> 4 == 5
    )


_FORMATS = (
    _Format("gzip", lambda head: head.startswith(b"\x1f\x8b\x08"), lambda: decoders.Inflater(31)),
    _Format("bzip2", lambda head: head.startswith(b"BZh"), decoders.bunzip2_decoder),
    _Format("xz", lambda head: head.startswith(b"\xfd7zXZ\0"), decoders.xz_decoder),
    _Format("zstd", _is_zstd, decoders.zstd_decoder),
    _Format("lzma", lambda head: head.startswith(b"\x5d\0"), decoders.xz_decoder),
)


def unpack(path: Path, sink: Sink) -> None:
    """Puts what the file at `path` holds into the sink: the members of a tar, else the one member.

    Raises:
        UnpackError: the one member is damaged, or no tar in it can be read.
        TooMuchError: more comes out than may.
    """
    with path.open("rb") as file:
        head = file.read(4096)
    form = next((form for form in _FORMATS if form.starts(head)), None)
    if form is None:
        raise UnpackError("corrupt", "It does not begin as a compressed file does.")

    def content() -> Iterator[bytes]:
        with path.open("rb") as file:
            yield from _streams(decoders.read(file, 0, path.stat().st_size), form, sink)

    pieces = content()
    start, failure = _first(pieces, BLOCK)

    def whole() -> Iterator[bytes]:
        yield start
        if failure is not None:
            raise failure
        yield from pieces

    if parse_header(start[:BLOCK]) is not None:
        read_tar(whole(), sink, content)
        return
    name, when = _gzip_header(head) if form.name == "gzip" else (None, None)
    member = sink.add(name or _name_within(sink.container_name), whole(), modified_at=when)
    if member.failure is not None:
        raise UnpackError(member.failure.code, member.failure.message)


def _first(pieces: Iterator[bytes], size: int) -> tuple[bytes, MemberError | None]:
    """At least `size` bytes, or all there are, and what stopped them."""
    start = b""
    try:
        while len(start) < size and (piece := next(pieces, b"")):
            start += piece
    except MemberError as error:
        return start, error
    return start, None


def _streams(pieces: Iterator[bytes], form: _Format, sink: Sink) -> Iterator[bytes]:
    """The content of all streams that stand one behind the other. Raises MemberError, TooMuchError."""
    fed = _sliced(pieces)
    data = next(fed, b"")
    total = count = 0
    while True:
        decoder = form.decoder()
        count += 1
        for out in decoders.pump(decoder, chain([data], fed)):
            total += len(out)
            yield out
        data = decoder.unused_data
        while not data.strip(b"\0") and (more := next(fed, b"")):  # zeros fill tapes and blocks
            data = more
        data = data.lstrip(b"\0")
        while len(data) < 6 and (more := next(fed, b"")):
            data += more
        if not data:
            return
        if not form.starts(data):
            sink.warn("trailing_data")
            return
        if count > _MANY_STREAMS and total < count * _SMALL_STREAM:
            raise TooMuchError(f"more than {_MANY_STREAMS} streams of next to nothing")


def _sliced(pieces: Iterator[bytes]) -> Iterator[bytes]:
    for piece in pieces:
        for start in range(0, len(piece), _FEED):
            yield piece[start : start + _FEED]


def _gzip_header(head: bytes) -> tuple[str | None, datetime | None]:
    """Name and time in a gzip header, where they are there (RFC 1952, 2.3)."""
    flags, mtime = head[3], struct.unpack_from("<I", head, 4)[0] if len(head) >= 8 else 0
    at = 10
    if flags & 4 and len(head) >= 12:
        at += 2 + int(struct.unpack_from("<H", head, at)[0])
    name = None
    if flags & 8 and (end := head.find(b"\0", at)) > at:
        raw = head[at:end]
        try:
            name = raw.decode("utf-8")
        except UnicodeDecodeError:
            name = raw.decode("latin-1")  # as the RFC has it
    return name, modified(None, mtime)


def _name_within(container: str) -> str:
    """The name of what a compressed file holds, from its own."""
    for suffix, instead in _SUFFIXES.items():
        if container.lower().endswith(suffix) and len(container) > len(suffix):
            return container[: -len(suffix)] + instead
    return container or "content"
