"""Exceptions wherever they may come from, and jobs that take their slot along: no event passes without an outcome."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from streams.errors import BrokerUnavailable
from streams.runtime import messages
from streams.runtime.messages import Incoming, Outgoing, Outputs
from streams.runtime.offsets import PartitionOffsets
from streams.runtime.producer import Producer
from streams.runtime.slots import Slots
from streams.runtime.stage import StageApp
from streams.runtime.stages import failure_of, with_attempts
from streams.settings import Settings, WorkerSettings
from tests.integration.runtime.harness import (
    PROBE,
    Probe,
    Unforeseen,
    committed,
    publish,
    read,
    records,
    stage_app,
    until,
    upsert,
)

BEFORE, BAD, AFTER = "share:before", "share:bad", "share:after"


class BadProducer(Producer):
    """Fails on one document with what nobody foresaw."""

    async def send(self, outgoing: list[Outgoing], **about: Any) -> list[Any]:
        if any(out.key == BAD for out in outgoing):
            raise Unforeseen("in the producer")
        return await super().send(outgoing, **about)


class BadSettling(Probe):
    async def handle(self, event: Incoming) -> Outputs:
        outputs = await super().handle(event)
        return Outputs(first=outputs.first, settle=self._settle) if event.key == BAD else outputs

    def _settle(self) -> None:
        raise Unforeseen("when it is settled")


def bad_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    real = messages.read

    def reading(topic: str, message: Any) -> Incoming:
        if message.key == BAD.encode():
            raise Unforeseen("while it is decoded")
        return real(topic, message)

    monkeypatch.setattr("streams.runtime.stage.read", reading)


def bad_acceptance(monkeypatch: pytest.MonkeyPatch) -> None:
    real = PartitionOffsets.begin

    def begin(self: PartitionOffsets, offset: int, timestamp: float) -> bool:
        if offset == 1:
            raise Unforeseen("in the agent")
        return real(self, offset, timestamp)

    monkeypatch.setattr(PartitionOffsets, "begin", begin)


def bad_completion(monkeypatch: pytest.MonkeyPatch) -> None:
    real = PartitionOffsets.done

    def done(self: PartitionOffsets, offset: int) -> None:
        if offset == 1:
            raise Unforeseen("when it is done")
        real(self, offset)

    monkeypatch.setattr(PartitionOffsets, "done", done)


@pytest.mark.parametrize("where", ["producer", "settling", "reading", "acceptance", "completion"])
async def test_an_exception_anywhere_costs_no_event(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """The event ends in an outcome or a dead letter, or it is not acknowledged and its process ends to be restarted."""
    await publish(settings, "raw-arrived", map(upsert, [BEFORE, BAD, AFTER]), 0)
    patches: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
        "reading": bad_reading,
        "acceptance": bad_acceptance,
        "completion": bad_completion,
    }
    with monkeypatch.context() as patch:
        if where in patches:
            patches[where](patch)
        producer = (BadProducer if where == "producer" else Producer)(settings, settings.broker)
        await producer.start()
        app = StageApp(PROBE, BadSettling() if where == "settling" else Probe(), settings, settings.broker, producer)
        try:
            await app.start()
            await until(lambda: app.failure is not None or app.done == 3, what="a loud end, or all three")
            failure = app.failure
        finally:
            await app.stop(5)
            await producer.stop()
    done = await committed(settings, "probe", "raw-arrived", 0) or 0
    if failure is None:
        assert done == 3
        (dead,) = [message.key.decode() for message in await read(settings, "dead-letter")] or [None]
        assert dead == BAD or BAD in dict(await records(settings, "decoded"))
    else:
        assert isinstance(failure, Unforeseen)
        assert done <= 1
    async with stage_app(settings, Probe()) as again:
        await until(lambda: again.done == 3 - done)
    outcomes = {key for key, _ in await records(settings, "decoded")}
    outcomes |= {message.key.decode() for message in await read(settings, "dead-letter")}
    assert outcomes == {BEFORE, BAD, AFTER}
    assert await committed(settings, "probe", "raw-arrived", 0) == 3


class Unconfirmed(Producer):
    """The broker does not confirm, the first two times."""

    def __init__(self, settings: Settings, broker: str) -> None:
        super().__init__(settings, broker)
        self.tried = 0

    async def send_raw(self, topic: str, *args: Any, **kwargs: Any) -> Any:
        self.tried += 1
        if self.tried <= 2:
            raise BrokerUnavailable("Not confirmed.")
        return await super().send_raw(topic, *args, **kwargs)


@pytest.mark.parametrize("dead", [False, True], ids=["output", "dead letter"])
async def test_what_the_broker_does_not_confirm_is_sent_again_and_not_acknowledged(
    settings: Settings, dead: bool
) -> None:
    await publish(settings, "raw-arrived", [upsert(BAD)], 0)
    probe = Probe()
    if dead:
        probe.hopeless.add(BAD)
    producer = Unconfirmed(settings, settings.broker)
    await producer.start()
    app = StageApp(PROBE, probe, settings, settings.broker, producer)
    try:
        await app.start()
        await until(lambda: app.done == 1)
        assert producer.tried == 3
    finally:
        await app.stop(5)
        await producer.stop()
    assert len(await read(settings, "dead-letter" if dead else "decoded")) == 1
    assert probe.began == [BAD]  # what was made of it was kept


class InSlots(Probe):
    """Does a job of `tests.unit.runtime.extra_jobs` for each document."""

    def __init__(self, slots: Slots, jobs: dict[str, tuple[str, Any]]) -> None:
        super().__init__()
        self._slots, self._jobs = slots, jobs
        self.attempts: Counter[str] = Counter()

    async def handle(self, event: Incoming) -> Outputs:
        job, args = self._jobs.get(event.key, ("echo", 1))

        async def once() -> Any:
            self.attempts[event.key] += 1
            return await self._slots.run(job, args, msgspec.Raw)

        await with_attempts(2, once)
        return await super().handle(event)

    def give_up(self, event: Incoming, error: Exception) -> Outputs:
        (out,) = super().give_up(event, error).first
        record = msgspec.structs.replace(out.record, failure=failure_of(error))  # type: ignore[type-var]
        return Outputs(first=[Outgoing(out.topic, out.key, record)])


async def test_a_job_that_takes_its_slot_along_costs_its_own_document_only(settings: Settings) -> None:
    jobs = {
        "share:killed": ("die", "SIGKILL"),
        "share:crashed": ("segfault", None),
        "share:eats": ("eat", 2000),
        "share:loops": ("sleep", ["/dev/null", 600]),
        "share:spins": ("spin", 0),
    }
    ids = [id_ for n, bad in enumerate(jobs) for id_ in (f"share:good-{n}", bad)] + ["share:last"]
    await publish(settings, "raw-arrived", map(upsert, ids), 0)
    bounds = WorkerSettings(slots=2, slot_memory_mb=300, job_timeout_s=6)
    slots = Slots(bounds, "tests.unit.runtime.extra_jobs")
    await slots.warm_up()
    probe = InSlots(slots, jobs)
    try:
        async with stage_app(settings, probe) as app:
            await until(lambda: app.done == len(ids), 90, "all documents")
            assert app.failure is None
    finally:
        await slots.stop()
    failures = {key: record.failure for key, record in await records(settings, "decoded")}
    assert {key: failure.code for key, failure in failures.items() if failure} == {
        "share:killed": "crashed",
        "share:crashed": "crashed",
        "share:eats": "out_of_memory",
        "share:loops": "timeout",
        "share:spins": "timeout",
    }
    assert sorted(failures) == sorted(ids)
    assert probe.attempts == Counter(
        dict.fromkeys(ids, 1) | {"share:killed": 2, "share:crashed": 2, "share:eats": 2}
    )  # a timeout is not tried again, and nobody beside one pays for it
    assert await read(settings, "dead-letter") == []
    assert await committed(settings, "probe", "raw-arrived", 0) == len(ids)
