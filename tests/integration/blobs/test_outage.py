"""The blob store goes away in the middle of a run, and comes back: no document pays for it."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from streams.blobs import BlobStore, open_store
from streams.records import ChangeEvent, Outcome, SourceState
from streams.settings import BlobSettings, Settings
from tests.integration.blobs.seaweed import ACCESS_KEY, SECRET_KEY, SeaweedServer
from tests.integration.runtime.harness import committed, document, publish, records, until, until_async, worker

TEXT = "Note {} of the harbour office: the tide was {} feet high when the ferry left for the islands.\n"
OUTAGE_S = 4.0
"""At least; the pauses of a retry begin with 0.1 to 0.2 s and double."""


@contextlib.contextmanager
def no_directory(folder: Path) -> Iterator[None]:
    """The disk is not mounted."""
    away = folder.with_name("away")
    folder.rename(away)
    folder.mkdir()
    try:
        yield
    finally:
        folder.rmdir()
        away.rename(folder)


@contextlib.contextmanager
def no_server(server: SeaweedServer) -> Iterator[None]:
    server.stop()
    try:
        yield
    finally:
        server.start()


async def goes_through(
    settings: Settings, log: Path, outage: Callable[[], AbstractContextManager[None]], **extra: str
) -> None:
    store: BlobStore = await asyncio.to_thread(open_store, settings)

    def texts(*names: str) -> list[ChangeEvent]:
        return [document(store, f"share:{name[0]}", TEXT.format(name, len(name)).encode()) for name in names]

    async def settled(count: int) -> bool:
        states = [state for _, state in (await newest()).items()]
        return sum(v.outcome is not Outcome.PENDING for state in states for v in state.versions) == count

    async def newest() -> dict[str, SourceState]:
        return dict(await records(settings, "versions"))

    with worker(settings, log, **extra) as process:
        await publish(settings, "raw-arrived", texts("a1", "b1"), 0)
        await until_async(lambda: settled(2), 90, "two documents")
        during = texts("c1", "a2", "a3", "d1")  # the originals are there; nobody can read them
        with outage():
            await publish(settings, "raw-arrived", during, 0)
            began = time.monotonic()
            await until(lambda: process.log.count("decode: share:c waits: ") >= 4, 60, "some rounds of the retry")
            await until(lambda: time.monotonic() > began + OUTAGE_S)
            assert process.running
            assert await settled(2)
            assert await committed(settings, "decode", "raw-arrived", 0) == 2
        await until_async(lambda: settled(6), 120, "all of them")
        assert process.running
    states = await newest()
    assert {key: [v.outcome for v in state.versions] for key, state in states.items()} == {
        f"share:{name}": [Outcome.READY] * count for name, count in {"a": 3, "b": 1, "c": 1, "d": 1}.items()
    }
    order = [record.document.sequence.offset for key, record in await records(settings, "decoded") if key == "share:a"]
    assert order == sorted(order)
    assert await records(settings, "quarantine") == []


@pytest.mark.slow
async def test_a_directory_that_is_away_for_a_while(settings: Settings, tmp_path: Path) -> None:
    await goes_through(settings, tmp_path / "worker.log", lambda: no_directory(settings.blob_dir))


@pytest.mark.slow
async def test_an_s3_server_that_is_away_for_a_while(settings: Settings, server: SeaweedServer, tmp_path: Path) -> None:
    values = {
        "kind": "s3",
        "endpoint": server.endpoint,
        "bucket": "outage",
        "access_key": ACCESS_KEY,
        "secret_key": SECRET_KEY,
        "secure": False,
    }
    extra = {
        f"CANONRY_BLOBS__{name.upper()}": str(value).lower() if value is False else str(value)
        for name, value in values.items()
    }
    s3 = settings.model_copy(update={"blobs": BlobSettings.model_validate(values)})
    await goes_through(s3, tmp_path / "worker.log", lambda: no_server(server), **extra)
