"""Compound files: what is written can be read, by others too, and damage is bounded."""

from __future__ import annotations

import importlib
import io
import random
import struct
import time
from typing import Any

import pytest

from streams.decode.unpack.compound import Compound, CompoundError, Entry
from streams.decode.unpack.compound_writer import copy_of, written
from streams.decode.unpack.model import MemberError
from tests.unit.decode.unpack.compounds import Tree, compound

TREE: Tree = {
    "empty": b"",
    "small": b"abc",
    "almost": b"y" * 4095,
    "large": bytes(range(256)) * 100,
    "deep": {"deeper": {"stream": b"z" * 5000, "small": b"q" * 65}},
}


def read(data: bytes) -> Compound:
    return Compound(io.BytesIO(data), len(data))


def tree_of(file: Compound, entry: Entry) -> Tree:
    return {e.name: b"".join(file.chunks(e)) if e.is_stream else tree_of(file, e) for e in entry.entries}


def test_what_is_written_is_read() -> None:
    file = read(compound(TREE))
    assert tree_of(file, file.root) == TREE


def test_another_reader_reads_it() -> None:
    olefile: Any = importlib.import_module("olefile")
    other = olefile.OleFileIO(io.BytesIO(compound(TREE)), raise_defects=olefile.DEFECT_UNSURE)
    assert other.openstream("deep/deeper/stream").read() == b"z" * 5000
    assert other.openstream("large").read() == bytes(range(256)) * 100
    assert other.openstream("deep/deeper/small").read() == b"q" * 65


def test_many_siblings_and_more_sectors_than_the_header_names() -> None:
    olefile: Any = importlib.import_module("olefile")
    data = compound({f"n{number}": b"%d" % number for number in range(1000)} | {"big": bytes(9_000_000)})
    file = read(data)
    assert len(file.root.entries) == 1001
    other = olefile.OleFileIO(io.BytesIO(data), raise_defects=olefile.DEFECT_UNSURE)
    assert other.openstream("n777").read() == b"777"
    assert other.get_size("big") == 9_000_000
    big = file.root.get("BIG")
    assert big is not None
    assert sum(map(len, file.chunks(big))) == 9_000_000


def test_a_storage_is_copied_with_all_that_is_in_it() -> None:
    file = read(compound(TREE))
    deep = file.root.get("deep")
    assert deep is not None
    copy = read(b"".join(written(copy_of(file, deep))))
    assert tree_of(copy, copy.root) == TREE["deep"]


def test_parts_of_streams() -> None:
    file = read(compound(TREE))
    large, small = file.root.get("large"), file.root.get("small")
    assert large is not None
    assert small is not None
    whole = bytes(range(256)) * 100
    for offset, size in ((0, 1), (511, 2), (700, 3000), (25_590, 100), (30_000, 5)):
        assert file.part(large, offset, size) == whole[offset : offset + size]
    assert file.part(small, 1, 9) == b"bc"
    assert b"".join(file.part_chunks(large, 3, 20_000)) == whole[3:20_003]
    with pytest.raises(MemberError):
        list(file.part_chunks(large, 0, 30_000))


def test_a_stream_that_is_cut_off_says_so_and_is_read_as_far_as_it_goes() -> None:
    data = compound({"large": b"x" * 20_000})
    fat = data[-512:]
    at = data.index(b"xxxx") // 512 + 5
    cut = data[: at * 512] + bytes(0)
    with pytest.raises(CompoundError):
        read(cut[:100])
    broken = data[:-512] + fat[: (at - 1) * 4] + struct.pack("<I", 0xFFFFFFFE) + fat[at * 4 :]
    file = read(broken)
    large = file.root.get("large")
    assert large is not None
    assert 0 < file.available(large) < 20_000
    with pytest.raises(MemberError):
        list(file.chunks(large))
    again = read(b"".join(written(copy_of(file, file.root))))
    assert again.root.entries[0].size == file.available(large)


def test_circles_and_shared_chains_end() -> None:
    data = bytearray(compound({f"n{number}": bytes(5000) for number in range(500)}))
    began = time.process_time()
    for seed in range(60):
        chance = random.Random(seed)  # noqa: S311 - damage that can be repeated
        damaged = bytearray(data)
        for _ in range(200):
            at = chance.randrange(len(damaged) // 4) * 4
            damaged[at : at + 4] = struct.pack("<I", chance.choice((0, 1, 2, 500, 0xFFFFFFFE, 0xFFFFFFFF)))
        try:
            file = read(bytes(damaged))
        except CompoundError:
            continue
        total = sum(len(chunk) for chunk in written(copy_of(file, file.root)))
        assert total < 3 * len(data)
    assert time.process_time() - began < 20
