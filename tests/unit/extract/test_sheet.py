"""Workbooks: values as shown, hidden parts marked, regions as tables; nothing lost, nothing twice."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from streams.extract.render import table_records, table_rows
from streams.records import Block, BlockKind, CanonBody
from tests.unit.extract.drafts import kinds
from tests.unit.extract.sheet_files import MAIN, RELS, make, read, rows, sheet, styles


def tables(body: CanonBody) -> list[list[list[str]]]:
    """All tables as rows of text."""
    return [table_rows(table) for table in body.tables]


def table_blocks(body: CanonBody) -> list[Block]:
    return [block for block in body.blocks if block.kind is BlockKind.TABLE]


# --- values ----------------------------------------------------------------------------------------------------------


def test_values_are_shown_as_their_formats_say(tmp_path: Path) -> None:
    formats = styles("0.0%", "yyyy-mm-dd", '#,##0.00 "€"', "0;-0;;@")
    data = rows(
        ["Share", "Day", "Price", "Plain", "Flag"],
        [0.062, 44197, 1234.5, 0.1, True],
        [1, 44198.5, -2, 7, False],
        styles={(row, col): col + 1 for row in (1, 2) for col in (0, 1, 2)},
    )
    body = read(make(tmp_path / "a", sheet(data), parts={"xl/styles.xml": formats}))
    assert table_records(body.tables[0]) == [
        {"Share": "6.2%", "Day": "2021-01-01", "Price": "1,234.50 €", "Plain": "0.1", "Flag": "TRUE"},
        {"Share": "100.0%", "Day": "2021-01-02", "Price": "-2.00 €", "Plain": "7", "Flag": "FALSE"},
    ]


def test_na_zero_true_and_empty_stay_themselves(tmp_path: Path) -> None:
    error = '<c r="C2" t="e"><v>#N/A</v></c>'
    body = read(
        make(tmp_path / "a", sheet(rows(["a", "b", "c", "d"], ["NA", 0, error, None], ["NULL", "", "nan", "TRUE"])))
    )
    assert tables(body)[0][1:] == [["NA", "0", "#N/A", ""], ["NULL", "", "nan", "TRUE"]]


@pytest.mark.parametrize("flag", ["1", "true"])
def test_the_epoch_is_the_workbooks_own(tmp_path: Path, flag: str) -> None:
    data = rows(["Day", "n"], [42735, 1], styles={(1, 0): 1})
    body = read(
        make(
            tmp_path / "a",
            sheet(data),
            workbook=f'<workbookPr date1904="{flag}"/>',
            parts={"xl/styles.xml": styles("dd.mm.yy")},
        )
    )
    assert tables(body)[0][1] == ["2021-01-01", "1"]


def test_shared_strings_keep_runs_and_lose_phonetics(tmp_path: Path) -> None:
    strings = (
        f'<sst xmlns="{MAIN}"><si><t>plain</t></si><si><r><t>two </t></r><r><rPr><b/></rPr><t>runs</t></r></si>'
        "<si><t>漢字</t><rPh sb='0' eb='2'><t>かんじ</t></rPh></si><si><t>a_x000D_b</t></si></sst>"
    )
    data = "".join(
        f'<row r="{n + 1}"><c r="A{n + 1}" t="s"><v>{n}</v></c><c r="B{n + 1}"><v>{n}</v></c></row>' for n in range(5)
    )
    body = read(make(tmp_path / "a", sheet(data), parts={"xl/sharedStrings.xml": strings}))
    assert [row[0] for row in tables(body)[0]] == ["plain", "two runs", "漢字", "a\nb", "\ufffd"]
    assert "string_missing" in body.warnings


def test_formulas_without_a_value_are_flagged(tmp_path: Path) -> None:
    data = rows(["a", "b"], [1, '<c r="B2"><f>SUM(A1:A2)</f></c>'], [2, '<c r="B3"><f>A3*2</f><v>4</v></c>'])
    body = read(make(tmp_path / "a", sheet(data)))
    assert tables(body)[0] == [["a", "b"], ["1", "=SUM(A1:A2)"], ["2", "4"]]
    assert "formula_without_value" in body.warnings
    assert body.metadata["formulas_without_value"] == "1"


def test_values_that_a_format_hides_are_counted(tmp_path: Path) -> None:
    data = rows(["a", "b"], [0, 5], [3, 6], styles={(1, 0): 1, (2, 0): 1})
    body = read(make(tmp_path / "a", sheet(data), parts={"xl/styles.xml": styles("0;-0;;@")}))
    assert tables(body)[0] == [["a", "b"], ["", "5"], ["3", "6"]]
    assert body.metadata["values_not_shown"] == "1"


def test_cells_without_a_place_stand_behind_empty_ones(tmp_path: Path) -> None:
    def plain(*texts: str) -> str:
        return "".join(f'<c t="inlineStr"><is><t>{text}</t></is></c>' if text else '<c s="0"/>' for text in texts)

    data = f"<row>{plain('Item', '', 'Price')}</row><row>{plain('Chair', 'oak', '20')}</row>"
    data += f"<row>{plain('', 'ash', '50')}</row>"
    assert tables(read(make(tmp_path / "a", sheet(data)))) == [
        [["Item", "", "Price"], ["Chair", "oak", "20"], ["", "ash", "50"]]
    ]


# --- sheets ----------------------------------------------------------------------------------------------------------


def test_sheets_are_sections_and_empty_ones_are_none(tmp_path: Path) -> None:
    body = read(
        make(tmp_path / "a", sheet(rows(["x", "y"], [1, 2])), sheet(""), sheet(rows(["only"])), names=["A", "B", "C"])
    )
    assert [(b.kind.value, b.text.split("\n")[0], b.section) for b in body.blocks] == [
        ("heading", "A", []),
        ("table", "x\ty", ["A"]),
        ("heading", "C", []),
        ("paragraph", "only", ["C"]),
    ]
    assert body.metadata["empty_sheets"] == "1"


def test_hidden_sheets_are_read_and_marked(tmp_path: Path) -> None:
    data = [sheet(rows([name, "x"], [1, 2])) for name in ("open", "hidden", "very")]
    body = read(make(tmp_path / "a", *data, states={1: "hidden", 2: "veryHidden"}))
    assert [(b.text.split("\t")[0], b.hidden) for b in table_blocks(body)] == [
        ("open", False),
        ("hidden", True),
        ("very", True),
    ]
    assert "hidden_sheets" in body.warnings
    assert (body.metadata["hidden_sheets"], body.metadata["very_hidden_sheets"]) == ("1", "1")


def test_hidden_rows_are_a_table_of_their_own_and_part_nothing(tmp_path: Path) -> None:
    data = rows(["a", "b"], [1, 2]) + '<row r="3" hidden="1"><c r="A3"><v>9</v></c><c r="B3"><v>8</v></c></row>'
    body = read(make(tmp_path / "a", sheet(data + rows([3, 4], first=3))))
    assert tables(body) == [[["a", "b"], ["1", "2"], ["3", "4"]], [["9", "8"]]]
    assert [b.hidden for b in table_blocks(body)] == [False, True]
    assert "hidden_rows" in body.warnings


def test_hidden_columns_stay_in_their_rows_and_are_told(tmp_path: Path) -> None:
    body = read(
        make(
            tmp_path / "a",
            sheet(rows(["a", "b", "c"], [1, 2, 3]), before='<cols><col min="2" max="2" hidden="1"/></cols>'),
        )
    )
    assert tables(body)[0] == [["a", "b", "c"], ["1", "2", "3"]]
    assert body.metadata["hidden_columns"] == "Sheet1: B"
    assert "hidden_columns" in body.warnings


def test_comments_and_threads_are_bound_to_their_table(tmp_path: Path) -> None:
    comments = (
        f'<comments xmlns="{MAIN}"><authors><author>Ann</author><author>tc={{1}}</author></authors><commentList>'
        '<comment ref="B2" authorId="0"><text><r><t>Look here</t></r></text></comment>'
        '<comment ref="A1" authorId="1"><text><t>[Threaded comment] for old programs</t></text></comment>'
        "</commentList></comments>"
    )
    threads = (
        '<ThreadedComments xmlns="http://schemas.microsoft.com/office/spreadsheetml/2018/threadedcomments">'
        '<threadedComment ref="A1" personId="p"><text>Why?</text></threadedComment>'
        '<threadedComment ref="A1" personId="p"><text>Because.</text></threadedComment></ThreadedComments>'
    )
    related = (
        f'<Relationship Id="c" Type="{RELS}/comments" Target="/xl/comments1.xml"/><Relationship Id="t" '
        'Type="http://schemas.microsoft.com/office/2017/10/relationships/threadedComment" Target="/xl/threads.xml"/>'
    )
    body = read(
        make(
            tmp_path / "a",
            sheet(rows(["a", "b"], [1, 2])),
            sheet_rels={0: related},
            parts={"xl/comments1.xml": comments, "xl/threads.xml": threads},
        )
    )
    found = [block for block in body.blocks if block.kind is BlockKind.COMMENT]
    assert [block.text for block in found] == ["A1: Why?", "A1: Because.", "B2, Ann: Look here"]
    assert {block.ref for block in found} == {table_blocks(body)[0].id}


def test_defined_names_and_links(tmp_path: Path) -> None:
    names = (
        '<definedNames><definedName name="Rate">Sheet1!$B$2</definedName>'
        '<definedName name="_xlnm.Print_Area">Sheet1!$A$1</definedName></definedNames>'
    )
    body = read(
        make(
            tmp_path / "a",
            sheet(
                rows(["Name", "n"], ["Site", 2]),
                after='<hyperlinks><hyperlink ref="A2" r:id="h"/>'
                '<hyperlink ref="B2" location="Other!A1"/></hyperlinks>',
            ),
            workbook=names,
            sheet_rels={
                0: f'<Relationship Id="h" Type="{RELS}/hyperlink" Target="http://example.org/" TargetMode="External"/>'
            },
        )
    )
    assert body.metadata["defined_names"] == "Rate = Sheet1!$B$2"
    assert [(link.text, link.target) for link in table_blocks(body)[0].links] == [
        ("Site", "http://example.org/"),
        ("2", "#Other!A1"),
    ]


# --- regions ---------------------------------------------------------------------------------------------------------


def test_regions_are_tables_of_their_own(tmp_path: Path) -> None:
    data = rows(
        ["a", "b", None, "p", "q", "r"],
        [1, 2, None, 7, 8, 9],
        [3, 4, None, 7, 8, 9],
        None,
        None,
        ["x", "y", "z"],
        [5, 6, 7],
    )
    assert tables(read(make(tmp_path / "a", sheet(data)))) == [
        [["a", "b"], ["1", "2"], ["3", "4"]],
        [["p", "q", "r"], ["7", "8", "9"], ["7", "8", "9"]],
        [["x", "y", "z"], ["5", "6", "7"]],
    ]


def test_an_empty_row_alone_ends_no_table(tmp_path: Path) -> None:
    data = rows(["a", "b", "c"], [1, 2, 3], ["x", 2, 3], None, ["y", 4, 5], ["z", 4, 5])
    assert len(read(make(tmp_path / "a", sheet(data))).tables) == 1


def test_an_empty_column_inside_a_table_is_part_of_it(tmp_path: Path) -> None:
    data = rows(["Item", "Kind", None, "n"], ["a", "b", None, 1], ["c", "d", None, 2])
    assert tables(read(make(tmp_path / "a", sheet(data))))[0][1] == ["a", "b", "", "1"]


def test_titles_are_captions_and_remarks_are_paragraphs(tmp_path: Path) -> None:
    data = rows(
        ["Report of the year"],
        ["Yield by variety"],
        ["Variety", "Trees"],
        ["Goldmine", 40],
        ["Redcap", 25],
        ["Source: the orchard's own counting, without windfall"],
    )
    body = read(make(tmp_path / "a", sheet(data, after='<mergeCells><mergeCell ref="A2:B2"/></mergeCells>')))
    assert kinds(body)[1:] == [
        ("paragraph", "Report of the year"),
        ("caption", "Yield by variety"),
        ("table", "Variety\tTrees\nGoldmine\t40\nRedcap\t25"),
        ("paragraph", "Source: the orchard's own counting, without windfall"),
    ]
    assert body.tables[0].caption == "Yield by variety"
    assert body.blocks[2].ref == body.blocks[3].id
    assert table_records(body.tables[0])[1] == {"Variety": "Redcap", "Trees": "25"}


def test_lines_of_text_below_each_other_are_no_table(tmp_path: Path) -> None:
    assert kinds(read(make(tmp_path / "a", sheet(rows(["One."], ["Two."])))))[1:] == [
        ("paragraph", "One."),
        ("paragraph", "Two."),
    ]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (rows(["Name", "n"], ["a", 1], ["b", 2]), 1),
        (rows(["Tool", "Place"], ["saw", "hall"], ["drill", "yard"]), 1),
        (rows([1, 2], [3, 4], [5, 6]), 0),
        (rows(["Name", 2019, 2020], ["a", 1, 2], ["b", 3, 4]), 1),
        (rows(["a", "x"], ["a", "x"], ["a", "x"]), 0),
    ],
)
def test_header_rows_are_found(tmp_path: Path, data: str, expected: int) -> None:
    assert read(make(tmp_path / "a", sheet(data))).tables[0].header_rows == expected


def test_bold_above_plain_is_a_header(tmp_path: Path) -> None:
    data = rows([1, 2], [3, 4], [5, 6], styles={(0, 0): 1, (0, 1): 1})
    body = read(make(tmp_path / "a", sheet(data), parts={"xl/styles.xml": styles(bold=True)}))
    assert body.tables[0].header_rows == 0  # numbers name nothing, bold or not
    data = rows(["x", "x1"], ["x", "y"], ["x", "z"], styles={(0, 0): 1, (0, 1): 1})
    body = read(make(tmp_path / "a", sheet(data), parts={"xl/styles.xml": styles(bold=True)}))
    assert body.tables[0].header_rows == 1


def test_grouped_headers_are_two_rows(tmp_path: Path) -> None:
    data = rows(["Region", "Sales", None], [None, "2019 net", "2020 net"], ["north", 1, 2], ["south", 3, 4])
    merges = '<mergeCells><mergeCell ref="B1:C1"/><mergeCell ref="A1:A2"/></mergeCells>'
    table = read(make(tmp_path / "a", sheet(data, after=merges))).tables[0]
    assert table.header_rows == 2
    assert table_records(table)[0] == {"Region": "north", "Sales / 2019 net": "1", "Sales / 2020 net": "2"}


def test_declared_tables_say_their_headers(tmp_path: Path) -> None:
    table = f'<table xmlns="{MAIN}" ref="A1:B3" headerRowCount="1"/>'
    body = read(
        make(
            tmp_path / "a",
            sheet(rows([10, 20], [1, 2], [3, 4])),
            sheet_rels={0: f'<Relationship Id="t" Type="{RELS}/table" Target="/xl/tables/t.xml"/>'},
            parts={"xl/tables/t.xml": table},
        )
    )
    assert body.tables[0].header_rows == 1


def test_merged_cells_come_once_with_their_spans(tmp_path: Path) -> None:
    data = rows(["h", "i", "j"], ["wide", "hidden below", "c"], ["tall", 1, 2], [None, 3, 4])
    merges = '<mergeCells><mergeCell ref="A2:B2"/><mergeCell ref="A3:A4"/></mergeCells>'
    body = read(make(tmp_path / "a", sheet(data, after=merges)))
    assert [(c.row, c.col, c.row_span, c.col_span, c.text) for c in body.tables[0].cells][3:] == [
        (1, 0, 1, 2, "wide"),
        (1, 2, 1, 1, "c"),
        (2, 0, 2, 1, "tall"),
        (2, 1, 1, 1, "1"),
        (2, 2, 1, 1, "2"),
        (3, 1, 1, 1, "3"),
        (3, 2, 1, 1, "4"),
    ]
    assert [(d.what, d.count) for d in body.dropped] == [("covered_cell_text", 1)]


def test_properties_of_the_file(tmp_path: Path) -> None:
    core = (
        '<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties" '
        'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/"><dc:title>T</dc:title>'
        "<dc:creator>A;B</dc:creator><dcterms:created>2020-01-02T03:04:05Z</dcterms:created></cp:coreProperties>"
    )
    path = make(tmp_path / "a", sheet(rows(["x", 1])), parts={"docProps/core.xml": core})
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts["_rels/.rels"] = parts["_rels/.rels"].replace(
        b"</Relationships>",
        b'<Relationship Id="c" Type="http://schemas.openxmlformats.org/package/2006/relationships/metadata/'
        b'core-properties" Target="docProps/core.xml"/></Relationships>',
    )
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    body = read(path)
    assert (body.title, body.authors, body.created) == ("T", ["A", "B"], "2020-01-02T03:04:05Z")
