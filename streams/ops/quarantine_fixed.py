"""Held documents that a newer extractor may read: the version that failed on them is not the one that is installed now.

Nothing is done by itself. Who has installed a new version sees with this what it may mend, and releases it metered,
when that suits. The fingerprint decides, so a new version of a library counts as well; that of this machine is
compared, which should be what the workers run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from streams.consumers.catalog import Catalog
from streams.consumers.catalog_quarantine import EXAMPLES, Group, GroupRow, HeldFilter, judgements_of
from streams.consumers.catalog_rows import Held
from streams.extract.registry import ExtractorSpec, fingerprint, plan
from streams.ops.quarantine import held
from streams.records import Detection

_PAGE = 500
_NO_FAULT_OF_A_TOOL = frozenset({"version_conflict"})


class Fixed(msgspec.Struct, frozen=True, kw_only=True):
    """A held document, and the extractor that has not tried it yet."""

    row: Held
    now: str  # name, version and fingerprint


def fixed(catalog: Catalog, wanted: HeldFilter) -> Iterator[Fixed]:
    """Held documents of which the format's own extractor has not failed in the version of now; longest held first."""
    page: list[Held] = []
    for row in held(catalog, wanted):
        page.append(row)
        if len(page) == _PAGE:
            yield from _of(catalog, page)
            page = []
    yield from _of(catalog, page)


def group_rows(rows: Iterable[Held]) -> list[GroupRow]:
    """The groups of these documents, the largest first. They must come in the order in which they are held."""
    found: dict[Group, list[Held]] = {}
    for row in rows:
        for code in dict.fromkeys(row.problems):
            group = Group(code=code, tool=row.extractor, version=row.extractor_version, media_type=row.media_type)
            found.setdefault(group, []).append(row)
    made = [
        GroupRow(
            group=group,
            count=len(members),
            oldest=members[0].held_since,
            next_deadline=min((row.deadline for row in members if row.deadline is not None), default=None),
            examples=[row.path for row in members[:EXAMPLES]],
        )
        for group, members in found.items()
    ]
    return sorted(made, key=lambda row: (-row.count, row.group.id))


def _of(catalog: Catalog, rows: list[Held]) -> Iterator[Fixed]:
    ids = [row.source_id for row in rows]
    documents = catalog.rows(ids)
    with catalog.reading() as connection:
        judged = judgements_of(connection, ids)
    for row in rows:
        document = documents.get(row.source_id)
        if document is None or row.media_type is None or row.content_hash is None:
            continue
        detection = Detection(media_type=row.media_type, detected_by="", encoding=document.encoding)
        spec = plan(detection)
        if spec is None or _NO_FAULT_OF_A_TOOL.intersection(row.problems):
            continue
        now = fingerprint(spec, detection)
        if not _has_tried(row, judged.get(row.source_id, []), spec, now):
            yield Fixed(row=row, now=f"{spec.name} {spec.version} [{now}]")


def _has_tried(row: Held, judged: list[dict[str, Any]], spec: ExtractorSpec, now: str) -> bool:
    """Whether this extractor in this version has tried the document; in doubt it has."""
    attempts = [judgement for judgement in judged if judgement["extractor"] is not None]
    if not attempts:
        return "unsupported_format" not in row.problems  # decode ended it, and no extractor is asked before that
    return any(attempt["fingerprint"] == now or _recognised(attempt, spec) for attempt in attempts)


def _recognised(attempt: dict[str, Any], spec: ExtractorSpec) -> bool:
    """Whether an attempt is this extractor's, with pages recognised by the recognition of now."""
    base, _, engine = attempt["extractor"].partition("+")
    if not engine or base != spec.name:
        return False
    from streams.extract.recognise import VERSION  # loads what reads pictures

    return str(attempt["extractor_version"]).split(" ", 1)[0] == f"{spec.version}+{VERSION}"
