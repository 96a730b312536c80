"""What a replay passes over is only what could not come out otherwise."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from streams.extract.registry import fingerprint, plan
from streams.ledger.children import ATTACHMENTS_NOT_READ
from streams.records import DecisionKind, Detection, Outcome, Screened, Screening, Version
from streams.runtime.known import Now, unchanged
from tests.unit.ledger.make import Ledger, broken, decision, delete, result, up

TEXT = Detection(media_type="text/plain", detected_by="text", encoding="utf-8", rules="7")
ZIP = Detection(media_type="application/zip", detected_by="zip", rules="7")
NOW = Now(rules="7", policy="p")


def judged(
    outcome: Outcome = Outcome.READY, detection: Detection = TEXT, *, canon: bool = True, **screening: Any
) -> Version:
    """A version as the ledger has it after that result."""
    arrived = up(0, "content")
    made = result(arrived, outcome, canon=canon)
    spec = plan(detection)
    attempt = made.attempt
    if attempt is not None and spec is not None:
        attempt = msgspec.structs.replace(attempt, fingerprint=fingerprint(spec, detection))
    said = msgspec.structs.replace(made.screening, policy="p", **screening)
    screened: Screened = msgspec.structs.replace(made, detection=detection, attempt=attempt, screening=said)
    ledger = Ledger()
    ledger.take(arrived, screened)
    (version,) = ledger.state.versions
    assert version.outcome is outcome
    return version


def changed(detection: Detection, **fields: Any) -> Detection:
    return msgspec.structs.replace(detection, **fields)


def test_ready_and_held_canons_of_the_same_rules_extractor_and_policy() -> None:
    assert unchanged(judged(), NOW)
    assert unchanged(judged(Outcome.QUARANTINED, problems=["too_repetitive"]), NOW)
    assert not unchanged(judged(), Now(rules="8", policy="p"))
    assert not unchanged(judged(), Now(rules="7", policy="q"))
    version = judged()
    assert not unchanged(msgspec.structs.replace(version, fingerprint="another"), NOW)
    assert not unchanged(judged(detection=changed(TEXT, rules="")), NOW)  # from before rules were recorded
    assert not unchanged(judged(detection=changed(TEXT, warnings=[ATTACHMENTS_NOT_READ])), NOW)


def test_ends_without_a_canon_only_where_no_extractor_can_have_failed() -> None:
    skipped = Screening(outcome=Outcome.SKIPPED, rule="container")
    assert unchanged(judged(Outcome.SKIPPED, ZIP, canon=False, rule=skipped.rule), NOW)
    assert unchanged(judged(Outcome.QUARANTINED, ZIP, canon=False, problems=["encrypted"]), NOW)
    assert not unchanged(judged(Outcome.QUARANTINED, TEXT, canon=False, problems=["parser_error"]), NOW)


def test_a_scan_that_waits_for_an_engine_is_done_again() -> None:
    assert not unchanged(judged(Outcome.QUARANTINED, problems=["needs_recognition"]), NOW)


@pytest.mark.parametrize("code", ["bomb", "too_large"])
def test_what_a_setting_decides_is_asked_again(code: str) -> None:
    assert not unchanged(judged(Outcome.QUARANTINED, ZIP, canon=False, problems=[code]), NOW)


def test_what_is_pending_decided_or_never_came() -> None:
    arrived = up(0, "content")
    ledger = Ledger()
    ledger.take(arrived)
    assert not unchanged(ledger.state.versions[0], NOW)
    ledger = Ledger()
    ledger.take(broken(0))
    assert not unchanged(ledger.state.versions[0], NOW)
    ledger = Ledger()
    held = result(up(0, "content"), Outcome.QUARANTINED)
    ledger.take(up(0, "content"), held, decision(0, DecisionKind.ACCEPT))
    version = msgspec.structs.replace(ledger.state.versions[0], detection=TEXT)
    assert not unchanged(version, NOW)


def test_a_version_that_is_not_current_any_more_counts_like_any_other() -> None:
    version = judged()
    ledger = Ledger()
    ledger.take(up(0, "content"), delete(1))
    ended = msgspec.structs.replace(version, valid_to=ledger.state.versions[0].valid_to)
    assert unchanged(ended, NOW)
