"""Decompression in bounded memory: every method as a generator that turns pieces of bytes into pieces of bytes.

The libraries differ in how they bound what one call may give, in what they raise, and in how they tell the end of a
stream; what comes out of here is the same for all. A piece is at most some MiB, whatever the input claims.
"""

from __future__ import annotations

import bz2
import lzma
import struct
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, BinaryIO, Protocol

import bcj
import inflate64

from streams.decode.unpack.model import MemberError

if sys.version_info >= (3, 14):
    from compression import zstd as zstd
else:
    from backports import zstd as zstd

PIECE = 256 << 10
"""Bytes that one call of a decompressor may give, and that are read at once."""
MAX_DICTIONARY = 128 << 20
"""Bytes of history that a stream may ask for; `xz -9` asks for 64 MiB, `zstd --ultra -22` for 128 MiB."""
_INFLATE64_FEED = 256
"""Deflate64 turns 2.3 bytes into up to 65,538, and its library has no bound on what one call gives."""
_ERRORS = (zlib.error, lzma.LZMAError, zstd.ZstdError, OSError, EOFError, ValueError)

Pieces = Iterable[bytes]


class Bounded(Protocol):
    """What the decompressors of bz2, lzma and zstd have in common."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = -1) -> bytes: ...


def read(file: BinaryIO, start: int, size: int) -> Iterator[bytes]:
    """`size` bytes of a file from `start`, or as many as there are: none beyond what a system can address."""
    while size > 0 and start < 1 << 62:
        file.seek(start)
        piece = file.read(min(size, PIECE))
        if not piece:
            return
        start += len(piece)
        size -= len(piece)
        yield piece


def take(pieces: Pieces, size: int) -> Iterator[bytes]:
    """The first `size` bytes. Raises MemberError `truncated` when there are fewer."""
    left = size
    if left > 0:
        for piece in pieces:
            yield piece[:left]
            left -= len(piece)
            if left <= 0:
                return
    if left > 0:
        raise MemberError("truncated", f"It is cut off: {left} of its {size} bytes are missing.")


def checked(pieces: Pieces, crc: int | None, *, whole: str = "member") -> Iterator[bytes]:
    """The same bytes; raises MemberError `corrupt` at their end when their CRC-32 is another."""
    found = 0
    for piece in pieces:
        found = zlib.crc32(piece, found)
        yield piece
    if crc is not None and found != crc:
        raise MemberError("corrupt", f"The {whole} is damaged: its checksum is {found:08x}, not {crc:08x}.")


class Inflater:
    """zlib's decompressor with the manners of the others."""

    def __init__(self, window_bits: int = -zlib.MAX_WBITS) -> None:
        self._decoder = zlib.decompressobj(window_bits)
        self._more = False

    @property
    def eof(self) -> bool:
        return self._decoder.eof

    @property
    def needs_input(self) -> bool:
        return not self._more and not self._decoder.eof

    @property
    def unused_data(self) -> bytes:
        return self._decoder.unused_data

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        tail = self._decoder.unconsumed_tail
        out = self._decoder.decompress(tail + data if tail else data, max(0, max_length))
        self._more = bool(self._decoder.unconsumed_tail) or 0 < max_length <= len(out)
        return out


def inflate(pieces: Pieces) -> Iterator[bytes]:
    """Deflate without a header (RFC 1951)."""
    return pump(Inflater(), pieces)


def inflate_64(pieces: Pieces) -> Iterator[bytes]:
    """Deflate64, which Windows uses for files beyond 2 GiB."""
    decoder = inflate64.Inflater()
    for piece in pieces:
        for start in range(0, len(piece), _INFLATE64_FEED):
            out = _call(decoder.inflate, piece[start : start + _INFLATE64_FEED])
            if out:
                yield out
            if decoder.eof:
                return
    raise MemberError("truncated", "The compressed data end too early.")


def bunzip2(pieces: Pieces) -> Iterator[bytes]:
    """One stream of bzip2."""
    return pump(bz2.BZ2Decompressor(), pieces)


def bunzip2_decoder() -> Bounded:
    """A decompressor of bzip2."""
    return bz2.BZ2Decompressor()


def unzstd(pieces: Pieces) -> Iterator[bytes]:
    """One frame of Zstandard (RFC 8878)."""
    return pump(zstd_decoder(), pieces)


