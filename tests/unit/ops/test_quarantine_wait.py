"""Refusals: each decision about a document has its own answer."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from streams.ops.dead_letters import DeadLetter
from streams.ops.quarantine_wait import Refusals
from streams.records import Decision, DecisionKind, Sequence
from streams.records.codec import encode


def test_of_two_decisions_about_one_document_only_the_refused_one_is() -> None:
    skip = Decision(
        source_id="share:notice.txt",
        sequence=Sequence(epoch=1, offset=3),
        kind=DecisionKind.SKIP,
        actor="eva",
        reason="a copy",
        decided_at=datetime(2026, 6, 1, 12, 0, 0, 123456, tzinfo=UTC),
    )
    accept = msgspec.structs.replace(skip, kind=DecisionKind.ACCEPT, actor="adam")
    refusals = Refusals()
    refusals.hear(DeadLetter(accept.source_id, "decision_refused: it is skipped", "decisions", encode(accept)))
    refusals.hear(DeadLetter(skip.source_id, "no_such_thing", "raw-arrived", encode(skip)))
    assert refusals.of(accept) == "decision_refused: it is skipped"
    assert refusals.of(skip) is None
