"""Opens OOXML packages (ECMA-376 part 2) that may be hostile: bounded parts, no entities, no network, both dialects."""

from __future__ import annotations

import lzma
import mmap
import posixpath
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import unquote

from lxml import etree

from streams.errors import DocumentError
from streams.extract.outcome import Draft

MAX_PART = 100 * 1024 * 1024
"""Bytes of one unpacked part. A text of a million words needs about a tenth."""
MAX_TOTAL = 300 * 1024 * 1024
"""Bytes of all unpacked parts that one extraction reads."""
MAX_TAGS = 6_000_000
"""Opening and closing tags of one part; the tree takes up to 200 bytes for each."""
MAX_MEMBERS = 20_000
"""Members of the package. Word writes some twenty, and one for each picture."""
BOMB_RATIO = 100
"""A part over the limit that was packed tighter than this is a bomb, not a long text."""

_OFFICE = "http://schemas.openxmlformats.org/"
_STRICT = "http://purl.oclc.org/ooxml/"
_MS = "http://schemas.microsoft.com/office/"

NAMESPACES: dict[str, tuple[str, ...]] = {
    "w": (_OFFICE + "wordprocessingml/2006/main", _STRICT + "wordprocessingml/main"),
    "r": (_OFFICE + "officeDocument/2006/relationships", _STRICT + "officeDocument/relationships"),
    "m": (_OFFICE + "officeDocument/2006/math", _STRICT + "officeDocument/math"),
    "wp": (_OFFICE + "drawingml/2006/wordprocessingDrawing", _STRICT + "drawingml/wordprocessingDrawing"),
    "a": (_OFFICE + "drawingml/2006/main", _STRICT + "drawingml/main"),
    "pic": (_OFFICE + "drawingml/2006/picture", _STRICT + "drawingml/picture"),
    "xdr": (_OFFICE + "drawingml/2006/spreadsheetDrawing", _STRICT + "drawingml/spreadsheetDrawing"),
    "c": (_OFFICE + "drawingml/2006/chart", _STRICT + "drawingml/chart"),
    "dgm": (_OFFICE + "drawingml/2006/diagram", _STRICT + "drawingml/diagram"),
    "p": (_OFFICE + "presentationml/2006/main", _STRICT + "presentationml/main"),
    "p14": (_MS + "powerpoint/2010/main",),
    "p188": (_MS + "powerpoint/2018/8/main",),
    "a14": (_MS + "drawing/2010/main",),
    "adec": (_MS + "drawing/2017/decorative",),
    "cx": (_MS + "drawing/2014/chartex",),
    "mc": (_OFFICE + "markup-compatibility/2006",),
    "wps": (_MS + "word/2010/wordprocessingShape",),
    "v": ("urn:schemas-microsoft-com:vml",),
    "o": ("urn:schemas-microsoft-com:office:office",),
    "pr": (_OFFICE + "package/2006/relationships", _STRICT + "package/relationships"),
    "ct": (_OFFICE + "package/2006/content-types",),
    "cp": (_OFFICE + "package/2006/metadata/core-properties",),
    "dc": ("http://purl.org/dc/elements/1.1/",),
    "dcterms": ("http://purl.org/dc/terms/",),
}
"""Prefix -> namespaces, the transitional one first, then the strict one (ISO/IEC 29500-1)."""

_PREFIXES = {uri: prefix for prefix, uris in NAMESPACES.items() for uri in uris}
_UNDERSTOOD = frozenset(
    {"wps", "wpg", "wpc", "wpi", "wp14", "w14", "w15", "w16", "w16se", "w16cid", "a14", "v", "p14", "p15"}
) | {f"cx{number}" for number in range(1, 9)}
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_END_OF_DIRECTORY = b"PK\x05\x06"
_OFF = frozenset({"0", "false", "off"})
INSERTED = frozenset({"w:ins", "w:moveTo"})
DELETED = frozenset({"w:del", "w:moveFrom"})
"""Elements of tracked changes (ECMA-376 part 1, 17.13.5)."""


@lru_cache(maxsize=4096)
def short(tag: str) -> str:
    """`{namespace}local` as `prefix:local`, the same for both dialects; of an unknown namespace `?:local`."""
    uri, _, local = tag[1:].rpartition("}") if tag.startswith("{") else ("", "", tag)
    return f"{_PREFIXES.get(uri, '?')}:{local}"


@lru_cache(maxsize=1024)
def _keys(name: str) -> tuple[str, ...]:
    prefix, local = name.split(":")
    return tuple(f"{{{uri}}}{local}" for uri in NAMESPACES[prefix])


def attr(element: etree._Element, name: str) -> str | None:
    """The attribute `prefix:local` in either dialect."""
    for key in _keys(name):
        value = element.get(key)
        if value is not None:
            return value
    return None


def child(element: etree._Element | None, name: str) -> etree._Element | None:
    """The first child `prefix:local`."""
    return None if element is None else next(element.iterchildren(*_keys(name)), None)


def children(element: etree._Element) -> Iterator[tuple[str, etree._Element]]:
    """Child elements with their short names; neither entities nor comments."""
    for found in element.iterchildren("*"):
        yield short(found.tag), found


