"""What an OLE2 compound file is, by the streams in its root storage.

Reads the directory sectors only. Source: [MS-CFB] 2.2 (header), 2.3 (FAT), 2.6 (directory).
"""

from __future__ import annotations

import re
import struct
import uuid
from pathlib import Path
from typing import BinaryIO

import msgspec

SIGNATURE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
MAX_DIRECTORY_SECTORS = 4096
MAX_FAT_SECTORS = 40_000  # a 2.5 GB file with sectors of 512 bytes
_END_OF_CHAIN = 0xFFFFFFFE
_NO_STREAM = 0xFFFFFFFF


_BY_STREAM: tuple[tuple[tuple[str, ...], str], ...] = (
    (("worddocument",), "application/msword"),
    (("workbook", "book"), "application/vnd.ms-excel"),
    (("powerpoint document", "pp40", "pp97_dualstorage"), "application/vnd.ms-powerpoint"),
    (("__properties_version1.0", "__nameid_version1.0"), "application/vnd.ms-outlook"),
    (("visiodocument",), "application/vnd.visio"),
    (("hwpsummaryinformation", "\x05hwpsummaryinformation"), "application/x-hwp"),
    (("quill",), "application/x-mspublisher"),
    (("starwriterdocument",), "application/vnd.stardivision.writer"),
    (("starcalcdocument",), "application/vnd.stardivision.calc"),
    (("stardrawdocument", "stardrawdocument3"), "application/vnd.stardivision.draw"),
    (("matost", "wksswbsheets"), "application/vnd.ms-works"),
    (("nativecontent_main",), "application/x-quattro-pro"),
    (("perfectoffice_main",), "application/vnd.wordperfect"),
)
_PROJECT = re.compile(r"props\d{0,2}")
_BY_CLASS: dict[str, str] = {
    "00020900-0000-0000-c000-000000000046": "application/msword",
    "00020906-0000-0000-c000-000000000046": "application/msword",
    "00020810-0000-0000-c000-000000000046": "application/vnd.ms-excel",
    "00020820-0000-0000-c000-000000000046": "application/vnd.ms-excel",
    "64818d10-4f9b-11cf-86ea-00aa00b929e8": "application/vnd.ms-powerpoint",
    "ea7bae70-fb3b-11cd-a903-00aa00510ea3": "application/vnd.ms-powerpoint",
    "00020d0b-0000-0000-c000-000000000046": "application/vnd.ms-outlook",
    "0006f046-0000-0000-c000-000000000046": "application/vnd.ms-outlook",
    "00021201-0000-0000-00c0-000000000046": "application/x-mspublisher",
    "00021a13-0000-0000-c000-000000000046": "application/vnd.visio",
    "00021a14-0000-0000-c000-000000000046": "application/vnd.visio",
    "74b78f3a-c8c8-11d1-be11-00c04fb6faf1": "application/vnd.ms-project",
    "000c1084-0000-0000-c000-000000000046": "application/x-msi",
}
"""Class of the root storage -> media type, where no stream says it; programs do not always write the class."""


_REMAINS = tuple(
    (name.encode("utf-16-le"), media_type)
    for name, media_type in (
        ("EncryptedPackage", "application/x-ooxml-encrypted"),
        ("WordDocument", "application/msword"),
        ("Workbook", "application/vnd.ms-excel"),
        ("PowerPoint Document", "application/vnd.ms-powerpoint"),
        ("__properties_version1.0", "application/vnd.ms-outlook"),
        ("VisioDocument", "application/vnd.visio"),
    )
)
_BEGINNINGS = (
    (b"\xec\xa5\xc1\x00", "application/msword"),
    (b"\x09\x08\x10\x00\x00\x06\x05\x00", "application/vnd.ms-excel"),
    (b"\x09\x08\x08\x00\x00\x05\x05\x00", "application/vnd.ms-excel"),
    (b"\x0f\x00\xe8\x03", "application/vnd.ms-powerpoint"),
)
"""How the main stream begins, which programs often write into the first sector."""


class OleKind(msgspec.Struct, frozen=True, kw_only=True):
    """What a compound file is. `failure`: `encrypted`, `truncated` or `corrupt`, with `detail` for a person."""

    media_type: str
    rule: str
    failure: str | None = None
    detail: str = ""
    thumbnails: bool = False


class _DamagedError(Exception):
    def __init__(self, damage: str, detail: str) -> None:
        super().__init__(detail)
        self.damage = damage


