"""ZIPs: names, methods, damage, and what a hostile one costs."""

from __future__ import annotations

import bz2
import lzma
import stat
import struct
import time
import zlib
from datetime import UTC, datetime
from pathlib import Path

import pytest

from streams.decode.unpack import Limits
from streams.decode.unpack.decoders import zstd
from tests.unit.decode.unpack.archives import ZIP, Part, codes, contents, deflated, opened, zip_of

TEXT = b"Walkers use the ford, carts the bridge. " * 40
LINK, FIFO = (stat.S_IFLNK | 0o777) << 16, (stat.S_IFIFO | 0o644) << 16


def lzma_member(data: bytes) -> bytes:
    alone = lzma.compress(data, format=lzma.FORMAT_ALONE)
    return b"\x09\x14" + struct.pack("<H", 5) + alone[:5] + alone[13:]


def unicode_path(raw: bytes, name: str) -> bytes:
    body = b"\1" + struct.pack("<I", zlib.crc32(raw)) + name.encode()
    return struct.pack("<HH", 0x7075, len(body)) + body


@pytest.mark.parametrize(
    ("method", "packed", "flags"),
    [
        (0, TEXT, 0),
        (8, deflated(TEXT), 0),
        (12, bz2.compress(TEXT), 0),
        (14, lzma_member(TEXT), 2),
        (93, zstd.compress(TEXT), 0),
        (95, lzma.compress(TEXT), 0),
    ],
)
def test_each_method_is_read(tmp_path: Path, method: int, packed: bytes, flags: int) -> None:
    data = zip_of(Part(data=TEXT, method=method, packed=packed, flags=flags))
    assert contents(tmp_path, opened(tmp_path, data, ZIP)) == {"a.txt": TEXT}


def test_deflate64_is_read(tmp_path: Path) -> None:
    import inflate64

    packer = inflate64.Deflater()
    data = zip_of(Part(data=TEXT * 500, method=9, packed=packer.deflate(TEXT * 500) + packer.flush()))
    assert contents(tmp_path, opened(tmp_path, data, ZIP)) == {"a.txt": TEXT * 500}


def test_an_unknown_method_is_said_so(tmp_path: Path) -> None:
    data = zip_of(Part(name=b"odd.bin", data=b"x", method=97), Part(name=b"plain.txt", data=b"y"))
    unpacked = opened(tmp_path, data, ZIP)
    assert codes(unpacked) == {"odd.bin": "unsupported_format"}
    assert contents(tmp_path, unpacked) == {"plain.txt": b"y"}


@pytest.mark.parametrize(
    ("encoding", "names"),
    [
        ("cp932", ["文章1.txt", "文章2.txt"]),
        ("cp932", ["見積書_株式会社山田.pdf", "請求書.pdf"]),
        ("cp866", ["Документ.doc", "Отчёт за 2020.xls"]),
        ("cp1251", ["Договор.pdf", "Приложение 1.pdf"]),
        ("gbk", ["会议纪要.docx"]),
        ("gbk", ["中文/说明.txt", "目录.txt"]),
        ("big5", ["會議記錄.docx", "報告.pdf"]),
        ("cp949", ["회의록_최종.docx", "사진.jpg"]),
        ("cp437", ["Müller.txt", "Rechnung für Herrn Schäfer.pdf"]),
        ("cp850", ["Relatório Ação.pdf"]),
        ("cp852", ["Příloha č. 1.doc"]),
        ("cp1252", ["Größe.pdf", "Übersicht.doc"]),
        ("cp1250", ["Příloha č. 1.doc"]),
        ("cp737", ["Έγγραφο.doc"]),
        ("utf-8", ["Łódź.txt", "文章.txt"]),
    ],
)
def test_names_without_a_charset_are_read_together(tmp_path: Path, encoding: str, names: list[str]) -> None:
    parts = [Part(name=name.encode(encoding), data=b"x", host=0) for name in [*names, "readme.txt"]]
    assert [m.path for m in opened(tmp_path, zip_of(*parts), ZIP).members] == [*names, "readme.txt"]


