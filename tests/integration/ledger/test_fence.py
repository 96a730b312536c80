"""A worker that was paused until others had its partitions goes on where it stood: what it still says does not last."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from streams.ledger.fence import Token
from streams.ledger.store import StateStore
from streams.log.producer import ConfirmedProducer
from streams.records import Sequence, SourceState, Status
from streams.records.codec import encode
from streams.records.headers import FENCE
from streams.settings import Settings
from tests.integration.runtime.harness import committed, failed, publish, records, until, until_async, worker
from tests.unit.ledger.make import delete

STATE, EFFECT = "share:state", "share:effect"

PROGRAM = """
import asyncio, sys
from pathlib import Path
from streams.runtime import worker
from streams.runtime.producer import Producer
from streams.settings import Settings

folder = Path(sys.argv[1])
real = Producer.send

async def send(self, outgoing, **about):
    for out in outgoing:
        if (out.key, out.topic) in {("share:state", "versions"), ("share:effect", "quarantine")}:
            if (folder / "armed").exists():
                while (folder / out.key).exists():
                    await asyncio.sleep(1)
                (folder / out.key).touch()
                while not (folder / "go").exists():
                    await asyncio.sleep(0.001)
    return await real(self, outgoing, **about)

Producer.send = send
settings = Settings.load()
worker.run_worker(settings, settings.broker, ["ledger"])
"""
"""A ledger that, once armed, stands between its last look at its assignment and the sending until it may go on; what
it would say afterwards it never says."""


async def newest(settings: Settings) -> dict[str, SourceState]:
    return dict(await records(settings, "versions"))


async def test_what_came_in_behind_a_newer_owner_is_not_restored(settings: Settings) -> None:
    def state(key: str, offset: int) -> SourceState:
        return SourceState(source_id=key, status=Status.LIVE, high_water=Sequence(epoch=1, offset=offset))

    async def write(key: str, offset: int, token: Token | None) -> None:
        headers = [(FENCE, token.text().encode())] if token is not None else []
        await producer.send_raw("versions", key.encode(), encode(state(key, offset)), headers, 0)

    producer = ConfirmedProducer(settings, settings.broker)
    await producer.start()
    old, new, newer = Token(0, 7), Token(2, 7), Token(2, 8)
    await write("share:a", 1, old)
    await write("share:b", 1, None)
    await write("share:a", 2, new)
    await write("share:c", 2, new)
    await write("share:a", 3, old)  # too late
    await write("share:b", 3, None)  # by a tool that knows of no owners
    store = StateStore(settings, settings.broker)
    await store.restore({0})
    assert [getattr(store.get(0, f"share:{key}"), "high_water", None) for key in "abc"] == [
        Sequence(epoch=1, offset=offset) for offset in (2, 3, 2)
    ]
    assert store.overwritten == {(0, b"share:a")}
    assert store.token(0, 9) == Token(6, 9) > newer > new > old
    await write("share:a", 4, newer)
    await write("share:c", 4, new)  # of the same watermark, but of an older generation
    await store.restore({0})
    await producer.stop()
    assert store.get(0, "share:a") == state("share:a", 4)
    assert store.get(0, "share:c") == state("share:c", 2)
    assert store.overwritten == {(0, b"share:a"), (0, b"share:c")}


@pytest.mark.parametrize("value", [b"", b"1", b"1.", b".2", b"-1.2", b"1.2.3", b"\xff.1", b"a.b"])
def test_a_token_that_is_none_is_ignored(value: bytes) -> None:
    assert Token.of([("fence", value)]) is None
    assert Token.of([("other", b"1.2"), ("fence", b"3.4")]) == Token(3, 4)


@pytest.mark.slow
async def test_a_worker_that_slept_through_its_session_overwrites_nothing_for_good(
    settings: Settings, tmp_path: Path
) -> None:
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith("CANONRY_")},
        "CANONRY_BROKER": settings.broker,
        "CANONRY_DATA_DIR": str(settings.data_dir),
        "CANONRY_KAFKA__TOPIC_PREFIX": settings.kafka.topic_prefix,
        "CANONRY_LOG_LEVEL": "INFO",
    }

    async def versions(key: str, count: int) -> bool:
        state = (await newest(settings)).get(key)
        return state is not None and len(state.versions) == count

    async def deleted() -> bool:
        state = (await newest(settings)).get(EFFECT)
        return state is not None and state.status is Status.DELETED

    async def said_late() -> bool:
        """Whether what was left to say stands in the log: behind what others said."""
        states = [len(state.versions) for key, state in await records(settings, "versions") if key == STATE]
        queue = [held for key, held in await records(settings, "quarantine") if key == EFFECT]
        return 2 in states[states.index(3) :] and any(queue[queue.index(None) :])

    with (tmp_path / "paused.log").open("wb") as log:
        paused = await asyncio.create_subprocess_exec(
            sys.executable, "-c", PROGRAM, str(tmp_path), env=environment, stdout=log, stderr=log
        )
    try:
        await publish(settings, "raw-arrived", [failed(STATE), failed(EFFECT)], 0)
        await until_async(lambda: versions(EFFECT, 1), 60, "the first states")
        (tmp_path / "armed").touch()
        await publish(settings, "raw-arrived", [failed(STATE, "vanished"), failed(EFFECT, "vanished")], 0)
        await until(lambda: (tmp_path / STATE).exists() and (tmp_path / EFFECT).exists(), 30, "both about to be said")
        paused.send_signal(signal.SIGSTOP)
        (tmp_path / "go").touch()
        with worker(settings, tmp_path / "second.log", "ledger") as second:
            gone = delete(0, source_id=EFFECT).event
            await publish(settings, "raw-arrived", [failed(STATE, "broken_link"), gone], 0)
            await until_async(lambda: versions(STATE, 3), 60, "the other one's states")
            await until_async(deleted, 30, "the delete")
            await until_async(lambda: _all_committed(settings), 10, "commits")
            paused.send_signal(signal.SIGCONT)
            await until_async(said_late, 30, "what the paused one had left to say")
            await until_async(lambda: versions(STATE, 3), 15, "the state again as it was")
            assert await deleted()
            await until_async(lambda: _released(settings), 15, "the queue again without the deleted one")
            _end(paused)
            second.kill()
        with worker(settings, tmp_path / "third.log", "ledger"):
            await publish(settings, "raw-arrived", [failed(STATE, "too_large")], 0)
            await until_async(lambda: versions(STATE, 4), 60, "nothing forgotten")
    finally:
        _end(paused)
        await paused.wait()


def _end(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):  # it may have ended by itself, as one that can't go on should
        process.kill()


async def _all_committed(settings: Settings) -> bool:
    return await committed(settings, "ledger", "raw-arrived", 0) == 6


async def _released(settings: Settings) -> bool:
    held: dict[str, Any] = dict(await records(settings, "quarantine"))
    return held[EFFECT] is None
