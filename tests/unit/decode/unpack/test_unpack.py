"""What holds for all containers: nothing outside the folder, names, bombs that hide in what is nested, memory."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import py7zr
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from streams.decode.unpack import Limits, Unpacked, is_archive, may_have_members, unpack
from streams.decode.unpack.decoders import zstd
from streams.decode.unpack.model import Sink, Tally
from tests.unit.decode.unpack.archives import (
    GZIP,
    RAR,
    SEVEN,
    TAR,
    ZIP,
    Part,
    contents,
    deflated,
    opened,
    rar_of,
    tar_of,
    zip_of,
)

CORPUS = Path(__file__).parents[5] / "shared"


def zip_of_names(names: list[str]) -> bytes:
    return zip_of(*(Part(name=name.encode("utf-8", "surrogatepass")[:60_000], data=b"x") for name in names))


def tar_of_names(names: list[str]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT, errors="surrogatepass") as archive:
        for name in names:
            info = tarfile.TarInfo(name)
            info.size = 1
            archive.addfile(info, io.BytesIO(b"x"))
    return out.getvalue()


def seven_of_names(names: list[str]) -> bytes:
    """py7zr refuses such names, so they are put into a header that it wrote with others of the same length."""
    from tests.unit.decode.unpack.test_sevenzip import COPY, files, framed, number

    clean = [name.replace("\0", "") for name in names]
    header = b"\1\4\x06" + number(0) + number(1) + b"\x09" + number(len(names)) + b"\0"
    header += b"\x07\x0b" + number(1) + b"\0" + number(1) + COPY + b"\x0c" + number(len(names)) + b"\0"
    header += b"\x08\x0d" + number(len(names)) + b"\x09" + number(1) * (len(names) - 1) + b"\0" + b"\0"
    raw = files(*(name.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace") for name in clean))
    return framed(header + raw + b"\0", b"x" * len(names))


def rar_of_names(names: list[str]) -> bytes:
    return rar_of({name.encode("utf-8", "replace").decode()[:2000]: b"x" for name in names})


HOSTILE = st.one_of(
    st.sampled_from(
        [
            "../up",
            "..\\up",
            "/etc/passwd",
            "\\\\host\\share",
            "C:\\a",
            "c:/a",
            "a/../../b",
            "..",
            ".",
            "",
            "/",
            "a//b",
            "con",
        ]
    ),
    st.text(max_size=40),
    st.lists(st.sampled_from(["..", ".", "", "a", "b ", "%2e%2e", "\u202e", "C:", "\n"]), max_size=8).map("/".join),
    st.text(alphabet="ab/\\.:", max_size=300),
)


@pytest.mark.parametrize(
    ("media_type", "make"), [(ZIP, zip_of_names), (TAR, tar_of_names), (SEVEN, seven_of_names), (RAR, rar_of_names)]
)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(names=st.lists(HOSTILE, min_size=1, max_size=6))
@example(names=["../../../../tmp/x", "/tmp/x", "a", "a", "A"])
def test_no_name_leads_anywhere(media_type: str, make: Callable[[list[str]], bytes], names: list[str]) -> None:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        (root / "inner").mkdir()
        unpacked = opened(root / "inner", make(names), media_type)
        everything = sorted(path.relative_to(root).as_posix() for path in root.rglob("*"))
    written = sorted(f"inner/into/{m.file}" for m in unpacked.members if m.file)
    assert everything == sorted(["inner", "inner/container", "inner/into", *written])
    paths = [m.path for m in unpacked.members]
    assert len(set(paths)) == len(paths)
    for path in paths:
        assert path
        assert not path.startswith(("/", "\\"))
        assert ".." not in path.replace("\\", "/").split("/")
        assert "\0" not in path


def test_thousands_of_members_of_one_name_cost_little(tmp_path: Path) -> None:
    sink = Sink(tmp_path, Tally(Limits(), 1))
    began = time.monotonic()
    paths = [sink.add("same.txt", ()).path for _ in range(5_000)]
    assert len(set(paths)) == 5_000
    assert time.monotonic() - began < 10


def test_a_numbered_name_that_is_there_already_is_not_taken_twice(tmp_path: Path) -> None:
    sink = Sink(tmp_path, Tally(Limits(), 1))
    names = ["a.txt", "a (2).txt", "a.txt", "a (2).txt", "a.txt"]
    assert len({sink.add(name, ()).path for name in names}) == 5


def nested(levels: int, width: int, core: bytes) -> bytes:
    """Zips in zips: `width` in each of `levels` around zeros."""
    data = core
    for _ in range(levels):
        packed = deflated(data)
        data = zip_of(*(Part(name=b"%02d.zip" % n, data=data, method=8, packed=packed) for n in range(width)))
    return data


def test_a_nested_bomb_is_a_bomb_at_the_outer_shell(tmp_path: Path) -> None:
    zeros = bytes(4 << 20)
    data = nested(4, 12, zip_of(Part(data=zeros, method=8, packed=deflated(zeros))))
    began = time.monotonic()
    unpacked = opened(tmp_path, data, ZIP)
    assert unpacked.failure is not None
    assert unpacked.failure.code == "bomb"
    assert "members" in unpacked.failure.message
    assert unpacked.members == []
    assert list((tmp_path / "into").iterdir()) == []
    assert time.monotonic() - began < 10


def test_the_members_of_all_levels_count(tmp_path: Path) -> None:
    data = nested(3, 10, b"x")
    assert opened(tmp_path, data, ZIP, limits=Limits(members=1110)).failure is None
    failure = opened(tmp_path, data, ZIP, limits=Limits(members=1109)).failure
    assert failure is not None
    assert failure.code == "bomb"


def test_below_the_deepest_level_nothing_is_counted(tmp_path: Path) -> None:
    data = nested(12, 1, b"x")
    assert opened(tmp_path, data, ZIP, limits=Limits(depth=8, members=8)).failure is None
    assert opened(tmp_path, data, ZIP, limits=Limits(depth=9, members=8)).failure is not None


def test_a_bomb_in_another_kind_of_container(tmp_path: Path) -> None:
    inner = gzip.compress(bytes(100 << 20))
    data = tar_of({"a/b.txt.gz": inner})
    failure = opened(tmp_path, data, TAR).failure
    assert failure is not None
    assert failure.code == "bomb"
    assert "a/b.txt.gz" in failure.message


def test_nested_containers_that_are_damaged_or_encrypted_are_no_failure(tmp_path: Path) -> None:
    whole = zip_of(Part(data=b"x" * 500))
    unpacked = opened(tmp_path, tar_of({"cut.zip": whole[:300], "locked.zip": zip_of(Part(data=b"x", flags=1))}), TAR)
    assert unpacked.failure is None
    assert len(contents(tmp_path, unpacked)) == 2


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus is not there")
@pytest.mark.parametrize(
    ("file", "code"),
    [
        ("corpus/files/archives/droste.zip", None),
        ("corpus/files/archives/ratio-bomb.gz", "bomb"),
        ("corpus/files/archives/corrupted-oom.zip", "corrupt"),
        ("cases/files/archive/nested-bomb.zip", "bomb"),
    ],
)
def test_known_files(tmp_path: Path, file: str, code: str | None) -> None:
    began = time.monotonic()
    unpacked = opened(tmp_path, (CORPUS / file).read_bytes(), GZIP if file.endswith("gz") else ZIP)
    assert (unpacked.failure.code if unpacked.failure else None) == code
    assert time.monotonic() - began < 10


@pytest.mark.parametrize("media_type", [ZIP, TAR, GZIP, SEVEN, RAR])
def test_zero_bytes_are_no_archive(tmp_path: Path, media_type: str) -> None:
    failure = opened(tmp_path, b"", media_type).failure
    assert failure is not None
    assert failure.code == "truncated"


@pytest.mark.parametrize("media_type", ["application/pdf", "message/rfc822", "application/msword"])
def test_a_document_without_a_byte_carries_nothing(tmp_path: Path, media_type: str) -> None:
    unpacked = opened(tmp_path, b"", media_type)
    assert unpacked.failure is None
    assert unpacked.members == []


def test_which_formats_are_containers() -> None:
    assert is_archive(ZIP)
    assert may_have_members("application/pdf")
    assert not is_archive("application/pdf")
    assert not may_have_members("text/plain")


MEASURE = """
import sys, tempfile, time
from pathlib import Path
from streams.decode.unpack import Limits, unpack
import streams.decode.unpack.{module}
import streams.decode.identify

