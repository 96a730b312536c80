"""Charts that are objects of DOC and PPT: of which programs they are read, and what damaged ones do."""

from __future__ import annotations

import io
import struct
from pathlib import Path

import pytest

from streams.decode.unpack.compound import Compound
from streams.errors import DocumentError
from streams.extract.ole_charts import chart_in, chart_of
from streams.extract.ooxml import MAX_TOTAL
from streams.extract.render import table_rows
from streams.extract.sheet_model import Drawn
from tests.unit.decode.unpack.compounds import Tree, compound
from tests.unit.extract import docx_files as w
from tests.unit.extract import odf_files as odf
from tests.unit.extract import pptx_files as p
from tests.unit.extract.test_graph_charts import COSTS as GRAPH
from tests.unit.extract.test_sheet_xls_charts import COSTS, EOF, SHEET, record

CHART = (
    "<chart:chart><chart:title><text:p>Costs</text:p></chart:title><table:table><table:table-header-rows>"
    "<table:table-row><table:table-cell/><table:table-cell><text:p>2031</text:p></table:table-cell></table:table-row>"
    "</table:table-header-rows><table:table-row><table:table-cell><text:p>Kiel</text:p></table:table-cell>"
    '<table:table-cell office:value-type="float" office:value="41"/></table:table-row></table:table></chart:chart>'
)


def read(tree: Tree) -> Drawn | None:
    data = compound(tree)
    opened = Compound(io.BytesIO(data), len(data))
    return chart_of(opened, opened.root, [MAX_TOTAL])


def rows(chart: Drawn | None) -> list[list[str]]:
    assert chart is not None
    assert chart.table is not None
    return table_rows(chart.table)


def workbook(*sheets: bytes, active: int) -> bytes:
    """A workbook whose sheets lie behind each other."""
    head = struct.pack("<HHHH", 0x0809, 16, 0x0600, 0x0005) + bytes(12)
    size = len(head) + 22 + 12 * len(sheets) + len(EOF)
    places = [size + sum(map(len, sheets[:number])) for number in range(len(sheets))]
    listed = b"".join(record(0x0085, struct.pack("<IHBB", place, 0, 0, 0)) for place in places)
    return head + record(0x003D, bytes(10) + struct.pack("<H", active) + bytes(6)) + listed + EOF + b"".join(sheets)


def test_the_sheet_that_is_shown_counts() -> None:
    assert rows(read({"Workbook": GRAPH}))[1] == ["Kiel", "41", "12.50%"]
    sheet = SHEET + EOF
    assert rows(read({"Workbook": workbook(sheet, COSTS, active=1)}))[1] == ["Kiel", "41", "7"]
    assert read({"Workbook": workbook(sheet, COSTS, active=0)}) is None
    assert read({"Workbook": workbook(sheet, active=7)}) is None
    assert read({"Contents": b"x"}) is None


def test_charts_of_libreoffice(tmp_path: Path) -> None:
    chart = odf.make(tmp_path / "chart", CHART, kind="chart").read_bytes()
    found = read({"package_stream": chart})
    assert rows(found) == [["", "2031"], ["Kiel", "41"]]
    assert found is not None
    assert found.text == "Costs"
    text = odf.make(tmp_path / "text", odf.p("no chart")).read_bytes()
    assert read({"package_stream": text}) is None


def test_a_damaged_chart_says_nothing(tmp_path: Path) -> None:
    chart = odf.make(tmp_path / "chart", CHART, kind="chart").read_bytes()
    assert read({"package_stream": chart[:-40]}) == Drawn(text="", figure=True)


def test_old_charts_in_new_documents(tmp_path: Path) -> None:
    """DOCX and PPTX that came from older programs hold Graph's objects; a missing or damaged one is a picture."""
    stored = {"embeddings/o.bin": compound({"Workbook": GRAPH}), "embeddings/bad.bin": b"bad"}
    related = {name: ("oleObject", f"embeddings/{name}.bin") for name in ("o", "bad", "gone")}
    objects = "".join(
        "<w:r><w:object><v:shape><v:imagedata/></v:shape>"
        f'<o:OLEObject xmlns:o="urn:schemas-microsoft-com:office:office" '
        f'ProgID="MSGraph.Chart.8" r:id="{name}"/></w:object></w:r>'
        for name in related
    )
    text = w.make(
        tmp_path / "a.docx",
        w.paragraph(objects),
        parts={f"word/{name}": data for name, data in stored.items()},
        related=related,
    )
    draft = w.read(text)
    assert [(block.kind.value, block.text) for block in draft.blocks if block.table is None] == [
        ("figure", "Costs\nEuro"),
        ("figure", ""),
        ("figure", ""),
    ]
    assert [table_rows(table)[1] for table in draft.tables] == [["Kiel", "41", "12.50%"]]
    frames = "".join(p.frame(f'<p:oleObj progId="MSGraph.Chart.8" r:id="{name}"/>') for name in related)
    links = {name: (kind, f"../{target}") for name, (kind, target) in related.items()}
    slides = p.make(
        tmp_path / "a.pptx",
        p.Slide(frames, related=links),
        parts={f"ppt/{name}": data for name, data in stored.items()},
    )
    shown = p.read(slides)
    assert [table_rows(table)[1] for table in shown.tables] == [["Kiel", "41", "12.50%"]]
    assert [block.text for block in shown.blocks if block.kind.value == "figure"] == ["Costs\nEuro", "", ""]


def test_charts_share_what_they_may_unpack(tmp_path: Path) -> None:
    stored = odf.make(tmp_path / "chart", CHART + " " * 5000, kind="chart").read_bytes()
    data = compound({"package_stream": stored})
    budget = [12_000]
    assert rows(chart_in(data, budget)) == [["", "2031"], ["Kiel", "41"]]
    with pytest.raises(DocumentError) as error:
        chart_in(data, budget)
    assert error.value.problem in ("bomb", "too_large")
