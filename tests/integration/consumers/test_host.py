"""Catalog and search index kept up to date from a real log: crashes, rebuilds, other processes' reads."""

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from streams.blobs import open_store
from streams.consumers.catalog import Catalog
from streams.consumers.host import NAMES, run_consumers
from streams.consumers.search import SearchIndex
from streams.errors import UsageError
from streams.log.client import committed_offsets, end_offsets
from streams.records import Outcome, Provenance, ProvenanceLink, SourceState
from streams.records.codec import encode
from streams.settings import Settings
from tests.integration.consumers.log import Log, open_log, read_all, until
from tests.unit.consumers.make import body, canon, held, paragraph, state, version


@asynccontextmanager
async def running(
    settings: Settings, names: Sequence[str] = NAMES, applied: list[SourceState] | None = None
) -> AsyncIterator[None]:
    stop = asyncio.Event()
    task = asyncio.create_task(
        run_consumers(
            settings,
            settings.broker,
            open_store(settings),
            names=names,
            stop=stop,
            on_applied=applied.extend if applied is not None else None,
        )
    )
    try:
        async with asyncio.timeout(60):
            yield
    finally:
        stop.set()
        await task


async def write_documents(log: Log, *names: str) -> None:
    await log.write("versions", *(state(name, version(i)) for i, name in enumerate(names)))
    await log.write("canon-ready", *(canon(name, f"text of {name}") for name in names))


def searched(settings: Settings, words: str) -> list[str]:
    with SearchIndex(settings) as index:
        return sorted(hit.source_id for hit in index.search(words, 100).hits)


def listed(settings: Settings) -> list[str]:
    with Catalog(settings) as catalog:
        return [row.source_id for row in catalog.list_documents(status=None)]


async def test_documents_arrive_in_both_and_leave_again(settings: Settings) -> None:
    applied: list[SourceState] = []
    async with open_log(settings) as log, running(settings, applied=applied):
        await write_documents(log, "a", "b")
        await log.write("quarantine", held("c.pdf", "cid_leak"))
        link = ProvenanceLink(source_id="s:a", path="a")
        await log.write("contents", Provenance(content_hash="a" * 64, size=1, links=[link]))
        await until(lambda: len(applied) == 2 and searched(settings, "text") == ["s:a", "s:b"])
        assert listed(settings) == ["s:a", "s:b"], "applied is called when the catalog shows it"
        with SearchIndex(settings) as index:
            await until(lambda: [hit.source_id for hit in index.search("c.pdf").held] == ["s:c.pdf"])
        await log.write("canon-ready", gone=("s:a",))
        await log.write("quarantine", gone=("s:c.pdf",))
        await until(lambda: searched(settings, "text") == ["s:b"])
        with Catalog(settings) as catalog:
            await until(lambda: catalog.document("s:a").canon is None and catalog.held() == [])
            assert catalog.settled("s:b", 0, 1) == "ready"


async def test_each_record_is_applied_once_over_restarts(settings: Settings) -> None:
    applied: list[SourceState] = []
    async with open_log(settings) as log:
        await write_documents(log, "a", "b")
        async with running(settings, applied=applied):
            await until(lambda: len(applied) == 2)
        await write_documents(log, "c")
        async with running(settings, applied=applied):
            await until(lambda: len(applied) == 3)
            await until(lambda: searched(settings, "text") == ["s:a", "s:b", "s:c"])
    assert sorted(state.source_id for state in applied) == ["s:a", "s:b", "s:c"]


async def test_a_lost_database_is_built_again_whatever_the_group_committed(settings: Settings) -> None:
    async with open_log(settings) as log:
        await write_documents(log, "a", "b")
    async with running(settings):
        await until(lambda: len(listed(settings)) == 2 and len(searched(settings, "text")) == 2)
        group = f"{settings.kafka.topic_prefix}canonry-consumer-catalog"

        ends = await end_offsets(settings, settings.broker, ["versions"])
        while await committed_offsets(settings, settings.broker, group, ["versions"]) != ends:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    for path in settings.data_dir.glob("*.db*"):
        path.unlink()
    async with running(settings):
        await until(lambda: len(listed(settings)) == 2 and len(searched(settings, "text")) == 2)


async def test_a_text_that_is_gone_is_reported_and_the_document_is_found_by_its_name(settings: Settings) -> None:
    lost = canon("lost.txt", inline=False)
    big = canon("big.txt", "text in the store", inline=False)
    open_store(settings).put(
        big.payload.key, encode(body(paragraph("text in the store"), content="big.txttext in the store"))
    )
    async with open_log(settings) as log, running(settings, ["search"]):
        await log.write("canon-ready", lost, big)
        await until(
            lambda: searched(settings, "lost") == ["s:lost.txt"] and searched(settings, "store") == ["s:big.txt"]
        )
    [dead] = await read_all(settings, "dead-letter", 1)
    assert dead.key == b"s:lost.txt"
    assert dict(dead.headers)["reason_code"] == b"blob_not_found"


async def test_a_raised_log_epoch_reads_everything_anew(settings: Settings, tmp_path: Path) -> None:
    """Rows of the log before go, and what the log has comes back."""
    async with open_log(settings) as log:
        await write_documents(log, "a")
    async with running(settings):
        await until(lambda: listed(settings) == ["s:a"] and searched(settings, "text") == ["s:a"])
    newer = settings.model_copy(update={"kafka": settings.kafka.model_copy(update={"log_epoch": 2})})
    applied: list[SourceState] = []
    async with running(newer, applied=applied):
        await until(lambda: len(applied) == 1 and searched(settings, "text") == ["s:a"])


async def test_a_busy_database_is_waited_for(settings: Settings, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    async with open_log(settings) as log, running(settings, ["catalog"]):
        await write_documents(log, "a")
        await until(lambda: listed(settings) == ["s:a"])
        with sqlite3.connect(settings.data_dir / "catalog.db", isolation_level=None) as other:
            other.execute("BEGIN IMMEDIATE")
            await write_documents(log, "b")
            assert listed(settings) == ["s:a"], "readers are not in the way of a writer, and do not wait for one"
            other.execute("ROLLBACK")
        await until(lambda: listed(settings) == ["s:a", "s:b"])


async def test_an_unknown_name_is_an_error(settings: Settings) -> None:
    with pytest.raises(UsageError, match="no consumer nonsense"):
        await run_consumers(settings, settings.broker, open_store(settings), names=["nonsense"], stop=asyncio.Event())


async def test_thousands_arrive_with_their_last_state(settings: Settings) -> None:
    count = 2000
    async with open_log(settings) as log:
        await log.write("versions", *(state(f"{i}", version(i, Outcome.PENDING)) for i in range(count)))
        await log.write("versions", *(state(f"{i}", version(i)) for i in range(count)))
        await log.write("canon-ready", *(canon(f"{i}", f"text number {i}") for i in range(count)))
        async with running(settings):

            def complete() -> bool:
                with Catalog(settings) as catalog, SearchIndex(settings) as index:
                    return catalog.counts().outcomes == {"ready": count} and index.count() == count

            await until(complete, 60)
            assert searched(settings, "number 1234") == ["s:1234"]
