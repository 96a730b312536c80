"""The quarantine as a queue: what is held, in groups, what a person needs to decide, and the decisions themselves.

For the command line and for pages alike. Questions are answered by the catalog and are plain calls; what is published
and waited for is awaited.

    with Catalog(settings) as catalog:
        rows = listed(catalog, HeldFilter(code="mojibake"), limit=50)   # Held; the next page: after=(held_since, id)
        rows = [row for row in held(catalog, HeldFilter()) if …]        # all of them, page by page
        found = groups(catalog, HeldFilter(source="share"))             # GroupRow by (code, tool, version, format)
        case = show(settings, catalog, rows[0].source_id)               # everything about one document
        choice = Choice(kind=DecisionKind.ACCEPT, actor="eva", reason="read it, it is fine")
        plan = plan_decisions(settings, catalog, choice, rows)          # what would be decided, and what would not
        plan = plan_undo(catalog, choice, DecidedFilter(batch=…))       # the same for taking back
    await publish(settings, broker, plan.decisions)                     # events; the ledger carries them out
    async with waiter(settings, note) as waiting:
        outcomes = await waiting.outcomes(plan.decisions, timeout_s)    # `streams.ops.quarantine_wait`

Decisions of one plan share a batch, by which they can be undone together. A decision is about one version: where a
newer one arrives meanwhile, the ledger refuses it. What is decided already is not decided again: a document that is not
held any more is none of a filter's, and work is not asked for twice with the same reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from streams.consumers.catalog import Catalog
from streams.consumers.catalog_quarantine import (
    Day,
    DecidedFilter,
    DecisionRow,
    Group,
    GroupRow,
    HeldFilter,
    Share,
    all_held,
    batch_of,
    count_held,
    decided,
    decisions_of,
    held_groups,
    held_per_day,
    held_rows,
    held_shares,
)
from streams.consumers.catalog_rows import DocumentRow, Held
from streams.errors import NotFound, UsageError
from streams.extract.registry import EXTRACTORS, ExtractorSpec, named, plan
from streams.ledger.decisions import can_be_recognised
from streams.log.publisher import Publisher
from streams.ops.lookup import canon_of
from streams.ops.quarantine_scores import Score, scored
from streams.records import Decision, DecisionKind, Detection
from streams.records import Sequence as Place
from streams.screen.policy import load_policy
from streams.settings import Settings

__all__ = [
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
    "show",
    "statistics",
]

MOST_PAGES = 5
"""Pages that are shown of a document, those with the worst scores."""

PREVIEW_CHARACTERS = 2000

VERDICTS = (DecisionKind.ACCEPT, DecisionKind.SKIP)
WORK = (DecisionKind.RE_EXTRACT, DecisionKind.RECOGNIZE)

_CONFLICT = "version_conflict"


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


def statistics(catalog: Catalog, by: str, days: int, now: datetime | None = None) -> Statistics:
    """The numbers of the quarantine.

    Args:
        by: one of `streams.consumers.catalog_quarantine.DIMENSIONS`.
        days: of the trend; each is 24 hours, and the last one ends now.
    """
    now = now or datetime.now(UTC)
    counts = catalog.counts()
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


# --- deciding ---------------------------------------------------------------------------------------------------------


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """What is decided, by whom and why."""

    kind: DecisionKind
    actor: str
    reason: str
    tool: str | None = None  # of a re-extraction; None: the format's own extractor


def decided_rows(catalog: Catalog, wanted: DecidedFilter) -> list[DecisionRow]:
    """Decisions about the current versions of living documents; of each document the newest last."""
    with catalog.reading() as connection:
        return decided(connection, wanted)


class Planned(msgspec.Struct, frozen=True, kw_only=True):
    """One decision that would be published."""

    decision: Decision
    partition: int
    path: str
    problems: list[str]  # for which the document is held


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What would be decided, and of which documents nothing would, with the reason."""

    batch: str
    decisions: list[Planned] = []
    already: list[str] = []  # paths of documents about which this is decided already
    refused: dict[str, str] = {}  # path, and why it does not fit


def tools_for(settings: Settings, media_type: str) -> list[str]:
    """Names of the extractors that can read this format, its own first."""
    own = plan(Detection(media_type=media_type, detected_by=""))
    meant = {media_type, media_type.partition("/")[0] + "/*"}
    forks = [fork for fork in load_policy(settings).forks if not fork.formats or meant.intersection(fork.formats)]
    asked = {tool for fork in forks for tool in fork.tools}
    found = [
        spec.name
        for spec in EXTRACTORS
        if spec != own
        and (
            spec.name in asked
            or (own is not None and not spec.media_types and spec.name.startswith(f"{own.name}_"))
            or (_is_textual(media_type) and any(map(_is_textual, spec.media_types)))
        )
    ]
    return [own.name, *found] if own is not None else found


def _is_textual(media_type: str) -> bool:
    """Whether the bytes are a text: it may have been taken for another kind of text than it is."""
    return media_type.startswith("text/") or media_type.endswith(("json", "xml"))


