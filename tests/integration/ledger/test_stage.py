"""The ledger on a real broker: three topics, one state, effects before state."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from streams.blobs import BlobStore, open_store
from streams.ledger.stage import LedgerStage
from streams.ledger.store import StateStore
from streams.records import (
    ChangeEvent,
    Decision,
    DecisionKind,
    Outcome,
    Payload,
    Screened,
    Sequence,
    SourceState,
    Status,
)
from streams.settings import Settings
from streams.topology import STAGES
from tests.integration.runtime.harness import committed, publish, read, records, stage_app, until, upsert
from tests.unit.ledger.make import NOW, delete, move, result, up

TOPICS = ("raw-arrived", "screened", "decisions")


def ledger(settings: Settings, store: BlobStore) -> LedgerStage:
    return LedgerStage(settings, store, StateStore(settings, settings.broker))


def screened(event: ChangeEvent, offset: int, outcome: Outcome = Outcome.READY, body: bytes = b"canon") -> Screened:
    arrived = up(offset, "x")
    found = result(type(arrived)(event, arrived.sequence), outcome)
    assert found.payload is not None
    payload = Payload(key=found.payload.key, sha256=hashlib.sha256(body).hexdigest(), size=len(body), inline=body)
    return msgspec.structs.replace(found, payload=payload)


async def newest(settings: Settings, topic: str) -> dict[str, Any]:
    return dict(await records(settings, topic))


async def test_a_document_from_upsert_over_quarantine_and_decision_to_its_deletion(settings: Settings) -> None:
    source_id, partition = "share:doc", 6
    store = open_store(settings)
    first = upsert(source_id, "first")
    async with stage_app(settings, ledger(settings, store), STAGES["ledger"]) as app:
        (offset,) = await publish(settings, "raw-arrived", [first], partition)
        held = screened(first, offset, Outcome.QUARANTINED)
        assert held.payload is not None
        store.put(held.payload.key, b"canon")
        await publish(settings, "screened", [held], partition)
        await until(lambda: app.done == 2)
        assert (await newest(settings, "quarantine"))[source_id].problems == ["truncated"]
        assert source_id not in await newest(settings, "canon-ready")

        decided = Decision(
            source_id=source_id,
            sequence=Sequence(epoch=1, offset=offset),
            kind=DecisionKind.ACCEPT,
            actor="eva",
            reason="complete enough",
            decided_at=NOW,
        )
        await publish(settings, "decisions", [decided], partition)
        await until(lambda: app.done == 3)
        assert (await newest(settings, "quarantine"))[source_id] is None
        canon = (await newest(settings, "canon-ready"))[source_id]
        assert canon.payload.inline == b"canon"  # fetched from the store, for the decision brought no bytes
        assert (canon.path, canon.readers) == ("in/doc.txt", ["staff"])

        moved = msgspec.structs.replace(move(0, "archive/doc.txt").event, source_id=source_id)
        gone = msgspec.structs.replace(delete(0).event, source_id=source_id)
        await publish(settings, "raw-arrived", [moved], partition)
        await until(lambda: app.done == 4)
        assert (await newest(settings, "canon-ready"))[source_id].path == "archive/doc.txt"
        await publish(settings, "raw-arrived", [gone], partition)
        await publish(settings, "screened", [held], partition)  # late, once more
        await publish(settings, "decisions", [decided], partition)  # once more: carried out already
        late = msgspec.structs.replace(decided, reason="after the fact")
        await publish(settings, "decisions", [late], partition)
        await until(lambda: app.done == 8)
        assert app.failure is None
    assert (await newest(settings, "canon-ready"))[source_id] is None
    (deletion,) = [record for _, record in await records(settings, "deleted")]
    assert deletion.path == "archive/doc.txt"
    state: SourceState = (await newest(settings, "versions"))[source_id]
    assert state.status is Status.DELETED
    (dead,) = await read(settings, "dead-letter")
    assert dict(dead.headers)["reason_code"] == b"decision_refused"
    assert b"not the current one" in dict(dead.headers)["__streams.errors.message"]
    # All of it stands in the partition of its events, nulls too, with the headers of what they end.
    for topic in ("versions", "canon-ready", "quarantine", "deleted"):
        assert {message.partition for message in await read(settings, topic)} == {partition}
    nulls = [message for message in await read(settings, "canon-ready") if message.value is None]
    assert [dict(message.headers)["ce_type"] for message in nulls] == [b"canonry.Canon"]


async def test_two_ledgers_share_partitions_with_the_three_topics_together(settings: Settings) -> None:
    store = open_store(settings)
    events = [upsert(f"share:{n}", f"text {n}") for n in range(24)]
    async with (
        stage_app(settings, ledger(settings, store), STAGES["ledger"]) as one,
        stage_app(settings, ledger(settings, store), STAGES["ledger"]) as two,
    ):
        await until(lambda: len(one.assigned) == 12 and len(two.assigned) == 12, what="half each")
        for app in (one, two):
            by_topic = {topic: {p for t, p in app.assigned if t == topic} for topic in TOPICS}
            assert by_topic["raw-arrived"] == by_topic["screened"] == by_topic["decisions"]
            assert len(by_topic["raw-arrived"]) == 4
        assert one.assigned.isdisjoint(two.assigned)
        await publish(settings, "raw-arrived", events)
        await until(lambda: one.done + two.done == 24)
        places = {m.key.decode(): m.offset for m in await read(settings, "raw-arrived")}
        await publish(settings, "screened", [screened(event, places[event.source_id]) for event in events])
        await until(lambda: one.done + two.done == 48)
        assert one.done > 0
        assert two.done > 0
    states = await newest(settings, "versions")
    assert len(states) == 24
    assert all(state.published == state.current is not None for state in states.values())
    assert {key for key, canon in (await newest(settings, "canon-ready")).items() if canon} == set(states)


async def test_state_moves_with_its_partitions(settings: Settings) -> None:
    """Each event of one document is handled by another process, and its history stays whole."""
    store = open_store(settings)
    for number in range(3):
        event = upsert("share:doc", f"text {number}")
        async with stage_app(settings, ledger(settings, store), STAGES["ledger"]) as app:
            (offset,) = await publish(settings, "raw-arrived", [event], 0)
            await publish(settings, "screened", [screened(event, offset)], 0)
            await until(lambda: app.done == 2)
        assert await committed(settings, "ledger", "raw-arrived", 0) == number + 1
    (*_, state) = [record for _, record in await records(settings, "versions")]
    assert [version.outcome for version in state.versions] == [Outcome.READY] * 3
    assert [version.superseded_by is None for version in state.versions] == [False, False, True]
