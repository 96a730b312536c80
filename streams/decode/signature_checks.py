"""Formats that a few fixed bytes do not tell: each is checked by a second property, for one could be chance."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable

_BRANDS = {
    b"heic": "image/heic",
    b"heix": "image/heic",
    b"hevc": "image/heic-sequence",
    b"hevx": "image/heic-sequence",
    b"mif1": "image/heif",
    b"msf1": "image/heif-sequence",
    b"avif": "image/avif",
    b"avis": "image/avif",
    b"jp2 ": "image/jp2",
    b"jpx ": "image/jpx",
    b"jpm ": "image/jpm",
    b"M4A ": "audio/mp4",
    b"M4B ": "audio/mp4",
    b"M4P ": "audio/mp4",
    b"F4A ": "audio/mp4",
    b"qt  ": "video/quicktime",
    b"crx ": "image/x-canon-cr3",
}
_RIFF = {
    b"WEBP": "image/webp",
    b"WAVE": "audio/wav",
    b"AVI ": "video/x-msvideo",
    b"CDRA": "application/vnd.corel-draw",
    b"ACON": "image/x-ani",
    b"RMID": "audio/midi",
    b"sfbk": "audio/x-soundfont",
}
_QUICKTIME = frozenset({b"moov", b"mdat", b"wide", b"free", b"skip", b"pnot"})
_OGG = (
    (b"\x80theora", "video/ogg"),
    (b"\x01vorbis", "audio/ogg"),
    (b"OpusHead", "audio/ogg"),
    (b"Speex  ", "audio/ogg"),
)
_ASN1_PKCS7 = re.compile(rb"0[\x80-\x84].{0,4}\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07([\x01-\x06])", re.DOTALL)


def _media_container(head: bytes) -> str | None:
    """ISO base media (ISO/IEC 14496-12) by brand, QuickTime without one, RIFF, IFF, Matroska, Ogg, Flash."""
    if head[4:8] == b"ftyp":
        brand = _BRANDS.get(head[8:12])
        if head[8:12] in (b"mif1", b"msf1"):
            # The brand of the structure; what is in it stands among the compatible ones.
            size = min(int.from_bytes(head[:4], "big"), 512)
            compatible = [head[at : at + 4] for at in range(16, size, 4)]
            found = [_BRANDS[one] for one in compatible if one in _BRANDS and one not in (b"mif1", b"msf1")]
            return found[0] if found else brand
        return brand or "video/mp4"
    if head[:3] == b"ID3" and len(head) > 14 and head[3] < 5:
        # A tag may stand before anything; its size has seven bits in each byte (ID3v2, 3.1).
        size = sum((byte & 0x7F) << shift for byte, shift in zip(head[6:10], (21, 14, 7, 0), strict=True))
        return "audio/flac" if head[10 + size : 14 + size] == b"fLaC" else "audio/mpeg"
    if head[4:8] in _QUICKTIME and _is_atom(head):
        return "video/quicktime"
    if head[:4] in (b"RIFF", b"RIFX", b"RF64"):
        kind = head[8:12]
        return "application/vnd.corel-draw" if kind.startswith(b"CDR") else _RIFF.get(kind, "application/x-riff")
    if head[:4] == b"FORM" and head[8:12] in (b"AIFF", b"AIFC", b"ILBM"):
        return "image/x-ilbm" if head[8:12] == b"ILBM" else "audio/aiff"
    if head[:4] == b"\x1aE\xdf\xa3":
        return "video/webm" if b"webm" in head[:64] else "video/x-matroska"
    if head[:4] == b"OggS":
        return next((kind for mark, kind in _OGG if mark in head[:512]), "application/ogg")
    if head[:3] in (b"FWS", b"CWS", b"ZWS") and len(head) > 8 and 0 < head[3] < 60 and 0 in head[4:32]:
        return "application/vnd.adobe.flash.movie"
    return None


def _is_atom(head: bytes) -> bool:
    """Whether a second atom follows the first, or the first fills what was read."""
    size = int.from_bytes(head[:4], "big")
    if size == 1:
        return True
    following = head[size + 4 : size + 8]
    return size >= 8 and (size + 8 > len(head) or following.isalpha())


def _program(head: bytes) -> str | None:
    if head[:4] == b"\xca\xfe\xba\xbe" and len(head) >= 8:
        # Mach-O with several architectures, or a Java class, whose version is above any number of architectures
        return "application/java-vm" if struct.unpack_from(">I", head, 4)[0] >= 43 else "application/x-mach-binary"
    if head[:2] != b"MZ" or len(head) < 64:
        return None
    (where,) = struct.unpack_from("<I", head, 0x3C)
    # A DOS header that leads to PE, NE or LE, or a plain DOS program, whose header has zeros
    if head[where : where + 2] in (b"PE", b"NE", b"LE", b"LX") or (0 in head[:64] and not head[:512].isascii()):
        return "application/vnd.microsoft.portable-executable"
    return None


def _font(head: bytes) -> str | None:
    if head[:4] in (b"\x00\x01\x00\x00", b"true") and len(head) >= 16:
        (tables,) = struct.unpack_from(">H", head, 4)
        if 0 < tables < 100 and re.fullmatch(rb"[A-Za-z0-9/ ]{4}", head[12:16]):
            return "font/ttf"
    if head[:2] == b"\x80\x01" and head[6:8] == b"%!":
        return "font/type1"
    if head[34:36] == b"LP" and head[8:12] in (b"\x00\x00\x01\x00", b"\x01\x00\x02\x00", b"\x02\x00\x02\x00"):
        return "application/vnd.ms-fontobject"
    return None


def _image(head: bytes) -> str | None:
    if (
        head[:2] == b"BM"
        and len(head) > 26
        and head[6:10] == b"\x00\x00\x00\x00"
        and head[14] in (12, 40, 64, 108, 124)
    ):
        return "image/bmp"
    if head[:4] == b"\x01\x00\x00\x00" and head[40:44] == b" EMF":
        return "image/emf"
    if head[:6] in (b"\x01\x00\x09\x00\x00\x03", b"\x02\x00\x09\x00\x00\x03", b"\x01\x00\x09\x00\x00\x01"):
        return "image/wmf"
    if head[:4] in (b"\x00\x00\x01\x00", b"\x00\x00\x02\x00") and _is_icon(head):
        return "image/vnd.microsoft.icon"
    if re.match(rb"P[1-6]\s(?:#[^\n]*\n\s*)*\d{1,6}\s+(?:#[^\n]*\n\s*)*\d{1,6}\s", head[:2000]):
        return ("image/x-portable-bitmap", "image/x-portable-graymap", "image/x-portable-pixmap")[(head[1] - 0x31) % 3]
    if head[:4] == b"icns" and len(head) > 8 and head[8:12].isalnum():
        return "image/x-icns"
    if head[:1] == b"\x0a" and head[1:3] in (b"\x00\x01", b"\x02\x01", b"\x03\x01", b"\x05\x01") and len(head) >= 128:
        return "image/vnd.zbrush.pcx"
    if head[128:132] == b"DICM":
        return "application/dicom"
    return None


def _is_icon(head: bytes) -> bool:
    """ICO and CUR: a count, then entries whose reserved byte is zero and whose first image follows the entries."""
    if len(head) < 22:
        return False
    (count,) = struct.unpack_from("<H", head, 4)
    size, offset = struct.unpack_from("<II", head, 14)
    return 0 < count <= 256 and head[9] == 0 and offset >= 6 + 16 * count and 0 < size < 1 << 24


def _archive(head: bytes) -> str | None:
    if head[:3] == b"BZh" and head[4:10] in (b"1AY&SY", b"\x17rE8P\x90"):
        return "application/x-bzip2"
    if head[:2] in (b"\xc7\x71", b"\x71\xc7") and _is_binary_cpio(head):
        return "application/x-cpio"
    if re.match(rb"07070[12][0-9A-Fa-f]{104}|070707[0-7]{70}", head):
        return "application/x-cpio"
    if head[2:4] == b"-l" and head[6:7] == b"-" and head[4:6] in _LHA:
        return "application/x-lzh-compressed"
    if head[7:14] == b"**ACE**":
        return "application/x-ace-compressed"
    if head[:2] == b"\x60\xea" and len(head) > 10 and head[10:11] in b"\x00\x01\x02" and 20 < head[2] < 120:
        return "application/x-arj"
    if head[20:24] == b"\xdc\xa7\xc4\xfd":
        return "application/x-zoo"
    if head[0x8001:0x8006] == b"CD001":
        return "application/x-iso9660-image"
    if head[:1] == b"\x50" and head[1:4] == b"\x2a\x4d\x18" and b"\x28\xb5\x2f\xfd" in head[:64]:
        return "application/zstd"  # behind a frame that readers skip (RFC 8878, 3.1.2)
    if _is_lzma(head):
        return "application/x-lzma"
    if is_tar(head):
        return "application/x-tar"
    return None


_LHA = frozenset(a + b for a in (b"h", b"z") for b in (b"0", b"1", b"2", b"3", b"4", b"5", b"6", b"7", b"d", b"s"))


def _is_binary_cpio(head: bytes) -> bool:
    order = "<" if head[:2] == b"\xc7\x71" else ">"
    if len(head) < 30:
        return False
    (length,) = struct.unpack_from(order + "H", head, 20)
    return 0 < length < 1024 and head[26 + length - 1 : 26 + length] == b"\0"


def _is_lzma(head: bytes) -> bool:
    """The header of LZMA alone: usual properties, a dictionary of 2^n or 3*2^n bytes, a size that can be."""
    if len(head) < 18 or head[0] not in (0x5D, 0x5E, 0x6D, 0x5C, 0x2C) or head[13] != 0:
        return False
    dictionary, size = int.from_bytes(head[1:5], "little"), int.from_bytes(head[5:13], "little")
    odd = dictionary
    while odd and odd % 2 == 0:
        odd //= 2
    return ((odd in (1, 3) and dictionary >= 1 << 12) or dictionary == 0xFFFFFFFF) and (
        size == 0xFFFF_FFFF_FFFF_FFFF or 0 < size < 1 << 38
    )


def is_tar(head: bytes) -> bool:
    """A tar header by its checksum (POSIX 1003.1, ustar), which the old formats have, too.

    Old programs summed signed bytes.
    """
    if len(head) < 512 or head[0] == 0:
        return False
    field = head[148:156].strip(b" \0")
    if not re.fullmatch(rb"[0-7]{1,7}", field):
        return False
    stated = int(field, 8)
    rest = head[:148] + b" " * 8 + head[156:512]
    return stated in (sum(rest), sum(rest) - 256 * sum(byte > 127 for byte in rest))


def _document(head: bytes) -> str | None:
    if head[60:68] in (b"BOOKMOBI", b"TEXtREAd"):
        return "application/x-mobipocket-ebook" if head[60:64] == b"BOOK" else "application/vnd.palm"
    if head[:1] == b"\x09" and _is_old_excel(head):
        return "application/vnd.ms-excel"
    if match := _ASN1_PKCS7.match(head):
        return "application/pkcs7-signature" if match[1] == b"\x02" else "application/pkcs7-mime"
    return None


def _is_old_excel(head: bytes) -> bool:
    """A BOF record without a compound file around it ([MS-XLS] 2.4.21 and its forerunners BIFF2 to BIFF8)."""
    if len(head) < 8:
        return False
    kind, length, _, content = struct.unpack_from("<HHHH", head)
    lengths = {0x0009: (4,), 0x0209: (6,), 0x0409: (6,), 0x0809: (8, 16)}
    return bool(length in lengths.get(kind, ()) and content in (0x0005, 0x0006, 0x0010, 0x0020, 0x0040, 0x0100))


def _bare_audio(head: bytes) -> str | None:
    """MPEG audio and AAC without ID3, and transport streams: two frames in a row."""
    if len(head) > 400 and head[0] == 0x47 and head[188] == 0x47 and head[376] == 0x47:
        return "video/mp2t"
    if len(head) <= 8 or head[0] != 0xFF:
        return None
    if head[1] & 0xF6 == 0xF0:
        size = (head[3] & 3) << 11 | head[4] << 3 | head[5] >> 5
        return "audio/aac" if size > 7 and head[size : size + 2] == head[:2] else None
    layer, version = 4 - (head[1] >> 1 & 3), head[1] >> 3 & 3
    if head[1] & 0xE0 != 0xE0 or layer == 4 or version == 1:
        return None
    bitrate, sampling = _bitrate(layer, version, head[2] >> 4), (44100, 48000, 32000, 0)[head[2] >> 2 & 3]
    if not bitrate or not sampling:
        return None
    sampling >>= {3: 0, 2: 1, 0: 2}[version]
    padding = head[2] >> 1 & 1
    if layer == 1:
        size = (12_000 * bitrate // sampling + padding) * 4
    else:
        size = (72_000 if layer == 3 and version != 3 else 144_000) * bitrate // sampling + padding
    return "audio/mpeg" if head[size : size + 1] == b"\xff" else None


def _bitrate(layer: int, version: int, index: int) -> int:
    """Kilobits per second (ISO/IEC 11172-3, 2.4.2.3; ISO/IEC 13818-3, 2.4.2.3)."""
    rows = {
        (3, 1): (0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448, 0),
        (3, 2): (0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 0),
        (3, 3): (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 0),
        (2, 1): (0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256, 0),
    }
    low = (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160, 0)
    return rows.get((3 if version == 3 else 2, layer), low)[index]


CHECKS: tuple[Callable[[bytes], str | None], ...] = (
    _media_container,
    _program,
    _font,
    _image,
    _document,
    _archive,
    _bare_audio,
)
"""In this order; each gives a media type or None for the first bytes of a file."""
