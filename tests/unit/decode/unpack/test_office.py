"""Objects embedded in Office files, old and new ([MS-OLEDS], ECMA-376), made by code and real ones."""

from __future__ import annotations

import struct
import time
import zlib
from pathlib import Path

import pytest

from tests.unit.decode.files import docx, zipped
from tests.unit.decode.unpack.compounds import Tree, compound, package
from tests.unit.decode.unpack.opened import Opened, opened, opened_file

DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
DOC = "application/msword"
PPT = "application/vnd.ms-powerpoint"


def program(name: str) -> bytes:
    """A CompObj stream that names the program of an object."""
    fields = b"".join(struct.pack("<I", len(text)) + text for text in (b"User type\x00",))
    return bytes(28) + fields + struct.pack("<I", 0) + struct.pack("<I", len(name) + 1) + name.encode() + b"\x00"


def of_docx(folder: Path, embedded: dict[str, bytes]) -> Opened:
    parts = docx() | {f"word/embeddings/{name}": data for name, data in embedded.items()}
    found = opened(folder, zipped(parts), DOCX)
    assert found.failure is None
    return found


def test_packages_come_as_they_are_and_pictures_do_not_come(tmp_path: Path) -> None:
    sheet = zipped({"xl/workbook.xml": "<x/>"})
    parts = docx() | {
        "word/embeddings/Sheet1.xlsx": sheet,
        "word/embeddings/_rels/Sheet1.xlsx.rels": "<x/>",
        "word/media/image1.png": b"x",
        "word/vbaProject.bin": b"x",
        "xl/printerSettings/printerSettings1.bin": b"x",
        "docProps/thumbnail.jpeg": b"x",
    }
    found = opened(tmp_path, zipped(parts), DOCX)
    assert found.data == {"Sheet1.xlsx": sheet}
    assert found.members[0].key == "word/embeddings/Sheet1.xlsx"


def test_a_package_object_is_the_file_that_was_dropped_in(tmp_path: Path) -> None:
    found = of_docx(
        tmp_path,
        {
            "oleObject1.bin": compound({"\x01Ole10Native": package("notes.txt", b"n" * 70_000)}),
            "oleObject2.bin": compound({"\x01Ole10Native": package("?.txt", b"u", unicode_name="отчёт.txt")}),
        },
    )
    assert found.data == {"notes.txt": b"n" * 70_000, "отчёт.txt": b"u"}
    assert found.members[0].key == "word/embeddings/oleObject1.bin"


@pytest.mark.parametrize(
    ("tree", "path", "data"),
    [
        ({"Package": b"PK\x03\x04zip", "\x01CompObj": program("Excel.Sheet.12")}, "oleObject1.xlsx", b"PK\x03\x04zip"),
        ({"Package": b"PK\x03\x04zip"}, "oleObject1.zip", b"PK\x03\x04zip"),
        ({"CONTENTS": b"%PDF-1.4 x", "\x01CompObj": program("AcroExch.Document")}, "oleObject1.pdf", b"%PDF-1.4 x"),
        ({"WordDocument": b"w"}, "oleObject1.doc", None),
        ({"Workbook": b"w", "\x01CompObj": program("Excel.Sheet.8")}, "oleObject1.xls", None),
        ({"SomethingElse": b"w"}, "oleObject1.ole", None),
        ({"\x01Ole10Native": struct.pack("<I", 6) + b"BMdata"}, "oleObject1.bmp", b"BMdata"),
    ],
)
def test_objects(tmp_path: Path, tree: Tree, path: str, data: bytes | None) -> None:
    whole = compound(tree)
    found = of_docx(tmp_path, {"oleObject1.bin": whole})
    assert found.data == {path: whole if data is None else data}


