"""`canonry calibrate`: on a folder, and where it can't write what it was asked for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from streams.screen import read_policy
from tests.unit.cli.conftest import Canonry

TEXT = "The committee met on Tuesday and agreed that the harbour needs a new crane before the winter storms."


@pytest.fixture
def pile(tmp_path: Path) -> Path:
    folder = tmp_path / "pile"
    folder.mkdir()
    for number in range(3):
        (folder / f"good {number}.txt").write_text(f"{TEXT} It was meeting {number} of the year.\n")
    (folder / "bad <b>.txt").write_text(f"{TEXT}\n" * 60)
    return folder


def test_folder(pile: Path, tmp_path: Path, canonry: Canonry) -> None:
    html, policy = tmp_path / "scores.html", tmp_path / "policy.toml"
    said = canonry("calibrate", str(pile), "--json", "--html", str(html), "--write", str(policy))
    assert said.status == 0, said.err
    found = json.loads(said.out)
    assert (found["documents"], found["held"]) == (4, 1)
    rate = next(each for each in found["distributions"] if each["score"] == "dictionary_rate")
    assert (rate["limit_name"], rate["suggested"]) == ("min_dictionary_rate", None)  # four documents are too few
    assert [document["path"] for document in found["to_read"]] == [str(pile / "bad <b>.txt")]
    assert "bad &lt;b&gt;.txt" in html.read_text("utf-8")
    assert read_policy(policy).version == "2"


@pytest.mark.parametrize("option", ["--html", "--write"])
def test_what_cannot_be_written_is_said_before_anything_is_read(
    option: str, pile: Path, tmp_path: Path, canonry: Canonry
) -> None:
    nowhere = tmp_path / "nowhere" / "file"
    said = canonry("calibrate", str(pile), option, str(nowhere))
    assert (said.status, said.out) == (2, "")
    assert f"there is no folder {nowhere.parent}" in said.err
    taken = tmp_path / "taken"
    taken.write_text("mine")
    said = canonry("calibrate", str(pile), option, str(taken))
    assert (said.status, taken.read_text()) == (2, "mine")
    long = tmp_path / ("n" * 300)
    said = canonry("calibrate", str(pile), option, str(long))
    assert said.status == 2
    assert "File name too long" in said.err
    assert "Errno" not in said.err


def test_called_wrongly(pile: Path, canonry: Canonry) -> None:
    assert canonry("calibrate").status == 2
    assert canonry("calibrate", str(pile), "--catalog").status == 2


def test_nothing_to_measure_is_said(tmp_path: Path, canonry: Canonry) -> None:
    (tmp_path / "empty").mkdir()
    said = canonry("calibrate", str(tmp_path / "empty"))
    assert (said.status, said.err.strip()) == (1, "No document has scores.")
