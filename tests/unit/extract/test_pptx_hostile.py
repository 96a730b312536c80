"""Presentations that are broken or made to do harm: an answer with a code, in bounded time and memory."""

from __future__ import annotations

import contextlib
import random
import time
import zipfile
from pathlib import Path

import pytest

from streams.errors import DocumentError
from streams.extract import ooxml
from streams.records import BlockKind
from tests.unit.extract.pptx_files import (
    NAMESPACES,
    Slide,
    cell,
    frame,
    group,
    make,
    paragraph,
    picture,
    read,
    shape,
    texts,
    transform,
)

WIDE, BACKWARDS = 'gridSpan="9999999999"', 'rowSpan="-4"'
TITLE = shape("The tram depot", (50, 20, 600, 60), "title")


def test_a_missing_or_damaged_slide_does_not_cost_the_others(tmp_path: Path) -> None:
    related = {"gone": ("slide", "slides/gone.xml")}
    path = make(tmp_path / "a", TITLE, "", TITLE, parts={"ppt/slides/s2.xml": "<p:sld><broken"}, related=related)
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    listed = b'<p:sldId id="9" r:id="gone"/><p:sldId id="9" r:id="nowhere"/></p:sldIdLst>'
    files["ppt/presentation.xml"] = files["ppt/presentation.xml"].replace(b"</p:sldIdLst>", listed)
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    draft = read(path)
    assert [(b.text, b.page) for b in draft.blocks] == [("The tram depot", 1), ("The tram depot", 3)]
    assert draft.warnings == ["part_damaged", "part_missing"]
    assert [page.number for page in draft.pages] == [1, 2, 3, 4]


def test_without_a_readable_slide_it_is_corrupt(tmp_path: Path) -> None:
    with pytest.raises(DocumentError) as raised:
        read(make(tmp_path / "a", TITLE, parts={"ppt/slides/s1.xml": "<p:sld><broken"}))
    assert raised.value.problem == "corrupt"


def test_missing_layouts_charts_and_notes_are_said(tmp_path: Path) -> None:
    slide = Slide(
        TITLE + frame('<c:chart r:id="c"/>', (50, 100, 90, 90)) + frame('<c:chart r:id="none"/>', (50, 200, 90, 90)),
        related={
            "l": ("slideLayout", "../slideLayouts/gone.xml"),
            "c": ("chart", "../charts/gone.xml"),
            "n": ("notesSlide", "../notesSlides/gone.xml"),
        },
    )
    draft = read(make(tmp_path / "a", slide))
    assert [b.kind for b in draft.blocks] == [BlockKind.HEADING, BlockKind.FIGURE, BlockKind.FIGURE]
    assert draft.warnings == ["part_missing"]


def test_a_slide_that_is_listed_twice_is_read_once(tmp_path: Path) -> None:
    related = {f"again{at}": ("slide", "slides/s1.xml") for at in range(50)}
    extra = "".join(f'<p:sldId id="{at}" r:id="again{at}"/>' for at in range(50))
    path = make(tmp_path / "a", TITLE, related=related, presentation="")
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    files["ppt/presentation.xml"] = files["ppt/presentation.xml"].replace(
        b"</p:sldIdLst>", f"{extra}</p:sldIdLst>".encode()
    )
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    assert texts(read(path)) == ["The tram depot"]


def test_parts_that_point_at_each_other_end(tmp_path: Path) -> None:
    """A notes page that is its own slide, a layout that is its own master."""
    slide = Slide(
        TITLE, related={"n": ("notesSlide", "s1.xml"), "l": ("slideLayout", "s1.xml"), "c": ("comments", "s1.xml")}
    )
    draft = read(make(tmp_path / "a", slide))
    assert draft.blocks[0].text == "The tram depot"


def test_groups_in_groups_to_the_depth_of_the_parser(tmp_path: Path) -> None:
    inner = shape("deep", (5, 5, 10, 10))
    place = transform((0, 0, 10, 10), '<a:chOff x="0" y="0"/><a:chExt cx="1" cy="1"/>')
    for _ in range(200):
        inner = group(inner, place=place)
    draft = read(make(tmp_path / "a", TITLE + inner))
    assert "deep" in texts(draft)
    assert all(-100_000 <= side <= 100_000 for block in draft.blocks for side in block.bbox or ())


