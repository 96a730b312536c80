"""What a reader sees in a Word document is in the draft once, in order, and as what it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.extract.outcome import Draft
from streams.records import Block, BlockKind, Dropped, Link
from tests.unit.extract.docx_files import STYLES, cell, make, paragraph, read, run, story, table
from tests.unit.extract.docx_files import row as table_row

COMMENT_END = '<w:r><w:commentReference w:id="7"/></w:r>'


def texts(draft: Draft, kind: BlockKind | None = None) -> list[str]:
    return [block.text for block in draft.blocks if kind is None or block.kind is kind]


def only(draft: Draft, kind: BlockKind) -> tuple[int, Block]:
    found = [(at, block) for at, block in enumerate(draft.blocks) if block.kind is kind]
    assert len(found) == 1
    return found[0]


def field_of(code: str, result: str) -> str:
    return (
        '<w:r><w:fldChar w:fldCharType="begin"/></w:r>'
        f"<w:r><w:instrText>{code}</w:instrText></w:r>"
        '<w:r><w:fldChar w:fldCharType="separate"/></w:r>'
        f'{run(result)}<w:r><w:fldChar w:fldCharType="end"/></w:r>'
    )


def text_box(text: str) -> str:
    """A text box as Word writes it: for new readers and, again, for old ones."""
    content = f"<w:txbxContent>{paragraph(text)}</w:txbxContent>"
    return (
        '<w:r><mc:AlternateContent><mc:Choice Requires="wps"><w:drawing><wp:anchor><wp:docPr id="1" name="Box 1"/>'
        f"<a:graphic><a:graphicData><wps:wsp><wps:txbx>{content}</wps:txbx></wps:wsp></a:graphicData></a:graphic>"
        "</wp:anchor></w:drawing></mc:Choice><mc:Fallback><w:pict><v:shape><v:textbox>"
        f"{content}</v:textbox></v:shape></w:pict></mc:Fallback></mc:AlternateContent></w:r>"
    )


def picture(alt: str) -> str:
    return (
        f'<w:r><w:drawing><wp:inline><wp:docPr id="2" name="Picture 1" descr="{alt}"/><a:graphic><a:graphicData>'
        '<pic:pic><pic:nvPicPr><pic:cNvPr id="0" name="x.png"/></pic:nvPicPr></pic:pic>'
        "</a:graphicData></a:graphic></wp:inline></w:drawing></w:r>"
    )


def test_headings_by_name_inheritance_and_outline_level(tmp_path: Path) -> None:
    body = (
        paragraph("Handbook", "Title")
        + paragraph("One", "H1")
        + paragraph("Two", "Own")
        + paragraph("Three", "Section")
        + paragraph("Contents", "TocHead")
        + paragraph("Four", properties='<w:outlineLvl w:val="2"/>')
        + paragraph("Plain one", "H1", '<w:outlineLvl w:val="9"/>')
        + paragraph("Loop", "LoopA")
    )
    draft = read(make(tmp_path / "a", body))
    assert [(block.kind, block.level, block.text) for block in draft.blocks] == [
        (BlockKind.TITLE, None, "Handbook"),
        (BlockKind.HEADING, 1, "One"),
        (BlockKind.HEADING, 1, "Two"),
        (BlockKind.HEADING, 2, "Three"),
        (BlockKind.PARAGRAPH, None, "Contents"),
        (BlockKind.HEADING, 3, "Four"),
        (BlockKind.PARAGRAPH, None, "Plain one"),
        (BlockKind.PARAGRAPH, None, "Loop"),
    ]
    assert draft.title == "Handbook"


def test_heading_without_a_styles_part_by_its_id(tmp_path: Path) -> None:
    draft = read(make(tmp_path / "a", paragraph("Scope", "Heading2"), styles=""))
    assert (draft.blocks[0].kind, draft.blocks[0].level) == (BlockKind.HEADING, 2)


def test_revisions_are_accepted_and_counted(tmp_path: Path) -> None:
    body = paragraph(
        run("The fee is ")
        + f'<w:del w:id="1"><w:r><w:delText>ten</w:delText></w:r></w:del><w:ins w:id="2">{run("twelve")}</w:ins>'
        + run(" euros")
        + f'<w:moveFrom w:id="3">{run(" moved away")}</w:moveFrom>'
        + run(".")
    ) + paragraph(f'<w:moveTo w:id="4">{run("moved here")}</w:moveTo>')
    draft = read(make(tmp_path / "a", body))
    assert texts(draft) == ["The fee is twelve euros.", "moved here"]
    assert draft.warnings == ["tracked_changes"]
    assert draft.dropped == [Dropped(what="deleted_revisions", count=2)]
    assert draft.metadata["inserted_revisions"] == "2"


def test_deleted_paragraph_mark_joins_two_paragraphs(tmp_path: Path) -> None:
    body = (
        paragraph(run("First half, "), properties='<w:rPr><w:del w:id="1"/></w:rPr>')
        + paragraph("second half.", "H1")
        + paragraph('<w:del w:id="2"><w:r><w:delText>gone</w:delText></w:r></w:del>')
        + paragraph("last", properties='<w:rPr><w:del w:id="3"/></w:rPr>')
    )
    draft = read(make(tmp_path / "a", body))
    assert [(block.kind, block.text) for block in draft.blocks] == [
        (BlockKind.HEADING, "First half, second half."),
        (BlockKind.PARAGRAPH, "last"),
    ]


def test_content_controls_around_blocks_runs_and_each_other(tmp_path: Path) -> None:
    inner = f"<w:sdt><w:sdtContent>{run('in the week of the fair')}</w:sdtContent></w:sdt>"
    body = (
        f"<w:sdt><w:sdtPr/><w:sdtContent><w:sdt><w:sdtContent>{paragraph('Key holder')}</w:sdtContent></w:sdt>"
        f"</w:sdtContent></w:sdt>{paragraph(run('Checked ') + inner + run('.'))}"
    )
    assert texts(read(make(tmp_path / "a", body))) == ["Key holder", "Checked in the week of the fair."]


def test_text_box_once_and_where_it_is_anchored(tmp_path: Path) -> None:
    body = paragraph(text_box("Above") + run("Middle") + text_box("Below"))
    assert texts(read(make(tmp_path / "a", body))) == ["Above", "Middle", "Below"]


def test_unknown_alternative_takes_the_fallback(tmp_path: Path) -> None:
    alternative = (
        f'<mc:AlternateContent><mc:Choice Requires="future">{run("new")}</mc:Choice>'
        f"<mc:Fallback>{run('old')}</mc:Fallback></mc:AlternateContent>"
    )
    assert texts(read(make(tmp_path / "a", paragraph(alternative)))) == ["old"]


def test_links_by_relationship_and_by_field(tmp_path: Path) -> None:
    body = paragraph(
        run("See ")
        + f'<w:hyperlink r:id="rId9" w:anchor="fees">{run("the list")}</w:hyperlink>'
        + run(" and ")
        + field_of(' HYPERLINK "https://example.org/b" ', "the other")
        + run(".")
    )
    draft = read(make(tmp_path / "a", body, related={"rId9": ("hyperlink", "https://example.org/a")}))
    assert draft.blocks[0].text == "See the list and the other."
    assert draft.blocks[0].links == [
        Link(text="the list", target="https://example.org/a#fees"),
        Link(text="the other", target="https://example.org/b"),
    ]


def test_field_codes_stay_out_and_an_unfinished_field_swallows_one_paragraph_at_most(tmp_path: Path) -> None:
    body = (
        paragraph(run("On page ") + field_of(" PAGEREF _x ", "12"))
        + paragraph(f'<w:fldSimple w:instr=" AUTHOR ">{run("Ada Berg")}</w:fldSimple>')
        + paragraph('<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>IF broken</w:instrText></w:r>')
        + paragraph("The rest is still here.")
    )
    assert texts(read(make(tmp_path / "a", body))) == ["On page 12", "Ada Berg", "The rest is still here."]


def test_tabs_breaks_hyphens_and_symbols(tmp_path: Path) -> None:
    body = paragraph(
        "<w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t><w:noBreakHyphen/><w:t>d</w:t><w:softHyphen/>"
        '<w:t>e\u00adf</w:t><w:sym w:font="Symbol" w:char="F061"/><w:sym w:font="Wingdings" w:char="F0FC"/>'
        '<w:sym w:font="Wingdings" w:char="F0B7"/></w:r>' + run("\uf0ae", '<w:rFonts w:ascii="Symbol"/>')
    )
    draft = read(make(tmp_path / "a", body))
    assert texts(draft) == ["a\tb\nc-defα✓→"]
    assert draft.dropped == [Dropped(what="unmapped_symbols", count=1)]


def test_hidden_text_is_kept_apart_and_said(tmp_path: Path) -> None:
    body = paragraph(run("Seen") + run(" not seen", "<w:vanish/>")) + paragraph("ghost", "Ghost")
    draft = read(make(tmp_path / "a", body))
    assert [(block.text, block.hidden) for block in draft.blocks] == [
        ("Seen", False),
        ("not seen", True),
        ("ghost", True),
    ]
    assert "hidden_text" in draft.warnings
    assert draft.metadata["hidden_characters"] == "13"


def test_notes_are_bound_and_never_in_the_sentence(tmp_path: Path) -> None:
    length = paragraph(run("9 m") + '<w:r><w:footnoteReference w:id="4"/></w:r>')
    body = (
        paragraph("Bells", "H1")
        + paragraph(
            run("Rung at noon")
            + '<w:r><w:footnoteReference w:id="2"/></w:r>'
            + run(" and at dusk")
            + '<w:r><w:endnoteReference w:id="2"/></w:r>'
            + '<w:r><w:footnoteReference w:id="3" w:customMarkFollows="1"/><w:t>*</w:t></w:r>'
            + run(".")
        )
        + paragraph("Ropes", "H1")
        + table(table_row("Length", f"<w:tc>{length}</w:tc>"))
    )
    separator = '<w:footnote w:type="separator" w:id="0"><w:p/></w:footnote>'
    footnotes = separator + "".join(
        f'<w:footnote w:id="{key}">{paragraph("<w:r><w:footnoteRef/></w:r>" + run(f" note {key}"))}</w:footnote>'
        for key in (2, 3, 4, 9)
    )
    endnotes = f'<w:endnote w:id="2">{paragraph("end note")}</w:endnote>'
    draft = read(
        make(
            tmp_path / "a",
            body,
            parts={
                "word/footnotes.xml": story("footnotes", footnotes),
                "word/endnotes.xml": story("endnotes", endnotes),
            },
            related={"f": ("footnotes", "footnotes.xml"), "e": ("endnotes", "endnotes.xml")},
        )
    )
    assert texts(draft)[1] == "Rung at noon and at dusk."
    notes = {
        block.text: (block.marker, draft.blocks[draft.refs[at]].text)
        for at, block in enumerate(draft.blocks)
        if block.kind is BlockKind.FOOTNOTE
    }
    assert notes == {
        "note 2": ("1", "Rung at noon and at dusk."),
        "note 3": ("*", "Rung at noon and at dusk."),
        "note 4": ("2", "Length\t9 m"),
        "end note": ("i", "Rung at noon and at dusk."),
    }
    kinds = [block.kind for block in draft.blocks]
    assert kinds[2:5] == [BlockKind.FOOTNOTE, BlockKind.FOOTNOTE, BlockKind.HEADING], "notes close their section"
    assert draft.dropped == [Dropped(what="unreferenced_notes", count=1)]


def test_comments_are_comments(tmp_path: Path) -> None:
    comments = (
        f'<w:comment w:id="7" w:author="Ada">{paragraph("Really?")}</w:comment>'
        f'<w:comment w:id="8">{paragraph("Lost anchor")}</w:comment>'
    )
    draft = read(
        make(
            tmp_path / "a",
            paragraph(run("Twice a year") + COMMENT_END),
            parts={"word/comments.xml": story("comments", comments)},
            related={"c": ("comments", "comments.xml")},
        )
    )
    assert [(block.kind, block.text) for block in draft.blocks] == [
        (BlockKind.PARAGRAPH, "Twice a year"),
        (BlockKind.COMMENT, "Ada: Really?"),
        (BlockKind.COMMENT, "Lost anchor"),
    ]
    assert draft.refs == {1: 0}


def test_headers_and_footers_of_all_sections_once(tmp_path: Path) -> None:
    section = (
        '<w:sectPr><w:headerReference w:type="default" r:id="h1"/><w:headerReference w:type="first" r:id="h2"/>'
        '<w:footerReference w:type="default" r:id="f1"/></w:sectPr>'
    )
    body = paragraph("One", properties=section) + paragraph("Two") + section.replace('r:id="h2"', 'r:id="h3"')
    draft = read(
        make(
            tmp_path / "a",
            body,
            parts={
                "word/h1.xml": story("hdr", paragraph("Minutes")),
                "word/h2.xml": story("hdr", paragraph(text_box("Draft"))),
                "word/h3.xml": story("hdr", paragraph("Minutes")),
                "word/f1.xml": story("ftr", paragraph(run("- ") + field_of(" PAGE ", "3") + run(" -"))),
            },
            related={
                "h1": ("header", "h1.xml"),
                "h2": ("header", "h2.xml"),
                "h3": ("header", "h3.xml"),
                "f1": ("footer", "f1.xml"),
            },
        )
    )
    assert [(block.kind, block.text) for block in draft.blocks] == [
        (BlockKind.PAGE_HEADER, "Minutes"),
        (BlockKind.PAGE_HEADER, "Draft"),
        (BlockKind.PARAGRAPH, "One"),
        (BlockKind.PARAGRAPH, "Two"),
        (BlockKind.PAGE_NUMBER, "- 3 -"),
    ]


def test_figures_with_alternative_text_and_captions_on_the_right_side(tmp_path: Path) -> None:
    caption = '<w:r><w:t xml:space="preserve">{} </w:t></w:r>'
    body = (
        paragraph(picture("A heron"))
        + paragraph(caption.format("Figure") + field_of(" SEQ Figure ", "1") + run(": The heron"), "Caption")
        + paragraph(caption.format("Table") + field_of(" SEQ Table ", "1.2") + run(": Counts"), "Caption")
        + table(table_row("Bird", "Count"), table_row("Heron", "3"))
    )
    draft = read(make(tmp_path / "a", body))
    assert [block.kind for block in draft.blocks] == [
        BlockKind.FIGURE,
        BlockKind.CAPTION,
        BlockKind.CAPTION,
        BlockKind.TABLE,
    ]
    assert draft.blocks[0].text == "A heron"
    assert draft.refs == {1: 0, 2: 3}
    assert (draft.tables[0].number, draft.tables[0].caption) == ("1.2", "Table 1.2: Counts")


def test_equations_alone_and_in_a_sentence(tmp_path: Path) -> None:
    half = (
        "<m:oMath><m:f><m:num><m:r><m:t>a+b</m:t></m:r></m:num><m:den><m:r><m:t>2</m:t></m:r></m:den></m:f></m:oMath>"
    )
    power = (
        "<m:oMath><m:sSup><m:e><m:r><m:t>x</m:t></m:r></m:e><m:sup><m:r><m:t>2</m:t></m:r></m:sup></m:sSup>"
        "<m:r><m:t>=</m:t></m:r><m:rad><m:deg/><m:e><m:r><m:t>y</m:t></m:r></m:e></m:rad></m:oMath>"
    )
    body = paragraph(f"<m:oMathPara>{half}</m:oMathPara>") + paragraph(run("where ") + power + run(" holds"))
    draft = read(make(tmp_path / "a", body))
    assert [(block.kind, block.text) for block in draft.blocks] == [
        (BlockKind.FORMULA, "(a+b)/2"),
        (BlockKind.PARAGRAPH, "where x^2=√(y) holds"),
    ]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("chunk.txt", "First part.\r\n\r\nSecond part."),
        (
            "chunk.mht",
            "MIME-Version: 1.0\r\nContent-Type: multipart/related; boundary=b\r\n\r\n--b\r\n"
            "Content-Type: text/plain; charset=utf-8\r\n\r\nFirst part.\r\n\r\nSecond part.\r\n--b--\r\n",
        ),
    ],
)
def test_imported_chunk_is_read_in_its_place(tmp_path: Path, name: str, content: str) -> None:
    body = paragraph("Before") + '<w:altChunk r:id="x"/>' + paragraph("After")
    path = make(tmp_path / "a", body, parts={f"word/{name}": content}, related={"x": ("aFChunk", name)})
    assert texts(read(path)) == ["Before", "First part.", "Second part.", "After"]


def test_imported_web_page_keeps_its_structure_and_encoding(tmp_path: Path) -> None:
    page = "<html><body><h1>Prix</h1><p>Le café coûte 2 €.</p></body></html>".encode("cp1252")
    mhtml = (
        b"MIME-Version: 1.0\r\nContent-Type: multipart/related; boundary=b\r\n\r\n--b\r\n"
        b"Content-Type: text/html; charset=windows-1252\r\nContent-Transfer-Encoding: 8bit\r\n\r\n"
        + page
        + b"\r\n--b--\r\n"
    )
    body = '<w:altChunk r:id="x"/>'
    path = make(tmp_path / "a", body, parts={"word/x.mht": mhtml}, related={"x": ("aFChunk", "x.mht")})
    draft = read(path)
    assert [(block.kind, block.text) for block in draft.blocks] == [
        (BlockKind.HEADING, "Prix"),
        (BlockKind.PARAGRAPH, "Le café coûte 2 €."),
    ]
    assert "altchunk_not_read" not in draft.warnings


def test_imported_document_brings_its_tables_and_notes(tmp_path: Path) -> None:
    inner = make(tmp_path / "inner", table(table_row("a", "b"), table_row("c", "d"))).read_bytes()
    body = table(table_row("1", "2"), table_row("3", "4")) + '<w:altChunk r:id="x"/>'
    parts: dict[str, str | bytes] = {"word/inner.docx": inner}
    draft = read(make(tmp_path / "a", body, parts=parts, related={"x": ("aFChunk", "inner.docx")}))
    assert [(block.text, block.table) for block in draft.blocks] == [("1\t2\n3\t4", 0), ("a\tb\nc\td", 1)]
    assert len(draft.tables) == 2


def test_an_unreadable_chunk_is_said_and_embedded_files_are_members_elsewhere(tmp_path: Path) -> None:
    path = make(
        tmp_path / "a",
        paragraph("Text") + '<w:altChunk r:id="x"/><w:altChunk r:id="missing"/>',
        parts={"word/x.rtf": "{\\rtf1 x}", "word/embeddings/sheet.xlsx": b"PK"},
        related={"x": ("aFChunk", "x.rtf"), "p": ("package", "embeddings/sheet.xlsx")},
    )
    draft = read(path)
    assert draft.warnings == ["altchunk_not_read"]
    assert draft.dropped == []


def test_a_chart_is_a_figure_and_a_table_of_its_values(tmp_path: Path) -> None:
    space = 'xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart"'
    drawing = f'<w:r><w:drawing><c:chart {space} r:id="c"/></w:drawing></w:r>'
    points = "<c:numCache><c:formatCode>0.0</c:formatCode><c:pt idx='0'><c:v>4</c:v></c:pt></c:numCache>"
    series = f"<c:ser><c:tx><c:v>Crew</c:v></c:tx><c:val><c:numRef>{points}</c:numRef></c:val></c:ser>"
    area = f"<c:plotArea><c:barChart>{series}</c:barChart></c:plotArea>"
    chart = f"<c:chartSpace {space}><c:chart>{area}</c:chart></c:chartSpace>"
    body = paragraph(drawing) + table(table_row(cell(paragraph(drawing)), "x"))
    parts: dict[str, str | bytes] = {"word/charts/c.xml": chart}
    draft = read(make(tmp_path / "a", body, parts=parts, related={"c": ("chart", "charts/c.xml")}))
    kinds = [BlockKind.FIGURE, BlockKind.TABLE, BlockKind.TABLE, BlockKind.FIGURE, BlockKind.TABLE]
    assert [block.kind for block in draft.blocks] == kinds
    assert [[c.text for c in draft.tables[at].cells] for at in (0, 2)] == [["", "Crew", "4.0"]] * 2
    assert draft.refs == {1: 0, 3: 2, 4: 2}
    assert draft.warnings == []


def test_core_properties(tmp_path: Path) -> None:
    core = (
        "<dc:title>Rope rules</dc:title><dc:creator>Ada Berg; Bo Lind</dc:creator><dc:language>de-AT</dc:language>"
        "<dcterms:created>2024-02-30T10:00:00Z</dcterms:created>"
        "<dcterms:modified>2024-03-01T10:00:00+02:00</dcterms:modified><cp:keywords>rope, bell</cp:keywords>"
    )
    draft = read(make(tmp_path / "a", paragraph("Text"), core=core))
    assert (draft.title, draft.authors, draft.language) == ("Rope rules", ["Ada Berg", "Bo Lind"], "de")
    assert (draft.created, draft.modified) == (None, "2024-03-01T08:00:00Z")
    assert draft.warnings == ["bad_date"]
    assert draft.metadata == {"keywords": "rope, bell"}


def test_strict_dialect(tmp_path: Path) -> None:
    body = f'<w:document xmlns:w="http://purl.oclc.org/ooxml/wordprocessingml/main"><w:body>{paragraph("Strict", "H1")}'
    parts: dict[str, str | bytes] = {
        "word/document.xml": body + "</w:body></w:document>",
        "word/styles.xml": f'<w:styles xmlns:w="http://purl.oclc.org/ooxml/wordprocessingml/main">{STYLES}</w:styles>',
    }
    draft = read(make(tmp_path / "a", "", parts=parts))
    assert [(block.kind, block.level, block.text) for block in draft.blocks] == [(BlockKind.HEADING, 1, "Strict")]


def test_same_bytes_give_the_same_draft(tmp_path: Path) -> None:
    path = make(tmp_path / "a", paragraph("One", "H1") + table(table_row("a", "b"), table_row("c", "d")))
    assert read(path) == read(path)


def test_a_drop_capital_is_the_beginning_of_its_word(tmp_path: Path) -> None:
    frame = '<w:framePr w:dropCap="drop" w:lines="3"/>'
    body = (
        paragraph("O", properties=frame)
        + paragraph("nce there was a council.")
        + table(table_row(cell(paragraph("T", properties=frame) + paragraph("he cell")), "b"))
        + paragraph("Aside", properties='<w:framePr w:w="900"/>')
        + paragraph("End", properties=frame)
    )
    assert [block.text for block in read(make(tmp_path / "a", body)).blocks] == [
        "Once there was a council.",
        "The cell\tb",
        "Aside",
        "End",
    ]
