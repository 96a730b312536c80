"""OpenDocument files (OASIS ODF 1.3), packed or flat, that may be hostile: their parts, names, lengths and metadata."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import unquote

from lxml import etree

from streams.errors import DocumentError
from streams.extract.ooxml import MAX_PART, Package, parse_xml, w3c_date
from streams.extract.outcome import Draft

_URN = "urn:oasis:names:tc:opendocument:xmlns:"
_SPACES = {
    **{_URN + f"{name}:1.0": name for name in ("office", "style", "text", "table", "presentation", "meta")},
    **{_URN + f"{name}:1.0": name for name in ("chart", "form", "script", "dr3d", "manifest")},
    _URN + "drawing:1.0": "draw",
    _URN + "xsl-fo-compatible:1.0": "fo",
    _URN + "svg-compatible:1.0": "svg",
    _URN + "smil-compatible:1.0": "smil",
    "urn:org:documentfoundation:names:experimental:office:xmlns:loext:1.0": "loext",
    "http://purl.org/dc/elements/1.1/": "dc",
    "http://www.w3.org/1999/xlink": "xlink",
    "http://www.w3.org/1998/Math/MathML": "math",
    "http://www.w3.org/XML/1998/namespace": "xml",
}
_URIS = {name: uri for uri, name in _SPACES.items()}
_LENGTH = re.compile(r"(-?\d{1,9}(?:\.\d{1,9})?|-?\.\d{1,9})(cm|mm|in|pt|pc|px)")
_POINTS = {"cm": 72 / 2.54, "mm": 72 / 25.4, "in": 72.0, "pt": 1.0, "pc": 12.0, "px": 0.75}
_METADATA = {"dc:subject": "subject", "dc:description": "description", "dc:creator": "last_modified_by"}


@lru_cache(maxsize=4096)
def _short(tag: str) -> str:
    uri, _, local = tag[1:].rpartition("}") if tag.startswith("{") else ("", "", tag)
    return f"{_SPACES.get(uri, '?')}:{local}"


@lru_cache(maxsize=1024)
def _key(name: str) -> str:
    prefix, local = name.split(":")
    return f"{{{_URIS[prefix]}}}{local}"


def name_of(element: etree._Element) -> str:
    """`text:p` and the like; of an unknown namespace `?:local`, of a comment or an entity an empty text."""
    return _short(element.tag) if isinstance(element.tag, str) else ""


def attr(element: etree._Element, name: str) -> str | None:
    """The attribute `prefix:local`."""
    return element.get(_key(name))


def child(element: etree._Element | None, name: str) -> etree._Element | None:
    """The first child `prefix:local`."""
    return None if element is None else next(element.iterchildren(_key(name)), None)


def children(element: etree._Element | None) -> list[tuple[str, etree._Element]]:
    """Child elements with their names."""
    return [] if element is None else [(_short(found.tag), found) for found in element.iterchildren("*")]


def descendants(element: etree._Element | None, *names: str) -> list[etree._Element]:
    """All elements of these names below, in document order."""
    return [] if element is None else list(element.iter(*(_key(name) for name in names)))


def text_of(element: etree._Element) -> str:
    """All text below, as it stands."""
    return "".join(str(text) for text in element.itertext())


def points(length: str | None) -> float | None:
    """A length (part 3, 18.3.18) in points; null for what is none."""
    match = _LENGTH.fullmatch((length or "").strip())
    return None if match is None else round(float(match[1]) * _POINTS[match[2]], 2)


def count(text: str | None, most: int) -> int:
    """A repeat count or span: at least 1, at most `most`."""
    if not (text and text.isascii() and text.isdigit()):
        return 1
    return most if len(text) > 9 else min(max(int(text), 1), most)


def whole(text: str | None) -> int | None:
    """A number that is not negative; null for anything else."""
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) <= 9 else None


@dataclass
class Source:
    """An opened file: its parts by what they hold. Use as a context manager.

    `styles` and `meta` are null where there are none; flat files have all in one root.
    """

    content: etree._Element
    styles: etree._Element | None
    meta: etree._Element | None
    package: Package | None
    warnings: list[str]
    _objects: dict[str, etree._Element | None] = field(default_factory=dict)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.package is not None:
            self.package.__exit__(kind, error, trace)

    def warn(self, code: str) -> None:
        """Notes a warning once."""
        if code not in self.warnings:
            self.warnings.append(code)

    def body(self, kind: str) -> etree._Element:
        """`office:text`, `office:presentation` or `office:drawing`. Errors: DocumentError `corrupt`."""
        body = child(self.content, "office:body")
        found = child(body, kind)
        if found is None:
            raise DocumentError("corrupt", f"The document has no {kind}.")
        return found

    def object_root(self, frame_object: etree._Element) -> etree._Element | None:
        """The content of an embedded object (`draw:object`): of a part of the package, or written inside it."""
        for name in ("office:document", "math:math"):  # LibreOffice writes an empty paragraph beside the link
            inside = child(frame_object, name)
            if inside is not None:
                return inside
        target = (attr(frame_object, "xlink:href") or "").removeprefix("./")
        if self.package is None or not target or ":" in target:
            return None
        part = posixpath.normpath(posixpath.join("/", unquote(target), "content.xml")).lstrip("/")
        if part not in self._objects:
            self._objects[part] = self.package.optional_xml(part)
        return self._objects[part]


def open_source(path: Path, budget: list[int] | None = None) -> Source:
    """Opens a packed or flat file. `budget`: bytes that may still be unpacked, where others share it.

    Errors: DocumentError `encrypted`, `truncated`, `corrupt`, `bomb` or `too_large`.
    """
    with path.open("rb") as stream:
        start = stream.read(4)
    if start[:2] == b"PK" or not start:
        return _open_package(path, budget)
    if path.stat().st_size > MAX_PART:
        raise DocumentError("too_large", f"The file has more than {MAX_PART} bytes.")
    root = parse_xml(path.read_bytes(), "of the file")
    if name_of(root) != "office:document":
        raise DocumentError("corrupt", "The file is no OpenDocument file.")
    warnings = ["doctype_ignored"] if root.getroottree().docinfo.internalDTD is not None else []
    return Source(root, root, child(root, "office:meta"), None, warnings)


def _open_package(path: Path, budget: list[int] | None) -> Source:
    package = Package(path, budget=budget)
    try:
        refuse_encrypted(package)
        content = package.xml("content.xml")
        styles, meta = (package.optional_xml(part if part in package else None) for part in ("styles.xml", "meta.xml"))
    except BaseException:
        package.__exit__(None, None, None)
        raise
    return Source(content, styles, child(meta, "office:meta"), package, package.warnings)


def refuse_encrypted(package: Package) -> None:
    """Raises DocumentError `encrypted` where the manifest says so (part 2, 3.4.1), or the whole package is one part."""
    manifest = "META-INF/manifest.xml"
    if "encrypted-package" in package or (manifest in package and b"encryption-data" in package.read(manifest)):
        raise DocumentError("encrypted", "The document needs a password.")


def document_info(source: Source, draft: Draft) -> None:
    """Title, authors, dates and language of the metadata (part 3, 4.3) into the draft."""
    found: dict[str, str] = {}
    keywords: list[str] = []
    for name, element in children(source.meta):
        text = " ".join((element.text or "").split())
        if name == "meta:keyword" and text:
            keywords.append(text)
        elif text:
            found.setdefault(name, text)
    draft.title = found.get("dc:title")
    author = found.get("meta:initial-creator") or found.get("dc:creator")
    draft.authors = [author] if author else []
    draft.created, bad_created = w3c_date(found.get("meta:creation-date"))
    draft.modified, bad_modified = w3c_date(found.get("dc:date"))
    if bad_created or bad_modified:
        source.warn("bad_date")
    draft.language = found.get("dc:language", "").partition("-")[0].lower() or None
    draft.metadata |= {key: found[name] for name, key in _METADATA.items() if name in found}
    if keywords:
        draft.metadata["keywords"] = ", ".join(keywords)
