"""The exposition: what Prometheus' own tools say of it, and what may stand in labels."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families

from streams.records import CanonSummary, Detection, Lane, Method, Outcome, Screening, Sequence, Version
from streams.runtime.endpoints import Reply
from streams.runtime.held import Held
from streams.runtime.lag import PartitionLag
from streams.runtime.metrics import Metrics
from streams.runtime.report import WorkerGauges, paths
from tests.unit.ledger.make import result, up

NOW = datetime(2026, 6, 1, tzinfo=UTC)
LABELS = {
    "stage", "group", "topic", "partition", "code", "kind", "source", "format", "outcome", "lane", "le", "version",
}  # fmt: skip
UNITS = (
    "_pages",
    "_ratio",
    "_characters",
    "_seconds",
    "_bytes",
    "_total",
    "_info",
    "_records",
    "_documents",
    "_states",
    "_ready",
    "_in_flight",
    "_fds",
)


def answer(path: Callable[[], Awaitable[Reply]]) -> Reply:
    async def wait() -> Reply:
        return await path()

    return asyncio.run(wait())


def version(outcome: Outcome, *problems: str) -> Version:
    screening = Screening(outcome=outcome, problems=list(problems))
    opened = msgspec.structs.replace(result(up(0, "x")).document.manifest, observed_at=NOW, ingested_at=NOW)
    return Version(
        sequence=Sequence(epoch=1, offset=0),
        manifest=opened,
        valid_from=NOW,
        outcome=outcome,
        screening=screening,
        lane=Lane.LIVE,
    )


def scanned(version: Version) -> Version:
    detection = Detection(media_type="application/pdf", detected_by="signature:pdf")
    summary = CanonSummary(characters=1200, method=Method.OCR, confidence=0.75)
    return msgspec.structs.replace(version, detection=detection, summary=summary)


def exposition() -> str:
    metrics = Metrics(["share"])
    app: Any = SimpleNamespace(
        stage=SimpleNamespace(name="ledger"),
        group="canonry-ledger",
        active=2,
        not_ready=None,
        restored_in_s=0.5,
        lags=lambda: {("raw-arrived", 0): PartitionLag(3, 1.0), ("raw-arrived", 1): PartitionLag(0, None)},
    )
    held = Held()
    held.hold(0, b"share:x", "share", 5.0, "mojibake")
    held.hold(0, b"share:y", "share", 6.0, "of a later version")
    held.hold(0, b"other:x", "a source that nobody registered", 5.0, "mojibake")
    metrics.begin("ledger")
    gauges = WorkerGauges([app], {"ledger": range(7)}, held, metrics)
    metrics.registry.register(gauges)
    metrics.processed.labels("ledger").inc()
    metrics.work.labels("ledger").observe(0.2)
    metrics.dead_letters.labels("ledger", "undecodable_message").inc()
    metrics.judged("share", version(Outcome.QUARANTINED, "truncated", "no such code"))
    metrics.judged("share", scanned(version(Outcome.READY)))
    metrics.ready("share", Lane.LIVE, NOW, NOW - timedelta(seconds=4), NOW - timedelta(seconds=40))
    metrics.ready("no such source", Lane.BACKFILL, NOW, NOW + timedelta(seconds=4), None)
    body = answer(paths(metrics, gauges, lambda: None, list)["/metrics"]).body
    assert isinstance(body, bytes)
    return body.decode()


def samples() -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(exposition())
        for sample in family.samples
    }


def test_promtool_has_nothing_to_say() -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed (apt: prometheus)")
    done = subprocess.run([promtool, "check", "metrics"], input=exposition().encode(), capture_output=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, b"")


def test_names_have_prefix_unit_help_and_few_labels() -> None:
    families = list(text_string_to_metric_families(exposition()))
    assert len(families) > 15
    for family in families:
        assert family.name.startswith("canonry_"), family.name
        assert family.documentation
        assert family.type in ("counter", "gauge", "histogram")
        name = f"{family.name}_total" if family.type == "counter" else family.name
        assert name.endswith(UNITS), name
        for sample in family.samples:
            assert set(sample.labels) <= LABELS, sample
            assert "share:x" not in sample.labels.values()


def test_values() -> None:
    found = samples()

    def value(name: str, **labels: str) -> float:
        return found[name, tuple(sorted(labels.items()))]

    where = {"group": "canonry-ledger", "topic": "raw-arrived"}
    assert value("canonry_group_lag_records", partition="0", **where) == 3
    assert value("canonry_group_lag_seconds", partition="0", **where) > 1_000_000
    assert value("canonry_group_lag_seconds", partition="1", **where) == 0
    assert value("canonry_restored_states", stage="ledger") == 7
    assert value("canonry_held_documents", source="share", code="mojibake") == 1
    assert value("canonry_held_documents", source="share", code="other") == 1
    assert value("canonry_held_documents", source="other", code="mojibake") == 1
    assert value("canonry_version_problems_total", source="share", code="truncated") == 1
    assert value("canonry_version_problems_total", source="share", code="other") == 1
    assert value("canonry_versions_settled_total", source="share", outcome="quarantined", lane="live") == 1
    assert value("canonry_format_versions_settled_total", format="pdf", outcome="ready") == 1
    assert value("canonry_format_versions_settled_total", format="other", outcome="quarantined") == 1
    assert value("canonry_canon_characters_sum", format="pdf") == 1200
    assert value("canonry_recognition_confidence_ratio_bucket", le="0.8") == 1
    assert value("canonry_recognition_confidence_ratio_bucket", le="0.7") == 0
    assert value("canonry_slot_failures_total", kind="timeout") == 0
    assert value("canonry_ready_after_ingested_seconds_sum", source="share", lane="live") == 4
    assert value("canonry_ready_after_updated_seconds_sum", source="share", lane="live") == 40
    assert value("canonry_ready_after_ingested_seconds_sum", source="other", lane="backfill") == 0  # clocks differ
    assert ("canonry_ready_after_updated_seconds_sum", (("lane", "backfill"), ("source", "other"))) not in found


def test_livez_and_readyz_say_why() -> None:
    gauges = WorkerGauges([], {}, None, Metrics())
    bad = paths(Metrics(), gauges, lambda: "extract is stuck.", lambda: ["ledger restores its state.", "x"])
    assert answer(bad["/livez"]) == Reply(503, "extract is stuck.\n")
    assert answer(bad["/readyz"]) == Reply(503, "ledger restores its state.\nx\n")
    good = paths(Metrics(), gauges, lambda: None, list)
    assert (answer(good["/livez"]).status, answer(good["/readyz"]).status) == (200, 200)
