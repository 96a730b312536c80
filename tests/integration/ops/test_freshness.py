"""Freshness of a source over a real log: a replay hides nothing, and the command says what is wrong."""

from __future__ import annotations

import asyncio
import json
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from streams.ledger.transitions import Arrived
from streams.ops.lag import GroupLag, State, watching
from streams.ops.status import status
from streams.records import Lane
from streams.records.headers import EventContext
from streams.runtime.messages import Outgoing
from streams.runtime.producer import Producer
from streams.settings import Settings, SourceSettings
from streams.topology import STAGES
from tests.integration.runtime.harness import Probe, publish, stage_app, until, until_async, upsert, worker
from tests.integration.way import Way
from tests.unit.ledger.make import result, up


class Log:
    """A writer of events in any lane, to partition 0."""

    def __init__(self, producer: Producer) -> None:
        self._producer = producer

    async def put(self, topic: str, record: Any, lane: Lane = Lane.LIVE) -> None:
        source_id = getattr(record, "source_id", None) or record.document.source_id
        await self._producer.send(
            [Outgoing(topic, source_id, record)],
            stage="test",
            event_id="test",
            context=EventContext.new(lane),
            partition=0,
        )


def arrived(offset: int, name: str, ago: timedelta) -> Arrived:
    return up(offset, name, source_id=f"share:{name}", ingested_at=datetime.now(UTC) - ago)


async def test_a_replay_makes_no_stale_source_fresh(settings: Settings, tmp_path: Path) -> None:
    settings = settings.model_copy(update={"sources": {"share": SourceSettings(slo_s=300)}})
    way = Way(settings, tmp_path / "folder")
    sources = {"CANONRY_SOURCES": '{"share": {"slo_s": 300}}'}
    done, stuck = arrived(0, "done", timedelta(seconds=20)), arrived(1, "stuck", timedelta(hours=1))
    catalog = way.start("consumer", "catalog")
    producer = Producer(settings, settings.broker)
    await producer.start()
    log = Log(producer)
    try:
        with worker(settings, tmp_path / "worker.log", "ledger", **sources):
            for event in (done, stuck):
                await log.put("raw-arrived", event.event)
            await log.put("screened", result(done))

            async def seen(live: int, replayed: int, unsettled: int) -> bool:
                said = await asyncio.to_thread(status, settings)
                (share,) = said["sources"]
                assert catalog.poll() is None
                latency = share["latency"]
                counts = [latency.get(lane, {}).get("documents", 0) for lane in ("live", "replay")]
                groups = {group["group"]: group for group in said["lag"]}
                read = groups[settings.kafka.topic_prefix + "canonry-consumer-catalog"]["state"] == "idle"
                shown.update(share)
                return read and [*counts, share["unsettled"]] == [live, replayed, unsettled]

            shown: dict[str, Any] = {}
            await until_async(lambda: seen(1, 0, 1), 90, "one ready, one stuck")
            assert shown["state"] == "late"
            assert 3600 <= shown["oldest_unsettled_s"] < 4200
            assert 20 <= shown["latency"]["live"]["p95_s"] < 300

            # The same document by a newer extractor, and an old one that only the replay made ready.
            await log.put("screened", result(done, extractor="2", work=900), Lane.REPLAY)
            old = arrived(2, "old", timedelta(seconds=1))
            await log.put("raw-arrived", old.event, Lane.REPLAY)
            await log.put("screened", result(old), Lane.REPLAY)
            before = shown["latency"]["live"]
            await until_async(lambda: seen(1, 1, 1), 90, "the replay")
            assert shown["latency"]["live"] == before
            assert shown["state"] == "late"
            assert any("waits for its outcome" in why for why in shown["why"])

            table = await asyncio.to_thread(way.command, "status", **sources)
            assert "late" in table.out
            assert "share: a document waits for its outcome" in table.out

            await log.put("screened", result(stuck))
            await until_async(lambda: seen(2, 1, 0), 90, "settled")
            assert shown["oldest_unsettled_s"] == 0
            assert any("took" in why for why in shown["why"])  # an hour, and that stays true
        lag = await asyncio.to_thread(way.command, "lag", "--json")
        groups = {group["group"].partition("canonry-")[2]: group for group in json.loads(lag.out)["groups"]}
        assert groups["decode"]["state"] == "dead"
        assert groups["decode"]["records"] == 3
        assert groups["ledger"]["records"] == 0
        assert lag.status == 1
        assert "dead, never ran" in (await asyncio.to_thread(way.command, "lag")).out
        partitions = json.loads((await asyncio.to_thread(way.command, "lag", "--partitions", "--json")).out)
        (decode,) = [group for group in partitions["groups"] if group["group"].endswith("canonry-decode")]
        assert [at["state"] for at in decode["partitions"]].count("dead") == 1
    finally:
        await producer.stop()
        catalog.terminate()
        await asyncio.to_thread(catalog.communicate)


async def test_one_look_tells_standing_still_from_being_slow(settings: Settings) -> None:
    probe = Probe()
    ids = [f"share:{number}" for number in range(3)]
    probe.slow = {source_id: asyncio.Event() for source_id in ids}
    async with stage_app(settings, probe, STAGES["decode"]) as app:
        await until(lambda: len(app.assigned) == 8)
        await publish(settings, "raw-arrived", map(upsert, ids), 0)
        await until(lambda: app.active == 3)
        async with watching(settings, settings.broker, 6.0) as watch:

            async def old() -> bool:
                return states(await watch.look())["decode"].seconds > 6

            await until_async(old, what="old enough to be suspected")
        async with watching(settings, settings.broker, 6.0) as watch:
            looking = asyncio.create_task(watch.settled())
            await until(lambda: bool(watch._judge._stood), what="the first look")
            probe.slow[ids[0]].set()
            moved = states(await looking)["decode"]
            assert (moved.state, moved.partitions[0].position) == (State.OK, 1)
        async with watching(settings, settings.broker, 1.0) as watch:
            started = time.monotonic()
            found = states(await watch.settled())
            assert time.monotonic() - started >= 1
            assert found["decode"].state is State.STALLED
            assert found["decode"].members == 1
            assert found["ledger"].state is State.DEAD
            assert found["screen"].state is State.IDLE
        probe.slow[ids[1]].set()
        probe.slow[ids[2]].set()
        await until(lambda: app.done == 3)

        async def idle() -> bool:
            async with watching(settings, settings.broker, 60.0) as watch:
                return states(await watch.settled())["decode"].state is State.IDLE

        await until_async(idle, what="idle")


def states(groups: list[GroupLag]) -> dict[str, GroupLag]:
    return {group.group.partition("canonry-")[2]: group for group in groups}
