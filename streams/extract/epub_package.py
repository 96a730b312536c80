"""The package of an EPUB: what it says of itself, which of its files are read, in which order, under which headings.

Source: EPUB 3.3 (W3C), sections 4 "Open Container Format", 5 "Package document", 7 "Navigation document"; EPUB 2.0.1
(OPF, NCX, OCF) where they differ. Names are compared without namespaces: both generations are in use, and mixed.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from lxml import etree

from streams.errors import DocumentError
from streams.extract.ooxml import Package

CONTAINER, ENCRYPTION = "META-INF/container.xml", "META-INF/encryption.xml"
PAGES = frozenset({"application/xhtml+xml", "text/html", "text/x-oeb1-document", "application/x-dtbook+xml"})
"""Media types that are read as chapters."""
FONT_OBFUSCATIONS = frozenset({"http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC"})
"""Algorithms that scramble fonts only (EPUB 3.3, 4.4): no text is lost by them."""
MAX_OUTLINE = 20_000
MAX_FALLBACKS = 20

_NCX = "application/x-dtbncx+xml"
_WHOLE_DATE = re.compile(r"\d{4}-\d\d-\d\d.*", re.DOTALL)
_PART_DATE = re.compile(r"\d{4}(-\d\d)?")
_KEPT = ("identifier", "publisher", "description", "subject", "rights", "source", "contributor")


@dataclass(frozen=True)
class Item:
    """A file of the manifest; `path` is its place in the package."""

    id: str
    path: str
    media_type: str
    properties: frozenset[str]
    fallback: str


@dataclass(frozen=True)
class Entry:
    """A line of the table of contents: its text, where it points, and how deep it stands, from 1."""

    label: str
    path: str
    fragment: str
    level: int


@dataclass
class Book:
    """What the package document says."""

    title: str | None = None
    authors: list[str] = field(default_factory=list)
    language: str | None = None
    created: str | None = None
    modified: str | None = None
    metadata: dict[str, str] = field(default_factory=dict)
    chapters: list[Item] = field(default_factory=list)
    outline: list[Entry] = field(default_factory=list)


def read_book(package: Package) -> Book:
    """Reads container, package document and table of contents.

    Errors: DocumentError `encrypted` where more than fonts is encrypted, `corrupt` without a readable package document.
    """
    _refuse_encrypted(package)
    path = _package_document(package)
    root = package.xml(path)
    book = Book()
    _metadata(root, book)
    items = _manifest(root, posixpath.dirname(path))
    spine = next(_named(root, "spine"), None)
    book.chapters = _chapters(spine, items, package)
    book.outline = _outline(spine, items, package)
    return book


def local(element: etree._Element) -> str:
    """An element's name without its namespace; empty for comments and the like."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def resolve(folder: str, reference: str) -> tuple[str, str]:
    """Where a reference points: path in the package (empty for what lies outside of it) and fragment."""
    try:
        parts = urlsplit(reference.strip())
    except ValueError:
        return "", ""
    if parts.scheme or parts.netloc:
        return "", ""
    path = posixpath.normpath(posixpath.join("/", folder, unquote(parts.path))).lstrip("/") if parts.path else ""
    return path, unquote(parts.fragment)


def _named(root: etree._Element, *names: str) -> Iterator[etree._Element]:
    """Elements of these names below `root`, in document order."""
    return (element for element in root.iter("*") if local(element) in names)


def words_of(element: etree._Element) -> str:
    """All text of an element, white space collapsed."""
    return " ".join("".join(map(str, element.itertext())).split())


def _refuse_encrypted(package: Package) -> None:
    root = package.optional_xml(ENCRYPTION) if ENCRYPTION in package else None
    for method in _named(root, "EncryptionMethod") if root is not None else ():
        parent = method.getparent()
        encrypted = parent is not None and local(parent) == "EncryptedData"
        if encrypted and method.get("Algorithm", "") not in FONT_OBFUSCATIONS:
            raise DocumentError("encrypted", "The book is protected: its text is encrypted.")


def _package_document(package: Package) -> str:
    """The first rendition that the container names; without a container, the one package document there is."""
    root = package.optional_xml(CONTAINER) if CONTAINER in package else None
    for rootfile in _named(root, "rootfile") if root is not None else ():
        path = posixpath.normpath(posixpath.join("/", unquote(rootfile.get("full-path") or ""))).lstrip("/")
        if path in package:
            return path
    found = sorted(name for name in package.parts() if name.endswith(".opf"))
    if not found:
        raise DocumentError("corrupt", "The book has no package document.")
    package.warn("part_missing")
    return found[0]


def _metadata(root: etree._Element, book: Book) -> None:
    """Title, creators, language and dates (EPUB 3.3, 5.5); of several the main title and the first language."""
    found: dict[str, list[tuple[str, str]]] = {}
    refined: dict[tuple[str, str], str] = {}
    section = next(_named(root, "metadata"), None)
    for element in section.iter("*") if section is not None else ():
        name, text = local(element), words_of(element)
        if name == "meta":
            about, key = (element.get("refines") or "").lstrip("#"), element.get("property") or ""
            if about:
                refined.setdefault((about, key), text)
            elif key or element.get("name"):
                value = text or (element.get("content") or "").strip()
                found.setdefault(key or element.get("name", ""), []).append((value, ""))
        elif text and not len(element):
            event = next((value for key, value in element.attrib.items() if str(key).endswith("event")), "")
            role = next((value for key, value in element.attrib.items() if str(key).endswith("}role")), "")
            mark = str(element.get("id") or "")
            kind = refined.get((mark, "role"), role) if name == "creator" else str(event)
            found.setdefault(name, []).append((text, f"{mark}\0{kind!s}"))
    titles = found.get("title", [])
    main = [text for text, mark in titles if refined.get((mark.partition("\0")[0], "title-type")) == "main"]
    book.title = next(iter([*main, *(text for text, _ in titles)]), None)
    book.authors = [text for text, _ in found.get("creator", [])][:100]
    book.language = next((text for text, _ in found.get("language", [])), None)
    book.metadata = {name: "; ".join(text for text, _ in found[name])[:2000] for name in _KEPT if name in found}
    if any(text == "pre-paginated" for text, _ in found.get("rendition:layout", [])):
        book.metadata["layout"] = "fixed"
    _dates(found, book)


