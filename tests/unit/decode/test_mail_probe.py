"""Mail is told by its header fields, in any order and case; a memo, a changelog and a capture of HTTP are none."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from streams.decode.mail_probe import mail
from tests.unit.decode.files import detected

LETTER = "From: Anna <anna@example.org>\nTo: bert@example.org\nDate: Fri, 19 Apr 2024 10:00:00 +0200\nSubject: lift\n"
ENVELOPE = "From anna@example.org Fri Apr 19 10:00:00 2024\n"


@pytest.mark.parametrize(
    ("text", "name", "media_type"),
    [
        (LETTER + "\nhello", "", "message/rfc822"),
        (LETTER.replace("\n", "\r\n") + "\r\nhello", "", "message/rfc822"),
        (LETTER.replace("\n", "\r") + "\rhello", "", "message/rfc822"),
        (LETTER.lower() + "\nhello", "", "message/rfc822"),
        ("\n\n" + LETTER + "\nhello", "", "message/rfc822"),
        ("\ufeff" + LETTER + "\nhello", "", "message/rfc822"),
        ("1234\n" + LETTER + "\nhello", "", "message/rfc822"),
        (LETTER + "This line is no field\nMessage-ID: <1@example.org>\n\nhello", "", "message/rfc822"),
        ("X-Own: 1\nX-More: 2\nX-Again: 3\nMIME-Version: 1.0\n" + LETTER + "\nhello", "", "message/rfc822"),
        ("Received: from a by b; Fri, 19 Apr 2024\nSubject: x\n\nhello", "a.txt", "message/rfc822"),
        ("MIME-Version: 1.0\nContent-Type: text/plain\n\nhello", "", "message/rfc822"),
        ('Content-Type: multipart/mixed;\n boundary="b"\n\n--b\n', "", "message/rfc822"),
        ("Content-Type: text/plain\nContent-Transfer-Encoding: base64\n\naGk=", "", "message/rfc822"),
        ("Subject : hello\nFrom : me@example.org\n\nhello", "a.eml", "message/rfc822"),
        ("Subject: J\xe4rvi\nFrom: J\xe4rvi <j@example.org>\nMessage-ID: <1@x>\n\nhello", "", "message/rfc822"),
        ("From: a@example.org\nSubject: =?utf-8?Q?J=C3=A4rvi?=\n\nhello", "", "message/rfc822"),
        ("From: me\nTo: you\nSubject: lift\n\nhello", "a.msg", "message/rfc822"),
        (ENVELOPE + LETTER + "\nhello", "", "application/mbox"),
        (ENVELOPE + LETTER + "\nhello", "a.eml", "message/rfc822"),
        (ENVELOPE + LETTER + "\nhello\n\n" + ENVELOPE + LETTER + "\nbye", "a.eml", "application/mbox"),
        ("From a at example.org  Fri Apr 19 10:00:00 2024\nFrom: a at example.org (A)\nSubject: x\n\nhi", "",
         "application/mbox"),
        ("From - Fri Apr 19 10:00:00 2024\nX-Mozilla-Status: 0001\nSubject: x\n\nhi", "", "application/mbox"),
        ("From x Mon Jun 01 10:00:00 2009\n\nhello", "a.mbox", "application/mbox"),
        ("MIME-Version: 1.0\nContent-Type: multipart/related; boundary=b\n\n--b\n", "a.doc", "multipart/related"),
        (LETTER + "Message-ID: <1@x>\nContent-Type: multipart/related; boundary=b\n\n--b\n", "", "message/rfc822"),
    ],
)  # fmt: skip
def test_mail(text: str, name: str, media_type: str) -> None:
    kind = mail(text, name)
    assert kind is not None
    assert kind.media_type == media_type


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("From: Anna\nTo: Bert\nDate: Friday\nSubject: the lift\n\nIt stops at noon.\n", ""),
        ("From: Anna\nSent: Friday\nTo: Bert\nSubject: the lift\n\nIt stops.\n", "memo.txt"),
        ("HTTP/1.1 200 OK\nDate: Fri, 19 Apr 2024 10:00:00 GMT\nContent-Type: text/html\n\n<p>x", ""),
        ("Date: Fri, 19 Apr 2024 10:00:00 GMT\nServer: x\nContent-Type: text/html\nConnection: close\n\n<p>", ""),
        ("GET / HTTP/1.1\nHost: example.org\nUser-Agent: x\nReferer: http://x/\n\n", ""),
        ("Package: hello\nVersion: 1.0\nMaintainer: A <a@example.org>\nDate: Fri, 19 Apr 2024 10:00:00\n\n", ""),
        ("Metadata-Version: 2.1\nName: x\nVersion: 1\nKeywords: a\nAuthor-email: a@example.org\n\n", ""),
        ("User-agent: *\nDisallow: /\n", "robots.txt"),
        ("Title: A page\nDate: 2024-04-19\nKeywords: a, b\nSubject: c\n\nText.\n", ""),
        ("From 1234567890123456789012345678901234567890 Mon Sep 17 00:00:00 2001\n" + LETTER + "\n---\n", ""),
        ("From the start it was clear.\nFrom: here\n\nText.", ""),
        ("Subject: matter\nTo: be done\n\n", ""),
        ("key: value\nother: value\n", "a.yaml"),
        ("", ""),
        ("\n\n\n", "a.eml"),
        ("This is no mail.\n", "a.eml"),
    ],
)
def test_no_mail(text: str, name: str) -> None:
    assert mail(text, name) is None


def test_utf16_mail_and_a_binary_body(tmp_path: Path) -> None:
    wide = ("\ufeff" + LETTER + "MIME-Version: 1.0\n\nhello").encode("utf-16-le")
    assert detected(tmp_path, wide, "a.eml").media_type == "message/rfc822"
    binary = (LETTER + "MIME-Version: 1.0\n\n").encode() + bytes(range(256)) * 40
    assert detected(tmp_path, binary).media_type == "message/rfc822"


@pytest.mark.parametrize(
    "text",
    [
        "From: " + "a" * 130_000,
        "From: " + "a at " * 30_000,
        "a: b\n" * 30_000,
        "From " + "x" * 130_000,
        "Subject: x\n" + " y\n" * 40_000,
        "Date: " + "1 " * 65_000,
        "Content-Type: " + "multipart/x;" * 10_000,
        (ENVELOPE + "\n\n") * 3000,
    ],
)
def test_hostile_headers_cost_no_time(text: str) -> None:
    started = time.perf_counter()
    mail(text, "")
    assert time.perf_counter() - started < 1
