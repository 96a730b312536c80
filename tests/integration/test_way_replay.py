"""Replay with real workers: everything once more is silent, a new extractor is not, and the dead stay dead."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import subprocess
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from demo.make_documents import make_documents
from streams.blobs import open_store, original_key
from streams.log.client import committed_offsets
from streams.log.publisher import Published, Publisher
from streams.log.topics import apply_topics
from streams.ops.replay_ids import TOPIC, find
from streams.ops.replay_ids import publish as republish
from streams.records import (
    ChangeEvent,
    Content,
    Decision,
    DecisionKind,
    Failure,
    Lane,
    Manifest,
    Operation,
    SourceState,
)
from streams.records.codec import TOPIC_RECORDS, decode
from streams.records.headers import EventContext, read_context
from streams.settings import BlobSettings, KafkaSettings, Settings, SourceSettings, WorkerSettings
from streams.topology import STAGES, group_id
from tests.integration.conftest import delete_topics
from tests.integration.runtime.harness import publish, read, records
from tests.integration.way import ROOT, Said, Way, interrupt, running, until

VISIBLE = ("canon-ready", "deleted", "quarantine", "versions", "content-links", "contents", "dead-letter")
REPETITIVE = "This message and its attachments are confidential and intended for the addressee only.\n" * 40
NEW_EXTRACTOR = """
import msgspec
from streams.extract import registry
for media_type, spec in registry._BY_MEDIA_TYPE.items():
    registry._BY_MEDIA_TYPE[media_type] = msgspec.structs.replace(spec, version=spec.version + "-next")
"""


def text(about: str) -> str:
    return f"The {about} page of the keeper's log tells of wind, waves and the ships that passed.\n" * 3


class Source:
    """A connector of the test's own."""

    def __init__(self, settings: Settings, publisher: Publisher) -> None:
        self._store = open_store(settings)
        self._publisher = publisher

    async def say(self, name: str, operation: Operation, *, path: str = "", **fields: Any) -> Published:
        now = datetime.now(UTC)
        path = path or name
        manifest = Manifest(
            path=path, file_name=path, source="app", native_id=name, observed_at=now, ingested_at=now, readers=["staff"]
        )
        return await self._publisher.publish(
            ChangeEvent(source_id=f"app:{name}", operation=operation, manifest=manifest, **fields)
        )

    async def bring(self, name: str, data: str | bytes, **fields: Any) -> Published:
        data = data.encode() if isinstance(data, str) else data
        sha256 = hashlib.sha256(data).hexdigest()
        self._store.put(original_key(sha256), data)
        return await self.say(name, Operation.UPSERT, content=Content(sha256=sha256, size=len(data)), **fields)


def behind(way: Way) -> str | None:
    """A stage with something left to do; asked in the order of the way, so that nothing is between two of them."""
    for stage in STAGES.values():
        ends = way.ends(*stage.reads)
        group = group_id(stage.name, way.settings.kafka.topic_prefix)
        done = asyncio.run(committed_offsets(way.settings, way.settings.broker, group, stage.reads))
        if any(end > (done[place] or 0) for place, end in ends.items()):
            return stage.name
    return None


@contextlib.contextmanager
def working(way: Way, **variables: str) -> Iterator[subprocess.Popen[bytes]]:
    """A worker with all stages, which has worked off everything when the block ends, and has left its groups."""
    with running(way.start("worker", **variables)) as process:
        yield process
        until(lambda: process.poll() is not None or not behind(way), 120, "nothing behind")
        assert interrupt(process).status == 0


def replay(way: Way, *args: str) -> Said:
    return way.command("replay", *args, "--json")


def apply(way: Way, *args: str) -> dict[str, Any]:
    said = replay(way, "apply", *args)
    assert said.status == 0, said.err
    found: dict[str, Any] = json.loads(said.out)
    return found


def states(way: Way) -> dict[str, SourceState]:
    return dict(asyncio.run(records(way.settings, "versions")))


def contexts(way: Way, topic: str) -> list[tuple[str, EventContext]]:
    return [(m.key.decode(), read_context(m.headers)) for m in asyncio.run(read(way.settings, topic))]


async def fill(settings: Settings, files: list[Path]) -> None:
    """Documents of every fate: ready, held, skipped, moved, edited, deleted, made again, and one that never came."""
    async with Publisher(settings, settings.broker, name="app") as publisher:
        source = Source(settings, publisher)
        for path in files:
            await source.bring(path.name, path.read_bytes())
        for name in ("moved", "edited", "deleted", "again"):
            await source.bring(name, text(name))
        await source.bring("same", text("edited"))
        await source.bring("same", text("edited"), path="same elsewhere")
        await source.bring("empty", b"")
        await source.bring("held", REPETITIVE)
        await source.bring("cut.pdf", b"%PDF-1.4\nnothing more")
        await source.say("unreadable", Operation.FAILED, failure=Failure(code="unreadable", message="No."))
        await source.say("moved", Operation.MOVE, path="elsewhere")
        await source.bring("edited", text("other"))
        await source.bring("edited", text("edited"))
        await source.say("deleted", Operation.DELETE)
        await source.say("again", Operation.DELETE)
        await source.bring("again", text("again"))


