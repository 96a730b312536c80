"""EQ fields of Word, whose text stands in their code alone."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from streams.extract.eq_fields import eq_text
from tests.unit.extract import docx_files as w
from tests.unit.extract.doc_files import KIND, Doc, P
from tests.unit.extract.drafts import canon, kinds


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (r"EQ \f(1,2)", "1/2"),
        (r"eq x = \f(a+b;2,5)", "x = (a+b)/(2,5)"),
        (r"EQ \r(3,x+1)", "3√(x+1)"),
        (r"EQ \r(y)", "√(y)"),
        (r"EQ \i\su(1,5,n)", "∑_1^5 n"),
        (r"EQ \b\bc\[(\f(a,b))", "[a/b]"),
        (r"EQ \b\lc\{(x)", "{x}"),
        (r"EQ H\s\do5(2)O, 10\s\up6(6)", "H₂O, 10⁶"),
        (r"eq \a\co2(1,2,3,4)", "1 & 2; 3 & 4"),
        (r"EQ \a \al (Milk,Eggs) ", "Milk; Eggs"),
        (r"EQ \l(A,B,C)", "A, B, C"),
        (r"EQ \x(framed (really))", "framed (really)"),
        (r"EQ a\,b \\ \(", r"a,b \ ("),
        (r"eq \o\ac(○,1)", "○1"),
        (r'EQ \* jc2 \* "Font:MS Mincho" \* hps11 \o\ad(\s\up 10(とうきょう),東京)', "東京"),
        (r"EQ \d \fo10 () x", "x"),
        ("EQ", ""),
        (r"EQ \f(1,", "1/"),
        (r"EQ \f", r"f"),
    ],
)
def test_codes(code: str, text: str) -> None:
    assert eq_text(code) == text


def test_hostile_codes_end_soon() -> None:
    began = time.process_time()
    for code in (r"\f(" * 50_000, "(" * 200_000, r"\o(" + r"\s\up(" * 50_000, r"\a\co0(" + "," * 100_000 + ")"):
        eq_text("EQ " + code)
    assert time.process_time() - began < 2


def test_in_documents(tmp_path: Path) -> None:
    doc = Doc(stories={"body": [P("half: \x13 EQ \\f(1,2) \x15, shown \x13 EQ \\f(1,2) \x14½\x15")]}).data()
    assert kinds(canon(tmp_path, doc, KIND)) == [("paragraph", "half: 1/2, shown ½")]
    rtf = r"{\rtf1 half: {\field{\*\fldinst  EQ \\f(1,2) }{\fldrslt }}.\par}"
    assert kinds(canon(tmp_path, rtf, "text/rtf")) == [("paragraph", "half: 1/2.")]
    code = "".join(
        f"<w:r>{one}</w:r>"
        for one in (
            '<w:fldChar w:fldCharType="begin"/>',
            "<w:instrText>eq \\f(1,</w:instrText>",
            "<w:instrText>2)</w:instrText>",
            '<w:fldChar w:fldCharType="end"/>',
        )
    )
    draft = w.read(w.make(tmp_path / "eq.docx", w.paragraph(w.run("half: ") + code)))
    assert [block.text for block in draft.blocks] == ["half: 1/2"]
