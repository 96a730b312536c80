"""What a ZIP is, by the names and types of its members in any order; reads names only, in bounded memory.

The directory is walked here instead of by `zipfile`, which keeps an object for each of possibly millions of entries.
Source: PKWARE APPNOTE 6.3.10, sections 4.3 and 4.4; ECMA-376 part 2 (content types); ODF 1.3 part 2 (mimetype).
"""

from __future__ import annotations

import re
import struct
import zlib
from pathlib import Path
from typing import BinaryIO

import msgspec

from streams.decode.labels import codec_of

MAX_ENTRIES = 200_000
"""Entries of the directory that are looked at; more change nothing about what the file is."""
MAX_MEMBER = 1 << 20

_LOCAL = b"PK\x03\x04"
_ENTRY = b"PK\x01\x02"
_END = b"PK\x05\x06"
_END64_LOCATOR = b"PK\x06\x07"
_END64 = b"PK\x06\x06"

_W = "application/vnd.openxmlformats-officedocument."
MAIN_TYPES: dict[str, str] = {
    _W + "wordprocessingml.document.main+xml": _W + "wordprocessingml.document",
    _W + "wordprocessingml.template.main+xml": _W + "wordprocessingml.template",
    "application/vnd.ms-word.document.macroenabled.main+xml": "application/vnd.ms-word.document.macroEnabled.12",
    "application/vnd.ms-word.template.macroenabledtemplate.main+xml": (
        "application/vnd.ms-word.template.macroEnabled.12"
    ),
    _W + "spreadsheetml.sheet.main+xml": _W + "spreadsheetml.sheet",
    _W + "spreadsheetml.template.main+xml": _W + "spreadsheetml.template",
    "application/vnd.ms-excel.sheet.macroenabled.main+xml": "application/vnd.ms-excel.sheet.macroEnabled.12",
    "application/vnd.ms-excel.template.macroenabled.main+xml": "application/vnd.ms-excel.template.macroEnabled.12",
    "application/vnd.ms-excel.addin.macroenabled.main+xml": "application/vnd.ms-excel.addin.macroEnabled.12",
    "application/vnd.ms-excel.sheet.binary.macroenabled.main": "application/vnd.ms-excel.sheet.binary.macroEnabled.12",
    _W + "presentationml.presentation.main+xml": _W + "presentationml.presentation",
    _W + "presentationml.slideshow.main+xml": _W + "presentationml.slideshow",
    _W + "presentationml.template.main+xml": _W + "presentationml.template",
    "application/vnd.ms-powerpoint.presentation.macroenabled.main+xml": (
        "application/vnd.ms-powerpoint.presentation.macroEnabled.12"
    ),
    "application/vnd.ms-powerpoint.slideshow.macroenabled.main+xml": (
        "application/vnd.ms-powerpoint.slideshow.macroEnabled.12"
    ),
    "application/vnd.ms-powerpoint.template.macroenabled.main+xml": (
        "application/vnd.ms-powerpoint.template.macroEnabled.12"
    ),
    _W + "presentationml.slide.main+xml": _W + "presentationml.slide",
    "application/vnd.ms-powerpoint.addin.macroenabled.main+xml": "application/vnd.ms-powerpoint.addin.macroEnabled.12",
    "application/vnd.ms-visio.drawing.main+xml": "application/vnd.ms-visio.drawing",
    "application/vnd.ms-visio.template.main+xml": "application/vnd.ms-visio.template",
    "application/vnd.ms-visio.stencil.main+xml": "application/vnd.ms-visio.stencil",
    "application/vnd.ms-visio.drawing.macroenabled.main+xml": "application/vnd.ms-visio.drawing.macroEnabled",
    "application/vnd.ms-visio.template.macroenabled.main+xml": "application/vnd.ms-visio.template.macroEnabled",
    "application/vnd.ms-visio.stencil.macroenabled.main+xml": "application/vnd.ms-visio.stencil.macroEnabled",
    "application/vnd.ms-package.3dmanufacturing-3dmodel+xml": "model/3mf",
}
"""Content type of the main part, in lower case -> media type of the document."""

