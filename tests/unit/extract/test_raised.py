"""What is set above or below the line stays apart from what it stands on, in every format that says so."""

from __future__ import annotations

import struct
import time
from pathlib import Path

import pytest

from streams.extract.outcome import Draft
from streams.extract.raised import Place, Scripts, lowered, raised
from streams.records import Dropped
from tests.unit.extract import docx_files, odf_files, pptx_files
from tests.unit.extract.doc_files import KIND, Doc, P
from tests.unit.extract.drafts import canon


@pytest.mark.parametrize(
    ("before", "text", "expected"),
    [
        ("10", "6", "⁶"),
        ("10", "-3", "⁻³"),
        ("10", "−3", "⁻³"),
        ("m", "2 ", "² "),
        ("Na", "+", "⁺"),
        ("word", "2,3", "²,³"),
        ("10", "1.5", "^(1.5)"),
        ("x", "n", "^n"),
        ("x", "n+1", "^(n+1)"),
        ("x", "(n+1)", "^(n+1)"),
        ("e", "-x/2", "^(-x/2)"),
        ("1", "st", "st"),
        ("XX", "e", "e"),
        ("x", "e", "^e"),
        ("M", "me", "me"),
        ("n", "º", "º"),
        ("Acme", "TM", "TM"),
        ("Acme", "®", "®"),
        ("word", "*", "*"),
        ("word", "[4]", "[4]"),
        ("", "a", "a"),
        ("so ", "a whole sentence that stands high", "a whole sentence that stands high"),
        ("x", " ", " "),
    ],
)
def test_raised(before: str, text: str, expected: str) -> None:
    assert raised(text, before) == expected


@pytest.mark.parametrize(
    ("text", "expected"), [("2", "₂"), ("12", "₁₂"), ("+1", "₊₁"), ("max", "max"), ("i", "i"), ("2a", "2a"), ("", "")]
)
def test_lowered(text: str, expected: str) -> None:
    assert lowered(text) == expected


def test_runs_of_one_script_are_one() -> None:
    parts: list[str] = []
    scripts = Scripts()
    for text, place in (("x", Place.LINE), ("(n", Place.RAISED), ("+1", Place.RAISED), (")", Place.RAISED)):
        scripts.put(parts, text, place)
    scripts.put(parts, "i", Place.LOWERED)
    scripts.cut()
    scripts.put(parts, "2", Place.LOWERED)
    assert parts == ["x", "^(n+1)", "i", "₂"]


def only(draft: Draft) -> str:
    assert len(draft.blocks) == 1
    return draft.blocks[0].text


# --- HTML ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("10<sup>6</sup> m<sup>2</sup>, CO<sub>2</sub>", "10⁶ m², CO₂"),
        ("x<sup>n+<i>1</i></sup> and x<sub>i</sub>", "x^(n+1) and xi"),
        ("one<br><sup>a</sup> two", "one\na two"),
        ("1<sup>st</sup>, Acme<sup>TM</sup>", "1st, AcmeTM"),
        ('10<span style="vertical-align:super; font-size:8px">6</span>', "10⁶"),
        ('word<sup><a href="#n1">1</a></sup>, other<a href="p#n2"><sup>2</sup></a>', "word1, other2"),
        ("a<sup>b<div>c</sup>d</div>", "a^b|cd"),
        ("<math><mfrac><mn>1</mn><mn>2</mn></mfrac></math> cup", "1/2 cup"),
        (
            "<math><mfrac><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><msup><mi>x</mi><mn>2</mn></msup></mfrac></math>",
            "(a+b)/(x^2)",
        ),
        ("<math><msqrt><mi>x</mi></msqrt><msub><mi>y</mi><mn>1</mn></msub></math>", "√(x)y_1"),
        ("<math><mfrac><mn>1</mn></math> <p>next", "1|next"),
    ],
)
def test_html(tmp_path: Path, page: str, expected: str) -> None:
    assert (
        "|".join(block.text for block in canon(tmp_path, f"<body><p>{page}</p></body>", "text/html").blocks) == expected
    )


