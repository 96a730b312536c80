"""A folder of whole and broken documents goes the whole way: every one has an outcome, and none costs another one."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import uuid
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from demo.make_documents import make_documents
from streams.consumers.catalog import Catalog
from streams.consumers.catalog_rows import DocumentRow
from streams.log.topics import apply_topics
from streams.settings import BlobSettings, KafkaSettings, Settings, WorkerSettings
from tests.integration.conftest import delete_topics
from tests.integration.way import Way, children, command_line, cpu_seconds, running, slow_markdown, until

JOB_TIMEOUT_S = 14.0
COUNT = 60
HOSTILE_NAME = "incoming/esc\x1b[31m\u202egpj.txt"
SHOWN_NAME = "esc%1B[31m%E2%80%AEgpj.txt"
LINE = "The ferryman of Lerwick counts his lanterns twice before the fog comes in from the sea.\n"


@pytest.fixture(scope="module")
def way(broker: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Way]:
    folder = tmp_path_factory.mktemp("way")
    settings = Settings(
        broker=broker,
        data_dir=folder / "data",
        kafka=KafkaSettings(topic_prefix=f"w{uuid.uuid4().hex[:8]}-"),
        blobs=BlobSettings(fsync=False),
        worker=WorkerSettings(slots=2, max_attempts=1, job_timeout_s=JOB_TIMEOUT_S),
    )
    asyncio.run(apply_topics(settings))
    yield Way(settings, folder / "share")
    asyncio.run(delete_topics(settings))


@pytest.fixture(scope="module")
def report(way: Way) -> dict[str, Any]:
    """The first run, in which one slot is killed while it works on a document and another document never ends."""
    make_documents(way.folder, COUNT)
    for number in (1, 2):
        way.write(f"slow/{number}.md", slow_markdown(3.9, number))
    with (way.folder / "huge.txt").open("wb") as file:
        chunk = (LINE * 12000).encode()
        for _ in range(300 * 1024 * 1024 // len(chunk) + 1):
            file.write(chunk)
    way.write(HOSTILE_NAME, LINE * 3)
    os.mkfifo(way.folder / "incoming" / "pipe")
    if os.geteuid() != 0:
        way.write("incoming/locked.txt", LINE).chmod(0)
    with running(way.start("run", str(way.folder), "--source", "share", "--json")) as process:
        worker = until(lambda: way.worker_pid(process.pid), why="a worker")
        os.kill(until(lambda: busy_slot(worker), 120, "a slot that works hard"), signal.SIGKILL)
        out, err = process.communicate(timeout=240)
    assert process.returncode == 0, f"{err.decode()}{out.decode()}{way.worker_log()}"
    assert err == b""
    (way.folder / "huge.txt").unlink()
    found: dict[str, Any] = json.loads(out)
    return found


def busy_slot(worker: int) -> int | None:
    """A slot that has worked for longer than anything but a slow document takes."""
    slots = [pid for pid in children(worker) if "slot_main" in command_line(pid)]
    return next((pid for pid in slots if cpu_seconds(pid) > 12), None)


def names_of(way: Way) -> list[str]:
    return [str(path) for path in way.folder.rglob("*") if path.is_symlink() or not path.is_dir()]


def files(rows: dict[str, DocumentRow]) -> list[str]:
    """What stands in the folder itself: no members of containers."""
    return [path for path, row in rows.items() if row.parent_source_id is None]


def test_every_document_has_one_outcome_with_a_reason(way: Way, report: dict[str, Any]) -> None:
    rows = way.documents()
    assert len(files(rows)) == len(names_of(way)) + 1  # huge.txt is gone by now
    for row in rows.values():
        assert row.outcome in ("ready", "quarantined", "skipped"), row
        assert row.outcome != "quarantined" or row.problems, row
        assert row.outcome != "skipped" or row.rule, row
    assert report["complete"]
    assert (report["pending"], report["dead_letters"], report["worker_restarts"]) == ([], {}, 0)


def test_the_table_adds_up(way: Way, report: dict[str, Any]) -> None:
    rows = way.documents()
    counted = {(row["media_type"], row["outcome"]): row["count"] for row in report["outcomes"]}
    assert counted == dict(Counter((row.media_type or "—", row.outcome) for row in rows.values()))
    assert report["scan"]["new"] + report["scan"]["failed"] == len(files(rows))
    assert sum(report["settled"].values()) == len(rows)


def test_bad_documents_say_what_is_wrong(way: Way, report: dict[str, Any]) -> None:
    rows = way.documents()
    said: dict[str, list[str | None]] = {
        path: [*row.problems] or [row.rule] for path, row in rows.items() if row.outcome != "ready"
    }
    expected = {
        "huge.txt": ["too_large"],
        "incoming/empty.txt": ["empty_file"],
        "incoming/handbook-cut.docx": ["truncated"],
        "incoming/salaries.pdf": ["encrypted"],
        "incoming/latest.pdf": ["broken_link"],
        "incoming/pipe": ["special_file"],
    }
    if os.geteuid() != 0:
        expected["incoming/locked.txt"] = ["unreadable"]
    assert {path: said.get(path) for path in expected} == expected
    # Which of the two slow ones was killed is a matter of chance; one attempt each was allowed.
    assert sorted(str(problem) for n in (1, 2) for problem in said[f"slow/{n}.md"]) == ["crashed", "timeout"]
    assert "mojibake_repaired" in rows["incoming/wartung-kopie.txt"].warnings
    assert said["incoming/disclaimer.txt"] == ["too_repetitive"]
    assert said["incoming/from-supplier.zip"] == ["container"]


def test_documents_beside_them_are_ready_in_every_format(way: Way, report: dict[str, Any]) -> None:
    rows = way.documents()
    ready = Counter(row.media_type for row in rows.values() if row.outcome == "ready")
    for media_type in ("text/plain", "text/markdown", "text/html", "application/pdf"):
        assert ready[media_type] >= 3, media_type
    assert ready["application/vnd.openxmlformats-officedocument.wordprocessingml.document"] >= 3
    assert (
        sum(path.startswith("incoming/from-supplier.zip/") and row.outcome == "ready" for path, row in rows.items())
        == 2
    )
    assert rows["incoming/two%0Alines.txt"].outcome == "ready"
    assert rows["incoming/caf%E9-menu.txt"].outcome == "ready"
    assert rows["incoming/offer.docx"].media_type == "application/pdf"
    assert rows["incoming/notice.pdf"].media_type == "text/html"


def test_one_content_in_two_places_is_extracted_once(way: Way, report: dict[str, Any]) -> None:
    rows = way.documents()
    twins = [rows["contracts/lease-workshop-four.docx"], rows["archive/2023/lease-workshop-four.docx"]]
    assert twins[0].content_hash == twins[1].content_hash
    assert twins[0].source_id != twins[1].source_id
    with Catalog(way.settings) as catalog:
        stories = [catalog.document(twin.source_id) for twin in twins]
    assert len({story.versions[-1]["canons"][0]["payload"]["key"] for story in stories}) == 1
    canons = [*(way.settings.blob_dir / "canons").rglob(f"*.{twins[0].fingerprint}")]
    assert len([path for path in canons if (twins[0].content_hash or "") in str(path)]) == 1
    seconds = sorted(story.versions[-1]["canons"][0]["attempt"]["seconds"] for story in stories)
    assert seconds[0] == 0.0
    assert seconds[1] > 0.0


def test_commands_tell_of_it_safely(way: Way, report: dict[str, Any]) -> None:
    held = way.command("search", "salaries")
    assert held.status == 0
    assert "held, not searchable: incoming/salaries.pdf (encrypted)" in held.out
    doc = way.command("doc", "salaries.pdf")
    assert doc.status == 0
    assert "quarantined: encrypted" in doc.out
    status = way.command("status")
    assert status.status == 0
    assert "incoming/salaries.pdf" in status.out
    ambiguous = way.command("doc", "lease-workshop-four.docx")
    assert ambiguous.status == 2
    assert len(ambiguous.err.splitlines()) == 1
    assert "share:contracts/lease-workshop-four.docx" in ambiguous.err
    for name in ("contracts/lease-workshop-four.docx", "share:contracts/lease-workshop-four.docx"):
        assert json.loads(way.command("doc", "--json", name).out)["document"]["outcome"] == "ready"
    assert way.command("doc", "two%0Alines.txt").status == 0
    for command in (["search", "ferryman", "lanterns"], ["doc", SHOWN_NAME], ["status"], ["canon", SHOWN_NAME]):
        said = way.command(*command)
        assert said.status == 0, said
        assert not set(said.out + said.err) & set("\x1b\u202e"), command
    assert LINE.strip() in " ".join(way.command("canon", "--as", "text", SHOWN_NAME).out.split())
    assert json.loads(way.command("canon", "--json", SHOWN_NAME).out)
    assert way.command("canon", "salaries.pdf").status == 1
    lag = {group["group"]: group for group in json.loads(way.command("status", "--json").out)["lag"]}
    assert all(group["records"] == 0 for group in lag.values()), lag
    check = way.command("topics", "check", "--json")
    assert (check.status, json.loads(check.out)) == (0, [])


def test_a_second_run_extracts_nothing(way: Way, report: dict[str, Any]) -> None:
    before = way.ends("raw-arrived", "decoded", "versions")
    again = way.run()
    assert again["scan"]["deleted"] == 1  # huge.txt
    assert again["scan"]["unchanged"] == len(files(way.documents())) - 1
    after = way.ends("raw-arrived", "decoded", "versions")
    assert sum(after.values()) - sum(before.values()) == 2, "one delete event and its state, nothing else"
