"""Deletes to the very end: in flight, before their upsert, replayed, in bulk, and of what is created again."""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
import signal
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition

from streams.blobs import BlobStore, open_store, original_key
from streams.consumers.catalog import Catalog
from streams.consumers.reader import consumer_group
from streams.consumers.sdk import CanonConsumer, Delete
from streams.log.client import connection, end_offsets
from streams.log.publisher import Published, Publisher
from streams.log.topics import apply_topics
from streams.ops.lag import BUILT_IN, lag, our_groups
from streams.records import (
    ChangeEvent,
    Content,
    Decision,
    DecisionKind,
    Manifest,
    Operation,
    Outcome,
    Screened,
    Sequence,
    SourceState,
    Status,
)
from streams.settings import BlobSettings, KafkaSettings, Settings, SourceSettings, WorkerSettings
from streams.topology import STAGES, group_id
from tests.integration.conftest import delete_topics
from tests.integration.runtime.harness import publish, read, records
from tests.integration.way import Said, Way, until
from tests.unit.ledger.make import result, up

TEXT = "Minutes of the meeting about the {0}: everybody agreed that it needs paint before the winter.\n"


class World:
    """A source that tests publish for, a worker and the built-in consumers as processes, and what stands in the log."""

    def __init__(self, settings: Settings, folder: Path) -> None:
        self.settings = settings
        self.way = Way(settings, folder / "unused")
        self.store: BlobStore = open_store(settings)
        self.worker = self.way.start("worker")
        self.consumer = self.way.start("consumer")

    def publish(self, *events: ChangeEvent) -> list[Published]:
        async def send() -> list[Published]:
            async with Publisher(self.settings, self.settings.broker, name="app") as publisher:
                return [await publisher.publish(event) for event in events]

        return asyncio.run(send())

    def upsert(self, name: str, text: str) -> ChangeEvent:
        data = text.encode()
        sha256 = hashlib.sha256(data).hexdigest()
        self.store.put(original_key(sha256), data)
        return event(name, Operation.UPSERT, content=Content(sha256=sha256, size=len(data)))

    def put(self, name: str, text: str | None = None) -> Published:
        (published,) = self.publish(self.upsert(name, TEXT.format(name) if text is None else text))
        return published

    def put_ready(self, *names: str) -> None:
        self.publish(*(self.upsert(name, TEXT.format(name)) for name in names))
        until(lambda: all(self.visible(name) for name in names), 90, f"{names} are ready")
        self.settle()

    def visible(self, name: str) -> bool:
        return name in self.way.found(name.split(".", maxsplit=1)[0])

    def delete(self, *names: str) -> None:
        self.publish(*(event(name, Operation.DELETE) for name in names))
        until(lambda: all(self.status(name) == "deleted" for name in names), 60, f"{names} are deleted")
        self.settle()

    def status(self, name: str) -> str | None:
        row = self.way.documents().get(name)
        return row.status if row else None

    def settle(self) -> None:
        """Until no stage and no built-in consumer has anything left to do."""
        ours = {reads.group for reads in our_groups(self.settings.kafka.topic_prefix)}

        def rests() -> bool:
            found = asyncio.run(lag(self.settings, self.settings.broker))
            return not any(group.records for group in found if group.group in ours)

        until(rests, 90, "rest")

    def state(self, name: str) -> SourceState:
        found: SourceState = dict(asyncio.run(records(self.settings, "versions")))[f"app:{name}"]
        return found

    def history(self, topic: str, name: str) -> list[Any]:
        """All records under a document's key, None for a null."""
        return [record for key, record in asyncio.run(records(self.settings, topic)) if key == f"app:{name}"]

    def logged(self, topic: str, name: str) -> int:
        """When the log took in the last record of a document, in milliseconds."""
        key = f"app:{name}".encode()
        return max(int(m.timestamp) for m in asyncio.run(read(self.settings, topic)) if m.key == key)

    def traces(self, *words: str) -> list[str]:
        """Files of catalog and index that have one of these bytes anywhere."""
        files = [file for name in ("catalog.db*", "search.db*") for file in self.settings.data_dir.glob(name)]
        return [file.name for file in files if any(word.encode() in file.read_bytes() for word in words)]

    def command(self, *args: str, status: int = 0) -> Said:
        said = self.way.ask(*args)
        assert said.status == status, said
        return said

    def json(self, *args: str, status: int = 0) -> Any:
        return json.loads(self.command(*args, "--json", status=status).out)

    def end_worker(self) -> None:
        self.worker.send_signal(signal.SIGTERM)
        self.worker.communicate(timeout=60)

    @property
    def built_in(self) -> set[str]:
        """The built-in consumers' groups."""
        return {consumer_group(name, self.settings.kafka.topic_prefix) for name in BUILT_IN}

    def close(self) -> None:
        for process in (self.worker, self.consumer):
            process.kill()
            process.communicate()


