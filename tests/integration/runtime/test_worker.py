"""A worker as a process: killed, told to stop, stuck, and with a broker that goes away."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aiokafka.partitioner import DefaultPartitioner

from streams.errors import TopicMismatch, UsageError
from streams.log.kafka_broker import LocalKafka, obstacles
from streams.log.topics import apply_topics
from streams.records import Outcome
from streams.runtime.producer import Producer
from streams.runtime.stage import StageApp
from streams.runtime.worker import EXIT_STUCK, Worker
from streams.settings import BlobSettings, Settings, WorkerSettings
from tests.integration.runtime.harness import (
    PROBE,
    Probe,
    committed,
    failed,
    publish,
    records,
    until,
    until_async,
    upsert,
    worker,
)

IDS = [f"share:{n}" for n in range(40)]
LAST = [f"share:last{n}" for n in range(40)]
CODES = ("unreadable", "vanished", "broken_link", "too_large", "unreadable")


def stories() -> list[Any]:
    """Documents that their connector could not deliver, each time for another reason: five versions of each."""
    return [failed(source_id, code, native_revision=str(n)) for n, code in enumerate(CODES) for source_id in IDS]


async def states(settings: Settings) -> dict[str, Any]:
    return dict(await records(settings, "versions"))


async def complete(settings: Settings) -> bool:
    found = await states(settings)
    return len(found) == len(IDS) and all(len(state.versions) == len(CODES) for state in found.values())


async def check_history(settings: Settings) -> None:
    """Everything is there once: versions, and on the queue each of them, in order."""
    for state in (await states(settings)).values():
        assert [version.screening.problems[0] for version in state.versions] == list(CODES)
        assert [version.valid_to is None for version in state.versions] == [False] * 4 + [True]
        assert all(version.outcome is Outcome.QUARANTINED for version in state.versions)
    queue = await records(settings, "quarantine")
    published = Counter((key, held.sequence) for key, held in queue)
    assert len(published) == len(IDS) * len(CODES)
    newest = dict(queue)
    assert all(newest[key].problems == ["unreadable"] for key in IDS)
    for key in IDS:
        offsets = [held.sequence.offset for at, held in queue if at == key]
        restarts = [index for index in range(1, len(offsets)) if offsets[index] < offsets[index - 1]]
        assert len(restarts) <= 1, "a repeat starts over once, at the kill"


@pytest.mark.slow
async def test_a_kill_in_the_middle_loses_nothing_and_repeats_little(settings: Settings, tmp_path: Path) -> None:
    log = tmp_path / "worker.log"
    small = {"CANONRY_WORKER__IN_FLIGHT": "8"}
    with worker(settings, log, "ledger", **small) as first:
        await publish(settings, "raw-arrived", stories()[:80])
        await until_async(lambda: _some(settings, 20), 60, "the first states")
        await publish(settings, "raw-arrived", stories()[80:])
        await until_async(lambda: _some(settings, 90), 60, "the middle")
        first.kill()
    with worker(settings, log, "ledger", **small) as second:
        await until_async(lambda: complete(settings), 60, "every version")
        await check_history(settings)
        queue = await records(settings, "quarantine")
        assert len(queue) <= len(IDS) * len(CODES) + 100  # at most what was not committed yet
        # What was told before the kill may still wait to be taken up again; behind the last ones, nothing does.
        await publish(settings, "raw-arrived", [failed(source_id, "vanished") for source_id in LAST])
        await until_async(lambda: _known(settings, LAST), 60, "the last ones")
        assert second.end(25) == 0
        assert second.seconds < 21
    done = [await committed(settings, "ledger", "raw-arrived", partition) or 0 for partition in range(8)]
    everywhere = list(range(8))
    assert {DefaultPartitioner()(key.encode(), everywhere, everywhere) for key in LAST} == set(everywhere)
    assert sum(done) == len(IDS) * len(CODES) + len(LAST)  # a stop in order leaves nothing to repeat
    assert "Traceback" not in log.read_text("utf-8")


async def _known(settings: Settings, ids: list[str]) -> bool:
    return set(ids) <= set(await states(settings))


async def _some(settings: Settings, count: int) -> bool:
    return len(await records(settings, "versions")) >= count


@pytest.fixture
def own_broker(tmp_path: Path) -> Iterator[LocalKafka]:
    if found := obstacles():
        if os.environ.get("CANONRY_REQUIRE_KAFKA") == "1":
            pytest.fail(" ".join(found))
        pytest.skip(" ".join(found))
    kafka = LocalKafka(tmp_path / "kafka", start_timeout_s=120)
    kafka.start()
    yield kafka
    kafka.stop()


@pytest.mark.slow
async def test_everything_goes_on_when_the_broker_comes_back(own_broker: LocalKafka, tmp_path: Path) -> None:
    settings = Settings(broker=own_broker.address, data_dir=tmp_path / "data", blobs=BlobSettings(fsync=False))
    await apply_topics(settings)
    log = tmp_path / "worker.log"
    with worker(settings, log, "ledger") as process:
        await publish(settings, "raw-arrived", stories()[:80])
        await until_async(lambda: _some(settings, 10), 60, "the first states")
        await asyncio.to_thread(own_broker.kill)
        await asyncio.to_thread(own_broker.start)
        assert own_broker.address == settings.broker
        await publish(settings, "raw-arrived", stories()[80:])
        await until_async(lambda: _done(settings, process), 90, "every version, or a loud end")
        if not process.running:
            assert process.process.returncode == EXIT_STUCK
            assert "CRITICAL" in process.log
    if not await complete(settings):
        with worker(settings, log, "ledger"):
            await until_async(lambda: complete(settings), 60, "every version")
    await check_history(settings)


async def _done(settings: Settings, process: Any) -> bool:
    return not process.running or await complete(settings)


async def test_the_watchdog_ends_a_stage_with_work_and_no_progress_and_no_idle_one(settings: Settings) -> None:
    watched = settings.model_copy(update={"worker": WorkerSettings(slots=1, watchdog_s=1.5, shutdown_s=3)})
    host = Worker(watched, settings.broker, ["ledger"])
    probe = Probe()
    probe.slow["share:slow"] = asyncio.Event()
    producer = Producer(settings, settings.broker)
    await producer.start()
    app = StageApp(PROBE, probe, watched, settings.broker, producer)
    host.apps = [app]
    stop = asyncio.Event()
    await app.start()
    watching = asyncio.create_task(host._watch(stop))
    try:
        await until(lambda: len(app.assigned) == 8)
        idle_since = time.monotonic()
        await until(lambda: time.monotonic() > idle_since + 2, what="more than the watchdog's time without work")
        assert not watching.done()
        await publish(settings, "raw-arrived", [upsert("share:slow")], 0)
        await until(lambda: app.active == 1)
        began = time.monotonic()
        async with asyncio.timeout(10):
            assert await watching == EXIT_STUCK
        assert time.monotonic() - began > 1.2  # it had its time, although the stage was idle for long before
    finally:
        await app.stop(0.1)
        await producer.stop()


def test_a_stop_is_bounded_even_when_faust_blocks_the_loop(settings: Settings, tmp_path: Path) -> None:
    program = (
        "import time\n"
        "from streams.runtime import stage, worker\n"
        "from streams.settings import Settings\n"
        "async def hang(self, drain_s):\n"
        "    time.sleep(600)\n"
        "stage.StageApp.stop = hang\n"
        "settings = Settings.load()\n"
        "worker.run_worker(settings, settings.broker, ['ledger'])\n"
    )
    environment = {
        **os.environ,
        "CANONRY_BROKER": settings.broker,
        "CANONRY_DATA_DIR": str(settings.data_dir),
        "CANONRY_KAFKA__TOPIC_PREFIX": settings.kafka.topic_prefix,
        "CANONRY_WORKER__SHUTDOWN_S": "1",
    }
    process = subprocess.Popen([sys.executable, "-c", program], env=environment, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        while not _catches_sigterm(process.pid) and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        assert process.wait(15) == 0
    finally:
        process.kill()
        process.wait()


def _catches_sigterm(pid: int) -> bool:
    status = Path(f"/proc/{pid}/status").read_text("ascii")
    caught = next(line for line in status.splitlines() if line.startswith("SigCgt"))
    return bool(int(caught.split()[1], 16) & 1 << (signal.SIGTERM - 1))


async def test_a_worker_refuses_what_it_can_not_do(empty_settings: Settings, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No stage is called nonsense"):
        Worker(empty_settings, empty_settings.broker, ["nonsense"])
    with pytest.raises(TopicMismatch):
        await Worker(empty_settings, empty_settings.broker, ["ledger"]).run(asyncio.Event())
    with worker(empty_settings, tmp_path / "worker.log", "ledger") as process:
        assert await asyncio.to_thread(process.process.wait, 60) not in (0, None)
        assert "canonry topics apply" in process.log
        assert "Traceback" not in process.log
