"""Values of charts as tables."""

from __future__ import annotations

import pytest
from lxml import etree

from streams.errors import DocumentError
from streams.extract import grids
from streams.extract.drawing_charts import Chart, read_chart
from tests.unit.extract.pptx_files import NAMESPACES

CX = "http://schemas.microsoft.com/office/drawing/2014/chartex"


def points(*values: str) -> str:
    return "".join(f'<c:pt idx="{at}"><c:v>{value}</c:v></c:pt>' for at, value in enumerate(values))


def numbers(name: str, *values: str, code: str = "General") -> str:
    cache = f"<c:numCache><c:formatCode>{code}</c:formatCode>{points(*values)}</c:numCache>"
    return f"<c:{name}><c:numRef>{cache}</c:numRef></c:{name}>"


def strings(name: str, *values: str) -> str:
    return f"<c:{name}><c:strRef><c:strCache>{points(*values)}</c:strCache></c:strRef></c:{name}>"


def title(text: str) -> str:
    return f"<c:title><c:tx><c:rich><a:p><a:r><a:t>{text}</a:t></a:r></a:p></c:rich></c:tx></c:title>"


def chart(kind: str, *series: str, more: str = "", top: str = "") -> Chart:
    inside = "".join(f"<c:ser>{one}</c:ser>" for one in series)
    area = f"<c:plotArea><c:{kind}>{inside}</c:{kind}>{more}</c:plotArea>"
    return read_chart(etree.fromstring(f"<c:chartSpace {NAMESPACES}><c:chart>{top}{area}</c:chart></c:chartSpace>"))


def rows(found: Chart) -> list[list[str]]:
    assert found.table is not None
    out = [[""] * found.table.n_cols for _ in range(found.table.n_rows)]
    for cell in found.table.cells:
        out[cell.row][cell.col] = cell.text
    return out


def test_categories_by_series_with_numbers_as_they_are_shown() -> None:
    found = chart(
        "barChart",
        strings("tx", "2022") + strings("cat", "Wire", "Track") + numbers("val", "0.25", "0.5", code="0%"),
        strings("tx", "2023") + strings("cat", "Wire", "Track") + numbers("val", "0.1", code="0.0%"),
        more=f"<c:catAx>{title('Crew')}</c:catAx><c:valAx>{title('Share')}</c:valAx>",
        top=title("Absence"),
    )
    assert rows(found) == [["Crew", "2022", "2023"], ["Wire", "25%", "10.0%"], ["Track", "50%", ""]]
    assert (found.title, found.texts) == ("Absence", ["Crew", "Share"])
    assert found.table is not None
    assert (found.table.header_rows, found.table.header_cols, found.table.caption) == (1, 1, "Absence")


def test_two_charts_in_one_share_a_table() -> None:
    line = (
        f"<c:lineChart><c:ser>{strings('tx', 'Line') + strings('cat', 'a') + numbers('val', '2')}</c:ser></c:lineChart>"
    )
    found = chart("barChart", strings("tx", "Bar") + strings("cat", "a") + numbers("val", "1"), more=line)
    assert rows(found) == [["", "Bar", "Line"], ["a", "1", "2"]]


def test_dates_are_dates() -> None:
    found = chart(
        "lineChart", strings("tx", "x") + numbers("cat", "45292", code="yyyy\\-mm\\-dd") + numbers("val", "1")
    )
    assert rows(found) == [["", "x"], ["2024-01-01", "1"]]


def test_points_of_series_with_different_categories_stand_each_in_a_row() -> None:
    found = chart(
        "bubbleChart",
        strings("tx", "A") + numbers("xVal", "1", "2") + numbers("yVal", "5", "6") + numbers("bubbleSize", "9", "8"),
        strings("tx", "B") + numbers("xVal", "3") + numbers("yVal", "7"),
    )
    assert rows(found) == [
        ["", "x", "y", "size"], ["A", "1", "5", "9"], ["A", "2", "6", "8"], ["B", "3", "7", ""],
    ]  # fmt: skip


def test_categories_of_several_levels_are_joined() -> None:
    outer = '<c:pt idx="0"><c:v>2022</c:v></c:pt><c:pt idx="2"><c:v>2023</c:v></c:pt>'
    levels = f"<c:lvl>{points('Q1', 'Q2', 'Q1')}</c:lvl><c:lvl>{outer}</c:lvl>"
    category = f"<c:cat><c:multiLvlStrRef><c:multiLvlStrCache>{levels}</c:multiLvlStrCache></c:multiLvlStrRef></c:cat>"
    found = chart("barChart", strings("tx", "x") + category + numbers("val", "1", "2", "3"))
    assert [row[0] for row in rows(found)] == ["", "2022 / Q1", "2022 / Q2", "2023 / Q1"]


def test_a_chart_without_values_has_no_table() -> None:
    found = chart("pieChart", "<c:tx/>", top=title("Empty"))
    assert (found.title, found.table) == ("Empty", None)


def test_newer_kinds_of_charts() -> None:
    text = (
        f'<cx:chartSpace xmlns:cx="{CX}" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"><cx:chartData>'
        '<cx:data id="0"><cx:strDim type="cat"><cx:lvl><cx:pt idx="0">Start</cx:pt><cx:pt idx="1">End</cx:pt></cx:lvl>'
        '</cx:strDim><cx:numDim type="val"><cx:lvl formatCode="0.0"><cx:pt idx="0">4</cx:pt><cx:pt idx="1">-1</cx:pt>'
        "</cx:lvl></cx:numDim></cx:data></cx:chartData><cx:chart><cx:title><cx:tx><cx:rich><a:p><a:r><a:t>Flow</a:t>"
        "</a:r></a:p></cx:rich></cx:tx></cx:title><cx:plotArea><cx:plotAreaRegion><cx:series><cx:tx><cx:txData>"
        '<cx:v>Stock</cx:v></cx:txData></cx:tx><cx:dataId val="0"/></cx:series></cx:plotAreaRegion></cx:plotArea>'
        "</cx:chart></cx:chartSpace>"
    )
    found = read_chart(etree.fromstring(text))
    assert rows(found) == [["", "Stock"], ["Start", "4.0"], ["End", "-1.0"]]
    assert found.title == "Flow"


def test_hostile_indices_make_no_large_table() -> None:
    wild = '<c:pt idx="999999999"><c:v>1</c:v></c:pt><c:pt idx="-1"><c:v>2</c:v></c:pt><c:pt idx="x"/>'
    wild = f"<c:val><c:numLit>{wild}</c:numLit></c:val>"
    assert rows(chart("barChart", wild)) == [["", ""], ["", "1"]]


def test_more_points_than_a_canon_carries_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grids, "MAX_CELLS", 10)
    with pytest.raises(DocumentError) as raised:
        chart("barChart", numbers("val", *["1"] * 20))
    assert raised.value.problem == "too_large"