def required_tool(choice: Choice) -> ExtractorSpec | None:
    """The extractor that a choice names. Raises UsageError when there is none of this name."""
    if choice.kind is not DecisionKind.RE_EXTRACT or choice.tool is None:
        return None
    spec = named(choice.tool)
    if spec is None:
        raise UsageError(
            f"No extractor is called {choice.tool!r}.",
            remedy=f"Take one of {', '.join(sorted(each.name for each in EXTRACTORS))}.",
        )
    return spec


def plan_decisions(
    settings: Settings, catalog: Catalog, choice: Choice, rows: Sequence[Held], now: datetime | None = None
) -> Plan:
    """What deciding this of held documents would publish.

    Raises:
        UsageError: no extractor is called so, or recognition is switched off.
    """
    required_tool(choice)
    if choice.kind is DecisionKind.RECOGNIZE and not settings.recognition.enabled:
        raise UsageError("Recognition is switched off.", remedy="Set recognition.enabled, and restart the workers.")
    ids = [row.source_id for row in rows]
    with catalog.reading() as connection:
        made = decisions_of(connection, ids) if choice.kind in WORK else {}
    documents = catalog.rows(ids)
    decided_at = _moment(now)
    planned: list[Planned] = []
    already: list[str] = []
    refused: dict[str, str] = {}
    for row in rows:
        why = unfit(settings, choice, row)
        if why is not None:
            refused[row.path] = why
        elif any(_is_same(choice, old) for old in made.get(row.source_id, ())):
            already.append(row.path)
        elif (document := documents.get(row.source_id)) is not None:
            decision = _decision(choice, row.source_id, row.epoch, row.offset, decided_at)
            planned.append(
                Planned(decision=decision, partition=document.partition, path=row.path, problems=row.problems)
            )
    return Plan(batch=_batch(choice, decided_at), decisions=planned, already=already, refused=refused)


def plan_undo(catalog: Catalog, choice: Choice, wanted: DecidedFilter, now: datetime | None = None) -> Plan:
    """What taking back would publish: accepting and skipping that still stand. What was asked to be done is done.

    Args:
        choice: of the kind UNDO.
    """
    with catalog.reading() as connection:
        meant = {(row.source_id, row.number) for row in decided(connection, wanted)}
        made = decisions_of(connection, sorted({source_id for source_id, _ in meant}))
    decided_at = _moment(now)
    planned: list[Planned] = []
    already: list[str] = []
    rows = catalog.rows(list(made))
    for source_id, of_document in made.items():
        row = rows[source_id]
        verdicts = [each for each in of_document if each.kind in (*VERDICTS, DecisionKind.UNDO)]
        if not any((each.source_id, each.number) in meant and each.kind in VERDICTS for each in of_document):
            continue
        last = verdicts[-1]
        if last.kind == DecisionKind.UNDO or (source_id, last.number) not in meant:
            already.append(row.path)
            continue
        decision = _decision(choice, source_id, last.epoch, last.offset, decided_at)
        planned.append(Planned(decision=decision, partition=row.partition, path=row.path, problems=row.problems))
    return Plan(batch=_batch(choice, decided_at), decisions=planned, already=already)


def unfit(settings: Settings, choice: Choice, row: Held) -> str | None:
    """Why this can't be decided of a held document; None when it can."""
    if choice.kind in VERDICTS:
        if choice.kind is DecisionKind.ACCEPT and row.payload_key is None and _CONFLICT not in row.problems:
            return "there is no text to accept"
        return None
    if row.content_hash is None:
        return "its source never delivered the bytes"
    if row.media_type is None:
        return "nobody has found out what its bytes are"
    if choice.kind is DecisionKind.RECOGNIZE:
        if not can_be_recognised(row.media_type):
            return f"{row.media_type} has no pages that could be recognised"
        return None if row.payload_key is not None else "no extractor could open it"
    readers = tools_for(settings, row.media_type)
    if not readers:
        return f"no extractor reads {row.media_type}"
    if choice.tool is not None and choice.tool not in readers:
        return f"{choice.tool} does not read {row.media_type}; {', '.join(readers)} may"
    return None


async def publish(settings: Settings, broker: str, decisions: Iterable[Planned]) -> int:
    """Publishes decisions, each confirmed: how many. Those that were published before may be published again.

    Raises:
        BrokerUnavailable: not all are confirmed; the plan can be made and published anew.
    """
    number = 0
    async with Publisher(settings, broker, name="quarantine") as publisher:
        for planned in decisions:
            await publisher.decide(planned.decision, planned.partition)
            number += 1
    return number


def _is_same(choice: Choice, made: DecisionRow) -> bool:
    return (choice.kind.value, choice.tool, choice.reason) == (made.kind, made.tool, made.reason)


def _decision(choice: Choice, source_id: str, epoch: int, offset: int, at: datetime) -> Decision:
    return Decision(
        source_id=source_id,
        sequence=Place(epoch=epoch, offset=offset),
        kind=choice.kind,
        tool=choice.tool,
        actor=choice.actor,
        reason=choice.reason,
        decided_at=at,
    )


def _batch(choice: Choice, at: datetime) -> str:
    return batch_of(_decision(choice, "", 0, 0, at))


def _moment(now: datetime | None) -> datetime:
    """Whole milliseconds, which every database keeps, so that a batch has one name everywhere."""
    now = now or datetime.now(UTC)
    return now.replace(microsecond=now.microsecond // 1000 * 1000)
