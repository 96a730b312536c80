"""The demo's documents: the same every time, whole where they should be, and broken in the way they say."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pymupdf
import pytest

from demo.collect import collect_local_documents
from demo.make_documents import SECRET, make_documents, shown
from streams.errors import DocumentError
from streams.extract.docx import extract
from streams.extract.outcome import Request
from streams.records import BlockKind, Detection


def contents(folder: Path) -> dict[bytes, bytes]:
    found: dict[bytes, bytes] = {}
    for parent, _, names in os.walk(os.fsencode(folder)):
        for name in names:
            path = os.path.join(parent, name)
            key = os.path.relpath(path, os.fsencode(folder))
            if os.path.islink(path):
                found[key] = b"-> " + os.readlink(path)
            else:
                with open(path, "rb") as file:
                    found[key] = file.read()
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("demo")
    made = make_documents(out)
    assert len(made) >= 57, "some file systems refuse a name or a link, not more"
    assert len({document.path for document in made}) == len(made)
    assert all(document.purpose for document in made)
    assert sum(document.size for document in made) == sum(
        len(data) for data in contents(out).values() if not data.startswith(b"-> ")
    )
    return out


def test_same_seed_same_bytes_other_seed_other_readings(folder: Path, tmp_path: Path) -> None:
    made_before = contents(folder)
    make_documents(tmp_path / "again")
    assert contents(tmp_path / "again") == made_before
    make_documents(tmp_path / "other", seed=1)
    other = contents(tmp_path / "other")
    assert other != made_before
    assert other[b"contracts/lease-workshop-four.docx"] == made_before[b"contracts/lease-workshop-four.docx"]


def test_count_is_kept_and_nothing_is_overwritten(tmp_path: Path) -> None:
    assert len(make_documents(tmp_path / "few", count=5)) == 5
    many = make_documents(tmp_path / "many", count=90)
    assert {Path(document.path).suffix for document in many if document.path.startswith("inspections/")} == {
        ".md",
        ".txt",
        ".html",
        ".docx",
        ".pdf",
    }
    with pytest.raises(FileExistsError):
        make_documents(tmp_path / "few", count=5)


def test_word_documents_say_what_they_should(folder: Path) -> None:
    def read(name: str) -> dict[BlockKind, list[str]]:
        found: dict[BlockKind, list[str]] = {}
        detection = Detection(media_type="", detected_by="test")
        for block in extract(Request(path=folder / name, detection=detection)).blocks:
            found.setdefault(block.kind, []).append(block.text)
        return found

    lease = read("contracts/lease-workshop-four.docx")
    assert lease[BlockKind.TITLE] == ["Lease of Workshop Four"]
    assert "Termination and notice period" in lease[BlockKind.HEADING]
    assert any("notice period of six months" in text for text in lease[BlockKind.PARAGRAPH])
    amendment = read("contracts/supply-amendment-1.docx")
    assert "The notice period for termination is four months." in amendment[BlockKind.PARAGRAPH]
    assert amendment[BlockKind.FOOTNOTE] == ["Counted from the day on which the reminder arrives."]
    assert read("finance/q1-2024.docx")[BlockKind.TABLE][0].splitlines()[4] == "Brno\t87,600\t92,310\t-4,710"
    assert len(read("manuals/tg-4-guía-rápida.docx")[BlockKind.LIST_ITEM]) == 3


def test_pdfs_have_their_text_and_columns(folder: Path) -> None:
    with pymupdf.open(folder / "manuals/tg-4-operators-manual.pdf") as manual:
        assert len(manual) >= 2
        assert "stilling tube" in manual[0].get_text()
        assert all("Norrvik Instruments - Tide Gauge TG-4" in page.get_text() for page in manual)
    with pymupdf.open(folder / "research/sensor-drift.pdf") as paper:
        starts = {round(word[0]) for word in paper[0].get_text("words")}
        lefts = [left for left in starts if abs(left - 310) < 2]
        assert lefts, "a second column begins right of the middle"
    with pymupdf.open(folder / "incoming/scan-0001.pdf") as scan:
        assert [page.get_text().strip() for page in scan] == [""] * len(scan)
        assert scan[0].get_images()


def test_broken_documents_are_broken_as_they_say(folder: Path) -> None:
    incoming = folder / "incoming"
    assert (incoming / "empty.txt").read_bytes() == b""
    with pymupdf.open(incoming / "salaries.pdf") as locked:
        assert locked.needs_pass
        assert not locked.authenticate("")
        assert locked.authenticate(SECRET)
        assert "Figures of the first quarter" in locked[0].get_text()
    with pytest.raises(DocumentError) as caught:
        extract(Request(path=incoming / "handbook-cut.docx", detection=Detection(media_type="", detected_by="test")))
    assert caught.value.problem == "truncated"
    assert b"%%EOF" not in (incoming / "manual-cut.pdf").read_bytes()
    assert (incoming / "offer.docx").read_bytes().startswith(b"%PDF-")
    assert (incoming / "notice.pdf").read_bytes().startswith(b"<!DOCTYPE html>")
    assert (incoming / "export.csv").read_bytes().startswith(b"<!DOCTYPE html>")
    assert "für" in (incoming / "wartung-kopie.txt").read_text(encoding="utf-8").encode("cp1252", "replace").decode(
        "utf-8", "replace"
    )
    assert "fÃ¼r" in (incoming / "wartung-kopie.txt").read_text(encoding="utf-8")
    assert (incoming / "gauge.png").read_bytes().startswith(b"\x89PNG")
    assert zipfile.ZipFile(incoming / "from-supplier.zip").namelist() == ["supply.txt", "notes/firmware.txt"]
    assert len(set((incoming / "disclaimer.txt").read_text().splitlines())) == 1
    same = folder / "archive/2023/lease-workshop-four.docx"
    assert same.read_bytes() == (folder / "contracts/lease-workshop-four.docx").read_bytes()


@pytest.mark.parametrize(
    ("name", "encoding", "phrase"),
    [
        ("contracts/arrendamiento-vigo.txt", "cp1252", "plazo de preaviso"),
        ("contracts/najem-dilny.txt", "cp1250", "výpovědní lhůtou"),
        ("contracts/postavka-kabelya.txt", "koi8-r", "расторгнуть договор"),
        ("contracts/業務委託契約書.txt", "cp932", "三か月前までに"),
        ("mail/2024-05-21-batch-23b-utf16.txt", "utf-16", "batch 23B"),
        ("manuals/tg-4-torisetsu.html", "euc-jp", "検潮器"),
        ("minutes/2024-05-21-soveshchanie.html", "cp1251", "Испытания"),
    ],
)
def test_encodings(folder: Path, name: str, encoding: str, phrase: str) -> None:
    assert phrase in (folder / name).read_bytes().decode(encoding)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
def test_odd_names_and_the_broken_link(folder: Path) -> None:
    names = set(os.listdir(os.fsencode(folder / "incoming")))
    assert {b"two\nlines.txt", b"caf\xe9-menu.txt", b"latest.pdf"} <= names
    assert not (folder / "incoming/latest.pdf").exists()


def test_command_prints_every_document_on_one_line(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "demo.make_documents", str(tmp_path / "out"), "--list"]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    assert done.returncode == 0, done.stderr
    assert lines[-1].startswith(f"{len(lines) - 1} documents in ")
    again = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert again.returncode == 1
    assert "Traceback" not in again.stderr
    assert again.stderr.startswith("Can't write to")


def test_shown_names() -> None:
    assert shown(os.fsdecode(b"a\nb \xff")) == r"a\nb \udcff"


def test_collected_documents_are_copies_within_the_limit(tmp_path: Path) -> None:
    count = collect_local_documents(tmp_path, 12)
    copied = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(copied) == count <= 12
    assert count > 0, "Python itself brings some"
    assert not any(path.is_symlink() for path in copied)
    assert collect_local_documents(tmp_path / "none", 0) == 0


def test_collecting_gives_equal_shares_and_skips_links_and_giants(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "doc"
    for package in range(20):
        (place / f"p{package:02}").mkdir(parents=True)
        (place / f"p{package:02}" / "copyright").write_text("x" * 300)
    for package in range(3):
        (place / f"p{package:02}" / "index.html").write_text("<p>" * 200)
    (place / "p00" / "giant.txt").write_text("x" * 500_000)
    (place / "p00" / "linked.txt").symlink_to("copyright")
    monkeypatch.setattr("demo.collect.places", lambda: [place])
    assert collect_local_documents(tmp_path / "out", 10) == 10
    names = sorted(path.name for path in (tmp_path / "out" / "system").rglob("*.*"))
    assert names == ["index.html"] * 3
