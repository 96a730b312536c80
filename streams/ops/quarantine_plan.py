"""What a decision about held documents would publish, what it would not and why, and the publishing itself.

A plan is made from the catalog and from what is under way beyond it (`streams.ops.quarantine_under_way`), so that
planning the same again plans nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import msgspec

from streams.consumers.catalog import Catalog
from streams.consumers.catalog_quarantine import DecidedFilter, DecisionRow, batch_of, decided, decisions_of
from streams.consumers.catalog_rows import DocumentRow, Held
from streams.errors import UsageError
from streams.extract.registry import EXTRACTORS, ExtractorSpec, named, plan
from streams.ledger.decisions import NO_TEXT, can_be_recognised
from streams.log.publisher import Publisher
from streams.ops.quarantine_under_way import UnderWay
from streams.records import Decision, DecisionKind, Detection
from streams.records import Sequence as Place
from streams.screen.policy import load_policy
from streams.settings import Settings

VERDICTS = (DecisionKind.ACCEPT, DecisionKind.SKIP)
WORK = (DecisionKind.RE_EXTRACT, DecisionKind.RECOGNIZE)

_CONFLICT = "version_conflict"


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """What is decided, by whom and why."""

    kind: DecisionKind
    actor: str
    reason: str
    tool: str | None = None  # of a re-extraction; None: the format's own extractor


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


def decided_rows(catalog: Catalog, wanted: DecidedFilter) -> list[DecisionRow]:
    """Decisions about the current versions of living documents; of each document the newest last."""
    with catalog.reading() as connection:
        return decided(connection, wanted)


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
    settings: Settings,
    catalog: Catalog,
    choice: Choice,
    rows: Sequence[Held],
    now: datetime | None = None,
    under_way: UnderWay | None = None,
) -> Plan:
    """What deciding this of held documents would publish.

    Args:
        under_way: what is decided already and stands in no catalog.

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
        place = Place(epoch=row.epoch, offset=row.offset)
        waiting = [each for each in (under_way or {}).get(row.source_id, ()) if each.sequence == place]
        why = unfit(settings, choice, row)
        if why is not None:
            refused[row.path] = why
        elif (verdict := _standing(waiting)) is not None and verdict.kind is not choice.kind:
            refused[row.path] = f"{verdict.actor} has decided to {verdict.kind.value} it, and that is under way"
        elif verdict is not None or any(_is_asked_for(choice, old) for old in (*made.get(row.source_id, ()), *waiting)):
            already.append(row.path)
        elif (document := documents.get(row.source_id)) is not None:
            decision = _decision(choice, row.source_id, row.epoch, row.offset, decided_at)
            planned.append(
                Planned(decision=decision, partition=document.partition, path=row.path, problems=row.problems)
            )
    return Plan(batch=_batch(choice, decided_at), decisions=planned, already=already, refused=refused)


class _Verdict(NamedTuple):
    """Accepting, skipping or taking back, wherever it is known from."""

    kind: str
    epoch: int
    offset: int
    meant: bool


def plan_undo(
    catalog: Catalog,
    choice: Choice,
    wanted: DecidedFilter,
    now: datetime | None = None,
    under_way: UnderWay | None = None,
) -> Plan:
    """What taking back would publish: accepting and skipping that still stand. What was asked to be done is done.

    Args:
        choice: of the kind UNDO.
        under_way: what is decided already and stands in no catalog; the ledger does it first, and takes it back then.
    """
    waiting = under_way or {}
    with catalog.reading() as connection:
        meant = {(row.source_id, row.number) for row in decided(connection, wanted)}
        made = decisions_of(connection, sorted({*waiting, *(source_id for source_id, _ in meant)}))
    rows = catalog.rows(sorted({*waiting, *made}))
    decided_at = _moment(now)
    planned: list[Planned] = []
    already: list[str] = []
    for source_id, row in rows.items():
        verdicts = [
            _Verdict(each.kind, each.epoch, each.offset, (source_id, each.number) in meant)
            for each in made.get(source_id, ())
        ] + [
            _Verdict(each.kind.value, each.sequence.epoch, each.sequence.offset, _fits(wanted, each, row))
            for each in waiting.get(source_id, ())
        ]
        verdicts = [each for each in verdicts if each.kind in (*VERDICTS, DecisionKind.UNDO)]
        if not any(each.meant and each.kind in VERDICTS for each in verdicts):
            continue
        last = verdicts[-1]
        if last.kind == DecisionKind.UNDO or not last.meant:
            already.append(row.path)
            continue
        decision = _decision(choice, source_id, last.epoch, last.offset, decided_at)
        planned.append(Planned(decision=decision, partition=row.partition, path=row.path, problems=row.problems))
    return Plan(batch=_batch(choice, decided_at), decisions=planned, already=already)


def _standing(decisions: Sequence[Decision]) -> Decision | None:
    """The last one that accepts or skips, where nobody has taken it back."""
    last = next((each for each in reversed(decisions) if each.kind in (*VERDICTS, DecisionKind.UNDO)), None)
    return None if last is None or last.kind is DecisionKind.UNDO else last


def _fits(wanted: DecidedFilter, made: Decision, row: DocumentRow) -> bool:
    """Whether the filter means this decision; as `streams.consumers.catalog_quarantine.decided` asks the catalog."""
    group = wanted.group
    return (
        (wanted.ids is None or made.source_id in wanted.ids)
        and wanted.batch in (None, batch_of(made))
        and wanted.actor in (None, made.actor)
        and wanted.reason in (None, made.reason)
        and (wanted.since is None or made.decided_at >= wanted.since)
        and wanted.source in (None, row.source)
        and (
            group is None
            or (
                group.code in row.problems
                and (group.tool, group.version, group.media_type)
                == (row.extractor, row.extractor_version, row.media_type)
            )
        )
    )


def unfit(settings: Settings, choice: Choice, row: Held) -> str | None:
    """Why this can't be decided of a held document; None when it can."""
    if choice.kind in VERDICTS:
        no_text = row.payload_key is None or NO_TEXT in row.problems
        if choice.kind is DecisionKind.ACCEPT and no_text and _CONFLICT not in row.problems:
            return "there is no text to accept"
        return None
    if row.content_hash is None:
        return f"there are no bytes of it ({row.error or ', '.join(row.problems)})"
    if row.media_type is None:
        return "nobody has found out what its bytes are"
    if choice.kind is DecisionKind.RECOGNIZE:
        if not can_be_recognised(row.media_type):
            return f"{row.media_type} has no pages that could be recognised"
        if row.payload_key is None:
            return f"no extractor could open it ({row.error or ', '.join(row.problems)})"
        return None
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


def _is_asked_for(choice: Choice, made: DecisionRow | Decision) -> bool:
    """Whether this work was asked for. Verdicts can be taken back, so they count as long as they stand."""
    return choice.kind in WORK and (choice.kind, choice.tool, choice.reason) == (made.kind, made.tool, made.reason)


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
