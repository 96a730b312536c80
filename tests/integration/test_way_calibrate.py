"""`canonry calibrate --catalog`: the scores that a run left in the catalog, and the words of what is held."""

from __future__ import annotations

import json
from pathlib import Path

from streams.screen import read_policy
from streams.settings import Settings
from tests.integration.way import Way

TEXT = "The committee met on Tuesday and agreed that the harbour needs a new crane before the winter storms."


def test_catalog_says_what_the_folder_says(settings: Settings, tmp_path: Path) -> None:
    way = Way(settings, tmp_path / "share")
    for number in range(4):
        way.write(f"report {number}.txt", f"{TEXT} It was meeting {number} of the year.\n")
    way.write("held.txt", f"{TEXT}\n" * 60)
    way.write("gone.txt", TEXT + " Nobody came.")
    way.run()
    (way.folder / "gone.txt").unlink()
    way.run()

    policy = tmp_path / "policy.toml"
    said = way.command("calibrate", "--catalog", "--json", "--write", str(policy))
    assert said.status == 0, said.err
    of_catalog = json.loads(said.out)
    assert (of_catalog["documents"], of_catalog["held"]) == (5, 1)
    (held,) = of_catalog["to_read"]
    assert (held["path"], held["problems"]) == ("held.txt", ["too_repetitive"])
    assert held["words"].startswith("The committee met on Tuesday")
    assert read_policy(policy).version == "2"

    of_folder = json.loads(way.command("calibrate", str(way.folder), "--json").out)
    assert of_catalog["policy"] == of_folder["policy"]
    kept = [{**each, "groups": []} for each in of_catalog["distributions"]]
    assert kept == [{**each, "groups": []} for each in of_folder["distributions"]]
    shown = way.command("calibrate", "--catalog")
    assert shown.status == 0
    assert "held.txt: too_repetitive" in shown.out