def descendants(element: etree._Element, name: str) -> Iterator[etree._Element]:
    """All elements `prefix:local` below, in document order."""
    return element.iter(*_keys(name))


def value(element: etree._Element | None) -> str | None:
    """`w:val` of an element that may be missing."""
    return None if element is None else attr(element, "w:val")


def number(element: etree._Element | None) -> int | None:
    """`w:val` as a whole number; null for anything else. Word itself writes `12.0` now and then."""
    text = value(element)
    if text is None or not re.fullmatch(r"\s*[+-]?\d{1,9}(\.0*)?\s*", text):
        return None
    return int(float(text))


def switched_on(element: etree._Element | None) -> bool | None:
    """A toggle property (ECMA-376 17.17.4): null when it is not there."""
    if element is None:
        return None
    return (value(element) or "1").lower() not in _OFF


def chosen(alternate: etree._Element) -> etree._Element | None:
    """The one branch of `mc:AlternateContent` that a reader shows (ECMA-376 part 3): never both."""
    first: etree._Element | None = None
    fallback: etree._Element | None = None
    for name, branch in children(alternate):
        if name == "mc:Choice":
            if set((branch.get("Requires") or "").split()) <= _UNDERSTOOD:
                return branch
            first = branch if first is None else first
        elif name == "mc:Fallback":
            fallback = branch
    return fallback if fallback is not None else first


@dataclass(frozen=True)
class Relationship:
    """Where a part points: `kind` is the last segment of its type, the same in both dialects."""

    kind: str
    target: str
    external: bool


class Package:
    """An opened package. Use as a context manager.

    Errors: DocumentError with `encrypted`, `truncated`, `corrupt`, `bomb` or `too_large`.
    """

    def __init__(self, path: Path, within: Package | None = None, budget: list[int] | None = None) -> None:
        """`within`: the package that `path` is a part of; both then share one budget of unpacked bytes.

        `budget`: bytes that may still be unpacked, of a document that holds packages and is none.
        """
        _refuse_what_is_no_zip(path)
        self.warnings: list[str] = []
        self.depth: int = 0 if within is None else within.depth + 1
        self.budget: list[int] = within.budget if within is not None else [MAX_TOTAL] if budget is None else budget
        try:
            self._zip = zipfile.ZipFile(path)
        except (zipfile.BadZipFile, struct.error, NotImplementedError, ValueError, OSError, EOFError) as error:
            raise DocumentError("corrupt", f"The ZIP directory of the package can't be read: {error}.") from error
        members = self._zip.infolist()
        if len(members) > MAX_MEMBERS:
            self._zip.close()
            raise DocumentError("bomb", f"The package has {len(members)} members; the limit is {MAX_MEMBERS}.")
        # part names are compared without regard to case (ECMA-376 part 2, 6.2.2.3); some writers use backslashes
        self._members = {_part_name(member.filename): member for member in members}
        self._relationships: dict[str, dict[str, Relationship]] = {}
        self._types: tuple[dict[str, str], dict[str, str]] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._zip.close()

    def __contains__(self, part: str) -> bool:
        return _part_name(part) in self._members

    def parts(self) -> list[str]:
        """Names of all parts, in lower case."""
        return list(self._members)

    def warn(self, code: str) -> None:
        """Notes a warning once."""
        if code not in self.warnings:
            self.warnings.append(code)

    def read(self, part: str) -> bytes:
        """The bytes of a part, never more than the limits allow, whatever the directory says."""
        member = self._members.get(_part_name(part))
        if member is None:
            raise DocumentError("corrupt", f"The package has no part {part}.")
        limit = min(MAX_PART, self.budget[0])
        try:
            with self._zip.open(member) as stream:
                data = stream.read(limit + 1)
        except RuntimeError as error:  # zipfile's word for a member with a password
            raise DocumentError("encrypted", f"The part {part} needs a password.") from error
        except EOFError as error:
            raise DocumentError("truncated", f"The part {part} ends before its end.") from error
        except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, OSError, ValueError, NotImplementedError) as error:
            raise DocumentError("corrupt", f"The part {part} can't be unpacked: {error}.") from error
        if len(data) > limit:
            tight = member.file_size > BOMB_RATIO * max(1, member.compress_size) or limit < MAX_PART
            raise DocumentError(
                "bomb" if tight else "too_large", f"The part {part} unpacks to more than {limit} bytes."
            )
        self.budget[0] -= len(data)
        return data

    def xml(self, part: str) -> etree._Element:
        """The root of a part that the document can't do without."""
        root = parse_xml(self.read(part), part)
        if root.getroottree().docinfo.internalDTD is not None:
            self.warn("doctype_ignored")  # no Office program writes one; entities it defines are left out
        return root

    def optional_xml(self, part: str | None) -> etree._Element | None:
        """The root of a part, or null with a warning when it is named but missing or damaged. Bombs stay errors."""
        if part is None:
            return None
        if part not in self:
            self.warn("part_missing")
            return None
        try:
            return self.xml(part)
        except DocumentError as error:
            if error.problem not in ("corrupt", "truncated"):
                raise
            self.warn("part_damaged")
            return None

    def relationships(self, part: str) -> dict[str, Relationship]:
        """Relationships of a part by id; of the package itself with `""`."""
        if part not in self._relationships:
            folder, name = posixpath.split(part)
            path = posixpath.join(folder, "_rels", name + ".rels")
            root = self.optional_xml(path) if path in self else None
            found: dict[str, Relationship] = {}
            for tag, element in children(root) if root is not None else ():
                if tag != "pr:Relationship":
                    continue
                target, external = element.get("Target") or "", (element.get("TargetMode") or "") == "External"
                if not external:
                    target = posixpath.normpath(posixpath.join("/", folder, unquote(target))).lstrip("/")
                kind = (element.get("Type") or "").rstrip("/").rpartition("/")[2]
                found[element.get("Id") or ""] = Relationship(kind, target, external)
            self._relationships[part] = found
        return self._relationships[part]

    def related(self, part: str, kind: str) -> str | None:
        """The first internal part that `part` points to by a relationship of this kind."""
        for relationship in self.relationships(part).values():
            if relationship.kind.lower() == kind.lower() and not relationship.external:
                return relationship.target
        return None

    def content_type(self, part: str) -> str:
        """The declared media type of a part, lower case, or an empty text."""
        if self._types is None:
            root = self.optional_xml("[Content_Types].xml") if "[Content_Types].xml" in self else None
            defaults: dict[str, str] = {}
            overrides: dict[str, str] = {}
            for tag, element in children(root) if root is not None else ():
                declared = (element.get("ContentType") or "").lower()
                if tag == "ct:Default":
                    defaults[(element.get("Extension") or "").lower()] = declared
                elif tag == "ct:Override":
                    overrides[_part_name(element.get("PartName") or "")] = declared
            self._types = defaults, overrides
        defaults, overrides = self._types
        name = _part_name(part)
        return overrides.get(name) or defaults.get(name.rpartition(".")[2], "")


