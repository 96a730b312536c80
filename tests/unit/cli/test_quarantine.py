"""`canonry quarantine`: what it shows, what it refuses, and what it says to do."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import click
import pytest

from streams.cli.quarantine_options import Duration, Rate
from streams.records import DecisionKind
from streams.settings import Settings
from tests.unit.cli.conftest import Canonry
from tests.unit.consumers.conftest import Applied
from tests.unit.consumers.make import NOW
from tests.unit.ops.test_quarantine import TEXT, decided, hold

NO_BROKER = {"CANONRY_BROKER": "127.0.0.1:1"}


@pytest.fixture
async def queue(tmp_path: Path) -> Any:
    """A catalog with held documents, in the folder that the command uses."""
    applied = Applied(Settings(data_dir=tmp_path / "data"))
    await applied.begin()
    for number in range(12):
        hold(applied, f"{number:02}.pdf", "low_dictionary_rate", since=number, owner="eva", deadline=NOW)
    hold(applied, "note.txt", "mojibake", media_type=TEXT, tool="text")
    hold(applied, "bad.pdf", "parser_error", text=False, decisions=[decided(DecisionKind.RE_EXTRACT, tool="pdf")])
    yield applied
    applied.catalog.close()
    applied.writer.close()


def test_the_queue_is_listed_with_owner_and_deadline(queue: Applied, canonry: Canonry) -> None:
    said = canonry("quarantine", "list", "--limit", "2")
    assert said.status == 0
    assert "overdue" in said.out
    assert "… and 12 more documents" in said.out
    found = json.loads(canonry("quarantine", "list", "--overdue", "--owner", "eva", "--json").out)
    assert found["total"] == len(found["held"]) == 12
    assert found["held"][0]["overdue"] is True
    assert canonry("quarantine", "list", "--owner", "-", "--json").out.count('"source_id"') == 2
    assert canonry("quarantine", "list", "--code", "bomb").out == "Nothing is held that fits.\n"
    assert json.loads(canonry("quarantine", "list", "--older-than", "1h", "--json").out)["total"] == 14


def test_groups_have_names_that_other_commands_take(queue: Applied, canonry: Canonry) -> None:
    found = json.loads(canonry("quarantine", "list", "--groups", "--json").out)
    largest = found["groups"][0]
    assert (largest["id"], largest["count"]) == ("low_dictionary_rate:pdf:1:application/pdf", 12)
    again = json.loads(canonry("quarantine", "list", "--group", largest["id"], "--json", "--limit", "99").out)
    assert again["total"] == 12
    assert largest["examples"] == [row["path"] for row in again["held"][:3]]
    narrow = canonry("quarantine", "list", "--groups", COLUMNS="40").out
    assert all(group["id"] in narrow for group in found["groups"])
    wrong = canonry("quarantine", "list", "--group", "mojibake")
    assert wrong.status == 2
    assert "CODE:TOOL:VERSION:FORMAT" in wrong.err


def test_documents_that_the_extractor_of_now_has_not_tried_are_found(queue: Applied, canonry: Canonry) -> None:
    """The fingerprints of these attempts are made up, so they are of no version that is installed."""
    found = json.loads(canonry("quarantine", "list", "--fixed", "--groups", "--json").out)
    assert [(group["id"], group["count"]) for group in found["groups"]] == [
        ("low_dictionary_rate:pdf:1:application/pdf", 12),
        ("mojibake:text:1:text/plain", 1),
        ("parser_error:pdf:1:application/pdf", 1),
    ]
    said = canonry("quarantine", "release", "--fixed", "--code", "parser_error", "--dry-run", "--json")
    assert json.loads(said.out)["total"] == 1


def test_one_document_is_shown_with_all_that_a_decision_needs(queue: Applied, canonry: Canonry) -> None:
    said = canonry("quarantine", "show", "03.pdf")
    assert said.status == 0, said.err
    for what in ("owner:       eva", "(overdue)", "dictionary_rate", "< 0.5", "✗", "Attempts", "--re-extract pdf"):
        assert what in said.out
    found = json.loads(canonry("quarantine", "show", "bad.pdf", "--json").out)
    assert [made["kind"] for made in found["decisions"]] == ["re_extract"]
    assert found["text"] is None
    assert canonry("quarantine", "show", "nobody.pdf").status == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--accept"], "Nothing is named"),
        (["03.pdf"], "Say what to do"),
        (["03.pdf", "--accept", "--skip"], "Say what to do"),
        (["03.pdf", "--re-extract", "acrobat"], "No extractor is called 'acrobat'. Take one of"),
        (["--code", "low_dictionary_rate", "--accept"], "12 documents, and nobody is there to be asked"),
        (["--undo", "--code", "mojibake"], "says what is held"),
        (["03.pdf", "--accept", "--batch", "x"], "goes with --undo only"),
        (["03.pdf", "--accept", "--actor", " "], "somebody who decides"),
        (["--accept", "--older-than", "3 days"], "is no span of time"),
    ],
)
def test_what_can_not_be_decided_is_said_in_a_line(
    queue: Applied, canonry: Canonry, options: list[str], message: str
) -> None:
    said = canonry("quarantine", "decide", *options, "--reason", "why", **NO_BROKER)
    assert said.status == 2, said.err
    assert message in said.err
    assert len(said.err.splitlines()) == 1


def test_what_does_not_fit_is_named_with_the_reason_and_nothing_is_published(queue: Applied, canonry: Canonry) -> None:
    said = canonry("quarantine", "decide", "bad.pdf", "--accept", "--reason", "why", **NO_BROKER)
    assert (said.status, said.out) == (1, "Nothing is held that fits.\n")
    assert "not folder/bad.pdf: there is no text to accept." in said.err
    said = canonry("quarantine", "decide", "note.txt", "--recognize", "--reason", "why", "--json", **NO_BROKER)
    assert said.status == 1
    assert json.loads(said.out)["refused"] == {"folder/note.txt": "text/plain has no pages that could be recognised"}
    same = ["decide", "bad.pdf", "--re-extract", "pdf", "--reason", "looked at it"]
    said = canonry("quarantine", *same, **NO_BROKER)
    assert (said.status, said.out) == (0, "Nothing was decided: it is decided already.\n")
    said = canonry("quarantine", *same[:-1], "once more", **NO_BROKER)
    assert said.status == 3


def test_a_release_says_how_long_it_takes(queue: Applied, canonry: Canonry) -> None:
    said = canonry(
        "quarantine", "release", "--code", "low_dictionary_rate", "--recognize", "--rate", "6/min", "--dry-run"
    )
    assert said.status == 0
    assert said.out == "12 documents at 6 a minute: 2 minutes at least. Ctrl-C pauses.\n"
    assert canonry("quarantine", "release", "--recognize").status == 2
    assert canonry("quarantine", "release", "--code", "mojibake").status == 2


def test_numbers_are_shown_by_what_is_asked(queue: Applied, canonry: Canonry) -> None:
    said = canonry("quarantine", "stats", "--by", "format")
    assert said.status == 0
    assert "14 of 14 living documents are held (100.0 %)" in said.out
    assert "12 are overdue, 2 belong to nobody" in said.out
    found = json.loads(canonry("quarantine", "stats", "--by", "code", "--days", "3", "--json").out)
    assert [(each["name"], each["held"]) for each in found["shares"]] == [
        ("low_dictionary_rate", 12),
        ("mojibake", 1),
        ("parser_error", 1),
    ]
    assert len(found["days"]) == 3


def test_other_commands_name_what_is_held(queue: Applied, canonry: Canonry) -> None:
    assert "note.txt" in canonry("status", **NO_BROKER).out
    assert "quarantined" in canonry("doc", "note.txt").out


def test_spans_and_rates() -> None:
    assert Duration().convert("90m", None, None) == timedelta(minutes=90)
    assert Duration().convert("2w", None, None) == timedelta(days=14)
    assert (Rate().convert("30/min", None, None), Rate().convert("0.5", None, None)) == (30.0, 0.5)
    for wrong in ("0", "-1", "fast", "1/s"):
        with pytest.raises(click.BadParameter):
            Rate().convert(wrong, None, None)
