"""What the catalog makes of the records of five topics: rows that replace older rows of the same key."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec
import sqlalchemy as sa

from streams.consumers import catalog_tables as t
from streams.consumers.catalog_quarantine import batch_of
from streams.consumers.received import Partition, Received
from streams.ledger.judgement import judgements
from streams.records import Canon, Deletion, Judgement, Provenance, Quarantined, SourceState, Version
from streams.records import Sequence as Place
from streams.screen.near import bands

TOPICS = ("versions", "canon-ready", "quarantine", "deleted", "contents")

Row = dict[str, Any]
Order = tuple[int, int, int]
About = tuple[int, int, str | None, dict[str, float]]
Pages = tuple[About, list[Any]]

_MAIN = {
    "versions": (t.documents, "source_id", (t.versions, t.problems, t.decisions, t.changes)),
    "canon-ready": (t.canons, "source_id", (t.near_bands,)),
    "quarantine": (t.quarantine, "source_id", (t.held_problems,)),
    "contents": (t.contents, "content_hash", (t.content_links,)),
}
"""Of each compacted topic: the table with one row for each key, that key, and the tables that hang on it."""


class CatalogView:
    """See `streams.consumers.positions.View`."""

    def apply(self, connection: sa.Connection, records: Sequence[Received], generations: dict[Partition, int]) -> None:
        by_topic: dict[str, list[Received]] = {}
        for received in records:
            by_topic.setdefault(received.topic, []).append(received)
        for topic, of_topic in by_topic.items():
            if topic == "deleted":
                _deletions(connection, of_topic, generations)
            else:
                _replace(connection, topic, of_topic, generations)

    def forget(self, connection: sa.Connection, partition: Partition, before: int | None) -> None:
        if partition.topic == "deleted":
            if before is None:
                connection.execute(sa.delete(t.deletions).where(t.deletions.c.partition == partition.number))
            return
        main, key, hanging = _MAIN[partition.topic]
        gone = sa.select(main.c[key]).where(main.c.partition == partition.number)
        if before is not None:
            gone = gone.where(main.c.generation < before)
        for table in hanging:
            connection.execute(sa.delete(table).where(table.c[key].in_(gone)))
        connection.execute(sa.delete(main).where(main.c[key].in_(gone)))


def _replace(connection: sa.Connection, topic: str, records: list[Received], generations: dict[Partition, int]) -> None:
    main, key, hanging = _MAIN[topic]
    newest: dict[str, Received] = {}
    pages: dict[str, Pages] = {}
    for received in records:
        if received.key not in newest or _order(received) >= _order(newest[received.key]):
            newest[received.key] = received
            if isinstance(received.record, Canon | Quarantined) and received.record.pages:
                pages[received.key] = _about(received.record), msgspec.to_builtins(received.record.pages)
    known = _known(connection, main, key, list(newest))
    if main in (t.canons, t.quarantine):
        pages = _known_pages(connection, main, list(known)) | pages
    newest = {
        name: received for name, received in newest.items() if name not in known or _order(received) >= known[name]
    }
    if not newest:
        return
    if known:
        for table in (*hanging, main):
            connection.execute(sa.delete(table).where(table.c[key].in_(list(newest))))
    rows: dict[sa.Table, list[Row]] = {}
    for received in newest.values():
        if received.record is None:
            continue
        origin = {
            "partition": received.partition,
            "log_offset": received.offset,
            "generation": generations[received.place],
        }
        for table, row in _ROWS[topic](received, origin):
            if table is main and received.key in pages and pages[received.key][0] == _about(received.record):
                row["pages"] = pages[received.key][1]
            rows.setdefault(table, []).append(row)
    for table, found in rows.items():
        connection.execute(sa.insert(table), found)


def _known(connection: sa.Connection, main: sa.Table, key: str, keys: list[str]) -> dict[str, Order]:
    order = (
        (main.c.high_water_epoch, main.c.high_water_offset)
        if main is t.documents
        else (sa.literal(0).label("epoch"), sa.literal(0).label("offset"))
    )
    found = connection.execute(sa.select(main.c[key], *order, main.c.log_offset).where(main.c[key].in_(keys)))
    return {row[0]: (row[1], row[2], row[3]) for row in found}


def _about(record: object) -> About:
    """What scores per page are about."""
    assert isinstance(record, Canon | Quarantined)
    place = record.sequence
    return place.epoch, place.offset, record.payload.sha256 if record.payload else None, record.scores


def _known_pages(connection: sa.Connection, main: sa.Table, keys: list[str]) -> dict[str, Pages]:
    """Scores per page that are known. A move or new rights restate a document without them, and they still hold."""
    column = main.c
    query = sa.select(column.source_id, column.epoch, column.offset, column.payload_sha256, column.scores, column.pages)
    found = connection.execute(query.where(column.source_id.in_(keys)))
    return {row[0]: ((row[1], row[2], row[3], row[4]), row[5]) for row in found if row[5]}


def _order(received: Received) -> Order:
    """A state replaces one of the same or a lower high water; anything else goes by its place in the log."""
    if isinstance(received.record, SourceState):
        high_water = received.record.high_water
        return high_water.epoch, high_water.offset, received.offset
    if received.topic == "versions":  # erased
        return 1 << 62, 0, received.offset
    return 0, 0, received.offset


def _deletions(connection: sa.Connection, records: list[Received], generations: dict[Partition, int]) -> None:
    rows: dict[tuple[str, int, int], Row] = {}
    for received in records:
        if isinstance(deletion := received.record, Deletion):
            key = deletion.source_id, deletion.sequence.epoch, deletion.sequence.offset
            if key in rows and rows[key]["erased_at"] is not None and deletion.erased_at is None:
                continue
            rows[key] = {
                **_fields(deletion, "sequence"),
                **_place(deletion.sequence),
                "partition": received.partition,
                "log_offset": received.offset,
                "generation": generations[received.place],
            }
    if not rows:
        return
    table = t.deletions.c
    again = connection.execute(
        sa.select(table.source_id, table.epoch, table.offset).where(table.source_id.in_({key[0] for key in rows}))
    ).all()
    for row in again:
        key = row[0], row[1], row[2]
        if key in rows and rows[key]["erased_at"] is None:
            del rows[key]
        elif key in rows:  # the proof of an erasure says all that the Deletion said, and more
            one = (table.source_id == key[0], table.epoch == key[1], table.offset == key[2])
            connection.execute(sa.delete(t.deletions).where(*one))
    if rows:
        connection.execute(sa.insert(t.deletions), list(rows.values()))


# --- rows ----------------------------------------------------------------------------------------------------------


def _state_rows(received: Received, origin: Row) -> Iterable[tuple[sa.Table, Row]]:
    state = received.record
    assert isinstance(state, SourceState)
    facts = {version.sequence: version_facts(version) for version in state.versions}
    shown = state.current or (state.versions[-1].sequence if state.versions else None)
    current = facts.get(shown) if shown is not None else None
    yield (
        t.documents,
        {
            **(current or _NO_VERSION),
            **_fields(state, "high_water", "versions", "changes", "current", "published", "erasures"),
            **origin,
            **_place(state.high_water, "high_water_"),
            **_place(state.current, "current_"),
            **_place(state.published, "published_"),
            "updated_at": received.timestamp,
        },
    )
    for version in state.versions:
        key = {"source_id": state.source_id, **_place(version.sequence)}
        screening = version.screening
        plain = msgspec.to_builtins(version)
        yield (
            t.versions,
            {
                **facts[version.sequence],
                **key,
                **_place(version.superseded_by, "superseded_by_"),
                "manifest": plain["manifest"],
                "detection": plain["detection"],
                "policy": screening.policy if screening else None,
                "scores": screening.scores if screening else {},
                "pages": plain["screening"]["pages"] if screening else [],
                "canons": [
                    {**canon, "payload": {**canon["payload"], "inline": None}} for canon in plain["canons"]
                ],  # the text itself stays in the blob store
                "judgements": [_judgement(version, judgement) for judgement in judgements(version)],
                "timings": plain["timings"],
                "seconds": sum(timing.seconds for timing in version.timings),
            },
        )
        for code in sorted(set(screening.problems)) if screening else ():
            yield t.problems, {**key, "code": code}
        for number, made in enumerate(version.decisions):
            fields = _fields(made, "findings", "seen")
            yield t.decisions, {**key, "number": number, **fields, "batch": batch_of(made)}
    rows = {change.sequence: change for change in state.changes}
    for change in rows.values():
        fields = _fields(change, "sequence", "parent_order")
        yield t.changes, {"source_id": state.source_id, **fields, **_place(change.sequence)}


def version_facts(version: Version) -> Row:
    """The columns that `versions` and `documents` share."""
    content, detection, screening, summary = version.content, version.detection, version.screening, version.summary
    living = [canon for canon in version.canons if canon.archived_at is None] or version.canons
    attempt = version.attempt or (living[-1].attempt if living else None)
    return {
        "outcome": version.outcome.value,
        "problems": screening.problems if screening else [],
        "warnings": _warnings(version),
        "rule": screening.rule if screening else None,
        "error": screening.error if screening else None,
        "content_hash": content.sha256 if content else None,
        "size": content.size if content else None,
        "media_type": detection.media_type if detection else None,
        "declared_media_type": (detection.declared_media_type if detection else None)
        or (content.declared_media_type if content else None),
        "mismatch": detection.mismatch if detection else None,
        "detected_by": detection.detected_by if detection else None,
        "encoding": detection.encoding if detection else None,
        "encoding_source": detection.encoding_source if detection else None,
        "encoding_confidence": detection.encoding_confidence if detection else None,
        "language": summary.language if summary else None,
        "title": summary.title if summary else None,
        "page_count": summary.page_count if summary else None,
        "characters": summary.characters if summary else None,
        "tables": summary.tables if summary else None,
        "method": summary.method.value if summary else None,
        "confidence": summary.confidence if summary else None,
        "extractor": attempt.extractor if attempt else None,
        "extractor_version": attempt.extractor_version if attempt else None,
        "fingerprint": attempt.fingerprint if attempt else None,
        "valid_from": version.valid_from,
        "valid_to": version.valid_to,
        "source_updated_at": version.manifest.source_updated_at,
        "ingested_at": version.manifest.ingested_at,
        "settled_at": version.settled_at,
        "lane": version.lane.value,
        "ready_at": version.ready_at,
    }


def _judgement(version: Version, judgement: Judgement) -> Row:
    """What came of one attempt, in plain values."""
    attempts = {canon.attempt.fingerprint: canon.attempt for canon in version.canons}
    attempt = judgement.attempt or attempts.get(judgement.fingerprint)
    screening, summary = judgement.screening, judgement.summary
    plain: Row = msgspec.to_builtins(
        {
            "extractor": attempt.extractor if attempt else None,
            "extractor_version": attempt.extractor_version if attempt else None,
            "fingerprint": judgement.fingerprint,
            "method": attempt.method if attempt else None,
            "outcome": screening.outcome,
            "problems": screening.problems,
            "error": screening.error,
            "warnings": screening.warnings,
            "scores": screening.scores,
            "policy": screening.policy,
            "characters": summary.characters if summary else None,
            "confidence": summary.confidence if summary else None,
            "seconds": sum(timing.seconds for timing in judgement.timings),
            "settled_at": judgement.settled_at,
        }
    )
    return plain


def _warnings(version: Version) -> list[str]:
    """Of all stages, in the order of the way."""
    found = [
        *(version.detection.warnings if version.detection else []),
        *(version.screening.warnings if version.screening else []),
    ]
    return list(dict.fromkeys(found))


def _canon_rows(received: Received, origin: Row) -> Iterable[tuple[sa.Table, Row]]:
    canon = received.record
    assert isinstance(canon, Canon)
    row = {
        **{name: getattr(canon, name) for name in _CANON_COLUMNS},
        **origin,
        **_place(canon.sequence),
        "pages": msgspec.to_builtins(canon.pages),
        "payload_key": canon.payload.key,
        "payload_sha256": canon.payload.sha256,
        "payload_size": canon.payload.size,
        "signature": canon.summary.signature,
    }
    yield t.canons, row
    for band in bands(canon.summary.signature) if canon.summary.signature else ():
        yield t.near_bands, {"source_id": canon.source_id, "band": band}


_CANON_COLUMNS = sorted({column.name for column in t.canons.c} & set(Canon.__struct_fields__))


def _held_rows(received: Received, origin: Row) -> Iterable[tuple[sa.Table, Row]]:
    held = received.record
    assert isinstance(held, Quarantined)
    yield (
        t.quarantine,
        {
            **_fields(held, "sequence", "payload"),
            **origin,
            **_place(held.sequence),
            "payload_key": held.payload.key if held.payload else None,
            "payload_sha256": held.payload.sha256 if held.payload else None,
        },
    )
    of_group = {name: getattr(held, name) for name in _GROUP_COLUMNS}
    for code in sorted(set(held.problems)):
        yield t.held_problems, {**of_group, "code": code}


_GROUP_COLUMNS = sorted({column.name for column in t.held_problems.c} & set(Quarantined.__struct_fields__))


def _content_rows(received: Received, origin: Row) -> Iterable[tuple[sa.Table, Row]]:
    provenance = received.record
    assert isinstance(provenance, Provenance)
    yield t.contents, {**_fields(provenance, "links", "gone"), **origin}
    for link in {link.source_id: link for link in provenance.links}.values():
        yield t.content_links, {"content_hash": provenance.content_hash, **_fields(link, "sequence")}


_ROWS: dict[str, Callable[[Received, Row], Iterable[tuple[sa.Table, Row]]]] = {
    "versions": _state_rows,
    "canon-ready": _canon_rows,
    "quarantine": _held_rows,
    "contents": _content_rows,
}

_NO_VERSION: Row = {
    name: [] if name in ("problems", "warnings") else None
    for name in sorted({column.name for column in t.documents.c} & {column.name for column in t.versions.c})
    if name != "source_id"
}


def _fields(record: msgspec.Struct, *but: str) -> Row:
    """A record's own fields as column values: instants stay, structures become plain."""
    return {
        name: value if hasattr(value := getattr(record, name), "tzinfo") else msgspec.to_builtins(value)
        for name in record.__struct_fields__
        if name not in but
    }


def _place(sequence: Place | None, prefix: str = "") -> Row:
    return {
        f"{prefix}epoch": sequence.epoch if sequence else None,
        f"{prefix}offset": sequence.offset if sequence else None,
    }
