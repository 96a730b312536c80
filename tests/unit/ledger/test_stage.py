"""The ledger's stage: facts count at once, whatever has become of derived data."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from streams.blobs import open_store
from streams.ledger.fence import Token
from streams.ledger.stage import LedgerStage
from streams.ledger.store import StateStore
from streams.records import Canon, DecisionKind, Detection, Outcome, Quarantined, RecognitionRequest, SourceState
from streams.records.headers import EventContext
from streams.runtime.messages import Incoming, Outputs
from streams.settings import Settings, SourceSettings
from streams.topology import STAGES
from tests.unit.ledger.make import ID, Ledger, acl, decision, delete, move, result, up


class OneState(StateStore):
    """The state of one document, as it was restored."""

    def __init__(self, state: SourceState) -> None:
        self.state = state

    def holds(self, partition: int) -> bool:
        return True

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


async def test_what_is_held_has_an_owner_and_a_deadline_by_its_source(tmp_path: Path) -> None:
    arrived = up(1, "text")
    ledger = Ledger()
    ledger.take(arrived, result(arrived, Outcome.QUARANTINED))
    for sources, owner, days in (
        ({}, None, None),
        ({"share": SourceSettings(owner="office", decide_within_s=86_400)}, "office", 1),
    ):
        settings = Settings(data_dir=tmp_path, sources=sources)
        stage = LedgerStage(settings, open_store(settings), OneState(ledger.state))
        restated = await stage.restated(0, ID, 1)
        assert restated is not None
        (held,) = [out.record for out in restated[1].first if out.topic == "quarantine"]
        assert isinstance(held, Quarantined)
        assert held.owner == owner
        assert [attempt.problems for attempt in held.attempts] == [["truncated"]]
        assert held.deadline == (held.held_since + timedelta(days=days) if days else None)


async def test_a_decision_to_recognise_goes_out_with_the_likely_languages(tmp_path: Path) -> None:
    arrived = up(1, "text")
    ledger = Ledger()
    pdf = Detection(media_type="application/pdf", detected_by="magic")
    ledger.take(arrived, msgspec.structs.replace(result(arrived, Outcome.QUARANTINED), detection=pdf))
    settings = Settings(data_dir=tmp_path, sources={"share": SourceSettings(language="fi")})
    stage = LedgerStage(settings, open_store(settings), OneState(ledger.state))
    outputs = await stage.handle(
        Incoming(
            topic="decisions",
            partition=0,
            offset=0,
            timestamp=0.0,
            key=ID,
            record=decision(1, DecisionKind.RECOGNIZE),
            context=EventContext.new(),
        )
    )
    (request,) = [out.record for out in outputs.first if out.topic == "recognize"]
    assert isinstance(request, RecognitionRequest)
    assert request.languages == ["fi"]
    assert request.payload is not None
    assert "recognize" in STAGES["ledger"].writes