def identify_ole(path: Path, size: int) -> OleKind:
    """What the compound file at `path` is. Never raises for the bytes' sake: damage is part of the answer."""
    with path.open("rb") as file:
        try:
            directory = _directory(file, size)
        except _DamagedError as error:
            kind = _by_remains(file)
            return OleKind(media_type=kind, rule="ole:remains", failure=error.damage, detail=str(error))
    lower = {name.lower() for name in _children_of_root(directory)}
    if "encryptedpackage" in lower:
        return OleKind(
            media_type="application/x-ooxml-encrypted",
            rule="ole:streams",
            failure="encrypted",
            detail="An office document that needs a password.",
        )
    found = next((kind for streams, kind in _BY_STREAM if any(name in lower for name in streams)), None)
    if "\tdrmcontent" in lower:  # what else is there is a note for programs that know no rights management
        return OleKind(
            media_type=found or "application/x-ooxml-encrypted",
            rule="ole:streams",
            failure="encrypted",
            detail="An office document under rights management.",
        )
    if found is not None:
        return OleKind(media_type=found, rule="ole:streams")
    if any(_PROJECT.fullmatch(name) for name in lower):
        return OleKind(media_type="application/vnd.ms-project", rule="ole:streams")
    if by_class := _BY_CLASS.get(_class_id(directory)):
        return OleKind(media_type=by_class, rule="ole:class")
    thumbnails = "catalog" in lower or any(name.startswith(("256_", "96_")) for name in lower)
    return OleKind(media_type="application/x-ole-storage", rule="ole:streams", thumbnails=thumbnails)


def _by_remains(file: BinaryIO) -> str:
    """What a compound file was whose directory is gone: by a name that is left, or how its first stream begins."""
    file.seek(0)
    data = file.read(1 << 20)
    for name, media_type in _REMAINS:
        if name in data:
            return media_type
    first = data[512:520]
    return next((kind for begin, kind in _BEGINNINGS if first.startswith(begin)), "application/x-ole-storage")


def _class_id(directory: bytes) -> str:
    """The class of the root storage ([MS-CFB] 2.6.1), as people write it."""
    return str(uuid.UUID(bytes_le=directory[0x50:0x60]))


def _directory(file: BinaryIO, size: int) -> bytes:
    """The directory's entries, of 128 bytes each."""
    file.seek(0)
    header = file.read(512)
    if len(header) < 512:
        raise _DamagedError("truncated", "The compound file ends within its header.")
    (shift,) = struct.unpack_from("<H", header, 0x1E)
    if shift not in (9, 12):
        raise _DamagedError("corrupt", f"The compound file has sectors of 2^{shift} bytes.")
    sector_size = 1 << shift
    (directory_start,) = struct.unpack_from("<I", header, 0x30)
    fat = _Fat(file, header, sector_size)
    data = bytearray()
    seen: set[int] = set()
    sector = directory_start
    while sector < _END_OF_CHAIN - 1 and len(seen) < MAX_DIRECTORY_SECTORS:
        if sector in seen:
            raise _DamagedError("corrupt", "The compound file's directory is a circle.")
        seen.add(sector)
        file.seek((sector + 1) * sector_size)
        piece = file.read(sector_size)
        if len(piece) < sector_size:
            if (sector + 1) * sector_size >= size or not data:
                raise _DamagedError("truncated", "The compound file is cut off before its directory.")
            data += piece
            break
        data += piece
        sector = fat.next(sector)
    if len(data) < 128:
        raise _DamagedError("corrupt", "The compound file has no directory.")
    return bytes(data)


class _Fat:
    """The table of sector chains, read where it is asked."""

    def __init__(self, file: BinaryIO, header: bytes, sector_size: int) -> None:
        self.file = file
        self.sector_size = sector_size
        self.sectors = [s for s in struct.unpack_from("<109I", header, 0x4C) if s < _END_OF_CHAIN - 1]
        start, count = struct.unpack_from("<II", header, 0x44)
        per_sector = sector_size // 4 - 1
        while start < _END_OF_CHAIN - 1 and count > 0 and len(self.sectors) < MAX_FAT_SECTORS:
            file.seek((start + 1) * sector_size)
            piece = file.read(sector_size)
            if len(piece) < sector_size:
                break
            values = struct.unpack(f"<{per_sector + 1}I", piece)
            self.sectors += [s for s in values[:-1] if s < _END_OF_CHAIN - 1]
            start, count = values[-1], count - 1

    def next(self, sector: int) -> int:
        """The sector after this one in its chain."""
        index, within = divmod(sector, self.sector_size // 4)
        if index >= len(self.sectors):
            return _END_OF_CHAIN
        self.file.seek((self.sectors[index] + 1) * self.sector_size + within * 4)
        piece = self.file.read(4)
        return int(struct.unpack("<I", piece)[0]) if len(piece) == 4 else _END_OF_CHAIN


def _children_of_root(directory: bytes) -> set[str]:
    """Walks the tree of siblings below the root entry; entries of nested storages are other documents' streams."""
    count = len(directory) // 128
    (child,) = struct.unpack_from("<I", directory, 0x4C)
    names: set[str] = set()
    seen: set[int] = set()
    waiting = [child]
    while waiting:
        entry = waiting.pop()
        if entry >= count or entry in seen or entry == _NO_STREAM:
            continue
        seen.add(entry)
        at = entry * 128
        (length,) = struct.unpack_from("<H", directory, at + 64)
        name = directory[at : at + max(0, min(length, 64) - 2)].decode("utf-16-le", "replace")
        if directory[at + 66] in (1, 2):
            names.add(name)
        waiting += struct.unpack_from("<II", directory, at + 68)
    return names
