"""Each source's freshness against its promise (`slo_s`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from enum import StrEnum

import msgspec

from streams.consumers.catalog_rows import Latency, SourceFreshness
from streams.consumers.reader import consumer_group
from streams.ops.lag import GroupLag
from streams.records import Lane
from streams.settings import Settings, SourceSettings
from streams.topology import group_id

UNREGISTERED = SourceSettings()


class Promise(StrEnum):
    """Whether a source keeps its promise."""

    NONE = "no slo"
    KEPT = "ok"
    BROKEN = "late"


class SourceStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One source: what waits, since when, how long it takes, and why that is late, if it is."""

    source: str
    slo_s: float | None
    state: Promise
    why: list[str]
    unsettled: int
    oldest_unsettled_s: float
    held: int
    oldest_held_s: float
    latency: dict[str, Latency]


def source_status(
    settings: Settings, known: Iterable[SourceFreshness], lag: Sequence[GroupLag] | None, now: datetime
) -> list[SourceStatus]:
    """Of all sources that are registered or have documents.

    Args:
        lag: of the groups, because what the ledger or the catalog has not read yet is in no source's figures; None when
            it could not be had.
    """
    by_name = {each.source: each for each in known}
    names = sorted({*by_name, *settings.sources})
    return [
        _status(
            settings.sources.get(name, UNREGISTERED).slo_s,
            by_name.get(name)
            or SourceFreshness(source=name, unsettled=0, oldest_unsettled=None, held=0, oldest_held=None, latency={}),
            _unread(settings, lag),
            now,
        )
        for name in names
    ]


def _unread(settings: Settings, lag: Sequence[GroupLag] | None) -> dict[str, float] | None:
    """How far the two are behind on whose word the figures rest."""
    if lag is None:
        return None
    prefix = settings.kafka.topic_prefix
    words = {group_id("ledger", prefix): "ledger", consumer_group("catalog", prefix): "catalog"}
    return {words[group.group]: group.seconds for group in lag if group.group in words}


def _status(slo_s: float | None, of: SourceFreshness, unread: dict[str, float] | None, now: datetime) -> SourceStatus:
    unsettled_s, held_s = _age(of.oldest_unsettled, now), _age(of.oldest_held, now)
    why = []
    if slo_s is not None:
        if unsettled_s > slo_s:
            why.append(f"a document waits for its outcome since {unsettled_s:.0f} s")
        if held_s > slo_s:
            why.append(f"a document is held since {held_s:.0f} s")
        live = of.latency.get(Lane.LIVE.value)
        if live is not None and live.p95_s > slo_s:
            why.append(f"of the last {live.documents} documents, 5 % took {live.p95_s:.0f} s or longer")
        if unread is None:
            why.append("the log does not answer, so nobody knows what arrived")
        for name, seconds in (unread or {}).items():
            if seconds > slo_s:
                why.append(f"the {name} is {seconds:.0f} s behind: what arrived since is not in these figures")
    return SourceStatus(
        source=of.source,
        slo_s=slo_s,
        state=Promise.NONE if slo_s is None else Promise.BROKEN if why else Promise.KEPT,
        why=why,
        unsettled=of.unsettled,
        oldest_unsettled_s=round(unsettled_s, 3),
        held=of.held,
        oldest_held_s=round(held_s, 3),
        latency=of.latency,
    )


def _age(since: datetime | None, now: datetime) -> float:
    return max(0.0, (now - since).total_seconds()) if since is not None else 0.0
