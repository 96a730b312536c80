"""What a replay of everything costs when nothing has changed: from the ledger alone, and all the way from decode."""

from __future__ import annotations

import argparse
import asyncio
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from bench.filled import fill
from bench.processes import cpu_of
from bench.report import Result, met
from bench.world import World
from streams.log.client import committed_offsets, end_offsets
from streams.settings import Settings
from streams.topology import STAGES, group_id

TARGET = 1000.0
LOOK_S = 0.5
VISIBLE = ("canon-ready", "deleted", "quarantine", "versions")


class Replayed(NamedTuple):
    """One replay, from the first commit of its stage until no stage had anything left to do."""

    documents: int
    seconds: float
    worker_cpu_s: float
    slots_cpu_s: float
    broker_cpu_s: float

    @property
    def cpu_ms(self) -> float:
        """Of all processes, for each document."""
        return 1000 * (self.worker_cpu_s + self.slots_cpu_s + self.broker_cpu_s) / self.documents


def measure(world: World, args: argparse.Namespace) -> Result:
    count: int = args.files
    fill(world, count)
    settings = world.settings.model_copy(update={"broker": world.address})
    before = asyncio.run(end_offsets(settings, world.address, VISIBLE))
    found = {stage: _replay(world, settings, stage, count) for stage in ("ledger", "decode")}
    if asyncio.run(end_offsets(settings, world.address, VISIBLE)) != before:
        raise RuntimeError("The replay was not silent, so its cost is that of other work.")
    rates = {stage: replayed.documents / replayed.seconds for stage, replayed in found.items()}
    return Result(
        name="replay",
        title=f"{count} small documents again, nothing changed, one worker with {settings.worker.slots} slots",
        columns=["from", "seconds", "docs/s", "CPU ms/doc", "worker", "slots", "broker"],
        rows=[
            [
                stage,
                f"{r.seconds:.1f}",
                f"{rates[stage]:.0f}",
                f"{r.cpu_ms:.2f}",
                *(f"{1000 * part / r.documents:.2f}" for part in (r.worker_cpu_s, r.slots_cpu_s, r.broker_cpu_s)),
            ]
            for stage, r in found.items()
        ],
        values={
            "files": count,
            **{stage: {k: round(v, 2) for k, v in r._asdict().items()} for stage, r in found.items()},
        },
        verdict=met(f"≥ {TARGET:.0f} documents/s", all(rate >= TARGET for rate in rates.values())),
        notes=["from the stage's first commit until no stage is behind; nothing new on the topics of consumers"],
    )


def _replay(world: World, settings: Settings, stage: str, count: int) -> Replayed:
    total = world.canonry("replay", "apply", stage, "--earliest").said["events"]
    assert world.broker is not None
    broker = world.broker.pid
    worker = subprocess.Popen(
        [sys.executable, "-m", "streams.cli", "worker", "--with-parent"],
        env=world.environment | {"CANONRY_BROKER": world.address},
        stdin=subprocess.PIPE,
    )
    try:
        left = total
        while left == total:
            time.sleep(LOOK_S)
            left = asyncio.run(_left(settings, stage))
        started, cpu = time.monotonic(), _cpu(worker.pid, broker)
        documents = count * left / total
        while any(asyncio.run(_left(settings, name)) for name in STAGES):
            if worker.poll() is not None:
                raise RuntimeError(f"The worker ended with {worker.returncode}.")
            time.sleep(LOOK_S)
        seconds = time.monotonic() - started
        now = _cpu(worker.pid, broker)
    finally:
        worker.send_signal(signal.SIGTERM)
        worker.wait()
    return Replayed(round(documents), seconds, *(b - a for a, b in zip(cpu, now, strict=True)))


def _cpu(worker: int, broker: int) -> tuple[float, float, float]:
    children = Path(f"/proc/{worker}/task/{worker}/children").read_text("ascii").split()
    return cpu_of(worker), sum(cpu_of(int(child)) for child in children), cpu_of(broker)


async def _left(settings: Settings, stage: str) -> int:
    """Events that a stage has not done yet."""
    topics = STAGES[stage].reads
    ends = await end_offsets(settings, settings.broker, topics)
    done = await committed_offsets(settings, settings.broker, group_id(stage, settings.kafka.topic_prefix), topics)
    return sum(max(0, end - (done[place] or 0)) for place, end in ends.items())