def test_what_the_zip_says_of_names_counts(tmp_path: Path) -> None:
    raw = "Größe.txt".encode("cp437")
    parts = (
        Part(name="Мир.txt".encode(), flags=1 << 11, data=b"1"),
        Part(name=raw, extra=unicode_path(raw, "Größe ☃.txt"), data=b"2"),
        Part(name=b"other.txt", extra=unicode_path(b"was renamed.txt", "old.txt"), data=b"3"),
    )
    assert [m.path for m in opened(tmp_path, zip_of(*parts), ZIP).members] == ["Мир.txt", "Größe ☃.txt", "other.txt"]


def test_encrypted_members_fail_alone(tmp_path: Path) -> None:
    parts = (
        Part(name=b"old.txt", data=b"x" * 20, flags=1),
        Part(name=b"aes.txt", data=b"x" * 40, flags=1, method=99),
        Part(name=b"open.txt", data=b"free"),
    )
    unpacked = opened(tmp_path, zip_of(*parts), ZIP)
    assert unpacked.failure is None
    assert codes(unpacked) == {"old.txt": "encrypted", "aes.txt": "encrypted"}
    assert contents(tmp_path, unpacked) == {"open.txt": b"free"}


def test_damage_costs_one_member(tmp_path: Path) -> None:
    parts = (
        Part(name=b"crc.txt", data=TEXT, crc=1),
        Part(name=b"bits.txt", data=TEXT, method=8, packed=b"\xff" * 50),
        Part(name=b"short.txt", data=TEXT, method=8, packed=deflated(TEXT)[:20]),
        Part(name=b"good.txt", data=TEXT),
        Part(name=b"nowhere.txt", data=TEXT, offset=3),
    )
    unpacked = opened(tmp_path, zip_of(*parts), ZIP)
    expected = {"crc.txt": "corrupt", "bits.txt": "corrupt", "short.txt": "truncated", "nowhere.txt": "corrupt"}
    assert codes(unpacked) == expected
    assert contents(tmp_path, unpacked) == {"good.txt": TEXT}


def test_an_offset_beyond_any_file_costs_one_member(tmp_path: Path) -> None:
    data = zip_of(Part(name=b"good.txt", data=TEXT), Part(name=b"far.txt", data=TEXT, zip64=True))
    at = data.rindex(struct.pack("<QQ", len(TEXT), len(TEXT)))
    unpacked = opened(tmp_path, data[: at + 16] + b"\xff" * 8 + data[at + 24 :], ZIP)
    assert codes(unpacked) == {"far.txt": "corrupt"}
    assert contents(tmp_path, unpacked) == {"good.txt": TEXT}


def test_sizes_that_lie_are_not_believed(tmp_path: Path) -> None:
    parts = (
        Part(name=b"small.txt", data=TEXT, method=8, packed=deflated(TEXT), size=3),
        Part(name=b"large.txt", data=TEXT, method=8, packed=deflated(TEXT), size=0xFFFFFFF0),
        Part(name=b"beyond.txt", data=TEXT, compressed=0x7FFFFFFF),
    )
    unpacked = opened(tmp_path, zip_of(*parts), ZIP)
    assert contents(tmp_path, unpacked) == {"small.txt": TEXT, "large.txt": TEXT}
    assert codes(unpacked) == {"beyond.txt": "truncated"}


def test_junk_comment_zip64_and_descriptors(tmp_path: Path) -> None:
    parts = (
        Part(name=b"wide.txt", data=TEXT, zip64=True),
        Part(name=b"behind.txt", data=TEXT, method=8, packed=deflated(TEXT), descriptor=True),
        Part(name=b"empty.txt"),
    )
    data = zip_of(*parts, junk=b"MZ" + bytes(700), comment=b"PK\5\6 no end record, " + bytes(40))
    unpacked = opened(tmp_path, data, ZIP)
    assert contents(tmp_path, unpacked) == {"wide.txt": TEXT, "behind.txt": TEXT, "empty.txt": b""}
    assert unpacked.warnings == []


