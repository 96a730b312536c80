"""Positions in the index itself: each record once, another log, missed deletes."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from streams.consumers.catalog import Catalog, CatalogWriter
from streams.consumers.reader import PartitionFacts
from streams.consumers.received import Partition
from streams.records import Outcome, Status
from streams.settings import Settings
from tests.unit.consumers.make import NOW, batch, canon, received, state, version

READY = Partition("canon-ready", 0)
VERSIONS = Partition("versions", 0)
WEEK = 7 * 24 * 3600.0


def facts(partition: Partition, begin: int, end: int) -> PartitionFacts:
    return PartitionFacts(partition, begin, end, None, "", WEEK)


@pytest.fixture
def writer(settings: Settings) -> Iterator[CatalogWriter]:
    writer = CatalogWriter(settings)
    yield writer
    writer.close()


def published(settings: Settings) -> dict[str, str]:
    with Catalog(settings) as catalog:
        rows = {row.source_id: catalog.document(row.source_id) for row in catalog.list_documents(status=None)}
    return {source_id: story.canon["content_hash"] for source_id, story in rows.items() if story.canon}


async def prepared(writer: CatalogWriter, *names: str, log: str = "log") -> None:
    """A catalog that knows these documents, their canons at the offsets 0, 1, 2 ..."""
    end = len(names)
    await writer.positions.begin(log, [facts(READY, 0, end), facts(VERSIONS, 0, end)])
    writer.apply(
        batch(
            *(received("canon-ready", i, f"s:{name}", canon(name)) for i, name in enumerate(names)),
            *(received("versions", i, f"s:{name}", state(name, version(i))) for i, name in enumerate(names)),
        )
    )


async def test_reading_starts_at_the_position_in_the_database_whatever_the_group_committed(
    writer: CatalogWriter,
) -> None:
    await prepared(writer, "a", "b")
    committed = PartitionFacts(READY, 0, 9, 7, NOW.isoformat(), None)
    assert await writer.positions.begin("log", [committed]) == {READY: 2}


async def test_a_record_is_applied_once(writer: CatalogWriter) -> None:
    await prepared(writer, "a", "b")
    again = batch(received("canon-ready", 1, "s:b", canon("b", "other")), received("canon-ready", 2, "s:c", canon("c")))
    assert [record.key for record in writer.apply(again)] == ["s:c"]


async def test_a_batch_from_before_the_partition_was_lost_moves_nothing_back(writer: CatalogWriter) -> None:
    await prepared(writer, "a", "b", "c")
    assert writer.apply(batch(received("canon-ready", 0, "s:a", None))) == []
    assert await writer.positions.begin("log", [facts(READY, 0, 3)]) == {READY: 3}


async def test_another_log_drops_what_came_from_the_old_one(writer: CatalogWriter, settings: Settings) -> None:
    await prepared(writer, "a", "b")
    assert await writer.positions.begin("new log", [facts(READY, 0, 5), facts(VERSIONS, 0, 5)]) == {
        READY: 0,
        VERSIONS: 0,
    }
    with Catalog(settings) as catalog:
        assert catalog.list_documents(status=None) == []
    assert len(writer.apply(batch(received("canon-ready", 0, "s:a", canon("a"))))) == 1


async def test_a_log_that_is_shorter_than_the_position_is_another_log(writer: CatalogWriter) -> None:
    await prepared(writer, "a", "b")
    assert await writer.positions.begin("log", [facts(READY, 0, 1)]) == {READY: 0}


async def test_away_for_longer_than_tombstones_are_kept_sweeps_what_the_log_no_longer_has(
    writer: CatalogWriter, settings: Settings
) -> None:
    await prepared(writer, "a", "b", "c")  # fresh until NOW, which is long ago
    # Compaction has left: a at 0, c anew at 4; b was deleted at 3, and that tombstone is gone too.
    assert await writer.positions.begin("log", [facts(READY, 0, 5)]) == {READY: 0}
    before = published(settings)
    assert set(before) == {"s:a", "s:b", "s:c"}, "the old state is served until the new one is complete"
    writer.apply(batch(received("canon-ready", 0, "s:a", canon("a")), caught_up=False))
    assert set(published(settings)) == {"s:a", "s:b", "s:c"}
    writer.apply(batch(received("canon-ready", 4, "s:c", canon("c", "new"))))
    after = published(settings)
    assert set(after) == {"s:a", "s:c"}
    assert after["s:c"] != before["s:c"]


async def test_a_rebuild_that_was_broken_off_begins_again(writer: CatalogWriter) -> None:
    await prepared(writer, "a", "b", "c")
    await writer.positions.begin("log", [facts(READY, 0, 5)])
    writer.apply(batch(received("canon-ready", 0, "s:a", canon("a")), caught_up=False))
    assert await writer.positions.begin("log", [facts(READY, 0, 5)]) == {READY: 0}


async def test_away_for_long_but_nothing_happened_reads_nothing_again(writer: CatalogWriter) -> None:
    await prepared(writer, "a", "b", "c")
    assert await writer.positions.begin("log", [facts(READY, 0, 3)]) == {READY: 3}


async def test_away_for_shorter_goes_on(writer: CatalogWriter) -> None:
    await prepared(writer, "a")
    recent = datetime.now(UTC) - timedelta(days=6)
    writer.apply(batch(received("canon-ready", 1, "s:b", canon("b")), fresh_at=recent))
    assert await writer.positions.begin("log", [facts(READY, 0, 9)]) == {READY: 2}


async def test_re_reading_older_records_changes_nothing_at_the_end(writer: CatalogWriter, settings: Settings) -> None:
    await prepared(writer)
    records = [
        received("versions", 0, "s:a", state("a", version(1, Outcome.PENDING))),
        received("versions", 1, "s:a", state("a", version(1, Outcome.QUARANTINED, problems=("cid_leak",)))),
        received("versions", 2, "s:a", state("a", version(1), status=Status.DELETED, current=None, high_water=5)),
    ]
    writer.apply(batch(*records))
    with Catalog(settings) as catalog:
        expected = catalog.document("s:a")
    # From the beginning, in the smallest steps: the rows are newer than all but the last record.
    await writer.positions.begin("log", [facts(VERSIONS, 0, 4)])
    for record in records:
        writer.apply(batch(record, caught_up=False))
        with Catalog(settings) as catalog:
            assert catalog.document("s:a") == expected
