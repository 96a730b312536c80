"""Delimited values: the dialect is found, remarks stay beside the table, and every cell is as it was written."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from streams.errors import DocumentError
from streams.extract import csv_table
from streams.extract.csv_dialect import Dialect, Reader, find_dialect
from streams.extract.render import table_records, table_rows
from streams.records import CanonBody
from tests.unit.extract.drafts import canon, kinds


def csv(folder: Path, text: str | bytes, media_type: str = "text/csv", encoding: str = "utf-8") -> CanonBody:
    return canon(folder, text, media_type, encoding=encoding)


def rows(body: CanonBody, table: int = 0) -> list[list[str]]:
    return table_rows(body.tables[table])


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiters_are_found(tmp_path: Path, delimiter: str) -> None:
    lines = [["part", "size", "made"], ["bolt", "12", "2024-05-01"], ["nut", "7", "2024-05-02"]]
    body = csv(tmp_path, "".join(delimiter.join(line) + "\r\n" for line in lines))
    assert rows(body) == lines
    assert body.tables[0].header_rows == 1
    assert body.warnings == []


def test_quotes_hold_delimiters_line_ends_and_quotes(tmp_path: Path) -> None:
    body = csv(tmp_path, 'name,note\nAnna,"one, two\nthree"\nBob,"said ""no"""\n')
    assert rows(body) == [["name", "note"], ["Anna", "one, two\nthree"], ["Bob", 'said "no"']]


def test_decimal_commas_and_leading_zeros_stay(tmp_path: Path) -> None:
    body = csv(tmp_path, "Nr;Menge;Preis\n007;1,50;1.234,00\n008;2,25;NA\n009;0;\n")
    assert rows(body)[1:] == [["007", "1,50", "1.234,00"], ["008", "2,25", "NA"], ["009", "0", ""]]


def test_remarks_stand_above_and_below(tmp_path: Path) -> None:
    text = "Report of the week\nMade;03.02.2024\n\nday;level;note\n01.01.;1,5;\n02.01.;1,7;high\nSource: the harbour\n"
    body = csv(tmp_path, text)
    assert [(kind, text) for kind, text in kinds(body) if kind != "table"] == [
        ("paragraph", "Report of the week"),
        ("paragraph", "Made: 03.02.2024"),
        ("paragraph", "Source: the harbour"),
    ]
    assert table_records(body.tables[0])[1] == {"day": "02.01.", "level": "1,7", "note": "high"}


def test_the_line_of_excel_names_the_delimiter(tmp_path: Path) -> None:
    body = csv(tmp_path, "sep=|\na,b|c,d\n1,2|3,4\n")
    assert rows(body) == [["a,b", "c,d"], ["1,2", "3,4"]]
    assert body.metadata["delimiter"] == "|"


def test_uneven_rows_are_kept_and_flagged(tmp_path: Path) -> None:
    body = csv(tmp_path, "id,name,size\n1,a,2\n2,b\n3,c,4,5\n4,d,6\n")
    assert rows(body)[2:4] == [["2", "b", "", ""], ["3", "c", "4", "5"]]
    assert "ragged_rows" in body.warnings


@pytest.mark.parametrize("stray", ['Bob,"6" pipe', 'Bob,"open'])
def test_a_stray_quote_swallows_nothing(tmp_path: Path, stray: str) -> None:
    body = csv(tmp_path, f'name,size\nAnna,5\n{stray}\nCem,7\nDan,"8"\n')
    assert rows(body) == [["name", "size"], ["Anna", "5"], stray.split(","), ["Cem", "7"], ["Dan", "8"]]
    assert "stray_quote" in body.warnings


def test_quotes_escaped_by_a_backslash_leave_paths_alone(tmp_path: Path) -> None:
    body = csv(tmp_path, 'a,b\n1,"say \\"hi\\", you"\n2,"c:\\new\\dir"\n')
    assert rows(body)[1:] == [["1", 'say "hi", you'], ["2", "c:\\new\\dir"]]


