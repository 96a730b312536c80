"""A PDF that needs a password, with the same bytes every time: libraries salt theirs (ISO 32000-1, 7.6, revision 2)."""

from __future__ import annotations

import hashlib

_PADDING = bytes.fromhex("28BF4E5E4E758A4164004E56FFFA01082E2E00B6D0683E802F0CA9FE6453697A")
_PERMISSIONS = (-4).to_bytes(4, "little", signed=True)
_IDENTITY = b"norrvik-salaries"


def locked_pdf(lines: list[str], password: str) -> bytes:
    """One page of `lines` (Latin-1), encrypted with a key of 40 bits. That protects nothing; it only asks."""
    user = (password.encode("latin-1") + _PADDING)[:32]
    owner = _rc4(_md5((b"owner-" + password.encode("latin-1") + _PADDING)[:32])[:5], user)
    key = _md5(user + owner + _PERMISSIONS + _IDENTITY)[:5]
    content = "BT /F1 10 Tf 14 TL 56 780 Td\n" + "".join(f"({_escaped(line)}) Tj T*\n" for line in lines) + "ET"
    page = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>"
    # only strings and streams are encrypted, and the stream of object 4 is the only one
    stream = _rc4(_md5(key + (4).to_bytes(3, "little") + bytes(2))[:10], content.encode("latin-1", "replace"))
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        page,
        b"<</Length %d>>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
        b"<</Filter/Standard/V 1/R 2/P -4/O<%s>/U<%s>>>" % (owner.hex().encode(), _rc4(key, _PADDING).hex().encode()),
    ]
    out = b"%PDF-1.4\n"
    offsets: list[int] = []
    for number, body in enumerate(objects, start=1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    identity = _IDENTITY.hex().encode()
    return (
        out
        + b"xref\n0 %d\n0000000000 65535 f \n%s" % (len(objects) + 1, table)
        + b"trailer\n<</Size %d/Root 1 0 R/Encrypt 6 0 R/ID[<%s><%s>]>>\n" % (len(objects) + 1, identity, identity)
        + b"startxref\n%d\n%%%%EOF\n" % len(out)
    )


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")


def _md5(data: bytes) -> bytes:
    return hashlib.md5(data, usedforsecurity=False).digest()


def _rc4(key: bytes, data: bytes) -> bytes:
    state = list(range(256))
    j = 0
    for i in range(256):
        j = (j + state[i] + key[i % len(key)]) % 256
        state[i], state[j] = state[j], state[i]
    out = bytearray()
    i = j = 0
    for byte in data:
        i = (i + 1) % 256
        j = (j + state[i]) % 256
        state[i], state[j] = state[j], state[i]
        out.append(byte ^ state[(state[i] + state[j]) % 256])
    return bytes(out)
