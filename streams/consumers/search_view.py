"""What the search index makes of canons and of held documents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

import sqlalchemy as sa

from streams.consumers import search_tables as t
from streams.consumers.received import Partition, Received
from streams.consumers.search_text import Passage, indexed, passages
from streams.records import Canon, CanonBody, Quarantined

Row = dict[str, Any]
_Row = sa.RowMapping


class SearchView:
    """See `streams.consumers.positions.View`; `bodies` holds the texts that a batch brings with it."""

    def __init__(self) -> None:
        self.bodies: dict[str, CanonBody | None] = {}

    def needs_text(self, connection: sa.Connection, received: Iterable[Received]) -> set[str]:
        """The source_ids of canons whose text is not in the index as it stands."""
        canons = {record.key: record.record for record in received if isinstance(record.record, Canon)}
        known = _known(connection, t.documents, list(canons))
        return {source_id for source_id, canon in canons.items() if _new_text(known.get(source_id), canon)}

    def apply(self, connection: sa.Connection, records: Sequence[Received], generations: dict[Partition, int]) -> None:
        for topic, table in (("canon-ready", t.documents), ("quarantine", t.held)):
            newest: dict[str, Received] = {}
            for received in records:
                if received.topic == topic:
                    newest[received.key] = received
            known = _known(connection, table, list(newest))
            if any(received.record is None and key in known for key, received in newest.items()):
                t.set_deleted_mark(connection)
            due = [r for r in newest.values() if r.key not in known or r.offset >= known[r.key]["log_offset"]]
            if topic == "canon-ready":
                self._apply_canons(connection, due, known, generations)
            else:
                _apply_held(connection, due, known, generations)

    def forget(self, connection: sa.Connection, partition: Partition, before: int | None) -> None:
        table = t.documents if partition.topic == "canon-ready" else t.held
        gone = sa.select(table).where(table.c.partition == partition.number)
        if before is not None:
            gone = gone.where(table.c.generation < before)
        rows = list(connection.execute(gone).mappings())
        (_remove_documents if table is t.documents else _remove_held)(connection, rows)
        if rows:
            t.set_deleted_mark(connection)

    def _apply_canons(
        self,
        connection: sa.Connection,
        due: list[Received],
        known: dict[str, _Row],
        generations: dict[Partition, int],
    ) -> None:
        fresh: list[tuple[Row, list[Passage]]] = []
        replaced: list[_Row] = []
        for received in due:
            old, canon = known.get(received.key), received.record
            if not isinstance(canon, Canon):
                if old is not None:
                    replaced.append(old)
                continue
            row = _document(received, canon, generations[received.place])
            body = self.bodies.get(received.key)
            if old is not None and not _new_text(old, canon):
                connection.execute(sa.update(t.documents).where(t.documents.c.id == old["id"]), row)
                _set_rights(connection, {received.key: canon.readers}, held=False)
                continue
            if old is not None:
                replaced.append(old)
            row["has_text"] = body is not None
            fresh.append((row, passages(body) if body is not None else []))
        _remove_documents(connection, replaced)
        _add_documents(connection, fresh)


def _document(received: Received, canon: Canon, generation: int) -> Row:
    return {
        "source_id": canon.source_id,
        "partition": received.partition,
        "log_offset": received.offset,
        "generation": generation,
        "source": canon.source,
        "path": canon.path,
        "file_name": canon.file_name,
        "title": canon.summary.title,
        "heading": _heading(canon),
        "owner": canon.owner,
        "readers": canon.readers,
        "media_type": canon.media_type,
        "language": canon.summary.language,
        "content_hash": canon.content_hash,
        "fingerprint": canon.fingerprint,
        "stale": canon.stale,
        "canon_ready_at": canon.canon_ready_at,
    }


def _heading(canon: Canon) -> str:
    return " ".join(filter(None, (canon.summary.title, PurePosixPath(canon.file_name).stem))).replace("\0", "")


def _new_text(old: _Row | None, canon: Canon) -> bool:
    return (
        old is None
        or not old["has_text"]
        or (old["content_hash"], old["fingerprint"], old["heading"])
        != (canon.content_hash, canon.fingerprint, _heading(canon))
    )


def _known(connection: sa.Connection, table: sa.Table, source_ids: list[str]) -> dict[str, _Row]:
    if not source_ids:
        return {}
    found = connection.execute(sa.select(table).where(table.c.source_id.in_(source_ids))).mappings()
    return {row["source_id"]: row for row in found}


def _add_documents(connection: sa.Connection, fresh: list[tuple[Row, list[Passage]]]) -> None:
    if not fresh:
        return
    document = (connection.scalar(sa.select(sa.func.max(t.documents.c.id))) or 0) + 1
    passage = (connection.scalar(sa.select(sa.func.max(t.passages.c.id))) or 0) + 1
    rows, texts, words = [], [], []
    for row, found in fresh:
        rows.append({"id": document, **row})
        heading = indexed(row["heading"])
        # A document without text is found by its heading all the same.
        for piece in found or [Passage("", None, "")]:
            texts.append(
                {
                    "id": passage,
                    "document": document,
                    "section": piece.section,
                    "page": piece.page,
                    "text": piece.text,
                }
            )
            words.append((passage, heading, indexed(piece.text)))
            passage += 1
        document += 1
    connection.execute(sa.insert(t.documents), rows)
    connection.execute(sa.insert(t.passages), texts)
    connection.exec_driver_sql("INSERT INTO passages_fts(rowid, heading, text) VALUES (?, ?, ?)", words)
    _set_rights(connection, {row["source_id"]: row["readers"] for row in rows}, held=False)


def _remove_documents(connection: sa.Connection, rows: list[_Row]) -> None:
    if not rows:
        return
    headings = {row["id"]: indexed(row["heading"]) for row in rows}
    passage = t.passages.c
    ids = list(headings)
    texts = connection.execute(
        sa.select(passage.id, passage.document, passage.text).where(passage.document.in_(ids))
    ).all()
    # A contentless FTS5 table must be given what was indexed, to take it out.
    words = [(row.id, headings[row.document], indexed(row.text)) for row in texts]
    if words:
        connection.exec_driver_sql(
            "INSERT INTO passages_fts(passages_fts, rowid, heading, text) VALUES ('delete', ?, ?, ?)", words
        )
    connection.execute(sa.delete(t.passages).where(passage.document.in_(ids)))
    connection.execute(sa.delete(t.documents).where(t.documents.c.id.in_(ids)))
    _drop_rights(connection, [row["source_id"] for row in rows], held=False)


def _apply_held(
    connection: sa.Connection, due: list[Received], known: dict[str, _Row], generations: dict[Partition, int]
) -> None:
    _remove_held(connection, [known[received.key] for received in due if received.key in known])
    number = (connection.scalar(sa.select(sa.func.max(t.held.c.id))) or 0) + 1
    for received in due:
        held = received.record
        if not isinstance(held, Quarantined):
            continue
        row: Row = {
            "id": number,
            "source_id": held.source_id,
            "partition": received.partition,
            "log_offset": received.offset,
            "generation": generations[received.place],
            "path": held.path.replace("\0", ""),
            "problems": held.problems,
        }
        connection.execute(sa.insert(t.held), row)
        connection.exec_driver_sql("INSERT INTO held_fts(rowid, path) VALUES (?, ?)", (number, indexed(row["path"])))
        _set_rights(connection, {held.source_id: held.readers}, held=True)
        number += 1


def _remove_held(connection: sa.Connection, rows: list[_Row]) -> None:
    if not rows:
        return
    words = [(row["id"], indexed(row["path"])) for row in rows]
    connection.exec_driver_sql("INSERT INTO held_fts(held_fts, rowid, path) VALUES ('delete', ?, ?)", words)
    connection.execute(sa.delete(t.held).where(t.held.c.id.in_([row["id"] for row in rows])))
    _drop_rights(connection, [row["source_id"] for row in rows], held=True)


def _set_rights(connection: sa.Connection, readers: Mapping[str, list[str] | None], *, held: bool) -> None:
    _drop_rights(connection, list(readers), held=held)
    rows = [
        {"source_id": source_id, "held": held, "principal": principal}
        for source_id, named in readers.items()
        for principal in sorted(set(named or ()))
    ]
    if rows:
        connection.execute(sa.insert(t.rights), rows)


def _drop_rights(connection: sa.Connection, source_ids: list[str], *, held: bool) -> None:
    right = t.rights.c
    connection.execute(sa.delete(t.rights).where(right.source_id.in_(source_ids), right.held == held))
