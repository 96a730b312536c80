"""Messages made line by line, and their canon."""

from __future__ import annotations

from pathlib import Path

from streams.records import BlockKind, CanonBody
from tests.unit.extract.drafts import canon


def mail(folder: Path, *lines: str | bytes, media_type: str = "message/rfc822") -> CanonBody:
    """The canon of a message of these lines."""
    data = b"\r\n".join(line if isinstance(line, bytes) else line.encode() for line in lines)
    return canon(folder, data, media_type)


def said(body: CanonBody) -> list[tuple[str, str]]:
    """Kind and text of the blocks below the head."""
    head = (BlockKind.METADATA, BlockKind.TITLE)
    return [(block.kind.value, block.text) for block in body.blocks if block.kind not in head]


def head(body: CanonBody) -> list[str]:
    """The metadata blocks."""
    return [block.text for block in body.blocks if block.kind is BlockKind.METADATA]
