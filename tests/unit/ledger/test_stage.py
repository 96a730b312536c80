"""The ledger's stage: facts count at once, whatever has become of derived data."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.blobs import open_store
from streams.ledger.fence import Token
from streams.ledger.stage import LedgerStage
from streams.ledger.store import StateStore
from streams.records import Canon, SourceState
from streams.records.headers import EventContext
from streams.runtime.messages import Incoming, Outputs
from streams.settings import Settings
from tests.unit.ledger.make import ID, Ledger, acl, delete, move, result, up


class OneState(StateStore):
    """The state of one document, as it was restored."""

    def __init__(self, state: SourceState) -> None:
        self.state = state

    def get(self, partition: int, source_id: str) -> SourceState:
        return self.state

    def token(self, partition: int, generation: int) -> Token:
        return Token(0, generation)


@pytest.mark.parametrize("change", [move(7, "elsewhere/doc.txt"), acl(7, [])], ids=["move", "revoked rights"])
async def test_a_missing_canon_blob_costs_no_fact(tmp_path: Path, change: object) -> None:
    ledger = Ledger()
    arrived = up(1, "text")
    ledger.take(arrived)
    ledger.take(result(arrived))
    settings = Settings(data_dir=tmp_path)
    stage = LedgerStage(settings, open_store(settings), OneState(ledger.state))
    event = change.event  # type: ignore[attr-defined]
    outputs: Outputs = await stage.handle(
        Incoming(
            topic="raw-arrived", partition=0, offset=7, timestamp=0.0, key=ID, record=event, context=EventContext.new()
        )
    )
    (canon,) = [out.record for out in outputs.first if out.topic == "canon-ready"]
    assert isinstance(canon, Canon)
    assert (canon.path, canon.readers) == (
        ("elsewhere/doc.txt", ["staff"]) if event.operation == "move" else ("in/doc.txt", [])
    )
    assert canon.payload.inline is None
    (state,) = [out.record for out in outputs.then]
    assert isinstance(state, SourceState)
    assert (state.path, state.readers) == (canon.path, canon.readers)


async def test_a_deletion_is_said_only_after_the_text_was_withdrawn(tmp_path: Path) -> None:
    ledger = Ledger()
    arrived = up(1, "text")
    ledger.take(arrived)
    ledger.take(result(arrived))
    settings = Settings(data_dir=tmp_path)
    stage = LedgerStage(settings, open_store(settings), OneState(ledger.state))
    outputs = await stage.handle(
        Incoming(
            topic="raw-arrived",
            partition=0,
            offset=7,
            timestamp=0.0,
            key=ID,
            record=delete(7).event,
            context=EventContext.new(),
        )
    )
    assert ("canon-ready", None) in [(out.topic, out.record) for out in outputs.first]
    assert "deleted" not in [out.topic for out in outputs.first]
    (deletion,) = outputs.proof
    assert deletion.topic == "deleted"
    assert [out.topic for out in outputs.then] == ["versions"]
