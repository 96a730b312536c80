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


def line(u0: float, base: float, text: str, size: float = 10, mono: bool = False) -> Line:
    return Line(text, u0, base - 8, u0 + 5 * len(text), base + 2, base, size, bold=False, italic=False, mono=mono)


def page(rows: Sequence[Sequence[tuple[float, str]]], leading: float = 13, mono: bool = False) -> list[Line]:
    return [line(u0, 100 + leading * index, text, mono=mono) for index, row in enumerate(rows) for u0, text in row]


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


def test_rules_drawn_in_parts_around_a_head_and_a_body_are_a_sign() -> None:
    rows = [[(72, "Item"), (120, SENTENCE)] for _ in range(20)]
    parts = [Vector((u0, v - 3, u1, v + 3), 0, True) for v in (88, 108, 360) for u0, u1 in ((70, 115), (115, 560))]
    numbered = [[(72, str(number)), *row[1:]] for number, row in enumerate(rows)]
    assert may_hold_tables(page(numbered), parts, FRAME)
    assert not may_hold_tables(page(numbered), parts[:4], FRAME)


def test_a_table_in_one_of_two_columns_is_a_sign() -> None:
    rows = [[(60, SENTENCE), (320, SENTENCE)] for _ in range(12)]
    rows += [[(60, SENTENCE), (320, "oak"), (400, f"{n}"), (460, f"0.{n}")] for n in range(3, 8)]
    assert may_hold_tables(page(rows), [], FRAME)


def test_rules_around_columns_of_prose_are_no_sign() -> None:
    rows = [[(60, SENTENCE), (320, SENTENCE)] for _ in range(40)]
    rules = [Vector((55, v, 570, v + 0.5), 0, False) for v in (85, 300, 700)]
    assert not may_hold_tables(page(rows), rules, FRAME)


def test_columns_of_prose_whose_lines_break_into_pieces_are_no_sign() -> None:
    rows = [[(60, "the last words."), (320, SENTENCE)] for _ in range(3)]
    rows += [[(60, SENTENCE), (320, SENTENCE)] for _ in range(20)]
    rows += [[(60, "previously"), (126, "known"), (167, "in-place"), (223, "range"), (320, SENTENCE)] for _ in range(8)]
    assert not may_hold_tables(page(rows), [], FRAME)


@pytest.mark.parametrize("start", [60, 320], ids=["page", "column"])
def test_a_listing_with_numbers_and_remarks_is_no_sign(start: float) -> None:
    rows = [[(start, str(n)), (start + 30, f"x{n} = f(x)"), (start + 130, "// so far")] for n in range(1, 30)]
    assert not may_hold_tables(page(rows, mono=True), [], FRAME)
    assert not may_hold_tables(page([row[:2] for row in rows], mono=True), [], FRAME)


def test_an_algorithm_between_rules_is_no_sign() -> None:
    steps = ["payload set S", "initial empty", "update add (e)", "let a = one()", "add a to S", "query size"]
    rows = [[(72, f"{n}:"), (100, step)] for n, step in enumerate(steps, 1)]
    rows += [[(72, "7: downstream (e, a)"), (380, "▷ all replicas")], [(100, "pre known (e)"), (380, "▷ delivered")]]
    rules = [Vector((70, v, 560, v + 0.5), 0, False) for v in (80, 94, 200)]
    assert not may_hold_tables(page(rows), rules, FRAME)
    assert not may_hold_tables(page(rows * 3), [], FRAME)


@pytest.mark.parametrize(
    "rows",
    [
        [[(72, SENTENCE * 2)] for _ in range(40)],
        [[(72, SENTENCE), (320, SENTENCE)] for _ in range(40)],
        [[(40, SENTENCE[:32]), (220, SENTENCE[:34]), (400, SENTENCE[:33])] for _ in range(40)],
        [[(72, f"{n}."), (90, SENTENCE)] for n in range(1, 30)],
        [[(72, f"[{n}]"), (95, SENTENCE)] if n % 3 == 0 else [(95, SENTENCE)] for n in range(60)],
        [[(72, "•"), (90, f"apples {n}")] for n in range(30)],
        [[(72, f"members({n})"), (150, "="), (165, "{q"), (185, "∈"), (200, "queries(L)}")] for n in range(12)],
        [[(72, "Anna Berg"), (300, "Carl Dahl")], [(72, "a@x.org"), (300, "c@x.org")]],
        [[(72, f"{90 - n}"), (300, f"{4 - n}")] for n in range(5)],
        [[(72, "\ufffd" * 5), (200, "\ufffd" * 8), (300, "\ufffd")] for n in range(12)],
    ],
    ids=[
        "one column",
        "two columns",
        "three columns",
        "numbered list",
        "references",
        "bullets",
        "formulas",
        "authors",
        "scales of two charts",
        "glyphs without names",
    ],
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
