"""The harness on a real broker: what is acknowledged when, and where every event ends."""

from __future__ import annotations

import asyncio
import time

from streams.records import Lane
from streams.records.codec import encode
from streams.records.headers import read_context
from streams.settings import Settings
from tests.integration.runtime.harness import (
    Probe,
    committed,
    publish,
    publish_raw,
    read,
    records,
    stage_app,
    until,
    until_async,
    upsert,
)


async def test_nothing_is_committed_past_a_slow_head(settings: Settings) -> None:
    ids = [f"share:{n}" for n in range(6)]
    await publish(settings, "raw-arrived", map(upsert, ids), partition=0)
    probe = Probe()
    probe.slow[ids[0]] = asyncio.Event()

    async def everything_committed() -> bool:
        return await committed(settings, "probe", "raw-arrived", 0) == 6

    async with stage_app(settings, probe) as app:
        await until(lambda: len(probe.ended) == 5, what="the tail")
        await until(lambda: app.done == 5, what="five confirmed")
        assert set(app.assigned) == {("raw-arrived", partition) for partition in range(8)}
        await app._commit()
        assert await committed(settings, "probe", "raw-arrived", 0) in (None, 0)
        await until(lambda: app.lag() == 6, 5, "six behind")
        assert app.active == 1
        probe.slow[ids[0]].set()
        await until_async(everything_committed, what="all committed")
        await until(lambda: app.lag() == 0, what="no lag")
    assert sorted(key for key, _ in await records(settings, "decoded")) == ids


async def test_a_transient_error_keeps_the_order_of_its_key_and_holds_up_no_other(settings: Settings) -> None:
    first, other = "share:first", "share:other"
    await publish(
        settings, "raw-arrived", [upsert(first, "1"), upsert(first, "2"), upsert(other, "1"), upsert(first, "3")], 0
    )
    probe = Probe()
    probe.transient[first] = 2
    async with stage_app(settings, probe) as app:
        await until(lambda: app.done == 4)
        assert probe.ended[0] == other
        assert probe.began.count(first) == 5
    found = [record for key, record in await records(settings, "decoded") if key == first]
    assert [record.document.sequence.offset for record in found] == [0, 1, 3]
    assert await committed(settings, "probe", "raw-arrived", 0) == 4


async def test_a_document_at_fault_gets_an_outcome_and_a_bug_goes_to_dead_letter(settings: Settings) -> None:
    await publish(settings, "raw-arrived", map(upsert, ["share:corrupt", "share:bug", "share:good"]), 0)
    probe = Probe()
    probe.terminal.add("share:corrupt")
    probe.hopeless.add("share:bug")
    async with stage_app(settings, probe) as app:
        await until(lambda: app.done == 3)
        assert app.failure is None
    found = dict(await records(settings, "decoded"))
    assert found["share:corrupt"].failure.code == "corrupt"
    assert found["share:good"].failure is None
    assert "share:bug" not in found
    (dead,) = await read(settings, "dead-letter")
    headers = dict(dead.headers)
    assert dead.key == b"share:bug"
    assert dead.value == encode(upsert("share:bug"))
    assert headers["__streams.errors.exception"] == b"Unforeseen"
    assert headers["reason_code"] == b"internal_error"
    assert await committed(settings, "probe", "raw-arrived", 0) == 3


