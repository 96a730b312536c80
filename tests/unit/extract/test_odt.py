"""OpenDocument texts: what is shown, with its numbers, and what hides, told apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.errors import DocumentError
from streams.extract import grids
from streams.extract.finish import body_text, finish
from streams.extract.registry import plan
from streams.records import BlockKind, Detection, Dropped, Link
from tests.unit.extract.odf_files import (
    BULLETS,
    NAMESPACES,
    NUMBERS,
    TEXT,
    cell,
    flat,
    h,
    items,
    make,
    p,
    read,
    row,
    style,
    table,
    texts,
)

HIDDEN = style("gone", '<style:text-properties text:display="none"/>', "text")


def test_headings_have_levels_and_the_numbers_of_the_outline(tmp_path: Path) -> None:
    outline = (
        '<text:outline-style style:name="Outline">'
        '<text:outline-level-style text:level="1" style:num-format="1" style:num-suffix="."/>'
        '<text:outline-level-style text:level="2" style:num-format="1" text:display-levels="2"/></text:outline-style>'
    )
    body = (
        h("Depot")
        + h("Track", 2)
        + h("Wire", 2)
        + h("Crew")
        + h("No number", 1, 'text:is-list-header="true"')
        + h("Shift", 2)
    )
    draft = read(make(tmp_path / "a", body, styles=outline))
    assert [(b.kind, b.level, b.marker, b.text) for b in draft.blocks] == [
        (BlockKind.HEADING, 1, "1.", "Depot"),
        (BlockKind.HEADING, 2, "1.1", "Track"),
        (BlockKind.HEADING, 2, "1.2", "Wire"),
        (BlockKind.HEADING, 1, "2.", "Crew"),
        (BlockKind.HEADING, 1, None, "No number"),
        (BlockKind.HEADING, 2, "2.1", "Shift"),
    ]


def test_lists_count_as_they_are_shown(tmp_path: Path) -> None:
    named = 'text:style-name="N"'
    second = p("two") + p("more of two") + items("deeper", items("deepest"))
    body = (
        items("one", second, "three", more=f'{named} xml:id="x"')
        + items("new list", more=named)
        + items("goes on", more=f'{named} text:continue-list="x"')
        + items("sign", more='text:style-name="B"')
        + f'<text:list {named}><text:list-item text:start-value="7">{p("seven")}</text:list-item></text:list>'
    )  # fmt: skip
    draft = read(make(tmp_path / "a", body, automatic=NUMBERS + BULLETS))
    assert [(b.kind, b.level, b.marker, b.text) for b in draft.blocks] == [
        (BlockKind.LIST_ITEM, 1, "1.", "one"),
        (BlockKind.LIST_ITEM, 1, "2.", "two"),
        (BlockKind.PARAGRAPH, None, None, "more of two"),
        (BlockKind.LIST_ITEM, 2, "2.1.", "deeper"),
        (BlockKind.LIST_ITEM, 3, "c)", "deepest"),
        (BlockKind.LIST_ITEM, 1, "3.", "three"),
        (BlockKind.LIST_ITEM, 1, "1.", "new list"),
        (BlockKind.LIST_ITEM, 1, "4.", "goes on"),
        (BlockKind.LIST_ITEM, 1, "•", "sign"),
        (BlockKind.LIST_ITEM, 1, "7.", "seven"),
    ]


def test_white_space_tabs_breaks_fields_and_links(tmp_path: Path) -> None:
    body = p(
        "\n  a <text:s text:c=\"3\"/>b<text:tab/>c<text:line-break/>d <text:soft-page-break/> e"
        '<text:span> f</text:span> <text:date>1 May</text:date> <text:a xlink:href="https://depot.example">plan</text:a>'
    )  # fmt: skip
    draft = read(make(tmp_path / "a", body))
    assert texts(draft) == ["a    b\tc\nd e f 1 May plan"]
    assert draft.blocks[0].links == [Link(text="plan", target="https://depot.example")]


def test_changes_are_accepted_and_counted(tmp_path: Path) -> None:
    changes = (
        "<text:tracked-changes><text:changed-region><text:deletion><office:change-info/>"
        f"{p('never again')}</text:deletion></text:changed-region>"
        "<text:changed-region><text:insertion/></text:changed-region></text:tracked-changes>"
    )
    draft = read(make(tmp_path / "a", changes + p('The <text:change-start text:change-id="x"/>new<text:change/> text')))
    assert texts(draft) == ["The new text"]
    assert draft.warnings == ["tracked_changes"]
    assert (draft.metadata["inserted_revisions"], draft.metadata["deleted_revisions"]) == ("1", "1")
    assert draft.dropped == [Dropped(what="deleted_revisions", count=1)]


def test_hidden_text_is_marked(tmp_path: Path) -> None:
    body = (
        p('shown <text:span text:style-name="gone">not shown</text:span>')
        + f'<text:section text:name="s" text:display="none">{p("in a hidden section")}</text:section>'
        + f'<text:section text:name="t">{p("in a section")}</text:section>'
        + p('<text:hidden-paragraph text:is-hidden="true"/>a whole paragraph')
        + p('<text:conditional-text text:string-value-if-false="no">yes</text:conditional-text>')
    )
    draft = read(make(tmp_path / "a", body, automatic=HIDDEN))
    assert [(b.text, b.hidden) for b in draft.blocks] == [
        ("shown", False),
        ("not shown", True),
        ("in a hidden section", True),
        ("in a section", False),
        ("a whole paragraph", True),
        ("yes", False),
    ]
    assert draft.warnings == ["hidden_text"]


def test_notes_and_comments_belong_to_their_text(tmp_path: Path) -> None:
    def note(kind: str, sign: str, text: str) -> str:
        return (
            f'<text:note text:note-class="{kind}"><text:note-citation>{sign}</text:note-citation>'
            f"<text:note-body>{p(text)}</text:note-body></text:note>"
        )

    remark = (
        f"<office:annotation><dc:creator>Ada</dc:creator><dc:date>2024-01-01</dc:date>{p('Which?')}</office:annotation>"
    )
    body = p("Track" + note("footnote", "1", "From 1904.") + " and" + note("endnote", "i", "See below.")) + p(
        "Wire" + remark
    )
    draft = read(make(tmp_path / "a", body + h("Next") + p("End")))
    assert [(b.kind, b.marker, b.text) for b in draft.blocks] == [
        (BlockKind.PARAGRAPH, None, "Track and"),
        (BlockKind.PARAGRAPH, None, "Wire"),
        (BlockKind.COMMENT, None, "Ada: Which?"),
        (BlockKind.FOOTNOTE, "1", "From 1904."),
        (BlockKind.HEADING, None, "Next"),
        (BlockKind.PARAGRAPH, None, "End"),
        (BlockKind.FOOTNOTE, "i", "See below."),
    ]
    assert draft.refs == {2: 1, 3: 0, 6: 0}


def test_tables_have_spans_covered_cells_and_headers(tmp_path: Path) -> None:
    first = row("Line", cell("Crew", 'table:number-columns-spanned="2"'), "<table:covered-table-cell/>")
    head = f"<table:table-header-rows>{first}</table:table-header-rows>"
    body = table(
        '<table:table-column table:number-columns-repeated="3"/>',
        head,
        row(cell("4", 'table:number-rows-spanned="2"'), "Wire", "9"),
        row(f"<table:covered-table-cell>{p('old')}</table:covered-table-cell>", "Track", "14"),
        row("6", '<table:table-cell table:number-columns-repeated="2"/>'),
    )
    draft = read(make(tmp_path / "a", body))
    found = draft.tables[0]
    assert (found.n_rows, found.n_cols, found.header_rows) == (4, 3, 1)
    assert [(c.row, c.col, c.row_span, c.col_span, c.text) for c in found.cells] == [
        (0, 0, 1, 1, "Line"), (0, 1, 1, 2, "Crew"),
        (1, 0, 2, 1, "4"), (1, 1, 1, 1, "Wire"), (1, 2, 1, 1, "9"),
        (2, 1, 1, 1, "Track"), (2, 2, 1, 1, "14"),
        (3, 0, 1, 1, "6"), (3, 1, 1, 1, ""), (3, 2, 1, 1, ""),
    ]  # fmt: skip
    assert draft.dropped == [Dropped(what="covered_cell_text", count=1)]


def test_a_first_row_in_the_style_of_headings_is_one(tmp_path: Path) -> None:
    made = style("P1", more='style:parent-style-name="Table_20_Heading"')
    body = table(row(cell(p("Line", "P1")), cell(p("Crew", "P1"))), row("4", "Wire"))
    assert read(make(tmp_path / "a", body, automatic=made)).tables[0].header_rows == 1
    assert read(make(tmp_path / "b", table(row("Line", "Crew"), row("4", "Wire")))).tables[0].header_rows == 0


def test_tables_in_cells_follow_the_table_around_them(tmp_path: Path) -> None:
    inner = table(row("a", "b"), row("c", "d"))
    draft = read(make(tmp_path / "a", table(row("1", cell(p("2") + inner)), row("3", "4"))))
    assert [[c.text for c in one.cells] for one in draft.tables] == [["1", "2", "3", "4"], ["a", "b", "c", "d"]]
    assert draft.refs == {1: 0}


def test_repeated_rows_and_cells_are_bounded(tmp_path: Path) -> None:
    many = 'table:number-rows-repeated="1048576"'
    wide = '<table:table-cell table:number-columns-repeated="16384"/>'
    body = table(row("a", "b", wide), row(wide, more=many)) + table(row("x", "y", more=many))
    draft = read(make(tmp_path / "a", body))
    assert (draft.tables[0].n_rows, draft.tables[0].n_cols) == (2, 2)
    assert len(draft.tables[1].cells) == 200_000
    assert draft.warnings == ["table_too_large"]


def test_many_tables_of_repeats_are_refused_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grids, "MAX_CELLS", 1000)
    with pytest.raises(DocumentError) as raised:
        read(make(tmp_path / "a", table(row("x", more='table:number-rows-repeated="300"')) * 4))
    assert raised.value.problem == "too_large"


def test_frames_captions_and_figures(tmp_path: Path) -> None:
    said = "<svg:title>Tram</svg:title><svg:desc>A yellow tram</svg:desc>"
    image = f'<draw:frame><draw:image xlink:href="Pictures/1.png"/>{said}</draw:frame>'
    caption = p('Figure <text:sequence text:name="Figure">1</text:sequence>: The tram', "Figure")
    box = f"<draw:frame><draw:text-box>{p(image)}{caption}</draw:text-box></draw:frame>"
    draft = read(
        make(
            tmp_path / "a",
            p("Before " + box + "after") + p(f"<draw:frame><draw:text-box>{p('Aside')}</draw:text-box></draw:frame>"),
        )
    )
    assert [(b.kind, b.text) for b in draft.blocks] == [
        (BlockKind.PARAGRAPH, "Before after"),
        (BlockKind.FIGURE, "Tram\nA yellow tram"),
        (BlockKind.CAPTION, "Figure 1: The tram"),
        (BlockKind.PARAGRAPH, "Aside"),
    ]
    assert draft.refs == {2: 1}


def test_formulas_and_charts_are_read_from_their_objects(tmp_path: Path) -> None:
    formula = (
        "<math:math xmlns:math='http://www.w3.org/1998/Math/MathML'><math:semantics><math:mrow><math:mi>E</math:mi>"
        "<math:mo>=</math:mo><math:mfrac><math:mrow><math:mi>a</math:mi><math:mo>+</math:mo><math:mi>b</math:mi></math:mrow>"
        "<math:msqrt><math:mn>2</math:mn></math:msqrt></math:mfrac></math:mrow><math:annotation>E={a+b}over sqrt 2"
        "</math:annotation></math:semantics></math:math>"
    )  # fmt: skip
    values = table(
        f"<table:table-header-rows>{row('', '2023')}</table:table-header-rows>",
        row("Wire", cell("", 'office:value-type="float" office:value="9"')),
        row("Track", cell("14")),
    )
    chart = (
        f"<office:document-content {NAMESPACES}><office:body><office:chart><chart:chart>"
        f"<chart:title>{p('Crews')}</chart:title>{values}</chart:chart></office:chart></office:body>"
        "</office:document-content>"
    )
    parts: dict[str, str | bytes] = {"Object 1/content.xml": formula, "Object 2/content.xml": chart}

    def frame(number: int) -> str:
        return (
            f'<draw:frame><draw:object xlink:href="./Object {number}"/>'
            '<draw:image xlink:href="./ObjectReplacements/x"/></draw:frame>'
        )

    body = p("with " + frame(1) + " in it") + p(frame(1)) + p(frame(2)) + p(frame(3))
    draft = read(make(tmp_path / "a", body, parts=parts))
    assert [(b.kind, b.text) for b in draft.blocks] == [
        (BlockKind.PARAGRAPH, "with E=(a+b)/(√(2)) in it"),
        (BlockKind.FORMULA, "E=(a+b)/(√(2))"),
        (BlockKind.FIGURE, "Crews"),
        (BlockKind.TABLE, ""),
        (BlockKind.FIGURE, ""),
    ]
    assert [c.text for c in draft.tables[0].cells] == ["", "2023", "Wire", "9", "Track", "14"]
    assert (draft.tables[0].caption, draft.tables[0].header_rows) == ("Crews", 1)
    assert draft.warnings == ["embedded_not_read", "part_missing"]


def test_headers_and_footers_of_used_pages_are_furniture(tmp_path: Path) -> None:
    masters = (
        f'<style:master-page style:name="Standard"><style:header>{p("Depot Ltd")}</style:header><style:footer>'
        f"{p('<text:page-number>3</text:page-number>')}</style:footer></style:master-page>"
        f'<style:master-page style:name="Unused"><style:header>{p("Never shown")}</style:header></style:master-page>'
        f'<style:master-page style:name="First"><style:footer>{p("Cover")}</style:footer></style:master-page>'
    )
    used = style("P1", more='style:master-page-name="First"')
    draft = read(make(tmp_path / "a", p("Text", "P1"), masters=masters, automatic=used))
    assert [(b.kind, b.text) for b in draft.blocks] == [
        (BlockKind.PAGE_HEADER, "Depot Ltd"),
        (BlockKind.PARAGRAPH, "Text"),
        (BlockKind.PAGE_NUMBER, "3"),
        (BlockKind.PAGE_FOOTER, "Cover"),
    ]


def test_titles_quotes_code_and_form_fields(tmp_path: Path) -> None:
    box = '<form:checkbox form:id="c" form:label="Agreed" form:current-state="checked"/>'
    form = f"<office:forms><form:form>{box}</form:form></office:forms>"
    body = (
        form + p("The depot", "Title") + p("So they said", "Quotations")
        + p('if <text:s text:c="3"/>x', "Preformatted_20_Text") + p('<draw:control draw:control="c"/>')
    )  # fmt: skip
    draft = read(make(tmp_path / "a", body))
    assert [(b.kind, b.text) for b in draft.blocks] == [
        (BlockKind.TITLE, "The depot"),
        (BlockKind.QUOTE, "So they said"),
        (BlockKind.CODE, "if    x"),
        (BlockKind.FORM_FIELD, "☒ Agreed"),
    ]
    assert draft.title == "The depot"


def test_an_index_is_kept_once(tmp_path: Path) -> None:
    source = f"<text:table-of-content-source>{p('template')}</text:table-of-content-source>"
    heading = f"<text:index-title>{p('Contents')}</text:index-title>"
    index = f"<text:index-body>{heading}{p('Depot<text:tab/>3')}</text:index-body>"
    draft = read(make(tmp_path / "a", f"<text:table-of-content>{source}{index}</text:table-of-content>" + p("Text")))
    assert texts(draft) == ["Contents", "Depot\t3", "Text"]


META = (
    "<dc:title>Rope rules</dc:title><meta:initial-creator>Ada Berg</meta:initial-creator><dc:creator>Bo</dc:creator>"
    "<meta:creation-date>2024-05-01T10:00:00.123</meta:creation-date><dc:date>2024-02-30T10:00:00</dc:date>"
    "<meta:keyword>rope</meta:keyword><meta:keyword>bell</meta:keyword><dc:language>de-AT</dc:language>"
)


def test_a_flat_file_reads_as_the_packed_one(tmp_path: Path) -> None:
    body = h("Depot") + items("one", more='text:style-name="N"') + p('<text:span text:style-name="gone">x</text:span>y')
    packed = read(make(tmp_path / "a", body, automatic=NUMBERS + HIDDEN, meta=META))
    assert (packed.title, packed.authors, packed.created, packed.modified) == (
        "Rope rules",
        ["Ada Berg"],
        "2024-05-01",
        None,
    )
    assert (packed.language, packed.warnings) == ("de", ["bad_date", "hidden_text"])
    assert packed.metadata == {"hidden_characters": "1", "keywords": "rope, bell", "last_modified_by": "Bo"}
    assert read(flat(tmp_path / "b", body, automatic=NUMBERS + HIDDEN, meta=META)) == packed


@pytest.mark.parametrize("media_type", [TEXT, TEXT + "-template", TEXT + "-flat-xml"])
def test_the_canon_of_each_kind_is_the_same_twice(tmp_path: Path, media_type: str) -> None:
    detection = Detection(media_type=media_type, detected_by="test")
    spec = plan(detection)
    assert spec is not None
    assert spec.name == "odt"
    path = make(tmp_path / "a", h("Depot") + p("Three tracks are renewed."))
    bodies = [finish(read(path), content_hash="0" * 64, detection=detection, spec=spec) for _ in range(2)]
    assert bodies[0] == bodies[1]
    assert body_text(bodies[0]) == "Depot\n\nThree tracks are renewed."


@pytest.mark.parametrize(
    ("parts", "problem"),
    [
        ({"META-INF/manifest.xml": "<m><encryption-data/></m>"}, "encrypted"),
        ({"encrypted-package": b"x"}, "encrypted"),
        ({"content.xml": "<broken"}, "corrupt"),
        ({"content.xml": f"<office:document-content {NAMESPACES}/>"}, "corrupt"),
    ],
)
def test_bad_packages_have_a_code(tmp_path: Path, parts: dict[str, str | bytes], problem: str) -> None:
    with pytest.raises(DocumentError) as raised:
        read(make(tmp_path / "a", p("Text"), parts=parts))
    assert raised.value.problem == problem


def test_entities_are_left_out_and_nothing_outside_is_read(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret words", encoding="utf-8")
    body = f'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e SYSTEM "{secret.as_uri()}">]>'
    body += (
        f"<office:document-content {NAMESPACES}><office:body><office:text>{p('a &e; b')}</office:text></office:body>"
    )
    body += "</office:document-content>"
    draft = read(make(tmp_path / "a", "", parts={"content.xml": body}))
    assert texts(draft) == ["a b"]
    assert draft.warnings == ["doctype_ignored"]


def test_deep_nesting_is_read_as_text(tmp_path: Path) -> None:
    sections = "<text:section>" * 200 + p("deep text") + "</text:section>" * 200
    lists = "<text:list><text:list-item>" * 110 + p("deep item") + "</text:list-item></text:list>" * 110
    spans = p("<text:span>" * 240 + "deep span" + "</text:span>" * 240)
    boxes = "<text:p><draw:frame><draw:text-box>" * 75 + p("deep box") + "</draw:text-box></draw:frame></text:p>" * 75
    tables = (
        "<table:table><table:table-row><table:table-cell>" * 75
        + p("deep cell")
        + "</table:table-cell></table:table-row></table:table>" * 75
    )
    draft = read(make(tmp_path / "a", sections + lists + spans + boxes + tables))
    assert texts(draft) == ["deep text", "deep item", "deep span", "deep box", "deep cell"]
    assert draft.warnings == ["nesting_too_deep"]
