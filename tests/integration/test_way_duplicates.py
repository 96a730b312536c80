"""Copies of a document, from the folder to the commands that tell of them."""

from __future__ import annotations

import json
from pathlib import Path

from streams.consumers.catalog import Catalog
from streams.settings import Settings
from tests.integration.way import Way

SIDES = ["north", "east", "south", "west"]
TEXT = " ".join(
    f"In the year {year} the keeper of light {year % 17} wrote that the lamp had been cleaned {year % 9} times, and "
    f"that the boat of the {SIDES[year % 4]} came late."
    for year in range(1871, 1891)
)


def places(settings: Settings, source_id: str) -> list[str]:
    """What `canonry doc` shows."""
    with Catalog(settings) as catalog:
        return [link["path"] for link in catalog.document(source_id).same_content]


def test_copies_are_told_of_as_long_as_they_live(settings: Settings, tmp_path: Path) -> None:
    way = Way(settings, tmp_path / "share")
    way.write("report.txt", TEXT)
    way.write("old/report copy.txt", TEXT)
    way.write("report v2.md", TEXT.replace("1880", "1980") + "\n\nChecked by the harbour office.")
    way.write("other.txt", "The council met to speak of the new bridge, its cost, and who should pay for it. " * 5)
    way.write("note.txt", "Call the harbour office.")
    way.run()
    assert places(settings, "share:report.txt") == ["old/report copy.txt"]
    found = json.loads(way.command("duplicates", "share:report.txt", "--json").out)
    assert [(row["path"], row["exact"]) for row in found["documents"]] == [
        ("old/report copy.txt", True),
        ("report v2.md", False),
    ]
    assert 0.85 < found["documents"][1]["similarity"] < 1
    groups = json.loads(way.command("duplicates", "--json").out)
    assert groups["total"] == 1
    assert [row["path"] for row in groups["groups"][0]] == ["old/report copy.txt", "report.txt", "report v2.md"]

    (way.folder / "old" / "report copy.txt").unlink()
    way.write("report v2.md", "Quite another thing stands here now. " * 20)
    way.run()
    assert places(settings, "share:report.txt") == []
    with Catalog(settings) as catalog:
        assert catalog.duplicates("share:report.txt", 0.8).documents == []
        assert catalog.duplicates("share:note.txt", 0.8).compared is False
    assert way.command("duplicates").out.strip() == "No two living documents are alike."
