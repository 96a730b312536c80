"""Which pages are worth asking the layout model: short aligned pieces and rules, and no prose of any kind."""

from __future__ import annotations

import time
from collections.abc import Sequence

import pytest

from streams.extract.pdf_lines import Frame, Line
from streams.extract.pdf_table_signs import may_hold_tables
from streams.extract.tools.mupdf import Vector

FRAME = Frame(0, 595, 842)
SENTENCE = "the weather was fair and the boats went out again"


def line(u0: float, base: float, text: str, size: float = 10) -> Line:
    return Line(text, u0, base - 8, u0 + 5 * len(text), base + 2, base, size, bold=False, italic=False, mono=False)


def page(rows: Sequence[Sequence[tuple[float, str]]], leading: float = 13) -> list[Line]:
    return [line(u0, 100 + leading * index, text) for index, row in enumerate(rows) for u0, text in row]


def test_rows_of_short_pieces_are_a_sign() -> None:
    rows = [
        [(72, "oak"), (200, "12"), (300, "0.74")],
        [(72, "pine"), (200, "7"), (300, "1.2")],
        [(72, "ash"), (200, "3")],
    ]
    assert may_hold_tables(page(rows), [], FRAME)


def test_two_rows_of_many_short_pieces_are_a_sign() -> None:
    rows = [[(60 + 80 * c, str(2000 + c)) for c in range(6)], [(60 + 80 * c, f"{c},300") for c in range(6)]]
    assert may_hold_tables(page(rows), [], FRAME)


def test_a_key_beside_a_text_in_many_rows_is_a_sign() -> None:
    rows = [
        [(72, f"Clause {word}"), (180, SENTENCE)]
        for word in ["one", "two", "three", "four", "five", "six", "seven", "eight"]
    ]
    assert may_hold_tables(page(rows), [], FRAME)


def test_lines_of_values_made_of_blanks_are_a_sign() -> None:
    rows = [[(72, f"0.{n} ......  {n}00   {n}60   {n}12")] for n in range(1, 5)]
    assert may_hold_tables(page(rows), [], FRAME)


def test_three_rules_of_one_length_over_rows_of_pieces_are_a_sign() -> None:
    rows = [[(72, SENTENCE), (340, SENTENCE)] for _ in range(4)]
    rules = [Vector((70, v, 560, v + 0.5), 0, False) for v in (80, 108, 160)]
    assert may_hold_tables(page(rows), rules, FRAME)
    assert not may_hold_tables(page(rows), rules[:2], FRAME)


@pytest.mark.parametrize(
    "rows",
    [
        [[(72, SENTENCE * 2)] for _ in range(40)],
        [[(72, SENTENCE), (320, SENTENCE)] for _ in range(40)],
        [[(40, SENTENCE[:32]), (220, SENTENCE[:34]), (400, SENTENCE[:33])] for _ in range(40)],
        [[(72, f"{n}."), (90, SENTENCE)] for n in range(1, 30)],
        [[(72, f"[{n}]"), (95, SENTENCE)] if n % 3 == 0 else [(95, SENTENCE)] for n in range(60)],
    ],
    ids=["one column", "two columns", "three columns", "numbered list", "references"],
)
def test_prose_is_no_sign(rows: list[list[tuple[float, str]]]) -> None:
    assert not may_hold_tables(page(rows), [], FRAME)


def test_pieces_far_from_one_another_are_no_run() -> None:
    rows = [[(72, "12"), (300, "left")], [(72, "13"), (300, "right")], [(72, "14"), (300, "left")]]
    assert not may_hold_tables(page(rows, leading=200), [], FRAME)


def test_many_pieces_in_many_rows_take_no_time() -> None:
    wide = [[(float(u), SENTENCE) for u in range(0, 60_000, 300)] for _ in range(100)]
    started = time.process_time()
    may_hold_tables(page(wide), [], FRAME)
    assert time.process_time() - started < 2.0
