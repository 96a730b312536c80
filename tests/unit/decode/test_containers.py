"""ZIP packages and compound files of the rarer kinds, whole and cut off."""

from __future__ import annotations

import struct
import uuid
from pathlib import Path

import pytest

from tests.unit.decode.files import DOCX_MAIN, ask, content_types, detected, docx, ole, zipped

W = "application/vnd.openxmlformats-officedocument."


@pytest.mark.parametrize(
    ("part", "main", "media_type"),
    [
        ("word/document.xml", W + "wordprocessingml.template.main+xml", W + "wordprocessingml.template"),
        ("xl/workbook.xml", "application/vnd.ms-excel.addin.macroEnabled.main+xml",
         "application/vnd.ms-excel.addin.macroEnabled.12"),
        ("xl/workbook.bin", "application/vnd.ms-excel.sheet.binary.macroEnabled.main",
         "application/vnd.ms-excel.sheet.binary.macroEnabled.12"),
        ("ppt/presentation.xml", W + "presentationml.slideshow.main+xml", W + "presentationml.slideshow"),
        ("ppt/presentation.xml", "application/vnd.ms-powerpoint.presentation.macroEnabled.main+xml",
         "application/vnd.ms-powerpoint.presentation.macroEnabled.12"),
        ("visio/document.xml", "application/vnd.ms-visio.drawing.macroEnabled.main+xml",
         "application/vnd.ms-visio.drawing.macroEnabled"),
    ],
)  # fmt: skip
def test_office_packages(tmp_path: Path, part: str, main: str, media_type: str) -> None:
    data = zipped({"junk/readme.txt": "x", part: "x", "[Content_Types].xml": content_types((f"/{part}", main))})
    assert detected(tmp_path, data).media_type == media_type


@pytest.mark.parametrize(
    ("members", "media_type"),
    [
        ({"AndroidManifest.xml": "x", "META-INF/MANIFEST.MF": "x"}, "application/vnd.android.package-archive"),
        ({"doc.kml": "<kml/>"}, "application/vnd.google-earth.kmz"),
        ({"mimetype": "application/vnd.sun.xml.writer"}, "application/vnd.sun.xml.writer"),
        ({"mimetype": "text/html", "a.txt": "x"}, "application/zip"),
        ({"index.apxl": "x"}, "application/vnd.apple.keynote"),
        ({"index.xml": '<?xml version="1.0"?><sl:document xmlns:sl="x"/>'}, "application/vnd.apple.pages"),
        ({"index.xml": '<?xml version="1.0"?><page/>'}, "application/zip"),
        ({"Index/Slide-1.iwa": "x", "Index/Document.iwa": "x"}, "application/vnd.apple.keynote"),
        ({"Index/Document.iwa": b"\x00\x15\x16\x00\xd0H\xf0R'\x08\x01\x12#\x08\x90N\x12"},
         "application/vnd.apple.pages"),
        ({"FixedDocSeq.fdseq": "x", "[Content_Types].xml": content_types(), "_rels/.rels": "<Relationships/>"},
         "application/vnd.ms-xpsdocument"),
        ({"FixedDocSeq.fdseq": "x", "[Content_Types].xml": content_types(),
          "_rels/.rels": "<Relationship Type='http://schemas.openxps.org/oxps/v1.0/fixedrepresentation'/>"},
         "application/oxps"),
    ],
)  # fmt: skip
def test_other_packages(tmp_path: Path, members: dict[str, bytes | str], media_type: str) -> None:
    assert detected(tmp_path, zipped(members)).media_type == media_type


def test_a_cut_package_is_told_by_the_types_at_its_front(tmp_path: Path) -> None:
    template = docx() | {
        "[Content_Types].xml": content_types(
            ("/word/document.xml", DOCX_MAIN.replace("document.main", "template.main"))
        )
    }
    data = zipped(template | {"word/media/image1.png": bytes(range(256)) * 4})
    result = ask(tmp_path, data[: data.rfind(b"PK\x01\x02") // 2])
    assert result.detection is not None
    assert result.detection.media_type == W + "wordprocessingml.template"
    assert result.failure is not None
    assert result.failure.code == "truncated"


def test_a_package_in_a_cut_zip_does_not_give_it_its_kind(tmp_path: Path) -> None:
    data = zipped({"inner.docx": zipped(docx()), "b.txt": "x"}, stored=("inner.docx",))
    assert detected(tmp_path, data[: data.rfind(b"PK\x01\x02") - 40]).media_type == "application/zip"


@pytest.mark.parametrize(
    ("names", "media_type", "code"),
    [
        (("   19", "Props9"), "application/vnd.ms-project", None),
        (("Quill", "Contents"), "application/x-mspublisher", None),
        (("WordDocument", "\tDRMContent"), "application/msword", "encrypted"),
        (("VisioDocument",), "application/vnd.visio", None),
        (("Book", "Workbook"), "application/vnd.ms-excel", None),
    ],
)
def test_compound_files(tmp_path: Path, names: tuple[str, ...], media_type: str, code: str | None) -> None:
    result = ask(tmp_path, ole(*names))
    assert result.detection is not None
    assert result.detection.media_type == media_type
    if code:
        assert result.failure is not None
        assert result.failure.code == code


def test_the_class_of_the_root_tells_what_its_streams_do_not(tmp_path: Path) -> None:
    data = bytearray(ole("Contents"))
    data[1024 + 0x50 : 1024 + 0x60] = uuid.UUID("00021201-0000-0000-00c0-000000000046").bytes_le
    assert detected(tmp_path, bytes(data)).media_type == "application/x-mspublisher"


def test_a_compound_file_without_directory_is_told_by_what_is_left(tmp_path: Path) -> None:
    head = bytearray(ole("X")[:512])
    struct.pack_into("<I", head, 0x30, 500)  # the directory is beyond the end
    result = ask(tmp_path, bytes(head) + b"\xec\xa5\xc1\x00" + bytes(1000))
    assert result.detection is not None
    assert result.detection.media_type == "application/msword"
    assert result.failure is not None
    assert result.failure.code == "truncated"
