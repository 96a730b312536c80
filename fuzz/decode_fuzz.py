"""`decode` under fire: what it must keep for any bytes at all."""

from __future__ import annotations

from pathlib import Path

from streams.decode import decode
from streams.records.events import PROBLEMS, SKIP_RULES


def seeds() -> dict[str, bytes]:
    """Small files of many kinds, by name."""
    from tests.unit.decode import files

    mail = b"From: a@example.org\r\nSubject: Ford\r\nMIME-Version: 1.0\r\n\r\nWalkers use the ford.\r\n"
    return {
        "a.docx": files.zipped(files.docx()),
        "a.doc": files.ole("WordDocument", "1Table"),
        "a.eml": mail,
        "a.mbox": b"From a@example.org Mon Jan  1 00:00:00 2024\n" + mail.replace(b"\r", b"") * 2,
        "a.html": "<html><meta charset=windows-1251><p>Прохожие идут вброд".encode("cp1251"),
        "a.xml": b'<?xml version="1.0" encoding="iso-8859-2"?><rss><channel/></rss>',
        "a.csv": "Größe;Preis\n1,5;2\n3,5;4\n".encode("cp1252") * 9,
        "a.json": b'{"a": [1, 2, {"b": null}]}\n' * 3,
        "a.txt": "Walkers use the ford — carts the bridge. ".encode("utf-16") * 9,
        "b.txt": "歩行者は浅瀬を渡り、荷車は橋を渡る。".encode("cp932") * 3,
        "a.pdf": b"junk\n%PDF-1.4\n1 0 obj\n<</Type/Catalog>>\nendobj\ntrailer<</Root 1 0 R>>\n%%EOF\n",
        "a.rtf": b"{\\rtf1\\ansi Walkers use the ford.}",
    }


def check(path: Path, name: str, choice: int) -> None:
    """One call. Raises AssertionError where the answer is none."""
    http = (None, None, "text/html; charset=utf-16", "text/plain; charset=no\0ne")[choice % 4]
    result = decode(path, declared_media_type=None, http_content_type=http, file_name=name, max_bytes=64 << 20)
    assert result.detection or result.failure, "neither a detection nor a failure"
    if result.failure:
        known = SKIP_RULES if result.failure.skip else PROBLEMS
        assert result.failure.code in known, f"unknown code {result.failure.code}"
        assert result.failure.message, "a failure without a message"
    if result.detection:
        assert "/" in result.detection.media_type, result.detection.media_type