def test_html_with_many_is_read_in_bounded_time(tmp_path: Path) -> None:
    page = "<sup></sup>x<sup>2</sup>" * 20_000 + "<math>" + "<msup><mi>x</mi>" * 400 + "1<table><tr><td><tr><td>"
    page += "<img alt='logo' style='vertical-align:super'><td>2</table>"
    start = time.process_time()
    body = canon(tmp_path, f"<p>{page}", "text/html")
    assert time.process_time() - start < 5
    assert "logo" in str(body.tables) + str(body.blocks)
    assert "^(logo)" not in str(body.tables) + str(body.blocks)


def test_html_cells_and_links(tmp_path: Path) -> None:
    table = "<table><tr><th>Area<th>Unit<tr><td>10<sup>3</sup><td><a href='u'>m<sup>2</sup></a></table>"
    body = canon(tmp_path, table, "text/html")
    assert [cell.text for cell in body.tables[0].cells] == ["Area", "Unit", "10³", "m²"]
    assert [link.text for block in body.blocks for link in block.links] == ["m²"]


def test_html_lists_count_as_browsers_do(tmp_path: Path) -> None:
    page = (
        "<ol reversed><li>a<li hidden>gone<li>b<li>c</ol><ol reversed start=9><li>d<li value=4>e<li>f</ol>"
        "<ol start=-1><li>g<li>h</ol>"
    )
    blocks = canon(tmp_path, page, "text/html").blocks
    shown = [f"{b.marker}{b.text}" for b in blocks if not b.hidden]
    assert shown == ["3.a", "2.b", "1.c", "9.d", "4.e", "3.f", "-1.g", "0.h"]


@pytest.mark.parametrize(
    ("page", "expected", "count"),
    [
        ("Pay <del>10</del> <ins>20</ins> now", "Pay 20 now", 1),
        ("Pay <ins>20</ins><del>10</del> now", "Pay 20 now", 1),
        ('Pay <del datetime="2024-01-02">10</del>20', "Pay 20", 1),
        ('Pay <del cite="https://example.org/why">10</del>20', "Pay 20", 1),
        ("Pay <del>10</del> 20, <s>never</s> or <ins>now</ins>", "Pay 10 20, never or now", 0),
        ("Was <s>10</s> <ins>20</ins>", "Was 10 20", 0),
    ],
)
def test_html_changes(tmp_path: Path, page: str, expected: str, count: int) -> None:
    body = canon(tmp_path, f"<p>{page}</p>", "text/html")
    assert [block.text for block in body.blocks] == [expected]
    assert body.dropped == ([Dropped(what="deleted_revisions", count=count)] if count else [])
    assert ("tracked_changes" in body.warnings) is bool(count)


# --- the others ------------------------------------------------------------------------------------------------------


def test_docx(tmp_path: Path) -> None:
    up, down = '<w:vertAlign w:val="superscript"/>', '<w:vertAlign w:val="subscript"/>'
    run = docx_files.run
    styles = docx_files.STYLES + (
        f'<w:style w:type="character" w:styleId="Up"><w:name w:val="Up"/><w:rPr>{up}</w:rPr></w:style>'
    )
    content = (
        *(run("10"), run("6", up), run(" m"), run("2", '<w:rStyle w:val="Up"/>'), run(" CO"), run("2", down)),
        *(run(" x"), run("n", up), run("+1", up), run(" 3"), run("rd", up)),
        run("5", '<w:rStyle w:val="Up"/><w:vertAlign w:val="baseline"/>'),
    )
    path = docx_files.make(tmp_path / "a", docx_files.paragraph("".join(content)), styles=styles)
    assert only(docx_files.read(path)) == "10⁶ m² CO₂ x^(n+1) 3rd5"


