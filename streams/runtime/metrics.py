"""What a worker counts and times, under Prometheus' rules for names and units.

No label ever carries a source_id, and each has few values: stages, topics, partitions, codes, lanes, and the sources
that settings name (any other is `other`).
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

import prometheus_client
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.core import GaugeMetricFamily

from streams import __version__
from streams.extract.registry import plan
from streams.records import PROBLEMS, Lane, Method, Version

prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]

OTHER = "other"
WORK_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)
LATENCY_BUCKETS = (0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 14_400, 86_400, 604_800)
CHARACTER_BUCKETS = (0, 50, 200, 1000, 5000, 20_000, 100_000, 1_000_000)
CONFIDENCE_BUCKETS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1.0)
SLOT_FAILURES = ("crashed", "out_of_memory", "timeout")


class Metrics:
    """The metrics of one process.

    Args:
        sources: names that may stand in the label `source`.
    """

    def __init__(self, sources: Iterable[str] = ()) -> None:
        self.registry = registry = CollectorRegistry()
        self._sources = frozenset(sources)
        ProcessCollector(namespace="canonry", registry=registry)
        self.processed = Counter(
            "canonry_events_processed",
            "Events finished, whatever came of them, dead letters included.",
            ["stage"],
            registry=registry,
        )
        self.dead_letters = Counter(
            "canonry_events_dead_lettered",
            "Events that went to dead-letter, by the code of the reason.",
            ["stage", "code"],
            registry=registry,
        )
        self.work = Histogram(
            "canonry_event_duration_seconds",
            "From the start of work on an event to its confirmed outputs, waiting for slots and stores included.",
            ["stage"],
            buckets=WORK_BUCKETS,
            registry=registry,
        )
        self.commit_failures = Counter(
            "canonry_commit_failures",
            "Commits of offsets that failed; each is tried again.",
            ["stage"],
            registry=registry,
        )
        self.slot_failures = Counter(
            "canonry_slot_failures",
            "Jobs whose process died, ran out of memory or out of time; each costs one attempt of one document.",
            ["kind"],
            registry=registry,
        )
        self.settled = Counter(
            "canonry_versions_settled",
            "Judgements of document versions, by their outcome.",
            ["source", "outcome", "lane"],
            registry=registry,
        )
        self.formats = Counter(
            "canonry_format_versions_settled",
            "Judgements of document versions, by the extractor of their format and their outcome.",
            ["format", "outcome"],
            registry=registry,
        )
        self.problems = Counter(
            "canonry_version_problems",
            "Problem codes of judged document versions.",
            ["source", "code"],
            registry=registry,
        )
        self.characters = Histogram(
            "canonry_canon_characters",
            "Characters of judged canons, by the extractor of their format; a fall of the mean is lost text.",
            ["format"],
            buckets=CHARACTER_BUCKETS,
            registry=registry,
        )
        self.confidence = Histogram(
            "canonry_recognition_confidence_ratio",
            "How sure recognition was of judged canons, 0 to 1.",
            buckets=CONFIDENCE_BUCKETS,
            registry=registry,
        )
        self.since_ingested = Histogram(
            "canonry_ready_after_ingested_seconds",
            "From a document's ingestion to its first canon, quarantine included. Freshness is lane live alone.",
            ["source", "lane"],
            buckets=LATENCY_BUCKETS,
            registry=registry,
        )
        self.since_updated = Histogram(
            "canonry_ready_after_updated_seconds",
            "From a document's change at its source to its first canon, where the source tells when it changed.",
            ["source", "lane"],
            buckets=LATENCY_BUCKETS,
            registry=registry,
        )
        self.recognised = Counter(
            "canonry_recognition_pages",
            "Pages that were recognised, by the lane of their event.",
            ["lane"],
            registry=registry,
        )
        self.recognition_waiting = Gauge(
            "canonry_recognition_waiting_pages",
            "Pages of events that wait for their turn in this worker, as far as is known before they are looked at.",
            ["lane"],
            registry=registry,
        )
        for kind in SLOT_FAILURES:
            self.slot_failures.labels(kind)

    def begin(self, stage: str) -> None:
        """Shows a stage's series from the start, as zeros: a counter that appears at 1 has no increase."""
        self.processed.labels(stage)
        self.work.labels(stage)
        self.commit_failures.labels(stage)

    def source(self, name: str) -> str:
        """The value of the label for a source, which events may name as they like."""
        return name if name in self._sources else OTHER

    def judged(self, source: str, version: Version) -> None:
        """A version of a document was judged."""
        assert version.screening is not None
        known, outcome = self.source(source), version.outcome.value
        spec = plan(version.detection) if version.detection is not None else None
        format_ = spec.name if spec is not None else OTHER
        self.settled.labels(known, outcome, version.lane.value).inc()
        self.formats.labels(format_, outcome).inc()
        for code in set(version.screening.problems):
            self.problems.labels(known, code if code in PROBLEMS else OTHER).inc()
        if (summary := version.summary) is not None:
            self.characters.labels(format_).observe(summary.characters)
            if summary.method in (Method.OCR, Method.MIXED) and summary.confidence is not None:
                self.confidence.observe(summary.confidence)

    def ready(self, source: str, lane: Lane, now: datetime, ingested_at: datetime, updated_at: datetime | None) -> None:
        """A version of a document became ready for the first time."""
        labels = (self.source(source), lane.value)
        self.since_ingested.labels(*labels).observe(max(0.0, (now - ingested_at).total_seconds()))
        if updated_at is not None:
            self.since_updated.labels(*labels).observe(max(0.0, (now - updated_at).total_seconds()))


def gauge(name: str, text: str, labels: Iterable[str] = ()) -> GaugeMetricFamily:
    """A gauge whose samples are made when they are asked for."""
    return GaugeMetricFamily(name, text, labels=list(labels))


def build_info() -> GaugeMetricFamily:
    """Which version runs; always 1."""
    family = gauge("canonry_build_info", "The version of Canonry that runs; always 1.", ["version"])
    family.add_metric([__version__], 1)
    return family
