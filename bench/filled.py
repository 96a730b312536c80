"""A folder of small files that has been run once, with the memory of the worker meanwhile; shared by two benchmarks."""

from __future__ import annotations

import asyncio
import json
import os
import time
from pathlib import Path

from bench.processes import canonry, child, rss_mb
from bench.world import World
from streams.log.client import end_offsets

SAMPLE_S = 2.0
Sample = tuple[float, int, float]  # seconds, documents, MiB


def documents_decoded(world: World) -> int:
    """Records on `decoded`: one for each content that was taken in hand."""
    ends = asyncio.run(end_offsets(world.settings, world.address, ["decoded"]))
    return sum(ends.values())


def fill(world: World, count: int) -> tuple[Path, list[Sample], float]:
    """Runs the folder for the first time, or remembers that it was; samples are (seconds, documents, MiB)."""
    folder = world.small_files(count, "notes")
    done = world.work / f"filled-{count}.json"
    if done.exists():
        kept = json.loads(done.read_text("utf-8"))
        return folder, [tuple(sample) for sample in kept["samples"]], kept["seconds"]
    world.canonry("run", str(world.one_document("warm-up")))
    before = documents_decoded(world)
    samples: list[Sample] = []
    started = time.monotonic()
    due = started
    worker: int | None = None

    def look(pid: int) -> None:
        nonlocal due, worker
        if time.monotonic() < due:
            return
        due = time.monotonic() + SAMPLE_S
        worker = worker or child(pid, "worker")
        memory = rss_mb(worker) if worker is not None else None
        if memory is not None:
            samples.append((time.monotonic() - started, documents_decoded(world) - before, memory))

    assert world.broker is not None
    whole = canonry(world.environment, "run", str(folder), broker_pid=world.broker.pid, meanwhile=look)
    samples = [sample for sample in samples if sample[2] > 1]  # the last look may have met a process that ended
    temporary = done.with_suffix(".tmp")
    temporary.write_text(json.dumps({"samples": samples, "seconds": whole.seconds}), "utf-8")
    os.replace(temporary, done)
    return folder, samples, whole.seconds
