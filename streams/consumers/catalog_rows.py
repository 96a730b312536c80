"""What the catalog answers with."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec


class DocumentRow(msgspec.Struct, frozen=True, kw_only=True):
    """One document; the facts are those of its current version (of its last one, once deleted)."""

    source_id: str
    source: str
    path: str
    file_name: str
    status: str  # live, deleted
    outcome: str | None  # pending, ready, quarantined, skipped
    problems: list[str]
    warnings: list[str]
    rule: str | None
    error: str | None
    content_hash: str | None
    size: int | None
    media_type: str | None
    declared_media_type: str | None
    mismatch: bool | None
    detected_by: str | None
    encoding: str | None
    encoding_source: str | None
    encoding_confidence: float | None
    language: str | None
    title: str | None
    page_count: int | None
    characters: int | None
    tables: int | None
    method: str | None
    confidence: float | None
    extractor: str | None
    extractor_version: str | None
    fingerprint: str | None
    valid_from: datetime | None
    valid_to: datetime | None
    source_updated_at: datetime | None
    ingested_at: datetime | None
    settled_at: datetime | None
    lane: str | None
    ready_at: datetime | None
    owner: str | None
    readers: list[str] | None
    parent_source_id: str | None
    children: list[str]
    conflict: bool
    stale: bool
    high_water_epoch: int
    high_water_offset: int
    current_epoch: int | None
    current_offset: int | None
    published_epoch: int | None
    published_offset: int | None
    partition: int
    updated_at: datetime


class Story(msgspec.Struct, frozen=True, kw_only=True):
    """All that is known of one document; the rows have the columns of `catalog_tables`, oldest first."""

    document: DocumentRow
    versions: list[dict[str, Any]]
    changes: list[dict[str, Any]]
    canon: dict[str, Any] | None  # what consumers see
    held: dict[str, Any] | None  # in quarantine
    deletions: list[dict[str, Any]]
    same_content: list[dict[str, Any]]  # other living documents with the same bytes, each with its own rights
    more_of_same_content: bool  # than are listed
    children: list[DocumentRow]


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """One document in quarantine."""

    source_id: str
    epoch: int
    offset: int
    source: str
    path: str
    file_name: str
    owner: str | None
    content_hash: str | None
    size: int | None
    media_type: str | None
    problems: list[str]
    error: str | None
    extractor: str | None
    extractor_version: str | None
    scores: dict[str, float]
    attempts: list[dict[str, Any]]
    payload_key: str | None
    payload_sha256: str | None
    held_since: datetime
    deadline: datetime | None


class OutcomeCount(msgspec.Struct, frozen=True):
    """How many living documents of a format ended how."""

    media_type: str | None
    outcome: str | None
    count: int


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """The catalog in numbers."""

    live: int
    deleted: int
    outcomes: dict[str, int]  # of the living
    published: int  # what consumers see
    stale: int
    held: int
    oldest_held: datetime | None
    contents: int  # different contents with a living document


class Latency(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds from ingestion to the first canon, of the documents of one lane that became ready last."""

    documents: int
    p50_s: float
    p95_s: float
    until: datetime  # when the newest of them became ready


class SourceFreshness(msgspec.Struct, frozen=True, kw_only=True):
    """How fresh a source is. Only lane live counts: what a replay or a backfill does makes nothing fresh, or late."""

    source: str
    unsettled: int  # live documents whose newest version has no outcome yet
    oldest_unsettled: datetime | None  # its ingestion
    held: int  # live documents whose newest version is in quarantine: not fresh either
    oldest_held: datetime | None  # its ingestion
    latency: dict[str, Latency]  # by lane