def parse_xml(data: bytes, part: str) -> etree._Element:
    """Parses one part. Errors: DocumentError `corrupt`, or `too_large`, also for what is deeper than libxml2's 256."""
    if data.count(b"<") > MAX_TAGS:
        raise DocumentError("too_large", f"The part {part} has more than {MAX_TAGS} tags.")
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, remove_comments=True, remove_pis=True
    )
    try:
        return etree.fromstring(data, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        if "Excessive depth" in str(error):  # entities that expand have the same code of libxml2
            raise DocumentError("too_large", f"The part {part} nests its elements too deep: {error}.") from error
        raise DocumentError("corrupt", f"The part {part} is not well-formed XML: {error}.") from error


def w3c_date(text: str | None) -> tuple[str | None, bool]:
    """A W3CDTF date of the core properties as ISO 8601 in UTC, and whether it was there but impossible.

    Of a time without a zone only the date is sure. The zero of Windows' calendar (1601) is no date.
    """
    text = (text or "").strip()
    if not text:
        return None, False
    try:
        parsed = datetime.fromisoformat(text)
        aware = parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed.astimezone(UTC)
    except (ValueError, OverflowError):
        return None, True
    if aware.year < 1900:
        return None, True
    if parsed.tzinfo is None:
        return parsed.date().isoformat(), False
    return aware.replace(microsecond=0).isoformat().replace("+00:00", "Z"), False


def _part_name(name: str) -> str:
    return name.replace("\\", "/").lstrip("/").lower()


def _refuse_what_is_no_zip(path: Path) -> None:
    """Says what the file is instead, because `zipfile` has one message for all of it."""
    size = path.stat().st_size
    if size == 0:
        raise DocumentError("truncated", "The file is empty.")
    with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
        if data[:8] == _OLE:
            if data.find("EncryptedPackage".encode("utf-16-le")) >= 0:
                raise DocumentError("encrypted", "The document needs a password.")
            raise DocumentError(
                "corrupt", "The file is an OLE container without an encrypted package, no OOXML document."
            )
        if data.rfind(_END_OF_DIRECTORY) < 0:
            if data[:2] == b"PK":
                raise DocumentError("truncated", "The package ends before its directory: it was cut off.")
            raise DocumentError("corrupt", "The file is no ZIP package.")


def core_properties(package: Package, draft: Draft) -> dict[str, str]:
    """Puts title, authors and dates of the core properties into the draft; all that they say (ECMA-376 part 2, 11)."""
    root = package.optional_xml(package.related("", "core-properties"))
    found: dict[str, str] = {}
    for name, element in children(root) if root is not None else ():
        text = " ".join((element.text or "").split())
        if text:
            found.setdefault(name, text)
    draft.title = found.get("dc:title")
    draft.authors = [author for part in found.get("dc:creator", "").split(";") if (author := part.strip())]
    draft.created, bad_created = w3c_date(found.get("dcterms:created"))
    draft.modified, bad_modified = w3c_date(found.get("dcterms:modified"))
    if bad_created or bad_modified:
        package.warn("bad_date")
    return found
