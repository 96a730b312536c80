"""What reaches a terminal or a program is text, whatever a document holds."""

from __future__ import annotations

import json

import pytest

from streams.cli.output import safe, say, show_json, show_table

HOSTILE = "a\x1b[31mb\x07c\x9b2Jd\x7fe\r\u202ef\u2028g\udce9"


@pytest.mark.parametrize(
    "char", ["\x1b", "\x07", "\x00", "\r", "\x08", "\x7f", "\x9b", "\u202e", "\u2066", "\u2028", "\udce9"]
)
def test_what_steers_a_terminal_is_shown_as_an_escape(char: str) -> None:
    shown = safe(f"a{char}b")
    assert char not in shown
    assert "\\" in shown
    shown.encode()


@pytest.mark.parametrize(
    "text", ["plain", "two\nlines\tand a tab", "می\u200cخواهم", "👩\u200d🔬", "\ue000", "¡Ñandú!", "soft\xadhyphen"]
)
def test_letters_of_any_script_stay_as_they_are(text: str) -> None:
    assert safe(text) == text


def test_lines_tables_and_json_are_safe(capsys: pytest.CaptureFixture[str]) -> None:
    say(HOSTILE)
    show_table(["x"], [[HOSTILE], ["[bold]no markup[/bold]"]])
    show_json({"x": HOSTILE})
    out = capsys.readouterr().out
    assert not set(out) & set("\x1b\x07\x9b\x7f\r\u202e\u2028\udce9")
    assert "[bold]no markup[/bold]" in out
    assert json.loads(out.splitlines()[-1]) == {"x": HOSTILE}


def test_none_is_nothing() -> None:
    assert safe(None) == ""