async def test_messages_at_fault_go_to_dead_letter_as_they_are(settings: Settings) -> None:
    topic = settings.kafka.topic_prefix + "raw-arrived"
    good = upsert("share:good")
    messages = [
        (b"share:garbage", b"\x00\xffgarbage"),
        (b"share:null", None),
        (None, encode(good)),
        (b"share:another", encode(good)),  # a key that is not the record's
        (b"\xff\xfe", encode(good)),
        (b"share:huge", b"\x01" * 8_200_000),  # above what our producer takes
        (b"share:good", encode(good)),
    ]
    await publish_raw(settings, "raw-arrived", messages, partition=3)
    probe = Probe()
    async with stage_app(settings, probe) as app:
        await until(lambda: app.done == len(messages) or app.failure is not None)
        assert app.failure is None
        assert app.dead_letters == 6
    assert probe.ended == ["share:good"]
    dead = {
        int(dict(message.headers)["__streams.errors.offset"]): message
        for message in await read(settings, "dead-letter")
    }
    assert sorted(dead) == [0, 1, 2, 3, 4, 5]
    for offset, message in dead.items():
        headers = dict(message.headers)
        assert (message.key, message.value if offset != 5 else None) == (
            messages[offset][0],
            messages[offset][1] if offset != 5 else None,
        )
        assert headers["__streams.errors.topic"] == topic.encode()
        assert headers["__streams.errors.partition"] == b"3"
        assert headers["__streams.errors.exception"] == b"UndecodableMessage"
        assert headers["__streams.errors.message"]
        assert headers["reason_code"] == b"undecodable_message"
        assert headers["attempt"] == b"1"
        assert headers["ce_specversion"] == b"1.0"  # the original's stay
    assert dead[5].value is None
    assert dict(dead[5].headers)["value_omitted"] == b"8200000"
    assert await committed(settings, "probe", "raw-arrived", 3) == 7


async def test_lane_and_run_travel_with_the_outputs(settings: Settings) -> None:
    await publish(settings, "raw-arrived", [upsert("share:one")], 0)
    async with stage_app(settings, Probe()) as app:
        await until(lambda: app.done == 1)
    (message,) = await read(settings, "decoded")
    context = read_context(message.headers)
    assert (context.lane, context.run_id) == (Lane.LIVE, "run-7")
    headers = dict(message.headers)
    assert headers["ce_id"] == b"raw-arrived/0/0/0"
    assert headers["ce_source"] == b"canonry/probe"


async def test_lanes_bound_what_is_taken_and_everything_still_ends(settings: Settings) -> None:
    bounded = settings.model_copy(update={"worker": settings.worker.model_copy(update={"in_flight": 3})})
    ids = [f"share:{n}" for n in range(120)]
    await publish(settings, "raw-arrived", map(upsert, ids))
    probe = Probe()
    gate = asyncio.Event()
    probe.slow = dict.fromkeys(ids, gate)
    async with stage_app(bounded, probe) as app:
        await until(lambda: len(probe.began) == 3)
        assert app.active <= 3
        gate.set()
        await until(lambda: app.done == 120, 60)
    assert sorted(key for key, _ in await records(settings, "decoded")) == sorted(ids)


async def test_stopping_is_bounded_and_gives_back_what_is_stuck(settings: Settings) -> None:
    ids = ["share:stuck", "share:behind", "share:other"]
    await publish(settings, "raw-arrived", map(upsert, ids), 0)
    await publish(settings, "raw-arrived", [upsert("share:elsewhere")], 1)
    probe = Probe()
    probe.slow["share:stuck"] = asyncio.Event()
    async with stage_app(settings, probe, drain_s=0.5) as app:
        await until(lambda: app.done == 3)
        started = time.monotonic()
        await app.stop(0.5)
        assert time.monotonic() - started < 15
        assert app.active == 0
        assert app._running == {}
    assert await committed(settings, "probe", "raw-arrived", 0) in (None, 0)
    assert await committed(settings, "probe", "raw-arrived", 1) == 1
    again = Probe()
    async with stage_app(settings, again) as app:
        await until(lambda: app.done == 3)
    assert sorted(again.ended) == sorted(ids)


async def test_no_event_is_touched_before_its_state_is_restored(settings: Settings) -> None:
    await publish(settings, "raw-arrived", map(upsert, ["share:1", "share:2"]))
    probe = Probe()
    probe.restoring.clear()
    async with stage_app(settings, probe) as app:
        await until(lambda: bool(app._running), what="an event handed over")
        assert probe.began == []
        probe.restoring.set()
        await until(lambda: app.done == 2)


async def test_a_state_that_can_not_be_restored_ends_the_stage_and_touches_nothing(settings: Settings) -> None:
    await publish(settings, "raw-arrived", [upsert("share:1")], 0)
    probe = Probe()
    probe.restore_error = ValueError("damaged")
    async with stage_app(settings, probe) as app:
        await until(lambda: app.failure is not None)
        await until(lambda: not app._running)
        assert isinstance(app.failure, ValueError)
    assert probe.began == []
    assert await committed(settings, "probe", "raw-arrived", 0) is None
