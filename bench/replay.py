"""What a replay of everything costs when nothing has changed: as it is, and with all of the work done again."""

from __future__ import annotations

import argparse
import asyncio
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import msgspec
from aiokafka import AIOKafkaConsumer, TopicPartition

from bench.filled import fill
from bench.prepared import filling, read_topic, under_prefix
from bench.processes import canonry, cpu_of
from bench.report import Result, met
from bench.world import World
from streams.log.client import committed_offsets, connection, end_offsets, partitions
from streams.records import ChangeEvent, Sequence, SourceState
from streams.records.codec import decode, encode
from streams.settings import Settings
from streams.topology import STAGES, group_id

TARGET = 1000.0
LOOK_S = 0.5
KNOWN, SAMPLES = 50_000, 100
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
    silent = _nothing_changed(world)
    count: int = args.files
    fill(world, count)
    settings = world.settings.model_copy(update={"broker": world.address})
    before = asyncio.run(end_offsets(settings, world.address, VISIBLE))
    found = {stage: _replay(world, settings, stage, count) for stage in ("ledger", "decode")}
    if asyncio.run(end_offsets(settings, world.address, VISIBLE)) != before:
        raise RuntimeError("The replay was not silent, so its cost is that of other work.")
    rows = {"nothing changed": silent, **{f"--all from {stage}": replayed for stage, replayed in found.items()}}
    return Result(
        name="replay",
        title=f"everything again, nothing changed, one worker with {settings.worker.slots} slots",
        columns=["", "documents", "seconds", "docs/s", "CPU ms/doc", "worker", "slots", "broker"],
        rows=[
            [
                name,
                str(r.documents),
                f"{r.seconds:.1f}",
                f"{r.documents / r.seconds:.0f}",
                f"{r.cpu_ms:.2f}",
                *(f"{1000 * part / r.documents:.2f}" for part in (r.worker_cpu_s, r.slots_cpu_s, r.broker_cpu_s)),
            ]
            for name, r in rows.items()
        ],
        values={name: {k: round(v, 2) for k, v in r._asdict().items()} for name, r in rows.items()},
        verdict=met(f"nothing changed: ≥ {TARGET:.0f} documents/s", silent.documents / silent.seconds >= TARGET),
        notes=[
            "nothing changed: from the start of the worker, its restoration included, until decode has committed",
            "--all: from the stage's first commit until no stage is behind; nothing new on the topics of consumers",
        ],
    )


def _nothing_changed(world: World) -> Replayed:
    """`KNOWN` documents under a prefix of their own: events and states of a few that were really run, copied."""
    world.canonry("run", str(world.small_files(SAMPLES, "samples")))
    own = world.settings.model_copy(update={"broker": world.address})
    settings = under_prefix(world, "known-")
    asyncio.run(_fill(own, settings))
    environment = world.environment | {"CANONRY_BROKER": world.address, "CANONRY_KAFKA__TOPIC_PREFIX": "known-"}
    said = canonry(environment, "replay", "apply", "decode", "--earliest").said
    if said["events"] != KNOWN:
        raise RuntimeError(f"{said['events']} events would come again, and {KNOWN} were written.")
    topics = ("raw-arrived", "decoded", "screened", *VISIBLE)
    before = asyncio.run(end_offsets(settings, world.address, topics))
    assert world.broker is not None
    broker = world.broker.pid
    cpu = cpu_of(broker)
    started = time.monotonic()
    worker = subprocess.Popen(
        [sys.executable, "-m", "streams.cli", "worker", "--with-parent"], env=environment, stdin=subprocess.PIPE
    )
    try:
        while asyncio.run(_left(settings, "decode")):
            if worker.poll() is not None:
                raise RuntimeError(f"The worker ended with {worker.returncode}.")
            time.sleep(LOOK_S)
        seconds = time.monotonic() - started
        of_worker, of_slots, of_broker = _cpu(worker.pid, broker)
    finally:
        worker.send_signal(signal.SIGTERM)
        worker.wait()
    if asyncio.run(end_offsets(settings, world.address, topics)) != before:
        raise RuntimeError("Something was published, so something was worked on.")
    return Replayed(KNOWN, seconds, of_worker, of_slots, of_broker - cpu)


async def _fill(samples: Settings, settings: Settings) -> None:
    """Copies what stands on raw-arrived and versions; decode and ledger have done all of it."""
    states = {message.key: decode(SourceState, message.value) for message in await read_topic(samples, "versions")}
    events = [decode(ChangeEvent, message.value) for message in await read_topic(samples, "raw-arrived")]
    prefix = settings.kafka.topic_prefix
    numbers = (await partitions(settings, settings.broker, ["raw-arrived"]))["raw-arrived"]
    ends = dict.fromkeys(numbers, 0)
    async with filling(settings) as producer:
        for number in range(KNOWN):
            event = events[number % len(events)]
            partition = numbers[number % len(numbers)]
            at = Sequence(epoch=settings.kafka.log_epoch, offset=ends[partition])
            ends[partition] += 1
            source_id = f"{event.source_id}-{number}"
            state = states[event.source_id.encode()]
            (version,) = state.versions
            arrived = msgspec.structs.replace(event, source_id=source_id)
            known = msgspec.structs.replace(
                state,
                source_id=source_id,
                high_water=at,
                current=at,
                published=at,
                versions=[msgspec.structs.replace(version, sequence=at)],
            )
            for topic, record in (("raw-arrived", arrived), ("versions", known)):
                await producer.send(prefix + topic, encode(record), key=source_id.encode(), partition=partition)
    for stage in ("decode", "ledger"):
        group = AIOKafkaConsumer(
            **connection(settings, settings.broker), group_id=group_id(stage, prefix), enable_auto_commit=False
        )
        await group.start()
        try:
            places = {TopicPartition(f"{prefix}raw-arrived", number): end for number, end in ends.items()}
            group.assign(list(places))
            await group.commit(places)
        finally:
            await group.stop()


def _replay(world: World, settings: Settings, stage: str, count: int) -> Replayed:
    total = world.canonry("replay", "apply", stage, "--earliest", "--all").said["events"]
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
