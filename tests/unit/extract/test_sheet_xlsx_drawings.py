"""Charts, pictures and text boxes over the cells of a sheet."""

from __future__ import annotations

from pathlib import Path

from streams.records import BlockKind, CanonBody
from tests.unit.extract.pptx_files import NAMESPACES as CHART
from tests.unit.extract.pptx_files import A
from tests.unit.extract.sheet_files import RELS, make, read, rows, sheet
from tests.unit.extract.test_drawing_charts import numbers, strings, title

SPACES = (
    f'xmlns:xdr="http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing" xmlns:a="{A}" xmlns:r="{RELS}" '
    'xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart" '
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
)
COSTS = (
    f"<c:chartSpace {CHART}><c:chart>{title('Costs')}<c:plotArea><c:barChart><c:ser>"
    f"{strings('tx', '2031')}{strings('cat', 'Kiel', 'Ulm')}{numbers('val', '41', '43')}"
    "</c:ser></c:barChart></c:plotArea></c:chart></c:chartSpace>"
)


def anchor(row: int, inside: str) -> str:
    start = f"<xdr:from><xdr:col>1</xdr:col><xdr:row>{row}</xdr:row></xdr:from>"
    return f"<xdr:twoCellAnchor>{start}{inside}<xdr:clientData/></xdr:twoCellAnchor>"


def about(more: str = "") -> str:
    return f'<xdr:nvSpPr><xdr:cNvPr id="2" name="n" {more}/></xdr:nvSpPr>'


def box(*lines: str, more: str = "") -> str:
    text = "".join(f"<a:p><a:r><a:t>{line}</a:t></a:r></a:p>" for line in lines)
    return f"<xdr:sp>{about(more)}<xdr:txBody>{text}</xdr:txBody></xdr:sp>"


def graphic(identifier: str, more: str = "") -> str:
    return f'<xdr:graphicFrame>{about(more)}<a:graphic><c:chart r:id="{identifier}"/></a:graphic></xdr:graphicFrame>'


def drawn(path: Path, *anchors: str, parts: dict[str, str] | None = None) -> CanonBody:
    relationships = (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        f'<Relationship Id="c" Type="{RELS}/chart" Target="../charts/chart1.xml"/>'
        f'<Relationship Id="out" Type="{RELS}/chart" Target="http://example.org/c.xml" TargetMode="External"/>'
        "</Relationships>"
    )
    make(
        path,
        sheet(rows(["Depot", "Sum"], ["Kiel", 1]), after='<drawing r:id="d"/>'),
        sheet_rels={0: f'<Relationship Id="d" Type="{RELS}/drawing" Target="../drawings/drawing1.xml"/>'},
        parts={
            "xl/drawings/drawing1.xml": f"<xdr:wsDr {SPACES}>{''.join(anchors)}</xdr:wsDr>",
            "xl/drawings/_rels/drawing1.xml.rels": relationships,
            "xl/charts/chart1.xml": COSTS,
            **(parts or {}),
        },
    )
    return read(path)


def said(body: CanonBody) -> list[tuple[str, str, bool]]:
    return [(block.kind.value, block.text, block.hidden) for block in body.blocks[2:]]


def test_a_chart_is_a_figure_with_its_values_in_a_table_of_its_own(tmp_path: Path) -> None:
    body = drawn(tmp_path / "a.xlsx", anchor(4, graphic("c", 'descr="what depots cost"')))
    assert said(body) == [
        ("figure", "what depots cost\nCosts", False),
        ("table", "\t2031\nKiel\t41\nUlm\t43", False),
    ]
    assert body.blocks[3].ref == body.blocks[2].id
    assert body.metadata["charts"] == "1"
    assert not body.warnings


def test_boxes_pictures_and_groups_stand_in_the_order_of_their_rows(tmp_path: Path) -> None:
    picture = '<xdr:pic><xdr:nvPicPr><xdr:cNvPr id="4" name="p" descr="{}"/></xdr:nvPicPr></xdr:pic>'
    body = drawn(
        tmp_path / "a.xlsx",
        anchor(9, box("last")),
        anchor(1, f"<xdr:grpSp>{box('first', 'line')}{picture.format('a valve')}</xdr:grpSp>"),
        anchor(3, picture.format("")),
        anchor(2, box("not seen", more='hidden="1"')),
    )
    assert said(body) == [
        ("paragraph", "first\nline", False),
        ("figure", "a valve", False),
        ("paragraph", "not seen", True),
        ("paragraph", "last", False),
    ]


def test_of_alternatives_one_is_read(tmp_path: Path) -> None:
    both = (
        f'<mc:AlternateContent><mc:Choice Requires="a14">{box("newer")}</mc:Choice>'
        f"<mc:Fallback>{box('older')}</mc:Fallback></mc:AlternateContent>"
    )
    assert said(drawn(tmp_path / "a.xlsx", anchor(1, both))) == [("paragraph", "newer", False)]
    whole = both.replace(box("newer"), anchor(1, box("newer"))).replace(box("older"), anchor(1, box("older")))
    assert said(drawn(tmp_path / "b.xlsx", whole)) == [("paragraph", "newer", False)]


def test_charts_that_are_missing_damaged_or_outside(tmp_path: Path) -> None:
    body = drawn(tmp_path / "a.xlsx", anchor(1, graphic("none")), anchor(2, graphic("out", 'descr="elsewhere"')))
    assert [(kind, text) for kind, text, _ in said(body)] == [("figure", ""), ("figure", "elsewhere")]
    assert body.warnings == ["chart_values_not_read"]
    body = drawn(tmp_path / "b.xlsx", anchor(1, graphic("c")), parts={"xl/charts/chart1.xml": "<c:chartSpace"})
    assert set(body.warnings) == {"chart_values_not_read", "part_damaged"}


def test_a_damaged_drawing_costs_the_drawing(tmp_path: Path) -> None:
    body = drawn(tmp_path / "a.xlsx", parts={"xl/drawings/drawing1.xml": "<xdr:wsDr"})
    assert [block.kind for block in body.blocks] == [BlockKind.HEADING, BlockKind.TABLE]
    assert body.warnings == ["part_damaged"]


def test_drawings_are_bounded(tmp_path: Path) -> None:
    body = drawn(tmp_path / "a.xlsx", *(anchor(1, box("x") * 100) for _ in range(60)))
    assert len(body.blocks) == 2 + 5000
    assert body.warnings == ["drawings_not_read"]
