"""OpenDocument texts (ODT, OTT, flat ODT): all that is shown and all that hides, in the accepted view of changes.

Reads the XML itself: the usual libraries give deleted text as text, no numbers of lists, and each text box twice.
"""

from __future__ import annotations

from collections import Counter

from lxml import etree

from streams.extract.odf import Source, attr, children, descendants, document_info, open_source
from streams.extract.odf_body import Body, Found
from streams.extract.odf_styles import Styles
from streams.extract.outcome import Draft, Request
from streams.records import BlockKind, Dropped

_DROPPED = {
    "covered": "covered_cell_text",
    "deleted": "deleted_revisions",
    "embedded": "embedded_files",
    "empty_tables": "empty_tables",
    "header_images": "header_images",
    "media": "media",
    "ruby": "ruby",
    "script": "script",
    "symbols": "unmapped_symbols",
}


def extract(request: Request) -> Draft:
    """The blocks, grids and notes of one text document.

    Errors: DocumentError `encrypted`, `truncated`, `corrupt`, `bomb` or `too_large`. A side part that is damaged is a
    warning (`part_damaged`); the content is not.
    """
    with open_source(request.path) as source:
        container = source.body("office:text")
        counts: Counter[str] = Counter()
        body = Body(source, Styles(source, source.content), counts)
        masters = _masters(source, body.styles)
        side = Body(source, Styles(source, source.styles), counts)
        _furniture(body, side, masters, "style:header", BlockKind.PAGE_HEADER)
        body.walk(container)
        body.finish()
        _furniture(body, side, masters, "style:footer", BlockKind.PAGE_FOOTER)
        draft = Draft(blocks=body.blocks, tables=body.tables, refs=body.refs)
        document_info(source, draft)
        shown = next((one.text for one in body.blocks if one.kind is BlockKind.TITLE and not one.hidden), None)
        draft.title = draft.title or shown
        draft.language = draft.language or body.styles.language
        account(source, draft, counts)
        return draft


def account(source: Source, draft: Draft, counts: Counter[str]) -> None:
    """Says what was changed, hidden or left out, and how much of it."""
    if counts["inserted"] or counts["deleted"]:
        source.warn("tracked_changes")
        draft.metadata["inserted_revisions"] = str(counts["inserted"])
        draft.metadata["deleted_revisions"] = str(counts["deleted"])
    if counts["hidden"]:
        source.warn("hidden_text")
        draft.metadata["hidden_characters"] = str(counts["hidden"])
    if counts["embedded"]:
        source.warn("embedded_not_read")
    if source.package is not None and any(part.startswith("basic/") for part in source.package.parts()):
        draft.metadata["macros"] = "present, not run"
    draft.dropped = [Dropped(what=what, count=counts[key]) for key, what in _DROPPED.items() if counts[key]]
    draft.warnings = sorted(source.warnings)


def _masters(source: Source, styles: Styles) -> list[etree._Element]:
    """The master pages (16.9) that the text uses: the standard one, those that styles ask for, and their next ones."""
    pages = {attr(one, "style:name") or "": one for one in descendants(source.styles, "style:master-page")}
    wanted = [name for name in ("Standard", *styles.master_pages()) if name in pages] or list(pages)[:1]
    found: dict[str, etree._Element] = {}
    while wanted:
        name = wanted.pop(0)
        if name in pages and name not in found:
            found[name] = pages[name]
            wanted.append(attr(pages[name], "style:next-style-name") or "")
    return list(found.values())


def _furniture(body: Body, side: Body, masters: list[etree._Element], wanted: str, kind: BlockKind) -> None:
    """Headers or footers of the master pages, each distinct text once."""
    texts: set[str] = set()
    for master in masters:
        for name, element in children(master):
            if not name.replace("loext:", "style:").startswith(wanted) or attr(element, "style:display") == "false":
                continue
            found = Found()
            regions = [one for tag, one in children(element) if tag.startswith("style:region-")]
            text = "\n".join(line for one in regions or [element] for line in side.lines(one, found))
            body.counts["header_images"] += len(found.figures)
            if text and text not in texts:
                texts.add(text)
                only_number = found.page_field and not any(sign.isalpha() for sign in "".join(found.outside_fields))
                body.put(BlockKind.PAGE_NUMBER if only_number else kind, text, links=found.links)
