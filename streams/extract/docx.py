"""Word documents (DOCX, DOCM): everything a reader sees and everything that hides, in the accepted view of revisions.

Reads the XML itself: the usual libraries lose insertions, content controls, notes, and text boxes without a word.
"""

from __future__ import annotations

from collections import Counter

from lxml import etree

from streams.errors import DocumentError
from streams.extract.docx_body import Body, Found
from streams.extract.docx_inline import InlineReader
from streams.extract.docx_notes import Notes
from streams.extract.docx_numbering import Numbering
from streams.extract.docx_styles import Styles
from streams.extract.ooxml import Package, attr, child, children, core_properties, descendants
from streams.extract.outcome import Draft, Request
from streams.records import Block, BlockKind, BlockSource, Dropped

NAME = "docx"
VERSION = "1"

_DROPPED = {
    "deleted": "deleted_revisions",
    "covered": "covered_cell_text",
    "empty_tables": "empty_tables",
    "header_images": "header_images",
    "ruby": "ruby",
    "symbols": "unmapped_symbols",
}
_METADATA = {
    "dc:subject": "subject",
    "dc:description": "description",
    "cp:keywords": "keywords",
    "cp:category": "category",
    "cp:lastModifiedBy": "last_modified_by",
}


def extract(request: Request) -> Draft:
    """The blocks, grids and notes of one Word document.

    Errors: DocumentError `encrypted`, `truncated`, `corrupt`, `bomb` or `too_large`. A side part that is missing or
    damaged is a warning (`part_missing`, `part_damaged`); the main part is not.
    """
    with Package(request.path) as package:
        return read_package(package)


def read_package(package: Package) -> Draft:
    """As `extract`, of an opened package: the file itself, or a document that Word imports into another."""
    main = _main_part(package)
    root = package.xml(main)
    container = child(root, "w:body")
    if container is None:
        raise DocumentError("corrupt", f"The part {main} has no body.")
    counts: Counter[str] = Counter()
    styles = Styles(package.optional_xml(package.related(main, "styles")))
    numbering = Numbering(package.optional_xml(package.related(main, "numbering")))
    notes = Notes(package, main, root, styles, counts)
    reader = InlineReader(package, main, styles, counts)
    body = Body(reader, styles, numbering, notes)
    _furniture(body, package, main, root, styles, "w:headerReference", BlockKind.PAGE_HEADER)
    body.walk(reader, container)
    body.finish()
    _furniture(body, package, main, root, styles, "w:footerReference", BlockKind.PAGE_FOOTER)
    draft = Draft(blocks=body.blocks, tables=body.tables, refs=body.refs)
    _properties(package, draft)
    _account(package, draft, counts, numbering, notes)
    return draft


def _main_part(package: Package) -> str:
    """The document part, by the package's own relationship; by its media type or usual name if that is damaged."""
    named = package.related("", "officeDocument")
    if named is not None and named in package:
        return named
    for part in package.parts():
        if package.content_type(part).endswith(("document.main+xml", "macroenabled.main+xml")):
            return part
    if "word/document.xml" in package:
        return "word/document.xml"
    raise DocumentError("corrupt", "The package has no Word document part.")


def _furniture(
    body: Body, package: Package, main: str, root: etree._Element, styles: Styles, wanted: str, kind: BlockKind
) -> None:
    """Headers or footers of all sections, each distinct text once."""
    relationships = package.relationships(main)
    parts: list[str] = []
    for section in descendants(root, "w:sectPr"):
        for name, reference in children(section):
            relationship = relationships.get(attr(reference, "r:id") or "") if name == wanted else None
            if relationship is not None and not relationship.external and relationship.target not in parts:
                parts.append(relationship.target)
    texts: set[str] = set()
    for part in parts:
        story = package.optional_xml(part)
        if story is None:
            continue
        found = Found()
        text = "\n".join(body.lines(InlineReader(package, part, styles, body.counts), story, found))
        body.counts["header_images"] += len(found.figures)
        if text and text not in texts:
            texts.add(text)
            only_number = found.page_field and not any(sign.isalpha() for sign in "".join(found.outside_fields))
            body.blocks.append(
                Block(
                    kind=BlockKind.PAGE_NUMBER if only_number else kind,
                    text=text,
                    source=BlockSource.MARKUP,
                    links=found.links,
                )
            )


def _properties(package: Package, draft: Draft) -> None:
    """Title, authors and dates from the core properties. A title can also be the one shown."""
    found = core_properties(package, draft)
    shown = next((block.text for block in draft.blocks if block.kind is BlockKind.TITLE and not block.hidden), None)
    draft.title = draft.title or shown
    language = found.get("dc:language", "").partition("-")[0].lower()
    draft.language = language if len(language) == 2 and language.isascii() and language.isalpha() else None
    draft.metadata = {key: found[name] for name, key in _METADATA.items() if name in found}


def _account(package: Package, draft: Draft, counts: Counter[str], numbering: Numbering, notes: Notes) -> None:
    """Says what was changed, hidden or left out, and how much of it."""
    if counts["inserted"] or counts["deleted"]:
        package.warn("tracked_changes")
        draft.metadata["inserted_revisions"] = str(counts["inserted"])
        draft.metadata["deleted_revisions"] = str(counts["deleted"])
    if counts["hidden"]:
        package.warn("hidden_text")
        draft.metadata["hidden_characters"] = str(counts["hidden"])
    if numbering.approximated:
        package.warn("number_format_approximated")
    if any(part.endswith("vbaproject.bin") for part in package.parts()):
        draft.metadata["macros"] = "present, not run"
    dropped = {what: counts[key] for key, what in _DROPPED.items()}
    dropped["unreferenced_notes"] = notes.unreferenced()
    for key, count in counts.items():
        if key.startswith("chunk:"):
            what = key.removeprefix("chunk:")
            dropped[what] = dropped.get(what, 0) + count
    draft.dropped = [Dropped(what=what, count=count) for what, count in sorted(dropped.items()) if count]
    draft.warnings = sorted(package.warnings)