def zstd_decoder() -> Bounded:
    """A decompressor that refuses a window beyond MAX_DICTIONARY."""
    window = MAX_DICTIONARY.bit_length() - 1
    return zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: window})


def xz_decoder() -> Bounded:
    """A decompressor of .xz and .lzma that refuses a dictionary beyond MAX_DICTIONARY."""
    return lzma.LZMADecompressor(format=lzma.FORMAT_AUTO, memlimit=MAX_DICTIONARY + (8 << 20))


def unxz(pieces: Pieces) -> Iterator[bytes]:
    """One stream of .xz or .lzma."""
    return pump(xz_decoder(), pieces)


def raw_lzma(pieces: Pieces, filters: list[dict[str, Any]], size: int | None) -> Iterator[bytes]:
    """LZMA or LZMA2 without a header; `size`: how much comes out, where the data do not mark their end.

    No dictionary needs to be larger than what comes out of it: an archiver's habit to ask for more costs nothing.
    """
    for one in filters:
        if "dict_size" in one:
            wanted = one["dict_size"] if size is None else min(one["dict_size"], max(size, 4096))
            if wanted > MAX_DICTIONARY:
                raise MemberError(
                    "too_large", f"It needs a dictionary of {wanted} bytes; {MAX_DICTIONARY} are allowed."
                )
            one["dict_size"] = max(wanted, 4096)
    try:
        decoder = lzma.LZMADecompressor(format=lzma.FORMAT_RAW, filters=filters)
    except (lzma.LZMAError, ValueError, OverflowError) as error:
        raise MemberError("corrupt", f"Its parameters of LZMA can't be: {error}.") from error
    return pump(decoder, pieces) if size is None else take(pump(decoder, pieces), size)


def lzma1_filter(properties: bytes) -> dict[str, Any]:
    """The filter that five bytes of LZMA's properties describe. Raises MemberError."""
    if len(properties) < 5 or properties[0] >= 9 * 5 * 5:
        raise MemberError("corrupt", "Its parameters of LZMA are damaged.")
    first, dictionary = struct.unpack("<BI", properties[:5])
    return {
        "id": lzma.FILTER_LZMA1,
        "dict_size": dictionary,
        "lc": first % 9,
        "lp": first // 9 % 5,
        "pb": first // 45,
    }


def lzma2_filter(properties: bytes) -> dict[str, Any]:
    """The filter that one byte of LZMA2's properties describes. Raises MemberError."""
    if len(properties) != 1 or properties[0] > 40:
        raise MemberError("corrupt", "Its parameters of LZMA2 are damaged.")
    bits = properties[0]
    size = 0xFFFFFFFF if bits == 40 else (2 | bits & 1) << (bits // 2 + 11)
    return {"id": lzma.FILTER_LZMA2, "dict_size": size}


def branch_filter(pieces: Pieces, kind: str, size: int) -> Iterator[bytes]:
    """Turns absolute branch targets of machine code back into relative ones (BCJ); `size`: of all of it."""
    if size >= 1 << 62:
        raise MemberError("corrupt", f"It claims to have {size} bytes.")
    decoder = getattr(bcj, kind)(size)
    for piece in pieces:
        out = _call(decoder.decode, piece)
        if out:
            yield out


def pump(decoder: Bounded, pieces: Pieces) -> Iterator[bytes]:
    """What a decompressor makes of the pieces, until its stream ends. Raises MemberError."""
    for piece in pieces:
        data = piece
        while not decoder.eof:
            out = _call(decoder.decompress, data, PIECE)
            data = b""
            if out:
                yield out
            if decoder.needs_input or (not out and not decoder.eof):
                break
        if decoder.eof:
            return
    raise MemberError("truncated", "The compressed data end too early.")


def _call(function: Callable[..., bytes], *arguments: bytes | int) -> bytes:
    """A library's call, with all that it raises for damaged data as one error."""
    try:
        return function(*arguments)
    except _ERRORS as error:
        text = str(error).strip().rstrip(".")
        if "emory usage limit" in text or "too much memory" in text:  # of liblzma and of libzstd
            raise MemberError("too_large", f"It needs more memory than is allowed: {text}.") from error
        raise MemberError("corrupt", f"The compressed data are damaged: {text}.") from error
