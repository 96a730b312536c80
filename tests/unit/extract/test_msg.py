"""Outlook messages ([MS-OXMSG]), made by code."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path

import pytest

from streams.errors import DocumentError
from streams.extract.finish import body_text
from streams.extract.render import table_rows
from streams.records import CanonBody
from tests.unit.decode.unpack.compounds import Tree, attachment, compound, message
from tests.unit.extract.drafts import canon
from tests.unit.extract.mails import head, said

KIND = "application/vnd.ms-outlook"
BODY, RTF, HTML, CLASS = 0x1000, 0x1009, 0x1013, 0x001A


def of(
    folder: Path,
    texts: Mapping[int, str | bytes],
    *attachments: Tree,
    numbers: Mapping[int, int] | None = None,
    binary: Mapping[int, bytes] | None = None,
    more: Tree | None = None,
) -> CanonBody:
    """The canon of a message with these strings (bytes: in its code page) and binary properties."""
    tree = dict(message(*attachments, numbers=numbers, subject="Crane"))
    for number, text in texts.items():
        kind, raw = ("001F", text.encode("utf-16-le")) if isinstance(text, str) else ("001E", text)
        tree[f"__substg1.0_{number:04X}{kind}"] = raw
    for number, raw in (binary or {}).items():
        tree[f"__substg1.0_{number:04X}0102"] = raw
    return canon(folder, compound(tree | dict(more or {})), KIND)


def rich(text: str) -> bytes:
    """Rich text as Outlook stores it, uncompressed."""
    data = text.encode("ascii")
    return struct.pack("<IIII", len(data) + 12, len(data), 0x414C454D, 0) + data


def recipient(number: int, kind: int, name: str, address: str) -> Tree:
    fields = attachment({0x0C15: kind}, {0x3001: name, 0x39FE: address}, None)
    return {f"__recip_version1.0_#{number:08X}": fields}


def test_head(tmp_path: Path) -> None:
    people = {
        **recipient(0, 1, "Tom Berg", "tom@x.example"),
        **recipient(1, 2, "b@x.example", "b@x.example"),
        **recipient(2, 1, "Cleo", ""),
    }
    body = of(
        tmp_path,
        {BODY: "On Tuesday.", 0x0042: "Ada", 0x5D02: "ada@x.example", 0x1035: "<1@x.example>"},
        attachment({0x3705: 1}, {0x3707: "plan.pdf"}, b"x"),
        more=people,
    )
    assert (body.title, body.authors) == ("Crane", ["Ada"])
    assert head(body) == [
        "From: Ada <ada@x.example>",
        "To: Tom Berg <tom@x.example>, Cleo",
        "Cc: b@x.example",
        "Attachments: plan.pdf",
    ]
    assert body.metadata["message_id"] == "1@x.example"
    assert said(body) == [("paragraph", "On Tuesday.")]


def test_internet_headers_say_more(tmp_path: Path) -> None:
    headers = "From: Ada <ada@x.example>\r\nDate: Sat, 06 May 2023 05:12:09 +0200\r\nReferences: <0@x> <00@x>\r\n"
    body = of(tmp_path, {BODY: "On Tuesday.", 0x007D: headers})
    assert body.created == "2023-05-06T03:12:09Z"
    assert body.metadata["references"] == "0@x 00@x"
    assert body.title == "Crane"


def test_names_that_the_headers_lack(tmp_path: Path) -> None:
    headers = "From: ada@x.example\r\nTo: TOM@x.example, Bo <b@x.example>, c@x.example\r\n"
    people = {**recipient(0, 1, "Tom Berg", "tom@x.example"), **recipient(1, 1, "Boris", "b@x.example")}
    body = of(tmp_path, {BODY: "On Tuesday.", 0x007D: headers}, more=people)
    assert head(body) == ["From: ada@x.example", "To: Tom Berg <TOM@x.example>, Bo <b@x.example>, c@x.example"]


def test_text_in_its_code_page(tmp_path: Path) -> None:
    text = "格式測試。會議在星期二舉行，請閱讀資料。"
    assert said(of(tmp_path, {BODY: text.encode("cp950")}, numbers={0x3FFD: 950})) == [("paragraph", text)]
    page = f"<html><body><p>{text}</p></body></html>".encode("cp950")
    html = of(tmp_path, {}, binary={HTML: page}, numbers={0x3FFD: 1252, 0x3FDE: 950})
    assert said(html) == [("paragraph", text)]


def test_html_in_rich_text(tmp_path: Path) -> None:
    source = (
        r"{\rtf1\ansi\ansicpg1252\fromhtml1 {\*\htmltag64 <table>}{\*\htmltag64 <tr><th>}Item{\*\htmltag64 </th><th>}"
        r"Price{\*\htmltag64 </th></tr><tr><td>}P\'e4r{\*\htmltag64 </td><td>}3{\*\htmltag64 </td></tr></table>}}"
    )
    body = of(tmp_path, {BODY: "Item Price Pär 3"}, binary={RTF: rich(source)})
    assert table_rows(body.tables[0]) == [["Item", "Price"], ["Pär", "3"]]
    assert "Item Price" not in body_text(body)


def test_rich_text_only(tmp_path: Path) -> None:
    body = of(tmp_path, {}, binary={RTF: rich(r"{\rtf1\ansi\ansicpg1251 \'cf\'f0\'e8\'e2\'e5\'f2\par}")})
    assert said(body) == [("paragraph", "Привет")]


def test_damaged_rich_text_beside_a_good_one(tmp_path: Path) -> None:
    body = of(tmp_path, {}, binary={RTF: b"x" * 40})
    assert "damaged_body" in body.warnings
    assert said(of(tmp_path, {BODY: "Good."}, binary={RTF: b"x" * 40})) == [("paragraph", "Good.")]


def test_a_meeting(tmp_path: Path) -> None:
    start = struct.pack("<HHIQ", 0x40, 0x0060, 6, 133_278_163_200_000_000)
    guids = bytes.fromhex("0220060000000000c000000000000046")
    names: Tree = {"__substg1.0_00020102": guids, "__substg1.0_00030102": struct.pack("<IHH", 0x8208, 3 << 1, 5)}
    fixed = bytes(32) + start
    texts = {CLASS: "IPM.Appointment", BODY: "Bring a rope.", 0x8005: "Pier 4"}
    body = of(tmp_path, texts, more={"__nameid_version1.0": names, "__properties_version1.0": fixed})
    assert said(body) == [
        ("paragraph", "Start: 2023-05-06 03:12 UTC\nLocation: Pier 4"),
        ("paragraph", "Bring a rope."),
    ]


def test_a_contact(tmp_path: Path) -> None:
    body = of(tmp_path, {CLASS: "IPM.Contact", 0x3001: "Ada Quill", 0x3A16: "Harbour Works", 0x3A08: "+47 1"})
    assert said(body) == [("paragraph", "Ada Quill\nCompany: Harbour Works\nBusiness phone: +47 1")]


def test_signed_and_encrypted(tmp_path: Path) -> None:
    signed = b"Content-Type: multipart/signed; boundary=b\r\n\r\n--b\r\n\r\nSigned text.\r\n--b--\r\n"
    whole = attachment({0x3705: 1}, {0x3707: "smime.p7m", 0x370E: "multipart/signed"}, signed)
    assert said(of(tmp_path, {CLASS: "IPM.Note.SMIME.MultipartSigned"}, whole)) == [("paragraph", "Signed text.")]
    sealed = attachment({0x3705: 1}, {0x3707: "smime.p7m"}, bytes.fromhex("308006092a864886f70d010703a080"))
    with pytest.raises(DocumentError) as caught:
        of(tmp_path, {CLASS: "IPM.Note.SMIME"}, sealed)
    assert caught.value.problem == "encrypted"


def test_damage(tmp_path: Path) -> None:
    for data in (b"", b"no compound file", compound({})):
        with pytest.raises(DocumentError) as caught:
            canon(tmp_path, data, KIND)
        assert caught.value.problem == "corrupt"
    whole = compound(
        dict(message(attachment({0x3705: 1}, {0x3707: "a"}, b"x"))) | {"__substg1.0_1000001F": b"T\x00" * 99}
    )
    problems: set[str] = set()
    for at in range(0, len(whole), 97):
        for broken in (whole[:at], whole[:at] + b"\xff\xff\xff" + whole[at + 3 :]):
            try:
                canon(tmp_path, broken, KIND)
            except DocumentError as error:
                problems.add(error.problem)
    assert problems <= {"corrupt"}
