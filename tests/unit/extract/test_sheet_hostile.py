"""Damaged and malicious workbooks: bounded time and memory, a clear problem, never an empty success."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from streams.errors import DocumentError
from streams.extract import grids, sheet_regions, sheet_xlsx_parts
from streams.extract.render import table_rows
from streams.extract.sheet_model import area_of, cell_name, cell_place
from tests.unit.extract.sheet_files import MAIN, make, read, rows, sheet, styles


def problem(path: Path) -> str:
    with pytest.raises(DocumentError) as caught:
        read(path)
    return caught.value.problem


def test_names_of_cells() -> None:
    for place in ((0, 0), (1, 25), (9, 26), (1048575, 16383)):
        assert cell_place(cell_name(*place)) == place
    for name in ("", "A", "1", "A0", "ZZZZ1", "A1048577", "1A", "A1B", "é1", "A" * 10_000):
        assert cell_place(name) is None
    area = area_of("B3:A1")
    assert area is not None
    assert (area.top, area.left, area.bottom, area.right) == (0, 0, 2, 1)


def test_rows_and_cells_that_can_not_be(tmp_path: Path) -> None:
    data = (
        '<row r="5"><c r="B5"><v>1</v></c><c r="A5"><v>2</v></c><c r="XFE5"><v>333</v></c><c><v>4</v></c></row>'
        '<row r="2"><c><v>5</v></c><c r="B9"><v>6</v></c></row><row r="99999999"><c><v>7</v></c></row>'
        '<row r="x"><c t="s"><v>-1</v></c><c t="s"><v>99</v></c><c><v>1e999</v></c><c s="99"><v>abc</v></c></row>'
    )
    body = read(make(tmp_path / "a", sheet(data)))
    assert {"impossible_row", "impossible_cell", "string_missing"} <= set(body.warnings)
    text = "\n".join("\t".join(row) for table in body.tables for row in table_rows(table))
    assert all(value in text for value in ("1", "4", "5", "6", "7", "#NUM!", "abc"))
    assert "333" not in text


def test_entities_are_not_followed(tmp_path: Path) -> None:
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">' + "".join(
        f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 10}">' for n in range(9)
    )
    data = bomb + "]>" + sheet('<row><c t="str"><v>&j;</v></c><c><v>1</v></c></row><row><c><v>2</v></c></row>')
    path = make(tmp_path / "a", data)
    begun = time.process_time()
    try:
        body = read(path)
    except DocumentError as error:
        ended = error.problem
    else:
        ended = "text" if any("aaaa" in block.text for block in body.blocks) else "ready"
    assert ended in ("ready", "corrupt")
    assert time.process_time() - begun < 5


def test_merges_without_measure(tmp_path: Path) -> None:
    merges = '<mergeCell ref="A1:XFD1048576"/>' + "".join(
        f'<mergeCell ref="A{n}:XFD{n + 9}"/>' for n in range(1, 30_000)
    )
    data = "".join(f'<row r="{n}"><c r="A{n}"><v>{n}</v></c></row>' for n in range(1, 20_000))
    begun = time.process_time()
    body = read(make(tmp_path / "a", sheet(data, after=f"<mergeCells>{merges}</mergeCells>")))
    assert time.process_time() - begun < 20
    assert "merges_not_read" in body.warnings


def test_a_checkerboard_is_one_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sheet_regions, "MAX_REGIONS", 20)
    data = "".join(f'<row r="{n}"><c r="A{n}"><v>{n}</v></c><c r="C{n}"><v>{n}</v></c></row>' for n in range(1, 300, 3))
    assert len(read(make(tmp_path / "a", sheet(data))).tables) == 1


def test_too_many_cells_and_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grids, "MAX_CELLS", 20_000)
    row = "<row>" + "<c><v>1</v></c>" * 1000 + "</row>"
    assert problem(make(tmp_path / "cells", sheet(row * 21))) == "too_large"
    monkeypatch.setattr(sheet_xlsx_parts, "MAX_UNPACKED", 1_000_000)
    assert problem(make(tmp_path / "bomb", sheet("<row/>" * 200_000))) == "bomb"


def test_a_sheet_that_breaks_off_gives_what_there_is(tmp_path: Path) -> None:
    whole = sheet(rows(["a", "b"], [1, 2]))
    body = read(make(tmp_path / "a", whole, sheet(rows(["c", "d"], [3, 4]))[:-60]))
    assert "sheet_damaged" in body.warnings
    assert table_rows(body.tables[0]) == [["a", "b"], ["1", "2"]]
    assert problem(make(tmp_path / "b", "<worksheet>")) == "corrupt"


def test_damage_ends_in_a_canon_or_a_problem(tmp_path: Path) -> None:
    strings = f'<sst xmlns="{MAIN}"><si><t>x</t></si></sst>'
    parts = {"xl/styles.xml": styles("0.0%"), "xl/sharedStrings.xml": strings}
    good = make(
        tmp_path / "good",
        sheet(rows(["a", "b"], [1, '<c r="B2" t="s" s="1"><v>0</v></c>'])),
        sheet(rows(["c"])),
        parts=parts,
    ).read_bytes()
    dice = random.Random(3)  # noqa: S311 - repeatable damage
    for _ in range(150):
        data = bytearray(good)
        for _ in range(dice.randint(1, 8)):
            data[dice.randrange(len(data))] = dice.randrange(256)
        (tmp_path / "bad").write_bytes(data)
        ended = "canon"
        try:
            read(tmp_path / "bad")
        except DocumentError as error:
            ended = error.problem
        assert ended in ("canon", "corrupt", "truncated", "encrypted", "too_large", "bomb")
