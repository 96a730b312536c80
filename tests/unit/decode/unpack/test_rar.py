"""RAR archives, as far as they can be read without a program; and what is said without one."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.decode.unpack import Limits
from tests.unit.decode.unpack.archives import RAR, codes, contents, opened, rar_of, tar_of

TEXT = b"Walkers use the ford, carts the bridge. " * 40


def test_stored_members_are_read(tmp_path: Path) -> None:
    members = {"a.txt": TEXT, "folder/größe.txt": b"x", "empty.txt": b""}
    assert contents(tmp_path, opened(tmp_path, rar_of(members), RAR)) == members


def test_damage_costs_one_member(tmp_path: Path) -> None:
    data = bytearray(rar_of({"one.txt": TEXT, "two.txt": TEXT}))
    data[data.index(TEXT) + 7] ^= 1
    unpacked = opened(tmp_path, bytes(data), RAR)
    assert codes(unpacked) == {"one.txt": "corrupt"}
    assert contents(tmp_path, unpacked) == {"two.txt": TEXT}


def test_without_a_program_it_is_said_which_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    failure = opened(tmp_path, rar_of({"a.txt": TEXT}, method=3), RAR).failure
    assert failure is not None
    assert failure.code == "unsupported_format"
    assert "unrar" in failure.message


def stand_in(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """A program under the name of bsdtar, for there is no free one that makes compressed members to read."""
    programs = folder / "programs"
    programs.mkdir()
    (programs / "bsdtar").write_text("#!/bin/sh\n" + script)
    (programs / "bsdtar").chmod(0o755)
    monkeypatch.setattr("streams.decode.unpack.rar.PROGRAMS", ("bsdtar",))
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")


def test_what_the_program_gives_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "out.tar").write_bytes(tar_of({"good.txt": TEXT, "bad.txt": TEXT[::-1], "never-listed.txt": b"x"}))
    stand_in(tmp_path, monkeypatch, f'test "$5" = "@{tmp_path}/container" && cat {tmp_path}/out.tar')
    unpacked = opened(tmp_path, rar_of({"good.txt": TEXT, "bad.txt": TEXT, "missing.txt": TEXT}, method=3), RAR)
    assert contents(tmp_path, unpacked) == {"good.txt": TEXT}
    assert codes(unpacked) == {"bad.txt": "corrupt", "missing.txt": "unsupported_format"}


@pytest.mark.parametrize("script", ["exit 1", "echo no tar at all", "head -c 700 /dev/zero"])
def test_a_program_that_fails_costs_the_members(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    stand_in(tmp_path, monkeypatch, script)
    assert codes(opened(tmp_path, rar_of({"a.txt": TEXT}, method=3), RAR)) == {"a.txt": "unsupported_format"}


def test_a_bomb_ends_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "head").write_bytes(tar_of({"a.txt": bytes(1 << 20)})[:512])
    stand_in(tmp_path, monkeypatch, f"cat {tmp_path}/head; cat /dev/zero")
    limits = Limits(size=1 << 19)
    failure = opened(tmp_path, rar_of({"a.txt": TEXT}, method=3), RAR, limits=limits).failure
    assert failure is not None
    assert failure.code == "bomb"


@pytest.mark.parametrize("cut", [20, 40, 200])
def test_a_cut_archive_is_never_a_traceback(tmp_path: Path, cut: int) -> None:
    unpacked = opened(tmp_path, rar_of({"one.txt": b"x" * 30, "two.txt": TEXT})[:-cut], RAR)
    assert unpacked.failure or unpacked.warnings or codes(unpacked)


def test_what_is_no_rar_fails(tmp_path: Path) -> None:
    failure = opened(tmp_path, b"Rar!\x1a\x07\x01\x00" + bytes(100), RAR).failure
    assert failure is not None
    assert failure.code == "corrupt"
