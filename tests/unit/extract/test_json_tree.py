"""JSON keeps its structure, its numbers to the last digit, and says what was wrong with it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from streams.errors import DocumentError
from streams.extract.json_values import Reading, compact, read
from streams.extract.render import table_rows
from streams.records import CanonBody
from tests.unit.extract.drafts import canon, kinds


def of(folder: Path, value: object) -> CanonBody:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return canon(folder, text, "application/json")


def lines(folder: Path, text: str) -> CanonBody:
    return canon(folder, text, "application/x-ndjson")


def test_members_are_fields_and_objects_sections(tmp_path: Path) -> None:
    body = of(tmp_path, {"name": "pump", "maker": {"city": "Ålesund", "site": {"zip": "06001"}}, "tags": ["a", "b"]})
    assert [(b.kind.value, b.text, b.section) for b in body.blocks] == [
        ("form_field", "name: pump", []),
        ("form_field", "tags: a, b", []),
        ("heading", "maker", []),
        ("form_field", "city: Ålesund", ["maker"]),
        ("heading", "site", ["maker"]),
        ("form_field", "zip: 06001", ["maker", "site"]),
    ]


def test_numbers_are_as_written(tmp_path: Path) -> None:
    body = of(tmp_path, '{"a": 1.10, "b": 123456789012345678901234567890, "c": 1E5, "d": -0.0, "e": NaN}')
    assert [b.text for b in body.blocks] == [
        "a: 1.10",
        "b: 123456789012345678901234567890",
        "c: 1E5",
        "d: -0.0",
        "e: NaN",
    ]
    assert "not_a_number" in body.warnings


def test_keys_that_come_twice_are_kept_and_flagged(tmp_path: Path) -> None:
    body = of(tmp_path, '{"id": 1, "id": 2}')
    assert [b.text for b in body.blocks] == ["id: 1", "id: 2"]
    assert "duplicate_keys" in body.warnings


def test_like_objects_are_a_table(tmp_path: Path) -> None:
    body = of(tmp_path, [{"id": 1, "at": {"x": 1.0, "y": 2.5}}, {"id": 2, "at": {"x": 3, "y": 4}, "tags": ["a", "b"]}])
    assert table_rows(body.tables[0]) == [
        ["id", "at.x", "at.y", "tags"],
        ["1", "1.0", "2.5", ""],
        ["2", "3", "4", "a, b"],
    ]
    assert body.tables[0].header_rows == 1


def test_objects_of_all_kinds_are_no_table(tmp_path: Path) -> None:
    body = of(tmp_path, [{"a": 1}, "word", [1, {"b": 2}]])
    assert body.tables == []
    assert ("heading", "2") in kinds(body)
    assert [b.section for b in body.blocks if b.text == "word"] == [["2"]]


def test_long_texts_are_paragraphs(tmp_path: Path) -> None:
    body = of(
        tmp_path, {"story": "It rained.\nThen it stopped.", "said": "the ferry leaves at nine on every day but Sunday"}
    )
    assert kinds(body) == [
        ("paragraph", "story:"),
        ("paragraph", "It rained.\nThen it stopped."),
        ("paragraph", "said: the ferry leaves at nine on every day but Sunday"),
    ]


@pytest.mark.parametrize(
    ("text", "problem", "where"),
    [
        ('{"a": [1, 2, {"b": "cc', "truncated", "line 1, column 20"),
        ('{"a": 1,', "truncated", "line 1, column"),
        ('{"a": 1,\n "b": x}', "parser_error", "line 2, column 7"),
        ("{} {}", "parser_error", "column 4"),
    ],
)
def test_what_is_no_json_says_where(tmp_path: Path, text: str, problem: str, where: str) -> None:
    with pytest.raises(DocumentError) as caught:
        of(tmp_path, text)
    assert caught.value.problem == problem
    assert where in caught.value.message


def test_depth_is_no_matter_of_the_stack(tmp_path: Path) -> None:
    body = of(tmp_path, "[" * 100_000 + "7" + "]" * 100_000)
    assert "too_deep" in body.warnings
    assert "7" in body.blocks[0].text
    deep = of(tmp_path, '{"k":' * 400 + "7" + "}" * 400)
    assert deep.blocks[-1].text.endswith("k: 7")


def test_long_paths_make_no_large_text(tmp_path: Path) -> None:
    inside = ",".join(f'"{n}": {n}' for n in range(2000))
    text = f'{{"{"k" * 100}":' * 300 + "{" + inside + "}" + "}" * 300
    body = of(tmp_path, text)
    assert sum(len(b.text) for b in body.blocks) < 40 * len(text)
    assert body.blocks[-1].text.endswith("1999: 1999")


def test_too_many_values_are_an_answer(tmp_path: Path) -> None:
    with pytest.raises(DocumentError) as caught:
        of(tmp_path, "[" + "0," * 3_100_000 + "0]")
    assert caught.value.problem == "too_large"


def test_empty_values_are_said(tmp_path: Path) -> None:
    assert kinds(of(tmp_path, "{}")) == [("paragraph", "{}")]
    assert kinds(of(tmp_path, {"a": [], "b": {}})) == [("form_field", "a: []"), ("form_field", "b: {}")]


def test_long_coordinates_are_counted_not_shown(tmp_path: Path) -> None:
    feature = {
        "type": "Feature",
        "properties": {"name": "Bay"},
        "geometry": {"coordinates": [[[n, n] for n in range(90)]]},
    }
    body = of(tmp_path, {"type": "FeatureCollection", "features": [feature, feature]})
    assert table_rows(body.tables[0])[1] == ["Feature", "Bay", "(90 positions)"]
    assert [(d.what, d.count) for d in body.dropped] == [("coordinates", 2)]


def test_lines_of_json_are_one_table_and_bad_ones_stay(tmp_path: Path) -> None:
    body = lines(tmp_path, '{"a":1,"b":2}\n\n{"a":3,"b":4}\n{"a":5,\n{"a":6,"b":7}\n')
    assert table_rows(body.tables[0])[1:] == [["1", "2"], ["3", "4"], ["6", "7"]]
    assert "bad_lines" in body.warnings
    assert body.metadata["bad_lines"] == "1"
    assert ("code", '{"a":5,') in kinds(body)


def test_no_line_of_json_at_all(tmp_path: Path) -> None:
    with pytest.raises(DocumentError) as caught:
        lines(tmp_path, "{\n{\n")
    assert caught.value.problem == "parser_error"


def test_notebooks_are_prose_and_code(tmp_path: Path) -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# Tides\n", "\n", "|a|b|\n", "|-|-|\n", "|1|2|\n"]},
        {
            "cell_type": "code",
            "source": "print(1)",
            "outputs": [
                {"output_type": "stream", "text": ["1\n"]},
                {"output_type": "display_data", "data": {"image/png": "aGk="}},
                {"output_type": "error", "ename": "KeyError", "evalue": "'x'"},
            ],
        },
    ]
    body = of(tmp_path, {"nbformat": 4, "metadata": {"language_info": {"name": "python"}}, "cells": cells})
    assert [(kind, text) for kind, text in kinds(body) if kind != "table"] == [
        ("heading", "Tides"),
        ("code", "print(1)"),
        ("code", "1"),
        ("code", "KeyError: 'x'"),
    ]
    assert table_rows(body.tables[0]) == [["a", "b"], ["1", "2"]]
    assert [(d.what, d.count) for d in body.dropped] == [("output_without_text", 1)]


def test_old_notebooks_have_worksheets(tmp_path: Path) -> None:
    cells = [{"cell_type": "heading", "level": 2, "source": "Sums"}, {"cell_type": "code", "input": "1 + 1"}]
    body = of(tmp_path, {"nbformat": 3, "worksheets": [{"cells": cells}]})
    assert [(b.kind.value, b.text, b.level) for b in body.blocks] == [("heading", "Sums", 2), ("code", "1 + 1", None)]


def test_values_are_written_as_they_were_read() -> None:
    text = '{"a":[1.50,null,true,{"b":"é\\"x"}],"a":{}}'
    assert compact(read(text, Reading())) == text
