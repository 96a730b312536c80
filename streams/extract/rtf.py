"""RTF: text with its code pages, tables, notes and revisions; HTML mail inside RTF as the HTML it was."""

from __future__ import annotations

from streams.errors import DocumentError
from streams.extract.html import parse
from streams.extract.outcome import Draft, Request
from streams.extract.rtf_document import RtfDocument
from streams.extract.rtf_html import HtmlStory
from streams.records import BlockKind, Dropped

MAX_BYTES = 300 * 1024 * 1024
"""Bytes of one file; nearly all of a large one are pictures."""

_DROPPED = {
    "deleted": "deleted_revisions",
    "empty_tables": "empty_tables",
    "header_images": "header_images",
    "objects": "embedded_files",
}
_METADATA = ("subject", "description", "keywords", "category", "company", "manager", "last_modified_by")


def extract(request: Request) -> Draft:
    """The blocks, grids and notes of one RTF file.

    Errors: DocumentError `corrupt`, `truncated` (cut off before any text) or `too_large`. A file that is cut off later
    gives what there is, with a warning `truncated`.
    """
    size = request.path.stat().st_size
    if size > MAX_BYTES:
        raise DocumentError("too_large", f"It has {size} bytes; the limit for RTF is {MAX_BYTES}.")
    data = request.path.read_bytes()
    start = data[:4096].find(b"{\\rtf")
    if start < 0:
        raise DocumentError("corrupt", "It does not begin as RTF does.")
    document = RtfDocument()
    document.read_all(data[start:] if start else data)
    draft = _html(document.html) if document.html is not None else _native(document)
    if "truncated" in document.warnings and not any(block.text or block.table is not None for block in draft.blocks):
        raise DocumentError("truncated", "It is cut off before any text.")
    _properties(document, draft)
    _account(document, draft, request)
    return draft


def _native(document: RtfDocument) -> Draft:
    return Draft(blocks=document.body.blocks, tables=document.body.tables, refs=document.body.refs)


def _html(story: HtmlStory) -> Draft:
    """The page that was encapsulated, read as HTML is."""
    walk, meta, flattened = parse(story.source())
    if flattened:
        walk.warnings.add("deep_nesting")
        walk.dropped["nesting"] += flattened
    return Draft(
        blocks=walk.blocks,
        tables=walk.tables,
        refs=walk.refs,
        title=meta.title,
        authors=meta.authors,
        language=meta.language,
        warnings=sorted(walk.warnings),
        dropped=[Dropped(what=what, count=count) for what, count in walk.dropped.items()],
        metadata={"encapsulated": "html"},
    )


def _properties(document: RtfDocument, draft: Draft) -> None:
    """Title, authors and dates of `\\info`. Its times have no zone, so only their dates are sure."""
    texts = document.texts
    shown = next((block.text for block in draft.blocks if block.kind is BlockKind.TITLE and not block.hidden), None)
    draft.title = texts.get("title") or draft.title or shown
    own = [author for part in texts.get("author", "").split(";") if (author := part.strip())]
    draft.authors = own or draft.authors
    draft.created = _date(document, "created")
    draft.modified = _date(document, "modified")
    draft.metadata |= {name: texts[name] for name in _METADATA if texts.get(name)}


def _date(document: RtfDocument, name: str) -> str | None:
    """A date as ISO 8601; an impossible one as it stands, for `finish` to say so."""
    parts = document.times.get(name) or {}
    year = parts.get(b"yr", 0)
    if not any(parts.values()) or not year:
        return None
    if not 1900 <= year <= 9999:
        document.warn("bad_date")
        return None
    return f"{year:04d}-{parts.get(b'mo', 0):02d}-{parts.get(b'dy', 0):02d}"


def _account(document: RtfDocument, draft: Draft, request: Request) -> None:
    """Says what was changed, hidden or left out, and how much of it."""
    counts = document.counts
    if counts["inserted"] or counts["deleted"]:
        document.warn("tracked_changes")
        draft.metadata["inserted_revisions"] = str(counts["inserted"])
        draft.metadata["deleted_revisions"] = str(counts["deleted"])
    if counts["hidden"]:
        document.warn("hidden_text")
        draft.metadata["hidden_characters"] = str(counts["hidden"])
    if counts["objects"]:
        document.warn("embedded_not_read")
    if counts["pictures"]:
        draft.metadata["pictures"] = str(counts["pictures"])
    draft.dropped += [Dropped(what=what, count=counts[key]) for key, what in _DROPPED.items() if counts[key]]
    draft.warnings = list(dict.fromkeys([*request.detection.warnings, *draft.warnings, *document.warnings]))
