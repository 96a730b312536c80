"""Which held documents a newer extractor may read."""

from __future__ import annotations

from typing import Any

import pytest

from streams.consumers.catalog_quarantine import HeldFilter
from streams.extract import registry
from streams.extract.recognise import VERSION
from streams.ops.quarantine_fixed import fixed, group_rows
from streams.records import Attempt, Detection, Judgement, Method, Outcome, Screening
from tests.unit.consumers.conftest import Applied
from tests.unit.consumers.make import NOW
from tests.unit.ops.test_quarantine import PDF, apply, hold, settings  # noqa: F401 - fixtures

SPEC = registry.plan(Detection(media_type=PDF, detected_by=""))
assert SPEC is not None
NOW_INSTALLED = registry.fingerprint(SPEC, Detection(media_type=PDF, detected_by=""))


def judgement(fingerprint: str, extractor: str = "pdf", number: str = "0") -> Judgement:
    made = Attempt(
        extractor=extractor, extractor_version=number, fingerprint=fingerprint, method=Method.NATIVE, seconds=0.1
    )
    screening = Screening(outcome=Outcome.QUARANTINED, problems=["timeout"])
    return Judgement(fingerprint=fingerprint, screening=screening, settled_at=NOW, attempt=made)


def names(applied: Applied, **wanted: Any) -> list[str]:
    return [each.row.file_name for each in fixed(applied.catalog, HeldFilter(**wanted))]


async def test_what_the_extractor_of_now_has_tried_is_not_offered(apply: Applied) -> None:  # noqa: F811
    hold(apply, "old.pdf", "mojibake", number="0")
    hold(apply, "failed.pdf", "parser_error", number="0", text=False)
    hold(apply, "tried.pdf", "mojibake", number="0", others=[judgement(NOW_INSTALLED)])
    assert SPEC is not None
    version = f"{SPEC.version}+{VERSION} (tesseract 5)"
    hold(apply, "read.pdf", "low_ocr_confidence", others=[judgement("x", "pdf+tesseract", version)])
    hold(apply, "once.pdf", "low_ocr_confidence", others=[judgement("x", "pdf+tesseract", "0+0 (tesseract 4)")])
    hold(apply, "both.pdf", "version_conflict", number="0")
    hold(apply, "shut.pdf", "encrypted", tool=None, text=False)
    hold(apply, "new.pdf", "unsupported_format", tool=None, text=False)
    hold(apply, "what.bin", "unsupported_format", tool=None, text=False, media_type="application/x-what")
    hold(apply, "gone.pdf", "vanished", tool=None, text=False, media_type=None, content_hash=None)
    assert names(apply) == ["failed.pdf", "new.pdf", "old.pdf", "once.pdf"]
    assert names(apply, code="parser_error") == ["failed.pdf"]
    (only,) = fixed(apply.catalog, HeldFilter(code="mojibake", ids=["s:old.pdf"]))
    assert only.now == f"pdf {SPEC.version} [{NOW_INSTALLED}]"
    rows = [each.row for each in fixed(apply.catalog, HeldFilter())]
    assert [(row.group.id, row.count) for row in group_rows(rows)] == [
        ("low_ocr_confidence:pdf:1:application/pdf", 1),
        ("mojibake:pdf:0:application/pdf", 1),
        ("parser_error:pdf:0:application/pdf", 1),
        ("unsupported_format:-:-:application/pdf", 1),
    ]


async def test_a_long_queue_is_gone_through_in_pages(
    apply: Applied,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("streams.ops.quarantine_fixed._PAGE", 2)
    for number in range(5):
        hold(apply, f"{number}.pdf", "mojibake", number="0")
    assert names(apply) == [f"{number}.pdf" for number in range(5)]
