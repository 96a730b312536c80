"""Bytes decide the format; failures and rules carry codes of the records; declared and found are compared."""

from __future__ import annotations

import io
import struct
import tarfile
from pathlib import Path

import pytest

from streams.records import PROBLEMS, SKIP_RULES
from tests.unit.decode.files import DOCX_MAIN, XLSX_MAIN, ask, content_types, detected, docx, ole, zipped

DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


def tar() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("a.txt"))
    return out.getvalue()


@pytest.mark.parametrize(
    ("data", "name", "media_type"),
    [
        (b"%PDF-1.7\n%...", "a.txt", "application/pdf"),
        (b"HTTP/1.1 200 OK\r\nServer: x\r\n\r\n%PDF-1.4\n1 0 obj\n<<>>\nendobj", "a.pdf", "application/pdf"),
        (b"A note on %PDF-1.4 headers, and no PDF.\n", "a.txt", "text/plain"),
        (b"{\\rtf1\\ansi hello}", "a.doc", "text/rtf"),
        (b"\x89PNG\r\n\x1a\n" + bytes(40), "a.pdf", "image/png"),
        (b"\x1f\x8b\x08" + bytes(20), "a.gz", "application/gzip"),
        (tar(), "a", "application/x-tar"),
        (b"<!doctype html><p>x</p>", "a.xls", "text/html"),
        (b"  <!-- c -->\n<html xmlns:o='urn:x'><body>x</body></html>", "a.xls", "text/html"),
        (b"<table><tr><td>a</td></tr></table>", "a", "text/html"),
        (b"<p>one</p><p>two</p><ul><li>three</ul>", "a.txt", "text/html"),
        (
            b'<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><body/></html>',
            "a",
            "application/xhtml+xml",
        ),
        (b'<svg xmlns="http://www.w3.org/2000/svg"><path/></svg>', "a.xml", "image/svg+xml"),
        (b'<?xml version="1.0"?><rows><row/></rows>', "a.txt", "application/xml"),
        (b"<rows><row>1</row></rows>", "a", "application/xml"),
        (b'{"a": [1, 2]}', "a.txt", "application/json"),
        (b'"a text in quotes" is no JSON', "a.json", "text/plain"),
        (b"[a note in brackets] and more", "a", "text/plain"),
        (b'{"a": 1}\n{"a": 2}\n', "a", "application/x-ndjson"),
        (b"# Title\n\ntext\n", "a.md", "text/markdown"),
        (b'<p align="center">\n  <b>x</b>\n</p>\n\n# Title\n', "README.md", "text/markdown"),
        (b"# Title\n\ntext\n", "a.txt", "text/plain"),
        (b"a,b\n1,2\n", "a.csv", "text/csv"),
        (b"a\tb\n1\t2\n3\t4\n", "a.xls", "text/tab-separated-values"),
        (b"Well, yes, no, and so on.\nOne, two, three, go.\n" * 5, "a.txt", "text/plain"),
        (b"From: a@b.c\r\nTo: d@e.f\r\nMessage-ID: <1@b.c>\r\nSubject: x\r\n\r\nhello", "a", "message/rfc822"),
        (b"From: Anna\nTo: Bert\nDate: Friday\nSubject: the lift\n\nIt stops at noon.\n", "memo.txt", "text/plain"),
        (
            b"From a@b.c Fri Apr 19 10:00:00 2024\nFrom: a@b.c\nSubject: x\nDate: x\nMessage-ID: <1@b>\n\nhi\n",
            "a",
            "application/mbox",
        ),
        (
            b"From: <Saved by a browser>\nSnapshot-Content-Location: http://x/\nSubject: x\nMIME-Version: 1.0\n"
            b'Content-Type: multipart/related; boundary="b"\n\n--b\n',
            "a.doc",
            "multipart/related",
        ),
    ],
)
def test_bytes_decide(tmp_path: Path, data: bytes, name: str, media_type: str) -> None:
    assert detected(tmp_path, data, name).media_type == media_type


@pytest.mark.parametrize(
    ("members", "stored", "media_type"),
    [
        (docx(), (), DOCX),
        (dict(reversed(docx().items())), (), DOCX),
        (
            {
                "[Content_Types].xml": content_types(
                    ("/word/document.xml", "application/vnd.ms-word.document.macroEnabled.main+xml")
                ),
                "word/document.xml": "x",
            },
            (),
            "application/vnd.ms-word.document.macroEnabled.12",
        ),
        # A stray xl/ folder, and a second main type whose part is not there, decide nothing.
        (
            {
                "xl/workbook.xml": "x",
                "[Content_Types].xml": content_types(("/xl/gone.xml", XLSX_MAIN), ("/word/document.xml", DOCX_MAIN)),
                "word/document.xml": "x",
            },
            (),
            DOCX,
        ),
        ({"[Content_Types].xml": content_types(("/xl/workbook.xml", XLSX_MAIN)), "xl/workbook.xml": "x"}, (), XLSX),
        (
            {"content.xml": "x", "mimetype": "application/vnd.oasis.opendocument.text"},
            ("mimetype",),
            "application/vnd.oasis.opendocument.text",
        ),
        ({"mimetype": "application/epub+zip"}, ("mimetype",), "application/epub+zip"),
        ({"META-INF/MANIFEST.MF": "x", "A.class": "x"}, (), "application/java-archive"),
        ({"xl/readme.txt": "hello", "b.txt": "x"}, (), "application/zip"),
    ],
)
def test_zips_by_their_members(
    tmp_path: Path, members: dict[str, bytes | str], stored: tuple[str, ...], media_type: str
) -> None:
    assert detected(tmp_path, zipped(members, stored=stored), "x.bin").media_type == media_type


