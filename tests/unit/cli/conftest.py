"""The command in this process, without a broker: its settings come from nowhere but the test."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from streams.cli import main


class Said(NamedTuple):
    """What a command said."""

    status: int
    out: str
    err: str


Canonry = Callable[..., Said]


@pytest.fixture
def canonry(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, clean_environment: None
) -> Canonry:
    """Runs `canonry ARGS` in an empty folder, with these variables."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CANONRY_DATA_DIR", str(tmp_path / "data"))

    def run(*args: str, **variables: str) -> Said:
        with monkeypatch.context() as patch:
            for name, value in variables.items():
                patch.setenv(name, value)
            patch.setattr(sys, "argv", ["canonry", *args])
            with pytest.raises(SystemExit) as ended:
                main()
        out, err = capsys.readouterr()
        status = ended.value.code
        assert isinstance(status, int)
        return Said(status, out, err)

    return run


@pytest.fixture
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No setting of whoever runs the tests."""
    for name in os.environ:
        if name.startswith("CANONRY_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("COLUMNS", "200")
