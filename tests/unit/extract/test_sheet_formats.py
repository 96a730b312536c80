"""Numbers as sheets show them. The pairs are those of ECMA-376 part 1, 18.8.31, and of everyday workbooks."""

from __future__ import annotations

import time

import pytest

from streams.extract.sheet_formats import BUILT_IN, general, is_date_format, serial_date, shown, shown_text


@pytest.mark.parametrize(
    ("value", "code", "expected"),
    [
        (1234.59, "####.#", "1234.6"),
        (8.9, "#.000", "8.900"),
        (0.631, "0.#", "0.6"),
        (12, "0.#", "12"),
        (1234.568, "#.0#", "1234.57"),
        (12000, "#,###", "12,000"),
        (12000, "#,", "12"),
        (12200000, "0.0,,", "12.2"),
        (0.062, "0.0%", "6.2%"),
        (0.5, "0%", "50%"),
        (6000, "#,##0", "6,000"),
        (-1234.5, "#,##0.00;(#,##0.00)", "(1,234.50)"),
        (-1234.5, "#,##0.00", "-1,234.50"),
        (0, '0;-0;"zero"', "zero"),
        (0, "0;-0;", ""),
        (-0.001, "0.0", "0.0"),
        (1.005, "0.00", "1.01"),
        (0.5, "0", "1"),
        (1234.5, "[$€-407] #,##0.00", "€ 1,234.50"),
        (1234.5, '#,##0.00\\ "€"', "1,234.50 €"),
        (1234.5, "[$-409]0.0", "1234.5"),
        (-5, "[Red]-0", "--5"),
        (-5, "0;[Red]-0", "-5"),
        (1500, '[>=1000]#,##0,"k";0', "2k"),
        (15, '[>=1000]#,##0,"k";0', "15"),
        (12345.678, "0.00E+00", "1.23E+04"),
        (0.00012, "0.00E+00", "1.20E-04"),
        (12345.678, "##0.0E+0", "12.3E+3"),
        (9.999, "0.0E+0", "1.0E+1"),
        (5.25, "# ?/?", "5 1/4"),
        (0.333, "# ??/??", "1/3"),
        (2, "# ?/?", "2"),
        (0.3, "# ?/8", "2/8"),
        (7, '"No. "000', "No. 007"),
        (42, "@", "42"),
        (1234567, "General", "1234567"),
        (3, 'General" pcs"', "3 pcs"),
        (1234.5, '_(* #,##0.00_);_(* \\(#,##0.00\\);_(* "-"??_);_(@_)', "1,234.50"),
        (0, '_(* #,##0.00_);_(* \\(#,##0.00\\);_(* "-"??_);_(@_)', "-"),
        (5, '"yes"', "yes"),
        (5, "", "5"),
    ],
)
def test_numbers(value: float, code: str, expected: str) -> None:
    assert shown(value, code) == (expected, "n")


@pytest.mark.parametrize(
    ("value", "code", "expected"),
    [
        (44197, "mm-dd-yy", "2021-01-01"),
        (44197, "d\\.m\\.yyyy", "2021-01-01"),
        (44197.75, "m/d/yy h:mm", "2021-01-01 18:00"),
        (44197.5, 'yyyy\\-mm\\-dd"T"hh:mm:ss', "2021-01-01 12:00:00"),
        (44197.999999, "yyyy-mm-dd hh:mm:ss", "2021-01-02 00:00:00"),
        (44197, "mmm-yy", "Jan-21"),
        (44197, "mmmm yyyy", "January 2021"),
        (44197, "d-mmm", "1-Jan"),
        (44197, "dddd", "Friday"),
        (44197, "yyyy", "2021"),
        (0.75, "h:mm", "18:00"),
        (0.75, "h:mm AM/PM", "6:00 PM"),
        (0.5, "[$-409]h:mm\\ A/P;@", "12:00 P"),
        (0.000694444, "mm:ss", "01:00"),
        (0.0000115741 * 1.5, "mm:ss.0", "00:01.5"),
        (1.5, "[h]:mm:ss", "36:00:00"),
        (10.6320601851852, "[hh]:mm:ss", "255:10:10"),
        (0.0104166667, "[m]", "15"),
        (60, "yyyy-mm-dd", "1900-02-28"),
        (61, "yyyy-mm-dd", "1900-03-01"),
        (1, "yyyy-mm-dd", "1900-01-01"),
    ],
)
def test_dates(value: float, code: str, expected: str) -> None:
    assert shown(value, code) == (expected, "d")


def test_the_1904_epoch_is_four_years_and_a_day_later() -> None:
    assert shown(42735, "yyyy-mm-dd", date_1904=True) == ("2021-01-01", "d")
    assert shown(0, "yyyy-mm-dd", date_1904=True) == ("1904-01-01", "d")


@pytest.mark.parametrize("value", [-1, 3_000_000, 1e300])
def test_what_is_no_date_is_shown_as_a_number(value: float) -> None:
    assert shown(value, "yyyy-mm-dd")[1] == "n"
    assert serial_date(value) is None


def test_numbers_beyond_numbers_are_errors() -> None:
    assert shown(float("nan"), "0") == ("#NUM!", "e")
    assert shown(float("inf"), "General") == ("#NUM!", "e")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.1 + 0.2, "0.3"),
        (1e20, "1E+20"),
        (1.5e-7, "0.00000015"),
        (1e-12, "1E-12"),
        (-2.50, "-2.5"),
        (1e14, "1" + "0" * 14),
    ],
)
def test_general(value: float, expected: str) -> None:
    assert general(value) == expected


def test_which_formats_are_dates() -> None:
    assert [is_date_format(code) for code in ("d", "[h]", "General", "0.0", "[Red]0", '"day" 0', "\\d0", "@")] == [
        True,
        True,
        *[False] * 6,
    ]
    assert all(is_date_format(BUILT_IN[number]) for number in (14, 22, 45, 46, 27, 58))


def test_text_takes_the_fourth_part() -> None:
    assert shown_text("x", '0;0;0;"<"@">"') == "<x>"
    assert shown_text("x", "0.00") == "x"
    assert shown_text("x", "@") == "x"


def test_hostile_formats_cost_little() -> None:
    began = time.process_time()
    for code in (
        "0." + "0" * 100_000,
        "[" * 50_000,
        '"' * 50_001,
        "#,##0" + "," * 5000,
        "E+" * 400,
        "/" * 500,
        "?/" * 400,
    ):
        shown(1234.5, code)
        shown(44197.123, code)
    assert time.process_time() - began < 2