@pytest.mark.parametrize(
    ("position", "text", "expected"),
    [
        ("super 58%", "6", "10⁶"),
        ("33% 58%", "n", "10^n"),
        ("sub 58%", "2", "10₂"),
        ("-33%", "2", "10₂"),
        ("0% 100%", "2", "102"),
    ],
)
def test_odt(tmp_path: Path, position: str, text: str, expected: str) -> None:
    style = odf_files.style("S", f'<style:text-properties style:text-position="{position}"/>', "text")
    span = f'10<text:span text:style-name="S">{text}</text:span>'
    assert only(odf_files.read(odf_files.make(tmp_path / "a", odf_files.p(span), automatic=style))) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (r"10{\super 6} m\super 2\nosupersub, CO{\sub 2}", "10⁶ m², CO₂"),
        (r"x{\super n}{\super +1} 1{\super st} a\super 2\plain 3\super 4\super0 5", "x^(n+1) 1st a²3⁴5"),
        (r"a{\up6 2}", "a2"),
    ],
)
def test_rtf(tmp_path: Path, body: str, expected: str) -> None:
    found = canon(tmp_path, f"{{\\rtf1\\ansi {body}}}", "text/rtf")
    assert [block.text for block in found.blocks] == [expected]


def test_rtf_note_in_a_raised_group(tmp_path: Path) -> None:
    found = canon(tmp_path, r"{\rtf1\ansi word{\super\chftn{\footnote\chftn see 12}} on}", "text/rtf")
    assert [block.text for block in found.blocks] == ["word on", "see 12"]


@pytest.mark.parametrize("old", [False, True])
def test_doc(tmp_path: Path, old: bool) -> None:
    def iss(value: int) -> bytes:
        return bytes([104, value]) if old else struct.pack("<HB", 0x2A48, value)

    runs = [("10", b""), ("6", iss(1)), (" CO", b""), ("2", iss(2)), (" x", b""), ("n+1", iss(1)), ("5", iss(0))]
    body = canon(tmp_path, Doc(stories={"body": [P(runs)]}, old=old).data(), KIND)
    assert [block.text for block in body.blocks] == ["10⁶ CO₂ x^(n+1)5"]


def test_pptx(tmp_path: Path) -> None:
    def run(text: str, baseline: int) -> str:
        return f'<a:r><a:rPr baseline="{baseline}"/><a:t>{text}</a:t></a:r>'

    content = run("10", 0) + run("6", 30000) + run(" CO", 0) + run("2", -25000) + run(" x", 0) + run("n+1", 30000)
    path = pptx_files.make(tmp_path / "a", pptx_files.shape(pptx_files.paragraph(content)))
    assert "10⁶ CO₂ x^(n+1)" in pptx_files.texts(pptx_files.read(path))


# --- fields of DOCX that never end -----------------------------------------------------------------------------------

BEGIN, SEPARATE, END = (f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>' for kind in ("begin", "separate", "end"))
CODE = "<w:r><w:instrText> REF total </w:instrText></w:r>"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (BEGIN + CODE + docx_files.run("the total"), "Pay the total"),
        (BEGIN + CODE + SEPARATE + docx_files.run("the total"), "Pay the total"),
        (BEGIN + CODE + BEGIN + CODE + SEPARATE + docx_files.run("12") + END + docx_files.run(" EUR"), "Pay 12 EUR"),
        (BEGIN + CODE + docx_files.run("not shown") + SEPARATE + docx_files.run("12") + END, "Pay 12"),
    ],
)
def test_a_field_that_never_ends_hides_no_text(tmp_path: Path, content: str, expected: str) -> None:
    body = docx_files.paragraph(docx_files.run("Pay ") + content) + docx_files.paragraph("After")
    draft = docx_files.read(docx_files.make(tmp_path / "a", body))
    assert [block.text for block in draft.blocks] == [expected, "After"]
    assert draft.dropped == list[Dropped]()
