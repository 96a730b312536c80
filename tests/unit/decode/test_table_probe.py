"""Tables by their rows and columns; prose, code and lists have delimiters, too."""

from __future__ import annotations

import time

import pytest

from streams.decode.table_probe import find_delimiter, table


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [
        ("id,name\n1,english\n2,中国人\n", ","),
        ("a\tb\n1\t2\n3\t4\n", "\t"),
        ("Datum;Betrag;Zweck\n01.02.2024;1.234,50;Miete\n02.02.2024;-12,00;Strom\n", ";"),
        ('"name","town"\n"A, B","x"\n"C","y ""z"""\n', ","),
        ("Export of 2024-04-19\n\nid,name,price\n1,a,2.50\n2,b,3.00\n3,c,4.00\n4,d,5.00\n5,e,6.00\n", ","),
        ("Year;Month;Costs;\n2022;1;-123;\n2023;2;143,1;\n2024;3;0;\n", ";"),
        ("Cups,,\nTeam,Town,Cups\nBlues,STL,1\nFlyers,PHI,2\nLeafs,TOR,13\nStars,DAL,1\nDucks,ANA,1\n", ","),
        ("when,open\n2020-01-01T15:00:00+03:00,true\n2020-01-02T15:00:00+03:00,false\n", ","),
        ("a|b|c\n1|2|3\n4|5|6\n7|8|9\n", "|"),
        ("x,y\r\n0.1,0.2\r\n0.3,0.4\r\n0.5,0.6\r\n", ","),
        ("city,country,river,mayor\nUlm,DE,Donau,A\nLinz,AT,Donau,B\nBasel,CH,Rhein,C\nKöln,DE,Rhein,D\n", ","),
    ],
)
def test_tables(text: str, delimiter: str) -> None:
    assert find_delimiter(text) == delimiter


@pytest.mark.parametrize(
    "text",
    [
        "Well, yes, no, and so on.\nOne, two, three, go.\n" * 5,
        "Dear Anna,\nthank you, Bert,\nfor the cake, and the tea.\n",
        "int a, b;\nint c, d;\nreturn a, b;\n" * 5,
        "def f(a, b):\n\treturn a\n\ndef g(c, d):\n\treturn c\n",
        "\tindented\n\ttext\n\tof three lines\n",
        "one line only, with a comma\n",
        "auth\t\tsufficient\tpam_one.so\nauth\t\tsufficient\tpam_two.so\nauth\t\trequired\tpam_three.so\n",
        "2024-04-19 10:00:00,123 INFO started, well\n2024-04-19 10:00:01,456 WARN a, b, c, d\nText of a trace\n" * 3,
        "Chapter 1 .... 5\nChapter 2 .... 9\n",
        "",
        "\n\n\n",
    ],
)
def test_no_tables(text: str) -> None:
    assert find_delimiter(text) is None


def test_the_name_is_believed_where_nothing_speaks_against_it() -> None:
    for text, name, media_type in (
        ("one column\nonly\n", "a.csv", "text/csv"),
        ("one column\nonly\n", "a.tsv", "text/tab-separated-values"),
    ):
        kind = table(text, name)
        assert kind is not None
        assert kind.media_type == media_type
    assert table("one column\nonly\n", "a.dat") is None


@pytest.mark.parametrize(
    "text", ['"' * 100_000, "1" * 100_000, ("1" * 200 + "x,") * 2000, ";  " * 50_000, "a,b\n" * 90_000]
)
def test_hostile_tables_cost_no_time(text: str) -> None:
    started = time.perf_counter()
    find_delimiter(text)
    assert time.perf_counter() - started < 1