def event(name: str, operation: Operation, content: Content | None = None) -> ChangeEvent:
    now = datetime.now(UTC)
    manifest = Manifest(
        path=name, file_name=name, source="app", native_id=name, observed_at=now, ingested_at=now, readers=["staff"]
    )
    gone = operation is Operation.DELETE
    return ChangeEvent(
        source_id=f"app:{name}",
        operation=operation,
        manifest=manifest,
        content=content,
        actor="eva" if gone else None,
        reason="withdrawn by its author" if gone else None,
    )


@pytest.fixture(scope="module")
def world(broker: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("deletes")
    settings = Settings(
        broker=broker,
        data_dir=folder / "data",
        kafka=KafkaSettings(topic_prefix=f"t{uuid.uuid4().hex[:10]}-"),
        blobs=BlobSettings(fsync=False),
        sources={"app": SourceSettings(kind="sdk")},
        worker=WorkerSettings(slots=1),
    )
    asyncio.run(apply_topics(settings))
    world = World(settings, folder)
    yield world
    world.close()
    asyncio.run(delete_topics(settings))


def test_a_delete_in_flight_stays_a_delete_when_the_result_comes(world: World) -> None:
    world.put("slow.md", legible_and_slow(400))
    until(lambda: world.history("decoded", "slow.md"), 60, "extract has it")
    world.publish(event("slow.md", Operation.DELETE))
    until(lambda: world.history("screened", "slow.md"), 120, "the late result")
    world.settle()
    assert world.logged("deleted", "slow.md") < world.logged("screened", "slow.md"), "it was not in flight"
    state = world.state("slow.md")
    assert (state.status, state.published) == (Status.DELETED, None)
    (version,) = state.versions
    assert version.outcome is Outcome.READY, "the result is kept with its version"
    assert version.valid_to is not None
    assert world.history("canon-ready", "slow.md") == [], "nobody ever saw it"
    assert [deletion.actor for deletion in world.history("deleted", "slow.md")] == ["eva"]
    assert "deleted at its source" in world.command("doc", "slow.md").out


def legible_and_slow(lines: int) -> str:
    """Markdown that the screen finds nothing wrong with, and that takes seconds for its many links."""
    words = ["harbour", "keeper", "office", "ledger", "storm", "ship", "cargo", "winter", "paint", "letter", "coast"]
    pick = random.Random(7).choice  # noqa: S311 - not repetitive, and the same each time
    return "\n\n".join(
        f"* [The {pick(words)} of the {pick(words)}](b) *noted* that the **{pick(words)}** came, "
        + " ".join(f"[{pick(words)}](c) *{pick(words)}*" for _ in range(12))
        for _ in range(lines)
    )


def test_a_delete_before_its_upsert_s_result_arrives_wins(world: World) -> None:
    """As after a state was trimmed: the ledger has never heard of the upsert whose late result comes."""
    world.put_ready("first.txt")
    (gone,) = world.publish(event("early.txt", Operation.DELETE))
    until(lambda: world.status("early.txt") == "deleted", 60, "the delete")
    before = up(gone.offset - 1, "late", source_id="app:early.txt", path="early.txt", source="app")
    late: Screened = result(before)
    late = msgspec.structs.replace(
        late, document=msgspec.structs.replace(late.document, sequence=Sequence(epoch=1, offset=gone.offset - 1))
    )
    asyncio.run(publish(world.settings, "screened", [late], gone.partition))
    world.settle()
    state = world.state("early.txt")
    assert (state.status, state.current, state.published) == (Status.DELETED, None, None)
    assert world.history("canon-ready", "early.txt") == []
    assert world.json("versions", "early.txt")["status"] == "deleted"
    assert "it was deleted" in world.command("as-of", "early.txt", datetime.now(UTC).isoformat(), status=1).out


def test_the_same_bytes_created_again_live_again(world: World) -> None:
    world.put_ready("phoenix.txt")
    first = world.history("canon-ready", "phoenix.txt")
    world.delete("phoenix.txt")
    between = datetime.now(UTC).isoformat()
    assert not world.visible("phoenix.txt")
    assert world.command("search", "phoenix", status=1).out.strip() == "Nothing found."
    assert "has no canon" in world.command("canon", "phoenix.txt", status=1).err
    world.put_ready("phoenix.txt")
    (one, gone, two) = world.history("canon-ready", "phoenix.txt")
    assert gone is None
    assert first == [one]
    assert (two.content_hash, two.fingerprint, two.payload.sha256) == (
        one.content_hash,
        one.fingerprint,
        one.payload.sha256,
    )
    assert two.sequence > one.sequence
    versions = world.json("versions", "phoenix.txt")["versions"]
    assert [version["outcome"] for version in versions] == ["ready", "ready"]
    assert versions[0]["valid_to"] < versions[1]["valid_from"]
    assert versions[0]["superseded_by"] is None, "it was ended by a delete"
    assert world.json("as-of", "phoenix.txt", between, status=1)["standing"] == "deleted"
    now = world.json("as-of", "phoenix.txt", datetime.now(UTC).isoformat())
    assert (now["version"]["number"], now["visible"], now["readers"]) == (2, True, ["staff"])


def test_a_bulk_of_deletes_with_one_that_never_was(world: World) -> None:
    """S6; and who has passed them, and who has not."""
    names = ("alpha.txt", "beta.txt", "gamma.txt")
    world.put_ready(*names)
    index: set[str] = set()
    asyncio.run(follow(world, index))
    assert {f"app:{name}" for name in names} <= index
    since = datetime.now(UTC).isoformat()
    world.delete("alpha.txt", "never-seen.txt", "beta.txt", "gamma.txt")

    found = world.json("deletes", "status", "--since", since, status=1)
    assert sorted(deletion["path"] for deletion in found["deletions"]) == sorted(names)
    prefix = world.settings.kafka.topic_prefix
    built_in = world.built_in
    mine = f"{prefix}canonry-consumer-my-index"
    for deletion in found["deletions"]:
        assert (deletion["actor"], deletion["reason"]) == ("eva", "withdrawn by its author")
        assert {group for group, passed in deletion["groups"].items() if passed == "passed"} == built_in
        assert deletion["groups"].keys() == built_in | {mine}
        assert deletion["groups"][mine] == "behind"
    said = world.command("deletes", "status", "--since", since, status=1).out
    assert "3 deleted, 0 of them erased" in said
    assert f"3 of 4; {mine} is behind" in said
    assert "deleted at its source" in world.command("doc", "never-seen.txt").out

    asyncio.run(follow(world, index))
    assert not {f"app:{name}" for name in names} & index
    found = world.json("deletes", "status", "--since", since)
    assert found["complete"]
    assert {passed for deletion in found["deletions"] for passed in deletion["groups"].values()} == {"passed"}
    assert world.json("deletes", "status", "--since", datetime.now(UTC).isoformat())["deletions"] == []


async def follow(world: World, index: set[str]) -> None:
    """An index builder that comes, reads to the end, and goes."""
    async with (
        asyncio.timeout(60),
        CanonConsumer("my-index", world.settings, broker=world.settings.broker, store=world.store) as consumer,
    ):
        async for batch in consumer.batches():
            for change in batch:
                if isinstance(change, Delete):
                    index.discard(change.source_id)
                else:
                    index.add(change.canon.source_id)
            assert await batch.commit()
            if batch.caught_up:
                return


def test_what_is_erased_is_gone_and_the_proof_stays(world: World) -> None:
    """One content in two documents: the first erasure leaves it alone, the second one takes it."""
    text = "# Annals of quuxtitleword\n\n" + TEXT.format("xyzzybodyword") * 3
    world.publish(world.upsert("twin-a.md", text), world.upsert("twin-b.md", text))
    until(lambda: world.way.found("xyzzybodyword") == ["twin-a.md", "twin-b.md"], 90, "both are ready")
    world.settle()
    (version,) = world.json("versions", "twin-a.md")["versions"]
    keys = [original_key(version["content_hash"]), version["canons"][0]["key"]]
    assert all(world.store.exists(key) for key in keys)
    said = world.command("erase", "twin-a.md", "--reason", "asked for", "--yes", status=2).err
    assert "app:twin-a.md is live" in said
    assert "Delete it at its source" in said

    world.delete("twin-a.md")
    assert "Give --yes" in world.command("erase", "twin-a.md", "--reason", "asked for", status=2).err
    erased = world.json("erase", "twin-a.md", "--reason", "asked for", "--actor", "eva", "--yes")
    (document,) = erased["erased"]
    assert (document["already"], document["erased_by"], document["erased_why"]) == (False, "eva", "asked for")
    assert document["contents"] == [{"content_hash": version["content_hash"], "erased": [], "kept_for": ["twin-b.md"]}]
    assert all(world.store.exists(key) for key in keys)
    assert {"canon-ready", "extracted", "screened"} <= {item["topic"] for item in erased["remains"]}

    world.delete("twin-b.md")
    said = world.command("erase", "twin-b.md", "--reason", "asked for, too", "--actor", "eva", "--yes").out
    assert f"removed: {keys[1]}, {keys[0]}" in said
    assert not any(world.store.exists(key) for key in keys)
    assert "nothing was left" in world.command("erase", "twin-a.md", "--reason", "again", "--yes").out
    again = world.json("erase", "twin-b.md", "--reason", "again", "--yes")["erased"][0]
    assert (again["already"], again["erased_why"]) == (True, "asked for, too")

    assert "erased" in world.command("doc", "twin-b.md").out
    proof = world.json("versions", "twin-b.md")["versions"][0]["erased"]
    assert (proof["by"], proof["why"], len(proof["fingerprints"])) == ("eva", "asked for, too", 1)
    status = json.loads(world.way.ask("deletes", "status", "--json").out)  # other tests' groups may be behind
    told = {deletion["path"]: deletion for deletion in status["deletions"]}
    assert (told["twin-b.md"]["erased_by"], told["twin-b.md"]["erased_why"]) == ("eva", "asked for, too")
    assert {told["twin-b.md"]["groups"][group] for group in world.built_in} == {"passed"}
    assert [d.erased_at is None for d in world.history("deleted", "twin-b.md")] == [True, False]
    assert world.state("twin-b.md").versions[0].summary is None
    until(lambda: not world.traces("titleword", "bodyword"), 60, f"no trace: {world.traces('titleword', 'bodyword')}")


def test_an_erasure_that_was_broken_off_is_finished_without_any_worker(world: World) -> None:
    world.put_ready("broken.txt", "whole.txt")
    world.delete("broken.txt", "whole.txt")
    key = original_key(world.state("broken.txt").versions[0].content.sha256)  # type: ignore[union-attr]
    asyncio.run(decide(world, "broken.txt"))
    until(lambda: len(world.history("deleted", "broken.txt")) == 2, 60, "the ledger has done its part")
    assert world.store.exists(key)
    world.end_worker()
    (document,) = world.json("erase", "broken.txt", "--reason", "once more", "--yes")["erased"]
    assert (document["already"], document["erased_why"]) == (True, "as it was")
    assert key in document["contents"][0]["erased"]
    assert not world.store.exists(key)
    said = world.way.command("erase", "whole.txt", "--reason", "asked for", "--yes")
    assert said.status == 0, said
    assert "No ledger is at work: one is started" in said.err
    assert "removed: canons/" in said.out
    world.worker = world.way.start("worker")


async def decide(world: World, name: str) -> None:
    """What `canonry erase` does first."""
    state = dict(await records(world.settings, "versions"))[f"app:{name}"]
    with Catalog(world.settings) as catalog:
        partition = catalog.document(state.source_id).document.partition
    async with Publisher(world.settings, world.settings.broker, name="erase") as publisher:
        await publisher.decide(
            Decision(
                source_id=state.source_id,
                sequence=state.versions[-1].sequence,
                kind=DecisionKind.ERASE,
                actor="eva",
                reason="as it was",
                decided_at=datetime.now(UTC),
            ),
            partition,
        )


def test_deletes_that_are_replayed_change_nothing(world: World) -> None:
    """Every stage reads everything again, as after a reset with any Kafka tool; nobody sees anything of it."""
    world.put_ready("living.txt", "dying.txt")
    world.delete("dying.txt")
    world.end_worker()
    before = {topic: world.way.ends(topic) for topic in ("canon-ready", "deleted", "quarantine", "versions")}
    extracted = sum(world.way.ends("extracted").values())
    for stage in STAGES.values():
        asyncio.run(reset(world.settings, group_id(stage.name, world.settings.kafka.topic_prefix), stage.reads))
    world.worker = world.way.start("worker")
    until(lambda: sum(world.way.ends("extracted").values()) > extracted, 60, "the replay is under way")
    world.settle()
    assert {topic: world.way.ends(topic) for topic in ("canon-ready", "deleted", "quarantine")} == {
        topic: ends for topic, ends in before.items() if topic != "versions"
    }
    assert world.state("dying.txt").status is Status.DELETED
    assert world.state("living.txt").status is Status.LIVE
    assert (world.visible("dying.txt"), world.visible("living.txt")) == (False, True)


async def reset(settings: Settings, group: str, topics: tuple[str, ...]) -> None:
    """The offsets of a group whose members are gone, back to the beginning."""
    ends = await end_offsets(settings, settings.broker, topics)
    tps = [TopicPartition(settings.kafka.topic_prefix + topic, number) for topic, number in ends]
    consumer = AIOKafkaConsumer(**connection(settings, settings.broker), group_id=group, enable_auto_commit=False)
    consumer.assign(tps)
    await consumer.start()
    try:
        await consumer.commit(await consumer.beginning_offsets(tps))
    finally:
        await consumer.stop()
