"""Archives made byte by byte, so that each can be wrong in one place, and a short way to unpack them."""

from __future__ import annotations

import io
import struct
import tarfile
import zlib
from pathlib import Path

import msgspec

from streams.decode.unpack import Limits, Unpacked, unpack

ZIP, TAR, GZIP = "application/zip", "application/x-tar", "application/gzip"
SEVEN, RAR = "application/x-7z-compressed", "application/vnd.rar"
BZIP2, XZ, LZMA, ZSTD = "application/x-bzip2", "application/x-xz", "application/x-lzma", "application/zstd"


def opened(folder: Path, data: bytes, media_type: str, *, limits: Limits | None = None, name: str = "") -> Unpacked:
    """What comes out of these bytes; the members stand in `folder/into`."""
    path = folder / "container"
    path.write_bytes(data)
    into = folder / "into"
    into.mkdir(exist_ok=True)
    return unpack(path, media_type, into, limits or Limits(), file_name=name)


def contents(folder: Path, unpacked: Unpacked) -> dict[str, bytes]:
    """Path -> bytes of the members that have bytes."""
    return {m.path: (folder / "into" / m.file).read_bytes() for m in unpacked.members if m.file}


def codes(unpacked: Unpacked) -> dict[str, str]:
    """Path -> code of the members that have none."""
    return {m.path: m.failure.code for m in unpacked.members if m.failure}


def deflated(data: bytes) -> bytes:
    """Raw deflate."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()


class Part(msgspec.Struct, kw_only=True):
    """One member of a ZIP, as the directory and the local header describe it."""

    name: bytes = b"a.txt"
    data: bytes = b""
    method: int = 0
    packed: bytes | None = None
    flags: int = 0
    crc: int | None = None
    size: int | None = None
    compressed: int | None = None
    host: int = 3
    attributes: int = 0
    extra: bytes = b""
    offset: int | None = None
    descriptor: bool = False  # sizes stand behind the data only
    zip64: bool = False


def zip_of(
    *parts: Part, directory: bool = True, junk: bytes = b"", comment: bytes = b"", count: int | None = None
) -> bytes:
    """A ZIP of these parts."""
    out, entries = bytearray(), bytearray()
    for part in parts:
        packed = part.packed if part.packed is not None else part.data
        crc = zlib.crc32(part.data) if part.crc is None else part.crc
        size = len(part.data) if part.size is None else part.size
        compressed = len(packed) if part.compressed is None else part.compressed
        flags = part.flags | (8 if part.descriptor else 0)
        at = len(out) if part.offset is None else part.offset
        here = (0, 0, 0) if part.descriptor else (crc, compressed, size)
        out += struct.pack(
            "<4sHHHHHIIIHH", b"PK\3\4", 20, flags, part.method, 0, 0, *here, len(part.name), len(part.extra)
        )
        out += part.name + part.extra + packed
        if part.descriptor:
            out += struct.pack("<4sIII", b"PK\7\x08", crc, compressed, size)
        extra, fixed = part.extra, (crc, compressed, size)
        if part.zip64:
            extra += struct.pack("<HHQQQ", 1, 24, size, compressed, at)
            fixed, at = (crc, 0xFFFFFFFF, 0xFFFFFFFF), 0xFFFFFFFF
        entries += struct.pack("<4sBBHHHHHIII", b"PK\1\2", 20, part.host, 20, flags, part.method, 0, 0, *fixed)
        entries += struct.pack("<HHHHHII", len(part.name), len(extra), 0, 0, 0, part.attributes, at)
        entries += part.name + extra
    if not directory:
        return junk + bytes(out)
    number = len(parts) if count is None else count
    end = struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, number, number, len(entries), len(out), len(comment))
    return junk + bytes(out + entries) + end + comment


def tar_of(
    members: dict[str, bytes],
    *,
    form: int = tarfile.GNU_FORMAT,
    more: list[tarfile.TarInfo] | None = None,
    encoding: str = "utf-8",
) -> bytes:
    """A tar with these files, then with `more` entries that have no bytes."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form, encoding=encoding) as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size, info.mtime = len(data), 1_600_000_000
            archive.addfile(info, io.BytesIO(data))
        for info in more or []:
            archive.addfile(info)
    return out.getvalue()


def tar_entry(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    """A link, device or folder."""
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def rar_of(members: dict[str, bytes], *, method: int = 0) -> bytes:
    """A RAR 5 with stored members (or members that claim another method)."""

    def number(value: int) -> bytes:
        out = bytearray()
        while value > 127:
            out.append(value & 127 | 128)
            value >>= 7
        return bytes([*out, value])

    def block(kind: int, body: bytes, data: bytes | None = None) -> bytes:
        flags = number(kind) + number(2 if data is not None else 0)
        head = flags + (number(len(data)) if data is not None else b"") + body
        head = number(len(head)) + head
        return struct.pack("<I", zlib.crc32(head)) + head + (data or b"")

    out = b"Rar!\x1a\x07\x01\x00" + block(1, number(0))
    for name, data in members.items():
        raw = name.encode()
        body = number(4) + number(len(data)) + number(0) + struct.pack("<I", zlib.crc32(data))
        out += block(2, body + number(method << 7) + number(1) + number(len(raw)) + raw, data)
    return out + block(5, number(0))
