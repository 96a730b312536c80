"""`canonry replay` says what it needs before it asks any broker."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.cli.conftest import Canonry

NO_BROKER = {"CANONRY_BROKER": "127.0.0.1:1"}


@pytest.mark.parametrize("command", ["plan", "apply"])
@pytest.mark.parametrize("args", [(), ("--earliest", "--to-offset", "3"), ("--to-time", "yesterday")])
def test_one_way_to_say_what_comes_again(canonry: Canonry, command: str, args: tuple[str, ...]) -> None:
    said = canonry("replay", command, "decode", *args, **NO_BROKER)
    assert said.status == 2
    (line,) = said.err.splitlines()
    assert "Say what comes again with one of" in line or "'yesterday' is no time" in line


@pytest.mark.parametrize("content", [b"\n \n", b"\xff\xfe\x00"])
def test_a_file_without_names_is_no_file_of_names(canonry: Canonry, tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "ids"
    file.write_bytes(content)
    said = canonry("replay", "plan", "decode", "--ids", str(file), **NO_BROKER)
    assert said.status == 2
    assert str(file) in said.err


def test_a_stage_that_does_not_work_on_documents_takes_no_ids(canonry: Canonry, tmp_path: Path) -> None:
    file = tmp_path / "ids"
    file.write_text("share:one\n")
    said = canonry("replay", "plan", "provenance", "--ids", str(file), **NO_BROKER)
    assert said.status == 2
    assert "does not work on single documents" in said.err


def test_a_broker_that_does_not_answer_is_said_in_one_line(canonry: Canonry) -> None:
    said = canonry("replay", "plan", "decode", "--earliest", **NO_BROKER)
    assert said.status == 3
    assert "127.0.0.1:1" in said.err
