"""From bytes or a draft to a canon, in one call."""

from __future__ import annotations

from pathlib import Path

from streams.extract import extract
from streams.extract.finish import finish
from streams.extract.outcome import Draft, Request
from streams.extract.registry import named
from streams.records import Block, BlockKind, BlockSource, CanonBody, Detection

HASH = "0" * 64


def canon(folder: Path, data: bytes | str, media_type: str, *, encoding: str = "utf-8", **more: object) -> CanonBody:
    """The canon of these bytes, taken for `media_type`."""
    path = folder / "content"
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    detection = Detection(media_type=media_type, detected_by="test", encoding=encoding, **more)  # type: ignore[arg-type]
    return extract(Request(path=path, detection=detection), content_hash=HASH)


def finished(draft: Draft) -> CanonBody:
    """The canon of a draft."""
    spec = named("text")
    assert spec is not None
    return finish(draft, content_hash=HASH, detection=Detection(media_type="text/plain", detected_by="test"), spec=spec)


def block(kind: BlockKind, text: str, **more: object) -> Block:
    """A block from markup."""
    return Block(kind=kind, text=text, source=BlockSource.MARKUP, **more)  # type: ignore[arg-type]


def kinds(body: CanonBody) -> list[tuple[str, str]]:
    """Kind and text of every block."""
    return [(b.kind.value, b.text) for b in body.blocks]
