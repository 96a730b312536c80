"""7z archives: methods, solid blocks, encryption, damage, headers that lie."""

from __future__ import annotations

import io
import lzma
import struct
import time
import zlib
from pathlib import Path
from typing import Any

import py7zr
import pytest
from py7zr.properties import FILTER_DEFLATE64

from streams.decode.unpack import Limits
from tests.unit.decode.unpack.archives import SEVEN, codes, contents, opened

TEXT = b"Walkers use the ford, carts the bridge. " * 400
MEMBERS = {"one.txt": TEXT, "folder/größe.txt": TEXT[::-1], "empty.txt": b"", "three.bin": bytes(range(256)) * 300}


def seven(
    members: dict[str, bytes], *, filters: list[dict[str, Any]] | None = None, password: str | None = None
) -> bytes:
    """A 7z with one solid block."""
    out = io.BytesIO()
    encrypted: dict[str, Any] = {"header_encryption": True} if password == "names" else {}
    with py7zr.SevenZipFile(out, "w", filters=filters, password=password, **encrypted) as archive:
        for name, data in members.items():
            archive.writestr(data, name)
    return out.getvalue()


def number(value: int) -> bytes:
    return bytes([value]) if value < 128 else b"\xff" + struct.pack("<Q", value)


def framed(header: bytes, packed: bytes = b"") -> bytes:
    """A 7z with this header behind these packed bytes."""
    start = struct.pack("<QQI", len(packed), len(header), zlib.crc32(header))
    return b"7z\xbc\xaf\x27\x1c\0\4" + struct.pack("<I", zlib.crc32(start)) + start + packed + header


def one_folder(coder: bytes, packed: int, size: int, *, streams: int = 1, crc: int | None = None) -> bytes:
    """Part of a header: one packed stream, one folder with one coder."""
    out = b"\x06" + number(0) + number(1) + b"\x09" + number(packed) + b"\0"
    out += b"\x07\x0b" + number(1) + b"\0" + number(1) + coder + b"\x0c" + number(size)
    out += (b"\x0a\1" + struct.pack("<I", crc) if crc is not None else b"") + b"\0"
    return out + (b"\x08\x0d" + number(streams) + b"\0" if streams != 1 else b"")


def files(*names: str, more: bytes = b"") -> bytes:
    raw = "".join(name + "\0" for name in names).encode("utf-16-le")
    return b"\x05" + number(len(names)) + b"\x11" + number(len(raw) + 1) + b"\0" + raw + more + b"\0"


COPY, LZMA2 = b"\x01\0", b"\x21\x21\x01"


@pytest.mark.parametrize(
    "filters",
    [
        None,
        [{"id": py7zr.FILTER_LZMA, "preset": 1}],
        [{"id": py7zr.FILTER_X86}, {"id": py7zr.FILTER_LZMA2, "preset": 1}],
        [{"id": py7zr.FILTER_X86}, {"id": py7zr.FILTER_LZMA, "preset": 1}],
        [{"id": py7zr.FILTER_ARM}, {"id": py7zr.FILTER_LZMA2, "preset": 1}],
        [{"id": py7zr.FILTER_DELTA, "dist": 4}, {"id": py7zr.FILTER_LZMA2, "preset": 1}],
        [{"id": py7zr.FILTER_BZIP2}],
        [{"id": py7zr.FILTER_DEFLATE}],
        [{"id": FILTER_DEFLATE64}],
        [{"id": py7zr.FILTER_ZSTD, "level": 3}],
        [{"id": py7zr.FILTER_COPY}],
    ],
    ids=lambda filters: "+".join(hex(one["id"]) for one in filters or []),
)
def test_each_method_is_read(tmp_path: Path, filters: list[dict[str, Any]] | None) -> None:
    unpacked = opened(tmp_path, seven(MEMBERS, filters=filters), SEVEN)
    assert contents(tmp_path, unpacked) == MEMBERS
    assert unpacked.warnings == []
    assert all(m.modified_at is None or m.modified_at.tzinfo for m in unpacked.members)


@pytest.mark.parametrize(
    ("one", "name"),
    [({"id": py7zr.FILTER_BROTLI, "level": 1}, "Brotli"), ({"id": py7zr.FILTER_PPMD, "order": 6, "mem": 24}, "PPMd")],
)
def test_a_method_that_is_not_read_is_named(tmp_path: Path, one: dict[str, Any], name: str) -> None:
    unpacked = opened(tmp_path, seven({"a.txt": TEXT}, filters=[one]), SEVEN)
    assert codes(unpacked) == {"a.txt": "unsupported_format"}
    assert unpacked.members[0].failure is not None
    assert name in unpacked.members[0].failure.message


def test_encrypted_members_fail(tmp_path: Path) -> None:
    unpacked = opened(tmp_path, seven({"a.txt": TEXT, "empty.txt": b""}, password="x"), SEVEN)
    assert codes(unpacked) == {"a.txt": "encrypted"}
    assert contents(tmp_path, unpacked) == {"empty.txt": b""}


def test_encrypted_names_fail_as_a_whole(tmp_path: Path) -> None:
    failure = opened(tmp_path, seven({"a.txt": TEXT}, password="names"), SEVEN).failure
    assert failure is not None
    assert failure.code == "encrypted"


def test_an_empty_archive(tmp_path: Path) -> None:
    unpacked = opened(tmp_path, framed(b""), SEVEN)
    assert unpacked.failure is None
    assert unpacked.members == []


def test_a_cut_archive_is_truncated(tmp_path: Path) -> None:
    failure = opened(tmp_path, seven(MEMBERS)[:-10], SEVEN).failure
    assert failure is not None
    assert failure.code == "truncated"


