"""The catalog's answers about the quarantine: which documents are held, in which groups, and what was decided of which.

A group is what one fault is likely to have in common: a problem code, the extractor and its version, and the format. A
document with two codes is in two groups.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator
from datetime import datetime
from typing import Any

import msgspec
import sqlalchemy as sa

from streams.consumers import catalog_tables as t
from streams.consumers.catalog_rows import Held
from streams.records import Decided, Decision, DecisionKind

EXAMPLES = 3
"""Paths that are shown of a group."""

NONE = "-"
"""Stands in a group's name for what is not known: no extractor has worked on it, or nobody knows its format."""

_PAGE = 500


class Group(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """What held documents of one group have in common."""

    code: str
    tool: str | None
    version: str | None
    media_type: str | None

    @property
    def id(self) -> str:
        """Its name, as `--group` takes it: CODE:TOOL:VERSION:FORMAT."""
        return ":".join(part or NONE for part in (self.code, self.tool, self.version, self.media_type))

    @staticmethod
    def parse(name: str) -> Group:
        """The group of this name. Raises ValueError."""
        parts = name.split(":")
        if len(parts) < 4 or not parts[0]:
            raise ValueError(f"{name!r} is no group: a group is CODE:TOOL:VERSION:FORMAT, with - for what is unknown.")
        code, tool, *version, media_type = parts
        known = [None if part == NONE else part for part in (tool, ":".join(version), media_type)]
        return Group(code=code, tool=known[0], version=known[1], media_type=known[2])


class HeldFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which held documents are meant: those for which all that is said here is true."""

    ids: list[str] | None = None  # source_ids
    code: str | None = None
    media_type: str | None = None
    tool: str | None = None  # name of the extractor that counts
    version: str | None = None  # of that extractor
    source: str | None = None
    owner: str | None = None
    unassigned: bool = False  # nobody owns them
    held_before: datetime | None = None
    overdue_at: datetime | None = None  # their deadline was before this moment
    group: Group | None = None

    @property
    def is_empty(self) -> bool:
        """Whether everything that is held is meant."""
        return self == HeldFilter()


class GroupRow(msgspec.Struct, frozen=True, kw_only=True):
    """A group in numbers."""

    group: Group
    count: int
    oldest: datetime  # held since
    next_deadline: datetime | None
    examples: list[str]  # paths, those held longest


class DecisionRow(msgspec.Struct, frozen=True, kw_only=True):
    """One decision about one version."""

    source_id: str
    epoch: int
    offset: int
    number: int
    kind: str
    tool: str | None
    actor: str
    reason: str
    decided_at: datetime
    carried_out_at: datetime | None
    answered_at: datetime | None
    batch: str


class DecidedFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which decisions are meant: those for which all that is said here is true."""

    ids: list[str] | None = None
    batch: str | None = None
    actor: str | None = None
    reason: str | None = None
    since: datetime | None = None
    source: str | None = None
    group: Group | None = None  # in which the document was, or is


def batch_of(made: Decision | Decided) -> str:
    """Names all decisions that were made in one go: one thing, by one person, at one time, for one reason."""
    said = (made.kind.value, made.tool, made.actor, made.reason, made.decided_at.timestamp())
    return hashlib.sha256(msgspec.json.encode(said)).hexdigest()[:10]


def held_rows(
    connection: sa.Connection, wanted: HeldFilter, limit: int, after: tuple[datetime, str] | None = None
) -> list[Held]:
    """Held documents, the longest held first.

    Args:
        after: (held_since, source_id) of the last one of the page before.
    """
    column = t.quarantine.c
    query = sa.select(*[column[name] for name in Held.__struct_fields__]).where(*_conditions(wanted))
    if after is not None:
        since, source_id = after
        query = query.where(
            sa.or_(column.held_since > since, sa.and_(column.held_since == since, column.source_id > source_id))
        )
    query = query.order_by(column.held_since, column.source_id).limit(limit)
    return [Held(**row) for row in connection.execute(query).mappings()]


def all_held(connection: sa.Connection, wanted: HeldFilter) -> Iterator[Held]:
    """All of them, the longest held first, a page at a time."""
    after: tuple[datetime, str] | None = None
    while page := held_rows(connection, wanted, _PAGE, after):
        yield from page
        after = page[-1].held_since, page[-1].source_id


class Around(msgspec.Struct, frozen=True, kw_only=True):
    """Where a document stands among those that are held."""

    number: int  # from 1
    total: int
    before: str | None  # source_id
    after: str | None


def held_around(
    connection: sa.Connection, wanted: HeldFilter, place: tuple[datetime, str], passing: Collection[str] = ()
) -> Around:
    """The neighbours of a place in the queue; after the last one comes the first one.

    Args:
        place: (held_since, source_id); it may be held no more.
        passing: source_ids that are no neighbours.
    """
    column = t.quarantine.c
    since, source_id = place
    earlier = sa.or_(column.held_since < since, sa.and_(column.held_since == since, column.source_id < source_id))
    query = sa.select(column.source_id).where(*_conditions(wanted), column.source_id != source_id)
    order = (column.held_since, column.source_id)

    def first(found: sa.Select[Any]) -> str | None:
        ids = connection.execute(found).scalars()
        return next((each for each in ids if each not in passing), None)

    counted = sa.select(sa.func.count(), sa.func.count().filter(earlier)).where(*_conditions(wanted))
    total, number = connection.execute(counted.select_from(t.quarantine)).one()
    return Around(
        number=number + 1,
        total=total,
        before=first(query.where(earlier).order_by(*(each.desc() for each in order))),
        after=first(query.where(~earlier).order_by(*order)) or first(query.where(earlier).order_by(*order)),
    )


def count_held(connection: sa.Connection, wanted: HeldFilter) -> int:
    """How many there are."""
    query = sa.select(sa.func.count()).select_from(t.quarantine).where(*_conditions(wanted))
    return connection.scalar(query) or 0


def held_groups(connection: sa.Connection, wanted: HeldFilter) -> list[GroupRow]:
    """The groups of held documents, the largest first."""
    problem = t.held_problems.c
    parts = (problem.code, problem.extractor, problem.extractor_version, problem.media_type)
    conditions: list[sa.ColumnElement[bool]] = []
    if not wanted.is_empty:
        fitting = sa.select(t.quarantine.c.source_id).where(*_conditions(wanted))
        conditions.append(problem.source_id.in_(fitting))
    if (code := wanted.group.code if wanted.group else wanted.code) is not None:
        conditions.append(problem.code == code)
    counts = (
        sa.select(*parts, sa.func.count(), sa.func.min(problem.held_since), sa.func.min(problem.deadline))
        .where(*conditions)
        .group_by(*parts)
    )
    rank = sa.func.row_number().over(partition_by=parts, order_by=(problem.held_since, problem.source_id)).label("rank")
    first = sa.select(*parts, problem.source_id, rank).where(*conditions).subquery().c
    paths = (
        sa.select(*[first[part.name] for part in parts], t.quarantine.c.path)
        .join(t.quarantine, t.quarantine.c.source_id == first.source_id)
        .where(first.rank <= EXAMPLES)
        .order_by(first.rank)
    )
    examples: dict[Group, list[str]] = {}
    for row in connection.execute(paths):
        examples.setdefault(_group(row), []).append(row.path)
    found = [
        GroupRow(
            group=_group(row),
            count=row[4],
            oldest=row[5],
            next_deadline=row[6],
            examples=examples.get(_group(row), []),
        )
        for row in connection.execute(counts)
    ]
    return sorted(found, key=lambda row: (-row.count, row.group.id))


def held_values(connection: sa.Connection) -> dict[str, list[str]]:
    """What the filters of held documents may be set to: all values of code, format, tool and source that there are."""
    column = t.quarantine.c
    kinds = {"format": column.media_type, "tool": column.extractor, "source": column.source}
    found = {"code": set(connection.scalars(sa.select(t.held_problems.c.code).distinct()))}
    rows = connection.execute(sa.select(*kinds.values()).distinct()).all()
    found |= {name: {row[number] for row in rows} for number, name in enumerate(kinds)}
    return {name: sorted(value for value in values if value) for name, values in found.items()}


def decisions_of(connection: sa.Connection, source_ids: list[str]) -> dict[str, list[DecisionRow]]:
    """What was decided about the current versions of these documents, in the order in which it was carried out."""
    found: dict[str, list[DecisionRow]] = {}
    for start in range(0, len(source_ids), _PAGE):
        chunk = source_ids[start : start + _PAGE]
        for row in connection.execute(_decisions().where(t.decisions.c.source_id.in_(chunk))).mappings():
            found.setdefault(row["source_id"], []).append(DecisionRow(**row))
    return found


def unanswered(connection: sa.Connection, since: datetime) -> list[str]:
    """The source_ids of held documents of which work was asked for since then, and is not answered."""
    made, held = t.decisions.c, t.quarantine.c
    query = (
        sa.select(made.source_id)
        .distinct()
        .join(
            t.quarantine,
            sa.and_(held.source_id == made.source_id, held.epoch == made.epoch, held.offset == made.offset),
        )
    )
    asked = made.kind.in_([DecisionKind.RE_EXTRACT.value, DecisionKind.RECOGNIZE.value])
    return list(connection.scalars(query.where(made.decided_at >= since, made.answered_at.is_(None), asked)))


def judgements_of(connection: sa.Connection, source_ids: list[str]) -> dict[str, list[dict[str, Any]]]:
    """What came of all attempts at the current versions of these documents, the one that counts last."""
    version, document = t.versions.c, t.documents.c
    query = sa.select(version.source_id, version.judgements).join(
        t.documents,
        sa.and_(
            document.source_id == version.source_id,
            document.current_epoch == version.epoch,
            document.current_offset == version.offset,
        ),
    )
    found: dict[str, list[dict[str, Any]]] = {}
    for start in range(0, len(source_ids), _PAGE):
        chunk = source_ids[start : start + _PAGE]
        found |= {row[0]: row[1] for row in connection.execute(query.where(version.source_id.in_(chunk)))}
    return found


def decided(connection: sa.Connection, wanted: DecidedFilter) -> list[DecisionRow]:
    """Decisions about the current versions of living documents, the newest last of each document."""
    made, document = t.decisions.c, t.documents.c
    query = _decisions()
    for column, value in ((made.batch, wanted.batch), (made.actor, wanted.actor), (made.reason, wanted.reason)):
        if value is not None:
            query = query.where(column == value)
    if wanted.ids is not None:
        query = query.where(made.source_id.in_(wanted.ids))
    if wanted.since is not None:
        query = query.where(made.decided_at >= wanted.since)
    if wanted.source is not None:
        query = query.where(document.source == wanted.source)
    if (group := wanted.group) is not None:
        problem = t.problems.c
        query = query.where(
            *_is(document.extractor, group.tool),
            *_is(document.extractor_version, group.version),
            *_is(document.media_type, group.media_type),
            sa.exists().where(
                problem.source_id == made.source_id,
                problem.epoch == made.epoch,
                problem.offset == made.offset,
                problem.code == group.code,
            ),
        )
    return [DecisionRow(**row) for row in connection.execute(query).mappings()]


def _decisions() -> sa.Select[Any]:
    made, document = t.decisions.c, t.documents.c
    return (
        sa.select(*[made[name] for name in DecisionRow.__struct_fields__])
        .join(
            t.documents,
            sa.and_(
                document.source_id == made.source_id,
                document.current_epoch == made.epoch,
                document.current_offset == made.offset,
            ),
        )
        .order_by(made.source_id, made.number)
    )


def _group(row: Any) -> Group:
    return Group(code=row[0], tool=row[1], version=row[2], media_type=row[3])


def _is(column: sa.ColumnElement[Any], value: str | None) -> list[sa.ColumnElement[bool]]:
    return [column.is_(None) if value is None else column == value]


def _conditions(wanted: HeldFilter) -> list[sa.ColumnElement[bool]]:
    column = t.quarantine.c
    found: list[sa.ColumnElement[bool]] = []
    for name, value in (
        ("media_type", wanted.media_type),
        ("extractor", wanted.tool),
        ("extractor_version", wanted.version),
        ("source", wanted.source),
        ("owner", wanted.owner),
    ):
        if value is not None:
            found.append(column[name] == value)
    if wanted.ids is not None:
        found.append(column.source_id.in_(wanted.ids))
    if wanted.unassigned:
        found.append(column.owner.is_(None))
    if wanted.held_before is not None:
        found.append(column.held_since < wanted.held_before)
    if wanted.overdue_at is not None:
        found.append(column.deadline < wanted.overdue_at)
    if wanted.code is not None:
        found.append(_has(wanted.code))
    if (group := wanted.group) is not None:
        found += [
            _has(group.code),
            *_is(column.extractor, group.tool),
            *_is(column.extractor_version, group.version),
            *_is(column.media_type, group.media_type),
        ]
    return found


def _has(code: str) -> sa.ColumnElement[bool]:
    problem = t.held_problems.alias().c  # of its own, for `held_problems` may be joined already
    return sa.exists().where(problem.source_id == t.quarantine.c.source_id, problem.code == code)
