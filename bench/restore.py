"""How long a ledger takes to know all documents again, and how much memory they need: states read from `versions`."""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import os
import random
import resource
import time
from collections.abc import Iterator
from typing import Any

import msgspec

from bench.prepared import filling, read_topic, under_prefix
from bench.processes import rss_mb
from bench.report import Result, met
from bench.world import World
from streams.ledger.store import StateStore
from streams.log.client import partitions
from streams.records import Sequence, SourceState
from streams.records.codec import decode, encode
from streams.settings import Settings

SAMPLES = 100
"""Documents that are really run; the others have their states, each under an id and hashes of its own."""
EVERY = 5
"""So many documents have three versions, the others one."""
PREFIX = "restore-"
MILLION = 1_000_000
TARGET_S, TARGET_MB = 120.0, 1500.0


def measure(world: World, args: argparse.Namespace) -> Result:
    count: int = args.states
    world.canonry("run", str(world.small_files(SAMPLES, "samples")))
    settings = under_prefix(world, PREFIX)
    of_world = world.settings.model_copy(update={"broker": world.address})
    newest = {message.key: message.value for message in asyncio.run(read_topic(of_world, "versions"))}
    began = time.monotonic()
    size = asyncio.run(_fill(settings, [_grown(number, value) for number, value in enumerate(newest.values())], count))
    fill = time.monotonic() - began
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        found = pool.apply(_restore, (settings.model_dump(mode="json"),))
    if found["states"] != count:
        raise RuntimeError(f"{found['states']} states were restored, and {count} were written.")
    seconds = found["seconds"] * MILLION / count
    memory = found["before_mb"] + (found["highest_mb"] - found["before_mb"]) * MILLION / count
    by_arithmetic = "" if count >= MILLION else f" (by arithmetic from {count}: {seconds:.0f} s, {memory:.0f} MiB)"
    return Result(
        name="restore",
        title=f"{count} states of {size / count:.0f} bytes, read by a process of its own",
        columns=["", "seconds", "states/s", "CPU µs/state", "RSS MiB"],
        rows=[
            ["filled", f"{fill:.1f}", f"{count / fill:.0f}", "", ""],
            ["before", "", "", "", f"{found['before_mb']:.0f}"],
            [
                "restored",
                f"{found['seconds']:.1f}",
                f"{count / found['seconds']:.0f}",
                f"{found['cpu_s'] / count * 1e6:.0f}",
                f"{found['after_mb']:.0f}",
            ],
            ["highest", "", "", "", f"{found['highest_mb']:.0f}"],
        ],
        values={"states": count, "bytes": size, "fill_seconds": round(fill, 1), **found},
        verdict=met(
            f"a million in < {TARGET_S:.0f} s and < {TARGET_MB:.0f} MiB{by_arithmetic}",
            seconds < TARGET_S and memory < TARGET_MB,
        ),
        notes=[f"one document in {EVERY} has three versions, the others one"],
    )


def _grown(number: int, value: bytes) -> tuple[bytes, list[bytes], bytes]:
    """A state to copy: its id, its hashes, its record."""
    state = decode(SourceState, value)
    if number % EVERY == 0:
        (version,) = state.versions
        versions = [
            msgspec.structs.replace(
                version, sequence=Sequence(epoch=1, offset=version.sequence.offset + n), valid_to=version.settled_at
            )
            for n in range(3)
        ]
        state = msgspec.structs.replace(state, versions=versions)
    hashes = [state.versions[0].content, state.versions[0].canons[0].payload]
    return state.source_id.encode(), [h.sha256.encode() for h in hashes if h is not None], encode(state)


async def _fill(settings: Settings, samples: list[tuple[bytes, list[bytes], bytes]], count: int) -> int:
    """Writes `count` states; their bytes."""
    size = 0
    topic = settings.kafka.topic_prefix + "versions"
    numbers = (await partitions(settings, settings.broker, ["versions"]))["versions"]
    async with filling(settings) as producer:
        for number, (key, value) in enumerate(_states(samples, count)):
            await producer.send(topic, value, key=key, partition=numbers[number % len(numbers)])
            size += len(value)
    return size


def _states(samples: list[tuple[bytes, list[bytes], bytes]], count: int) -> Iterator[tuple[bytes, bytes]]:
    chance = random.Random(0)  # noqa: S311 - no secrets
    for number in range(count):
        source_id, hashes, value = samples[number % len(samples)]
        # As long as the sample's, so that no length in the record changes.
        own = f"{number:0{len(source_id) - len(b'samples:')}d}".encode()
        value = value.replace(source_id.removeprefix(b"samples:"), own)
        for one in hashes:
            value = value.replace(one, chance.randbytes(32).hex().encode())
        yield b"samples:" + own, value


def _restore(values: dict[str, Any]) -> dict[str, Any]:
    """In a fresh process: its time and memory."""
    settings = Settings(**values)
    numbers = asyncio.run(partitions(settings, settings.broker, ["versions"]))["versions"]
    store = StateStore(settings, settings.broker)
    before, began, cpu = rss_mb(os.getpid()), time.monotonic(), time.process_time()
    asyncio.run(store.restore(set(numbers)))
    return {
        "states": len(store),
        "seconds": round(time.monotonic() - began, 2),
        "cpu_s": round(time.process_time() - cpu, 2),
        "before_mb": round(before or 0.0, 1),
        "after_mb": round(rss_mb(os.getpid()) or 0.0, 1),
        "highest_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),  # KiB on Linux
    }