_FOLDERS = (
    ("word/document.xml", _W + "wordprocessingml.document"),
    ("xl/workbook.xml", _W + "spreadsheetml.sheet"),
    ("xl/workbook.bin", "application/vnd.ms-excel.sheet.binary.macroEnabled.12"),
    ("ppt/presentation.xml", _W + "presentationml.presentation"),
    ("visio/document.xml", "application/vnd.ms-visio.drawing"),
)
_MIMETYPES = frozenset(
    {
        "application/epub+zip",
        "application/hwp+zip",
        "application/vnd.adobe.indesign-idml-package",
        "application/vnd.etsi.asic-e+zip",
        "application/vnd.etsi.asic-s+zip",
        "application/x-krita",
        "image/openraster",
    }
)
_MIMETYPE_FAMILIES = ("application/vnd.oasis.opendocument.", "application/vnd.sun.xml.")
"""What a `mimetype` member may say; anything else could be a way to another extractor."""
_WANTED = frozenset(
    {
        "[content_types].xml",
        "mimetype",
        "meta-inf/container.xml",
        "meta-inf/manifest.xml",
        "meta-inf/manifest.mf",
        "androidmanifest.xml",
        "fixeddocseq.fdseq",
        "fixeddocumentsequence.fdseq",
        "_rels/.rels",
        "index/document.iwa",
        "index/slide.iwa",
        "index.zip",
        "index.apxl",
        "index.xml",
        "content.xml",
        "doc.kml",
        "classes.dex",
        "resources.arsc",
    }
)
_OVERRIDE = re.compile(r"<(?:\w+:)?(?:Override|Default)\b([^>]*)>")
_ATTRIBUTE = re.compile(r"""([\w:]+)\s*=\s*(?:"([^"]*)"|'([^']*)')""")


class Member(msgspec.Struct, frozen=True):
    """Where one member of interest stands."""

    name: str
    method: int
    encrypted: bool
    compressed: int
    offset: int


class ZipKind(msgspec.Struct, frozen=True, kw_only=True):
    """What a ZIP is. `damage`: `truncated` or `corrupt`, with `detail` for a person."""

    media_type: str
    rule: str
    damage: str | None = None
    detail: str = ""


class _DamagedError(Exception):
    def __init__(self, damage: str, detail: str) -> None:
        super().__init__(detail)
        self.damage = damage


def identify_zip(path: Path, size: int) -> ZipKind:
    """What the ZIP at `path` is. Never raises for the bytes' sake: damage is part of the answer."""
    with path.open("rb") as file:
        try:
            members, names = _directory(file, size)
        except _DamagedError as error:
            members, names, whole = _local_members(file)
            found = _kind(file, members, names)
            damage = error.damage if not whole else "corrupt"
            media_type = found.media_type if found.rule != "zip" else _by_names(names)
            return ZipKind(media_type=media_type, rule="zip:local_headers", damage=damage, detail=str(error))
        return _kind(file, members, names)


def _directory(file: BinaryIO, size: int) -> tuple[dict[str, Member], set[str]]:
    """Members of interest, and the lower-case names that can decide."""
    tail_size = min(size, 65_557 + 20)
    file.seek(size - tail_size)
    tail = file.read(tail_size)
    at = tail.rfind(_END)
    if at < 0 or len(tail) - at < 22:
        raise _DamagedError("truncated", "The ZIP has no end-of-directory record: it is cut off.")
    _, _, _, entries, length, start, comment = struct.unpack_from("<HHHHIIH", tail, at + 4)
    behind = tail[at + 22 + comment :]
    if _LOCAL in behind or _ENTRY in behind:
        raise _DamagedError("truncated", "The ZIP is cut off: its last end-of-directory record is that of a member.")
    end = size - tail_size + at
    if (entries == 0xFFFF or length == 0xFFFFFFFF or start == 0xFFFFFFFF) and tail[at - 20 : at - 16] == _END64_LOCATOR:
        (where,) = struct.unpack_from("<Q", tail, at - 12)
        file.seek(min(where, size))
        record = file.read(56)
        if record[:4] == _END64 and len(record) == 56:
            entries, length, start = struct.unpack_from("<QQQ", record, 32)
            end = where
    # Junk before the archive shifts every offset; the directory itself ends where its end record begins.
    shift = end - length - start
    if shift < 0 or start + length + shift > size:
        raise _DamagedError("corrupt", "The ZIP's directory points outside the file.")
    members: dict[str, Member] = {}
    names: set[str] = set()
    file.seek(start + shift)
    for index in range(min(entries, MAX_ENTRIES)):
        fixed = file.read(46)
        if len(fixed) < 46 or fixed[:4] != _ENTRY:
            raise _DamagedError("corrupt", f"The ZIP's directory is damaged at entry {index + 1} of {entries}.")
        flags, method = struct.unpack_from("<HH", fixed, 8)
        compressed, _, name_length, extra_length, comment_length = struct.unpack_from("<IIHHH", fixed, 20)
        (offset,) = struct.unpack_from("<I", fixed, 42)
        name = _name(file.read(name_length), flags)
        extra = file.read(extra_length)
        file.seek(comment_length, 1)
        if compressed not in (0xFFFFFFFF,) and offset != 0xFFFFFFFF and offset + shift + compressed > size:
            raise _DamagedError("corrupt", f"The ZIP's member {name!r} claims bytes outside the file.")
        lower = _key(name)
        if lower in _WANTED and lower not in members:
            if offset == 0xFFFFFFFF or compressed == 0xFFFFFFFF:
                compressed, offset = _zip64(extra, fixed, compressed, offset)
            members[lower] = Member(name, method, bool(flags & 1), compressed, offset + shift)
        if found := _deciding(lower):
            names.add(found)
    return members, names


