"""What a replay passes over is only what could not come out otherwise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from streams.extract import recognise
from streams.extract.recognise import fingerprint as recognised
from streams.extract.recognise.engine import EngineUnavailable
from streams.extract.registry import fingerprint, plan
from streams.ledger.children import ATTACHMENTS_NOT_READ
from streams.records import DecisionKind, Detection, Outcome, Screened, Screening, Version
from streams.runtime.known import Now, unchanged, way_of
from streams.settings import RecognitionSettings, Settings
from tests.unit.ledger.make import Ledger, broken, decision, delete, result, up

TEXT = Detection(media_type="text/plain", detected_by="text", encoding="utf-8", rules="7")
ZIP = Detection(media_type="application/zip", detected_by="zip", rules="7")
PDF = Detection(media_type="application/pdf", detected_by="signature:pdf", rules="7")
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


class _Engine:
    """An engine that would read like this."""

    name, version = "tesseract", "5"

    def __init__(self, identity: str = "models of now") -> None:
        self._identity = identity

    def identity(self) -> str:
        return self._identity


def _scan(engine: _Engine, languages: list[str], pages: list[int], **screening: Any) -> Version:
    version = judged(detection=PDF, **screening)
    named = recognised(PDF, languages, pages=pages, engine=engine)  # type: ignore[arg-type]
    return msgspec.structs.replace(version, fingerprint=named)


def _now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: _Engine | None = None, **fields: Any) -> Now:
    monkeypatch.setattr(recognise, "default_engine", lambda: engine or _Engine())
    settings = Settings(data_dir=tmp_path, recognition=RecognitionSettings(languages=["de"], **fields))
    return Now(rules="7", policy="p", way=way_of(settings))


def test_a_scan_is_known_by_its_engine_models_and_settings_whichever_pages_it_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = _now(tmp_path, monkeypatch)
    for pages in ([1], [3, 4], [117, 118]):
        assert unchanged(_scan(_Engine(), ["de"], pages), now)
    assert not unchanged(_scan(_Engine("other models"), ["de"], [1]), now)
    assert not unchanged(_scan(_Engine(), ["en"], [1]), now)
    scanned = _scan(_Engine(), ["de"], [1])
    assert not unchanged(scanned, NOW)  # nothing would be recognised now
    assert not unchanged(scanned, _now(tmp_path, monkeypatch, max_pixels=2_000_000))
    assert _now(tmp_path, monkeypatch, enabled=False).way is None
    assert not unchanged(_scan(_Engine(), ["de"], [1], warnings=["page_failed"]), now)


def test_without_an_engine_no_scan_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Missing(_Engine):
        def identity(self) -> str:
            raise EngineUnavailable("There is none.")

    assert _now(tmp_path, monkeypatch, Missing()).way is None


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
