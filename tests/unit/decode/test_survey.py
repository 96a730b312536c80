"""The whole file counts, in bounded memory; pieces of long lines are cut where no character is torn at their start."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from streams.decode.survey import SAMPLE, count_errors, survey, telling_lines
from tests.unit.decode.files import detected

JAPANESE = "会議室は月曜日から使えません。小さい部屋を使ってください。"
GERMAN = "Die Straße führt über drei Brücken, und am Ende steht das große Lagerhaus."


@pytest.mark.parametrize(
    ("first", "last", "encoding", "warnings"),
    [
        (b"nothing but plain words here\n", "Die Brücke über die Straße\n".encode("cp1252"), "windows-1252", []),
        (GERMAN.encode() + b"\n", b"caf\xe9\n", "utf-8", ["invalid_bytes"]),
        (GERMAN.encode("cp1252") + b"\n", "Ende für alle: ☃\n".encode(), "windows-1252", []),
        (JAPANESE.encode("cp932") + b"\n", b"end\n", "shift_jis", []),
        (JAPANESE.encode("cp932"), b"end\n", "shift_jis", []),
        (GERMAN.encode("cp1252"), b"end\n", "windows-1252", []),
        (JAPANESE.encode("utf-16-le"), "end\n".encode("utf-16-le"), "utf-16-le", []),
    ],
)
def test_the_end_of_a_big_file_counts(
    tmp_path: Path, first: bytes, last: bytes, encoding: str, warnings: list[str]
) -> None:
    data = first * (3_000_000 // len(first)) + last
    found = detected(tmp_path, data, "a")
    assert (found.encoding, found.warnings) == (encoding, warnings)


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    data = (GERMAN + "\n").encode("cp1252") * 200_000
    path = tmp_path / "a"
    path.write_bytes(data)
    tracemalloc.start()
    try:
        seen = survey(path, len(data))
        assert count_errors(path, "windows-1252") == 0
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert SAMPLE <= len(seen.sample) <= 3 * SAMPLE
    assert peak < 10_000_000 < len(data)


def test_damaged_utf8_beats_a_label_of_single_bytes(tmp_path: Path) -> None:
    data = (GERMAN + "\n").encode() * 40 + b"caf\xe9\n"
    found = detected(tmp_path, data, "a.txt", http="text/plain; charset=windows-1252")
    assert (found.encoding, found.encoding_source) == ("utf-8", "detected")
    assert found.warnings == ["encoding_conflict", "invalid_bytes"]


def test_a_replacement_character_is_no_error(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes("a\ufffdb".encode())
    assert count_errors(path, "utf-8") == 0
    path.write_bytes("a\ufffdb".encode() + b"\xff")
    assert count_errors(path, "utf-8") == 1


def test_a_character_between_two_chunks_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "a"
    data = b"x" * ((1 << 20) - 1) + "é\n".encode()
    path.write_bytes(data)
    seen = survey(path, len(data))
    assert (seen.ascii, seen.valid_to, seen.cut_at_end) == (False, None, False)


@pytest.mark.parametrize("encoding", ["cp932", "gb18030", "cp949", "big5"])
def test_pieces_begin_with_a_character(encoding: str) -> None:
    text = {"cp932": JAPANESE, "gb18030": "图书馆开放", "cp949": "도서관은", "big5": "圖書館開放"}[encoding]
    line = (text + "," + text * 50).encode(encoding)
    piece, torn = telling_lines(b"\n" + line, 40)
    assert torn == 1
    assert len(piece) <= 42
    assert piece[:-1].decode(encoding, "ignore")[:4] in (text * 2)
    inside, _ = telling_lines(line[1:], 40, aligned=False)
    assert inside[:-1].decode(encoding, "ignore").startswith(text[:4])