@pytest.mark.parametrize("descriptor", [False, True])
@pytest.mark.parametrize("method", [0, 8])
def test_without_a_directory_local_headers_give_the_members(tmp_path: Path, method: int, descriptor: bool) -> None:
    inner = zip_of(Part(name=b"inside.txt", data=b"not to be found"))  # stored: its headers stand in the open
    parts = [
        Part(name=name, data=body, method=method, packed=deflated(body) if method else None, descriptor=descriptor)
        for name, body in ((b"one.txt", TEXT), (b"two.zip", inner), ("größe.txt".encode("cp437"), b"3"))
    ]
    unpacked = opened(tmp_path, zip_of(*parts, directory=False), ZIP)
    assert contents(tmp_path, unpacked) == {"one.txt": TEXT, "two.zip": inner, "größe.txt": b"3"}
    assert unpacked.warnings == ["damaged_directory"]


def test_descriptors_without_a_signature(tmp_path: Path) -> None:
    parts = [
        Part(name=n, data=TEXT, method=8, packed=deflated(TEXT), descriptor=True) for n in (b"one.txt", b"two.txt")
    ]
    data = zip_of(*parts, directory=False).replace(b"PK\7\x08", b"")
    assert contents(tmp_path, opened(tmp_path, data, ZIP)) == {"one.txt": TEXT, "two.txt": TEXT}


def test_zips_one_behind_the_other_give_the_members_of_all(tmp_path: Path) -> None:
    data = zip_of(Part(name=b"one.txt", data=b"1")) + zip_of(Part(name=b"two.txt", data=b"2"))
    assert contents(tmp_path, opened(tmp_path, data, ZIP)) == {"one.txt": b"1", "two.txt": b"2"}


def test_a_cut_zip_gives_what_is_whole(tmp_path: Path) -> None:
    data = zip_of(Part(name=b"one.txt", data=TEXT), Part(name=b"two.txt", data=TEXT), directory=False)
    unpacked = opened(tmp_path, data[:-100], ZIP)
    assert contents(tmp_path, unpacked) == {"one.txt": TEXT}
    assert codes(unpacked) == {"two.txt": "truncated"}
    assert unpacked.warnings == ["damaged_directory"]


def test_a_zip_of_which_nothing_is_whole_fails(tmp_path: Path) -> None:
    whole = zip_of(Part(name=b"one.txt", data=TEXT))
    cut, lying = opened(tmp_path, whole[:500], ZIP), opened(tmp_path, zip_of(Part(data=TEXT, compressed=1 << 31)), ZIP)
    assert cut.failure is not None
    assert cut.failure.code == "truncated"
    assert lying.failure is not None
    assert lying.failure.code == "corrupt"
    assert list((tmp_path / "into").iterdir()) == []


def test_a_directory_with_fewer_entries_than_it_says_is_reported(tmp_path: Path) -> None:
    unpacked = opened(tmp_path, zip_of(Part(data=b"x"), count=3), ZIP)
    assert contents(tmp_path, unpacked) == {"a.txt": b"x"}
    assert unpacked.warnings == ["damaged_directory"]


def test_links_devices_and_folders_are_no_members(tmp_path: Path) -> None:
    parts = (
        Part(name=b"link", data=b"/etc/passwd", attributes=LINK),
        Part(name=b"pipe", attributes=FIFO),
        Part(name=b"folder/"),
        Part(name=b"windows\\", host=0, attributes=0x10),
        Part(name=b"folder/file.txt", data=b"x"),
    )
    unpacked = opened(tmp_path, zip_of(*parts), ZIP)
    assert [m.path for m in unpacked.members] == ["folder/file.txt"]
    assert unpacked.warnings == ["links_left_out", "devices_left_out"]


