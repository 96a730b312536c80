"""The history of one document as the ledger's own record, put together from the catalog's rows."""

from __future__ import annotations

from typing import Any

import msgspec

from streams.consumers.catalog_rows import Story
from streams.records import (
    CanonVersion,
    Change,
    Content,
    Manifest,
    Operation,
    Outcome,
    Sequence,
    SourceState,
    Status,
    Version,
)


def state_of(story: Story) -> SourceState:
    """The state of a document, as far as its history goes: versions with canons, changes, validity."""
    row = story.document
    return SourceState(
        source_id=row.source_id,
        status=Status(row.status),
        high_water=Sequence(epoch=row.high_water_epoch, offset=row.high_water_offset),
        versions=[_version(version) for version in story.versions],
        changes=[_change(change) for change in story.changes],
        path=row.path,
        file_name=row.file_name,
        source=row.source,
        owner=row.owner,
        readers=row.readers,
        parent_source_id=row.parent_source_id,
        children=row.children,
        conflict=row.conflict,
        current=_sequence(row.current_epoch, row.current_offset),
        published=_sequence(row.published_epoch, row.published_offset),
        stale=row.stale,
    )


def erasure_of(story: Story, version: Version) -> dict[str, Any] | None:
    """The proof of the erasure that took this version's text, if there was one: a row of the catalog's `deletions`."""
    place = (version.sequence.epoch, version.sequence.offset)
    proofs = [d for d in story.deletions if d["erased_at"] is not None and (d["epoch"], d["offset"]) > place]
    return proofs[0] if proofs else None


def _version(row: dict[str, Any]) -> Version:
    return Version(
        sequence=Sequence(epoch=row["epoch"], offset=row["offset"]),
        manifest=msgspec.convert(row["manifest"], Manifest),
        content=Content(sha256=row["content_hash"], size=row["size"] or 0) if row["content_hash"] else None,
        valid_from=row["valid_from"],
        valid_to=row["valid_to"],
        superseded_by=_sequence(row["superseded_by_epoch"], row["superseded_by_offset"]),
        outcome=Outcome(row["outcome"]),
        canons=msgspec.convert(row["canons"], list[CanonVersion]),
        settled_at=row["settled_at"],
        ready_at=row["ready_at"],
    )


def _sequence(epoch: int | None, offset: int | None) -> Sequence | None:
    return Sequence(epoch=epoch, offset=offset) if epoch is not None and offset is not None else None


def _change(row: dict[str, Any]) -> Change:
    return Change(
        operation=Operation(row["operation"]),
        sequence=Sequence(epoch=row["epoch"], offset=row["offset"]),
        at=row["at"],
        path=row["path"],
        file_name=row["file_name"],
        readers=row["readers"],
        owner=row["owner"],
        actor=row["actor"],
        reason=row["reason"],
    )
