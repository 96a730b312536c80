"""Which living documents refer to a content: what an erasure must leave alone."""

from __future__ import annotations

import sqlalchemy as sa

from streams.consumers import catalog_tables as t


def living_with(connection: sa.Connection, content_hash: str) -> list[tuple[str, str]]:
    """The (source_id, path) of documents that have a version with this content in the life that they live now.

    Earlier versions of a living document count: they can still be served, and a source may come back to them. What
    ended by a delete does not, whether or not the document was created again.
    """
    version, change, document = t.versions.c, t.changes.c, t.documents.c
    ended = sa.exists().where(
        change.source_id == version.source_id,
        change.operation == "delete",
        sa.tuple_(change.epoch, change.offset) > sa.tuple_(version.epoch, version.offset),
    )
    query = (
        sa.select(document.source_id, document.path)
        .join(t.versions, version.source_id == document.source_id)
        .where(version.content_hash == content_hash, document.status == "live", ~ended)
        .distinct()
        .order_by(document.source_id)
    )
    return [(row[0], row[1]) for row in connection.execute(query)]
