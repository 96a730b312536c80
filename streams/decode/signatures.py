"""Formats that say what they are in fixed bytes: the same answer on every machine, whichever libmagic it has."""

from __future__ import annotations

import re
import struct

_PREFIXES: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"II*\x00", "image/tiff"),
    (b"MM\x00*", "image/tiff"),
    (b"II+\x00", "image/tiff"),
    (b"MM\x00+", "image/tiff"),
    (b"8BPS\x00\x01", "image/vnd.adobe.photoshop"),
    (b"\x00\x00\x00\x0cjP  \r\n\x87\n", "image/jp2"),
    (b"AT&TFORM", "image/vnd.djvu"),
    (b"\x1f\x8b\x08", "application/gzip"),
    (b"BZh", "application/x-bzip2"),
    (b"\xfd7zXZ\x00", "application/x-xz"),
    (b"\x28\xb5\x2f\xfd", "application/zstd"),
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (b"Rar!\x1a\x07", "application/vnd.rar"),
    (b"MSCF\x00\x00\x00\x00", "application/vnd.ms-cab-compressed"),
    (b"\x78\x9f\x3e\x22", "application/vnd.ms-tnef"),
    (b"SQLite format 3\x00", "application/vnd.sqlite3"),
    (b"%!PS-AdobeFont", "font/type1"),
    (b"%!FontType", "font/type1"),
    (b"%!PS", "application/postscript"),
    (b"\xc5\xd0\xd3\xc6", "application/postscript"),
    (b"PAR1", "application/vnd.apache.parquet"),
    (b"wOFF", "font/woff"),
    (b"wOF2", "font/woff2"),
    (b"OTTO\x00", "font/otf"),
    (b"ttcf\x00", "font/collection"),
    (b"\x7fELF", "application/x-elf"),
    (b"\xfe\xed\xfa\xce", "application/x-mach-binary"),
    (b"\xfe\xed\xfa\xcf", "application/x-mach-binary"),
    (b"\xce\xfa\xed\xfe", "application/x-mach-binary"),
    (b"\xcf\xfa\xed\xfe", "application/x-mach-binary"),
    (b"\x00asm", "application/wasm"),
    (b"dex\n03", "application/vnd.android.dex"),
    (b"fLaC", "audio/flac"),
    (b"OggS", "application/ogg"),
    (b"ID3", "audio/mpeg"),
    (b"MThd\x00\x00\x00\x06", "audio/midi"),
    (b"#!AMR", "audio/amr"),
    (b"FLV\x01", "video/x-flv"),
    (b"\x30\x26\xb2\x75\x8e\x66\xcf\x11", "video/x-ms-asf"),
    (b"\x00\x00\x01\xba", "video/mpeg"),
    (b"\x00\x00\x01\xb3", "video/mpeg"),
    (b"L\x00\x00\x00\x01\x14\x02\x00\x00\x00\x00\x00\xc0\x00\x00\x00\x00\x00\x00F", "application/x-ms-shortcut"),
    (b"\x00\x00\x00\x01Bud1", "application/x-apple-dsstore"),
    (b"\x00\x05\x16\x07\x00\x02\x00\x00", "application/applefile"),
    (b"\x00\x05\x16\x00\x00\x02\x00\x00", "application/applefile"),
)

_BRANDS = {
    b"heic": "image/heic",
    b"heix": "image/heic",
    b"hevc": "image/heic",
    b"mif1": "image/heif",
    b"msf1": "image/heif",
    b"avif": "image/avif",
    b"avis": "image/avif",
    b"M4A ": "audio/mp4",
    b"M4B ": "audio/mp4",
    b"qt  ": "video/quicktime",
}
_RIFF = {b"WEBP": "image/webp", b"WAVE": "audio/wav", b"AVI ": "video/x-msvideo"}

_PDF_OBJECT = re.compile(rb"\d+\s+\d+\s+obj\b|startxref|%%EOF|\bendobj\b")
PDF_SEARCH = 1 << 20
"""Bytes that are searched for %PDF-: readers take 1024 (ISO 32000-1, implementation note 13), web servers put more."""


