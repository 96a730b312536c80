"""The fuzzer itself: its rounds can be repeated, it sees what it looks for, and a few rounds of it find nothing."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from fuzz import decode_fuzz, unpack_fuzz
from fuzz.__main__ import GROWTH, SECONDS, Child, complaints
from fuzz.mutate import MAX_SIZE, mutated


def test_a_round_follows_from_its_seed() -> None:
    data, others = bytes(range(256)) * 20, [b"PK" * 300]
    rounds = [mutated(data, Random(f"1:{number}"), others) for number in range(50)]  # noqa: S311
    assert rounds == [mutated(data, Random(f"1:{number}"), others) for number in range(50)]  # noqa: S311
    assert sum(one != data for one in rounds) > 40
    assert all(len(one) <= MAX_SIZE for one in rounds)
    assert mutated(b"", Random(0), [b""]) is not None  # noqa: S311


@pytest.mark.parametrize("target", [decode_fuzz, unpack_fuzz], ids=["decode", "unpack"])
def test_some_rounds_find_nothing(tmp_path: Path, target: object) -> None:
    assert target in (decode_fuzz, unpack_fuzz)
    module = decode_fuzz if target is decode_fuzz else unpack_fuzz
    seeds = module.seeds()
    others = list(seeds.values())
    path = tmp_path / "content"
    for number, (name, data) in enumerate(seeds.items()):
        random = Random(number)  # noqa: S311
        for changed in (data, mutated(data, random, others), mutated(data, random, others)):
            path.write_bytes(changed)
            module.check(path, name, number)


def test_a_child_that_dies_is_a_finding(tmp_path: Path) -> None:
    child = Child("decode")
    try:
        fine = child.call(Path(__file__), "test_fuzz.py", 0)
        absent = child.call(tmp_path / "absent", "absent", 0)
    finally:
        child.close()
    assert complaints(fine) == []
    assert "FileNotFoundError" in complaints(absent)[0]


def test_what_is_a_finding() -> None:
    assert complaints({"error": None, "seconds": SECONDS, "growth": GROWTH}) == []
    assert len(complaints({"error": "x", "seconds": SECONDS + 1, "growth": GROWTH + 1})) == 3
