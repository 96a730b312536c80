"""A web page saved as a message is the page (RFC 2557)."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.errors import DocumentError
from tests.unit.extract.mails import mail, said
from tests.unit.extract.test_mail import HTML, mixture

KIND = "multipart/related"


def test_the_root_is_the_page(tmp_path: Path) -> None:
    style = ("Content-Type: text/css", "", "p { color: red }")
    coded = "Content-Transfer-Encoding: quoted-printable"
    page = (
        "Content-Type: text/html; charset=iso-8859-1", coded, "Content-ID: <root@x>", "",
        "<html><head><title>Harbour</title></head><body><h1>F=E4hre</h1><p>At =80 3.</p></body></html>",
    )  # fmt: skip
    lines = mixture("related", style, page)
    lines[0] += '; start="<root@x>"'
    head = [
        "From: <Saved by Blink>",
        "Snapshot-Content-Location: https://x.example/",
        "Date: Sat, 6 May 2023 03:12:09 +0000",
    ]
    body = mail(tmp_path, *head, *lines, media_type=KIND)
    assert said(body) == [("heading", "Fähre"), ("paragraph", "At € 3.")]
    assert (body.title, body.created) == ("Harbour", None)
    assert body.metadata["location"] == "https://x.example/"
    assert body.metadata["saved"] == "2023-05-06T03:12:09Z"


def test_frames_come_behind_their_page(tmp_path: Path) -> None:
    table = "<table><tr><th>a<th>b</tr><tr><td>1<td>2</tr></table>"
    pages = [(HTML, "", f"<p>{name}</p>{table}") for name in ("Page", "Frame")]
    body = mail(tmp_path, "Subject: Set", *mixture("related", *pages), media_type=KIND)
    assert [text for kind, text in said(body) if kind == "paragraph"] == ["Page", "Frame"]
    assert [b.table for b in body.blocks if b.table is not None] == [0, 1]
    assert body.title == "Set"


def test_without_a_page_it_is_broken(tmp_path: Path) -> None:
    image = ("Content-Type: image/png", "", "x")
    with pytest.raises(DocumentError) as caught:
        mail(tmp_path, *mixture("related", image), media_type=KIND)
    assert caught.value.problem == "corrupt"
