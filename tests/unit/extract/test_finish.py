"""Every canon ends alike: clean text, stable ids, sections, references, dates; the same draft gives the same bytes."""

from __future__ import annotations

import pytest

from streams.extract.finish import body_text, iso_date
from streams.extract.outcome import Draft
from streams.extract.registry import CANON_SCHEMA, EXTRACTORS, fingerprint, load, named, plan
from streams.records import Block, BlockKind, BlockSource, Cell, Detection, Page, Table
from streams.records.codec import encode, registry
from tests.unit.extract.drafts import block, finished


def test_text_is_clean_and_counted() -> None:
    body = finished(
        Draft(
            blocks=[
                block(BlockKind.PARAGRAPH, "e\u0301te\u0301\x00 \ufb01n so\u00adft\u2028line\ud800  \n next"),
                block(BlockKind.CODE, "  x = '\ufb01'\n"),
                block(BlockKind.PARAGRAPH, " \x07 "),
            ]
        )
    )
    assert [b.text for b in body.blocks] == ["été fin soft\nline\ufffd\n next", "  x = 'ﬁ'"]
    assert {d.what: d.count for d in body.dropped} == {"control_characters": 2, "lone_surrogates": 1, "soft_hyphens": 1}


def test_ids_are_stable_and_unique() -> None:
    one, two = block(BlockKind.PARAGRAPH, "same"), block(BlockKind.PARAGRAPH, "other")
    first = finished(Draft(blocks=[one, two, one]))
    second = finished(Draft(blocks=[two, one]))
    assert len({b.id for b in first.blocks}) == 3
    assert first.blocks[2].id == first.blocks[0].id + "-2"
    assert {b.id for b in second.blocks} < {b.id for b in first.blocks}
    assert len(first.blocks[0].id) == 16


def test_sections_follow_the_headings() -> None:
    def heading(text: str, level: int) -> Block:
        return block(BlockKind.HEADING, text, level=level)

    paragraph = block(BlockKind.PARAGRAPH, "p")
    body = finished(Draft(blocks=[heading("A", 1), heading("B", 3), paragraph, heading("C", 2), paragraph]))
    assert [b.section for b in body.blocks] == [[], ["A"], ["A", "B"], ["A"], ["A", "C"]]


def test_references_survive_dropped_blocks() -> None:
    draft = Draft(
        blocks=[block(BlockKind.PARAGRAPH, ""), block(BlockKind.CAPTION, "Fig. 1"), block(BlockKind.FIGURE, "")],
        refs={1: 2, 0: 1},
    )
    body = finished(draft)
    assert [b.kind.value for b in body.blocks] == ["caption", "figure"]
    assert body.blocks[0].ref == body.blocks[1].id


def test_tables_get_their_text_and_coordinates_are_round() -> None:
    table = Table(n_rows=2, n_cols=2, cells=[Cell(row=1, col=1, text="b\nc"), Cell(row=0, col=0, text="a", col_span=2)])
    body = finished(
        Draft(
            blocks=[block(BlockKind.TABLE, "", table=0, bbox=(1.005, -0.001, 3.14159, 4), confidence=0.123456)],
            tables=[table],
            pages=[Page(number=1, width=595.27599, height=841.8899, source=BlockSource.TEXT_LAYER)],
        )
    )
    assert body.blocks[0].text == "a\n\tb c"
    assert str(body.blocks[0].bbox) == "(1.0, 0.0, 3.14, 4.0)"
    assert body.blocks[0].confidence == 0.1235
    assert body.pages[0].width == 595.28
    assert [c.row for c in body.tables[0].cells] == [0, 1]


def test_the_title_comes_from_the_document_or_a_title_block() -> None:
    blocks = [block(BlockKind.HEADING, "H", level=1), block(BlockKind.TITLE, "T\nwo")]
    assert finished(Draft(blocks=blocks)).title == "T wo"
    assert finished(Draft(blocks=blocks, title=" Given ")).title == "Given"
    assert finished(Draft(blocks=blocks[:1])).title is None


def test_body_text_leaves_out_furniture_and_hidden_blocks() -> None:
    body = finished(
        Draft(
            blocks=[
                block(BlockKind.PAGE_HEADER, "head"),
                block(BlockKind.PARAGRAPH, "one"),
                block(BlockKind.LIST_ITEM, "a", level=1, marker="1."),
                block(BlockKind.LIST_ITEM, "b", level=2, marker="•"),
                block(BlockKind.PARAGRAPH, "gone", hidden=True),
                block(BlockKind.COMMENT, "note"),
                block(BlockKind.FOOTNOTE, "foot"),
            ]
        )
    )
    assert body_text(body) == "one\n\n1. a\n  • b\n\nfoot"
    assert len(body.blocks) == 7


def test_languages_of_document_and_block() -> None:
    german = "Die Werkstatt ist bis Donnerstag geschlossen, und der Schlüssel liegt beim Nachbarn im Haus gegenüber."
    english = "The workshop is closed until Thursday, and the key is with the neighbour in the house across the road."
    body = finished(Draft(blocks=[block(BlockKind.PARAGRAPH, german)] * 4 + [block(BlockKind.PARAGRAPH, english)]))
    assert body.language == "de"
    assert [b.language for b in body.blocks] == [None, None, None, None, "en"]


def test_the_same_draft_gives_the_same_bytes() -> None:
    def draft() -> Draft:
        return Draft(blocks=[block(BlockKind.PARAGRAPH, "x")], metadata={"b": "1", "a": "2"}, warnings=["w", "v", "w"])

    assert encode(finished(draft())) == encode(finished(draft()))
    assert finished(draft()).warnings == ["w", "v"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2024-03-01", "2024-03-01"),
        ("2024-03-01T10:20:30Z", "2024-03-01T10:20:30Z"),
        ("2024-03-01 10:20+0130", "2024-03-01T08:50:00Z"),
        ("2024-03-01T10:20:30.123456789-05:00", "2024-03-01T15:20:30Z"),
        ("2024-03-01T10:20:30", "2024-03-01"),
        ("2024-02-30", None),
        ("2024-03-01T25:00:00Z", None),
        ("0001-01-01T00:00:00+10:00", None),
        ("03/04/2024", None),
        ("", None),
        (None, None),
    ],
)
def test_dates(value: str | None, expected: str | None) -> None:
    assert iso_date(value) == expected


def test_fingerprints() -> None:
    spec = named("text")
    assert spec is not None
    utf8 = Detection(media_type="text/plain", detected_by="text", encoding="utf-8")
    koi8 = Detection(media_type="text/plain", detected_by="text", encoding="koi8-r")
    assert plan(utf8) == spec
    assert plan(Detection(media_type="video/mp4", detected_by="x")) is None
    assert len(fingerprint(spec, utf8)) == 16
    assert fingerprint(spec, utf8) != fingerprint(spec, koi8)
    html = named("html")
    assert html is not None
    assert fingerprint(spec, utf8) != fingerprint(html, utf8)


def test_the_registry_agrees_with_the_schemas_and_modules() -> None:
    assert registry().newest("CanonBody").version == CANON_SCHEMA
    for name in ("text", "markdown", "html"):
        spec = named(name)
        assert spec is not None
        assert callable(load(spec))
    claimed = [media_type for spec in EXTRACTORS for media_type in spec.media_types]
    assert len(claimed) == len(set(claimed))
