"""RTF: what a reader sees and what hides, from files written here by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.records import BlockKind, CanonBody
from tests.unit.extract.drafts import canon, kinds


def read(folder: Path, body: str | bytes, header: str = r"\ansi\ansicpg1252\deff0") -> CanonBody:
    """The canon of an RTF file with this body."""
    data = body.encode("latin-1") if isinstance(body, str) else body
    return canon(folder, b"{\\rtf1" + header.encode("latin-1") + b" " + data + b"}", "text/rtf")


def texts(folder: Path, body: str | bytes, header: str = r"\ansi\ansicpg1252\deff0") -> list[str]:
    """Texts of all blocks."""
    return [block.text for block in read(folder, body, header).blocks]


# --- characters ------------------------------------------------------------------------------------------------------


def test_marks_that_are_no_destinations_hide_nothing(tmp_path: Path) -> None:
    """Outlook's place of an attachment; numbers of the document's head."""
    body = read(tmp_path, r"{\info\version1\nofpages2{\title Plan}}one\par\objattph\'20\objattph\'20\par two\par")
    assert kinds(body) == [("paragraph", "one"), ("paragraph", "two")]
    assert body.title == "Plan"


@pytest.mark.parametrize(
    ("header", "body", "expected"),
    [
        (r"\ansi\ansicpg1252", r"caf\'e9 \'80", "café €"),
        (r"\ansi\ansicpg1250", r"\'c8esk\'fd", "Český"),
        (r"\mac", r"caf\'8e", "café"),
        (r"\pc", r"caf\'82", "café"),
        (r"\ansi\ansicpg65001", r"\'c3\'a9t\'c3\'a9", "été"),
        (r"\ansi\ansicpg932", r"\'93\'fa\'96\'7b \'83\'5c\'83\\", "日本 ソソ"),
        (r"\ansi\ansicpg1252{\fonttbl{\f0\fcharset204 Arial Cyr;}}\deff0", r"\'cc\'e8\'f0", "Мир"),
        (
            r"\ansi\ansicpg1252{\fonttbl\f0\fnil\fcharset0 Arial;\f1\fcharset161 Arial;}\deff0",
            r"a{\f1 \'e1}\'e1",
            "aαá",
        ),
        (r"\ansi{\fonttbl{\f0\cpg1251 Any;}}\deff0", r"\'cc", "М"),
        (r"\ansi{\fonttbl{\f3\fcharset2 Symbol;}}", r"{\f3 \'b7 a}", "• α"),
        (r"\ansi\ansicpg1252{\fonttbl{\f0\fcharset128 Gothic;}}\deff0", r"a \'96 b", "a – b"),
        (r"\ansi", "a\r\nb\\\r\nc", "ab"),
        (r"\ansi", r"\{x\}\\y\~z\_w", "{x}\\y\u00a0z\u2011w"),
        (r"\ansi", r"\ldblquote a\rdblquote \emdash b\endash\bullet", "“a”—b–•"),
        (r"\ansi", r"\'zz ok", "zz ok"),
    ],
)
def test_bytes_are_read_in_the_code_page_that_holds_there(
    tmp_path: Path, header: str, body: str, expected: str
) -> None:
    assert texts(tmp_path, body + r"\par", header)[0] == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (r"\u8364?x", "€x"),
        (r"\u-10179 ?\u-8704 ?", "😀"),
        (r"\u128512 ?", "😀"),
        (r"{\u-10179 ?}{\u-8704 ?}", "😀"),
        (r"\uc2\u24180\'94\'4eabc", "年abc"),
        (r"\uc0\u8364x", "€x"),
        (r"{\uc3\u8364 EUR}\u8364?.", "€€."),
        (r"\u8220\ldblquote x", "“x"),
        (r"\u8364{}x", "€x"),
        (r"\u8364\par x", "€"),
        (r"\u55357?x", "\ufffdx"),
        (r"\u-3913?x", "\ufffdx"),
    ],
)
def test_unicode_with_its_fallback_comes_once(tmp_path: Path, body: str, expected: str) -> None:
    assert texts(tmp_path, body + r"\par")[0] == expected


def test_undeclared_utf8_is_read_as_what_it_is(tmp_path: Path) -> None:
    body = read(tmp_path, "Größe\\par".encode())
    assert body.blocks[0].text == "Größe"
    assert "undeclared_utf8" in body.warnings


def test_bytes_without_a_character_are_reported(tmp_path: Path) -> None:
    body = read(tmp_path, r"a\'81b\par")
    assert body.blocks[0].text == "a\ufffdb"
    assert "invalid_bytes" in body.warnings


def test_binary_data_are_passed_over_whatever_they_hold(tmp_path: Path) -> None:
    assert texts(tmp_path, rb"a{\pict\bin9 }}\par{{{ }b\par") == ["ab", ""]


# --- destinations ----------------------------------------------------------------------------------------------------


def test_what_is_no_text_is_no_text(tmp_path: Path) -> None:
    body = (
        r"{\colortbl;\red0;}{\stylesheet{\s0 Normal;}}{\*\generator Foo;}{\*\unknown {deep {er}} text}"
        r"{\*\bkmkstart mark}{\xe entry}{\info{\title T}}{\*\listtable{\list{\listlevel{\leveltext .;}}}}seen\par"
    )
    assert texts(tmp_path, body) == ["seen"]


def test_information_of_the_file(tmp_path: Path) -> None:
    body = read(
        tmp_path,
        r"{\info{\title A \'e9}{\author One; Two}{\subject S}{\creatim\yr2020\mo2\dy29\hr14\min3}"
        r"{\revtim\yr2021\mo1\dy2}{\version3}{\edmins5}}x\par",
    )
    assert (body.title, body.authors) == ("A é", ["One", "Two"])
    assert (body.created, body.modified) == ("2020-02-29", "2021-01-02")
    assert body.metadata["subject"] == "S"


@pytest.mark.parametrize(
    ("time", "flagged"), [(r"\yr2021\mo2\dy30", True), (r"\yr110\mo2\dy3", True), (r"\yr0\mo0\dy0", False), ("", False)]
)
def test_impossible_dates_are_null(tmp_path: Path, time: str, flagged: bool) -> None:
    body = read(tmp_path, r"{\info{\creatim" + time + r"}}x\par")
    assert body.created is None
    assert ("bad_date" in body.warnings) is flagged


def test_of_two_spellings_the_unicode_one_is_read(tmp_path: Path) -> None:
    assert read(tmp_path, r"{\info{\upr{\title ?}{\*\ud{\title \u1046?}}}}x\par").title == "Ж"


def test_headings_by_style_name_outline_and_inheritance(tmp_path: Path) -> None:
    sheet = (
        r"{\stylesheet{\ql \snext0 Normal;}{\s1\outlinelevel0 \sbasedon0 Any;}{\s2 heading 2;}{\s3\sbasedon2 Mine;}"
        r"{\s4 Title;}{\*\cs5 heading 3;}{\s6 caption;}}"
    )
    body = read(
        tmp_path,
        sheet + r"\pard\s4 The title\par\pard\s1 One\par\pard\s2 Two\par\pard\s3 Three\par\pard\outlinelevel2 Four\par"
        r"\pard\s1\outlinelevel9 Five\par\pard Six\par\pard\s6 Seven\par",
    )
    assert [(b.kind.value, b.level, b.text) for b in body.blocks] == [
        ("title", None, "The title"),
        ("heading", 1, "One"),
        ("heading", 2, "Two"),
        ("heading", 2, "Three"),
        ("heading", 3, "Four"),
        ("paragraph", None, "Five"),
        ("paragraph", None, "Six"),
        ("caption", None, "Seven"),
    ]
    assert body.title == "The title"


def test_lists_keep_their_markers_and_levels(tmp_path: Path) -> None:
    body = read(
        tmp_path,
        r"{\listtext\pard\plain 1.\tab}\pard\ls1 First\par{\listtext a)\tab}\pard\ls1\ilvl1 Inner\par"
        r"{\pntext\f3\'b7\tab}\pard Old\par\pard Text\par",
        r"\ansi{\fonttbl{\f0 A;}{\f3\fcharset2 Symbol;}}",
    )
    assert [(b.kind.value, b.level, b.marker, b.text) for b in body.blocks] == [
        ("list_item", 1, "1.", "First"),
        ("list_item", 2, "a)", "Inner"),
        ("list_item", 1, "•", "Old"),
        ("paragraph", None, None, "Text"),
    ]


def test_fields_show_their_result_and_links_lead_somewhere(tmp_path: Path) -> None:
    body = read(
        tmp_path,
        r"See {\field{\*\fldinst{HYPERLINK {"
        r'"http://example.org/a"}}{\*\datafield 00}}{\fldrslt{\ul the page}}} and '
        r'{\field{\*\fldinst HYPERLINK \\l "mark"}{\fldrslt there}}, page {\field{\*\fldinst PAGEREF x}{\fldrslt 7}}'
        r'{\field{\*\fldinst SYMBOL 183 \\f "Symbol" \\s 10}{\fldrslt }}'
        r"{\field{\*\fldinst FORMCHECKBOX {\*\formfield{\fftype1\ffres25\ffdefres1}}}{\fldrslt}}"
        r"{\field{\*\fldinst FORMDROPDOWN {\*\formfield{\fftype2\ffres1{\*\ffl red}{\*\ffl blue}}}}{\fldrslt}}\par",
    )
    assert body.blocks[0].text == "See the page and there, page 7•☒blue"
    assert [(link.text, link.target) for link in body.blocks[0].links] == [
        ("the page", "http://example.org/a"),
        ("there", "#mark"),
    ]


def test_headers_and_footers_are_furniture_and_come_once(tmp_path: Path) -> None:
    body = read(
        tmp_path,
        r"{\header Company\par}{\headerl Company\par}{\footer{\field{\*\fldinst PAGE}{\fldrslt 1}}\par}"
        r"{\footerf Page \chpgn\par}Body\par",
    )
    assert kinds(body) == [
        ("page_header", "Company"),
        ("page_number", "1"),
        ("page_footer", "Page"),
        ("paragraph", "Body"),
    ]


def test_notes_and_comments_are_bound_to_their_paragraph(tmp_path: Path) -> None:
    body = read(
        tmp_path,
        r"One{\super\chftn{\footnote\pard{\super\chftn} First note.\par}} goes on.\par "
        r"Two{\super\chftn}{\*\footnote\ftnalt{\super\chftn} An endnote.}\par "
        r"Three{\*\atnid AB}{\*\atnauthor Ann}{\chatn{\*\annotation{\*\atndate 123}\pard Why?\par}}\par",
    )
    assert [(b.kind.value, b.marker, b.text) for b in body.blocks] == [
        ("paragraph", None, "One goes on."),
        ("paragraph", None, "Two"),
        ("paragraph", None, "Three"),
        ("footnote", "1", "First note."),
        ("comment", None, "Ann: Why?"),
        ("footnote", "i", "An endnote."),
    ]
    by_text = {b.text: b for b in body.blocks}
    assert by_text["First note."].ref == by_text["One goes on."].id
    assert by_text["An endnote."].ref == by_text["Two"].id
    assert by_text["Ann: Why?"].ref == by_text["Three"].id


def test_hidden_text_is_marked_and_deleted_text_is_out(tmp_path: Path) -> None:
    body = read(
        tmp_path,
        r"Seen{\v  hidden\v0  again}.{\deleted\revauthdel1  gone} {\revised new}\par"
        r"{\deleted whole\par}\pard{\v all}\par",
    )
    assert [(b.text, b.hidden) for b in body.blocks] == [
        ("Seen again. new", False),
        ("hidden", True),
        ("all", True),
    ]
    assert {"hidden_text", "tracked_changes"} <= set(body.warnings)
    assert {d.what: d.count for d in body.dropped}["deleted_revisions"] == 2
    assert body.metadata["inserted_revisions"] == "1"


def test_pictures_are_figures_with_their_alternative_text(tmp_path: Path) -> None:
    body = read(
        tmp_path,
        r"a{\*\shppict{\pict{\*\picprop{\sp{\sn wzDescription}{\sv A cat}}}\pngblip 00ff}}{\nonshppict{\pict 00}}\par "
        r"b{\shp{\*\shpinst{\sp{\sn pib}{\sv {\pict\pngblip ff}}}{\sp{\sn wzDescription}{\sv A dog}}"
        r"{\sp{\sn other}{\sv noise}}}{\shprslt{\*\do{\dptxbxtext twice}}}}\par",
    )
    assert kinds(body) == [("paragraph", "a"), ("figure", "A cat"), ("paragraph", "b"), ("figure", "A dog")]
    assert body.metadata["pictures"] == "2"


def test_text_boxes_come_once_after_their_paragraph(tmp_path: Path) -> None:
    body = read(
        tmp_path,
        r"Anchor{\shp{\*\shpinst\shpleft1\shptop2{\sp{\sn a}{\sv b}}{\shptxt\pard In the box\par}}"
        r"{\shprslt{\*\do\dptxbx{\dptxbxtext In the box\par}}}} text\par{\*\do\dptxbx{\dptxbxtext Old box\par}}\par",
    )
    assert texts(tmp_path, "x") == ["x"]
    assert [b.text for b in body.blocks] == ["Anchor text", "In the box", "Old box"]


def test_embedded_objects_show_their_result(tmp_path: Path) -> None:
    body = read(tmp_path, r"{\object\objemb{\*\objclass Word}{\*\objdata 0105}{\result {as seen}}}\par")
    assert body.blocks[0].text == "as seen"
    assert "embedded_not_read" in body.warnings


def test_formulas_are_kept_as_a_line(tmp_path: Path) -> None:
    body = read(
        tmp_path,
        r"\pard{\mmath{\*\moMath{\mr\mscr0 E}{\mr =}{\msSup{\me{\mr mc}}{\msup{\mr 2}}}"
        r"{\mf{\mfPr{\mctrlPr x}}{\mnum{\mr a}}{\mden{\mr b}}}}}{\mmathPict{\pict 00}}\par ",
    )
    assert kinds(body) == [("formula", "E=mc^2a/b")]


# --- HTML inside -----------------------------------------------------------------------------------------------------


def test_html_of_a_mail_comes_back_as_html(tmp_path: Path) -> None:
    body = read(
        tmp_path,
        r"{\*\htmltag19 <html>}{\*\htmltag34 <head>}{\*\htmltag241 <style>\par p \{color:red\}\par}"
        r"{\*\htmltag249 </style>}"
        r"{\*\htmltag41 </head>}{\*\htmltag50 <body>}\htmlrtf \lang1033 \htmlrtf0"
        r"{\*\htmltag64 <h1>}\htmlrtf {\b \htmlrtf0 Caf\'e9 & <more>\htmlrtf }\htmlrtf0{\*\htmltag72 </h1>}"
        r"{\*\htmltag64 <p>}Text{\*\htmltag84 &nbsp;}\htmlrtf \'a0\htmlrtf0 and{\*\htmltag84 <a href="
        + '"http://x.org/">}'
        r"\htmlrtf {\field{\*\fldinst{HYPERLINK " + '"http://x.org/"'
        r"}}{\fldrslt\cf1\ul \htmlrtf0 link\htmlrtf }\htmlrtf0\htmlrtf }\htmlrtf0{\*\htmltag92 </a>}{\*\htmltag72 </p>}"
        r"{\*\mhtmltag84 <p>no</p>}{\*\htmltag58 </body>}{\*\htmltag27 </html>}",
        r"\ansi\ansicpg1252\fromhtml1 \deff0{\fonttbl{\f0 Arial;}}",
    )
    assert [(b.kind.value, b.text.replace("\u00a0", " ")) for b in body.blocks] == [
        ("heading", "Café & <more>"),
        ("paragraph", "Text andlink"),
    ]
    assert body.blocks[1].links[0].target == "http://x.org/"
    assert body.metadata["encapsulated"] == "html"


def test_the_canon_says_which_extractor_made_it(tmp_path: Path) -> None:
    body = read(tmp_path, r"x\par")
    assert (body.extractor, body.blocks[0].kind) == ("rtf", BlockKind.PARAGRAPH)