def peak():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))

before, began = peak(), time.process_time()
with tempfile.TemporaryDirectory() as folder:
    unpacked = unpack(Path(sys.argv[1]), sys.argv[2], Path(folder), Limits())
print((peak() - before) // 1024, time.process_time() - began, unpacked.failure and unpacked.failure.code)
"""
"""Growth of the peak in MB (`ru_maxrss` begins with the parent's), seconds of work, outcome."""


def big_dictionary() -> bytes:
    """Bytes that do not repeat within 100 MB, so that the whole dictionary is used."""
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 100 << 20}]
    return lzma.compress(os.urandom(600 << 10) + bytes(130 << 20), filters=filters)


def seven_bomb(method: int) -> bytes:
    out = io.BytesIO()
    with py7zr.SevenZipFile(out, "w", filters=[{"id": method}]) as archive:
        archive.writestr(bytes(60 << 20), "zeros")
    return out.getvalue()


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of memory is read from /proc")
@pytest.mark.parametrize(
    ("media_type", "module", "make"),
    [
        (ZIP, "zips", lambda: zip_of(Part(method=8, packed=deflated(bytes(200 << 20))))),
        (ZIP, "zips", lambda: zip_of(Part(method=93, packed=zstd.compress(bytes(200 << 20))))),
        (GZIP, "compressed", lambda: gzip.compress(os.urandom(6 << 20), 1) + gzip.compress(bytes(64 << 20), 1) * 18),
        (GZIP, "compressed", lambda: bz2.compress(os.urandom(400 << 10)) + bz2.compress(bytes(8 << 20)) * 16),
        (GZIP, "compressed", big_dictionary),
        (SEVEN, "sevenzip", lambda: seven_bomb(py7zr.FILTER_DEFLATE)),
        (SEVEN, "sevenzip", lambda: seven_bomb(0x38)),
    ],
    ids=["deflate", "zstd", "gigabyte", "bzip2", "xz", "7z-deflate", "7z-deflate64"],
)
def test_a_bomb_costs_bounded_time_and_memory(
    tmp_path: Path, media_type: str, module: str, make: Callable[[], bytes]
) -> None:
    path = tmp_path / "bomb"
    path.write_bytes(make())
    command = [sys.executable, "-c", MEASURE.format(module=module), str(path), media_type]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    megabytes, seconds, code = done.stdout.split()
    assert code == "bomb"
    assert int(megabytes) < 200
    assert float(seconds) < 10


def test_what_fails_leaves_no_files(tmp_path: Path) -> None:
    path = tmp_path / "container"
    path.write_bytes(zip_of(*(Part(name=b"%d" % n, data=b"x", crc=1) for n in range(3))))
    (tmp_path / "into").mkdir()
    unpacked: Unpacked = unpack(path, ZIP, tmp_path / "into", Limits())
    assert unpacked.failure is not None
    assert unpacked.failure.code == "corrupt"
    assert list((tmp_path / "into").iterdir()) == []
