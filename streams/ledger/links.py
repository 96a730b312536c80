"""Which contents a document refers to: what changes in it, as records for `content-links`."""

from __future__ import annotations

from streams.ledger.timeline import version_at
from streams.records import Content, ContentLink, Sequence, SourceState, Status


def links(before: SourceState | None, after: SourceState) -> list[ContentLink]:
    """What a change of a document's state changes in the places of contents; nothing for most changes.

    A document refers to the content of its current version as long as it lives, whatever became of the version: also a
    held one has its original. An empty file is no content that could be anywhere else.
    """
    old, new = _living(before), _living(after)
    if _place(before, old) == _place(after, new):
        return []
    found = []
    if old is not None and (new is None or new.sha256 != old.sha256):
        found.append(_link(after, old, living=False))
    if new is not None:
        found.append(_link(after, new, living=True))
    return found


def newest(state: SourceState) -> Sequence:
    """The newest event that a state knows of; a result can be known before its event, see `high_water`."""
    return max(state.high_water, state.versions[-1].sequence) if state.versions else state.high_water


def _living(state: SourceState | None) -> Content | None:
    if state is None or state.status is not Status.LIVE:
        return None
    version = version_at(state, state.current)
    content = version.content if version is not None else None
    return content if content is not None and content.size else None


def _place(state: SourceState | None, content: Content | None) -> object:
    if state is None or content is None:
        return None
    return (content.sha256, state.path, state.owner, state.readers)


def _link(state: SourceState, content: Content, *, living: bool) -> ContentLink:
    return ContentLink(
        content_hash=content.sha256,
        source_id=state.source_id,
        sequence=newest(state),
        living=living,
        size=content.size,
        path=state.path if living else "",
        owner=state.owner if living else None,
        readers=state.readers if living else None,
    )
