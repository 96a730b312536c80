"""The catalog's tables: what is recorded of every document, in columns that a query can use.

Rows of a topic come from that topic alone, so no order between topics matters. `partition`, `log_offset` and
`generation` say which message a row is from (see `streams.consumers.positions`).
"""

from __future__ import annotations

import sqlalchemy as sa

from streams.consumers.database import Json, Text, UtcTime, meta_table
from streams.consumers.positions import positions_table

SCHEMA = "6"
"""Raise with every change here: a catalog of another schema is built anew from the log."""

metadata = sa.MetaData()
meta = meta_table(metadata)
positions = positions_table(metadata)


def _origin() -> list[sa.Column[int]]:
    return [
        sa.Column("partition", sa.Integer, nullable=False),
        sa.Column("log_offset", sa.BigInteger, nullable=False),
        sa.Column("generation", sa.Integer, nullable=False),
    ]


def _sequence(prefix: str = "", *, nullable: bool = False, primary_key: bool = False) -> list[sa.Column[int]]:
    return [
        sa.Column(f"{prefix}{name}", sa.BigInteger, nullable=nullable, primary_key=primary_key, autoincrement=False)
        for name in ("epoch", "offset")
    ]


def _version_facts() -> list[sa.Column[object]]:
    """Of one version; `documents` repeats those of the current version (of the last one, once deleted)."""
    columns: list[sa.Column[object]] = [
        sa.Column("outcome", Text),
        sa.Column("problems", Json, nullable=False),
        sa.Column("warnings", Json, nullable=False),
        sa.Column("rule", Text),
        sa.Column("error", Text),
        sa.Column("content_hash", Text),
        sa.Column("size", sa.BigInteger),
        sa.Column("media_type", Text),
        sa.Column("declared_media_type", Text),
        sa.Column("mismatch", sa.Boolean),
        sa.Column("detected_by", Text),
        sa.Column("encoding", Text),
        sa.Column("encoding_source", Text),
        sa.Column("encoding_confidence", sa.Float),
        sa.Column("language", Text),
        sa.Column("title", Text),
        sa.Column("page_count", sa.Integer),
        sa.Column("characters", sa.BigInteger),
        sa.Column("tables", sa.Integer),
        sa.Column("method", Text),
        sa.Column("confidence", sa.Float),
        sa.Column("extractor", Text),
        sa.Column("extractor_version", Text),
        sa.Column("fingerprint", Text),
        sa.Column("valid_from", UtcTime),
        sa.Column("valid_to", UtcTime),
        sa.Column("source_updated_at", UtcTime),
        sa.Column("ingested_at", UtcTime),
        sa.Column("settled_at", UtcTime),
        sa.Column("lane", Text),
        sa.Column("ready_at", UtcTime),  # for the first time
    ]
    return columns


documents = sa.Table(
    "documents",
    metadata,
    sa.Column("source_id", Text, primary_key=True),
    *_origin(),
    sa.Column("source", Text, nullable=False, index=True),
    sa.Column("path", Text, nullable=False),
    sa.Column("file_name", Text, nullable=False),
    sa.Column("status", Text, nullable=False),
    sa.Column("owner", Text),
    sa.Column("readers", Json),
    sa.Column("parent_source_id", Text, index=True),
    sa.Column("children", Json, nullable=False),
    sa.Column("conflict", sa.Boolean, nullable=False),
    sa.Column("stale", sa.Boolean, nullable=False),
    *_sequence("high_water_"),
    *_sequence("current_", nullable=True),
    *_sequence("published_", nullable=True),
    *_version_facts(),
    sa.Column("updated_at", UtcTime, nullable=False),  # when the ledger wrote this state
)
# PostgreSQL's B-trees take no key above 2.7 kB; a path can be longer.
sa.Index("documents_by_path", documents.c.path, postgresql_using="hash")
sa.Index("documents_by_file_name", documents.c.file_name, postgresql_using="hash")
sa.Index("documents_by_content", documents.c.content_hash, documents.c.status)
# What is counted for the status stands in narrow indexes: the rows themselves are long.
sa.Index(
    "documents_by_outcome",
    *(documents.c[name] for name in ("status", "outcome", "media_type", "stale", "published_offset", "source")),
)
sa.Index("documents_by_readiness", documents.c.source, documents.c.lane, documents.c.ready_at)

versions = sa.Table(
    "versions",
    metadata,
    sa.Column("source_id", Text, primary_key=True),
    *_sequence(primary_key=True),
    *_sequence("superseded_by_", nullable=True),
    *_version_facts(),
    sa.Column("manifest", Json, nullable=False),
    sa.Column("detection", Json),
    sa.Column("policy", Text),
    sa.Column("scores", Json, nullable=False),
    sa.Column("pages", Json, nullable=False),
    sa.Column("canons", Json, nullable=False),
    sa.Column("judgements", Json, nullable=False),  # of all attempts, the one that counts last
    sa.Column("timings", Json, nullable=False),
    sa.Column("seconds", sa.Float, nullable=False),  # of all stages
)
sa.Index("versions_by_extractor", versions.c.extractor, versions.c.extractor_version)
sa.Index("versions_by_day", versions.c.settled_at, versions.c.outcome)

problems = sa.Table(
    "problems",
    metadata,
    sa.Column("source_id", Text, primary_key=True),
    *_sequence(primary_key=True),
    sa.Column("code", Text, primary_key=True, index=True),
)
"""One row for each problem of each version."""

