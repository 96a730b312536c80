"""What changes in the folder changes in the catalog and the index, and nothing else is done again."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path

import pytest

from streams.blobs import open_store
from streams.consumers.catalog import Catalog
from streams.errors import BrokerUnavailable
from streams.ops import consumers_task
from streams.ops.consumers_task import ConsumersTask
from streams.settings import Settings
from tests.integration.way import Way, interrupt, running, until

TEXT = "The {0} of the harbour office keeps a ledger of every ship that came in during the storm of the {0}.\n"


def test_edits_moves_and_deletes_follow(settings: Settings, tmp_path: Path) -> None:
    way = Way(settings, tmp_path / "share")
    for name in ("edited", "moved", "deleted", "kept"):
        way.write(f"{name}.txt", TEXT.format(name + "word"))
    for number in range(3):
        way.write(f"old dir/{number}.md", f"# Number {number}\n\n" + TEXT.format(f"dirword{number}"))
    assert way.run()["scan"]["new"] == 7
    before = way.documents()
    decoded = sum(way.ends("decoded").values())
    assert decoded == 7
    assert way.found("editedword harbour") == ["edited.txt"]

    way.write("edited.txt", TEXT.format("rewritten"))
    (way.folder / "moved.txt").rename(way.folder / "elsewhere.txt")
    (way.folder / "old dir").rename(way.folder / "new dir")
    (way.folder / "deleted.txt").unlink()
    report = way.run()
    assert report["complete"]
    scan = report["scan"]
    assert (scan["new"], scan["changed"], scan["moved"], scan["deleted"], scan["unchanged"]) == (0, 1, 4, 1, 1)
    assert sum(way.ends("decoded").values()) == decoded + 1, "only the edited one is worked on again"

    after = way.documents()
    ids = {path: row.source_id for path, row in before.items()}
    assert after["elsewhere.txt"].source_id == ids["moved.txt"]
    assert after["new dir/1.md"].source_id == ids["old dir/1.md"]
    assert set(after) & {"moved.txt", "old dir/1.md"} == set()
    assert after["deleted.txt"].status == "deleted"
    assert way.found("editedword") == []
    assert way.found("rewritten") == ["edited.txt"]
    assert way.found("movedword") == ["elsewhere.txt"]
    assert way.found("dirword2") == ["new dir/2.md"]
    assert way.found("deletedword") == []
    with Catalog(settings) as catalog:
        edited = catalog.document(ids["edited.txt"])
        moved = catalog.document(ids["moved.txt"])
    assert [version["outcome"] for version in edited.versions] == ["ready", "ready"]
    assert edited.versions[0]["valid_to"] == edited.versions[1]["valid_from"]
    assert len(moved.versions) == 1
    assert [change["operation"] for change in moved.changes] == ["move"]
    story = way.command("doc", "deleted.txt").out
    assert "deleted at its source" in story


def test_many_deletes_wait_for_approval(settings: Settings, tmp_path: Path) -> None:
    way = Way(settings, tmp_path / "share")
    for number in range(30):
        way.write(f"{number}.txt", TEXT.format(f"word{number}"))
    way.run()
    shutil.rmtree(way.folder)
    way.folder.mkdir()
    way.write("0.txt", TEXT.format("word0"))
    held = way.run(status=0)
    assert len(held["held_deletes"]) == 29
    assert way.found("word7") == ["7.txt"]
    assert way.run("--approve-deletes")["scan"]["deleted"] == 29
    assert way.found("word7") == []


def test_deleted_indexes_are_whole_again_when_the_run_ends(settings: Settings, tmp_path: Path) -> None:
    way = Way(settings, tmp_path / "share")
    for number in range(150):
        way.write(f"{number}.txt", TEXT.format(f"word{number}"))
    way.run()
    for names in (("search.db",), ("catalog.db",), ("search.db", "catalog.db")):
        for name in names:
            for file in way.settings.data_dir.glob(f"{name}*"):
                file.unlink()
        report = way.run()
        assert [(row["outcome"], row["count"]) for row in report["outcomes"]] == [("ready", 150)], names
        for number in (0, 77, 149):
            assert way.found(f"word{number}") == [f"{number}.txt"], names


async def test_an_index_without_rows_is_behind_wherever_its_group_stands(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    way = Way(settings, tmp_path / "share")
    way.write("a.txt", TEXT.format("firstword"))
    await asyncio.to_thread(way.run)
    consumers = ConsumersTask(settings, settings.broker, open_store(settings), lambda states: None)
    await consumers.caught_up()  # nobody reads now, and nothing is missing
    for file in settings.data_dir.glob("search.db*"):
        file.unlink()
    monkeypatch.setattr(consumers_task, "STALLED_S", 0.2)
    with pytest.raises(BrokerUnavailable, match="1 records behind"):
        await consumers.caught_up()


def test_watching_tells_of_deletes_that_wait_and_obeys_their_approval(settings: Settings, tmp_path: Path) -> None:
    way = Way(settings, tmp_path / "share")
    for number in range(20):
        way.write(f"{number}.txt", TEXT.format(f"word{number}"))
    way.run()
    for number in range(15):
        (way.folder / f"{number}.txt").unlink()
    command = ("run", str(way.folder), "--source", "share", "--watch")
    with running(way.start(*command)) as process:
        assert process.stderr is not None
        while b"15 documents are gone" not in (line := process.stderr.readline()):  # while it watches, not at its end
            assert line, "it ended without a word"
        interrupt(process)
        process.wait(timeout=60)
    assert way.found("word7") == ["7.txt"]
    with running(way.start(*command, "--approve-deletes")) as process:
        until(lambda: not way.found("word7"), 60, "the approved deletes")
        interrupt(process)
        process.wait(timeout=60)
    assert process.returncode == 0
    assert way.found("word18") == ["18.txt"]


def test_watching_shows_changes_within_seconds_and_ends_by_interrupt(settings: Settings, tmp_path: Path) -> None:
    way = Way(settings, tmp_path / "share")
    way.write("first.txt", TEXT.format("firstword"))
    with running(way.start("run", str(way.folder), "--source", "share", "--watch")) as process:
        until(lambda: "first.txt" in way.documents(), 60, "the first document")
        way.write("second.txt", TEXT.format("secondword"))
        until(lambda: way.found("secondword"), 20, "the new file in the index")
        (way.folder / "first.txt").unlink()
        until(lambda: way.documents()["first.txt"].status == "deleted", 20, "the delete")
        said = interrupt(process)
    assert said.status == 0
    assert "second.txt" in said.out
    assert way.found("secondword") == ["second.txt"]


def test_json_of_a_document_is_its_whole_story(settings: Settings, tmp_path: Path) -> None:
    way = Way(settings, tmp_path / "share")
    way.write("a.txt", TEXT.format("storyword"))
    way.run()
    story = json.loads(way.command("doc", "--json", "a.txt").out)
    assert story["document"]["source_id"] == "share:a.txt"
    (version,) = story["versions"]
    assert {timing["stage"] for timing in version["timings"]} == {"decode", "extract", "screen"}
    assert version["scores"]
