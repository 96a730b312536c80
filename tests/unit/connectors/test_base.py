"""The runner: bytes first, then the event, then the connector's own record; in order for each document."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncGenerator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

import pytest

from streams.blobs.store import Stored
from streams.connectors.base import (
    Change,
    Checkpoint,
    Connector,
    Document,
    Failed,
    Gone,
    ListingEnd,
    Moved,
    Published,
    ReadFailed,
    Rights,
    run_connector,
    source_id,
)
from streams.errors import BlobStoreUnavailable, BrokerUnavailable, UnknownSource, UsageError
from streams.records import ChangeEvent, Lane, Operation
from streams.settings import Settings, SourceSettings
from tests.unit.connectors.worlds import MemoryLog, MemoryStore, Receipt

SETTINGS = Settings(
    data_dir=Path("unused"), sources={"s": SourceSettings(owner="ops", readers=["staff"], language="de")}
)


class Given(Connector):
    """Yields what it was given and notes what it is told."""

    source = "s"

    def __init__(self, items: Sequence[Change | Checkpoint]) -> None:
        self.items = items
        self.notes: list[str] = []

    async def changes(self) -> AsyncGenerator[Change | Checkpoint, None]:
        for item in self.items:
            yield item

    async def confirmed(self, change: Change, event: ChangeEvent, published: Published) -> None:
        self.notes.append(f"{event.operation} {change.native_id} @{published.offset}")

    async def checkpoint(self, value: str) -> None:
        self.notes.append(f"checkpoint {value}")


def document(native_id: str, data: bytes = b"data", **more: object) -> Document:
    return Document(native_id=native_id, path=f"{native_id}.txt", open=lambda: io.BytesIO(data), **more)  # type: ignore[arg-type]


async def test_all_kinds_of_change() -> None:
    log, store = MemoryLog(), MemoryStore()
    connector = Given(
        [
            document("1", declared_media_type="text/plain", http_content_type="text/plain; charset=x"),
            Moved(native_id="1", path="b/1.txt"),
            Rights(native_id="1", path="b/1.txt", readers=["me"], owner="me"),
            Failed(native_id="1", path="b/1.txt", code="unreadable", message="no"),
            Gone(native_id="1", path="b/1.txt", actor="bob", reason="asked for"),
        ]
    )
    summary = await run_connector(connector, store, log, SETTINGS, lane=Lane.BACKFILL)
    upsert, move, acl, failed, delete = log.events
    assert [event.operation for event in log.events] == ["upsert", "move", "acl", "failed", "delete"]
    assert {event.source_id for event in log.events} == {"s:1"}
    assert set(log.lanes) == {Lane.BACKFILL}
    assert upsert.content is not None
    assert upsert.content.declared_media_type == "text/plain"
    assert upsert.content.size == 4
    assert (upsert.manifest.owner, upsert.manifest.readers, upsert.manifest.language_hint) == ("ops", ["staff"], "de")
    assert (acl.manifest.owner, acl.manifest.readers) == ("me", ["me"])
    assert (move.manifest.path, move.manifest.file_name) == ("b/1.txt", "1.txt")
    assert failed.failure is not None
    assert (delete.actor, delete.reason) == ("bob", "asked for")
    assert summary.published == dict.fromkeys(("upsert", "move", "acl", "failed", "delete"), 1)
    assert summary.documents_bytes == 4


async def test_unknown_rights_mean_nobody() -> None:
    settings = Settings(data_dir=Path("unused"), sources={"s": SourceSettings()})
    log = MemoryLog()
    await run_connector(Given([document("1")]), MemoryStore(), log, settings)
    assert (log.events[0].manifest.readers, log.events[0].manifest.owner) == (None, None)


async def test_unknown_source_reads_nothing() -> None:
    store = MemoryStore()
    with pytest.raises(UnknownSource, match="'s'"):
        await run_connector(Given([document("1")]), store, MemoryLog(), Settings(data_dir=Path("unused")))
    assert store.calls == 0


async def test_order_for_each_document_and_side_by_side_for_others() -> None:
    """The first of the slow document's changes is only stored when the quick ones are long published."""
    released = asyncio.Event()

    class Log(MemoryLog):
        running = 0
        most = 0

        async def publish(self, event: ChangeEvent, *, lane: Lane = Lane.LIVE) -> Receipt:
            self.running += 1
            self.most = max(self.most, self.running)
            if event.manifest.native_revision == "slow":
                await released.wait()
            receipt = await super().publish(event, lane=lane)
            if len(self.events) == 20:
                released.set()
            self.running -= 1
            return receipt

    items = [document("slow", native_revision="slow"), document("slow", native_revision="2")]
    items += [document(f"quick {number}") for number in range(20)]
    log = Log()
    await run_connector(Given(items), MemoryStore(), log, SETTINGS, in_flight=5)
    revisions = [e.manifest.native_revision for e in log.events if e.manifest.native_id == "slow"]
    assert revisions == ["slow", "2"]
    assert [e.manifest.native_id for e in log.events[-2:]] == ["slow", "slow"]
    assert log.most <= 5