def test_damage_in_a_block_costs_what_lies_behind(tmp_path: Path) -> None:
    noise = b"".join(struct.pack("<I", zlib.crc32(b"%d" % n)) for n in range(20_000))
    data = bytearray(
        seven({"one.bin": noise, "two.bin": noise[::-1]}, filters=[{"id": py7zr.FILTER_LZMA2, "preset": 0}])
    )
    data[32 + len(noise) + 30_000] ^= 0xFF
    unpacked = opened(tmp_path, bytes(data), SEVEN)
    assert contents(tmp_path, unpacked) == {"one.bin": noise}
    assert codes(unpacked) == {"two.bin": "corrupt"}


def test_a_wrong_checksum_costs_one_member(tmp_path: Path) -> None:
    data = bytearray(seven({"one.txt": TEXT, "two.txt": TEXT}, filters=[{"id": py7zr.FILTER_COPY}]))
    data[40] ^= 1
    unpacked = opened(tmp_path, bytes(data), SEVEN)
    assert contents(tmp_path, unpacked) == {"two.txt": TEXT}
    assert codes(unpacked) == {"one.txt": "corrupt"}


def test_links_and_folders_are_no_members(tmp_path: Path) -> None:
    attributes = struct.pack("<III", 0x8000 | 0o120777 << 16, 0x20, 0x10)
    more = b"\x0e" + number(1) + b"\x20" + b"\x15" + number(14) + b"\1\0" + attributes
    header = b"\1\4" + b"\x06" + number(0) + number(1) + b"\x09" + number(10) + b"\0"
    header += b"\x07\x0b" + number(1) + b"\0" + number(1) + COPY + b"\x0c" + number(10) + b"\0"
    header += (
        b"\x08\x0d"
        + number(2)
        + b"\x09"
        + number(6)
        + b"\0"
        + b"\0"
        + files("link", "a.txt", "folder", more=more)
        + b"\0"
    )
    unpacked = opened(tmp_path, framed(header, b"a.txt!file"), SEVEN)
    assert contents(tmp_path, unpacked) == {"a.txt": b"file"}
    assert unpacked.warnings == ["links_left_out"]


@pytest.mark.parametrize("coder", [COPY, b"\x04\x03\x03\x01\x03"])
def test_positions_and_sizes_beyond_any_file(tmp_path: Path, coder: bytes) -> None:
    huge = number((1 << 64) - 1)
    header = b"\1\4\x06" + huge + number(1) + b"\x09" + huge + b"\0"
    header += b"\x07\x0b" + number(1) + b"\0" + number(1) + coder + b"\x0c" + huge + b"\0\0" + files("a") + b"\0"
    assert list(codes(opened(tmp_path, framed(header), SEVEN))) == ["a"]


def test_branched_coders_are_said_so(tmp_path: Path) -> None:
    bcj2 = b"\x14\x03\x03\x01\x1b" + number(4) + number(1)
    header = b"\1\4" + b"\x06" + number(0) + number(4) + b"\x09" + number(1) * 4 + b"\0"
    header += b"\x07\x0b" + number(1) + b"\0" + number(1) + bcj2 + bytes([0, 1, 2, 3]) + b"\x0c" + number(9) + b"\0\0"
    unpacked = opened(tmp_path, framed(header + files("a.exe") + b"\0", b"abcd"), SEVEN)
    assert codes(unpacked) == {"a.exe": "unsupported_format"}


def test_a_bomb_is_stopped_while_it_streams(tmp_path: Path) -> None:
    packed = lzma.compress(bytes(100 << 20), lzma.FORMAT_RAW, filters=[{"id": lzma.FILTER_LZMA2, "preset": 0}])
    header = b"\1\4" + one_folder(LZMA2 + b"\x14", len(packed), 100 << 20) + b"\0" + files("zeros") + b"\0"
    began = time.monotonic()
    failure = opened(tmp_path, framed(header, packed), SEVEN).failure
    assert failure is not None
    assert failure.code == "bomb"
    assert time.monotonic() - began < 5


def test_a_header_that_is_a_bomb(tmp_path: Path) -> None:
    packed = lzma.compress(bytes(1 << 30 >> 4), lzma.FORMAT_RAW, filters=[{"id": lzma.FILTER_LZMA2, "preset": 0}])
    for size in (1 << 26, 31 << 20):
        header = b"\x17" + one_folder(LZMA2 + b"\x14", len(packed), size) + b"\0"
        failure = opened(tmp_path, framed(header, packed), SEVEN).failure
        assert failure is not None
        assert failure.code in ("bomb", "corrupt")


@pytest.mark.parametrize(
    "header",
    [
        b"\1\5" + number(1 << 40),
        b"\1\4\x06" + number(0) + number(1 << 40),
        b"\1\4\x07\x0b" + number(1 << 40),
        b"\1\4" + one_folder(COPY, 1, 1, streams=1 << 40) + b"\0",
        b"\1" + files(*map(str, range(200))) + b"\0",
    ],
)
def test_counts_without_measure_are_refused(tmp_path: Path, header: bytes) -> None:
    began = time.monotonic()
    failure = opened(tmp_path, framed(header), SEVEN, limits=Limits(members=20)).failure
    assert failure is not None
    assert failure.code == "bomb"
    assert time.monotonic() - began < 1


@pytest.mark.parametrize("cut", range(1, 90, 7))
def test_a_header_that_ends_too_early_is_corrupt(tmp_path: Path, cut: int) -> None:
    header = b"\1\4" + one_folder(COPY, 4, 4, crc=0) + b"\0" + files("a.txt", "b.txt", more=b"\x0e\1\x40") + b"\0"
    failure = opened(tmp_path, framed(header[: -min(cut, len(header) - 1)], b"abcd"), SEVEN).failure
    assert failure is not None
    assert failure.code == "corrupt"
