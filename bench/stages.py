"""Each stage alone over a prepared topic: events per second, CPU per event; and how soon work goes on after a kill."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from bench.prepared import Message, publish, read_topic, under_prefix
from bench.processes import cpu_of_tree
from bench.report import Result
from bench.world import World
from streams.log.client import end_offsets
from streams.settings import Settings
from streams.topology import STAGES

GIVE_UP_S = 600.0
LOOK_S = 0.2
BEGUN, ENDED = 0.1, 1.0
"""A stage is measured between these parts of its work, so that its start does not count."""
PROGRESS = {"decode": "decoded", "extract": "extracted", "screen": "screened", "ledger": "versions"}
"""Where a stage writes one record for each event."""


def measure(world: World, args: argparse.Namespace) -> Result:
    count: int = args.events
    world.canonry("run", str(world.small_files(count, "events")))
    source = world.settings.model_copy(update={"broker": world.address})
    topics = {topic: asyncio.run(_of(source, topic)) for stage in PROGRESS for topic in STAGES[stage].reads}
    rows, values = [], {}
    for stage, topic in PROGRESS.items():
        events = sum(len(topics[read]) for read in STAGES[stage].reads)
        seconds, cpu_s, broker_s = _alone(world, stage, topic, topics, events)
        done = events * (ENDED - BEGUN)
        values[stage] = {
            "events": events,
            "events_per_s": round(done / seconds, 1),
            "cpu_ms_per_event": round(1000 * cpu_s / done, 2),
            "broker_cpu_ms_per_event": round(1000 * broker_s / done, 2),
        }
        rows.append([stage, str(events), *(f"{value:.1f}" for value in list(values[stage].values())[1:])])
    recovery = {number: _after_a_kill(world, number) for number in (1, count // 5)}
    rows += [[f"kill, {number} waiting", "", f"{seconds:.1f} s", "", ""] for number, seconds in recovery.items()]
    return Result(
        name="stages",
        title=f"each stage alone, {count} small documents",
        columns=["", "events", "events/s", "CPU ms/event", "of the broker"],
        rows=rows,
        values={"documents": count, "stages": values, "kill_s": {str(n): round(s, 1) for n, s in recovery.items()}},
        notes=[
            f"between {BEGUN:.0%} and {ENDED:.0%} of the events; CPU of the worker and its slots, the broker's apart",
            "kill: a worker of all stages, SIGKILL right after the events were published, to the last outcome of its "
            "successor; the group waits 10 s for the session of the killed one",
        ],
    )


async def _of(settings: Settings, topic: str) -> list[Message]:
    """The messages about the documents that are measured."""
    return [message for message in await read_topic(settings, topic) if message.key.startswith(b"events:")]


def _alone(
    world: World, stage: str, topic: str, topics: dict[str, list[Message]], events: int
) -> tuple[float, float, float]:
    """Seconds, CPU seconds of the worker, and of the broker, for the measured part of a stage's work."""
    settings = under_prefix(world, f"{stage}-")
    data = world.work / f"data-{stage}"
    shutil.rmtree(data, ignore_errors=True)
    shutil.copytree(world.settings.data_dir / "blobs", data / "blobs")
    if stage == "extract":
        shutil.rmtree(data / "blobs" / "canons")  # else nothing is extracted
    for read in STAGES[stage].reads:
        asyncio.run(publish(settings, read, topics[read]))
    before = _written(settings, topic)

    def done() -> float:
        return (_written(settings, topic) - before) / events

    assert world.broker is not None
    with _worker(world, data, settings.kafka.topic_prefix, stage) as worker:
        _until(lambda: done() >= BEGUN, worker)
        began, cpu, broker = time.monotonic(), cpu_of_tree(worker.pid), cpu_of_tree(world.broker.pid)
        first = done()
        if first > 0.8:
            raise RuntimeError(f"{events} events are too few: {stage} was done before it could be measured.")
        _until(lambda: done() >= ENDED, worker)
        part = (ENDED - BEGUN) / (ENDED - first)  # it may have been further when the clock started
        return (
            (time.monotonic() - began) * part,
            (cpu_of_tree(worker.pid) - cpu) * part,
            (cpu_of_tree(world.broker.pid) - broker) * part,
        )


def _after_a_kill(world: World, count: int) -> float:
    """Seconds from SIGKILL to the last outcome of `count` documents that were just published."""
    prefix = f"kill-{count}-"
    settings = under_prefix(world, prefix)
    source = world.settings.model_copy(update={"broker": world.address})
    messages = asyncio.run(_of(source, "raw-arrived"))[: count + 1]
    data = world.settings.data_dir
    with _worker(world, data, prefix) as worker:
        asyncio.run(publish(settings, "raw-arrived", messages[:1]))
        _until(lambda: _written(settings, "versions") >= 2, worker)
        asyncio.run(publish(settings, "raw-arrived", messages[1:]))
    began = time.monotonic()
    with _worker(world, data, prefix) as worker:
        _until(lambda: asyncio.run(_settled(settings)) == count + 1, worker)
        return time.monotonic() - began


async def _settled(settings: Settings) -> int:
    return len({message.key for message in await read_topic(settings, "canon-ready")})


def _written(settings: Settings, topic: str) -> int:
    return sum(asyncio.run(end_offsets(settings, settings.broker, [topic])).values())


@contextlib.contextmanager
def _worker(world: World, data: Path, prefix: str, *stages: str) -> Iterator[subprocess.Popen[bytes]]:
    """A worker, killed at the end."""
    environment = world.environment | {
        "CANONRY_BROKER": world.address,
        "CANONRY_DATA_DIR": str(data),
        "CANONRY_KAFKA__TOPIC_PREFIX": prefix,
    }
    worker = subprocess.Popen(
        [sys.executable, "-m", "streams.cli", "worker", *stages], env=environment, stdin=subprocess.DEVNULL
    )
    try:
        yield worker
    finally:
        worker.kill()
        worker.wait()


def _until(condition: Callable[[], bool], worker: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + GIVE_UP_S
    while not condition():
        if worker.poll() is not None:
            raise RuntimeError(f"The worker ended with {worker.returncode}.")
        if time.monotonic() > deadline:
            raise RuntimeError(f"Not done within {GIVE_UP_S:.0f} s.")
        time.sleep(LOOK_S)
