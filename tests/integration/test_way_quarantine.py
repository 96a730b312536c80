"""Held documents with real workers: decided, undone, recognised, released, and offered to a new extractor."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import signal
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pymupdf
import pytest

from streams.blobs import original_key
from streams.consumers.catalog import Catalog
from streams.log.topics import apply_topics
from streams.ops import quarantine
from streams.ops.lag import lag
from streams.ops.quarantine import Choice, HeldFilter
from streams.records import ChangeEvent, Content, DecisionKind, Operation
from streams.settings import BlobSettings, KafkaSettings, Settings, SourceSettings, WorkerSettings
from tests.integration.conftest import delete_topics
from tests.integration.test_way_deletes import World, event
from tests.integration.test_way_replay import NEW_EXTRACTOR
from tests.integration.way import ROOT, running, until

NO_RECOGNITION = {"CANONRY_RECOGNITION__ENABLED": "false"}
DAY_S = 86_400.0


def repetitive(about: str) -> str:
    """A text that is held as `too_repetitive`."""
    return f"The {about} is confidential and intended for the addressee only, as was agreed before.\n" * 40


def scan(lines: list[str]) -> bytes:
    """A PDF whose only page is a picture of these lines."""
    with pymupdf.open() as plain, pymupdf.open() as made:
        page = plain.new_page(width=595, height=842)
        for number, line in enumerate(lines):
            page.insert_text((60, 90 + 26 * number), line, fontsize=14)
        picture = page.get_pixmap(dpi=200).tobytes("png")
        made.new_page(width=595, height=842).insert_image(pymupdf.Rect(0, 0, 595, 842), stream=picture)
        data: bytes = made.tobytes(no_new_id=True)
    return data


LETTER = [
    "The harbour office has received the letter of the keeper,",
    "and will answer within the week. The paint for the house",
    "was ordered in the autumn, and came with the last ship.",
    "Nobody has complained about the light since the winter,",
    "and the council has agreed to pay for the new windows.",
]


class Queue(World):
    """The world of the tests of deletes, with a source whose held documents have an owner and a deadline."""

    def bytes_of(self, name: str, data: bytes) -> ChangeEvent:
        sha256 = hashlib.sha256(data).hexdigest()
        self.store.put(original_key(sha256), data)
        return event(name, Operation.UPSERT, content=Content(sha256=sha256, size=len(data)))

    def hold(self, *events: ChangeEvent) -> None:
        names = [each.manifest.path for each in events]
        self.publish(*events)
        until(lambda: all(self.outcome(name) == "quarantined" for name in names), 90, f"{names} are held")
        self.settle()

    def outcome(self, name: str) -> str | None:
        row = self.way.documents().get(name)
        return row.outcome if row else None

    def decide(self, *args: str, status: int = 0) -> Any:
        return self.json("quarantine", "decide", *args, "--wait", status=status)

    def dead_letters(self) -> int:
        return sum(self.way.ends("dead-letter").values())

    def lag_of(self, name: str) -> int:
        found = asyncio.run(lag(self.settings, self.settings.broker))
        return next(group.records for group in found if group.group.endswith(name))

    def end_consumer(self) -> None:
        self.consumer.send_signal(signal.SIGTERM)
        self.consumer.communicate(timeout=60)

    def restart_consumer(self) -> None:
        self.consumer = self.way.start("consumer")

    def restart_worker(self, **variables: str) -> None:
        self.end_worker()
        self.worker = self.way.start("worker", **variables)


@pytest.fixture(scope="module")
def queue(broker: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Queue]:
    folder = tmp_path_factory.mktemp("quarantine")
    settings = Settings(
        broker=broker,
        data_dir=folder / "data",
        kafka=KafkaSettings(topic_prefix=f"q{uuid.uuid4().hex[:8]}-"),
        blobs=BlobSettings(fsync=False),
        sources={"app": SourceSettings(kind="sdk", owner="office@example.org", decide_within_s=DAY_S)},
        worker=WorkerSettings(slots=1),
    )
    asyncio.run(apply_topics(settings))
    queue = Queue(settings, folder)
    yield queue
    queue.close()
    asyncio.run(delete_topics(settings))


def test_a_held_document_is_named_by_every_command(queue: Queue) -> None:
    queue.hold(queue.upsert("notice.txt", repetitive("notice")))
    (row,) = queue.json("quarantine", "list")["held"]
    assert (row["path"], row["owner"], row["overdue"]) == ("notice.txt", "office@example.org", False)
    assert (row["extractor"], row["extractor_version"]) == ("text", "1")
    with Catalog(queue.settings) as catalog:
        (held,) = catalog.held()
    assert held.deadline is not None
    assert (held.deadline - held.held_since).total_seconds() == DAY_S
    assert "notice.txt" in queue.command("status").out
    assert "too_repetitive" in queue.command("doc", "notice.txt").out
    assert "notice.txt" in queue.command("search", "notice").out
    (group,) = queue.json("quarantine", "list", "--groups")["groups"]
    assert group["id"] == "too_repetitive:text:1:text/plain"
    case = queue.json("quarantine", "show", "notice.txt")
    assert next(score["name"] for score in case["scores"] if score["fired"]) == "repeated_lines"
    assert case["policy"] == case["limits_of"]


def test_an_accepted_document_is_served_and_held_again_after_undo(queue: Queue) -> None:
    done = queue.decide("notice.txt", "--accept", "--reason", "every copy is meant", "--actor", "eva")
    (ended,) = done["outcomes"]
    assert (ended["outcome"], ended["answered"], ended["refused"]) == ("ready", True, None)
    queue.settle()
    assert queue.visible("notice.txt")
    again = queue.decide("notice.txt", "--accept", "--reason", "every copy is meant")
    assert (again["decided"], again["already"]) == ([], ["notice.txt"])
    queue.decide("--undo", "--batch", done["batch"], "--reason", "it was not")
    assert queue.outcome("notice.txt") == "quarantined"
    queue.settle()
    assert not queue.visible("notice.txt")
    twice = queue.decide("--undo", "--batch", done["batch"], "--reason", "it was not")
    assert (twice["decided"], twice["already"]) == ([], ["notice.txt"])
    assert queue.dead_letters() == 0


def test_two_who_decide_the_same_at_once_disturb_nobody(queue: Queue) -> None:
    queue.hold(queue.upsert("both.txt", repetitive("copy")))
    with Catalog(queue.settings) as catalog:
        rows = list(quarantine.held(catalog, HeldFilter(ids=["app:both.txt"])))
        plans = [
            quarantine.plan_decisions(
                queue.settings, catalog, Choice(kind=DecisionKind.ACCEPT, actor=who, reason="fine"), rows
            )
            for who in ("eva", "ada")
        ]
    for plan in plans:
        assert asyncio.run(quarantine.publish(queue.settings, queue.settings.broker, plan.decisions)) == 1
    until(lambda: queue.outcome("both.txt") == "ready", 60, "both.txt is accepted")
    queue.settle()
    assert [made.actor for made in queue.state("both.txt").versions[-1].decisions] == ["eva"]
    assert queue.dead_letters() == 0


def test_a_group_is_decided_in_one_go_and_undone_in_one(queue: Queue) -> None:
    names = [f"old/{number}.txt" for number in range(12)]
    queue.hold(*(queue.upsert(name, repetitive(f"old paper {name}")) for name in names))
    group = "too_repetitive:text:1:text/plain"
    options = ("--group", group, "--skip", "--reason", "old exports")
    assert queue.command("quarantine", "decide", *options, status=2).err.count("13 documents") == 1
    done = queue.decide(*options, "--yes")
    assert {each["outcome"] for each in done["outcomes"]} == {"skipped"}
    assert len(done["outcomes"]) == 13
    assert queue.json("quarantine", "list")["total"] == 0
    nothing = ("--undo", "--group", group, "--decided-by", "nobody", "--reason", "wrong group")
    assert queue.decide(*nothing, status=1)["decided"] == []
    assert "Nothing was taken back" in queue.command("quarantine", "decide", *nothing, status=1).out
    assert queue.json("quarantine", "list")["total"] == 0
    undone = queue.decide("--undo", "--batch", done["batch"], "--reason", "wrong group", "--yes")
    assert {each["outcome"] for each in undone["outcomes"]} == {"quarantined"}
    assert queue.json("quarantine", "list")["total"] == 13
    queue.decide("--source", "app", "--skip", "--reason", "tidied up", "--yes")


def test_what_waits_for_a_worker_is_decided_once_and_taken_back_before_it_is_done(queue: Queue) -> None:
    names = ["waits.txt", "stays.txt", "again.txt"]
    queue.hold(*(queue.upsert(name, repetitive(f"paper that {name}")) for name in names))
    queue.end_worker()
    decide = ("quarantine", "decide")
    skip = (*names[:2], "--skip", "--reason", "no worker")
    said = queue.command(*decide, *skip).out
    assert "2 decided (skip)" in said
    assert "No worker runs" in said
    assert queue.command(*decide, *skip).out == "Nothing was decided: it is decided already.\n"
    found = queue.json(*decide, "waits.txt", "--accept", "--reason", "no", "--actor", "ada", status=1)
    assert found["refused"]["waits.txt"].endswith("has decided to skip it, and that is under way")
    work = (*decide, "again.txt", "--re-extract", "markdown", "--reason", "is Markdown")
    assert len(queue.json(*work)["decided"]) == 1
    assert queue.json(*work)["already"] == ["again.txt"]
    undo = (*decide, "--undo", "waits.txt", "--reason", "too soon")
    assert len(queue.json(*undo)["decided"]) == 1
    assert queue.json(*undo)["already"] == ["waits.txt"]
    queue.restart_worker()
    ends = {"waits.txt": "quarantined", "stays.txt": "skipped", "again.txt": "quarantined"}
    until(lambda: len(queue.json("quarantine", "show", "again.txt")["attempts"]) == 2, 90, "the second attempt")
    until(lambda: {name: queue.outcome(name) for name in names} == ends, 60, "all is carried out")
    queue.settle()
    assert [len(queue.history("decisions", name)) for name in names] == [2, 1, 1]
    assert queue.dead_letters() == 0
    queue.decide("waits.txt", "again.txt", "--skip", "--reason", "tidied up")


def test_what_the_ledger_did_and_a_catalog_that_stands_still_does_not_show_is_not_asked_for_again(
    queue: Queue,
) -> None:
    queue.hold(queue.upsert("behind.txt", repetitive("catalog")))
    queue.end_consumer()
    work = ("quarantine", "decide", "behind.txt", "--re-extract", "markdown", "--reason", "is Markdown")
    assert len(queue.json(*work)["decided"]) == 1
    until(lambda: len(queue.state("behind.txt").versions[-1].decisions) == 1, 60, "the ledger has carried it out")
    until(lambda: not queue.lag_of("canonry-ledger"), 60, "the ledger has committed it")
    assert queue.json("quarantine", "show", "behind.txt")["decisions"] == []
    assert queue.json(*work)["already"] == ["behind.txt"]
    queue.restart_consumer()
    until(lambda: len(queue.json("quarantine", "show", "behind.txt")["attempts"]) == 2, 90, "the second attempt")
    queue.settle()
    assert len(queue.history("decisions", "behind.txt")) == 1
    queue.decide("behind.txt", "--skip", "--reason", "tidied up")


def test_another_tool_that_does_no_better_leaves_the_best_attempt(queue: Queue) -> None:
    queue.hold(queue.upsert("memo.txt", repetitive("memo")))
    done = queue.decide("memo.txt", "--re-extract", "markdown", "--reason", "it is Markdown")
    (ended,) = done["outcomes"]
    assert (ended["outcome"], ended["answered"]) == ("quarantined", True)
    case = queue.json("quarantine", "show", "memo.txt")
    assert {attempt["extractor"] for attempt in case["attempts"]} == {"text", "markdown"}
    assert [made["kind"] for made in case["decisions"]] == ["re_extract"]
    again = queue.decide("memo.txt", "--re-extract", "markdown", "--reason", "it is Markdown")
    assert (again["decided"], again["already"]) == ([], ["memo.txt"])
    refused = queue.decide("memo.txt", "--re-extract", "pdf", "--reason", "no", status=1)["refused"]
    assert refused["memo.txt"].startswith("pdf does not read text/plain")
    queue.decide("memo.txt", "--skip", "--reason", "tidied up")


def test_a_backlog_of_scans_is_released_metered_and_goes_on_after_a_pause(queue: Queue) -> None:
    queue.restart_worker(**NO_RECOGNITION)
    pages = [scan([f"Page {number} of the log.", *LETTER]) for number in range(4)]
    queue.hold(*(queue.bytes_of(f"scan{number}.pdf", page) for number, page in enumerate(pages)))
    queue.restart_worker()
    options = ("--code", "needs_recognition", "--recognize", "--reason", "the engine is there now")
    names = [f"scan{number}.pdf" for number in range(4)]

    def released() -> int:
        return sum(len(queue.history("decisions", name)) for name in names)

    with running(queue.way.start("quarantine", "release", *options, "--rate", "4/min")) as process:
        until(lambda: released() == 2, 60, "the second decision, whichever document was held second")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 130, (out, err)
    assert "The same command goes on" in err.decode()
    decided = released()
    assert decided < 4
    said = queue.json("quarantine", "release", *options, "--rate", "600/min")
    assert said["released"] == 4 - decided
    again = queue.json("quarantine", "release", *options, "--rate", "600/min")  # whatever is carried out by now
    assert again["released"] == 0
    until(lambda: all(queue.outcome(name) == "ready" for name in names), 180, "the scans are read")
    queue.settle()
    assert released() == 4
    row = queue.way.documents()["scan3.pdf"]
    assert (row.extractor, row.lane) == ("pdf+tesseract", "backfill")
    assert "scan3.pdf" in queue.way.found("windows")


def test_what_a_new_extractor_has_not_tried_is_offered_and_runs_alone(queue: Queue, tmp_path: Path) -> None:
    """The last one: from here on the extractors have other versions."""
    queue.hold(queue.upsert("late.txt", repetitive("paper")))
    assert queue.json("quarantine", "list", "--fixed")["total"] == 0
    (tmp_path / "sitecustomize.py").write_text(NEW_EXTRACTOR)
    changed = {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}
    queue.restart_worker(**changed)
    options = ("quarantine", "list", "--fixed", "--groups", "--json")
    found = json.loads(queue.way.command(*options, **changed).out)
    assert [(group["id"], group["count"]) for group in found["groups"]] == [("too_repetitive:text:1:text/plain", 1)]
    decoded = sum(queue.way.ends("decoded").values())
    release = ("quarantine", "release", "--fixed", "--rate", "600/min", "--json")
    assert json.loads(queue.way.command(*release, **changed).out)["released"] == 1
    until(lambda: len(queue.json("quarantine", "show", "late.txt")["attempts"]) == 2, 60, "the new attempt")
    queue.settle()
    assert sum(queue.way.ends("decoded").values()) == decoded + 1
    assert json.loads(queue.way.command(*options, **changed).out)["groups"] == []
    (group,) = queue.json("quarantine", "list", "--groups")["groups"]
    assert group["id"] == "too_repetitive:text:1-next:text/plain"
    (made,) = queue.json("quarantine", "show", "late.txt")["decisions"]
    assert made["reason"].startswith("release: text 1-next [")
    again = json.loads(queue.way.command(*release, **changed).out)
    assert (again["released"], again["total"]) == (0, 0)
    assert queue.dead_letters() == 0
