"""RSS (0.9 to 2.0) and Atom (RFC 4287): each entry a section, its HTML read as HTML."""

from __future__ import annotations

from email.utils import parsedate_to_datetime

from streams.extract.html import parse as parse_html
from streams.extract.markdown import MarkdownPart
from streams.extract.outcome import Draft
from streams.extract.xml_parse import Element
from streams.records import Block, BlockKind, BlockSource, Dropped

_ENTRIES = ("item", "entry")
_TEXTS = ("encoded", "content", "description", "summary", "subtitle", "tagline")
_SHOWN = ("link", "guid", "id", "pubDate", "published", "updated", "date", "author", "creator", "category")
MAX_HTML = 2_000_000
"""Characters of one entry that are read as HTML; longer ones are text."""


def feed(root: Element) -> Draft | None:
    """The blocks of a feed; None when it has neither channel nor entries."""
    channel = next((one for one in root.elements() if one.name == "channel"), root)
    entries = [one for one in (*channel.elements(), *root.elements() * (channel is not root)) if one.name in _ENTRIES]
    if channel is root and not entries:
        return None
    parts = MarkdownPart()
    title = _child_text(channel, "title")
    if title:
        parts.blocks.append(Block(kind=BlockKind.TITLE, text=title, source=BlockSource.MARKUP))
    _body(channel, parts)
    for entry in entries:
        heading = _child_text(entry, "title") or _child_text(entry, "link") or _child_text(entry, "guid")
        parts.blocks.append(Block(kind=BlockKind.HEADING, level=1, text=heading, source=BlockSource.MARKUP))
        _body(entry, parts)
    modified = _child_text(channel, "updated") or _rfc822(_child_text(channel, "lastBuildDate"))
    authors = [name for one in channel.elements() if one.name == "author" and (name := _person(one))]
    return Draft(
        blocks=parts.blocks,
        tables=parts.tables,
        refs=parts.refs,
        title=title or None,
        authors=authors,
        modified=modified or None,
        language=_child_text(channel, "language") or root.attributes.get("lang"),
        warnings=sorted(parts.warnings),
        dropped=[Dropped(what=what, count=count) for what, count in sorted(parts.dropped.items())],
    )


def _child_text(element: Element, name: str) -> str:
    return next((text for one in element.elements() if one.name == name and (text := " ".join(one.text().split()))), "")


def _person(element: Element) -> str:
    return _child_text(element, "name") or " ".join(element.text().split())


def _body(element: Element, parts: MarkdownPart) -> None:
    """What a channel or entry says of itself, in its order."""
    full = any(one.name in ("encoded", "content") and one.text().strip() for one in element.elements())
    for one in element.elements():
        if one.name in _TEXTS and not (full and one.name in ("description", "summary")):
            _text(one.text(), parts)
        elif one.name in _SHOWN:
            value = _person(one) or one.attributes.get("href") or one.attributes.get("term") or ""
            if value:
                field = Block(kind=BlockKind.FORM_FIELD, text=f"{one.name}: {value}", source=BlockSource.MARKUP)
                parts.blocks.append(field)


def _text(text: str, parts: MarkdownPart) -> None:
    if "<" in text and len(text) <= MAX_HTML:
        walk, _, _ = parse_html(text)
        parts.add(MarkdownPart(walk.blocks, walk.tables, walk.refs, walk.dropped, walk.warnings))
    elif text.strip():
        parts.blocks.append(Block(kind=BlockKind.PARAGRAPH, text=text.strip(), source=BlockSource.MARKUP))


def _rfc822(written: str) -> str:
    """A date of RSS as ISO 8601; one that can't be read as it stands, so that it is flagged."""
    try:
        return parsedate_to_datetime(written).isoformat() if written else ""
    except (ValueError, OverflowError):
        return written