@pytest.mark.parametrize(
    ("tree", "code"),
    [
        ({"\x01Ole": b"\x01\x00\x00\x02\x01\x00\x00\x00", "\x02OlePres000": b"x"}, "broken_link"),
        ({"\x01Ole10Native": package("far.txt", b"", kind=0x00010000)}, "broken_link"),
        ({"\x01Ole": b"\x01\x00\x00\x02\x00\x00\x00\x00", "\x02OlePres000": b"x"}, "unsupported_format"),
    ],
)
def test_links_and_mere_pictures_say_so(tmp_path: Path, tree: Tree, code: str) -> None:
    failure = of_docx(tmp_path, {"oleObject1.bin": compound(tree)}).members[0].failure
    assert failure is not None
    assert failure.code == code


@pytest.mark.parametrize(
    ("tree", "warning"),
    [
        ({"Equation Native": b"x"}, "formulas_left_out"),
        ({"\x01Ole10Native": b"x", "\x01CompObj": program("Equation.3")}, "formulas_left_out"),
        ({"\x03OCXNAME": b"x"}, "controls_left_out"),
    ],
)
def test_what_is_part_of_the_document_is_left_out(tmp_path: Path, tree: Tree, warning: str) -> None:
    found = of_docx(tmp_path, {"oleObject1.bin": compound(tree)})
    assert found.members == []
    assert found.warnings == [warning]


