"""Digits among literals, fractions, powers of ten, and which part of a format serves a number.

The expected texts are those of LibreOffice 7.4 and Excel; where the two differ (signs under conditions, commas beside
literals), those of Excel.
"""

from __future__ import annotations

import time

import pytest

from streams.extract.sheet_formats import shown, shown_text


@pytest.mark.parametrize(
    ("value", "code", "expected"),
    [
        (2125551234, "(###) ###-####", "(212) 555-1234"),
        (2125551234.6, "(###) ###-####", "(212) 555-1235"),
        (12125551234, "(###) ###-####", "(1212) 555-1234"),
        (1234, "(###) ###-####", "() -1234"),
        (5551234, "[<=9999999]###-####;(###) ###-####", "555-1234"),
        (2125551234, "[<=9999999]###-####;(###) ###-####", "(212) 555-1234"),
        (123456789, "000-00-0000", "123-45-6789"),
        (123, "000-00-0000", "000-00-0123"),
        (12345678901, "000-00-0000", "12345-67-8901"),
        (-123456789, "000-00-0000", "-123-45-6789"),
        (123456789, "00000-0000", "12345-6789"),
        (20240131, r"0000\.00\.00", "2024.01.31"),
        (20240131, '0000"-"00"-"00', "2024-01-31"),
        (20240131, "0000/00/00", "2024/01/31"),
        (79161234567, "+0 (000) 000-00-00", "+7 (916) 123-45-67"),
        (1234, "00:00", "12:34"),
        (12.34, r"0\:00.0", "0:12.3"),
        (57, r"0\-0", "5-7"),
        (-57, r"0\-0", "-5-7"),
        (812, '0"/"00', "8/12"),
        (12, "0 000 000", "0 000 012"),
        (1234567.891, r"#\ ###\ ##0.00", "1 234 567.89"),
        (567, r"#\ ##0\ ###", "0 567"),
        (1234567, "#'###'##0", "1'234'567"),
        (5, "0#", "05"),
        (1234, "0x0", "123x4"),
    ],
)
def test_whole_digits_take_their_places_from_the_right(value: float, code: str, expected: str) -> None:
    assert shown(value, code) == (expected, "n")


@pytest.mark.parametrize(
    ("value", "code", "expected"),
    [
        (1.234, '0.0"a"00', "1.2a34"),
        (1.2, '0.0"a"0"b"', "1.2a0b"),
        (1.2, '0.0"a"##', "1.2a"),
        (1.25, '0"h".00', "1h.25"),
        (1.5, '0" pt". 0', "1 pt. 5"),
        (12.5, "0.0.0", "12.5.0"),
        (1.25, "0.00 - 0", "1.25 - 0"),
        (1.5, ".00", "1.50"),
        (-0.5, ".00", "-.50"),
        (1234.5, '"x".0', "x1234.5"),
        (3, "#,##0.00###", "3.00"),
    ],
)
def test_decimals_take_their_places_from_the_point(value: float, code: str, expected: str) -> None:
    assert shown(value, code) == (expected, "n")


@pytest.mark.parametrize(
    ("value", "code", "expected"),
    [
        (12345678, '0.0,,"M"', "12.3M"),
        (1234567, '0,"k"', "1235k"),
        (123456, "0,.00", "123.46"),
        (1234567.89, "0.0,0", "1234567.89"),
        (1234567.89, "0,,0", "1,234,568"),
        (1234567.89, '0,"x"0', "123456x8"),
        (1234567.89, '0"x",', "1234568x,"),
        (1234567.89, "0 , 0", "123456 , 8"),
        (1234567.89, '"x",0', "x,1234568"),
        (1234567, '#,##0" - "000', "1,234 - ,567"),
        (12, "00,000", "00,012"),
        (0.123, "%0.0", "%12.3"),
    ],
)
def test_commas_group_scale_or_stand_for_themselves(value: float, code: str, expected: str) -> None:
    assert shown(value, code) == (expected, "n")


@pytest.mark.parametrize(
    ("value", "code", "expected"),
    [
        (7, '"Nr. "0', "Nr. 7"),
        (-7, '"Nr. "0', "-Nr. 7"),
        (12, '0" %"', "12 %"),
        (0.12, "0 %", "12 %"),
        (-1234.5, '#,##0.00 "EUR"', "-1,234.50 EUR"),
        (1234.5, "_(* #,##0.00_)", "1,234.50"),
        (-1.5, "[Red]-0.0", "--1.5"),
        (-5, r"0;0\-", "5-"),
        (42, '@" x"', "42"),
    ],
)
def test_literals_stay_where_they_are(value: float, code: str, expected: str) -> None:
    assert shown(value, code) == (expected, "n")


@pytest.mark.parametrize(
    ("value", "code", "expected"),
    [
        (3.14159, 'General" kg"', "3.14159 kg"),
        (-1.5, 'General" kg"', "-1.5 kg"),
        (0.1, 'General" u"', "0.1 u"),
        (1e20, 'General" u"', "1E+20 u"),
        (-1.5, "General;-General", "-1.5"),
        (-1.5, "General;(General)", "(1.5)"),
        (-1.5, "General;General", "1.5"),
        (-1.5, "GENERAL", "-1.5"),
        (0, 'General;-General;"nil"', "nil"),
        (0.5, "General%", "50%"),
    ],
)
def test_general_among_literals_keeps_its_decimals(value: float, code: str, expected: str) -> None:
    assert shown(value, code) == (expected, "n")