def _key(name: str) -> str:
    """A name as the rules compare it; iWork's packages, zipped as folders, have their own name in front."""
    lower = name.lower().lstrip("/").replace("\\", "/")
    return re.sub(r"^[^/]+\.(?:key|pages|numbers)/(?=index)", "", lower)


def _deciding(lower: str) -> str | None:
    """What of a name can decide: all of it, or the folder that it stands in; so there are never many."""
    if lower in _WANTED or _main_name(lower):
        return lower
    if lower.startswith(("word/", "xl/", "ppt/", "visio/")):
        return lower[: lower.index("/") + 1]
    return lower[:18] if lower.startswith("index/") else None


def _main_name(lower: str) -> bool:
    return lower.count("/") == 1 and lower.startswith(("word/", "xl/", "ppt/", "visio/"))


def _name(raw: bytes, flags: int) -> str:
    return raw.decode("utf-8" if flags & 0x800 else codec_of("cp437"), "replace")


def _zip64(extra: bytes, fixed: bytes, compressed: int, offset: int) -> tuple[int, int]:
    """Sizes and offset from the ZIP64 extra field, where the fixed fields hold all ones."""
    at = 0
    while at + 4 <= len(extra):
        kind, length = struct.unpack_from("<HH", extra, at)
        if kind == 1:
            values = iter(struct.unpack_from(f"<{min(length, len(extra) - at - 4) // 8}Q", extra, at + 4))
            if struct.unpack_from("<I", fixed, 24)[0] == 0xFFFFFFFF:
                next(values, None)
            if compressed == 0xFFFFFFFF:
                compressed = next(values, compressed)
            if offset == 0xFFFFFFFF:
                offset = next(values, offset)
            break
        at += 4 + length
    return compressed, offset


def read_member(file: BinaryIO, member: Member) -> bytes | None:
    """The first MiB of a member; None when it is encrypted, damaged, or packed in a rare way."""
    if member.encrypted:
        return None
    file.seek(member.offset)
    fixed = file.read(30)
    if len(fixed) < 30 or fixed[:4] != _LOCAL:
        return None
    name_length, extra_length = struct.unpack_from("<HH", fixed, 26)
    file.seek(name_length + extra_length, 1)
    data = file.read(min(member.compressed, MAX_MEMBER))
    if member.method == 0:
        return data
    if member.method != 8:
        return None
    try:
        return zlib.decompressobj(-15).decompress(data, MAX_MEMBER)
    except zlib.error:
        return None


def _kind(file: BinaryIO, members: dict[str, Member], names: set[str]) -> ZipKind:
    mimetype = members.get("mimetype")
    if mimetype is not None and (raw := read_member(file, mimetype)) is not None:
        value = raw[:200].decode("ascii", "replace").strip()
        if value in _MIMETYPES or value.startswith(_MIMETYPE_FAMILIES):
            return ZipKind(media_type=value, rule="zip:mimetype")
    types = members.get("[content_types].xml")
    if types is not None:
        raw = read_member(file, types)
        if raw is None:
            return ZipKind(
                media_type=_by_names(names),
                rule="zip:names",
                damage="encrypted" if types.encrypted else "corrupt",
                detail="[Content_Types].xml can't be read.",
            )
        main = _main_type(raw, names)
        if main is not None:
            return ZipKind(media_type=main, rule="zip:content_types")
        if {"fixeddocseq.fdseq", "fixeddocumentsequence.fdseq"} & names or b"fixeddocumentsequence+xml" in raw:
            return ZipKind(media_type=_xps(file, members), rule="zip:names")
    if "meta-inf/container.xml" in members and mimetype is None:
        raw = read_member(file, members["meta-inf/container.xml"]) or b""
        if b"oebps-package" in raw:
            return ZipKind(media_type="application/epub+zip", rule="zip:container")
    if "meta-inf/manifest.xml" in members and "content.xml" in names:
        raw = read_member(file, members["meta-inf/manifest.xml"]) or b""
        if match := re.search(rb'media-type="(application/vnd\.(?:oasis\.opendocument|sun\.xml)\.[a-z-]+)"', raw):
            return ZipKind(media_type=match[1].decode(), rule="zip:manifest")
    if "androidmanifest.xml" in names or {"classes.dex", "resources.arsc"} <= names:
        return ZipKind(media_type="application/vnd.android.package-archive", rule="zip:names")
    if "meta-inf/manifest.mf" in names:
        return ZipKind(media_type="application/java-archive", rule="zip:names")
    if found := _iwork(file, members, names):
        return ZipKind(media_type=found, rule="zip:iwork")
    if "doc.kml" in names:
        return ZipKind(media_type="application/vnd.google-earth.kmz", rule="zip:names")
    return ZipKind(media_type="application/zip", rule="zip")


