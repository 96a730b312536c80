"""The search index's tables. The two FTS5 tables are contentless: the texts stand in `passages` and `held` alone."""

from __future__ import annotations

import sqlalchemy as sa

from streams.consumers.database import Json, Text, UtcTime, meta_table
from streams.consumers.positions import positions_table

SCHEMA = "1"
"""Raise with every change here and in `search_text`: what was indexed otherwise can't be taken out again."""

metadata = sa.MetaData()
meta = meta_table(metadata)
positions = positions_table(metadata)


def _origin() -> list[sa.Column[int]]:
    return [
        sa.Column("partition", sa.Integer, nullable=False),
        sa.Column("log_offset", sa.BigInteger, nullable=False),
        sa.Column("generation", sa.Integer, nullable=False),
    ]


documents = sa.Table(
    "documents",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("source_id", Text, nullable=False, unique=True),
    *_origin(),
    sa.Column("source", Text, nullable=False),
    sa.Column("path", Text, nullable=False),
    sa.Column("file_name", Text, nullable=False),
    sa.Column("title", Text),
    sa.Column("heading", Text, nullable=False),  # title and file name, as they are indexed
    sa.Column("owner", Text),
    sa.Column("readers", Json),
    sa.Column("media_type", Text, nullable=False),
    sa.Column("language", Text),
    sa.Column("content_hash", Text, nullable=False),
    sa.Column("fingerprint", Text, nullable=False),
    sa.Column("has_text", sa.Boolean, nullable=False),  # false: its canon could not be had
    sa.Column("stale", sa.Boolean, nullable=False),
    sa.Column("canon_ready_at", UtcTime, nullable=False),
)

passages = sa.Table(
    "passages",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("document", sa.Integer, nullable=False, index=True),
    sa.Column("section", Text, nullable=False),
    sa.Column("page", sa.Integer),
    sa.Column("text", Text, nullable=False),
)

held = sa.Table(
    "held",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("source_id", Text, nullable=False, unique=True),
    *_origin(),
    sa.Column("path", Text, nullable=False),
    sa.Column("problems", Json, nullable=False),
)

rights = sa.Table(
    "rights",
    metadata,
    sa.Column("source_id", Text, primary_key=True),
    sa.Column("held", sa.Boolean, primary_key=True),
    sa.Column("principal", Text, primary_key=True),
)
"""Who may find what; a document whose rights are unknown has no row."""

_TOKENS = "tokenize = \"unicode61 remove_diacritics 2 categories 'L* M* N* Co'\""


@sa.event.listens_for(metadata, "after_create")
def _create(_target: object, connection: sa.Connection, **_: object) -> None:
    connection.exec_driver_sql(f"CREATE VIRTUAL TABLE passages_fts USING fts5(heading, text, content = '', {_TOKENS})")
    connection.exec_driver_sql(f"CREATE VIRTUAL TABLE held_fts USING fts5(path, content = '', {_TOKENS})")


@sa.event.listens_for(metadata, "before_drop")
def _drop(_target: object, connection: sa.Connection, **_: object) -> None:
    for name in ("passages_fts", "held_fts"):
        connection.exec_driver_sql(f"DROP TABLE IF EXISTS {name}")


_DELETED = "deleted"


def set_deleted_mark(connection: sa.Connection) -> None:
    """Remembers that words of deleted texts are still in the FTS5 tables."""
    if not connection.scalar(sa.select(meta.c.value).where(meta.c.key == _DELETED)):
        connection.execute(sa.insert(meta), [{"key": _DELETED, "value": "1"}])


def take_deleted_mark(connection: sa.Connection) -> bool:
    """Whether there is such a mark; it is gone then."""
    return connection.execute(sa.delete(meta).where(meta.c.key == _DELETED)).rowcount > 0


def merge(connection: sa.Connection) -> None:
    """Merges the segments of the FTS5 tables, so that they hold what is there and nothing else."""
    connection.exec_driver_sql("INSERT INTO passages_fts(passages_fts) VALUES ('optimize')")
    connection.exec_driver_sql("INSERT INTO held_fts(held_fts) VALUES ('optimize')")
