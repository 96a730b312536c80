"""Encodings in seven bits are found by their escape sequences, and plain text is none of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.decode.encoding import read_text
from streams.decode.escapes import escaped
from tests.unit.decode.files import detected

TEXTS = {
    "iso-2022-jp": "会議室は月曜日から使えません。\nplain line\n小さい部屋を使ってください。\n",
    "iso-2022-kr": "도서관은 다음 주 월요일부터 문을 엽니다.\nplain line\n",
    "hz-gb-2312": "图书馆从下周一开始改变开放时间，请大家注意。\nplain line\n",
    "utf-7": "Größere Bären tragen häufig süße Körbe über die Brücke.\nplain line\n",
}


@pytest.mark.parametrize(("encoding", "text"), TEXTS.items())
def test_found_without_a_label(tmp_path: Path, encoding: str, text: str) -> None:
    found = detected(tmp_path, text.encode(encoding), "a.txt")
    assert (found.media_type, found.encoding, found.encoding_source) == ("text/plain", encoding, "detected")
    assert found.warnings == []
    assert read_text(tmp_path / "content", encoding) == (text, 0)


@pytest.mark.parametrize("encoding", sorted(TEXTS.keys() - {"iso-2022-kr", "utf-7"}))
def test_found_behind_megabytes_of_ascii(tmp_path: Path, encoding: str) -> None:
    """But one, which the first line announces, and another, which is looked for at the start only."""
    data = b"nothing but ASCII in this line\n" * 100_000 + TEXTS[encoding].encode(encoding)
    assert detected(tmp_path, data, "a.log").encoding == encoding


@pytest.mark.parametrize(("encoding", "text"), TEXTS.items())
def test_a_label_is_the_source(tmp_path: Path, encoding: str, text: str) -> None:
    found = detected(tmp_path, text.encode(encoding), "a.txt", http=f"text/plain; charset={encoding}")
    assert (found.encoding, found.encoding_source) == (encoding, "http")


def test_a_label_of_utf7_that_does_not_fit_loses(tmp_path: Path) -> None:
    found = detected(tmp_path, b"1 + 1 = 2, 2 +!3\n", "a.txt", http="text/plain; charset=utf-7")
    assert (found.encoding, found.encoding_source, found.warnings) == ("utf-8", "detected", ["encoding_conflict"])


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"a + b - c; C++ and +AGE- or +49-30-1234567\n",
        b"\x1b[31mred\x1b[0m and \x1b(B\n",
        b"~{ is no Chinese ~} at all\n",
        b"-----BEGIN-----\nMIIB+gIBAAJBAK+abc+def/ghi+jkl\n" * 5,
        b"path+name+other+file\nx=a+b+c\n",
    ],
)
def test_plain_text_is_none_of_them(data: bytes) -> None:
    assert escaped(data) is None