async def test_checkpoint_waits_for_all_before_it() -> None:
    items: list[Change | Checkpoint] = [document(str(number)) for number in range(50)]
    connector = Given([*items[:30], Checkpoint(value="30"), *items[30:], Checkpoint(value="50")])
    summary = await run_connector(connector, MemoryStore(), MemoryLog(), SETTINGS)
    assert connector.notes.index("checkpoint 30") == 30
    assert connector.notes[-1] == "checkpoint 50"
    assert summary.checkpoint == "50"


async def test_no_checkpoint_and_no_confirmation_after_an_error() -> None:
    log = MemoryLog(fail_after=1)
    connector = Given([document("1"), document("2"), document("2"), Checkpoint(value="3"), document("4")])
    with pytest.raises(BrokerUnavailable):
        await run_connector(connector, MemoryStore(), log, SETTINGS)
    assert connector.notes == [f"upsert {log.events[0].manifest.native_id} @0"]


async def test_errors_of_the_store_are_not_the_documents_fault() -> None:
    class Away(MemoryStore):
        def put_file(self, stream: BinaryIO) -> Stored:
            raise BlobStoreUnavailable("away")

    log = MemoryLog()
    with pytest.raises(BlobStoreUnavailable):
        await run_connector(Given([document("1")]), Away(), log, SETTINGS)
    assert log.events == []


class Breaking(io.BytesIO):
    def __init__(self, error: Exception) -> None:
        super().__init__(b"some")
        self._error = error

    def read(self, size: int | None = -1, /) -> bytes:
        if data := super().read(size):
            return data
        raise self._error


@pytest.mark.parametrize(
    ("error", "code", "skip"),
    [
        (OSError(5, "Input/output error"), "unreadable", False),
        (FileNotFoundError(2, "No such file or directory"), "vanished", False),
        (TimeoutError("timed out"), "unreadable", False),
        (ReadFailed("special_file", "a pipe", skip=True), "special_file", True),
    ],
)
async def test_document_that_fails_is_an_event_and_the_others_go_on(error: Exception, code: str, skip: bool) -> None:
    log, store = MemoryLog(), MemoryStore()

    def refuses() -> BinaryIO:
        raise error

    await run_connector(
        Given(
            [
                Document(native_id="1", path="1", open=refuses),
                Document(native_id="2", path="2", open=lambda: Breaking(error)),
                document("3"),
            ]
        ),
        store,
        log,
        SETTINGS,
    )
    events = {event.manifest.native_id: event for event in log.events}
    for native_id in ("1", "2"):
        event = events[native_id]
        assert event.operation is Operation.FAILED
        assert event.content is None
        assert event.failure is not None
        assert (event.failure.code, event.failure.skip) == (code, skip)
    assert events["3"].operation is Operation.UPSERT
    assert list(store.held.values()) == [b"data"]


async def test_connector_that_fails_loses_nothing_it_gave() -> None:
    class Failing(Given):
        async def changes(self) -> AsyncGenerator[Change | Checkpoint, None]:
            yield document("1")
            raise ConnectionError("listing broke off")

    log = MemoryLog()
    connector = Failing([])
    with pytest.raises(ConnectionError):
        await run_connector(connector, MemoryStore(), log, SETTINGS)
    assert connector.notes == ["upsert 1 @0"]


async def test_cancelled_run_leaves_no_task() -> None:
    class Stuck(MemoryLog):
        async def publish(self, event: ChangeEvent, *, lane: Lane = Lane.LIVE) -> Receipt:
            started.set()
            await asyncio.Event().wait()
            raise AssertionError

    started = asyncio.Event()
    run = asyncio.create_task(run_connector(Given([document("1")]), MemoryStore(), Stuck(), SETTINGS))
    await started.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_hostile_names_and_ids() -> None:
    log = MemoryLog()
    bad = "a\ud800\u202e\n"
    await run_connector(
        Given([Gone(native_id=bad, path=f"x/{bad}", source_updated_at=datetime.now(UTC))]),
        MemoryStore(),
        log,
        SETTINGS,
    )
    (event,) = log.events
    assert event.manifest.path == "x/a%ED%A0%80%E2%80%AE%0A"
    assert event.source_id == f"s:{event.manifest.native_id}"
    event.source_id.encode()
    assert source_id("s", "a%ED%A0%80%E2%80%AE%0A") != event.source_id
    with pytest.raises(UsageError):
        source_id("s", "")


async def test_defaults_of_the_sdk_never_allow_deletes() -> None:
    connector = Given([])
    (end,) = [item async for item in connector.listing()]
    assert isinstance(end, ListingEnd)
    assert not end.complete
    with pytest.raises(UsageError, match="Given"):
        await connector.fetch("1")
