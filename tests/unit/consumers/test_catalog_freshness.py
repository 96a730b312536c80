"""How fresh a source is, from what the ledger dated."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from streams.consumers.catalog_rows import SourceFreshness
from streams.ops.lag import GroupLag, State
from streams.ops.sources import Promise, source_status
from streams.records import Lane, Outcome, Status, Version
from streams.settings import Settings, SourceSettings
from tests.unit.consumers.conftest import Applied
from tests.unit.consumers.make import NOW, state, version


def ingested(offset: int) -> datetime:
    return NOW + timedelta(seconds=offset)


def ready(offset: int, seconds: float, lane: Lane = Lane.LIVE) -> Version:
    return version(offset, lane=lane, ready_at=ingested(offset) + timedelta(seconds=seconds))


def pending(offset: int, lane: Lane = Lane.LIVE) -> Version:
    return version(offset, Outcome.PENDING, lane=lane)


async def test_latency_by_lane_of_those_that_became_ready_last(apply: Applied) -> None:
    apply(*[("versions", f"s:{n}", state(str(n), ready(n, seconds=n))) for n in range(1, 101)])
    apply(("versions", "s:new", state("new", ready(500, 3000.0, Lane.BACKFILL))))
    apply(("versions", "s:old", state("old", ready(501, 0, Lane.REPLAY))))
    (found,) = apply.catalog.freshness()
    assert (found.latency["live"].documents, found.latency["live"].p50_s, found.latency["live"].p95_s) == (100, 50, 95)
    assert (found.latency["backfill"].documents, found.latency["backfill"].p95_s) == (1, 3000)
    (few,) = apply.catalog.freshness(last=10)
    assert (few.latency["live"].documents, few.latency["live"].p50_s) == (10, 95)  # the last ten took 91 to 100 s
    assert few.latency["live"].until == ingested(100) + timedelta(seconds=100)


async def test_what_waits_and_what_is_held_counts_from_its_ingestion(apply: Applied) -> None:
    apply(
        ("versions", "s:a", state("a", ready(1, 1), pending(20))),  # an update that waits
        ("versions", "s:b", state("b", pending(10))),
        ("versions", "s:c", state("c", pending(2, Lane.BACKFILL))),
        ("versions", "s:d", state("d", pending(3), status=Status.DELETED)),
        ("versions", "s:e", state("e", version(5, Outcome.QUARANTINED, lane=Lane.LIVE))),
        ("versions", "s:f", state("f", version(4, Outcome.SKIPPED, lane=Lane.LIVE))),
        ("versions", "t:x", state("x", ready(7, 1), source_id="t:x", source="t")),
    )
    first, other = apply.catalog.freshness()
    assert (first.source, first.unsettled, first.oldest_unsettled) == ("s", 2, ingested(10))
    assert (first.held, first.oldest_held) == (1, ingested(5))
    assert first.latency == {}  # the update of `a` is not ready, and its old version says nothing of now
    assert (other.source, other.unsettled, other.held) == ("t", 0, 0)


SETTINGS = Settings(sources={"s": SourceSettings(slo_s=60), "quiet": SourceSettings(slo_s=60)})


def group(name: str, seconds: float) -> GroupLag:
    return GroupLag(
        group=name,
        topics=[],
        records=1,
        seconds=seconds,
        state=State.BEHIND,
        limit_s=60,
        members=1,
        kafka_state="Stable",
        started=True,
        partitions=[],
    )


def judged(lag: list[GroupLag] | None = None, **fields: Any) -> tuple[Promise, list[str]]:
    none: dict[str, Any] = {"unsettled": 0, "oldest_unsettled": None, "held": 0, "oldest_held": None, "latency": {}}
    known = SourceFreshness(**{"source": "s", **none, **fields})
    _, found = source_status(SETTINGS, [known], [] if lag is None else lag, NOW)
    return found.state, found.why


def test_a_source_is_late_by_the_age_of_what_waits_or_is_held() -> None:
    assert judged() == (Promise.KEPT, [])
    assert judged(unsettled=1, oldest_unsettled=NOW - timedelta(seconds=59))[0] is Promise.KEPT
    assert judged(unsettled=1, oldest_unsettled=NOW - timedelta(seconds=61))[0] is Promise.BROKEN
    state, why = judged(held=1, oldest_held=NOW - timedelta(seconds=61))
    assert (state, why) == (Promise.BROKEN, ["a document is held since 61 s"])


def test_what_nobody_knows_is_not_called_fresh() -> None:
    assert judged([group("canonry-ledger", 61)])[0] is Promise.BROKEN
    assert judged([group("canonry-consumer-catalog", 61)])[0] is Promise.BROKEN
    assert judged([group("canonry-extract", 61)])[0] is Promise.KEPT  # what waits there is known as unsettled
    (quiet,) = source_status(SETTINGS.model_copy(update={"sources": {"q": SourceSettings(slo_s=60)}}), [], None, NOW)
    assert quiet.state is Promise.BROKEN
    assert "does not answer" in quiet.why[0]


async def test_a_replay_and_a_backfill_make_no_source_fresh_or_late(apply: Applied) -> None:
    apply(("versions", "s:stuck", state("stuck", pending(0))))
    later = NOW + timedelta(seconds=100)

    def now() -> tuple[Promise, list[str]]:
        found = {each.source: each for each in source_status(SETTINGS, apply.catalog.freshness(), [], later)}
        return found["s"].state, found["s"].why

    before = now()
    assert before[0] is Promise.BROKEN
    apply(*[("versions", f"s:{n}", state(str(n), ready(n, 0.1, Lane.REPLAY))) for n in range(1, 50)])
    apply(*[("versions", f"s:b{n}", state(f"b{n}", ready(n, 9999, Lane.BACKFILL))) for n in range(1, 50)])
    assert now() == before
    apply(("versions", "s:stuck", state("stuck", ready(0, 50))))
    assert now() == (Promise.KEPT, [])
