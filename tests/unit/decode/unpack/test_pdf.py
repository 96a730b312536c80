"""Files attached to PDFs (ISO 32000-2), made by the library that the extractor uses, and by hand where it can't."""

from __future__ import annotations

import time
import zlib
from datetime import UTC, datetime
from pathlib import Path

import pymupdf
import pytest

from streams.decode.unpack.pdf import _may_have_files, moment
from tests.unit.decode.unpack.opened import Opened, opened

KIND = "application/pdf"


def of(folder: Path, data: bytes) -> Opened:
    found = opened(folder, data, KIND)
    assert found.failure is None
    return found


def test_attached_files_and_annotations(tmp_path: Path) -> None:
    document = pymupdf.open()
    page = document.new_page()
    document.embfile_add("key", b"one" * 1000, filename="one.txt", ufilename="eins ä.txt")
    page.add_file_annot((20, 20), b"two", "two.txt")
    for options in ({}, {"use_objstms": 1, "deflate": True}):
        found = of(tmp_path, document.tobytes(**options))
        assert found.data == {"eins ä.txt": b"one" * 1000, "two.txt": b"two"}
        assert [m.warnings for m in found.members] == [[], ["annotation"]]


def test_a_password_hides_them_and_an_owner_password_does_not(tmp_path: Path) -> None:
    document = pymupdf.open()
    document.new_page()
    document.embfile_add("a.txt", b"a")
    secret = {"encryption": pymupdf.PDF_ENCRYPT_AES_256, "owner_pw": "o"}
    assert of(tmp_path, document.tobytes(**secret, user_pw="u")).members == []
    assert of(tmp_path, document.tobytes(**secret)).data == {"a.txt": b"a"}


def objects(*bodies: bytes) -> bytes:
    """A PDF of these objects, numbered from 1, without a table: it is found by repair."""
    out = b"%PDF-1.7\n"
    for number, body in enumerate(bodies, 1):
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    return out + b"trailer\n<</Root 1 0 R>>\n"


def stream(data: bytes, extra: bytes = b"") -> bytes:
    return b"<</Type/EmbeddedFile/Length %d%s>>\nstream\n%s\nendstream" % (len(data), extra, data)


def tree(*files: bytes, specification: bytes = b"<</F(a.txt)/EF<</F 5 0 R>>>>") -> bytes:
    """A PDF whose name tree has kids, one of which is the tree itself."""
    return objects(
        b"<</Type/Catalog/Pages 2 0 R/Names<</EmbeddedFiles 3 0 R>>>>",
        b"<</Type/Pages/Count 0/Kids[]>>",
        b"<</Kids[4 0 R 3 0 R]>>",
        b"<</Names[(k)%s]>>" % specification,
        *files,
    )


def test_name_trees_with_kids_and_circles(tmp_path: Path) -> None:
    found = of(tmp_path, tree(stream(b"data", b"/Params<</ModDate(D:20240229120000+01'00')>>/Subtype/text#2Fplain")))
    assert found.data in ({"a.txt": b"data"}, {})
    if not found.members:
        assert found.warnings == ["attachments_damaged"]


def test_what_is_not_there_or_damaged_says_so(tmp_path: Path) -> None:
    one = tree(stream(b"data")).replace(b"[4 0 R 3 0 R]", b"[4 0 R]")
    assert of(tmp_path, one).data == {"a.txt": b"data"}
    elsewhere = of(tmp_path, one.replace(b"/EF<</F 5 0 R>>", b""))
    assert [(m.path, m.failure and m.failure.code) for m in elsewhere.members] == [("a.txt", "broken_link")]
    flate = tree(stream(b"no zlib data", b"/Filter/FlateDecode")).replace(b"[4 0 R 3 0 R]", b"[4 0 R]")
    assert [m.failure and m.failure.code for m in of(tmp_path, flate).members] == ["corrupt"]
    cut = tree(stream(zlib.compress(b"x" * 9000)[:-4], b"/Filter/FlateDecode")).replace(b"[4 0 R 3 0 R]", b"[4 0 R]")
    assert of(tmp_path, cut).members[0].warnings == ["end_missing"]


def test_a_bomb_in_an_attachment_ends_as_one(tmp_path: Path) -> None:
    bomb = zlib.compress(bytes(100 << 20), 9)
    data = tree(stream(bomb, b"/Filter/FlateDecode")).replace(b"[4 0 R 3 0 R]", b"[4 0 R]")
    found = opened(tmp_path, data, KIND)
    assert found.failure is not None
    assert found.failure.code == "bomb"


def test_a_pdf_without_any_costs_nothing(tmp_path: Path) -> None:
    document = pymupdf.open()
    for number in range(200):
        document.new_page().insert_text((50, 50), f"page {number}")
    path = tmp_path / "plain.pdf"
    path.write_bytes(document.tobytes(use_objstms=1, deflate=True))
    began = time.process_time()
    assert not _may_have_files(path)
    assert time.process_time() - began < 0.05


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("D:20240229120000+01'30'", datetime(2024, 2, 29, 10, 30, tzinfo=UTC)),
        ("D:20240229120000-05'00", datetime(2024, 2, 29, 17, 0, tzinfo=UTC)),
        ("20240229120000Z", datetime(2024, 2, 29, 12, 0, tzinfo=UTC)),
        ("D:2024", datetime(2024, 1, 1, tzinfo=UTC)),
        ("D:20240230", None),
        ("yesterday", None),
        ("", None),
    ],
)
def test_dates(text: str, value: datetime | None) -> None:
    assert moment(text) == value


def test_bytes_that_are_no_pdf_are_a_failure(tmp_path: Path) -> None:
    found = opened(tmp_path, b"%PDF-1.4 EmbeddedFile and nothing else", KIND)
    assert found.members == []