def by_signature(head: bytes) -> str | None:
    """Media type by fixed bytes at fixed places; None when there are none of these."""
    for prefix, media_type in _PREFIXES:
        if head.startswith(prefix):
            return media_type
    if head[4:8] == b"ftyp":
        return _BRANDS.get(head[8:12], "video/mp4")
    if head[:4] == b"RIFF":
        return _RIFF.get(head[8:12], "application/x-riff")
    if head[:4] == b"FORM" and head[8:12] in (b"AIFF", b"AIFC"):
        return "audio/aiff"
    if head[:4] == b"\x1aE\xdf\xa3":
        return "video/webm" if b"webm" in head[:64] else "video/x-matroska"
    if head[:4] == b"\xca\xfe\xba\xbe" and len(head) >= 8:
        # Mach-O with several architectures, or a Java class, whose version is above any number of architectures
        return "application/java-vm" if struct.unpack_from(">I", head, 4)[0] >= 43 else "application/x-mach-binary"
    if head[:2] == b"MZ" and _is_program(head):
        return "application/vnd.microsoft.portable-executable"
    if head[:4] in (b"\x00\x01\x00\x00", b"true") and _is_sfnt(head):
        return "font/ttf"
    if head[:2] == b"BM" and len(head) > 26 and head[6:10] == b"\x00\x00\x00\x00" and head[14] in (12, 40, 108, 124):
        return "image/bmp"
    if _is_tar(head):
        return "application/x-tar"
    return _bare_audio(head)


def _is_program(head: bytes) -> bool:
    """A DOS header whose relocation table is where one can be, or that leads to PE, NE or LE."""
    if len(head) < 64:
        return False
    (where,) = struct.unpack_from("<I", head, 0x3C)
    if head[where : where + 2] in (b"PE", b"NE", b"LE", b"LX"):
        return True
    return 0 in head[:64] and not head[:512].isascii()


def _is_sfnt(head: bytes) -> bool:
    (tables,) = struct.unpack_from(">H", head.ljust(6, b"\0"), 4)
    return 0 < tables < 100 and bool(re.fullmatch(rb"[A-Za-z0-9/ ]{4}", head[12:16]))


def _is_tar(head: bytes) -> bool:
    """A tar header by its checksum (POSIX 1003.1, ustar), which the old formats have, too."""
    if len(head) < 512 or head[:512].count(0) == 512:
        return False
    field = head[148:156].strip(b" \0")
    try:
        stated = int(field, 8) if re.fullmatch(rb"[0-7]{1,7}", field) else -1
    except ValueError:
        return False
    return stated == sum(head[:148]) + 8 * 32 + sum(head[156:512])


def _bare_audio(head: bytes) -> str | None:
    """MPEG audio without ID3 and MPEG transport streams: two frames in a row, for one could be chance."""
    if len(head) > 400 and head[0] == 0x47 and head[188] == 0x47 and head[376] == 0x47:
        return "video/mp2t"
    if len(head) > 4 and head[0] == 0xFF and head[1] & 0xE6 == 0xE2:
        rates = (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 0)
        bitrate, sampling = rates[head[2] >> 4], (44100, 48000, 32000, 0)[head[2] >> 2 & 3]
        if bitrate and sampling:
            size = 144_000 * bitrate // sampling + (head[2] >> 1 & 1)
            if head[size : size + 1] == b"\xff":
                return "audio/mpeg"
    return None


def pdf_offset(data: bytes) -> int | None:
    """Where a PDF begins in the first bytes of a file: at 0, or after junk when objects follow; None when nowhere."""
    at = data.find(b"%PDF-", 0, PDF_SEARCH)
    while at >= 0:
        if at == 0:
            return 0
        if re.match(rb"%PDF-\d\.\d", data[at : at + 8]) and _PDF_OBJECT.search(data, at):
            return at
        at = data.find(b"%PDF-", at + 5, PDF_SEARCH)
    return None
