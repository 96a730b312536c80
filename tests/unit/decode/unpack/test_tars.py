"""Tars: formats, names, sparse files, damage."""

from __future__ import annotations

import io
import struct
import tarfile
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from streams.decode.unpack import Limits
from tests.unit.decode.unpack.archives import GZIP, TAR, codes, contents, opened, tar_entry, tar_of

TEXT = b"Walkers use the ford, carts the bridge. " * 40
LONG = "folder/" * 40 + "größe.txt"


def raw_header(name: bytes, size: int, kind: bytes = b"0", *, change: dict[int, bytes] | None = None) -> bytes:
    """A header as GNU tar writes it, with `change` at these offsets."""
    block = bytearray(512)
    block[: len(name)] = name
    block[100:108], block[124:136], block[136:148] = b"0000644\0", b"%011o\0" % size, b"%011o\0" % 1_600_000_000
    block[156:157] = kind
    block[257:265] = b"ustar  \0"
    for at, data in (change or {}).items():
        block[at : at + len(data)] = data
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


def padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 512)


END = bytes(1024)


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_each_format_is_read(tmp_path: Path, form: int) -> None:
    members = {"a.txt": TEXT, "empty.txt": b""}
    if form != tarfile.USTAR_FORMAT:
        members[LONG] = b"long"
    unpacked = opened(tmp_path, tar_of(members, form=form), TAR)
    assert contents(tmp_path, unpacked) == members
    assert unpacked.warnings == []
    assert unpacked.members[0].modified_at == datetime.fromtimestamp(1_600_000_000, UTC)


def test_a_prefix_belongs_to_the_name(tmp_path: Path) -> None:
    name = "a" * 90 + "/" + "b" * 90 + ".txt"
    assert contents(tmp_path, opened(tmp_path, tar_of({name: b"x"}, form=tarfile.USTAR_FORMAT), TAR)) == {name: b"x"}


def test_links_devices_and_folders_are_no_members(tmp_path: Path) -> None:
    more = [
        tar_entry("soft", tarfile.SYMTYPE, "/etc/passwd"),
        tar_entry("hard", tarfile.LNKTYPE, "a.txt"),
        tar_entry("device", tarfile.CHRTYPE),
        tar_entry("pipe", tarfile.FIFOTYPE),
        tar_entry("folder", tarfile.DIRTYPE),
    ]
    unpacked = opened(tmp_path, tar_of({"a.txt": TEXT}, more=more), TAR)
    assert contents(tmp_path, unpacked) == {"a.txt": TEXT}
    assert unpacked.warnings == ["links_left_out", "devices_left_out"]


@pytest.mark.parametrize(
    ("encoding", "names"),
    [("cp1252", ["Größe.pdf", "Übersicht.doc"]), ("cp932", ["議事録.docx"]), ("cp1251", ["Договор.pdf", "Отчёт.xls"])],
)
@pytest.mark.parametrize("media_type", [TAR, GZIP])
def test_names_in_other_charsets_are_read_together(
    tmp_path: Path, encoding: str, names: list[str], media_type: str
) -> None:
    import gzip

    data = tar_of(dict.fromkeys([*names, "plain.txt"], b"x"), encoding=encoding)
    unpacked = opened(tmp_path, data if media_type == TAR else gzip.compress(data), media_type)
    assert [m.path for m in unpacked.members] == [*names, "plain.txt"]


def test_old_sparse_files_get_their_holes(tmp_path: Path) -> None:
    regions = b"".join(b"%011o\0%011o\0" % region for region in ((1000, 3), (5000, 2)))
    header = raw_header(b"sparse.bin", 5, b"S", change={386: regions, 483: b"%011o\0" % 6000})
    expected = bytes(1000) + b"abc" + bytes(3997) + b"de" + bytes(998)
    unpacked = opened(tmp_path, header + padded(b"abcde") + raw_header(b"b", 1) + padded(b"x") + END, TAR)
    assert contents(tmp_path, unpacked) == {"sparse.bin": expected, "b": b"x"}


def test_sparse_files_of_pax_get_their_holes(tmp_path: Path) -> None:
    def record(key: str, value: str) -> bytes:
        length = len(key) + len(value) + 3
        length += len(str(length + len(str(length))))
        return f"{length} {key}={value}\n".encode()

    old = record("GNU.sparse.size", "10") + record("GNU.sparse.map", "2,3,9,1")
    new = record("GNU.sparse.major", "1") + record("GNU.sparse.minor", "0") + record("GNU.sparse.name", "new.bin")
    new += record("GNU.sparse.realsize", "10")
    stored = padded(b"2\n2\n3\n9\n1\n") + b"abcd"
    data = raw_header(b"x", len(old), b"x") + padded(old) + raw_header(b"old.bin", 4) + padded(b"abcd")
    data += (
        raw_header(b"x", len(new), b"x") + padded(new) + raw_header(b"GNUSparseFile.1/x", len(stored)) + padded(stored)
    )
    unpacked = opened(tmp_path, data + raw_header(b"b", 1) + padded(b"x") + END, TAR)
    expected = b"\0\0abc\0\0\0\0d"
    assert contents(tmp_path, unpacked) == {"old.bin": expected, "new.bin": expected, "b": b"x"}