def test_impossible_places_numbers_and_spans(tmp_path: Path) -> None:
    place = '<a:xfrm rot="x"><a:off x="1e999" y="nan"/><a:ext cx="-5" cy=""/></a:xfrm>'
    wild = shape("wild").replace("<p:spPr>", f"<p:spPr>{place}")
    rows = f"<a:tr>{cell('a', WIDE)}{cell('b', BACKWARDS)}</a:tr>"
    numbers = paragraph("item", '<a:buAutoNum type="nonsense" startAt="99999999999"/>', level=0)
    slide = TITLE + wild + frame(f"<a:tbl>{rows}<a:tr/></a:tbl>", (50, 200, 90, 20)) + shape(numbers, (50, 300, 90, 20))
    draft = read(make(tmp_path / "a", slide.replace('lvl="0"', 'lvl="77"'), attributes='firstSlideNum="99999999999"'))
    assert "wild" in texts(draft)
    assert [(c.col_span, c.row_span) for c in draft.tables[0].cells] == [(2, 1), (1, 1)]
    assert draft.warnings == ["impossible_span", "number_format_approximated"]


def test_thousands_of_shapes_cost_little(tmp_path: Path) -> None:
    many = "".join(shape(f"t{at}", (at % 70 * 10, at // 70 * 5, 30, 20)) for at in range(5000))
    path = make(tmp_path / "a", TITLE + many)
    started = time.process_time()
    assert len(read(path).blocks) == 5001
    assert time.process_time() - started < 8


def test_a_bomb_in_a_side_part_is_a_bomb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ooxml, "MAX_PART", 1_000_000)
    chart = f"<c:chartSpace {NAMESPACES}>" + " " * 5_000_000 + "</c:chartSpace>"
    slide = Slide(TITLE + frame('<c:chart r:id="c"/>', (50, 100, 90, 90)), related={"c": ("chart", "../charts/c.xml")})
    with pytest.raises(DocumentError) as raised:
        read(make(tmp_path / "a", slide, parts={"ppt/charts/c.xml": chart}))
    assert raised.value.problem == "bomb"


def test_one_part_named_by_many_is_paid_for_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ooxml, "MAX_TOTAL", 2_000_000)
    chart = f"<c:chartSpace {NAMESPACES}>" + " " * 100_000 + "</c:chartSpace>"
    frames = "".join(frame('<c:chart r:id="c"/>', (50, at, 9, 9)) for at in range(100))
    slide = Slide(TITLE + frames, related={"c": ("chart", "../charts/c.xml")})
    with pytest.raises(DocumentError) as raised:
        read(make(tmp_path / "a", slide, parts={"ppt/charts/c.xml": chart}))
    assert raised.value.problem == "bomb"


def test_nothing_outside_is_read(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret words", encoding="utf-8")
    entity = f'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e SYSTEM "{secret.as_uri()}">]>'
    body = f"{entity}<p:sld {NAMESPACES}><p:cSld><p:spTree>{shape('a &e; b', (5, 5, 9, 9))}</p:spTree></p:cSld></p:sld>"
    slide = Slide(TITLE, related={"c": ("comments", secret.as_uri()), "n": ("notesSlide", secret.as_uri())})
    draft = read(make(tmp_path / "a", slide, parts={"ppt/slides/s1.xml": body}))
    assert not any("secret" in text for text in texts(draft))
    assert "doctype_ignored" in draft.warnings


def test_any_damage_is_an_answer(tmp_path: Path) -> None:
    """Bytes changed at random: a draft or a DocumentError, nothing else."""
    slide = TITLE + group(shape("inside", (50, 100, 90, 20))) + picture((5, 5, 9, 9), 'descr="x"')
    whole = make(
        tmp_path / "a",
        Slide(slide + frame(f"<a:tbl><a:tr>{cell('a')}</a:tr></a:tbl>"), notes=shape("note", None, "body")),
    )
    data = whole.read_bytes()
    chance = random.Random(3)  # noqa: S311 - the same damage in every run
    for turn in range(150):
        changed = bytearray(data)
        for _ in range(chance.randint(1, 12)):
            changed[chance.randrange(len(changed))] = chance.randrange(256)
        path = tmp_path / f"d{turn}"
        path.write_bytes(changed)
        with contextlib.suppress(DocumentError):
            read(path)
