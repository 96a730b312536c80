"""What a PDF says about itself."""

from __future__ import annotations

import pytest

from streams.extract.pdf_info import parse_authors, parse_date, parse_language, parse_title


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("D:20230421160435Z00'00'", "2023-04-21T16:04:35Z"),
        ("D:20230421160435+02'00'", "2023-04-21T14:04:35Z"),
        ("D:20230421160435+0200", "2023-04-21T14:04:35Z"),
        ("D:20230421160435", "2023-04-21T16:04:35Z"),
        ("20230421", "2023-04-21T00:00:00Z"),
        ("D:2023", "2023-01-01T00:00:00Z"),
        ("D:20230231", None),
        ("D:20231301", None),
        ("D:20230421250000", None),
        ("D:20230421160435+99'00'", None),
        ("D:00000000000000", None),
        ("D:191010412093000", None),
        ("yesterday", None),
        ("Fri Apr 21 16:04:35 2023", None),
    ],
)
def test_dates(text: str, date: str | None) -> None:
    assert parse_date(text) == date


@pytest.mark.parametrize(
    ("text", "authors"),
    [
        ("Ada Smith", ["Ada Smith"]),
        ("Ada Smith; Bo Li;", ["Ada Smith", "Bo Li"]),
        ("Ada Smith, Bo Li and Cy Young", ["Ada Smith", "Bo Li", "Cy Young"]),
        ("Smith, Ada", ["Smith, Ada"]),
        ("Research and Development", ["Research and Development"]),
        ("", []),
    ],
)
def test_authors(text: str, authors: list[str]) -> None:
    assert parse_authors(text) == authors


@pytest.mark.parametrize(
    "text", ["", "  ", "untitled", "Microsoft Word - minutes.doc", "report.indd", "123-45", "Document1"]
)
def test_no_title(text: str) -> None:
    assert parse_title(text) is None


def test_title() -> None:
    assert parse_title(" Annual\n report ") == "Annual report"


@pytest.mark.parametrize(
    ("text", "language"), [("en-US", "en"), ("nl_NL", "nl"), ("DE", "de"), ("eng", None), (None, None)]
)
def test_language(text: str | None, language: str | None) -> None:
    assert parse_language(text) == language
