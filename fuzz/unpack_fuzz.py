"""`unpack` under fire: what it must keep for any bytes at all."""

from __future__ import annotations

import bz2
import gzip
import lzma
import tempfile
from pathlib import Path

from streams.decode.identify import identify
from streams.decode.unpack import Limits, may_have_members, unpack
from streams.records.events import PROBLEMS

TYPES = {
    ".zip": "application/zip",
    ".tar": "application/x-tar",
    ".gz": "application/gzip",
    ".tgz": "application/gzip",
    ".bz2": "application/x-bzip2",
    ".xz": "application/x-xz",
    ".lzma": "application/x-lzma",
    ".zst": "application/zstd",
    ".7z": "application/x-7z-compressed",
    ".rar": "application/vnd.rar",
    ".eml": "message/rfc822",
    ".mbox": "application/mbox",
    ".msg": "application/vnd.ms-outlook",
    ".pdf": "application/pdf",
    ".doc": "application/msword",
    ".xls": "application/vnd.ms-excel",
    ".ppt": "application/vnd.ms-powerpoint",
    ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
}
"""What a file is opened as although its bytes may not say so any more."""


def seeds() -> dict[str, bytes]:
    """Small containers of all kinds, by name."""
    import py7zr
    from py7zr.properties import FILTER_DEFLATE64

    from fuzz.decode_fuzz import seeds as documents
    from streams.decode.unpack.decoders import zstd
    from tests.unit.decode.unpack.archives import Part, deflated, rar_of, tar_of, zip_of
    from tests.unit.decode.unpack.test_sevenzip import MEMBERS, seven

    text = b"Walkers use the ford, carts the bridge. " * 40
    parts = [
        Part(name="größe.txt".encode("cp437"), data=text, method=8, packed=deflated(text), host=0),
        Part(name=b"stored.txt", data=text, descriptor=True),
        Part(name=b"wide.txt", data=text, zip64=True),
        Part(name=b"packed.bz2.txt", data=text, method=12, packed=bz2.compress(text)),
    ]
    tar = tar_of({"a.txt": text, "folder/" * 30 + "long.txt": b"x", "inner.zip": zip_of(*parts)})
    mail = (
        b"From: a@example.org\r\nSubject: Ford\r\nMIME-Version: 1.0\r\n"
        b"Content-Type: multipart/mixed; boundary=x\r\n\r\n"
        b"--x\r\nContent-Type: text/plain\r\n\r\nWalkers use the ford.\r\n"
        b"--x\r\nContent-Type: application/zip; name=a.zip\r\nContent-Transfer-Encoding: base64\r\n\r\n"
        b"UEsFBgAAAAAAAAAAAAAAAAAAAAAAAA==\r\n--x--\r\n"
    )
    return {
        **documents(),
        "a.zip": zip_of(*parts),
        "b.zip": zip_of(*parts, directory=False),
        "a.tar": tar,
        "b.tar": tar_of({"a.txt": text, "ä" * 200: b"x"}, form=2),
        "a.tgz": gzip.compress(tar),
        "a.txt.gz": gzip.compress(text) * 2,
        "a.txt.bz2": bz2.compress(text),
        "a.tar.xz": lzma.compress(tar),
        "a.txt.lzma": lzma.compress(text, format=lzma.FORMAT_ALONE),
        "a.tar.zst": zstd.compress(tar),
        "a.7z": seven(MEMBERS),
        "b.7z": seven(MEMBERS, filters=[{"id": py7zr.FILTER_X86}, {"id": py7zr.FILTER_LZMA, "preset": 1}]),
        "c.7z": seven(MEMBERS, filters=[{"id": FILTER_DEFLATE64}]),
        "d.7z": seven(MEMBERS, filters=[{"id": py7zr.FILTER_ARM}, {"id": py7zr.FILTER_BZIP2}]),
        "a.rar": rar_of({"a.txt": text, "b.txt": b"x"}),
        "b.eml": mail,
        "b.mbox": b"From a@example.org Mon Jan  1 00:00:00 2024\n" + mail.replace(b"\r", b"") * 2,
    }


def check(path: Path, name: str, choice: int) -> None:
    """One call. Raises AssertionError where the answer is none, or a file stands where none may be."""
    size = path.stat().st_size
    media_type = TYPES.get(Path(name).suffix.lower(), "") if choice % 2 else ""
    if not media_type and size:
        media_type = identify(path, size, file_name=name, http_content_type=None).media_type
    if not may_have_members(media_type):
        return
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        into = root / "into"
        into.mkdir()
        result = unpack(path, media_type, into, Limits(size=256 << 20), file_name=name)
        there = {found.relative_to(root).as_posix() for found in root.rglob("*")}
        expected = {"into", *(f"into/{member.file}" for member in result.members if member.file)}
        assert there == expected, f"files that are no member's: {sorted(there ^ expected)[:5]}"
        for member in result.members:
            assert member.failure is not None or member.file is not None, "a member with neither bytes nor failure"
            assert member.file is None or (into / member.file).stat().st_size == member.size, "a size that is wrong"
    paths = [member.path for member in result.members]
    assert len(set(paths)) == len(paths), "two members of one path"
    for one in paths:
        safe = one and not one.startswith("/") and ".." not in one.split("/")
        assert safe, f"an unsafe path {one!r}"
    for failure in (result.failure, *(member.failure for member in result.members)):
        assert failure is None or failure.code in PROBLEMS, f"an unknown code {failure.code if failure else ''}"
