"""The measure of PDF readers: every reader in every round, and one that fails is said to."""

from __future__ import annotations

from pathlib import Path

import pymupdf

from bench.pdf import measure


def test_readers_in_turn_and_one_that_is_missing_is_said(tmp_path: Path) -> None:
    path = tmp_path / "letter.pdf"
    with pymupdf.open() as document:
        for _ in range(2):
            document.new_page().insert_text((72, 72), "The harbour was closed on Monday because of the storm.")
        document.save(path)
    result = measure([path], ["canonry", "pypdf"], tmp_path / "no peers", 2)
    assert result.values["pages"] == 2
    assert result.values["rounds"] == 2
    assert result.values["canonry"]["pages_per_cpu_second"] > 0
    canonry, missing = result.rows
    assert canonry[0] == "canonry"
    assert int(canonry[4]) == 2 * len("The harbour was closed on Monday because of the storm.")
    assert missing[:2] == ["pypdf", "failed"]
    assert "pypdf" not in result.values
