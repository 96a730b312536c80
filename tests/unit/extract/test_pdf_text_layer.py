"""Text layers that lie: what is suspected, who reads it again, and what is left to recognition."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pymupdf
import pytest

from streams.extract import extract, pdf_text_layer
from streams.extract.finish import body_text
from streams.extract.outcome import Draft, Request
from streams.extract.pdf import extract_with_pdfium, extract_with_pdfminer
from streams.extract.recognise import RecogniseRequest, pages_needing, recognise
from streams.extract.registry import load, named, plan
from streams.extract.tools import pdfium, pdfminer
from streams.extract.tools.glyphs import Glyph
from streams.extract.tools.mupdf import PageError, open_pdf
from streams.records import BlockKind, BlockSource, Detection, Method, Outcome
from streams.screen import screen
from streams.screen.policy import Policy
from tests.unit.extract.pdf_files import Maker, run, texts

PDF = Detection(media_type="application/pdf", detected_by="test")
PROSE = (
    "The keeper of the lighthouse writes the weather into a book",
    "every three hours and sends a copy to the town each Friday.",
    "Fog was seen on eleven days of the month, and the horn was",
    "sounded for forty hours. The lamp was cleaned twice.",
)
WELSH = (
    "Mae'r ceidwad yn ysgrifennu'r tywydd mewn llyfr bob tair awr ac",
    "yn anfon copi i'r dref bob dydd Gwener. Gwelwyd niwl ar un diwrnod",
    "ar ddeg o'r mis, a chanwyd y corn am ddeugain awr yn y gaeaf oer.",
)
PARTS = tuple(
    f"HX-{n * 37 % 900:03} M{n % 9 + 3}x{n * 5 % 60 + 8} DIN{900 + n} A2-70 ZNPL {n * 13 % 99} PCS" for n in range(7)
)
NAMES = tuple(
    f"{a} {b}" for a in ("Zbyszko", "Oluwaseun", "Eithne") for b in ("Wrzesz", "Adebayor", "Uí Bhriain", "Kjaersgård")
)
CODE = tuple(f"    self._q{n} = fn_{n}(argv[{n}], kwds.get('k{n}'), *xs)  # noqa: E{n}01" for n in range(20))


def written(lines: Sequence[str], change: Callable[[bytes], bytes | None]) -> Maker:
    """A page whose font has the map to Unicode (ISO 32000-1, 9.10.3) that `change` makes of a right one."""
    maker = Maker().new_page()
    font = pymupdf.Font("helv")
    writer = pymupdf.TextWriter(maker.page.rect)
    for index, line in enumerate(lines):
        writer.append((72, 100 + 15 * index), line, font=font, fontsize=11)
    writer.write_text(maker.page)
    document = maker.document
    for xref in {entry[0] for entry in maker.page.get_fonts()}:
        stream = int(document.xref_get_key(xref, "ToUnicode")[1].split()[0])
        changed = change(document.xref_stream(stream))
        if changed is None:
            document.xref_set_key(xref, "ToUnicode", "null")
        else:
            document.update_stream(stream, changed)
    return maker


def unmapped(stream: bytes) -> None:
    return None


def without_blank(stream: bytes) -> bytes:
    """As a careless writer leaves it: pdfminer.six reads it, MuPDF and PDFium do not."""
    return stream.replace(b" beginbf", b"beginbf")


def shifted(stream: bytes) -> bytes:
    """Each small letter said to be the third after it."""
    small = b"<0042> <005f> <0061>"
    assert small in stream
    return stream.replace(small, b"<0042> <0058> <0064>\n<0059> <005b> <0061>")


def bytes_of(tmp_path: Path, maker: Maker) -> Path:
    path = tmp_path / "document"
    path.write_bytes(maker.bytes())
    return path


def states(draft: Draft) -> list[tuple[str, bool]]:
    return [(page.reader, page.unreadable) for page in draft.pages]


def test_page_that_another_library_reads_says_which(tmp_path: Path) -> None:
    draft = run(tmp_path, written(PROSE, without_blank))
    assert texts(draft, BlockKind.PARAGRAPH) == [" ".join(PROSE)]
    assert states(draft) == [("pdfminer.six", False)]
    assert draft.warnings == ["text_layer_replaced"]
    before = run(tmp_path, written(PROSE, lambda stream: stream))
    assert states(before) == [("", False)]
    assert before.warnings == []
    assert draft.blocks[0].bbox == before.blocks[0].bbox


def test_font_without_a_way_back_is_unreadable_and_held(tmp_path: Path) -> None:
    maker = written(PROSE, unmapped)
    draft = run(tmp_path, maker)
    assert states(draft) == [("", True)]
    assert draft.warnings == ["text_layer_unreadable"]
    assert draft.method is Method.NATIVE
    body = extract(Request(path=bytes_of(tmp_path, maker), detection=PDF), content_hash="00")
    assert pages_needing(body) == [1]
    found = screen(body, Policy(), size=8000)
    assert found.outcome is Outcome.QUARANTINED
    assert {"needs_recognition", "cid_leak"} <= set(found.problems)


def test_shifted_letters_are_unreadable(tmp_path: Path) -> None:
    draft = run(tmp_path, written(PROSE * 3, shifted))
    assert "oljkwkrxvh" in draft.blocks[0].text
    assert states(draft) == [("", True)]


def test_few_characters_of_a_font_that_nothing_explains(tmp_path: Path) -> None:
    """TrueType, symbolic, without encoding and map: `"7+%-` is to be seen as a word."""
    maker = Maker().new_page()
    document = maker.document
    font, program, content = (document.get_new_xref() for _ in range(3))
    document.update_object(program, "<<>>")
    document.update_stream(program, b"\x00\x01\x00\x00 no font at all")
    document.update_object(
        font,
        "<</Type/Font/Subtype/TrueType/BaseFont/ABCDEF+Trade/FirstChar 32/LastChar 90/Widths["
        + "600 " * 59
        + "]/FontDescriptor<</Type/FontDescriptor/FontName/ABCDEF+Trade/Flags 4/FontBBox[0 0 1000 1000]/ItalicAngle 0"
        f"/Ascent 800/Descent -200/CapHeight 700/StemV 80/FontFile2 {program} 0 R>>>>",
    )
    document.update_object(content, "<<>>")
    document.xref_set_key(maker.page.xref, "Resources", f"<</Font<</F1 {font} 0 R>>>>")
    document.xref_set_key(maker.page.xref, "Contents", f"{content} 0 R")
    document.update_stream(content, b'BT /F1 12 Tf 72 700 Td ("7+%-) Tj ET')
    assert states(run(tmp_path, maker)) == [("", True)]
    document.update_stream(content, b"BT /F1 12 Tf 72 700 Td (1,234.50 17% 12) Tj ET")
    assert states(run(tmp_path, maker)) == [("", False)]
    words = b"(FIGURE 1: THE VALUE OF THE FUNCTION AND THE EXACT SOLUTION OF THE PROBLEM)"
    document.update_stream(content, b"BT /F1 9 Tf 72 700 Td " + words + b" Tj ET")
    assert states(run(tmp_path, maker)) == [("", False)]


@pytest.mark.parametrize(
    ("signs", "unreadable"), [("4 = 71 + 25 - 9", False), ("4271925 4471 25919283", True)], ids=["formulas", "words"]
)
def test_odd_glyphs_of_formulas_leave_a_page_readable(tmp_path: Path, signs: str, unreadable: bool) -> None:
    def figures_lost(stream: bytes) -> bytes:
        signs = b"<0009> <0040> <0028>"
        assert signs in stream
        return stream.replace(signs, b"<0009> <0010> <0028>\n<0011> <001a> <e030>\n<001b> <0040> <003a>")

    draft = run(tmp_path, written([*PROSE, *[signs] * 12], figures_lost))
    assert states(draft)[0][1] is unreadable


@pytest.mark.parametrize("lines", [PARTS, NAMES, CODE, WELSH], ids=["parts", "names", "code", "welsh"])
def test_text_that_no_word_list_knows_is_left_alone(tmp_path: Path, lines: Sequence[str]) -> None:
    draft = run(tmp_path, Maker().new_page().lines(60, 80, lines, 9))
    assert states(draft) == [("", False)]


def scan_with_layer(lines: Sequence[str]) -> Maker:
    maker = Maker().new_page().image((0, 0, 595, 842))
    for index, line in enumerate(lines):
        maker.text(60, 80 + 12 * index, line, 9, render_mode=3)
    return maker


BAD_LAYER = (
    "Eeairing to keep you posted on tne progress of tbe Foundatlon",
    "toi n»Bfl iseorty ttsrootj saifii n u t s*r;tiiR» and hes reeeived",
    "ae fallowings a l e t t e r froas Calif&rr-la accepting aieiabership",
    "Met eneloalcg their check and JMBWeil contra-eta wrelosing fross",
)


def test_bad_recognition_under_a_scan_is_unreadable(tmp_path: Path) -> None:
    draft = run(tmp_path, scan_with_layer(BAD_LAYER))
    assert states(draft) == [("", True)]
    assert draft.method is Method.NATIVE  # what can't be read does not count as recognised
    assert {block.source for block in draft.blocks} == {BlockSource.OCR}
    body = extract(Request(path=bytes_of(tmp_path, scan_with_layer(BAD_LAYER)), detection=PDF), content_hash="00")
    assert pages_needing(body) == [1]


@pytest.mark.parametrize("lines", [PROSE, PARTS, NAMES, WELSH], ids=["prose", "parts", "names", "welsh"])
def test_good_recognition_under_a_scan_is_kept(tmp_path: Path, lines: Sequence[str]) -> None:
    draft = run(tmp_path, scan_with_layer(lines))
    assert states(draft) == [("", False)]
    assert draft.method is Method.OCR


@pytest.mark.skipif(shutil.which("tesseract") is None, reason="tesseract is not installed")
def test_recognition_replaces_an_unreadable_layer(tmp_path: Path) -> None:
    path = bytes_of(tmp_path, written(PROSE, unmapped))
    body = extract(Request(path=path, detection=PDF), content_hash="00")
    again = recognise(RecogniseRequest(path=path, detection=PDF, body=body, languages=["en"]))
    assert " ".join(body_text(again).split()) == " ".join(PROSE)
    assert again.method is Method.OCR
    assert screen(again, Policy(), size=8000).outcome is Outcome.READY
    assert pages_needing(again) == []


@pytest.mark.skipif(shutil.which("tesseract") is None, reason="tesseract is not installed")
def test_recognition_mends_the_part_that_one_font_loses(tmp_path: Path) -> None:
    maker = written(PROSE[:2], unmapped)
    maker.lines(
        72, 200, ("The boat brought oil, bread and letters. The keeper asks for", "new boots and a pane of glass.")
    )
    path = bytes_of(tmp_path, maker)
    body = extract(Request(path=path, detection=PDF), content_hash="00")
    assert [page.unreadable for page in body.pages] == [True]
    again = recognise(RecogniseRequest(path=path, detection=PDF, body=body, languages=["en"]))
    text = " ".join(body_text(again).split())
    assert " ".join(PROSE[:2]) in text
    assert text.count("The boat brought oil") == 1
    assert "\ufffd" not in text
    assert [page.unreadable for page in again.pages] == [False]


@pytest.mark.parametrize(
    ("tool", "function"), [("pdf_pdfium", extract_with_pdfium), ("pdf_pdfminer", extract_with_pdfminer)]
)
def test_named_tool_reads_every_page(tmp_path: Path, tool: str, function: Callable[[Request], Draft]) -> None:
    maker = Maker().new_page().lines(72, 100, PROSE).grid(72, 300, [["Year", "Sum"], ["1990", "1,234.50"]])
    maker.new_page().lines(72, 100, PROSE[:2]).text(300, 420, "turned", rotate=90)
    maker.page.set_rotation(90)
    maker.page.set_cropbox(pymupdf.Rect(20, 30, 580, 800))
    path = bytes_of(tmp_path, maker)
    spec = named(tool)
    assert spec is not None
    assert load(spec) is function
    assert plan(PDF) is named("pdf")
    by_tool, first = function(Request(path=path, detection=PDF)), run(tmp_path, maker)
    assert [(block.kind, block.text, block.bbox) for block in by_tool.blocks] == [
        (block.kind, block.text, block.bbox) for block in first.blocks
    ]
    assert by_tool.tables == first.tables
    assert {page.reader for page in by_tool.pages} == {pdf_text_layer.TOOLS[tool]}


def test_readers_agree_on_characters_and_places(tmp_path: Path) -> None:
    maker = Maker().new_page().text(72, 100, "Oil, bread & letters")
    with open_pdf(bytes_of(tmp_path, maker)) as pdf:
        page = pdf.page_alone(1)
    found = [[glyph for glyph in reader(page) if glyph.text.strip()] for reader in (pdfium.glyphs, pdfminer.glyphs)]
    assert ["".join(glyph.text for glyph in glyphs) for glyphs in found] == ["Oil,bread&letters"] * 2
    for first, second in zip(*found, strict=True):
        assert first.box == pytest.approx(second.box, abs=4)
        assert first.box[0] == pytest.approx(second.box[0], abs=0.5)


def test_other_libraries_are_asked_a_bounded_number_of_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    maker = written(PROSE, unmapped)
    for _ in range(11):
        maker.document.fullcopy_page(0)
    asked = 0

    def counted(page: bytes) -> list[Glyph]:
        nonlocal asked
        asked += 1
        return pdfium.glyphs(page)

    monkeypatch.setitem(pdf_text_layer.READERS, "pypdfium2", counted)
    assert states(run(tmp_path, maker)) == [("", True)] * 12
    assert asked == 5


def test_page_whose_streams_inflate_is_not_given_to_other_libraries(tmp_path: Path) -> None:
    maker = written(PROSE, unmapped)
    document: Any = maker.document
    xref = maker.page.get_contents()[0]
    document.update_stream(xref, document.xref_stream(xref) + b"\n" + b" " * (33 << 20), compress=True)
    path = bytes_of(tmp_path, maker)
    assert path.stat().st_size < 200_000
    with open_pdf(path) as pdf, pytest.raises(PageError, match="inflate"):
        pdf.page_alone(1)
    assert states(run(tmp_path, maker)) == [("", True)]
