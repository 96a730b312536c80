"""A winmail.dat as the message it is ([MS-OXTNEF])."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from streams.errors import DocumentError
from streams.extract.finish import body_text
from streams.records import CanonBody
from tests.unit.decode.unpack.test_tnef import BEGIN, BODY, DATA, MESSAGE, RTF, TITLE, attribute, mapi, winmail
from tests.unit.extract.drafts import canon
from tests.unit.extract.mails import head, said

KIND = "application/vnd.ms-tnef"
TIME = struct.pack("<Q", 133_278_163_290_000_000)  # 2023-05-06T03:12:09Z


def of(folder: Path, *attributes: bytes) -> CanonBody:
    return canon(folder, winmail(*attributes), KIND)


def own(*properties: tuple[int, int, bytes]) -> bytes:
    return attribute(MESSAGE, mapi(*properties), 1)


def test_head_and_recipients(tmp_path: Path) -> None:
    row = mapi((0x3001, 0x1E, b"Tom Berg\x00"), (0x39FE, 0x1E, b"tom@x.example\x00"), (0x0C15, 3, struct.pack("<I", 2)))
    body = of(
        tmp_path,
        own(
            (0x0037, 0x1F, "Fähre\x00".encode("utf-16-le")),
            (0x0042, 0x1E, b"Ada\x00"),
            (0x0065, 0x1E, b"/O=X/CN=ADA\x00"),
            (0x0039, 0x40, TIME),
            (0x1035, 0x1E, b"<1@x.example>\x00"),
            (0x1000, 0x1E, b"It leaves at eight.\x00"),
        ),
        attribute(0x69004, struct.pack("<I", 1) + row, 1),
        attribute(BEGIN, bytes(14)),
        attribute(TITLE, b"plan.pdf\x00"),
        attribute(DATA, b"x"),
    )
    assert (body.title, body.authors, body.created) == ("Fähre", ["Ada"], "2023-05-06T03:12:09Z")
    assert head(body) == [
        "From: Ada",
        "Cc: Tom Berg <tom@x.example>",
        "Date: 2023-05-06T03:12:09Z",
        "Attachments: plan.pdf",
    ]
    assert body.metadata["message_id"] == "1@x.example"
    assert said(body) == [("paragraph", "It leaves at eight.")]


def test_attributes_of_older_programs(tmp_path: Path) -> None:
    sender = struct.pack("<HHHH", 4, 40, 4, 18) + b"Ada\x00" + b"SMTP:ada@x.example\x00"[:18]
    sent = struct.pack("<7H", 2023, 5, 6, 3, 12, 9, 6)
    body = of(
        tmp_path,
        attribute(0x08000, sender, 1),
        attribute(0x18004, b"F\xe4hre\x00", 1),
        attribute(0x38005, sent, 1),
        attribute(BODY, b"It leaves \xfcber eight.\x00", 1),
    )
    assert (body.title, body.created) == ("Fähre", "2023-05-06T03:12:09Z")
    assert head(body)[0] == "From: Ada <ada@x.example>"
    assert said(body) == [("paragraph", "It leaves über eight.")]


@pytest.mark.parametrize("html", [b"", b"<p>hello <b>HTML</b></p>"])
def test_the_best_of_its_texts(tmp_path: Path, html: bytes) -> None:
    forms = [(0x1009, 0x102, RTF)] + [(0x1013, 0x102, html)] * bool(html)
    assert body_text(of(tmp_path, own(*forms))) == ("hello HTML" if html else "hello world")


def test_a_meeting(tmp_path: Path) -> None:
    guid = bytes.fromhex("0220060000000000c000000000000046")
    place = struct.pack("<HH", 0x1E, 0x8000) + guid + struct.pack("<III", 0, 0x8208, 1) + struct.pack("<I", 7)
    place += b"Pier 4\x00\x00"
    fields = (0x001A, 0x1E, b"IPM.Appointment\x00"), (0x0060, 0x40, TIME)
    data = struct.pack("<I", len(fields) + 1) + place + mapi(*fields)[4:]
    body = of(tmp_path, attribute(MESSAGE, data, 1))
    assert said(body) == [("paragraph", "Start: 2023-05-06 03:12 UTC\nLocation: Pier 4")]


def test_damage(tmp_path: Path) -> None:
    with pytest.raises(DocumentError) as caught:
        canon(tmp_path, b"no winmail", KIND)
    assert caught.value.problem == "corrupt"
    broken = of(tmp_path, own((0x1009, 0x102, b"x" * 40)), attribute(BODY, b"Plain.\x00", 1))
    assert said(broken) == [("paragraph", "Plain.")]
    whole = winmail(own((0x1000, 0x1E, b"Text.\x00"), (0x1009, 0x102, RTF)), attribute(BODY, b"Plain.\x00", 1))
    problems: set[str] = set()
    for at in range(4, len(whole)):
        for data in (whole[:at], whole[:at] + b"\xff\xff" + whole[at + 2 :]):
            try:
                canon(tmp_path, data, KIND)
            except DocumentError as error:
                problems.add(error.problem)
    assert problems <= {"corrupt"}