def test_duplicates_are_kept(tmp_path: Path) -> None:
    unpacked = opened(tmp_path, zip_of(*(Part(name=b"a.txt", data=b"%d" % n) for n in range(3))), ZIP)
    assert contents(tmp_path, unpacked) == {"a.txt": b"0", "a (2).txt": b"1", "a (3).txt": b"2"}
    assert unpacked.warnings == ["duplicate_names"]


def test_times_only_where_their_zone_is_known(tmp_path: Path) -> None:
    extra = struct.pack("<HHBi", 0x5455, 5, 1, 1_600_000_000)
    ticks = (1_600_000_000 + 11_644_473_600) * 10_000_000
    ntfs = struct.pack("<HHIHHQQQ", 0x000A, 32, 0, 1, 24, ticks, 0, 0)
    parts = (Part(extra=extra, data=b"1"), Part(name=b"b", extra=ntfs, data=b"2"), Part(name=b"c", data=b"3"))
    when = datetime.fromtimestamp(1_600_000_000, UTC)
    assert [m.modified_at for m in opened(tmp_path, zip_of(*parts), ZIP).members] == [when, when, None]


def test_members_that_share_their_bytes_are_a_bomb(tmp_path: Path) -> None:
    kernel = deflated(bytes(10_000))
    parts = [
        Part(name=b"%03d" % n, data=bytes(10_000), method=8, packed=kernel if n == 0 else b"", offset=0)
        for n in range(200)
    ]
    for part in parts[1:]:
        part.compressed = len(kernel)
    unpacked = opened(tmp_path, zip_of(*parts), ZIP)
    assert unpacked.failure is not None
    assert unpacked.failure.code == "bomb"
    assert "share" in unpacked.failure.message


def test_headers_that_overlap_cost_little(tmp_path: Path) -> None:
    began = time.monotonic()
    header = struct.pack("<4sHHHHHIIIHH", b"PK\3\4", 20, 0, 0, 0, 0, 0, 1 << 31, 0, 0xFFFF, 0)
    unpacked = opened(tmp_path, header * 200_000, ZIP)
    assert unpacked.failure is not None
    assert unpacked.failure.code == "bomb"
    assert time.monotonic() - began < 10


@pytest.mark.parametrize(
    ("method", "packed"),
    [
        (8, deflated(bytes(300 << 20))),
        (12, bz2.compress(bytes(300 << 20))),
        (93, zstd.compress(bytes(300 << 20))),
    ],
)
def test_a_bomb_is_stopped_while_it_streams(tmp_path: Path, method: int, packed: bytes) -> None:
    began = time.monotonic()
    unpacked = opened(tmp_path, zip_of(Part(size=10, method=method, packed=packed)), ZIP)
    assert unpacked.failure is not None
    assert unpacked.failure.code == "bomb"
    assert "times the" in unpacked.failure.message
    assert list((tmp_path / "into").iterdir()) == []
    assert time.monotonic() - began < 5


def test_too_many_members_are_a_bomb(tmp_path: Path) -> None:
    data = zip_of(*(Part(name=b"%d" % n) for n in range(30)))
    assert opened(tmp_path, data, ZIP, limits=Limits(members=30)).failure is None
    failure = opened(tmp_path, data, ZIP, limits=Limits(members=29)).failure
    assert failure is not None
    assert failure.code == "bomb"


def test_a_dictionary_beyond_all_measure_is_refused(tmp_path: Path) -> None:
    packed = bytearray(lzma_member(TEXT))
    packed[5:9] = struct.pack("<I", 0xFFFFFFFF)
    part = Part(data=TEXT, method=14, packed=bytes(packed), flags=2)
    assert codes(opened(tmp_path, zip_of(part, Part(name=b"b", data=b"x")), ZIP)) == {"a.txt": "too_large"}
    part.flags = 0  # without a mark at its end the size is known, and no dictionary needs more
    assert codes(opened(tmp_path, zip_of(part), ZIP)) == {}
