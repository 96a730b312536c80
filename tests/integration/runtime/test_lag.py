"""A worker's own lag and endpoints, against the log and as a real process."""

from __future__ import annotations

import asyncio
import socket
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from aiokafka import AIOKafkaProducer
from prometheus_client.parser import text_string_to_metric_families

from streams.log.client import connection
from streams.log.freshness import RecordTimes
from streams.records.codec import encode
from streams.settings import Settings
from tests.integration.runtime.harness import (
    Probe,
    committed,
    failed,
    publish,
    read,
    stage_app,
    until,
    until_async,
    upsert,
    worker,
)

HERE = ("raw-arrived", 0)


async def test_a_stuck_event_ages_as_the_log_says_and_what_waits_behind_it_too(settings: Settings) -> None:
    one_at_a_time = settings.model_copy(update={"worker": settings.worker.model_copy(update={"in_flight": 1})})
    probe = Probe()
    probe.slow["share:stuck"] = asyncio.Event()
    async with stage_app(one_at_a_time, probe) as app, RecordTimes(settings, settings.broker) as times:
        await until(lambda: app.caught_up, what="caught up with nothing")
        assert set(app.lags().values()) == {app.lags()[HERE]}
        assert app.lags()[HERE].seconds(time.time()) == 0
        await publish(settings, "raw-arrived", [upsert("share:stuck")], 0)
        await until(lambda: app.active == 1)
        for number in range(1, 8):  # the only lane is taken: these are not handed over, or only to wait
            await publish(settings, "raw-arrived", [upsert(f"share:{number}")], number)
        await until(lambda: app.lag() == 8, what="all known of")
        await app.peek(times)
        stamped = {message.partition: message.timestamp / 1000 for message in await read(settings, "raw-arrived")}
        now = time.time()
        for (_, partition), lag in app.lags().items():
            assert lag.records == 1
            assert abs(lag.seconds(now) - (now - stamped[partition])) < 0.01
        assert app.lags()[HERE].seconds(now + 10) - app.lags()[HERE].seconds(now) == 10
        probe.slow["share:stuck"].set()
        await until(lambda: app.lag() == 0, what="done")
        assert all(lag.seconds(time.time()) == 0 for lag in app.lags().values())


async def test_the_end_of_a_transaction_is_no_work(settings: Settings) -> None:
    producer = AIOKafkaProducer(
        **connection(settings, settings.broker), transactional_id=settings.kafka.topic_prefix + "t"
    )
    await producer.start()
    try:
        async with producer.transaction():
            value = encode(upsert("share:1"))
            topic = settings.kafka.topic_prefix + "raw-arrived"
            await producer.send_and_wait(topic, value, key=b"share:1", partition=0)
    finally:
        await producer.stop()
    async with stage_app(settings, Probe()) as app, RecordTimes(settings, settings.broker) as times:
        await until(lambda: app.done == 1)

        async def nothing_left() -> bool:
            await app.peek(times)
            ends_behind_the_marker = app._book._looked.get(HERE, (0, 0))[1] == 2
            return ends_behind_the_marker and app.lag() == 0 and app.caught_up

        # Else the watchdog would wait for the marker, and end the process.
        await until_async(nothing_left, what="the marker is known for what it is")
        assert app.lags()[HERE].oldest_at is None


def ask(port: int, path: str) -> tuple[int, str]:
    """Status and body; 0 when nobody listens."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except OSError:
        return 0, ""


def samples(text: str) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, []).append(sample)
    return found


async def test_a_worker_is_ready_when_it_has_caught_up_and_not_before(settings: Settings, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    ids = [f"share:{number}" for number in range(30)]
    await publish(settings, "raw-arrived", map(failed, ids))
    variables = {"CANONRY_WORKER__METRICS_ADDRESS": str(port), "CANONRY_SOURCES": '{"share": {}}'}
    with worker(settings, tmp_path / "worker.log", "ledger", **variables) as process:
        answers: list[tuple[int, str]] = []

        async def ready() -> bool:
            answers.append(await asyncio.to_thread(ask, port, "/readyz"))
            assert process.running, process.log
            return answers[-1][0] == 200

        await until_async(ready, 60, "ready", every_s=0.05)
        assert {status for status, _ in answers} == {0, 503, 200}
        assert any("ledger has not joined its group." in body for _, body in answers)
        done = [await committed(settings, "ledger", "raw-arrived", partition) or 0 for partition in range(8)]
        assert len(ids) - sum(done) <= 8  # the last commit is on its way, at most
        assert await asyncio.to_thread(ask, port, "/livez") == (200, "alive\n")

        found: dict[str, list[Any]] = {}

        async def held() -> bool:
            nonlocal found
            found = samples((await asyncio.to_thread(ask, port, "/metrics"))[1])
            return bool(sum(sample.value for sample in found.get("canonry_held_documents", [])) == len(ids))

        await until_async(held, what="the held ones counted")
        (count,) = found["canonry_held_documents"]
        assert count.labels == {"source": "share", "code": "unreadable"}
        assert 0 < found["canonry_held_oldest_age_seconds"][0].value < 600
        (processed,) = found["canonry_events_processed_total"]
        assert (processed.labels, processed.value) == ({"stage": "ledger"}, len(ids))
        (settled,) = found["canonry_versions_settled_total"]
        assert settled.labels == {"source": "share", "outcome": "quarantined", "lane": "live"}
        assert settled.value == len(ids)
        group = settings.kafka.topic_prefix + "canonry-ledger"
        lags = found["canonry_group_lag_seconds"]
        assert {sample.labels["group"] for sample in lags} == {group}
        assert {(sample.labels["topic"], sample.value) for sample in lags} == {
            ("raw-arrived", 0.0),
            ("screened", 0.0),
            ("decisions", 0.0),
        }
        assert found["canonry_restore_duration_seconds"][0].value > 0

        with socket.create_connection(("127.0.0.1", port)) as rude:
            rude.sendall(b"\x00" * 10_000)
        assert (await asyncio.to_thread(ask, port, "/livez"))[0] == 200
        assert process.end(30) == 0
    assert "Traceback" not in process.log


async def test_a_port_that_is_taken_is_told(settings: Settings, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        variables = {"CANONRY_WORKER__METRICS_ADDRESS": str(taken.getsockname()[1])}
        with worker(settings, tmp_path / "worker.log", "ledger", **variables) as process:
            assert await asyncio.to_thread(process.process.wait, 60) == 2
            assert "can't be listened on" in process.log
            assert "Traceback" not in process.log
