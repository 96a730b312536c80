"""Rows of dots in what an engine read, without the engine."""

from __future__ import annotations

from streams.extract.recognise.engine import SeenLine, SeenWord
from streams.extract.recognise.leaders import LEADER, without_leaders


def _line(*words: tuple[str, float, int, int]) -> SeenLine:
    """Words with confidence, width and height, one beside the other, in type of 40 pixels."""
    made, x = [], 0.0
    for text, sure, width, height in words:
        made.append(SeenWord(text, (x, 40.0 - height, x + width, 40.0), sure))
        x += width + 10
    return SeenLine(words=made, box=(0, 0, x, 40), base=38, size=40)


def _read(*words: tuple[str, float, int, int]) -> list[tuple[str, float]]:
    (line,) = without_leaders([_line(*words)])
    return [(word.text, round(word.confidence, 2)) for word in line.words]


def test_dots_read_as_letters_become_one_row() -> None:
    found = _read(("Notices", 0.9, 146, 31), ("©...", 0.0, 92, 4), ("tet", 0.09, 1371, 4), ("eee", 0.22, 100, 48))
    assert found == [("Notices", 0.9), (LEADER, 1.0)]


def test_the_page_number_behind_the_dots_stays() -> None:
    found = _read(("Preface", 0.93, 146, 31), ("0.0...", 0.0, 1394, 4), ("eet", 0.06, 332, 48), ("xi", 0.95, 26, 30))
    assert found == [("Preface", 0.93), (LEADER, 1.0), ("xi", 0.95)]


def test_a_word_glued_to_the_dots_is_set_free_and_as_sure_as_its_neighbours() -> None:
    found = _read(("Access", 0.9, 143, 31), ("Control.................0", 0.0, 900, 32), ("00", 0.0, 56, 48))
    assert found == [("Access", 0.9), ("Control", 0.9), (LEADER, 1.0)]


def test_lines_without_dots_are_left_alone() -> None:
    lines = [
        _line(("well...", 0.9, 120, 31), ("maybe", 0.3, 100, 20), ("eee", 0.2, 60, 22)),
        _line(("a", 0.9, 20, 22), ("-", 0.8, 15, 4), ("b", 0.9, 20, 22)),
        _line(("low", 0.2, 60, 30), ("quality", 0.3, 90, 30)),
    ]
    assert without_leaders(lines) == lines


def test_a_line_of_dots_alone_has_no_letters_left() -> None:
    assert _read(("eee", 0.1, 900, 4), ("ccc", 0.2, 100, 40)) == [(LEADER, 1.0)]
