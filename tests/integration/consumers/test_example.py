"""The index builder of the README, as it stands there."""

import asyncio

from streams.blobs import open_store
from streams.consumers.sdk import CanonConsumer, Delete, Upsert
from streams.extract.render import to_text
from streams.log.client import committed_offsets
from streams.settings import Settings
from tests.integration.consumers.log import open_log
from tests.unit.consumers.make import canon


# --8<-- the example
async def build_index(index: dict[str, tuple[str, str]], settings: Settings) -> None:
    """Fills `index` with the path and text of every document that may be served, and keeps it right."""
    store = open_store(settings)
    async with CanonConsumer(
        "my-index", settings, broker=settings.broker, store=store, known_ids=lambda: list(index)
    ) as consumer:
        async for batch in consumer.batches():
            for change in batch:
                match change:
                    case Upsert(canon=canon):
                        index[canon.source_id] = (canon.path, to_text(await change.body()))
                    case Delete(source_id=source_id):
                        index.pop(source_id, None)
            await batch.commit()
            if batch.caught_up:
                break  # a snapshot; leave this out, and the index stays up to date


# --8<-- end of the example


async def test_the_example_builds_an_index_and_goes_on_where_it_was(settings: Settings) -> None:
    index: dict[str, tuple[str, str]] = {}
    async with asyncio.timeout(60), open_log(settings) as log:
        await log.write("canon-ready", canon("a", "first"), canon("b", "second"), canon("c", "third"))
        await log.write("canon-ready", canon("b", "second, changed"), gone=("s:c",))
        await build_index(index, settings)
        assert index == {"s:a": ("folder/a", "first"), "s:b": ("folder/b", "second, changed")}
        await log.write("canon-ready", canon("d", "fourth"), gone=("s:a",))
        index["s:mark"] = ("", "")  # a sweep would remove it: this run only goes on
        await build_index(index, settings)
    assert set(index) == {"s:b", "s:d", "s:mark"}
    group = f"{settings.kafka.topic_prefix}canonry-consumer-my-index"
    committed = await committed_offsets(settings, settings.broker, group, ["canon-ready"])
    assert sum(offset or 0 for offset in committed.values()) == 7