def _xps(file: BinaryIO, members: dict[str, Member]) -> str:
    """Microsoft's XPS, or its standard, which has a name of its own for the relationship (ECMA-388, annex C)."""
    rels = members.get("_rels/.rels")
    raw = read_member(file, rels) if rels is not None else None
    return "application/oxps" if b"schemas.openxps.org" in (raw or b"") else "application/vnd.ms-xpsdocument"


def _iwork(file: BinaryIO, members: dict[str, Member], names: set[str]) -> str | None:
    """Pages, Numbers or Keynote: by the root of the old index, or by the first object of the new one."""
    if "index.apxl" in names:
        return "application/vnd.apple.keynote"
    if "index.xml" in members:
        begin = (read_member(file, members["index.xml"]) or b"")[:4000]
        for mark, media_type in _OLD_IWORK:
            if mark in begin:
                return media_type
    if any(name.startswith(("index/slide", "index/masterslide", "index/templateslide")) for name in names):
        return "application/vnd.apple.keynote"
    begin = b""
    if "index/document.iwa" in members:
        begin = (read_member(file, members["index/document.iwa"]) or b"")[:64]
    elif "index.zip" in members:
        inner = read_member(file, members["index.zip"]) or b""
        if b"Index/MasterSlide" in inner or b"Index/TemplateSlide" in inner or b"Index/Slide" in inner:
            return "application/vnd.apple.keynote"
        at = inner.find(b"Index/Document.iwa")
        begin = inner[at : at + 128] if at >= 0 else b""
    if begin:
        # A block of Snappy, in which the first message of the archive says its type: 10000 is a Pages document.
        if b"\x08\x90\x4e" in begin:
            return "application/vnd.apple.pages"
        if b"\x08\x01\x12" in begin:
            return "application/vnd.apple.numbers"
    return "application/vnd.apple.iwork" if {"index/document.iwa", "index.zip"} & names else None


_OLD_IWORK = (
    (b"<sl:document", "application/vnd.apple.pages"),
    (b"<ls:document", "application/vnd.apple.numbers"),
    (b"<key:presentation", "application/vnd.apple.keynote"),
)


def _main_type(raw: bytes, names: set[str]) -> str | None:
    """Media type by the main part that the type list names and that is there: a stray `xl/` folder decides nothing."""
    encoding = "utf-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8"
    found: str | None = None
    for match in _OVERRIDE.finditer(raw.decode(encoding, "replace")):
        values = {m[1]: m[2] or m[3] or "" for m in _ATTRIBUTE.finditer(match[1])}
        media_type = MAIN_TYPES.get(values.get("ContentType", "").strip().lower())
        if media_type is None:
            continue
        part = values.get("PartName", "").lstrip("/").lower()
        if part in names:
            return media_type
        found = found or media_type
    if found is None and names:
        media_type = _by_names(names)
        found = media_type if media_type != "application/zip" else None
    return found


def _by_names(names: set[str]) -> str:
    for name, media_type in _FOLDERS:
        if name in names:
            return media_type
    packaged = {"[content_types].xml", "_rels/.rels"} & names
    for prefix, index in (("word/", 0), ("xl/", 1), ("ppt/", 3), ("visio/", 4)):
        if packaged and any(name.startswith(prefix) for name in names):
            return _FOLDERS[index][1]
    return "application/zip"


def _local_members(file: BinaryIO) -> tuple[dict[str, Member], set[str], bool]:
    """What the local headers at the front say when the directory is gone; whether an end record is somewhere."""
    file.seek(0)
    head = file.read(8 << 20)
    members: dict[str, Member] = {}
    names: set[str] = set()
    at = 0
    for _ in range(10_000):
        at = head.find(_LOCAL, at)
        if at < 0 or at + 30 > len(head):
            break
        flags, method = struct.unpack_from("<HH", head, at + 6)
        compressed, _, length, extra = struct.unpack_from("<IIHH", head, at + 18)
        name = _name(head[at + 30 : at + 30 + length], flags)
        lower = _key(name)
        if deciding := _deciding(lower):
            names.add(deciding)
            # Written to a stream, the size stands behind the data, which ends itself when it is deflated.
            members.setdefault(lower, Member(name, method, bool(flags & 1), compressed or MAX_MEMBER, at))
        # Over the data, where its size is known: another ZIP may stand in it.
        at += 30 + length + (extra + compressed if not flags & 8 else 0)
    return members, names, _END in head