@pytest.mark.parametrize(
    ("value", "code", "expected"),
    [
        (0.75, "??/??", "3/4"),
        (-1.75, "??/??", "-7/4"),
        (2, "??/??", "2/1"),
        (5.25, '#" "??/??" in"', "5 1/4 in"),
        (5.25, '"x" # ?/?" in"', "x 5 1/4 in"),
        (2, '# ?/?" in"', "2 in"),
        (2.5, "# ?/? x", "2 1/2 x"),
        (2.5, "# ?/ ?", "2 1/2"),
        (0, "# ?/?", "0"),
        (0.1, "0 ?/?", "0 1/9"),
        (-5.25, "# ?/?;(# ?/?)", "(5 1/4)"),
        (5.3, "# ??/100", "5 30/100"),
        (0.996, "# ?/?", "1"),
        (0, "(# ?/?)", "(0)"),
        (-0.01, "# ?/?", "0"),
    ],
)
def test_fractions_keep_the_words_around_them(value: float, code: str, expected: str) -> None:
    assert shown(value, code) == (expected, "n")


@pytest.mark.parametrize(
    ("value", "code", "expected"),
    [
        (12345, '0.00E+00" V"', "1.23E+04 V"),
        (12345, '"a"0.0E+0"b"', "a1.2E+4b"),
        (12000, "0.##E+00", "1.2E+04"),
        (-12345, "0.00E+00", "-1.23E+04"),
        (12345, "0.00E-00", "1.23E04"),
        (0.00123, "0.00E-00", "1.23E-03"),
        (0, "0.00E+00", "0.00E+00"),
        (123456, "##0.0E+0", "123.5E+3"),
        (12345.67, "000E+00", "012E+03"),
        (1000, "0E+0", "1E+3"),
        (1e-300, "0.0E+0", "1.0E-300"),
    ],
)
def test_powers_of_ten_keep_the_words_around_them(value: float, code: str, expected: str) -> None:
    assert shown(value, code) == (expected, "n")


@pytest.mark.parametrize(
    ("value", "code", "expected"),
    [
        (-12.5, "[<100]0.0;0", "-12.5"),
        (212.5, "[<100]0.0;0", "213"),
        (-5, '[<100]0"low";0', "-5low"),
        (-5, "[<=100]0.0;[>100]0", "-5.0"),
        (-5, "[>=100]0;[<50]0.0;0.00", "-5.0"),
        (-5, '[>=1000]0,"k";0', "-5"),
        (-5, '[=1]"one";0', "-5"),
        (-5, '[=1]"one";[=2]"two";0', "-5"),
        (-5, '[>=1000]0,"k";[<=-1000]-0,"k";0', "-5"),
        (-7000, '[>=1000]0,"k";[<=-1000]-0,"k";0', "-7k"),
        (-5, "[<0](0);0", "(5)"),
        (-5, "[>=0]0;(0)", "(5)"),
        (-5, "[>0]0;[<0](0);0.0", "(5)"),
        (-5, "[<>3]0.0;0", "-5.0"),
        (-5, "[>-10]0.0;0", "-5.0"),
        (-5, "[>100]0", "-5"),
        (50, "0;[=5]0.0;0.00", "50"),
        (-50, "0;[=5]0.0;0.00", "-50.00"),
        (-5, "[>100]0;0.0;0.00", "5.0"),
        (50, "[>100]0;0.0;0.00", "50.00"),
    ],
)
def test_a_minus_goes_only_where_the_condition_admits_nothing_but_negatives(
    value: float, code: str, expected: str
) -> None:
    assert shown(value, code) == (expected, "n")


@pytest.mark.parametrize(
    ("value", "code", "expected"),
    [(-5, "0.00;@", "-5.00"), (5, "0.00;@", "5.00"), (0, '"a"0;"b"0;@', "a0"), (-5, '"a"0;"b"0;@', "b5")],
)
def test_the_part_of_texts_serves_no_number(value: float, code: str, expected: str) -> None:
    assert shown(value, code) == (expected, "n")


@pytest.mark.parametrize("code", ["0.0 CHF", "#,##0.0' CHF'", "0 days", "#.0 mg"])
def test_a_number_with_an_unquoted_word_is_no_date(code: str) -> None:
    assert shown(1234.5, code) == ("1234.5", "n")


def test_many_places_cost_little() -> None:
    began = time.process_time()
    for code in ("0x" * 500, "#," * 500, "0," + "," * 998, "0." + '0"a"' * 250, "0" * 999 + "/0", "?/" + "?" * 998):
        for value in (1.5, -1e308, 5e-324):
            shown(value, code)
    assert time.process_time() - began < 2


def test_the_part_of_texts_may_stand_anywhere() -> None:
    assert shown_text("x", '@" y"') == "x y"
    assert shown_text("x", '0;"<"@">"') == "<x>"
    assert shown_text("x", '0;-0;"<"@">"') == "<x>"
    assert shown_text("x", "@@") == "xx"
