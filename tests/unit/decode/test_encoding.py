"""Encodings: BOM, HTTP, declaration, detection, in this order; UTF-8 that validates beats a wrong label."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from streams.decode.encoding import read_text
from streams.decode.labels import codec_of, resolve
from streams.decode.survey import SAMPLE
from tests.unit.decode.files import detected

TEXTS = {
    "windows-1252": "Die Straße führt über Brücken, wo im Frühling die Mädchen für Bücher schwärmen.",
    "windows-1250": "Příliš žluťoučký kůň úpěl ďábelské ódy. Šťastná žena.",
    "iso-8859-2": "Część książek została już zniszczona, ponieważ było późno.",
    "windows-1251": "Склад открыт с понедельника по пятницу, но сегодня он закрыт.",
    "koi8-r": "Мастерская закрыта до четверга, ключ лежит у соседа.",
    "ibm866": "Однажды мы пошли в лес и увидели большую лошадь.",
    "windows-1253": "Το πλοίο φεύγει κάθε πρωί από το λιμάνι.",
    "windows-1254": "Kütüphane pazartesi günü saat dokuzda açılıyor, çünkü öğrenciler çalışıyor.",
    "windows-1255": "הספרייה פתוחה מיום ראשון עד יום חמישי בשעות הבוקר",
    "windows-1256": "كان هناك رجل حكيم في قرية صغيرة وكان الناس يحبونه",
    "shift_jis": "会議室は月曜日から使えません。小さい部屋を使ってください。",
    "euc-jp": "会議室は月曜日から使えません。小さい部屋を使ってください。",
    "gb18030": "图书馆从下周一开始改变开放时间，请大家注意。",
    "big5": "圖書館從下週一開始改變開放時間，請大家注意。",
    "euc-kr": "도서관은 다음 주 월요일부터 아침 아홉 시에 문을 엽니다.",
}


@pytest.mark.parametrize(("encoding", "text"), TEXTS.items())
def test_short_texts_without_a_label(tmp_path: Path, encoding: str, text: str) -> None:
    data = text.encode(codec_of(encoding))
    found = detected(tmp_path, data, "note.txt")
    assert found.media_type == "text/plain"
    assert found.encoding is not None
    assert data.decode(codec_of(found.encoding)) == text
    assert found.encoding_source == "detected"
    assert found.encoding_confidence is not None
    assert found.encoding_confidence > 0.5


def test_losing_candidates_are_recorded(tmp_path: Path) -> None:
    found = detected(tmp_path, TEXTS["windows-1250"].encode("cp1250"), "note.txt")
    assert {c.encoding for c in found.candidates}
    assert all(0 <= c.confidence <= (found.encoding_confidence or 0) for c in found.candidates)
    assert found.encoding not in {c.encoding for c in found.candidates}


@pytest.mark.parametrize(
    ("data", "http", "encoding", "source", "warning"),
    [
        ("ä\n".encode("utf-8-sig"), "text/plain; charset=latin1", "utf-8", "bom", None),
        ("äb\n".encode("utf-16"), None, "utf-16-le", "bom", None),
        ("plain words\n".encode("utf-16-be"), None, "utf-16-be", "detected", None),
        ("Straße\n".encode("cp1252"), "text/plain; charset=ISO-8859-1", "windows-1252", "http", None),
        ("Straße\n".encode(), "text/plain; charset=ISO-8859-1", "utf-8", "detected", "encoding_conflict"),
        ("Straße\n".encode(), "text/plain; charset=utf8", "utf-8", "http", None),
        (
            "Straße und Brücke\n".encode("cp1252"),
            "text/plain; charset=utf-8",
            "windows-1252",
            "detected",
            "encoding_conflict",
        ),
        (b"plain\n", None, "utf-8", "detected", None),
        (b"plain\n", "text/plain; charset=no-such", "utf-8", "detected", "unknown_charset"),
        ("会議室です\n".encode("iso-2022-jp"), None, "iso-2022-jp", "detected", None),
        (
            "Ein Text über Bücher, und dann".encode()[:-2] + "ü".encode()[:1],
            None,
            "utf-8",
            "detected",
            "truncated_character",
        ),
    ],
)
def test_order_of_evidence(
    tmp_path: Path, data: bytes, http: str | None, encoding: str, source: str, warning: str | None
) -> None:
    found = detected(tmp_path, data, "a.txt", http=http)
    assert (found.encoding, found.encoding_source) == (encoding, source)
    assert (warning in found.warnings) if warning else not found.warnings


@pytest.mark.parametrize(
    ("head", "encoding", "codec"),
    [
        ('<!doctype html><meta charset="iso-8859-1"><p>', "windows-1252", "cp1252"),
        ('<html><meta http-equiv=Content-Type content="text/html; charset=koi8-r"><p>', "koi8-r", "koi8-r"),
        ('<!doctype html><meta charset="iso-8859-8-i"><p>', "iso-8859-8-i", "iso8859-8"),
    ],
)
def test_declarations_inside(tmp_path: Path, head: str, encoding: str, codec: str) -> None:
    text = {"cp1252": "“Brücke” – 14 €", "koi8-r": "Ключ лежит", "iso8859-8": "שלום"}[codec]
    found = detected(tmp_path, head.encode() + text.encode(codec), "a.html")
    assert (found.encoding, found.encoding_source) == (encoding, "meta")


def test_a_declaration_in_plain_text_declares_nothing(tmp_path: Path) -> None:
    data = 'Write <meta charset="koi8-r"> für Russisch, wie früher üblich.'.encode("cp1252")
    assert detected(tmp_path, data, "a.txt").encoding == "windows-1252"


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("latin1", "windows-1252"),
        (" US-ASCII ", "windows-1252"),
        ("x-sjis", "shift_jis"),
        ("GB2312", "gbk"),
        ("iso-8859-9", "windows-1254"),
        ("ISO-8859-8-I", "iso-8859-8-i"),
        ("cp850", "cp850"),
        ("csISO2022KR", "iso-2022-kr"),
        ("HZ-GB-2312", "hz-gb-2312"),
        ("base64", None),
        ("x\0y", None),
        ("", None),
    ],
)
def test_labels(label: str, name: str | None) -> None:
    assert resolve(label) == name


def test_a_big_file_with_one_late_umlaut(tmp_path: Path) -> None:
    data = b"plain words and nothing else\n" * 200_000 + "Die Brücke über die Straße für alle\n".encode("cp1252") * 3
    assert len(data) > 4_000_000 > SAMPLE
    found = detected(tmp_path, data, "a.log")
    assert found.encoding == "windows-1252"


def test_random_bytes_are_no_text(tmp_path: Path) -> None:
    data = b"".join(hashlib.sha512(bytes([i])).digest() for i in range(40)).translate(None, bytes(range(32)) + b"\x7f")
    assert detected(tmp_path, data, "a.txt").media_type == "application/octet-stream"


def test_read_text_counts_what_it_can_not_read(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"\xef\xbb\xbfone\r\ntwo\rthree \xff")
    assert read_text(path, "utf-8") == ("one\ntwo\nthree \ufffd", 1)
