"""Provenance on a real broker: from the changes of documents to the places of contents, killed and handed over."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from streams.blobs import open_store
from streams.ledger.provenance import ProvenanceStage, follow
from streams.ledger.stage import LedgerStage
from streams.ledger.store import RecordStore, StateStore
from streams.records import ContentLink, Provenance, Sequence
from streams.records.codec import encode
from streams.settings import Settings
from streams.topology import STAGES
from tests.integration.runtime.harness import (
    committed,
    publish,
    publish_raw,
    read,
    records,
    stage_app,
    until,
    until_async,
    worker,
)
from tests.unit.ledger.make import acl, delete, move, up

SHARED = "the same bytes in two shares"


def stage(settings: Settings) -> ProvenanceStage:
    return ProvenanceStage(RecordStore(settings, settings.broker, "contents", Provenance))


async def contents(settings: Settings) -> dict[str, Provenance]:
    return dict(await records(settings, "contents"))


def places(known: Provenance) -> list[tuple[str, str, list[str] | None]]:
    return [(link.source_id, link.path, link.readers) for link in known.links]


async def test_two_shares_with_one_content_and_everything_that_happens_to_them(settings: Settings) -> None:
    ledger = LedgerStage(settings, open_store(settings), StateStore(settings, settings.broker))
    one = up(0, SHARED, source_id="share:one", path="one.txt", readers=["staff"]).event
    two = up(0, SHARED, source_id="other:two", path="two.txt", readers=None).event
    async with (
        stage_app(settings, ledger, STAGES["ledger"]) as writer,
        stage_app(settings, stage(settings), STAGES["provenance"]) as app,
    ):
        await publish(settings, "raw-arrived", [one, two])
        await until(lambda: app.done == 2)
        (known,) = (await contents(settings)).values()
        assert places(known) == [("other:two", "two.txt", None), ("share:one", "one.txt", ["staff"])]
        assert (known.content_hash, known.size) == (hashlib.sha256(SHARED.encode()).hexdigest(), len(SHARED))

        await publish(settings, "raw-arrived", [one, two, two])  # once more: nothing has changed
        await until(lambda: writer.done == 5)
        moved = move(0, "archive/one.txt", source_id="share:one").event
        granted = acl(0, ["eva"], source_id="other:two", owner="eva").event
        await publish(settings, "raw-arrived", [moved, granted])
        await until(lambda: app.done == 4)
        (known,) = (await contents(settings)).values()
        assert places(known) == [("other:two", "two.txt", ["eva"]), ("share:one", "archive/one.txt", ["staff"])]

        gone = delete(0, source_id="share:one").event
        await publish(settings, "raw-arrived", [gone, gone])
        await until(lambda: app.done == 5)
        (known,) = (await contents(settings)).values()
        assert places(known) == [("other:two", "two.txt", ["eva"])]

        changed = up(0, "other bytes", source_id="other:two", path="two.txt").event
        await publish(settings, "raw-arrived", [changed])
        await until(lambda: app.done == 7)
        await until(lambda: writer.done == 10)
        found = await contents(settings)
    assert {known.content_hash: len(known.links) for known in found.values()} == {
        hashlib.sha256(SHARED.encode()).hexdigest(): 0,  # kept: nothing living refers to it
        hashlib.sha256(b"other bytes").hexdigest(): 1,
    }
    said = await read(settings, "content-links")
    assert len(said) == 7, "one for each real change of a document and content"
    assert await read(settings, "dead-letter") == []
    by_key = {message.key: message.partition for message in said}
    assert all(by_key[message.key] == message.partition for message in [*said, *await read(settings, "contents")])


def links(count: int = 30, sources: int = 4) -> list[ContentLink]:
    """The links of contents that come, move and go in one source after the other: who forgets the first ones is wrong
    at the end."""
    made = []
    for source in range(sources):
        for at in range(3):
            for content in range(count):
                living = (content + source + at) % 3 != 0
                made.append(
                    ContentLink(
                        content_hash=hashlib.sha256(str(content).encode()).hexdigest(),
                        source_id=f"share{source}:{content}",
                        sequence=Sequence(epoch=1, offset=at * 1000 + content),
                        living=living,
                        size=1 + content,
                        path=f"{at}/{content}.txt" if living else "",
                        readers=["staff"] if living else None,
                    )
                )
    return made


def expected(made: list[ContentLink]) -> dict[str, Provenance]:
    found: dict[str, Provenance] = {}
    for link in made:
        found[link.content_hash] = follow(found.get(link.content_hash), link)
    return found


async def say(settings: Settings, made: list[ContentLink]) -> None:
    await publish_raw(settings, "content-links", [(link.content_hash.encode(), encode(link)) for link in made])


async def done(settings: Settings) -> int:
    found = [await committed(settings, "provenance", "content-links", partition) for partition in range(8)]
    return sum(offset or 0 for offset in found)


@pytest.mark.slow
async def test_a_killed_worker_is_followed_by_one_that_knows_what_it_knew(settings: Settings, tmp_path: Path) -> None:
    made, log = links(), tmp_path / "worker.log"
    half = len(made) // 2

    async def some() -> bool:
        return len(await records(settings, "contents")) > 40

    with worker(settings, log, "provenance") as first:
        await say(settings, made[:half])
        await until_async(some, 60, "the first contents")
        first.kill()
    await say(settings, made[half:])
    with worker(settings, log, "provenance") as second:

        async def all_done() -> bool:
            return await done(settings) == len(made)

        await until_async(all_done, 60, "everything committed")
        assert second.running
    assert await contents(settings) == expected(made)
    # Read all over again, by a group whose offsets were lost: nothing is brought back, and nothing is published.
    before = len(await read(settings, "contents"))
    async with stage_app(settings, stage(settings), STAGES["provenance"]) as app:
        await say(settings, made)
        await until(lambda: app.done == len(made))
    assert len(await read(settings, "contents")) == before
    assert "Traceback" not in log.read_text("utf-8")


async def test_two_workers_share_the_contents_and_hand_them_over(settings: Settings) -> None:
    made = links()
    half = len(made) // 2
    async with stage_app(settings, stage(settings), STAGES["provenance"]) as one:
        async with stage_app(settings, stage(settings), STAGES["provenance"]) as two:
            await until(lambda: len(one.assigned) == len(two.assigned) == 4, what="half each")
            assert one.assigned.isdisjoint(two.assigned)
            await say(settings, made[:half])
            await until(lambda: one.done + two.done == half)
            assert one.done > 0
            assert two.done > 0
        await until(lambda: len(one.assigned) == 8, what="all of them")
        before = one.done
        await say(settings, made[half:])
        await until(lambda: one.done == before + len(made) - half)
    assert await contents(settings) == expected(made)
    assert dead(await read(settings, "dead-letter")) == []


def dead(messages: list[Any]) -> list[Any]:
    return [dict(message.headers).get("__streams.errors.message") for message in messages]


async def test_a_link_under_a_strange_key_goes_to_dead_letter(settings: Settings) -> None:
    (link,) = links(1, 1)[:1]
    async with stage_app(settings, stage(settings), STAGES["provenance"]) as app:
        await publish_raw(settings, "content-links", [(link.source_id.encode(), encode(link))])
        await until(lambda: app.done == 1)
    (why,) = dead(await read(settings, "dead-letter"))
    assert b"is not the record's content_hash" in why
    assert await contents(settings) == {}