def differences(way: Way, before: dict[Any, int], known: dict[str, SourceState]) -> list[Any]:
    """What was published since, where that is anything."""
    if way.ends(*VISIBLE) == before:
        return []
    found: list[Any] = []
    for topic in VISIBLE:
        for message in asyncio.run(read(way.settings, topic)):
            if message.offset >= before[topic, message.partition]:
                record = decode(TOPIC_RECORDS[topic], message.value) if message.value else None
                found += [topic, message.key.decode(), record]
                if topic == "versions":
                    found += ["instead of", known[message.key.decode()]]
    return found


async def accept(settings: Settings, state: SourceState) -> None:
    assert state.current is not None
    decision = Decision(
        source_id=state.source_id,
        sequence=state.current,
        kind=DecisionKind.ACCEPT,
        actor="eva",
        reason="it is meant so",
        decided_at=datetime.now(UTC),
    )
    ((message,),) = [[m for m in await read(settings, "versions") if m.key == state.source_id.encode()][-1:]]
    await publish(settings, "decisions", [decision], message.partition)


@pytest.fixture(scope="module")
def way(broker: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Way]:
    """All fates, and a decision; with the worker at work nothing may be replayed."""
    folder = tmp_path_factory.mktemp("replay")
    settings = Settings(
        broker=broker,
        data_dir=folder / "data",
        kafka=KafkaSettings(topic_prefix=f"r{uuid.uuid4().hex[:8]}-"),
        blobs=BlobSettings(fsync=False),
        worker=WorkerSettings(slots=1),
        sources={"app": SourceSettings(kind="sdk")},
    )
    asyncio.run(apply_topics(settings))
    way = Way(settings, folder / "share")
    make_documents(way.folder, 12)
    with working(way) as process:
        asyncio.run(fill(settings, sorted(path for path in way.folder.rglob("*") if path.is_file())))
        until(lambda: not behind(way), 120, "nothing behind")
        said = replay(way, "apply", "decode", "--earliest")
        assert said.status == 3
        assert f"at work: the worker of `canonry worker`, process {process.pid} on this machine." in said.err
        assert f"Stop it first: `kill {process.pid}`" in said.err
        asyncio.run(accept(settings, states(way)["app:held"]))
    yield way
    asyncio.run(delete_topics(settings))


async def delete(settings: Settings, name: str) -> None:
    async with Publisher(settings, settings.broker, name="app") as publisher:
        await Source(settings, publisher).say(name, Operation.DELETE)


def test_documents_named_in_a_file_come_again_and_the_dead_do_not(way: Way, tmp_path: Path) -> None:
    """The stages work meanwhile."""
    file = tmp_path / "ids.txt"
    file.write_text("app:again\napp:deleted\n\napp:held\n")
    before, known = way.ends(*VISIBLE), states(way)
    with working(way):
        for stage, topic in TOPIC.items():
            planned = json.loads(replay(way, "plan", stage, "--ids", str(file)).out)
            said = replay(way, "apply", stage, "--ids", str(file))
            found = json.loads(said.out)
            assert (planned["events"], planned["run_id"]) == (found["events"], None)
            names = {event["source_id"] for event in found["events"]}
            if stage == "decode":
                assert (said.status, found["missing"]) == (1, {"app:deleted": "deleted at its source"})
                assert names == {"app:again", "app:held"}
            else:
                assert said.status == 0
                assert names == {"app:again", "app:held", "app:deleted"}
            copies = [(key, context.run_id) for key, context in contexts(way, topic) if context.lane is Lane.REPLAY]
            assert {(name, found["run_id"]) for name in names} <= set(copies)
            until(lambda: not behind(way), 60, "nothing behind")
            newest = dict(contexts(way, "screened"))
            assert all(newest[name].run_id == found["run_id"] for name in names)
            assert way.ends(*VISIBLE) == before, stage
        assert states(way) == known

        old = asyncio.run(find(way.settings, way.settings.broker, "decode", ["app:again"]))
        asyncio.run(delete(way.settings, "again"))
        until(lambda: states(way)["app:again"].status == "deleted", 60, "its delete")
        gone = way.ends("canon-ready")
        asyncio.run(republish(way.settings, way.settings.broker, old))
        until(lambda: not behind(way), 60, "nothing behind")
    assert states(way)["app:again"].status == "deleted"
    assert way.ends("canon-ready") == gone


