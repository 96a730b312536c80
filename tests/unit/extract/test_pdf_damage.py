"""Damaged and protected PDFs: what another library rescues, and that it is said."""

from __future__ import annotations

from pathlib import Path

import pymupdf
import pytest

from streams.errors import DocumentError
from streams.extract.tools import pikepdf
from tests.unit.extract.pdf_files import Maker, run


def two_pages() -> Maker:
    return Maker().new_page().text(72, 100, "The first page").new_page().text(72, 100, "The second page")


def test_file_cut_inside_an_object_keeps_the_pages_before(tmp_path: Path) -> None:
    """MuPDF opens nothing of it."""
    whole = two_pages().bytes()
    cut = whole[: whole.index(b"endobj", whole.rindex(b"/Type/Page/")) - 4]
    draft = run(tmp_path, cut)
    assert [block.text for block in draft.blocks] == ["The first page"]
    assert draft.warnings == ["repaired_by_pikepdf", "truncated"]
    assert draft.pages[0].number == 1


def test_same_bytes_are_repaired_alike(tmp_path: Path) -> None:
    whole = two_pages().bytes()
    path = tmp_path / "cut"
    path.write_bytes(whole[: whole.index(b"endobj", whole.rindex(b"/Type/Page/")) - 4])
    assert pikepdf.repaired(path) == pikepdf.repaired(path)


def test_what_cannot_be_repaired_says_so(tmp_path: Path) -> None:
    path = tmp_path / "none"
    path.write_bytes(b"%PDF-1.7\nnothing more\n%%EOF")
    with pytest.raises(pikepdf.NotRepaired):
        pikepdf.repaired(path)
    path.write_bytes(two_pages().bytes(encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw="secret", owner_pw="master"))
    with pytest.raises(DocumentError) as caught:
        pikepdf.repaired(path)
    assert caught.value.problem == "encrypted"
