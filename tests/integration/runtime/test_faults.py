"""Real workers over one partition: a slow head and a kill, a stop in between, an encrypted one among sound ones."""

from __future__ import annotations

import asyncio
import os
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from demo.locked_pdf import locked_pdf
from streams.blobs import open_store
from streams.log.client import end_offsets
from streams.records import Outcome, SourceState
from streams.settings import Settings
from streams.topology import STAGES
from tests.integration.runtime.harness import (
    WorkerProcess,
    committed,
    document,
    publish,
    records,
    until,
    until_async,
    worker,
)
from tests.integration.way import children, command_line, cpu_seconds, slow_markdown

TEXT = "The harbour master of {} writes down the height of the tide each morning before the boats leave.\n"
SHUTDOWN_S = 5.0


def slots(process: WorkerProcess) -> list[int]:
    return [pid for pid in children(process.process.pid) if "slot_main" in command_line(pid)]


async def stuck(process: WorkerProcess) -> None:
    """Waits for a slot that works hard on a document, and freezes it."""
    began = {pid: cpu_seconds(pid) for pid in slots(process)}

    def busy() -> list[int]:
        return [pid for pid in slots(process) if cpu_seconds(pid) > began.get(pid, 9e9) + 0.8]

    await until(lambda: bool(busy()), 90, "a slot that works hard")
    os.kill(busy()[0], signal.SIGSTOP)


async def outcomes(settings: Settings) -> dict[str, Outcome]:
    """The outcome of each document's only version."""
    found: dict[str, SourceState] = dict(await records(settings, "versions"))
    assert all(len(state.versions) == 1 for state in found.values())
    return {key: state.versions[0].outcome for key, state in found.items()}


async def settled(settings: Settings, count: int) -> bool:
    found = await outcomes(settings)
    return sum(outcome is not Outcome.PENDING for outcome in found.values()) == count


@pytest.mark.slow
async def test_a_slow_head_is_not_passed_by_a_kill_nor_by_a_stop(settings: Settings, tmp_path: Path) -> None:
    """Scenario S3 of the requirements, and a stop while a document is stuck."""
    store, log = open_store(settings), tmp_path / "worker.log"
    quick = [f"share:{n}" for n in range(5)]
    extra = {"CANONRY_WORKER__SLOTS": "2", "CANONRY_WORKER__SHUTDOWN_S": f"{SHUTDOWN_S:g}"}

    async def at_the_head() -> Any:
        return [key for key, _ in await records(settings, "decoded")] == ["share:slow"]

    with worker(settings, log, **extra) as first:
        await publish(
            settings, "raw-arrived", [document(store, "share:slow", slow_markdown(2, 1).encode(), "slow.md")], 0
        )
        await until_async(at_the_head, 60, "the slow one at the head of `decoded`")
        await stuck(first)
        await publish(settings, "raw-arrived", [document(store, key, TEXT.format(key).encode()) for key in quick], 0)
        await until_async(lambda: settled(settings, 5), 90, "the quick ones")
        first.kill()
    assert await committed(settings, "extract", "decoded", 0) in (None, 0)

    with worker(settings, log, **extra) as second:
        await until(lambda: second.log.count("Working: ") == 2, 60, "its start")
        await stuck(second)
        assert await asyncio.to_thread(second.end, 40) == 0
        assert second.seconds < SHUTDOWN_S + 5
    assert await committed(settings, "extract", "decoded", 0) in (None, 0)

    with worker(settings, log, **extra):
        await until_async(lambda: settled(settings, 6), 90, "all six")
    found = await outcomes(settings)
    assert {key: found[key] for key in quick} == dict.fromkeys(quick, Outcome.READY)
    canons = {(key, canon.payload.sha256) for key, canon in await records(settings, "canon-ready")}
    assert sorted(key for key, _ in canons if key in quick) == quick  # what was made again has the same bytes


@pytest.mark.slow
async def test_an_encrypted_document_between_two_sound_ones(settings: Settings, tmp_path: Path) -> None:
    """Scenario S2 of the requirements."""
    store, log = open_store(settings), tmp_path / "worker.log"
    events = [
        document(store, "share:p1", TEXT.format("Lerwick").encode()),
        document(store, "share:p2", locked_pdf(["Salaries"], "secret"), "salaries.pdf"),
        document(store, "share:p3", TEXT.format("Stromness").encode()),
    ]
    topics = ("decoded", "extracted", "screened", "versions", "canon-ready", "quarantine", "dead-letter")

    async def all_committed(count: int) -> bool:
        places = [(stage, topic) for stage in STAGES for topic in STAGES[stage].reads if topic != "decisions"]
        places = [(stage, topic) for stage, topic in places if stage not in ("provenance", "recognize")]
        return all([await committed(settings, stage, topic, 0) == count for stage, topic in places])

    with worker(settings, log) as process:
        await publish(settings, "raw-arrived", [events[0]], 0)
        await until_async(lambda: settled(settings, 1), 90, "p1")
        before = slots(process)
        assert len(before) == 1
        await publish(settings, "raw-arrived", events[1:], 0)
        await until_async(lambda: settled(settings, 3), 60, "all three")
        await until_async(lambda: all_committed(3), 20, "commits past all three")
        assert slots(process) == before
    assert await outcomes(settings) == {
        "share:p1": Outcome.READY,
        "share:p2": Outcome.QUARANTINED,
        "share:p3": Outcome.READY,
    }
    assert (dict(await records(settings, "quarantine"))["share:p2"]).problems == ["encrypted"]
    for topic in ("decoded", "extracted", "screened"):
        assert Counter(key for key, _ in await records(settings, topic)) == dict.fromkeys(
            ("share:p1", "share:p2", "share:p3"), 1
        )
    ends = await end_offsets(settings, settings.broker, topics)
    with worker(settings, log):
        await publish(settings, "raw-arrived", [document(store, "share:p4", TEXT.format("Wick").encode())], 0)
        await until_async(lambda: settled(settings, 4), 90, "p4")
        await until_async(lambda: all_committed(4), 20, "commits")
    after = await end_offsets(settings, settings.broker, topics)
    assert [sum(after[topic, n] - ends[topic, n] for n in range(8)) for topic in topics] == [1, 1, 1, 2, 1, 0, 0]
