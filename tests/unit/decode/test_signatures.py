"""Fixed bytes at fixed places, and what is asked besides where those could be the beginning of something else."""

from __future__ import annotations

import struct
import time
from pathlib import Path

import pytest

from streams.decode.signatures import by_signature, pdf_offset, pdf_without_header
from tests.unit.decode.files import detected


def lzma_header() -> bytes:
    return b"\x5d" + struct.pack("<IQ", 1 << 23, 0xFFFF_FFFF_FFFF_FFFF) + b"\x00" * 40


def old_tar(*, signed: bool = False) -> bytes:
    """A header of version 7: no magic, only the checksum, which some programs summed over signed bytes."""
    head = bytearray(512)
    head[:7] = "größe".encode()
    head[100:108] = b"0000644\0"
    head[124:136] = b"00000000000\0"
    head[148:156] = b" " * 8
    total = sum(head) - (256 * sum(byte > 127 for byte in head) if signed else 0)
    head[148:156] = b"%06o\0 " % total
    return bytes(head)


def icon(count: int = 1) -> bytes:
    entry = struct.pack("<BBBBHHII", 16, 16, 0, 0, 1, 32, 1128, 6 + 16 * count)
    return struct.pack("<HHH", 0, 1, count) + entry * count + bytes(64)


def heif(brand: bytes, *compatible: bytes) -> bytes:
    size = 16 + 4 * len(compatible)
    return struct.pack(">I", size) + b"ftyp" + brand + bytes(4) + b"".join(compatible) + bytes(40)


def mpeg_frame(*, second: bool = True) -> bytes:
    """Layer III, 128 kbit/s, 44.1 kHz: 417 bytes to the next frame."""
    frame = (b"\xff\xfb\x90\x00").ljust(417, b"\xaa")
    return frame + (b"\xff\xfb\x90\x00" if second else b"text")


def iso() -> bytes:
    return bytes(0x8001) + b"CD001\x01" + bytes(2048)


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (b"\x1f\x9d\x90abc", "application/x-compress"),
        (b"\x04\x22\x4d\x18" + bytes(20), "application/x-lz4"),
        (lzma_header(), "application/x-lzma"),
        (b"BZh91AY&SY" + bytes(20), "application/x-bzip2"),
        (old_tar(), "application/x-tar"),
        (old_tar(signed=True), "application/x-tar"),
        (b"070701" + b"0" * 104 + b"a\0", "application/x-cpio"),
        (b"!<arch>\ndebian-binary   123", "application/vnd.debian.binary-package"),
        (b"!<arch>\nfoo.o/          123", "application/x-archive"),
        (iso(), "application/x-iso9660-image"),
        (b"Rar!\x1a\x07\x01\x00" + bytes(20), "application/vnd.rar"),
        (b"Rar!\x1a\x07\x00" + bytes(20), "application/vnd.rar"),
        (icon(), "image/vnd.microsoft.icon"),
        (heif(b"heic"), "image/heic"),
        (heif(b"mif1", b"mif1", b"avif"), "image/avif"),
        (heif(b"isom"), "video/mp4"),
        (b"\x01\x00\x00\x00" + bytes(36) + b" EMF" + bytes(60), "image/emf"),
        (b"\xd7\xcd\xc6\x9a\x00\x00" + bytes(30), "image/wmf"),
        (b"P6\n# made by hand\n2 2\n255\n" + bytes(12), "image/x-portable-pixmap"),
        (b"ID3\x03\x00\x00\x00\x00\x00\x0a" + bytes(10) + b"fLaC", "audio/flac"),
        (b"ID3\x03\x00\x00\x00\x00\x00\x0a" + bytes(10) + b"\xff\xfb", "audio/mpeg"),
        (mpeg_frame(), "audio/mpeg"),
        (b"OggS\x00\x02" + bytes(22) + b"\x01vorbis", "audio/ogg"),
        (b"OggS\x00\x02" + bytes(22) + b"\x80theora", "video/ogg"),
        (struct.pack(">I", 8) + b"wide" + struct.pack(">I", 100) + b"mdat", "video/quicktime"),
        (struct.pack("<HHHHHH", 0x0809, 8, 0x0500, 0x0005, 0, 0), "application/vnd.ms-excel"),
        (struct.pack("<HHHH", 0x0009, 4, 2, 0x0010), "application/vnd.ms-excel"),
        (b"\xdb\xa5\x2d\x00" + bytes(40), "application/msword"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 1 1\n", "application/postscript"),
        (b"%!\n/Times findfont\n", "application/postscript"),
        (b"\x00\x01\x00\x00Standard Jet DB\x00" + bytes(20), "application/x-msaccess"),
        (b"\x30\x82\x01\x00\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x03" + bytes(20), "application/pkcs7-mime"),
        (b"\xca\xfe\xba\xbe\x00\x00\x00\x34" + bytes(20), "application/java-vm"),
        (b"\xca\xfe\xba\xbe\x00\x00\x00\x02" + bytes(20), "application/x-mach-binary"),
    ],
)
def test_signatures(data: bytes, media_type: str) -> None:
    assert by_signature(data) == media_type


