"""The quarantine as a queue: what is held, in groups, what a person needs to decide, and the decisions themselves.

For the command line and for pages alike. Questions are answered by the catalog and are plain calls; what is published
and waited for is awaited.

    with Catalog(settings) as catalog:
        rows = listed(catalog, HeldFilter(code="mojibake"), limit=50)   # Held; the next page: after=(held_since, id)
        rows = [row for row in held(catalog, HeldFilter()) if …]        # all of them, page by page
        found = groups(catalog, HeldFilter(source="share"))             # GroupRow by (code, tool, version, format)
        case = show(settings, catalog, rows[0].source_id)               # everything about one document
        choice = Choice(kind=DecisionKind.ACCEPT, actor="eva", reason="read it, it is fine")
        plan = plan_decisions(settings, catalog, choice, rows)          # `streams.ops.quarantine_plan`: what would be
        plan = plan_undo(catalog, choice, DecidedFilter(batch=…))       # decided, and what would not; taken back
    await publish(settings, broker, plan.decisions)                     # events; the ledger carries them out
    async with waiter(settings, note) as waiting:
        outcomes = await waiting.outcomes(plan.decisions, timeout_s)    # `streams.ops.quarantine_wait`

Decisions of one plan share a batch, by which they can be undone together. A decision is about one version: where a
newer one arrives meanwhile, the ledger refuses it. What is decided already is not decided again: a document that is not
held any more is none of a filter's, work is not asked for twice with the same reason, and what is under way
(`streams.ops.quarantine_under_way`) counts as decided.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec

from streams.consumers.catalog import Catalog
from streams.consumers.catalog_quarantine import (
    DecidedFilter,
    DecisionRow,
    Group,
    GroupRow,
    HeldFilter,
    all_held,
    count_held,
    decisions_of,
    held_groups,
    held_rows,
)
from streams.consumers.catalog_quarantine_numbers import Day, Share, held_per_day, held_shares
from streams.consumers.catalog_rows import Counts, DocumentRow, Held
from streams.errors import NotFound
from streams.ledger.decisions import can_be_recognised
from streams.ops.lookup import canon_of
from streams.ops.quarantine_plan import (
    VERDICTS,
    WORK,
    Choice,
    Plan,
    Planned,
    decided_rows,
    plan_decisions,
    plan_undo,
    publish,
    required_tool,
    tools_for,
    unfit,
)
from streams.ops.quarantine_scores import Score, scored
from streams.screen.policy import load_policy
from streams.settings import Settings

__all__ = [
    "VERDICTS",
    "WORK",
    "Case",
    "Choice",
    "DecidedFilter",
    "Group",
    "GroupRow",
    "Held",
    "HeldFilter",
    "Plan",
    "Planned",
    "Statistics",
    "count",
    "decided_rows",
    "groups",
    "held",
    "listed",
    "plan_decisions",
    "plan_undo",
    "publish",
    "required_tool",
    "show",
    "statistics",
    "tools_for",
    "unfit",
]

MOST_PAGES = 5
"""Pages that are shown of a document, those with the worst scores."""

PREVIEW_CHARACTERS = 2000


# --- what is held -----------------------------------------------------------------------------------------------------


def listed(
    catalog: Catalog, wanted: HeldFilter, limit: int = 100, after: tuple[datetime, str] | None = None
) -> list[Held]:
    """Held documents, the longest held first.

    Args:
        after: (held_since, source_id) of the last one of the page before.
    """
    with catalog.reading() as connection:
        return held_rows(connection, wanted, limit, after)


def held(catalog: Catalog, wanted: HeldFilter) -> Iterator[Held]:
    """All of them, the longest held first, a page at a time."""
    with catalog.reading() as connection:
        yield from all_held(connection, wanted)


def count(catalog: Catalog, wanted: HeldFilter) -> int:
    """How many there are."""
    with catalog.reading() as connection:
        return count_held(connection, wanted)


def groups(catalog: Catalog, wanted: HeldFilter) -> list[GroupRow]:
    """Held documents by code, extractor, version and format; the largest group first."""
    with catalog.reading() as connection:
        return held_groups(connection, wanted)


class Statistics(msgspec.Struct, frozen=True, kw_only=True):
    """The quarantine in numbers."""

    held: int
    living: int
    oldest: datetime | None
    overdue: int
    unassigned: int
    shares: list[Share]
    days: list[Day]


def statistics(
    catalog: Catalog, by: str, days: int, now: datetime | None = None, counts: Counts | None = None
) -> Statistics:
    """The numbers of the quarantine.

    Args:
        by: one of `streams.consumers.catalog_quarantine_numbers.DIMENSIONS`.
        days: of the trend; each is 24 hours, and the last one ends now.
        counts: of all sources, where they are known already.
    """
    now = now or datetime.now(UTC)
    counts = counts or catalog.counts()
    with catalog.reading() as connection:
        return Statistics(
            held=counts.held,
            living=counts.live,
            oldest=counts.oldest_held,
            overdue=count_held(connection, HeldFilter(overdue_at=now)),
            unassigned=count_held(connection, HeldFilter(unassigned=True)),
            shares=held_shares(connection, by),
            days=held_per_day(connection, now, days),
        )


# --- one document -----------------------------------------------------------------------------------------------------


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """One page in numbers."""

    number: int
    scores: list[Score]


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """Everything about one document that a person needs to decide on it."""

    document: DocumentRow
    held: Held | None  # None: it is not held (any more)
    policy: str  # that judged
    limits_of: str  # the policy whose limits stand beside the scores; another one where the file was changed since
    scores: list[Score]
    pages: list[Page]  # those with the worst scores
    attempts: list[dict[str, Any]]  # judgements of the version, see `catalog_tables`; the one that counts is the last
    decisions: list[DecisionRow]  # about this version, in the order in which they were carried out
    text: str | None  # how the text begins; None: there is none
    text_complete: bool
    tools: list[str]  # extractors that could be asked
    recognizable: bool


def show(settings: Settings, catalog: Catalog, source_id: str, *, preview: bool = True) -> Case:
    """Everything about one document.

    Args:
        preview: whether to read how the text begins.

    Raises:
        NotFound: the catalog does not know it.
        BlobStoreUnavailable: the text can't be read now.
    """
    story = catalog.document(source_id)
    row = story.document
    found = next(iter(listed(catalog, HeldFilter(ids=[source_id]), 1)), None)
    place = (row.current_epoch, row.current_offset)
    version = next((v for v in story.versions if (v["epoch"], v["offset"]) == place), None)
    policy = load_policy(settings)
    limits = policy.thresholds(media_type=row.media_type or "", language=row.language, source=row.source)
    scores = found.scores if found is not None else (version or {}).get("scores") or {}
    pages = [
        Page(number=page["number"], scores=scored(page["scores"], limits, of_page=True))
        for page in (story.held or {}).get("pages") or []
    ]
    pages.sort(key=lambda page: (-sum(score.fired for score in page.scores), page.number))
    text, complete = _text(settings, catalog, row) if preview else (None, False)
    with catalog.reading() as connection:
        made = decisions_of(connection, [source_id]).get(source_id, [])
    return Case(
        document=row,
        held=found,
        policy=(version or {}).get("policy") or "",
        limits_of=policy.id,
        scores=scored(scores, limits),
        pages=pages[:MOST_PAGES],
        attempts=(version or {}).get("judgements") or [],
        decisions=made,
        text=text,
        text_complete=complete,
        tools=tools_for(settings, row.media_type) if row.media_type else [],
        recognizable=row.media_type is not None and can_be_recognised(row.media_type),
    )


def _text(settings: Settings, catalog: Catalog, row: DocumentRow) -> tuple[str | None, bool]:
    from streams.errors import BlobCorrupt, BlobNotFound
    from streams.extract.render import to_text

    try:
        body, _ = canon_of(settings, catalog, row)
    except NotFound:
        return None, True
    except (BlobCorrupt, BlobNotFound) as error:
        return f"The stored text can't be used: {error}", False
    text = to_text(body)
    return text[:PREVIEW_CHARACTERS], len(text) <= PREVIEW_CHARACTERS
