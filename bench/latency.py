"""How soon an index builder sees one small document on an idle system."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import io
import random
import signal
import statistics
import subprocess
import sys
import time
from datetime import UTC, datetime

from bench.report import Result, met
from bench.world import WORDS, World
from streams.blobs import BlobStore, open_store
from streams.consumers.sdk import CanonConsumer, Upsert
from streams.log.publisher import Publisher
from streams.records import ChangeEvent, Content, Manifest, Operation
from streams.settings import Settings, SourceSettings

DOCUMENTS = 50
PAUSE_S = (0.2, 0.8)
"""Between two documents, so that nothing is on its way any more; of different length, to hit any state of waiting."""
GIVE_UP_S = 60.0
TARGET_S = 1.0


def measure(world: World, args: argparse.Namespace) -> Result:
    world.canonry("run", str(world.one_document("warm-up")))
    worker = subprocess.Popen(
        [sys.executable, "-m", "streams.cli", "worker", "--with-parent"],
        env=world.environment | {"CANONRY_BROKER": world.address},
        stdin=subprocess.PIPE,
    )
    try:
        took = asyncio.run(_publish_and_see(world, worker))
    finally:
        worker.send_signal(signal.SIGTERM)
        worker.wait()
    ordered = sorted(took)
    p50, p95 = statistics.median(ordered), ordered[int(len(ordered) * 0.95)]
    values = {"p50_s": p50, "p95_s": p95, "worst_s": ordered[-1], "best_s": ordered[0], "first_s": took[0]}
    return Result(
        name="latency",
        title=f"{DOCUMENTS} small texts, one after the other, published to seen by a consumer",
        columns=["", "ms"],
        rows=[[name.removesuffix("_s"), f"{value * 1000:.0f}"] for name, value in values.items()],
        values={name: round(value, 4) for name, value in values.items()} | {"all_s": [round(t, 4) for t in took]},
        verdict=met(f"p95 < {TARGET_S:g} s", p95 < TARGET_S),
        notes=["first: right after the worker's stages had got their partitions"],
    )


async def _publish_and_see(world: World, worker: subprocess.Popen[bytes]) -> list[float]:
    """Seconds from the start of publishing, storing the original included, to the change in a consumer's hands."""
    source = {"bench": SourceSettings(kind="sdk")}
    settings = world.settings.model_copy(update={"sources": source})
    store = await asyncio.to_thread(open_store, settings)
    seen: dict[str, asyncio.Future[float]] = {}
    took: list[float] = []
    async with (
        CanonConsumer("bench", settings, broker=world.address, store=store) as consumer,
        Publisher(settings, world.address, name="bench") as publisher,
    ):
        reading = asyncio.create_task(_read(consumer, seen))
        try:
            # One that is not counted: when it is through, the worker has its partitions.
            await _one(settings, store, publisher, seen, "start", reading, worker)
            for number in range(DOCUMENTS):
                await asyncio.sleep(random.uniform(*PAUSE_S))  # noqa: S311 - no secret
                took.append(await _one(settings, store, publisher, seen, f"note-{number}", reading, worker))
        finally:
            reading.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await reading
    return took


async def _read(consumer: CanonConsumer, seen: dict[str, asyncio.Future[float]]) -> None:
    async for batch in consumer.batches():
        for change in batch:
            if isinstance(change, Upsert):
                await change.body()
                waiting = seen.get(change.canon.source_id)
                if waiting is not None and not waiting.done():
                    waiting.set_result(time.monotonic())
        await batch.commit()


async def _one(
    settings: Settings,
    store: BlobStore,
    publisher: Publisher,
    seen: dict[str, asyncio.Future[float]],
    name: str,
    reading: asyncio.Task[None],
    worker: subprocess.Popen[bytes],
) -> float:
    chance = random.Random(name)  # noqa: S311 - a text, no secret
    text = f"{name}\n\n" + "\n".join(" ".join(chance.choices(WORDS, k=12)).capitalize() + "." for _ in range(5))
    source_id = f"bench:{name}"
    arrived: asyncio.Future[float] = asyncio.get_running_loop().create_future()
    seen[source_id] = arrived
    now = datetime.now(UTC)
    started = time.monotonic()
    stored = await asyncio.to_thread(store.put_file, io.BytesIO(text.encode()))
    await publisher.publish(
        ChangeEvent(
            source_id=source_id,
            operation=Operation.UPSERT,
            manifest=Manifest(
                path=f"{name}.txt",
                file_name=f"{name}.txt",
                source="bench",
                native_id=name,
                source_updated_at=now,
                observed_at=now,
                ingested_at=now,
            ),
            content=Content(sha256=stored.sha256, size=stored.size),
        )
    )
    while not arrived.done():
        await asyncio.wait([arrived], timeout=1.0)
        if reading.done():
            reading.result()
        if worker.poll() is not None:
            raise RuntimeError(f"The worker ended with {worker.returncode}.")
        if not arrived.done() and time.monotonic() - started > GIVE_UP_S:
            raise RuntimeError(f"{source_id} was not seen within {GIVE_UP_S:.0f} s.")
    return arrived.result() - started
