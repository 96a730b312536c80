"""Presentations: what stands on slides, in the order in which it is read, and what hangs on them."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.extract.finish import body_text, finish
from streams.extract.registry import plan
from streams.records import BlockKind, Detection, Dropped, Link
from tests.unit.extract.pptx_files import (
    EMU,
    MEDIA_TYPE,
    NAMESPACES,
    Slide,
    cell,
    frame,
    group,
    make,
    paragraph,
    picture,
    read,
    run,
    shape,
    texts,
    transform,
)

TITLE = shape("The tram depot", (50, 20, 600, 60), "title")
BULLET = '<a:buFont typeface="Arial"/><a:buChar char="•"/>'


def test_a_slide_is_a_page_and_a_section(tmp_path: Path) -> None:
    draft = read(make(tmp_path / "a", shape("Below", (50, 200, 100, 40)) + TITLE, shape("Second", None, "ctrTitle")))
    assert [(b.kind, b.text, b.page, b.level) for b in draft.blocks] == [
        (BlockKind.HEADING, "The tram depot", 1, 1),
        (BlockKind.PARAGRAPH, "Below", 1, None),
        (BlockKind.HEADING, "Second", 2, 1),
    ]
    assert draft.blocks[0].bbox == (50.0, 20.0, 650.0, 80.0)
    assert [(p.number, p.width, p.height, p.characters) for p in draft.pages] == [(1, 720, 540, 19), (2, 720, 540, 6)]
    assert (draft.page_count, draft.title, draft.warnings) == (2, "The tram depot", [])


def test_shapes_are_read_as_they_stand(tmp_path: Path) -> None:
    slide = shape("last", (50, 400, 300, 40)) + shape("right", (400, 102, 200, 40)) + shape("left", (50, 100, 200, 40))
    assert texts(read(make(tmp_path / "a", slide + TITLE))) == ["The tram depot", "left", "right", "last"]


def test_groups_have_coordinates_of_their_own(tmp_path: Path) -> None:
    """The inner group maps 0..1000 on 100 points, the outer one doubles: the shape stands at 200."""
    scale = f'<a:chOff x="0" y="0"/><a:chExt cx="{1000 * EMU}" cy="{1000 * EMU}"/>'
    inner = group(shape("inside", (500, 500, 100, 100)), place=transform((0, 0, 100, 100), scale))
    double = f'<a:chOff x="0" y="0"/><a:chExt cx="{100 * EMU}" cy="{100 * EMU}"/>'
    outer = group(inner, place=transform((100, 100, 200, 200), double))
    draft = read(make(tmp_path / "a", TITLE + shape("after", (210, 300, 50, 20)) + outer))
    assert texts(draft) == ["The tram depot", "inside", "after"]
    assert draft.blocks[1].bbox == (200.0, 200.0, 220.0, 220.0)


def test_a_placeholder_stands_where_the_layout_has_it_and_its_prompt_is_no_text(tmp_path: Path) -> None:
    layout = shape("Click to edit", (300, 250, 200, 50), "body:7") + shape("Prompt", (10, 10, 700, 40), "title")
    master = shape("Master prompt", (0, 400, 100, 100), "body")
    slide = shape("low", (50, 320, 100, 20)) + shape("by layout", None, "body:7") + shape("", None, "title")
    draft = read(make(tmp_path / "a", slide, layout=layout, master=master))
    assert [(b.text, b.bbox) for b in draft.blocks] == [
        ("Slide 1", None),
        ("by layout", (300, 250, 500, 300)),
        ("low", (50, 320, 150, 340)),
    ]
    assert draft.title is None  # "Slide 1" is PowerPoint's name for it


def test_text_of_the_master_is_told_once_as_furniture(tmp_path: Path) -> None:
    master = shape("Depot Ltd, internal", (0, 500, 100, 20)) + shape("1", None, "sldNum")
    draft = read(make(tmp_path / "a", TITLE, shape("Two", None, "title"), master=master))
    assert [b.text for b in draft.blocks if b.kind is BlockKind.BOILERPLATE] == ["Depot Ltd, internal"]
    draft = read(make(tmp_path / "b", Slide(TITLE, 'showMasterSp="0"'), master=master))
    assert texts(draft) == ["The tram depot"]


def test_bullets_and_numbers_come_from_four_levels_of_style(tmp_path: Path) -> None:
    numbers = '<a:buAutoNum type="arabicPeriod"/>'
    layout = shape("x", (0, 100, 300, 300), "body:1", list_style=f"<a:lvl1pPr>{numbers}</a:lvl1pPr>")
    styles = f'<p:bodyStyle><a:lvl1pPr>{BULLET}</a:lvl1pPr><a:lvl2pPr><a:buChar char="–"/></a:lvl2pPr></p:bodyStyle>'
    content = (
        paragraph("one") + paragraph("deeper", level=1) + paragraph("two") + paragraph("plain", "<a:buNone/>")
        + paragraph("again one") + paragraph("roman", '<a:buAutoNum type="romanUcParenBoth" startAt="4"/>')
    )  # fmt: skip
    draft = read(make(tmp_path / "a", TITLE + shape(content, None, "body:1"), layout=layout, text_styles=styles))
    assert [(b.kind, b.marker, b.level, b.text) for b in draft.blocks[1:]] == [
        (BlockKind.LIST_ITEM, "1.", 1, "one"),
        (BlockKind.LIST_ITEM, "–", 2, "deeper"),
        (BlockKind.LIST_ITEM, "2.", 1, "two"),
        (BlockKind.PARAGRAPH, None, None, "plain"),
        (BlockKind.LIST_ITEM, "1.", 1, "again one"),
        (BlockKind.LIST_ITEM, "(IV)", 1, "roman"),
    ]


def test_runs_breaks_fields_and_links(tmp_path: Path) -> None:
    content = (
        "<a:p>" + run("See ") + run("the plan", '<a:hlinkClick r:id="h"/>') + "<a:br/>" + run("line_x000B_three")
        + '<a:fld type="slidenum"><a:t>99</a:t></a:fld>' + run(" and ", "") + run("two", '<a:hlinkClick r:id="j"/>')
        + "</a:p>"
    )  # fmt: skip
    links = {"h": ("hyperlink", "https://depot.example/plan"), "j": ("slide", "s2.xml")}
    slide = Slide(TITLE + shape(content, (50, 100, 300, 40)), related=links)
    draft = read(make(tmp_path / "a", slide, shape("Second", None, "title"), attributes='firstSlideNum="5"'))
    assert draft.blocks[1].text == "See the plan\nline\nthree5 and two"
    assert draft.blocks[1].links == [
        Link(text="the plan", target="https://depot.example/plan"),
        Link(text="two", target="#s2"),
    ]


def test_footers_dates_and_numbers_are_furniture(tmp_path: Path) -> None:
    number = shape('<a:p><a:fld type="slidenum"><a:t>3</a:t></a:fld></a:p>', (0, 500, 50, 20), "sldNum")
    slide = TITLE + shape("Internal", (100, 500, 50, 20), "ftr") + number + shape("May 2024", (300, 500, 50, 20), "dt")
    draft = read(make(tmp_path / "a", slide))
    assert [(b.kind, b.text) for b in draft.blocks[1:]] == [
        (BlockKind.PAGE_NUMBER, "1"),
        (BlockKind.PAGE_FOOTER, "Internal"),
        (BlockKind.PAGE_FOOTER, "May 2024"),
    ]


def test_tables_have_spans_and_a_header_where_the_file_says_so(tmp_path: Path) -> None:
    first = cell("Crew", 'gridSpan="2"') + cell("", 'hMerge="1"') + cell("People", 'rowSpan="2"')
    second = cell("Wire") + cell("Track") + cell("covered", 'vMerge="1"')
    third = cell("a") + cell("b") + cell("9")
    rows = "".join(f"<a:tr>{row}</a:tr>" for row in (first, second, third))
    slide = TITLE + frame(f'<a:tbl><a:tblPr firstRow="1" firstCol="1"/>{rows}</a:tbl>', (50, 100, 300, 100))
    draft = read(make(tmp_path / "a", slide))
    table = draft.tables[0]
    assert (table.n_rows, table.n_cols, table.header_rows, table.header_cols, table.pages) == (3, 3, 2, 1, [1])
    assert [(c.row, c.col, c.row_span, c.col_span, c.text) for c in table.cells][:3] == [
        (0, 0, 1, 2, "Crew"),
        (0, 2, 2, 1, "People"),
        (1, 0, 1, 1, "Wire"),
    ]
    assert draft.blocks[1].kind is BlockKind.TABLE
    assert draft.blocks[1].bbox == (50.0, 100.0, 350.0, 200.0)
    assert draft.dropped == [Dropped(what="covered_cell_text", count=1)]


def test_notes_belong_to_their_slide(tmp_path: Path) -> None:
    notes = shape("", None, "sldImg") + shape(paragraph("Speak slowly.") + paragraph("Pause.", BULLET), None, "body:1")
    notes += shape("Confidential", None, "hdr") + shape("4", None, "sldNum")
    draft = read(make(tmp_path / "a", Slide(TITLE, notes=notes), Slide(TITLE, notes=notes)))
    found = [at for at, block in enumerate(draft.blocks) if block.kind is BlockKind.FOOTNOTE]
    assert [draft.blocks[at].text for at in found] == ["Speak slowly.\n• Pause."] * 2
    assert [(draft.blocks[at].marker, draft.blocks[at].page) for at in found] == [("Notes", 1), ("Notes", 2)]
    assert [draft.blocks[draft.refs[at]].kind for at in found] == [BlockKind.HEADING] * 2
    assert [b.text for b in draft.blocks if b.kind is BlockKind.PAGE_HEADER] == ["Confidential"]


def test_hidden_slides_and_shapes_are_marked(tmp_path: Path) -> None:
    slide = TITLE + shape("unseen", (50, 100, 90, 20), properties='hidden="1"') + shape("beside", (900, 300, 90, 20))
    draft = read(make(tmp_path / "a", slide, Slide(shape("Backup", None, "title"), 'show="0"')))
    assert [(b.text, b.hidden) for b in draft.blocks] == [
        ("The tram depot", False),
        ("unseen", True),
        ("beside", True),
        ("Backup", False),
        ("Hidden slide", False),
    ]
    assert draft.blocks[4].kind is BlockKind.METADATA
    assert draft.refs == {4: 3}
    assert draft.warnings == ["hidden_slides", "hidden_text", "off_slide_text"]
    assert draft.metadata["hidden_slides"] == "2"


def test_a_slide_without_words_gets_no_heading(tmp_path: Path) -> None:
    """Else a deck of scanned pictures would look as if it said something."""
    draft = read(make(tmp_path / "a", picture((0, 0, 700, 500)), TITLE))
    assert [(b.kind, b.text, b.page) for b in draft.blocks] == [
        (BlockKind.FIGURE, "", 1),
        (BlockKind.HEADING, "The tram depot", 2),
    ]
    assert draft.pages[0].characters == 0


def test_pictures_have_alternative_texts_and_media_are_counted(tmp_path: Path) -> None:
    described = picture((50, 100, 90, 90), 'descr="A yellow tram"')
    film = picture((50, 300, 90, 90), media='<a:videoFile r:link="v"/>')
    decorative = (
        '<p:pic><p:nvPicPr><p:cNvPr id="1" name="x"><a:extLst><a:ext uri="u"><adec:decorative '
        'xmlns:adec="http://schemas.microsoft.com/office/drawing/2017/decorative" val="1"/></a:ext></a:extLst>'
        "</p:cNvPr><p:cNvPicPr/><p:nvPr/></p:nvPicPr><p:spPr/></p:pic>"
    )
    draft = read(make(tmp_path / "a", TITLE + described + film + decorative))
    assert [(b.kind, b.text) for b in draft.blocks[1:]] == [
        (BlockKind.FIGURE, "A yellow tram"),
        (BlockKind.FIGURE, ""),
    ]
    assert draft.dropped == [Dropped(what="decorative_images", count=1), Dropped(what="media", count=1)]


def test_smart_art_is_a_list_with_levels(tmp_path: Path) -> None:
    def point(name: str, text: str, kind: str = "node") -> str:
        return f'<dgm:pt modelId="{name}" type="{kind}"><dgm:t>{paragraph(text)}</dgm:t></dgm:pt>'

    links = [("r", "b", 1), ("r", "a", 0), ("a", "a1", 0), ("a1", "a", 0)]  # the last one closes a circle
    connections = "".join(f'<dgm:cxn srcId="{one}" destId="{two}" srcOrd="{at}"/>' for one, two, at in links)
    data = (
        f"<dgm:dataModel {NAMESPACES}><dgm:ptLst>{point('r', 'not shown', 'doc')}{point('b', 'Second')}"
        f"{point('a', 'First')}{point('a1', 'Below first')}{point('lost', 'Alone')}{point('t', 'no', 'parTrans')}"
        f"</dgm:ptLst><dgm:cxnLst>{connections}</dgm:cxnLst></dgm:dataModel>"
    )
    slide = Slide(
        TITLE + frame('<dgm:relIds r:dm="d"/>', (50, 100, 90, 90)), related={"d": ("diagramData", "../diagrams/d.xml")}
    )
    draft = read(make(tmp_path / "a", slide, parts={"ppt/diagrams/d.xml": data}))
    assert [(b.level, b.text) for b in draft.blocks if b.kind is BlockKind.LIST_ITEM] == [
        (1, "First"),
        (2, "Below first"),
        (1, "Second"),
        (1, "Alone"),
    ]


def test_comments_of_both_kinds(tmp_path: Path) -> None:
    modern = (
        '<p188:cmLst xmlns:p188="http://schemas.microsoft.com/office/powerpoint/2018/8/main" '
        f'{NAMESPACES}><p188:cm authorId="{{A}}"><p188:txBody><a:bodyPr/>{paragraph("Too long")}</p188:txBody>'
        f'<p188:replyLst><p188:reply authorId="{{B}}"><p188:txBody>{paragraph("Cut it")}</p188:txBody></p188:reply>'
        "</p188:replyLst></p188:cm></p188:cmLst>"
    )
    authors = (
        '<p188:authorLst xmlns:p188="http://schemas.microsoft.com/office/powerpoint/2018/8/main">'
        '<p188:author id="{A}" name="Ada"/><p188:author id="{B}" name="Bo"/></p188:authorLst>'
    )
    old = f'<p:cmLst {NAMESPACES}><p:cm authorId="0"><p:text>Which year?</p:text></p:cm></p:cmLst>'
    parts: dict[str, str | bytes] = {
        "ppt/comments/c.xml": modern,
        "ppt/comments/d.xml": old,
        "ppt/authors.xml": authors,
        "ppt/commentAuthors.xml": f'<p:cmAuthorLst {NAMESPACES}><p:cmAuthor id="0" name="Cy"/></p:cmAuthorLst>',
    }
    slide = Slide(TITLE, related={"d": ("comments", "../comments/d.xml"), "c": ("comments", "../comments/c.xml")})
    related = {"a": ("authors", "authors.xml"), "b": ("commentAuthors", "commentAuthors.xml")}
    draft = read(make(tmp_path / "a", slide, parts=parts, related=related))
    assert [(b.kind, b.text) for b in draft.blocks[1:]] == [
        (BlockKind.COMMENT, "Cy: Which year?"),
        (BlockKind.COMMENT, "Ada: Too long"),
        (BlockKind.COMMENT, "Bo: Cut it"),
    ]
    assert draft.refs == {1: 0, 2: 0, 3: 0}


def test_formulas_and_sections_of_the_presentation(tmp_path: Path) -> None:
    formula = (
        "<a:p><a14:m><m:oMath><m:sSup><m:e><m:r><m:t>x</m:t></m:r></m:e><m:sup><m:r><m:t>2</m:t></m:r></m:sup>"
        "</m:sSup></m:oMath></a14:m></a:p>"
    )
    alternate = (
        f'<mc:AlternateContent><mc:Choice Requires="a14">{shape(formula, (50, 100, 90, 20))}</mc:Choice>'
        f"<mc:Fallback>{picture((50, 100, 90, 20))}</mc:Fallback></mc:AlternateContent>"
    )
    sections = (
        '<p:extLst><p:ext uri="u"><p14:sectionLst><p14:section name="Default Section"><p14:sldIdLst>'
        '<p14:sldId id="256"/></p14:sldIdLst></p14:section><p14:section name="Costs"><p14:sldIdLst>'
        '<p14:sldId id="257"/></p14:sldIdLst></p14:section></p14:sectionLst></p:ext></p:extLst>'
    )
    draft = read(make(tmp_path / "a", TITLE + alternate, shape("Two", None, "title"), presentation=sections))
    assert [(b.kind, b.level, b.text) for b in draft.blocks] == [
        (BlockKind.HEADING, 2, "The tram depot"),
        (BlockKind.FORMULA, None, "x^2"),
        (BlockKind.HEADING, 1, "Costs"),
        (BlockKind.HEADING, 2, "Two"),
    ]


def test_the_page_limit_is_said(tmp_path: Path) -> None:
    draft = read(make(tmp_path / "a", *[TITLE] * 5), max_pages=2)
    assert (len(draft.pages), draft.warnings) == (2, ["page_limit"])
    assert draft.dropped == [Dropped(what="slides_over_limit", count=3)]


@pytest.mark.parametrize(
    "media_type",
    [
        MEDIA_TYPE,
        "application/vnd.openxmlformats-officedocument.presentationml.slideshow",
        "application/vnd.ms-powerpoint.presentation.macroEnabled.12",
    ],
)
def test_the_canon_of_each_kind_is_the_same_twice(tmp_path: Path, media_type: str) -> None:
    path = make(tmp_path / "a", TITLE + shape("Three tracks are renewed.", (50, 200, 100, 40)))
    detection = Detection(media_type=media_type, detected_by="test")
    spec = plan(detection)
    assert spec is not None
    assert spec.name == "pptx"
    bodies = [finish(read(path), content_hash="0" * 64, detection=detection, spec=spec) for _ in range(2)]
    assert bodies[0] == bodies[1]
    assert body_text(bodies[0]) == "The tram depot\n\nThree tracks are renewed."
    assert bodies[0].blocks[1].section == ["The tram depot"]
