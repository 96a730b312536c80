"""What a page says of itself: title, authors, dates, language. Nothing is invented: a date that is none stays out."""

from __future__ import annotations

import re
from typing import Any

import msgspec
from selectolax.lexbor import LexborHTMLParser

from streams.extract.finish import iso_date

MAX_LD_JSON = 512 * 1024
MAX_ELEMENTS = 2000

_CREATED = (
    "article:published_time",
    "datepublished",
    "citation_publication_date",
    "citation_date",
    "dcterms.created",
    "dc.date.created",
    "dc.date.issued",
    "dcterms.issued",
    "dc.date",
    "dcterms.date",
    "pubdate",
    "publish-date",
    "parsely-pub-date",
    "sailthru.date",
    "date",
)
_MODIFIED = (
    "article:modified_time",
    "datemodified",
    "og:updated_time",
    "dcterms.modified",
    "dc.date.modified",
    "last-modified",
    "revised",
)
_AUTHOR = ("author", "dc.creator", "dcterms.creator", "citation_author", "article:author", "parsely-author")
_KEPT = ("description", "keywords", "generator", "dc.publisher", "og:site_name", "og:type")
_SLASHED = re.compile(r"(\d{4})[/.](\d{1,2})[/.](\d{1,2})")


class PageMeta(msgspec.Struct, kw_only=True):
    """A page about itself. Dates are as the page has them; the finishing step makes them ISO or null."""

    title: str | None = None
    authors: list[str] = []
    created: str | None = None
    modified: str | None = None
    language: str | None = None
    metadata: dict[str, str] = {}
    noscript: str = ""


def page_meta(tree: LexborHTMLParser) -> PageMeta:
    """Reads `title`, `meta`, `time`, JSON-LD and `lang` of a parsed page."""
    found = PageMeta()
    title = tree.css_first("head > title")
    if title is not None:
        found.title = " ".join((title.text() or "").split()) or None
    if tree.root is not None:
        language = tree.root.attributes.get("lang") or tree.root.attributes.get("xml:lang") or ""
        found.language = language.strip() or None
    values: dict[str, list[str]] = {}
    for element in tree.css("meta")[:MAX_ELEMENTS]:
        attributes = element.attributes
        content = (attributes.get("content") or "").strip()
        for key in ("name", "property", "itemprop", "http-equiv"):
            name = (attributes.get(key) or "").strip().lower()
            if name and content:
                values.setdefault(name, []).append(content)
    for element in tree.css("time[itemprop], time[pubdate]")[:MAX_ELEMENTS]:
        name = (element.attributes.get("itemprop") or "datePublished").lower()
        values.setdefault(name, []).append((element.attributes.get("datetime") or "").strip())
    _linked_data(tree, values)
    found.created = _date([value for name in _CREATED for value in values.get(name, [])])
    found.modified = _date([value for name in _MODIFIED for value in values.get(name, [])])
    names = [
        value for name in _AUTHOR for value in values.get(name, []) if not value.startswith(("http:", "https:", "/"))
    ]
    found.authors = list(dict.fromkeys(" ".join(name.split()) for name in names))[:100]
    found.metadata = {name: values[name][0][:2000] for name in _KEPT if values.get(name)}
    found.noscript = " ".join(element.text(deep=True) for element in tree.css("noscript")[:20])[:2000]
    return found


def _date(values: list[str]) -> str | None:
    """The first value that is a date; if none is, the first of all, so that the finishing step flags it."""
    values = [_SLASHED.sub(lambda m: f"{m[1]}-{int(m[2]):02}-{int(m[3]):02}", v) for v in values if v]
    return next((value for value in values if iso_date(value)), values[0] if values else None)


def _linked_data(tree: LexborHTMLParser, values: dict[str, list[str]]) -> None:
    """Dates and authors of schema.org objects in JSON-LD, at the top or in its `@graph`."""
    for script in tree.css('script[type="application/ld+json"]')[:20]:
        text = script.text(deep=True) or ""
        if len(text) > MAX_LD_JSON:
            continue
        try:
            data: Any = msgspec.json.decode(text)
        except (msgspec.DecodeError, RecursionError):
            continue
        things = data if isinstance(data, list) else [data]
        things = [
            *things,
            *(t for d in things if isinstance(d, dict) and isinstance(d.get("@graph"), list) for t in d["@graph"]),
        ]
        for thing in things[:100]:
            if isinstance(thing, dict):
                _thing(thing, values)


def _thing(thing: dict[str, Any], values: dict[str, list[str]]) -> None:
    for key in ("datePublished", "dateModified"):
        if isinstance(thing.get(key), str):
            values.setdefault(key.lower(), []).append(thing[key].strip())
    authors = thing.get("author")
    for author in authors if isinstance(authors, list) else [authors]:
        name = author.get("name") if isinstance(author, dict) else author
        if isinstance(name, str) and name.strip():
            values.setdefault("author", []).append(name.strip())