def test_a_damaged_part_costs_only_itself(tmp_path: Path) -> None:
    good = compound({"\x01Ole10Native": package("a.txt", b"a")})
    lying = package("b.txt", b"b" * 9000)
    lying = lying[: lying.index(b"bbb") - 4] + struct.pack("<I", 1 << 30) + b"b" * 9000
    broken = compound({"\x01Ole10Native": lying})
    found = of_docx(
        tmp_path, {"1.bin": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1cut", "2.bin": broken, "3.bin": good, "4.bin": b"raw"}
    )
    codes = {m.path: m.failure.code for m in found.members if m.failure}
    assert codes == {"1.bin": "corrupt", "b.txt": "corrupt"}
    assert found.data == {"a.txt": b"a", "4.bin": b"raw"}
    whole = zipped(docx() | {"word/embeddings/x.docx": b"x" * 5000, "word/embeddings/y.docx": b"y"})
    at = whole.index(b"word/embeddings/x.docx") + len(b"word/embeddings/x.docx")
    found = opened(tmp_path, whole[:at] + b"\xff\xff\xff" + whole[at + 3 :], DOCX)
    assert [(m.path, m.failure and m.failure.code) for m in found.members] == [("x.docx", "corrupt"), ("y.docx", None)]
    failure = opened(tmp_path, b"PK\x03\x04no zip", DOCX).failure
    assert failure is not None
    assert failure.code == "corrupt"


def test_a_bomb_in_an_object_ends_as_one(tmp_path: Path) -> None:
    began = time.process_time()
    inner = compound({"\x01Ole10Native": package("zeros.bin", bytes(60 << 20))})
    found = opened(tmp_path, zipped(docx() | {"word/embeddings/oleObject1.bin": inner}), DOCX)
    assert found.failure is not None
    assert found.failure.code == "bomb"
    assert found.members == []
    assert time.process_time() - began < 10


def test_objects_of_word_and_excel(tmp_path: Path) -> None:
    inner: Tree = {"Workbook": b"w" * 5000, "\x01CompObj": program("Excel.Sheet.8")}
    dropped: Tree = {"\x01Ole10Native": package("a.txt", b"a")}
    found = opened(tmp_path, compound({"WordDocument": b"x", "ObjectPool": {"_1": inner, "_2": dropped}}), DOC)
    assert found.paths == ["embedded-1.xls", "a.txt"]
    assert [m.key for m in found.members] == ["ObjectPool/_1", "ObjectPool/_2"]
    assert opened(tmp_path, found.data["embedded-1.xls"], DOC).failure is None
    book: Tree = {"Workbook": b"x", "MBD0001A2B3": dropped, "_VBA_PROJECT_CUR": {"VBA": {"dir": b"x"}}}
    assert opened(tmp_path, compound(book), "application/vnd.ms-excel").paths == ["a.txt"]
    assert opened(tmp_path, b"\x09\x04\x06\x00\x00\x00\x10\x00", "application/vnd.ms-excel").failure is None


def test_charts_that_the_document_says_itself_are_no_members(tmp_path: Path) -> None:
    graph: Tree = {"Workbook": b"w" * 100, "\x01CompObj": program("MSGraph.Chart.8")}
    odf: Tree = {"package_stream": b"PK\x03\x04" + bytes(34) + b"mimetypeapplication/vnd.oasis.opendocument.chart"}
    text: Tree = {"package_stream": b"PK\x03\x04" + bytes(34) + b"mimetypeapplication/vnd.oasis.opendocument.text"}
    pool: Tree = {"_1": graph, "_2": odf, "_3": text}
    assert opened(tmp_path, compound({"WordDocument": b"x", "ObjectPool": pool}), DOC).paths == ["embedded-3.zip"]
    assert opened(tmp_path, slides(compressed(compound(graph))), PPT).paths == []
    assert of_docx(tmp_path, {"oleObject1.bin": compound(graph)}).paths == []
    book: Tree = {"Workbook": b"x", "MBD0001A2B3": graph}  # a sheet does not
    assert opened(tmp_path, compound(book), "application/vnd.ms-excel").paths == ["embedded-1.xls"]


def record(kind: int, data: bytes, instance: int = 0) -> bytes:
    return struct.pack("<HHI", instance << 4, kind, len(data)) + data


def slides(*objects: bytes, live: tuple[int, ...] | None = None) -> bytes:
    """A presentation with these object records; `live`: which of them the newest edit has, null: no edit is told."""
    stream, offsets = record(0x03E8, b"document"), []
    for one in objects:
        offsets.append(len(stream))
        stream += one
    if live is None:
        return compound({"PowerPoint Document": stream})
    directory = len(stream)
    persisted = [offsets[index] for index in live]
    stream += record(0x1772, struct.pack(f"<I{len(persisted)}I", len(persisted) << 20 | 1, *persisted))
    edit = len(stream)
    stream += record(0x0FF5, struct.pack("<IIIIIII", 0, 0, 0, directory, 1, 1, 0))
    return compound({"PowerPoint Document": stream, "Current User": record(0x0FF6, struct.pack("<III", 20, 0, edit))})


def compressed(data: bytes, *, cut: int = 0) -> bytes:
    packed = zlib.compress(data)
    return record(0x1011, struct.pack("<I", len(data)) + packed[: len(packed) - cut], instance=1)


def test_objects_of_powerpoint(tmp_path: Path) -> None:
    book = compound({"Workbook": b"w" * 200_000})
    text = compound({"\x01Ole10Native": package("a.txt", b"a")})
    macros = compound({"VBA": {"dir": b"x"}, "PROJECT": b"x"})
    every = slides(compressed(book), record(0x1011, text), compressed(macros), compressed(text, cut=4))
    found = opened(tmp_path, every, PPT)
    assert found.failure is None
    assert found.paths == ["embedded-1.xls", "a.txt", "a (2).txt"]
    assert found.data["embedded-1.xls"] == book
    live = opened(tmp_path, slides(compressed(book), record(0x1011, text), live=(1,)), PPT)
    assert live.paths == ["a.txt"]
    damaged = opened(tmp_path, slides(compressed(book, cut=30), record(0x1011, b"no file"), record(0x1011, text)), PPT)
    codes = [m.failure.code if m.failure else None for m in damaged.members]
    assert codes == ["corrupt", "corrupt", None]


CORPUS = Path(__file__).parents[5] / "shared/corpus/files/office"


@pytest.mark.skipif(not CORPUS.exists(), reason="the corpus is not here")
def test_a_real_presentation(tmp_path: Path) -> None:
    kind = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
    paths = opened_file(tmp_path, CORPUS / "various2.pptx", kind).paths
    assert {"oleObject3.docx", "oleObject1.xlsx", "oleObject4.xls", "oleObject2.pdf"} < set(paths)
