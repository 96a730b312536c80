"""What an extractor is given and what it gives back."""

from __future__ import annotations

from pathlib import Path

import msgspec

from streams.records import Block, Detection, Dropped, Method, Page, Table


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One content to extract. Nothing here says where it came from, so equal bytes give equal canons (R-CAN-7)."""

    path: Path  # the original bytes, readable, under a name without meaning
    detection: Detection
    language_hint: str | None = None
    max_pages: int = 10_000


class Draft(msgspec.Struct, kw_only=True):
    """What an extractor found, in reading order; `streams.extract.finish` makes the canon body of it.

    `blocks` have no ids, sections or language yet. A caption or footnote that belongs to another block says so by
    `refs`: index of the block -> index of the block it belongs to.
    """

    blocks: list[Block]
    tables: list[Table] = []
    pages: list[Page] = []
    page_count: int | None = None
    method: Method = Method.NATIVE
    title: str | None = None
    authors: list[str] = []
    created: str | None = None  # ISO 8601 UTC, null when absent or impossible (then a warning `bad_date`)
    modified: str | None = None
    language: str | None = None  # as the document declares it, ISO 639-1
    warnings: list[str] = []
    dropped: list[Dropped] = []
    metadata: dict[str, str] = {}
    refs: dict[int, int] = {}
