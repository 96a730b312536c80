"""UTF-16 and UTF-32 without BOM are told from data and from text in bytes, in any script."""

from __future__ import annotations

import hashlib
import struct
from pathlib import Path

import pytest

from streams.decode.wide import without_bom
from tests.unit.decode.files import detected
from tests.unit.decode.test_encoding import TEXTS

NAMES = ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", [*dict.fromkeys(TEXTS.values()), "plain words\n", "Ąžuolas\n", "Да", "a,b\n1,2\n"])
def test_any_script(text: str, name: str) -> None:
    assert without_bom(text.encode(name)) == name


@pytest.mark.parametrize(("codec", "text"), TEXTS.items())
def test_text_in_bytes_is_none(codec: str, text: str) -> None:
    from streams.decode.labels import codec_of

    assert without_bom(text.encode(codec_of(codec))) is None
    assert without_bom(text.encode()) is None


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"a",
        b"ab\0",
        bytes(64),
        bytes(range(256)) * 8,
        b"".join(hashlib.sha512(bytes([n])).digest() for n in range(64)),
        struct.pack("<200i", *range(0, 200_000, 1000)),
        struct.pack("<200d", *(n / 7 for n in range(200))),
        b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HHIQQQ", 3, 62, 1, 4096, 64, 20000) + bytes(30),
    ],
)
def test_data_is_none(data: bytes) -> None:
    assert without_bom(data) is None


@pytest.mark.parametrize("name", NAMES)
def test_a_whole_document(tmp_path: Path, name: str) -> None:
    text = "図書館は月曜日から開館時間が変わります。\nПримерный текст.\n" * 400
    found = detected(tmp_path, text.encode(name), "a.txt")
    assert (found.media_type, found.encoding, found.encoding_source) == ("text/plain", name, "detected")
    assert found.warnings == []


def test_markup_in_utf16_keeps_its_label_as_the_source(tmp_path: Path) -> None:
    data = '<?xml version="1.0" encoding="UTF-16"?>\n<a>Ключ лежит у соседа</a>'.encode("utf-16-be")
    assert detected(tmp_path, data, "a.xml", http="text/xml; charset=utf-16be").encoding_source == "http"
    assert detected(tmp_path, data, "a.xml").encoding == "utf-16-be"
