"""Attachments of Outlook messages ([MS-OXMSG]), made by code and real ones."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

from streams.decode.unpack.msg import in_code_page
from tests.unit.decode.unpack.compounds import Tree, attachment, compound, message, package
from tests.unit.decode.unpack.opened import Opened, opened, opened_file

KIND = "application/vnd.ms-outlook"
LONG, SHORT, TITLE, EXTENSION, MIME, ID, PATH = 0x3707, 0x3704, 0x3001, 0x3703, 0x370E, 0x3712, 0x370D
METHOD, FLAGS, CODE_PAGE = 0x3705, 0x3714, 0x3FFD


def of(folder: Path, tree: Tree) -> Opened:
    found = opened(folder, compound(tree), KIND)
    assert found.failure is None
    return found


def test_names_and_bytes(tmp_path: Path) -> None:
    found = of(
        tmp_path,
        message(
            attachment({METHOD: 1}, {LONG: "Überlänge.docx", SHORT: "UEBERL~1.DOC", MIME: "application/X"}, b"one"),
            attachment({METHOD: 1}, {SHORT: "short.txt"}, b"t" * 10_000),
            attachment({METHOD: 1}, {TITLE: "shown", EXTENSION: ".pdf"}, b"three"),
            attachment({METHOD: 1}, {}, b"four"),
            attachment({METHOD: 1}, {LONG: "отчёт.doc".encode("cp1251")}, b"five"),
            numbers={CODE_PAGE: 1251},
        ),
    )
    assert found.paths == ["Überlänge.docx", "short.txt", "shown.pdf", "attachment-4", "отчёт.doc"]
    assert found.data["short.txt"] == b"t" * 10_000
    assert found.members[0].media_type == "application/x"


def test_pictures_of_the_text_are_inline(tmp_path: Path) -> None:
    shown = attachment({METHOD: 1, FLAGS: 4}, {LONG: "a.png", ID: "a@b"}, b"x")
    not_shown = attachment({METHOD: 1}, {LONG: "b.png", ID: "a@b"}, b"x")
    found = of(tmp_path, message(shown, not_shown))
    assert [m.warnings for m in found.members] == [["inline"], []]


def test_an_embedded_message_is_a_message_of_its_own(tmp_path: Path) -> None:
    innermost = message(attachment({METHOD: 1}, {LONG: "deep.txt"}, b"deep"), subject="innermost", header=24)
    inner = message(attachment({METHOD: 5}, {}, innermost), subject="A/B: inner", header=24)
    found = of(tmp_path, message(attachment({METHOD: 5}, {}, inner)))
    assert found.paths == ["A B: inner.msg"]
    second = opened(tmp_path, found.data["A B: inner.msg"], KIND)
    assert second.paths == ["innermost.msg"]
    assert opened(tmp_path, second.data["innermost.msg"], KIND).data == {"deep.txt": b"deep"}


def test_an_embedded_message_is_read_by_another_reader(tmp_path: Path) -> None:
    extract_msg: Any = importlib.import_module("extract_msg")
    inner = message(attachment({METHOD: 1}, {LONG: "in.txt"}, b"in"), subject="inner", header=24)
    outer = of(tmp_path, message(attachment({METHOD: 5}, {}, inner)))
    (tmp_path / "inner.msg").write_bytes(outer.data["inner.msg"])
    with extract_msg.openMsg(tmp_path / "inner.msg") as read:
        assert read.subject == "inner"
        assert read.attachments[0].data == b"in"


def test_an_object_is_the_file_in_it(tmp_path: Path) -> None:
    found = of(tmp_path, message(attachment({METHOD: 6}, {}, {"\x01Ole10Native": package("a.txt", b"text")})))
    assert found.data == {"a.txt": b"text"}


def test_what_is_elsewhere_or_missing_says_so(tmp_path: Path) -> None:
    link = attachment({METHOD: 4}, {LONG: "far.doc", PATH: "\\\\server\\far.doc"}, None)
    found = of(tmp_path, message(link, attachment({METHOD: 1}, {LONG: "gone.doc"}, None)))
    codes = [(m.path, m.failure.code) for m in found.members if m.failure]
    assert codes == [("far.doc", "broken_link"), ("gone.doc", "corrupt")]


def test_a_damaged_message_is_a_failure(tmp_path: Path) -> None:
    for data in (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), b"no message"):
        failure = opened(tmp_path, data, KIND).failure
        assert failure is not None
        assert failure.code == "corrupt"


def test_code_pages() -> None:
    assert in_code_page("é".encode("cp1252"), 0) == "é"
    assert in_code_page("日本".encode("cp932"), 932) == "日本"
    assert in_code_page("ж".encode("koi8-r"), 20866) == "ж"
    assert in_code_page("ł\x00rest".encode("iso-8859-2"), 28592) == "ł"
    assert in_code_page(b"\xff", 99999) == "ÿ"


CORPUS = Path(__file__).parents[5] / "shared/corpus/files/mail"


@pytest.mark.skipif(not CORPUS.exists(), reason="the corpus is not here")
def test_a_real_message(tmp_path: Path) -> None:
    found = opened_file(tmp_path, CORPUS / "att-doc.msg", KIND)
    assert [(m.path, m.size) for m in found.members] == [("test-unicode.doc", 24064), ("pj1.txt", 89)]
