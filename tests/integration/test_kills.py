"""Workers and slots killed at random points of a run: the end is that of a run that nobody disturbed.

CANONRY_TEST_KILLS (default 10, half of them whole workers, half of them slots), CANONRY_TEST_KILL_DOCUMENTS (150) and
CANONRY_TEST_KILL_SEED (1) say how large it is.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
import time
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition

from streams.blobs import BlobStore, open_store
from streams.log.client import connection
from streams.log.topics import apply_topics
from streams.records import ChangeEvent, Operation, Outcome, SourceState, Status
from streams.records.codec import decode
from streams.settings import Settings
from tests.integration.conftest import delete_topics
from tests.integration.runtime.harness import WorkerProcess, document, publish, read, records
from tests.integration.way import children, command_line
from tests.unit.ledger.make import acl, delete, move, without_times

KILLS = int(os.environ.get("CANONRY_TEST_KILLS", "10"))
DOCUMENTS = int(os.environ.get("CANONRY_TEST_KILL_DOCUMENTS", "150"))
SEED = int(os.environ.get("CANONRY_TEST_KILL_SEED", "1"))
SLICES = 4
STAGES = ("decode", "extract", "screen", "ledger")
TEXT = "the keeper of a lighthouse writes down each evening how many ships have passed before the fog came in"
WORDS = TEXT.split()
TROUBLE_S = 180.0
"""Without any progress the run is stuck: a restart takes as long as the session of the killed one, and some seconds."""


def story(store: BlobStore, chance: random.Random) -> list[ChangeEvent]:
    """Upserts of all documents, mixed with updates, moves, new rights and deletes of some of them."""

    def text(number: int, edition: int) -> ChangeEvent:
        lines = [" ".join(chance.choices(WORDS, k=12)) + "." for _ in range(chance.randint(3, 30))]
        name = f"{number:05d}.{chance.choice(['txt', 'txt', 'md', 'html'])}"
        head = {"html": "<html><body><h1>Log {}</h1><p>", "md": "# Log {}\n\n", "txt": "Log {}\n\n"}
        data = head[name.rsplit(".", 1)[1]].format(f"{number}, edition {edition}") + "\n".join(lines)
        kind = number % 25
        if kind == 7:
            return document(store, f"share:{number}", b"", name)  # skipped
        if kind == 11:
            return document(store, f"share:{number}", b"%PDF-1.7\n" + data.encode(), name)  # held
        return document(store, f"share:{number}", data.encode(), name)

    events = [text(number, 1) for number in range(DOCUMENTS)]
    for number in chance.sample(range(DOCUMENTS), DOCUMENTS // 3):
        later: list[ChangeEvent] = [
            text(number, 2),
            move(0, f"archive/{number}.txt", source_id=f"share:{number}").event,
            acl(0, ["board"], source_id=f"share:{number}").event,
            delete(0, source_id=f"share:{number}").event,
        ]
        chosen = chance.sample(later, chance.randint(1, 2))
        for event in chosen:
            events.insert(chance.randint(events.index(_last(events, number)) + 1, len(events)), event)
    return events


def _last(events: list[ChangeEvent], number: int) -> ChangeEvent:
    return [event for event in events if event.source_id == f"share:{number}"][-1]


class Watch:
    """The newest states, read from `versions` as they come, and how many records there were."""

    def __init__(self, consumer: Any) -> None:
        self._consumer = consumer
        self._values: dict[str, bytes] = {}
        self._open: set[str] = set()
        self.records = 0
        self.moved_at = time.monotonic()

    async def look(self, wait_s: float = 0.05) -> None:
        found = await self._consumer.getmany(timeout_ms=int(wait_s * 1000), max_records=2000)
        for messages in found.values():
            for message in messages:
                self._values[message.key.decode()] = message.value
                self._open.add(message.key.decode())
                self.records += 1
                self.moved_at = time.monotonic()
        assert time.monotonic() - self.moved_at < TROUBLE_S, f"no progress after {self.records} states"

    def settled(self, expected: dict[str, int]) -> bool:
        """Whether all these documents have seen their last event and have no version without an outcome."""
        for key in [*self._open]:
            state = decode(SourceState, self._values[key])
            if state.high_water.offset >= expected.get(key, 1 << 62) and all(
                version.outcome is not Outcome.PENDING for version in state.versions
            ):
                self._open.discard(key)
        return not self._open and len(self._values) == len(expected)


@contextlib.asynccontextmanager
async def watching(settings: Settings) -> AsyncIterator[Watch]:
    consumer = AIOKafkaConsumer(**connection(settings, settings.broker), enable_auto_commit=False)
    await consumer.start()
    try:
        consumer.assign([TopicPartition(settings.kafka.topic_prefix + "versions", n) for n in range(8)])
        await consumer.seek_to_beginning()
        yield Watch(consumer)
    finally:
        await consumer.stop()


class Killer:
    """Ends workers and slots; a worker that is gone is started again, as a supervisor would."""

    def __init__(self, settings: Settings, log: Path) -> None:
        self._settings, self._log = settings, log
        self._process: WorkerProcess | None = None
        self.workers = self.slots = self.ended = 0

    def keep(self) -> None:
        if self._process is None or not self._process.running:
            self.ended += self._process is not None
            self._process = WorkerProcess(
                self._settings, self._log, *STAGES, CANONRY_WORKER__SLOTS="2", CANONRY_WORKER__MAX_ATTEMPTS="5"
            )

    def kill_worker(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process = None
        self.workers += 1
        self.keep()

    async def kill_slot(self, chance: random.Random) -> None:
        """Kills one of the slots, as soon as there is one."""
        assert self._process is not None
        while self._process.running:
            found = [pid for pid in children(self._process.process.pid) if "slot_main" in command_line(pid)]
            if found:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(chance.choice(found), signal.SIGKILL)
                    self.slots += 1
                return
            await asyncio.sleep(0.05)

    def stop(self) -> None:
        if self._process is not None:
            self._process.end(60)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()


async def run(settings: Settings, events: list[ChangeEvent], log: Path, kills: int, chance: random.Random) -> Killer:
    """All events through a worker that is killed `kills` times, at points of the run's progress and of time."""
    expected: dict[str, int] = {}
    total = len(events) * 2  # records of `versions`: each event, and each result
    size = len(events) // SLICES + 1
    slices = [events[at : at + size] for at in range(0, len(events), size)]
    killer = Killer(settings, log)
    done = 0
    async with watching(settings) as watch:
        try:
            while True:
                if (slices and watch.records >= total * (SLICES - len(slices)) / SLICES * 0.7) or (
                    not kills and slices
                ):
                    part = slices.pop(0)
                    for event, offset in zip(part, await publish(settings, "raw-arrived", part), strict=True):
                        expected[event.source_id] = offset
                killer.keep()
                if done == kills:
                    await watch.look(0.2)
                    if not slices and watch.settled(expected):
                        break
                    continue
                # Half of them by progress, half of them by time, so that starts and hand-overs are hit, too.
                enough = watch.records + chance.randint(1, max(2, 2 * total // max(1, kills)))
                late = time.monotonic() + chance.uniform(0.2, 4.0 if chance.random() < 0.5 else 20.0)
                while watch.records < enough and time.monotonic() < late:
                    await watch.look()
                    killer.keep()
                if done % 2:
                    await killer.kill_slot(chance)
                else:
                    killer.kill_worker()
                done += 1
            await asyncio.to_thread(killer.stop)
        finally:
            killer.kill()
    return killer


async def visible(settings: Settings) -> dict[str, Any]:
    """What stands in the log at the end, but for times."""

    def plain(state: SourceState) -> SourceState:
        state = without_times(state)
        versions = [
            msgspec.structs.replace(
                version,
                canons=[
                    msgspec.structs.replace(canon, attempt=msgspec.structs.replace(canon.attempt, seconds=0.0))
                    for canon in version.canons
                ],
            )
            for version in state.versions
        ]
        return msgspec.structs.replace(state, versions=versions)

    canons = dict(await records(settings, "canon-ready"))
    held = dict(await records(settings, "quarantine"))
    return {
        "versions": {key: plain(state) for key, state in await records(settings, "versions")},
        "canons": {
            key: (canon.sequence, canon.payload.sha256, canon.fingerprint, canon.path, canon.readers, canon.stale)
            for key, canon in canons.items()
            if canon is not None
        },
        "held": {key: (value.sequence, value.problems, value.path) for key, value in held.items() if value is not None},
        "deleted": {(key, deletion.sequence) for key, deletion in await records(settings, "deleted")},
        "dead": len(await read(settings, "dead-letter")),
    }


@pytest.mark.slow
async def test_kills_at_random_points_change_nothing(settings: Settings, tmp_path: Path) -> None:
    kafka = settings.kafka.model_copy(update={"topic_prefix": f"k{uuid.uuid4().hex[:10]}-"})
    disturbed = settings.model_copy(update={"kafka": kafka, "data_dir": tmp_path / "disturbed"})
    await apply_topics(disturbed)
    try:
        ends: list[dict[str, Any]] = []
        for number, (where, kills) in enumerate([(settings, 0), (disturbed, KILLS)]):
            store = await asyncio.to_thread(open_store, where)
            events = story(store, random.Random(SEED))  # noqa: S311 - no secrets
            log = tmp_path / f"worker-{number}.log"
            began = time.monotonic()
            killer = await run(where, events, log, kills, random.Random(SEED))  # noqa: S311
            ends.append(await visible(where))
            print(  # noqa: T201 - shown with -s, and when it fails
                f"{DOCUMENTS} documents, {len(events)} events, {killer.workers} workers and {killer.slots} slots "
                f"killed, {killer.ended} ended themselves, {time.monotonic() - began:.0f} s"
            )
        undisturbed, found = ends
        for name in undisturbed:
            assert found[name] == undisturbed[name], name
        check(found)
        assert "Traceback" not in log.read_text("utf-8")
    finally:
        await delete_topics(disturbed)


def check(found: dict[str, Any]) -> None:
    """One current canon for each document that lives and is ready, none for any other; all of the mix was there."""
    states: dict[str, SourceState] = found["versions"]
    assert len(states) == DOCUMENTS
    ready = {key for key, state in states.items() if state.published is not None}
    assert set(found["canons"]) == ready
    assert all(found["canons"][key][0] == states[key].published for key in ready)
    assert all(state.status is Status.LIVE for key, state in states.items() if key in ready)
    outcomes = {version.outcome for state in states.values() for version in state.versions}
    assert outcomes == {Outcome.READY, Outcome.QUARANTINED, Outcome.SKIPPED}
    operations = {change.operation for state in states.values() for change in state.changes}
    assert {Operation.DELETE, Operation.MOVE, Operation.ACL} <= operations
    assert found["deleted"]
    assert found["dead"] == 0
