"""Plain text keeps its paragraphs, lines and pages."""

from __future__ import annotations

import time
from pathlib import Path

from streams.extract.finish import body_text
from tests.unit.extract.drafts import canon, kinds


def test_paragraphs_keep_their_lines(tmp_path: Path) -> None:
    body = canon(tmp_path, "one\r\n  two\r\n\r\n \t\r\nthree\n\n\n", "text/plain")
    assert kinds(body) == [("paragraph", "one\n  two"), ("paragraph", "three")]
    assert body.page_count is None
    assert body_text(body) == "one\n  two\n\nthree"


def test_underlined_lines_are_headings(tmp_path: Path) -> None:
    body = canon(tmp_path, "The ferry\n=========\nIt runs daily.\n\nTimes\n-----\n\nAt nine.\n", "text/plain")
    assert [(b.kind.value, b.level, b.section) for b in body.blocks] == [
        ("heading", 1, []),
        ("paragraph", None, ["The ferry"]),
        ("heading", 2, ["The ferry"]),
        ("paragraph", None, ["The ferry", "Times"]),
    ]


def test_rules_and_tables_of_dashes_are_no_headings(tmp_path: Path) -> None:
    body = canon(tmp_path, "a   b\n----------------------------\n1   2\n\n----\n\n-- \nAnna\n", "text/plain")
    assert {b.kind.value for b in body.blocks} == {"paragraph"}


def test_form_feeds_are_pages(tmp_path: Path) -> None:
    body = canon(tmp_path, "one\fTwo\n\nstill two\f\f", "text/plain")
    assert [(b.text, b.page) for b in body.blocks] == [("one", 1), ("Two", 2), ("still two", 2)]
    assert body.page_count == 2


def test_bytes_that_fit_no_character_are_flagged(tmp_path: Path) -> None:
    body = canon(tmp_path, b"good \xff bad", "text/plain")
    assert "invalid_bytes" in body.warnings
    assert body.confidence is not None
    assert body.confidence < 1


def test_nothing_but_blanks_has_no_blocks(tmp_path: Path) -> None:
    body = canon(tmp_path, " \n\n\t\n", "text/plain")
    assert body.blocks == []
    assert body.confidence is None


def test_one_long_line_is_quick_and_whole(tmp_path: Path) -> None:
    text = "word " * 200_000
    canon(tmp_path, "warm up", "text/plain")  # loads the language model
    began = time.perf_counter()
    body = canon(tmp_path, text, "text/plain")
    assert time.perf_counter() - began < 2
    assert [b.text for b in body.blocks] == [text.strip()]
