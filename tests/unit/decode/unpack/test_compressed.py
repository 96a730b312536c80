"""Compressed streams: names, tars in them, concatenation, damage, bombs."""

from __future__ import annotations

import bz2
import gzip
import lzma
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from streams.decode.unpack.decoders import zstd
from tests.unit.decode.unpack.archives import BZIP2, GZIP, LZMA, XZ, ZSTD, contents, opened, tar_of

TEXT = b"Walkers use the ford, carts the bridge. " * 400


def alone(data: bytes) -> bytes:
    return lzma.compress(data, format=lzma.FORMAT_ALONE, preset=0)


def xz(data: bytes) -> bytes:
    return lzma.compress(data, preset=0)


def checked(data: bytes) -> bytes:
    """As the program zstd writes it: with a checksum."""
    return zstd.compress(data, options={zstd.CompressionParameter.checksum_flag: 1})


Packer = Callable[[bytes], bytes]
FORMATS: list[tuple[str, Packer, str]] = [
    (GZIP, gzip.compress, ".gz"),
    (BZIP2, bz2.compress, ".bz2"),
    (XZ, xz, ".xz"),
    (LZMA, alone, ".lzma"),
    (ZSTD, checked, ".zst"),
]
each_format = pytest.mark.parametrize(("media_type", "pack", "suffix"), FORMATS)


@each_format
def test_the_member_is_named_after_the_file(tmp_path: Path, media_type: str, pack: Packer, suffix: str) -> None:
    unpacked = opened(tmp_path, pack(TEXT), media_type, name="report.csv" + suffix)
    assert contents(tmp_path, unpacked) == {"report.csv": TEXT}
    assert unpacked.warnings == []


@each_format
def test_a_tar_in_it_is_the_same_container(tmp_path: Path, media_type: str, pack: Packer, suffix: str) -> None:
    unpacked = opened(tmp_path, pack(tar_of({"a/b.txt": TEXT, "c.txt": b"x"})), media_type, name="all.tar" + suffix)
    assert contents(tmp_path, unpacked) == {"a/b.txt": TEXT, "c.txt": b"x"}


@each_format
def test_nothing_is_an_empty_member(tmp_path: Path, media_type: str, pack: Packer, suffix: str) -> None:
    assert contents(tmp_path, opened(tmp_path, pack(b""), media_type, name="x" + suffix)) == {"x": b""}


@each_format
def test_a_cut_stream_is_truncated(tmp_path: Path, media_type: str, pack: Packer, suffix: str) -> None:
    for cut in (1, len(pack(TEXT)) // 2):
        failure = opened(tmp_path, pack(TEXT)[:-cut], media_type).failure
        assert failure is not None
        assert failure.code == "truncated"


@each_format
def test_a_damaged_stream_is_corrupt(tmp_path: Path, media_type: str, pack: Packer, suffix: str) -> None:
    data = bytearray(pack(bytes(range(256)) * 50 + TEXT))
    data[len(data) // 2 : len(data) // 2 + 8] = b"\xff" * 8
    failure = opened(tmp_path, bytes(data), media_type).failure
    assert failure is not None
    assert failure.code in ("corrupt", "truncated")


@pytest.mark.parametrize(("media_type", "pack", "suffix"), [one for one in FORMATS if one[0] != LZMA])
def test_streams_one_behind_the_other_are_one_member(
    tmp_path: Path, media_type: str, pack: Packer, suffix: str
) -> None:
    unpacked = opened(tmp_path, pack(TEXT) + pack(b"and more") + bytes(512), media_type)
    assert contents(tmp_path, unpacked) == {"content": TEXT + b"and more"}
    assert unpacked.warnings == []


@each_format
def test_what_follows_is_reported(tmp_path: Path, media_type: str, pack: Packer, suffix: str) -> None:
    unpacked = opened(tmp_path, pack(TEXT) + b"something else", media_type)
    assert contents(tmp_path, unpacked) == {"content": TEXT}
    assert unpacked.warnings == ["trailing_data"]


def test_a_frame_to_skip_may_stand_in_front(tmp_path: Path) -> None:
    unpacked = opened(tmp_path, b"\x50\x2a\x4d\x18\x04\0\0\0abcd" + zstd.compress(TEXT), ZSTD)
    assert contents(tmp_path, unpacked) == {"content": TEXT}


@pytest.mark.parametrize(("raw", "name"), [("größe.txt".encode(), "größe.txt"), (b"gr\xf6\xdfe.txt", "größe.txt")])
def test_name_and_time_of_a_gzip_header(tmp_path: Path, raw: bytes, name: str) -> None:
    header = b"\x1f\x8b\x08\x08" + (1_600_000_000).to_bytes(4, "little") + b"\0\x03" + raw + b"\0"
    unpacked = opened(tmp_path, header + gzip.compress(TEXT, mtime=0)[10:], GZIP, name="other.gz")
    assert contents(tmp_path, unpacked) == {name: TEXT}
    assert unpacked.members[0].modified_at == datetime.fromtimestamp(1_600_000_000, UTC)


def test_a_tgz_that_holds_no_tar(tmp_path: Path) -> None:
    assert list(contents(tmp_path, opened(tmp_path, gzip.compress(TEXT), GZIP, name="x.tgz"))) == ["x.tar"]


@each_format
def test_a_bomb_is_stopped_while_it_streams(tmp_path: Path, media_type: str, pack: Packer, suffix: str) -> None:
    data = pack(bytes(100 << 20))
    began = time.monotonic()
    failure = opened(tmp_path, data, media_type).failure
    assert failure is not None
    assert failure.code == "bomb"
    assert time.monotonic() - began < 5


def test_streams_without_number_are_refused(tmp_path: Path) -> None:
    data = gzip.compress(b"") * 500_000
    began = time.monotonic()
    failure = opened(tmp_path, data, GZIP).failure
    assert failure is not None
    assert failure.code == "bomb"
    assert time.monotonic() - began < 5


def test_a_dictionary_beyond_all_measure_is_refused(tmp_path: Path) -> None:
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 1 << 30}]
    packed = bytearray(alone(TEXT))
    packed[1:5] = (1 << 31).to_bytes(4, "little")
    for data, media_type in ((bytes(packed), LZMA), (lzma.compress(TEXT, filters=filters), XZ)):
        failure = opened(tmp_path, data, media_type).failure
        assert failure is not None
        assert failure.code == "too_large"


def test_a_window_beyond_all_measure_is_refused(tmp_path: Path) -> None:
    packer = zstd.ZstdCompressor(options={zstd.CompressionParameter.window_log: 30})
    failure = opened(tmp_path, packer.compress(TEXT) + packer.flush(), ZSTD).failure
    assert failure is not None
    assert failure.code == "too_large"