def _dates(found: dict[str, list[tuple[str, str]]], book: Book) -> None:
    dates = [(text, mark.partition("\0")[2]) for text, mark in found.get("date", [])]
    changed = [text for text, event in dates if event == "modification"]
    published = [text for text, event in dates if event != "modification"]
    book.modified = next(iter([*(text for text, _ in found.get("dcterms:modified", [])), *changed]), None)
    whole = [text for text in published if _WHOLE_DATE.fullmatch(text)]
    parts = [text for text in published if _PART_DATE.fullmatch(text)]
    book.created = next(iter(whole), None if parts else next(iter(published), None))
    if parts and not whole:  # of a book only the year is known, as a rule: a date, but none of a day
        book.metadata["published"] = parts[0]


def _manifest(root: etree._Element, folder: str) -> dict[str, Item]:
    items: dict[str, Item] = {}
    section = next(_named(root, "manifest"), None)
    for element in _named(section, "item") if section is not None else ():
        path, _ = resolve(folder, element.get("href") or "")
        key = element.get("id") or path
        if path and key not in items:
            media_type = (element.get("media-type") or "").partition(";")[0].strip().lower()
            properties = frozenset((element.get("properties") or "").split())
            items[key] = Item(key, path, media_type, properties, element.get("fallback") or "")
    return items


def _chapters(spine: etree._Element | None, items: dict[str, Item], package: Package) -> list[Item]:
    """Files in reading order, each once; pages that the spine leaves out stand at the end."""
    order: list[Item] = []
    seen: set[str] = set()
    for reference in _named(spine, "itemref") if spine is not None else ():
        named = items.get(reference.get("idref") or "")
        item = _readable(named, items) if named is not None else None
        if item is not None and item.path.lower() in seen:
            item = named  # several pictures may have one page to stand in for them
        if item is None or item.path not in package:
            package.warn("part_missing")
        elif item.path.lower() in seen:
            package.warn("spine_repeats")
        else:
            seen.add(item.path.lower())
            order.append(item)
    if not order:
        package.warn("spine_missing")
    fallbacks = {item.fallback for item in items.values() if item.fallback}
    for item in items.values():
        inside = item.path in package and item.path.lower() not in seen and item.id not in fallbacks
        if inside and item.media_type in PAGES and "nav" not in item.properties:
            if order and "spine_missing" not in package.warnings:
                package.warn("outside_spine")
            seen.add(item.path.lower())
            order.append(item)
    return order


def _readable(item: Item, items: dict[str, Item]) -> Item:
    """The item, or the first of its fallbacks that is a page; the item itself where none is (EPUB 3.3, 3.5.1)."""
    one: Item | None = item
    for _ in range(MAX_FALLBACKS):
        if one is None:
            break
        if one.media_type in PAGES or one.path.lower().endswith((".xhtml", ".html", ".htm")):
            return one
        one = items.get(one.fallback)
    return item


def _outline(spine: etree._Element | None, items: dict[str, Item], package: Package) -> list[Entry]:
    """The table of contents: that of the navigation document, or else the NCX."""
    nav = next((item for item in items.values() if "nav" in item.properties and item.path in package), None)
    if nav is not None and (root := package.optional_xml(nav.path)) is not None:
        lists = list(_named(root, "nav"))
        contents = next((one for one in lists if "toc" in _types(one)), None)
        if contents is not None:
            return _lines(contents, posixpath.dirname(nav.path))
    named = items.get(spine.get("toc") or "") if spine is not None else None
    ncx = named or next((item for item in items.values() if item.media_type == _NCX), None)
    root = package.optional_xml(ncx.path) if ncx is not None and ncx.path in package else None
    return _points(root, posixpath.dirname(ncx.path)) if ncx is not None and root is not None else []


def _types(element: etree._Element) -> list[str]:
    return next((str(value).split() for key, value in element.attrib.items() if str(key).endswith("}type")), [])


def _lines(nav: etree._Element, folder: str) -> list[Entry]:
    """Items of nested lists; the first link or span of each is its text."""
    found: list[Entry] = []
    for item in _named(nav, "li"):
        label = next((one for one in item.iterchildren("*") if local(one) in ("a", "span")), None)
        if label is None or len(found) >= MAX_OUTLINE:
            continue
        level = sum(1 for above in item.iterancestors() if local(above) == "ol")
        path, fragment = resolve(folder, label.get("href") or "")
        found.append(Entry(words_of(label), path, fragment, max(1, level)))
    return found


def _points(root: etree._Element, folder: str) -> list[Entry]:
    found: list[Entry] = []
    for point in _named(root, "navPoint"):
        label = next(_named(point, "navLabel"), None)
        content = next((one for one in point.iterchildren("*") if local(one) == "content"), None)
        if label is None or content is None or len(found) >= MAX_OUTLINE:
            continue
        level = 1 + sum(1 for above in point.iterancestors() if local(above) == "navPoint")
        path, fragment = resolve(folder, content.get("src") or "")
        found.append(Entry(words_of(label), path, fragment, level))
    return found
