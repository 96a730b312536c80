"""XML of any kind: documents as sections, data as fields and tables, feeds and drawings by what they say."""

from __future__ import annotations

from streams.extract.json_tree import Tree
from streams.extract.outcome import Draft, Request
from streams.extract.text import source_text
from streams.extract.xml_data import property_list, value_of
from streams.extract.xml_document import document, is_document
from streams.extract.xml_feed import feed
from streams.extract.xml_parse import Element, Parsed, parse
from streams.records import Block, BlockKind, BlockSource, Dropped

_FEEDS = frozenset({"application/rss+xml", "application/atom+xml"})
_DOCUMENTS = frozenset(
    {
        "application/dita+xml",
        "application/docbook+xml",
        "application/tei+xml",
        "application/vnd.ms-spreadsheetml",
        "application/vnd.ms-word2006ml",
        "application/vnd.ms-wordml",
        "application/vnd.oasis.opendocument.spreadsheet-flat-xml",
        "application/x-fictionbook+xml",
    }
)
_SVG_TEXT = frozenset({"title", "desc", "text"})


def extract(request: Request) -> Draft:
    """The blocks of an XML text. Nothing outside of it is ever read.

    Errors: DocumentError `truncated`, `parser_error`, `bomb` or `too_large`, see `xml_parse.parse`. References to what
    stands outside, or nowhere, are left out or as they are (warnings `external_entity`, `undefined_entity`); what was
    not well-formed and could be mended is `malformed_xml`.
    """
    text, warnings, metadata = source_text(request, "utf-8")
    parsed = parse(text)
    draft = _draft(parsed.root, request.detection.media_type)
    draft.warnings = [*warnings, *_noted(parsed), *draft.warnings]
    draft.metadata = metadata | {"root": parsed.root.name} | draft.metadata
    if parsed.control_characters:
        draft.dropped = [*draft.dropped, Dropped(what="control_characters", count=parsed.control_characters)]
    if parsed.external:
        draft.dropped = [*draft.dropped, Dropped(what="external_entity", count=parsed.external)]
    return draft


def _noted(parsed: Parsed) -> list[str]:
    return (
        ["malformed_xml"] * parsed.mended
        + ["external_entity"] * bool(parsed.external)
        + ["undefined_entity"] * bool(parsed.undefined)
    )


def _draft(root: Element, media_type: str) -> Draft:
    if media_type in _FEEDS and (found := feed(root)) is not None:
        return found
    if media_type == "image/svg+xml" or root.name == "svg":
        return _drawing(root)
    if media_type in _DOCUMENTS or is_document(root):
        return document(root)
    tree = Tree()
    tree.add(property_list(root) if root.name == "plist" else value_of(root))
    draft = tree.draft()
    title = next((one for one in root.elements() if one.name.lower() == "title" and not one.elements()), None)
    draft.title = " ".join(title.text().split()) if title is not None else None
    return draft


def _drawing(root: Element) -> Draft:
    """The texts of an SVG drawing, each as a paragraph, and its title."""
    draft = Draft(blocks=[], language=root.attributes.get("lang"))
    stack = [(one, True) for one in reversed(root.elements())]
    while stack:
        element, top = stack.pop()
        if element.name not in _SVG_TEXT and element.name != "foreignObject":
            stack += [(one, False) for one in reversed(element.elements())]
            continue
        text = " ".join(" ".join(one for one in element.walk() if isinstance(one, str)).split())
        if element.name == "title" and top and draft.title is None:
            draft.title = text
            draft.blocks.append(Block(kind=BlockKind.TITLE, text=text, source=BlockSource.MARKUP))
        elif text:
            draft.blocks.append(Block(kind=BlockKind.PARAGRAPH, text=text, source=BlockSource.MARKUP))
    return draft