@pytest.mark.parametrize(
    "data",
    [
        b"GIF89a is the name of a format of 1989.\n",
        b"PAR1 is what Parquet begins with.\n",
        b"070701 was the number of the first order.\n",
        b"070701;4711;12,50\n070702;4712;8,00\n",
        b"BZh is what bzip2 begins with.\n",
        b"MZ stands for Mark Zbikowski.\n" * 4,
        b"%!TEX root = thesis.tex\n",
        b"BM is not always a bitmap, said the man at the counter.\n",
        b"FWS, CWS and ZWS: three kinds of Flash.\n" * 3,
        mpeg_frame(second=False),
        b"P1 is a road. It is 6 miles long.\n",
        bytes(1024),
        b"\x00\x00\x01\x00" + b"\xff" * 40,
        b"",
    ],
)
def test_words_and_chance_are_no_signature(data: bytes) -> None:
    assert by_signature(data) is None


def test_a_pdf_behind_junk_is_found_and_a_text_about_pdf_is_not() -> None:
    assert pdf_offset(b"%PDF-1.4\n") == 0
    assert pdf_offset(b"\0" * 128 + b"%PDF-1.4\n1 0 obj\n<<>>\nendobj") == 128
    assert pdf_offset(b"garbage%PDF-1.4\n1 0 obj\n<<>>\nendobj") == 7
    assert pdf_offset(b'ask(b"x%PDF-1.4\\n1 0 obj\\n<<>>endobj")\nand 1 0 obj') is None
    assert pdf_offset(b"Write %PDF-1.4 first.\n" * 200) is None
    assert pdf_offset(b'HEAD = (\n    b"%PDF-1.4\\n"\n    b"1 0 obj"\n)\n# endobj\n1 0 obj\n') is None


def test_a_pdf_whose_first_line_is_broken_is_told_by_its_objects() -> None:
    end = b"\nstartxref\n42\n%%EOF\n"
    assert pdf_without_header(b"%PDF1.4\n%\xe2\xe3\n1 0 obj\n<<>>\nendobj\n", end)
    assert pdf_without_header(b"   5 0 obj <</Type/Catalog>>\nendobj\n", end)
    assert not pdf_without_header(b"5 0 obj is how an object begins.\n", b"and so on")
    assert not pdf_without_header(b"Every PDF ends so:\n", end)


def test_many_headers_cost_no_more_than_one() -> None:
    started = time.perf_counter()
    assert pdf_offset(b"x" + b"%PDF-1.4 " * 110_000) is None
    assert time.perf_counter() - started < 2


def test_mail_that_carries_an_unpacked_pdf_is_mail(tmp_path: Path) -> None:
    data = (
        b"Return-Path: <a@example.org>\r\nFrom: a@example.org\r\nTo: b@example.org\r\nMIME-Version: 1.0\r\n"
        b"Content-Type: application/pdf\r\nContent-Transfer-Encoding: binary\r\n\r\n"
        b"%PDF-1.4\n1 0 obj\n<<>>\nendobj\n" + bytes(range(256)) * 8
    )
    assert detected(tmp_path, data).media_type == "message/rfc822"
