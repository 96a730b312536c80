"""Which documents say the same: exact copies by content hash, near ones by the signatures of their texts.

Nothing is merged: each document keeps its own place, rights and story. Held documents are exact copies like others;
near ones are found among the texts that consumers see.

What is listed for a least similarity of 0.8, counted over 300 made pairs each: all that are more than 0.9 alike, 99.7 %
between 0.8 and 0.9, 62 % between 0.75 and 0.8, 17 % between 0.7 and 0.75, 0.7 % between 0.6 and 0.7, none below.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby, islice
from operator import itemgetter

import msgspec
import sqlalchemy as sa

from streams.consumers import catalog_tables as t
from streams.screen.near import bands, similarity, standard_error

NEIGHBOURS = 200
"""With how many others of a band a text is compared at most: forms by the thousand must not be compared each with each.
What is left out in one band has seven more."""
_CHUNK = 500


class Duplicate(msgspec.Struct, frozen=True, kw_only=True):
    """One document, and how alike it is to the document that was asked for, or to the first of its group."""

    source_id: str
    source: str
    path: str
    content_hash: str
    size: int
    exact: bool  # the same bytes
    similarity: float | None  # 1 for the same bytes; else estimated; None: linked by others of its group only


class Duplicates(msgspec.Struct, frozen=True, kw_only=True):
    """The duplicates of one document, the most alike first."""

    source_id: str
    path: str
    compared: bool  # false: it has no text that consumers see, or too short a one, so only exact copies are known
    documents: list[Duplicate]


def duplicates_of(connection: sa.Connection, source_id: str, least: float) -> Duplicates:
    """Exact copies, and texts that are at least so alike, give or take the estimate's error."""
    document, canon = t.documents.c, t.canons.c
    path, content_hash, status = connection.execute(
        sa.select(document.path, document.content_hash, document.status).where(document.source_id == source_id)
    ).one()
    own = connection.scalar(sa.select(canon.signature).where(canon.source_id == source_id))
    found: dict[str, float] = {}
    if own is not None:
        near = t.near_bands.c
        others = sa.select(near.source_id).where(near.band.in_(bands(own)), near.source_id != source_id)
        for name, signature in connection.execute(
            sa.select(canon.source_id, canon.signature).where(canon.source_id.in_(others))
        ):
            alike = similarity(own, signature)
            if alike is not None and alike >= least - standard_error(least):
                found[name] = alike
    rows = list(_living(connection, document.content_hash == content_hash)) if status == "live" else []
    for chunk in _chunks(found):
        rows += _living(connection, document.source_id.in_(chunk), document.content_hash.is_distinct_from(content_hash))
    documents = [
        Duplicate(**row, exact=exact, similarity=1.0 if exact else _rounded(found[row["source_id"]]))
        for row in rows
        if row["source_id"] != source_id
        for exact in [row["content_hash"] == content_hash]
    ]
    return Duplicates(
        source_id=source_id,
        path=path,
        compared=own is not None,
        documents=sorted(documents, key=lambda row: (not row.exact, -(row.similarity or 0), row.path, row.source_id)),
    )


def duplicate_groups(connection: sa.Connection, least: float) -> list[list[Duplicate]]:
    """All groups of two and more, the largest first. A group holds together by pairs that are so alike; its members
    are compared with its first one."""
    signatures, joined = _joined(connection, least)
    exact = (
        sa.select(t.documents.c.content_hash)
        .where(t.documents.c.status == "live", t.documents.c.size > 0)
        .group_by(t.documents.c.content_hash)
        .having(sa.func.count() > 1)
    )
    members: dict[str, list[str]] = {}  # the contents of a group, by the one that stands for it
    for content in {*joined, *connection.scalars(exact)}:
        members.setdefault(_root(joined, content), []).append(content)
    group_of = {content: root for root, contents in members.items() for content in contents}
    rows: dict[str, list[sa.RowMapping]] = {}
    for chunk in _chunks(group_of):
        for row in _living(connection, t.documents.c.content_hash.in_(chunk)):
            rows.setdefault(group_of[row["content_hash"]], []).append(row)
    groups = [_group(found, signatures) for found in rows.values() if len(found) > 1]
    return sorted(groups, key=lambda group: (-len(group), group[0].path, group[0].source_id))


def _group(rows: list[sa.RowMapping], signatures: dict[str, bytes]) -> list[Duplicate]:
    rows = sorted(rows, key=lambda row: (row["content_hash"] not in signatures, row["path"], row["source_id"]))
    first = rows[0]["content_hash"]
    group = []
    for row in rows:
        exact = row["content_hash"] == first
        one, other = signatures.get(first), signatures.get(row["content_hash"])
        alike = 1.0 if exact else similarity(one, other) if one and other else None
        group.append(Duplicate(**row, exact=exact, similarity=_rounded(alike)))
    return sorted(group, key=lambda row: (not row.exact, -(row.similarity or 0), row.path, row.source_id))


def _joined(connection: sa.Connection, least: float) -> tuple[dict[str, bytes], dict[str, str]]:
    """Of contents with a text that others are like: their signatures, and each one's next towards its group's root."""
    near, canon = t.near_bands.c, t.canons.c
    shared = sa.select(near.band).group_by(near.band).having(sa.func.count() > 1)
    query = (
        sa.select(near.band, canon.content_hash, canon.signature)
        .join_from(t.near_bands, t.canons, near.source_id == canon.source_id)
        .where(near.band.in_(shared))
        .order_by(near.band, canon.content_hash)
    )
    signatures: dict[str, bytes] = {}
    parents: dict[str, str] = {}
    for _, rows in groupby(connection.execute(query), key=itemgetter(0)):
        band = {content: signature for _, content, signature in rows}  # copies of one content once
        names = list(band)
        for at, name in enumerate(names):
            for other in islice(reversed(names[:at]), NEIGHBOURS):
                if _root(parents, name) == _root(parents, other):
                    continue
                alike = similarity(band[name], band[other])
                if alike is not None and alike >= least - standard_error(least):
                    signatures |= {name: band[name], other: band[other]}
                    parents.setdefault(name, name)
                    parents.setdefault(other, other)
                    parents[_root(parents, name)] = _root(parents, other)
    return signatures, parents


def _root(parents: dict[str, str], name: str) -> str:
    while (parent := parents.get(name, name)) != name:
        parents[name] = parents[parent]
        name = parent
    return name


def _living(connection: sa.Connection, *which: sa.ColumnElement[bool]) -> Iterable[sa.RowMapping]:
    column = t.documents.c
    query = sa.select(column.source_id, column.source, column.path, column.content_hash, column.size)
    return connection.execute(query.where(column.status == "live", column.size > 0, *which)).mappings().all()


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def _chunks(names: Iterable[str]) -> Iterable[list[str]]:
    listed = iter(names)
    while chunk := list(islice(listed, _CHUNK)):
        yield chunk
