"""Containers, conflicts and decisions on a real broker: what the ledger says of other documents and to other stages."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec

from streams.blobs import open_store
from streams.ledger.children import order_below
from streams.records import ChangeEvent, Child, Decision, DecisionKind, Outcome, Screened, Sequence, SourceState, Status
from streams.settings import LedgerSettings, Settings, SourceSettings
from streams.topology import STAGES
from tests.integration.ledger.test_stage import ledger, newest, screened
from tests.integration.runtime.harness import publish, read, records, stage_app, until, until_async, upsert
from tests.unit.ledger.make import NOW, delete, move

ZIP, MEMBER = "share:z.zip", "share:z.zip!a.txt"


def member(offset: int) -> ChangeEvent:
    """What decode publishes of a container's event."""
    event = upsert(MEMBER, "member")
    manifest = msgspec.structs.replace(
        event.manifest,
        path="in/z.zip/a.txt",
        parent_source_id=ZIP,
        parent_order=order_below([], Sequence(epoch=1, offset=offset)),
    )
    return msgspec.structs.replace(event, manifest=manifest)


def opened(event: ChangeEvent, offset: int) -> Screened:
    found = screened(event, offset, Outcome.SKIPPED)
    return msgspec.structs.replace(found, children=[Child(source_id=MEMBER, path="a.txt")])


async def partition_of(settings: Settings, key: str) -> int:
    (where,) = {m.partition for m in await read(settings, "raw-arrived") if m.key == key.encode()}
    return int(where)


async def test_a_container_takes_its_member_along_and_decoding_it_again_brings_nobody_back(settings: Settings) -> None:
    async def state(source_id: str) -> SourceState | None:
        return (await newest(settings, "versions")).get(source_id)

    async def canon(source_id: str) -> Any:
        return (await newest(settings, "canon-ready")).get(source_id)

    container = upsert(ZIP, "container")
    async with stage_app(settings, ledger(settings, open_store(settings)), STAGES["ledger"]) as app:
        (parent,) = await publish(settings, "raw-arrived", [container])
        (child,) = await publish(settings, "raw-arrived", [member(parent)])
        where = {key: await partition_of(settings, key) for key in (ZIP, MEMBER)}
        assert where[ZIP] != where[MEMBER]
        await publish(settings, "screened", [opened(container, parent)], where[ZIP])
        await publish(settings, "screened", [screened(member(parent), child)], where[MEMBER])
        await until(lambda: app.done == 4)
        assert (await canon(MEMBER)).path == "in/z.zip/a.txt"

        moved = msgspec.structs.replace(move(0, "archive/z.zip").event, source_id=ZIP)
        await publish(settings, "raw-arrived", [moved], where[ZIP])
        await until(lambda: app.done == 6)  # the move, and what it says to the member
        assert (await canon(MEMBER)).path == "archive/z.zip/a.txt"

        gone = msgspec.structs.replace(delete(0).event, source_id=ZIP)
        await publish(settings, "raw-arrived", [gone], where[ZIP])
        await until(lambda: app.done == 8)
        assert await canon(MEMBER) is None
        (again,) = await publish(settings, "raw-arrived", [member(parent)])
        await publish(settings, "screened", [screened(member(parent), again)], where[MEMBER])
        await until(lambda: app.done == 10)
        assert app.failure is None
    assert await canon(MEMBER) is None
    for source_id in (ZIP, MEMBER):
        found = await state(source_id)
        assert found is not None
        assert found.status is Status.DELETED
    deletions = dict(await records(settings, "deleted"))
    assert deletions[MEMBER].parent_source_id == ZIP
    assert {m.partition for m in await read(settings, "raw-arrived") if m.key == MEMBER.encode()} == {where[MEMBER]}


async def test_ranks_and_decisions_are_those_of_the_settings_and_of_people(settings: Settings) -> None:
    settings = settings.model_copy(
        update={
            "sources": {"crm": SourceSettings(kind="sdk", rank=1), "share": SourceSettings(rank=2)},
            "ledger": LedgerSettings(conflict_window_s=3600),
        }
    )
    of_record = upsert("share:contract", "true")
    of_record = msgspec.structs.replace(of_record, manifest=msgspec.structs.replace(of_record.manifest, source="crm"))
    copy = upsert("share:contract", "old copy")
    late = msgspec.structs.replace(copy.manifest, ingested_at=copy.manifest.ingested_at + timedelta(minutes=59))
    copy = msgspec.structs.replace(copy, manifest=late)
    async with stage_app(settings, ledger(settings, open_store(settings)), STAGES["ledger"]) as app:
        first, second = await publish(settings, "raw-arrived", [of_record, copy], 3)
        await publish(settings, "screened", [screened(of_record, first), screened(copy, second)], 3)
        await until(lambda: app.done == 4)
        assert (await newest(settings, "canon-ready"))["share:contract"].sequence.offset == first
        asked = Decision(
            source_id="share:contract",
            sequence=Sequence(epoch=1, offset=first),
            kind=DecisionKind.RE_EXTRACT,
            tool="markdown",
            actor="eva",
            reason="tables",
            decided_at=NOW,
        )
        await publish(settings, "decisions", [asked, asked], 3)
        await until_async(lambda: _has(settings, "decoded"))
        await until(lambda: app.done == 6)
    (decoded,) = [record for _, record in await records(settings, "decoded")]
    assert (decoded.tool, decoded.document.sequence.offset) == ("markdown", first)


async def _has(settings: Settings, topic: str) -> bool:
    return bool(await read(settings, topic))
