"""`canonry inspect` and `triage` on whatever lies in a folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Canonry

TEXT = "The committee met on Tuesday and agreed that the harbour needs a new crane before the winter storms.\n"


@pytest.fixture
def pile(tmp_path: Path) -> Path:
    """Files with names and texts that would steer a terminal, and entries that are no documents."""
    folder = tmp_path / "pile"
    folder.mkdir()
    (folder / "good.txt").write_text(TEXT)
    (folder / "empty.txt").write_bytes(b"")
    (folder / "new\nline\x1b[31m.txt").write_text(TEXT + "\x1b]0;owned\x07 bell\n" + TEXT)
    (folder / "brackets[bold].txt").write_text("[red]not markup[/red] " + TEXT)
    (folder / "broken-link").symlink_to(folder / "nowhere")
    os.mkfifo(folder / "pipe")
    with open(os.fsencode(folder) + b"/latin\xe9.txt", "wb") as file:
        file.write(TEXT.encode())
    return folder


def test_inspect_json_is_one_object_for_each_document(pile: Path, canonry: Canonry) -> None:
    said = canonry("inspect", "--json", str(pile))
    assert said.status == 0
    lines = [json.loads(line) for line in said.out.splitlines()]
    assert len(lines) == 7
    by_name = {line["name"]: line for line in lines}
    assert by_name["good.txt"]["outcome"] == "ready"
    assert by_name["good.txt"]["text"] == TEXT.strip()
    assert (by_name["empty.txt"]["outcome"], by_name["empty.txt"]["rule"]) == ("skipped", "empty_file")
    for name in ("broken-link", "pipe"):
        assert (by_name[name]["outcome"], by_name[name]["problems"]) == ("quarantined", ["unreadable"])
    assert all(line["outcome"] in ("ready", "quarantined", "skipped") for line in lines)


def test_what_was_left_out_is_told(tmp_path: Path, canonry: Canonry) -> None:
    page = tmp_path / "page.html"
    page.write_text(f"<title>Crane</title><body><p>{TEXT}</p><script>let a</script>")
    line = json.loads(canonry("inspect", "--json", str(page)).out)
    assert line["dropped"] == {"script": 1}
    assert "left out: 1 script" in canonry("inspect", str(page)).out


@pytest.mark.parametrize("args", [["inspect"], ["triage"]])
def test_names_and_texts_do_not_steer_the_terminal(args: list[str], pile: Path, canonry: Canonry) -> None:
    said = canonry(*args, str(pile))
    assert said.status == 0
    assert "\x1b" not in said.out + said.err
    assert "\x07" not in said.out + said.err
    (said.out + said.err).encode()  # no lone surrogates either


def test_inspect_of_what_is_not_there_is_an_outcome_with_a_reason(canonry: Canonry) -> None:
    (line,) = canonry("inspect", "--json", "nowhere.pdf").out.splitlines()
    assert json.loads(line)["problems"] == ["unreadable"]


def test_triage_counts_every_file_once(pile: Path, canonry: Canonry) -> None:
    found = json.loads(canonry("triage", "--json", str(pile)).out)
    assert found["files"] == 7
    assert sum(row["count"] for row in found["outcomes"]) == 7
    assert found["reasons"]["empty_file"] == 1
    sample = json.loads(canonry("triage", "--json", "--sample", "3", str(pile)).out)
    assert sample["files"] == 3


def test_triage_of_an_empty_folder_is_status_1(canonry: Canonry, tmp_path: Path) -> None:
    (tmp_path / "void").mkdir()
    said = canonry("triage", "void")
    assert said.status == 1
    assert "holds no files" in said.err


@pytest.mark.parametrize("args", [["config", "show"], ["config", "show", "--json"], ["inspect", "--json", "pile"]])
def test_a_reader_that_goes_away_causes_no_traceback(
    args: list[str], pile: Path, clean_environment: None, tmp_path: Path
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "streams.cli", *args],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    err = process.stderr.read().decode()
    process.wait(60)
    assert "Traceback" not in err
    assert "Exception ignored" not in err
    process.stderr.close()


def test_overlay_draws_each_page_into_a_file(canonry: Canonry, tmp_path: Path) -> None:
    import pymupdf

    document = pymupdf.open()
    for number in range(3):
        document.new_page().insert_text((72, 100), f"{TEXT.strip()} Page {number}.")
    document.save(tmp_path / "three.pdf")
    said = canonry("inspect", "three.pdf", "--overlay", "seen.png", "--pages", "2-3")
    assert said.status == 0
    assert [file.name for file in sorted(tmp_path.glob("seen*"))] == ["seen-2.png", "seen-3.png"]
    assert (tmp_path / "seen-2.png").read_bytes().startswith(b"\x89PNG")
    assert canonry("inspect", "three.pdf", "--overlay", "one.png", "--pages", "1").status == 0
    assert (tmp_path / "one.png").exists()


def test_overlay_of_what_can_not_be_drawn_says_why(canonry: Canonry, tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text(TEXT)
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.7\n" + b"x" * 4000)
    said = canonry("inspect", "note.txt", "--overlay", "out.png")
    assert (said.status, "text/plain, which has no pages" in said.err) == (2, True)
    assert canonry("inspect", "broken.pdf", "--overlay", "out.png").status == 1
    assert canonry("inspect", "note.txt", "note.txt", "--overlay", "out.png").status == 2
    assert canonry("inspect", "note.txt", "--pages", "1").status == 2
    assert canonry("inspect", "note.txt", "--overlay", "out.png", "--pages", "x").status == 2
    assert not (tmp_path / "out.png").exists()