def test_zip_behind_junk_keeps_its_kind(tmp_path: Path) -> None:
    data = b"PK00" + zipped(docx())
    assert detected(tmp_path, data).media_type == DOCX


@pytest.mark.parametrize(
    ("names", "media_type"),
    [
        (("WordDocument", "1Table"), "application/msword"),
        (("Workbook",), "application/vnd.ms-excel"),
        (("A", "B", "C", "D", "E", "PowerPoint Document"), "application/vnd.ms-powerpoint"),
        (("__properties_version1.0",), "application/vnd.ms-outlook"),
        (("Contents",), "application/x-ole-storage"),
    ],
)
def test_compound_files_by_their_streams(tmp_path: Path, names: tuple[str, ...], media_type: str) -> None:
    assert detected(tmp_path, ole(*names)).media_type == media_type


@pytest.mark.parametrize(
    ("data", "name", "code"),
    [
        (ole("EncryptionInfo", "EncryptedPackage"), "a.docx", "encrypted"),
        (zipped(docx())[:60], "a.docx", "truncated"),
        (ole("WordDocument")[:700], "a.doc", "truncated"),
        (bytes(range(256)) * 8, "a.bin", "unsupported_format"),
    ],
    ids=["encrypted", "cut zip", "cut compound file", "no format"],  # bytes of a ZIP hold the time
)
def test_failures(tmp_path: Path, data: bytes, name: str, code: str) -> None:
    failure = ask(tmp_path, data, name).failure
    assert failure is not None
    assert (failure.code, failure.skip) == (code, False)
    assert failure.code in PROBLEMS
    assert failure.message


@pytest.mark.parametrize(
    ("data", "name", "rule"),
    [
        (b"", "a.pdf", "empty_file"),
        (b"ID3\x03" + bytes(100), "a.pdf", "media"),
        (b"RIFF\x00\x00\x00\x00WAVE" + bytes(40), "a", "media"),
        (b"\x7fELF\x02\x01\x01" + bytes(100), "a", "executable"),
        (b"MZ" + bytes(58) + struct.pack("<I", 64) + b"PE\0\0" + bytes(100), "a.doc", "executable"),
        (b"OTTO\x00\x0c" + bytes(100), "a", "font"),
        (b"\x1f\x8b\x08" + bytes(20), "a.gz", "container"),
        (zipped({"a.txt": "x"}), "a.zip", "container"),
        (b"\x00\x00\x00\x01Bud1" + bytes(100), ".DS_Store", "system_file"),
        (b"[.ShellClassInfo]\r\nIconResource=x\r\n", "desktop.ini", "system_file"),
        (b"\x04Anna" + b"\x20" * 157, "~$report.docx", "system_file"),
        (ole("Catalog", "1", "2"), "Thumbs.db", "system_file"),
    ],
)
def test_rules(tmp_path: Path, data: bytes, name: str, rule: str) -> None:
    failure = ask(tmp_path, data, name).failure
    assert failure is not None
    assert (failure.code, failure.skip) == (rule, True)
    assert failure.code in SKIP_RULES


def test_a_directory_that_lies_is_corrupt(tmp_path: Path) -> None:
    data = bytearray(zipped({"a.txt": "hello"}))
    at = data.rfind(b"PK\x05\x06")
    struct.pack_into("<I", data, at + 12, 10)
    failure = ask(tmp_path, bytes(data)).failure
    assert failure is not None
    assert failure.code == "corrupt"


def test_too_large_says_the_limit(tmp_path: Path) -> None:
    failure = ask(tmp_path, b"x" * 11, most=10).failure
    assert failure is not None
    assert failure.code == "too_large"
    assert "10" in failure.message


@pytest.mark.parametrize(
    ("data", "name", "declared", "differs"),
    [
        (b"<!doctype html><p>x", "a.csv", None, True),
        (b"<!doctype html><p>x", "a.htm", None, False),
        (b"a,b\n1,2\n", "a.csv", "text/plain", False),
        (b"%PDF-1.4", "a", "application/octet-stream", False),
        (b"%PDF-1.4", "a.pdf", "text/html; charset=utf-8", True),
        (b"plain words", "a.docx", None, True),
        (b"plain words", "a.unknown", None, False),
    ],
)
def test_mismatch(tmp_path: Path, data: bytes, name: str, declared: str | None, differs: bool) -> None:
    found = ask(tmp_path, data, name, declared=declared).detection
    assert found is not None
    assert found.mismatch is differs
    assert found.declared_media_type == (declared.split(";")[0] if declared else None)


def test_a_circle_in_the_compound_file_ends(tmp_path: Path) -> None:
    data = bytearray(ole("A", "B", "C", "D"))
    struct.pack_into("<I", data, 512 + 4, 1)  # the directory's first sector follows itself
    failure = ask(tmp_path, bytes(data)).failure
    assert failure is not None
    assert failure.code == "corrupt"