def test_regions_that_can_not_be_cost_one_member(tmp_path: Path) -> None:
    regions = b"".join(b"%011o\0%011o\0" % region for region in ((5000, 3), (1000, 2)))
    header = raw_header(b"sparse.bin", 5, b"S", change={386: regions, 483: b"%011o\0" % 6000})
    unpacked = opened(tmp_path, header + padded(b"abcde") + raw_header(b"b", 1) + padded(b"x") + END, TAR)
    assert codes(unpacked) == {"sparse.bin": "corrupt"}
    assert contents(tmp_path, unpacked) == {"b": b"x"}


def test_holes_without_end_are_a_bomb(tmp_path: Path) -> None:
    header = raw_header(b"sparse.bin", 0, b"S", change={483: b"\x80" + (1 << 60).to_bytes(11, "big")})
    began = time.monotonic()
    failure = opened(tmp_path, header + END, TAR).failure
    assert failure is not None
    assert failure.code == "bomb"
    assert time.monotonic() - began < 5


@pytest.mark.parametrize("media_type", [TAR, GZIP])
def test_a_cut_tar_keeps_its_whole_members(tmp_path: Path, media_type: str) -> None:
    import gzip

    noise = bytes(range(256)) * 200
    data = tar_of({"one.txt": TEXT, "two.bin": noise})[: 512 + len(padded(TEXT)) + 512 + 20_000]
    packed = data if media_type == TAR else gzip.compress(tar_of({"one.txt": TEXT, "two.bin": noise}), 0)[: len(data)]
    unpacked = opened(tmp_path, packed, media_type)
    assert contents(tmp_path, unpacked) == {"one.txt": TEXT}
    assert codes(unpacked) == {"two.bin": "truncated"}
    assert unpacked.warnings == ["truncated"]


def test_a_damaged_header_costs_its_member_only(tmp_path: Path) -> None:
    data = bytearray(tar_of({"one.txt": TEXT, "two.txt": TEXT, "three.txt": TEXT}))
    data[512 + len(padded(TEXT)) + 3] ^= 0xFF
    unpacked = opened(tmp_path, bytes(data), TAR)
    assert contents(tmp_path, unpacked) == {"one.txt": TEXT, "three.txt": TEXT}
    assert unpacked.warnings == ["damaged_headers"]


def test_tars_one_behind_the_other_give_the_members_of_both(tmp_path: Path) -> None:
    unpacked = opened(tmp_path, tar_of({"one.txt": b"1"}) + tar_of({"two.txt": b"2"}), TAR)
    assert contents(tmp_path, unpacked) == {"one.txt": b"1", "two.txt": b"2"}
    assert unpacked.warnings == []


def test_what_is_no_tar_fails(tmp_path: Path) -> None:
    failure = opened(tmp_path, b"no tar" * 1000, TAR).failure
    assert failure is not None
    assert failure.code == "corrupt"


@pytest.mark.parametrize("kind", [b"L", b"K", b"x", b"g"])
def test_a_name_of_gigabytes_is_not_read(tmp_path: Path, kind: bytes) -> None:
    import gzip

    data = raw_header(b"././@LongLink", 9 << 20, kind) + bytes(9 << 20) + raw_header(b"a.txt", 1) + padded(b"x") + END
    unpacked = opened(tmp_path, gzip.compress(data), GZIP, limits=Limits(ratio_from=10 << 20))
    assert contents(tmp_path, unpacked) == {"a.txt": b"x"}
    assert unpacked.warnings == ["damaged_headers"]


@pytest.mark.parametrize("kind", [b"L", b"D", b"0"])
def test_bytes_that_are_skipped_count(tmp_path: Path, kind: bytes) -> None:
    out = io.BytesIO()
    import gzip

    with gzip.GzipFile(fileobj=out, mode="wb") as packed:
        packed.write(raw_header(b"a", 1 << 32, kind))
        for _ in range(100):
            packed.write(bytes(1 << 20))
    failure = opened(tmp_path, out.getvalue(), GZIP).failure
    assert failure is not None
    assert failure.code == "bomb"


def test_numbers_in_base_256(tmp_path: Path) -> None:
    header = raw_header(b"a.txt", 0, change={124: b"\x80" + struct.pack(">QHB", 0, 0, 3), 136: b"\xff" * 12})
    unpacked = opened(tmp_path, header + padded(b"abc") + END, TAR)
    assert contents(tmp_path, unpacked) == {"a.txt": b"abc"}
    assert unpacked.members[0].modified_at == datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC)
