"""Which stage reads and writes which topic. The way of a document, on one screen.

connectors -> raw-arrived -> decode -> decoded -> extract -> extracted -> screen -> screened -> ledger
decode -> raw-arrived: members of containers; screen -> recognize -> extracted: pages that are pictures
screen -> decoded: another extractor's turn
ledger (reads raw-arrived and decisions, too) -> canon-ready, deleted, quarantine, versions -> consumers
ledger -> content-links -> provenance -> contents -> consumers
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Stage:
    """One Faust app and consumer group, named canonry-<name>."""

    name: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]  # besides dead-letter, where every stage puts what it can't decode
    does: str


STAGES: dict[str, Stage] = {
    stage.name: stage
    for stage in (
        Stage("decode", ("raw-arrived",), ("decoded", "raw-arrived"), "format, encoding, and members of containers"),
        Stage("extract", ("decoded",), ("extracted",), "the canon: blocks, tables, geometry, confidence"),
        Stage(
            "screen", ("extracted",), ("screened", "recognize", "decoded"), "legibility and quality, and the verdict"
        ),
        Stage("recognize", ("recognize",), ("extracted", "recognize"), "the text of pages that are pictures"),
        Stage(
            "ledger",
            ("raw-arrived", "screened", "decisions"),
            (
                "canon-ready",
                "deleted",
                "quarantine",
                "versions",
                "content-links",
                "decoded",
                "raw-arrived",
                "recognize",
            ),
            "versions and validity: what consumers may see",
        ),
        Stage("provenance", ("content-links",), ("contents",), "where each content lives, and who may read it there"),
    )
}

DEAD_LETTER = "dead-letter"
KEYED_BY_CONTENT = ("content-links", "contents")
"""Keyed by content hash; all other topics are keyed by source_id."""


def key_field(topic: str) -> str:
    """The field of a topic's records that is their key."""
    return "content_hash" if topic in KEYED_BY_CONTENT else "source_id"


def group_id(stage: str, prefix: str = "") -> str:
    """The consumer group of a stage."""
    return f"{prefix}canonry-{stage}"
