"""Names of members without a charset, judged together."""

from __future__ import annotations

import pytest

from streams.decode.labels import codec_of
from streams.decode.unpack.names_charset import DEFAULT, charset_of_names


def read(names: list[str], encoding: str) -> list[str]:
    raw = [name.encode(encoding) for name in names]
    return [name.decode(codec_of(charset_of_names(raw))) for name in raw]


@pytest.mark.parametrize(
    ("encoding", "name"),
    [
        ("cp437", "café.txt"),
        ("cp437", "año.txt"),
        ("cp850", "São Paulo.doc"),
        ("cp852", "Zażółć gęślą.txt"),
        ("cp857", "Sözleşme.doc"),
        ("cp862", "שלום.txt"),
        ("cp866", "фото.jpg"),
        ("cp932", "新しいフォルダー/メモ.txt"),
        ("cp949", "한글.txt"),
        ("gbk", "新建文本文档.txt"),
        ("gbk", "发票2022.pdf"),
        ("big5", "說明.txt"),
        ("cp1250", "Zażółć gęślą.txt"),
        ("cp1251", "Документ.doc"),
        ("cp1252", "résumé.doc"),
        ("cp1253", "Έγγραφο.doc"),
        ("cp1254", "Sözleşme.doc"),
        ("cp1255", "שלום.txt"),
        ("cp1256", "مستند.doc"),
        ("cp874", "เอกสาร.doc"),
    ],
)
def test_one_short_name_is_enough(encoding: str, name: str) -> None:
    assert read([name], encoding) == [name]


def test_utf_8_only_where_all_names_are() -> None:
    assert charset_of_names(["größe.txt".encode(), b"plain.txt"]) == "utf-8"
    assert charset_of_names(["größe.txt".encode(), "größe.txt".encode("cp1252")]) != "utf-8"


def test_nothing_to_go_by() -> None:
    assert charset_of_names([b"plain.txt"]) == "utf-8"
    assert charset_of_names([b"\x01\xff\xfe" * 300]) == DEFAULT