def test_single_quotes_and_blanks_before_quotes(tmp_path: Path) -> None:
    assert rows(csv(tmp_path, "'a','b'\n'1, 2','x'\n'3','y'\n"))[1] == ["1, 2", "x"]
    assert rows(csv(tmp_path, 'a, b, c\n1, "x, y", 2\n3, "z, y", 4\n'))[1] == ["1", "x, y", "2"]


def test_regions_with_headers_of_their_own_are_tables_of_their_own(tmp_path: Path) -> None:
    body = csv(tmp_path, "id,name,size\n1,a,2\n2,b,3\n\ncity,people\nRome,300\nOslo,400\n")
    assert [(t.n_rows, t.n_cols) for t in body.tables] == [(3, 3), (3, 2)]


def test_an_empty_row_does_not_part_a_table(tmp_path: Path) -> None:
    body = csv(tmp_path, "id,name,size\n1,a,2\n,,\n2,b,3\n\n3,c,4\n")
    assert [t.n_rows for t in body.tables] == [4]


def test_no_header_is_made_up(tmp_path: Path) -> None:
    assert csv(tmp_path, "1,2.5,3\n4,5.5,6\n7,8.5,9\n").tables[0].header_rows == 0
    assert csv(tmp_path, "Jahr;2019;2020\nNord;1,5;2,5\nOst;3,5;4,5\n").tables[0].header_rows == 1


def test_one_column_is_a_table_and_a_letter_is_none(tmp_path: Path) -> None:
    assert rows(csv(tmp_path, "mail\na@example.org\nb@example.org\n"))[1] == ["a@example.org"]
    letter = "This went to the wrong place. " * 8
    body = csv(tmp_path, f"{letter}\n\n{letter}\n")
    assert body.tables == []
    assert "no_table" in body.warnings


def test_commas_of_prose_do_not_beat_tabs(tmp_path: Path) -> None:
    body = csv(tmp_path, "name\tsize\nSmith, John\t1,000\nDoe, Jane\t2,000\n", "text/tab-separated-values")
    assert rows(body)[1] == ["Smith, John", "1,000"]


def test_utf16_line_ends_inside_characters(tmp_path: Path) -> None:
    data = "﻿name,place\nĊensu,Ċirkewwa\nAna,Ħal\n".encode("utf-16-le")
    assert rows(csv(tmp_path, data, encoding="utf-16-le"))[1] == ["Ċensu", "Ċirkewwa"]


def test_too_many_cells_are_an_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_table, "MAX_CELLS", 10)
    monkeypatch.setattr("streams.extract.grids.MAX_CELLS", 10)
    with pytest.raises(DocumentError) as caught:
        csv(tmp_path, "a,b\n" + "1,2\n" * 10)
    assert caught.value.problem == "too_large"
    assert "has 22 cells and 44 characters; what fits is 10 cells" in caught.value.message


def test_too_much_text_is_an_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streams.extract.grids.MEMORY", 1000)
    with pytest.raises(DocumentError) as caught:
        csv(tmp_path, "a,b\n" + "long,text\n" * 10)
    assert caught.value.problem == "too_large"


def test_strays_cost_bounded_time() -> None:
    text = 'a,"b\n' * 100_000
    began = time.perf_counter()
    reader = Reader(text, Dialect(delimiter=","))
    assert sum(1 for _ in reader) == 100_000
    assert time.perf_counter() - began < 10
    assert reader.strays > 0


def test_a_cell_may_be_longer_than_the_readers_own_limit(tmp_path: Path) -> None:
    body = csv(tmp_path, "id,text\n1," + "long " * 60_000 + "\n2,short\n")
    assert len(rows(body)[1][1]) == 299_999


def test_dialects_without_any_delimiter() -> None:
    assert find_dialect("one\ntwo\nthree\n").delimiter is None
    assert find_dialect("").delimiter is None
