"""Charts, pictures and text boxes over the cells of an OpenDocument sheet."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.extract import sheet_ods_drawings
from streams.records import CanonBody
from tests.unit.extract import odf_files
from tests.unit.extract.sheet_files import ODS, read

CHART = odf_files.content(
    "chart",
    "<chart:chart><chart:title><text:p>Costs</text:p></chart:title>"
    + odf_files.table(
        f"<table:table-header-rows>{odf_files.row('<table:table-cell/>', '2031')}</table:table-header-rows>",
        odf_files.row("Kiel", "41"),
        odf_files.row("Ulm", "43"),
    )
    + "</chart:chart>",
)
OBJECT = '<draw:object xlink:href="./Object 1"><text:p/></draw:object><draw:image xlink:href="./picture"/>'


def sheet(path: Path, shapes: str = "", in_cell: str = "", chart: str = CHART) -> CanonBody:
    held = f"<table:shapes>{shapes}</table:shapes>" if shapes else ""
    rows = odf_files.row("Depot", "Sum") + odf_files.row(odf_files.cell(in_cell + odf_files.p("Kiel")), "1")
    odf_files.make(
        path,
        f'<table:table table:name="One">{held}{rows}</table:table>',
        kind="spreadsheet",
        parts={"Object 1/content.xml": chart},
    )
    return read(path, ODS)


def said(body: CanonBody) -> list[tuple[str, str]]:
    return [(block.kind.value, block.text) for block in body.blocks[2:]]


def test_a_chart_is_a_figure_with_its_values_in_a_table_of_its_own(tmp_path: Path) -> None:
    chart = [("figure", "Costs"), ("table", "\t2031\nKiel\t41\nUlm\t43")]
    for number, place in enumerate(("shapes", "in_cell")):
        body = sheet(tmp_path / f"{number}.ods", **{place: f"<draw:frame>{OBJECT}</draw:frame>"})
        assert said(body) == chart
        assert body.blocks[1].text == "Depot\tSum\nKiel\t1"
        assert body.blocks[3].ref == body.blocks[2].id
        assert body.metadata["charts"] == "1"
        assert not body.warnings


def test_boxes_pictures_and_groups(tmp_path: Path) -> None:
    shapes = (
        "<draw:frame><draw:text-box><text:p>in a</text:p><text:p>box</text:p></draw:text-box></draw:frame>"
        "<draw:g><draw:custom-shape><text:p>in a shape</text:p></draw:custom-shape>"
        '<draw:frame><draw:image xlink:href="p.png"/><svg:title>a valve</svg:title></draw:frame></draw:g>'
        '<draw:frame><draw:image xlink:href="p.png"/></draw:frame><draw:line/>'
    )
    assert said(sheet(tmp_path / "a.ods", shapes)) == [
        ("paragraph", "in a\nbox"),
        ("paragraph", "in a shape"),
        ("figure", "a valve"),
    ]


def test_a_damaged_chart_costs_the_chart(tmp_path: Path) -> None:
    body = sheet(tmp_path / "a.ods", f"<draw:frame><svg:title>a chart</svg:title>{OBJECT}</draw:frame>", chart="<x")
    assert said(body) == [("figure", "a chart")]
    assert body.warnings == ["part_damaged"]


def test_shapes_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sheet_ods_drawings, "MAX_DRAWN", 3)
    body = sheet(tmp_path / "a.ods", "<draw:rect><text:p>x</text:p></draw:rect>" * 5)
    assert len(said(body)) == 3
    assert body.warnings == ["drawings_not_read"]
    deep = "<draw:g>" * 40 + "<draw:rect><text:p>x</text:p></draw:rect>" + "</draw:g>" * 40
    assert sheet(tmp_path / "b.ods", deep).warnings == ["drawings_not_read"]


def test_a_chart_on_a_slide_whose_object_has_a_paragraph_beside_its_link(tmp_path: Path) -> None:
    path = odf_files.make(
        tmp_path / "a.odp",
        f'<draw:page draw:name="p"><draw:frame svg:width="5cm" svg:height="5cm">{OBJECT}</draw:frame></draw:page>',
        kind="presentation",
        parts={"Object 1/content.xml": CHART},
    )
    draft = odf_files.read(path, odf_files.PRESENTATION)
    assert "Costs" in odf_files.texts(draft)
    assert [cell.text for cell in draft.tables[0].cells] == ["", "2031", "Kiel", "41", "Ulm", "43"]