def test_everything_once_more_is_silent(way: Way) -> None:
    """With the copies of the test above in raw-arrived. Two stages at a time, so that both ways of a result meet."""
    before, known = way.ends(*VISIBLE), states(way)
    fates = {version.outcome for state in known.values() for version in state.versions}
    assert fates == {"ready", "quarantined", "skipped"}
    assert {state.status for state in known.values()} == {"live", "deleted"}
    assert known["app:held"].published is not None
    for stages in (("extract", "ledger"), ("decode", "screen")):
        was = way.ends("decoded", "extracted", "screened")
        events = {stage: apply(way, stage, "--earliest", "--all")["events"] for stage in stages}
        assert all(events[stage] == sum(way.ends(*STAGES[stage].reads).values()) for stage in stages)
        assert behind(way) == stages[0]
        with working(way):
            pass
        changes = differences(way, before, known)
        assert not changes, "\n".join(map(str, [stages, *changes]))
        new = {
            topic: sum(way.ends(topic).values()) - sum(n for (t, _), n in was.items() if t == topic)
            for topic in ("decoded", "extracted", "screened")
        }
        if "extract" in events:
            assert new == {"decoded": 0, "extracted": events["extract"], "screened": events["extract"]}
        else:
            assert new["screened"] == new["decoded"] + events["screen"]
            assert new["decoded"] == new["extracted"] > 0
    assert states(way) == known


def test_what_could_not_come_out_otherwise_is_passed_over(way: Way) -> None:
    before, known, was = way.ends(*VISIBLE), states(way), way.ends("decoded")
    apply(way, "decode", "--earliest")
    with working(way):
        pass
    assert way.ends(*VISIBLE) == before
    assert states(way) == known
    again = {
        message.key.decode()
        for message in asyncio.run(read(way.settings, "decoded"))
        if message.offset >= was["decoded", message.partition]
    }
    # No detection says by which rules; a person has decided; an extractor may have failed; and events that opened no
    # version: the same bytes said twice, and the copy that a replay of single documents made.
    assert again == {
        "app:empty",
        "app:held",
        "app:cut.pdf",
        "app:same",
        "app:lease-workshop-four.docx",
        "app:again",
    }
    assert len(known) > 15


def test_a_new_extractor_makes_new_canons_and_archives_the_old(way: Way, tmp_path: Path) -> None:
    """The last one: a worker of the old version would change it all back. It is killed in the middle."""
    before, known = way.ends("deleted"), states(way)
    (tmp_path / "sitecustomize.py").write_text(NEW_EXTRACTOR)
    run_id = apply(way, "decode", "--earliest")["run_id"]
    decoded = sum(way.ends("decoded").values())
    changed = {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)]), "CANONRY_WORKER__IN_FLIGHT": "2"}
    with running(way.start("worker", **changed)) as process:
        until(lambda: sum(way.ends("decoded").values()) > decoded, 60, "the replay is under way")
        process.kill()
    assert behind(way) == "decode"
    with working(way, **changed):
        pass
    last = dict(contexts(way, "decoded"))
    assert {(context.lane, context.run_id) for context in last.values()} == {(Lane.REPLAY, run_id)}
    shown, beside = dict(asyncio.run(records(way.settings, "canon-ready"))), dict(contexts(way, "canon-ready"))
    for source_id, state in states(way).items():
        old = known[source_id]
        now = (state.status, state.current, state.published)
        assert now == (old.status, old.current, old.published), (state, old)
        for version, earlier in zip(state.versions, old.versions, strict=True):
            if not earlier.canons:
                continue
            *archived, current = version.canons
            assert None not in [canon.archived_at for canon in archived]
            assert current.archived_at is None
            if source_id == "app:held":  # what a person accepted stays, and the new attempt at it waits beside it
                assert current == earlier.canons[-1]
                assert [canon.attempt.extractor_version for canon in archived] == ["1-next"]
                continue
            assert [canon.attempt for canon in archived] == [canon.attempt for canon in earlier.canons]
            assert current.attempt.extractor_version.endswith("-next")
            assert current.attempt.fingerprint != earlier.canons[-1].attempt.fingerprint
        if state.published is None:
            assert shown.get(source_id) is None
        else:
            (version,) = [version for version in state.versions if version.sequence == state.published]
            assert shown[source_id].fingerprint == version.canons[-1].attempt.fingerprint
            new = version.canons[-1].attempt.extractor_version.endswith("-next")
            assert (beside[source_id].run_id == run_id and beside[source_id].lane is Lane.REPLAY) == new
    assert way.ends("deleted") == before
