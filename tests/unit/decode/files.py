"""Small files of many formats, made by code, and a short way to ask what they are."""

from __future__ import annotations

import io
import struct
import zipfile
from pathlib import Path

from streams.decode import DecodeResult, decode
from streams.records import Detection

DOCX_MAIN = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
XLSX_MAIN = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"


def ask(
    folder: Path,
    data: bytes,
    name: str = "x",
    *,
    http: str | None = None,
    declared: str | None = None,
    most: int = 1 << 28,
) -> DecodeResult:
    """What `decode` says of these bytes under this name."""
    path = folder / "content"
    path.write_bytes(data)
    return decode(path, declared_media_type=declared, http_content_type=http, file_name=name, max_bytes=most)


def detected(folder: Path, data: bytes, name: str = "x", *, http: str | None = None) -> Detection:
    """The detection of these bytes, which must be there."""
    found = ask(folder, data, name, http=http).detection
    assert found is not None
    return found


def zipped(members: dict[str, bytes | str], *, stored: tuple[str, ...] = ()) -> bytes:
    """A ZIP with these members in this order."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data, zipfile.ZIP_STORED if name in stored else zipfile.ZIP_DEFLATED)
    return out.getvalue()


def content_types(*parts: tuple[str, str]) -> str:
    """[Content_Types].xml with these (part, type)."""
    overrides = "".join(f'<Override PartName="{part}" ContentType="{kind}"/>' for part, kind in parts)
    return f'<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">{overrides}</Types>'


def docx() -> dict[str, bytes | str]:
    """The members of a minimal Word file."""
    return {
        "[Content_Types].xml": content_types(("/word/document.xml", DOCX_MAIN)),
        "word/document.xml": "<w:document/>",
    }


def ole(*names: str) -> bytes:
    """A compound file whose root storage holds empty streams of these names ([MS-CFB] 2.2, 2.6)."""
    header = bytearray(512)
    header[:8] = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
    struct.pack_into("<HHHHH", header, 0x18, 0x3E, 3, 0xFFFE, 9, 6)
    struct.pack_into("<I", header, 0x2C, 1)  # FAT sectors
    struct.pack_into("<I", header, 0x30, 1)  # the directory begins in sector 1
    struct.pack_into("<I", header, 0x38, 4096)
    struct.pack_into("<II", header, 0x3C, 0xFFFFFFFE, 0)
    struct.pack_into("<II", header, 0x44, 0xFFFFFFFE, 0)
    struct.pack_into("<109I", header, 0x4C, 0, *[0xFFFFFFFF] * 108)
    entries = [("Root Entry", 5, 1 if names else 0xFFFFFFFF)] + [(name, 2, 0xFFFFFFFF) for name in names]
    sectors = -(-len(entries) // 4)
    fat = [0xFFFFFFFD, *[n + 2 for n in range(sectors - 1)], 0xFFFFFFFE]
    fat = [0xFFFFFFFD] + [index + 2 for index in range(sectors - 1)] + [0xFFFFFFFE]
    fat += [0xFFFFFFFF] * (128 - len(fat))
    directory = bytearray()
    for index, (name, kind, child) in enumerate(entries):
        entry = bytearray(128)
        raw = name.encode("utf-16-le") + b"\0\0"
        entry[: len(raw)] = raw
        right = index + 1 if 0 < index < len(entries) - 1 else 0xFFFFFFFF
        struct.pack_into("<HBBIII", entry, 64, len(raw), kind, 1, 0xFFFFFFFF, right, child)
        directory += entry
    directory += bytes(sectors * 512 - len(directory))
    return bytes(header) + struct.pack("<128I", *fat) + bytes(directory)
