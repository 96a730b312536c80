"""winmail.dat ([MS-OXTNEF]): names, nested messages, objects; its text is the document."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from streams.decode.unpack.model import MemberError
from streams.decode.unpack.rtf_compressed import rtf_chunks
from tests.unit.decode.unpack.compounds import compound, package
from tests.unit.decode.unpack.opened import Opened, opened, opened_file

KIND = "application/vnd.ms-tnef"
BEGIN, TITLE, DATA, MAPI, MESSAGE, BODY, PAGE = 0x69002, 0x18010, 0x6800F, 0x69005, 0x69003, 0x2800C, 0x69007
IID_MESSAGE = bytes.fromhex("0703020000000000c000000000000046")
IID_STORAGE = bytes.fromhex("0b00000000000000c000000000000046")
RTF = bytes.fromhex(  # the example of [MS-OXRTFCP] 4.1.1
    "2d0000002b0000004c5a4675f1c5c7a703000a007263706731323542320af32068656c090020627705b06c647d0a800fa0"
)


def attribute(number: int, data: bytes, level: int = 2) -> bytes:
    return struct.pack("<BII", level, number, len(data)) + data + struct.pack("<H", sum(data) & 0xFFFF)


def winmail(*attributes: bytes) -> bytes:
    return b"\x78\x9f\x3e\x22\x01\x00" + attribute(PAGE, struct.pack("<II", 1252, 0), 1) + b"".join(attributes)


def padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


def mapi(*properties: tuple[int, int, bytes]) -> bytes:
    """Properties (number, type, bytes); those of fixed size bare, the others counted."""
    out = struct.pack("<I", len(properties))
    for number, kind, data in properties:
        out += struct.pack("<HH", kind, number)
        out += data if kind in (3, 0x40) else struct.pack("<II", 1, len(data)) + padded(data)
    return out


def of(folder: Path, data: bytes) -> Opened:
    found = opened(folder, data, KIND)
    assert found.failure is None
    return found


def test_names_long_and_short(tmp_path: Path) -> None:
    found = of(
        tmp_path,
        winmail(
            attribute(BEGIN, bytes(14)),
            attribute(TITLE, b"SHORT~1.TXT\x00"),
            attribute(DATA, b"one"),
            attribute(MAPI, mapi((0x3707, 0x1F, "länger und länger.txt\x00".encode("utf-16-le")))),
            attribute(BEGIN, bytes(14)),
            attribute(DATA, b"two"),
            attribute(TITLE, b"pl\xe4in.txt\x00"),
            attribute(BEGIN, bytes(14)),
            attribute(
                MAPI, mapi((0x3705, 3, struct.pack("<I", 1)), (0x3701, 0x102, b"three"), (0x3703, 0x1E, b".pdf\x00"))
            ),
        ),
    )
    assert found.data == {"länger und länger.txt": b"one", "pläin.txt": b"two", "attachment-3.pdf": b"three"}


def test_named_properties_are_passed_over(tmp_path: Path) -> None:
    by_number = struct.pack("<HH", 3, 0x8001) + bytes(16) + struct.pack("<III", 0, 7, 9)
    text = "name\x00".encode("utf-16-le")
    by_name = struct.pack("<HH", 3, 0x8002) + bytes(16) + struct.pack("<II", 1, len(text)) + padded(text) + bytes(4)
    several = struct.pack("<HHI", 0x101F, 0x1234, 2) + b"".join(struct.pack("<I", 4) + b"a\x00\x00\x00" for _ in "ab")
    name = mapi((0x3707, 0x1E, b"found.txt\x00"))[4:]
    data = struct.pack("<I", 4) + by_number + by_name + several + name
    found = of(tmp_path, winmail(attribute(BEGIN, bytes(14)), attribute(DATA, b"x"), attribute(MAPI, data)))
    assert found.paths == ["found.txt"]


def test_a_nested_message_and_an_object(tmp_path: Path) -> None:
    inner = winmail(attribute(BEGIN, bytes(14)), attribute(TITLE, b"in.txt\x00"), attribute(DATA, b"in"))
    title = (0x3001, 0x1E, b"The inner one\x00")
    storage = compound({"\x01Ole10Native": package("a.txt", b"a")})
    found = of(
        tmp_path,
        winmail(
            attribute(BEGIN, bytes(14)),
            attribute(MAPI, mapi(title, (0x3701, 0x0D, IID_MESSAGE + inner))),
            attribute(BEGIN, bytes(14)),
            attribute(MAPI, mapi((0x3701, 0x0D, IID_STORAGE + storage))),
        ),
    )
    assert found.paths == ["The inner one.dat", "a.txt"]
    assert of(tmp_path, found.data["The inner one.dat"][: len(inner)]).data == {"in.txt": b"in"}


def test_the_text_of_the_message_is_no_member(tmp_path: Path) -> None:
    texts = attribute(BODY, b"hello\x00", 1), attribute(MESSAGE, mapi((0x1009, 0x102, RTF), (0x1013, 0x102, b"<p>")), 1)
    assert of(tmp_path, winmail(*texts)).members == []


def test_damage_costs_what_it_hits(tmp_path: Path) -> None:
    whole = winmail(
        attribute(BEGIN, bytes(14)),
        attribute(TITLE, b"a.txt\x00"),
        attribute(DATA, b"a" * 100),
        attribute(BEGIN, bytes(14)),
        attribute(TITLE, b"b.txt\x00"),
        attribute(DATA, b"b" * 100),
    )
    cut = of(tmp_path, whole[:-50])
    assert cut.data["a.txt"] == b"a" * 100
    assert cut.data["b.txt"].strip(b"b") == b""
    assert cut.warnings == ["truncated"]
    for at in range(len(whole)):
        opened(tmp_path, whole[:at] + b"\xff\xff" + whole[at + 2 :], KIND)
    for data in (b"no winmail", b"\x78\x9f\x3e\x22\x01\x00\x09"):
        failure = opened(tmp_path, data, KIND).failure
        assert failure is not None
        assert failure.code == "corrupt"
    empty = of(tmp_path, winmail(attribute(BEGIN, bytes(14)), attribute(TITLE, b"gone.txt\x00")))
    assert empty.members[0].failure is not None
    assert empty.members[0].failure.code == "corrupt"


def test_compressed_rtf() -> None:
    assert b"".join(rtf_chunks(RTF)) == b"{\\rtf1\\ansi\\ansicpg1252\\pard hello world}\r\n"
    plain = struct.pack("<IIII", 20, 8, 0x414C454D, 0) + b"{\\rtf1 }"
    assert b"".join(rtf_chunks(plain)) == b"{\\rtf1 }"
    for data, code in (
        (b"short", "corrupt"),
        (struct.pack("<IIII", 20, 8, 7, 0) + b"x" * 9, "corrupt"),
        (struct.pack("<IIII", 20, 1 << 31, 0x75465A4C, 0) + b"x" * 9, "too_large"),
    ):
        with pytest.raises(MemberError) as raised:
            list(rtf_chunks(data))
        assert raised.value.code == code


CORPUS = Path(__file__).parents[5] / "shared/corpus/files/mail"


@pytest.mark.skipif(not CORPUS.exists(), reason="the corpus is not here")
def test_a_real_one(tmp_path: Path) -> None:
    found = opened_file(tmp_path, CORPUS / "winmail.dat", KIND)
    assert found.paths == ["quick.doc", "quick.html", "quick.pdf", "quick.txt", "quick.xml"]
