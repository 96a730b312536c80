"""What reaches a terminal or a program is text, whatever a document holds."""

from __future__ import annotations

import io
import json
import logging

import pytest

from streams.cli.output import safe, say, show_json, show_table, tell_progress

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


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("stream", "shown"), [(_Terminal(), "a\\x1b.pdf: pages to go: 3\n"), (io.StringIO(), "")])
def test_progress_is_shown_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, shown: str) -> None:
    monkeypatch.setattr("sys.stderr", stream)
    logger = logging.getLogger(f"tests.progress.{bool(shown)}")
    logger.propagate = False
    tell_progress(logger.name)
    logger.info("%s: pages to go: %d", "a\x1b.pdf", 3)
    assert stream.getvalue() == shown