decisions = sa.Table(
    "decisions",
    metadata,
    sa.Column("source_id", Text, primary_key=True),
    *_sequence(primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),  # by when it was carried out
    sa.Column("kind", Text, nullable=False),
    sa.Column("tool", Text),
    sa.Column("actor", Text, nullable=False),
    sa.Column("reason", Text, nullable=False),
    sa.Column("decided_at", UtcTime, nullable=False),
    sa.Column("carried_out_at", UtcTime),
    sa.Column("answered_at", UtcTime),  # of one that asks for work
    sa.Column("batch", Text, nullable=False, index=True),  # see `streams.consumers.catalog_quarantine.batch_of`
)
"""What people decided about each version."""
sa.Index("decisions_by_time", decisions.c.decided_at)

changes = sa.Table(
    "changes",
    metadata,
    sa.Column("source_id", Text, primary_key=True),
    *_sequence(primary_key=True),
    sa.Column("operation", Text, nullable=False),
    sa.Column("at", UtcTime, nullable=False),
    sa.Column("path", Text),
    sa.Column("file_name", Text),
    sa.Column("readers", Json),
    sa.Column("owner", Text),
    sa.Column("actor", Text),
    sa.Column("reason", Text),
)

canons = sa.Table(
    "canons",
    metadata,
    sa.Column("source_id", Text, primary_key=True),
    *_origin(),
    *_sequence(),
    sa.Column("content_hash", Text, nullable=False),
    sa.Column("fingerprint", Text, nullable=False),
    sa.Column("payload_key", Text, nullable=False),
    sa.Column("payload_sha256", Text, nullable=False),
    sa.Column("payload_size", sa.BigInteger, nullable=False),
    sa.Column("stale", sa.Boolean, nullable=False),
    sa.Column("problems", Json, nullable=False),
    sa.Column("warnings", Json, nullable=False),
    sa.Column("scores", Json, nullable=False),
    sa.Column("pages", Json, nullable=False),
    sa.Column("source_updated_at", UtcTime),
    sa.Column("ingested_at", UtcTime, nullable=False),
    sa.Column("canon_ready_at", UtcTime, nullable=False),
    sa.Column("signature", sa.LargeBinary),  # of the text, see `streams.screen.near`
)
"""What consumers see now."""

near_bands = sa.Table(
    "near_bands",
    metadata,
    sa.Column("source_id", Text, primary_key=True),
    sa.Column("band", sa.BigInteger, primary_key=True, autoincrement=False),
    sqlite_with_rowid=False,
)
"""Of each text that consumers see: the bands of its signature. Texts that are alike share one."""
sa.Index("near_bands_by_band", near_bands.c.band)

quarantine = sa.Table(
    "quarantine",
    metadata,
    sa.Column("source_id", Text, primary_key=True),
    *_origin(),
    *_sequence(),
    sa.Column("source", Text, nullable=False),
    sa.Column("path", Text, nullable=False),
    sa.Column("file_name", Text, nullable=False),
    sa.Column("owner", Text),
    sa.Column("readers", Json),
    sa.Column("content_hash", Text),
    sa.Column("size", sa.BigInteger),
    sa.Column("media_type", Text),
    sa.Column("problems", Json, nullable=False),
    sa.Column("error", Text),
    sa.Column("extractor", Text),
    sa.Column("extractor_version", Text),
    sa.Column("scores", Json, nullable=False),
    sa.Column("pages", Json, nullable=False),
    sa.Column("attempts", Json, nullable=False),
    sa.Column("payload_key", Text),
    sa.Column("payload_sha256", Text),
    sa.Column("held_since", UtcTime, nullable=False, index=True),
    sa.Column("deadline", UtcTime, index=True),
)
sa.Index("quarantine_by_owner", quarantine.c.owner, postgresql_using="hash")
sa.Index("quarantine_by_kind", quarantine.c.source, quarantine.c.media_type, quarantine.c.extractor)

held_problems = sa.Table(
    "held_problems",
    metadata,
    sa.Column("source_id", Text, primary_key=True),
    sa.Column("code", Text, primary_key=True),
    sa.Column("extractor", Text),
    sa.Column("extractor_version", Text),
    sa.Column("media_type", Text),
    sa.Column("held_since", UtcTime, nullable=False),
    sa.Column("deadline", UtcTime),
)
"""One row for each problem of each held document, with what makes its group and orders it there."""
sa.Index("held_groups", *(held_problems.c[name] for name in (
    "code", "extractor", "extractor_version", "media_type", "held_since", "source_id", "deadline")))  # fmt: skip

deletions = sa.Table(
    "deletions",
    metadata,
    sa.Column("source_id", Text, primary_key=True),
    *_sequence(primary_key=True),
    *_origin(),
    sa.Column("source", Text, nullable=False),
    sa.Column("path", Text, nullable=False),
    sa.Column("content_hash", Text),
    sa.Column("fingerprint", Text),
    sa.Column("parent_source_id", Text),
    sa.Column("actor", Text),
    sa.Column("reason", Text),
    sa.Column("deleted_at", UtcTime, nullable=False),
    sa.Column("erased_at", UtcTime),
    sa.Column("erased_by", Text),
    sa.Column("erased_why", Text),
    sa.Column("erased", Json),
)

contents = sa.Table(
    "contents",
    metadata,
    sa.Column("content_hash", Text, primary_key=True),
    *_origin(),
    sa.Column("size", sa.BigInteger, nullable=False),
    sa.Column("complete", sa.Boolean, nullable=False),  # whether `content_links` has all
)

content_links = sa.Table(
    "content_links",
    metadata,
    sa.Column("content_hash", Text, primary_key=True),
    sa.Column("source_id", Text, primary_key=True, index=True),
    sa.Column("path", Text, nullable=False),
    sa.Column("owner", Text),
    sa.Column("readers", Json),
)
