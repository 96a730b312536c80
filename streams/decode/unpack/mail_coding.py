"""Transfer encodings of mail undone while they stream, damaged ones as far as they go.

Sources: RFC 2045 6.7 and 6.8 (quoted-printable, base64), POSIX uuencode, the yEnc draft 1.3.
Damage is appended to the list of warnings that each decoder is given.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterator
from typing import BinaryIO

from streams.decode.unpack.mail_headers import lines
from streams.decode.unpack.model import MemberError

CHUNK = 1 << 16
_ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_SPACE = b" \t\r\n\x0b\x0c\x00"
_NOT_ALPHABET = bytes(set(range(256)) - set(_ALPHABET) - {ord("=")})
_BLANKS_BEFORE_END = re.compile(rb"=[ \t]+(?=\r?\n)")
BEGIN = re.compile(rb"begin(?:-base64)?[ \t]+[0-7]{3,4}[ \t]+(\S[^\r\n]*)")
YBEGIN = re.compile(rb"=ybegin [^\r\n]*?name=([^\r\n]*)")
_YENC = bytes((value - 42) % 256 for value in range(256))


def decoded(file: BinaryIO, start: int, end: int, encoding: str, warnings: list[str]) -> Iterator[bytes]:
    """The bytes of a span, its transfer encoding undone. An unknown encoding leaves them alone, with a warning."""
    if encoding == "base64":
        return base64_chunks(file, start, end, warnings)
    if encoding == "quoted-printable":
        return quoted_printable_chunks(file, start, end)
    if encoding in ("uuencode", "x-uuencode", "x-uue", "uue"):
        return uuencoded_chunks(file, start, end, warnings)
    if encoding in ("yenc", "x-yenc"):
        return yenc_chunks(file, start, end, warnings)
    if encoding not in ("", "7bit", "8bit", "binary", "none", "7-bit", "8-bit"):
        warnings.append("unknown_transfer_encoding")
    return plain_chunks(file, start, end)


def plain_chunks(file: BinaryIO, start: int, end: int) -> Iterator[bytes]:
    """The bytes of a span."""
    while start < end:
        file.seek(start)
        data = file.read(min(CHUNK, end - start))
        if not data:
            return
        yield data
        start += len(data)


def base64_chunks(file: BinaryIO, start: int, end: int, warnings: list[str]) -> Iterator[bytes]:
    """Base64 with what mail does to it: other characters between, no padding, pieces with padding of their own, and
    the footer of a mailing list behind it. What is no base64 at all comes out as it is."""
    if _is_no_base64(file, start, end):
        warnings.append("wrong_transfer_encoding")
        yield from plain_chunks(file, start, end)
        return
    carry = b""
    ended = False  # padding was seen: what follows must look like base64 to be more of it
    for data in plain_chunks(file, start, end):
        first, *others = data.split(b"=")
        for index, raw in enumerate((first, *others)):
            if index:
                if carry:
                    yield _unpadded(carry)
                carry, ended = b"", True
            piece = raw.lstrip(_SPACE) if ended else raw
            if not piece:
                continue
            if ended and _is_text(piece):
                warnings.append("text_after_base64")
                return
            ended = False
            carry += piece.translate(None, _NOT_ALPHABET)
        whole = len(carry) // 4 * 4
        if whole:
            yield binascii.a2b_base64(carry[:whole])
            carry = carry[whole:]
    if len(carry) == 1:
        warnings.append("damaged_base64")
    if carry:
        yield _unpadded(carry)


def _unpadded(data: bytes) -> bytes:
    """Base64 characters that end here, with the padding that they lack; a single one left over carries no byte."""
    if len(data) % 4 == 1:
        data = data[:-1]
    return binascii.a2b_base64(data + b"=" * (-len(data) % 4))


def _is_text(piece: bytes) -> bool:
    """Whether a line behind padding is no base64: other characters, or a whole line of an impossible length."""
    line = re.split(rb"[\r\n]", piece, maxsplit=1)[0]
    return bool(line.rstrip().translate(None, _ALPHABET)) or (len(line) < len(piece) and len(line.rstrip()) % 4 != 0)


def _is_no_base64(file: BinaryIO, start: int, end: int) -> bool:
    """Whether a twentieth of the first bytes, blanks within lines included, can't stand in base64."""
    file.seek(start)
    head = file.read(min(4096, end - start)).strip()
    if not head:
        return False
    inner = head.translate(None, _ALPHABET + b"=\r\n")
    return len(inner) * 20 > len(head)


def quoted_printable_chunks(file: BinaryIO, start: int, end: int) -> Iterator[bytes]:
    """Quoted-printable, decoded in blocks of whole lines."""
    carry = b""
    for data in plain_chunks(file, start, end):
        block = carry + data
        cut = max(block.rfind(b"\n"), block.rfind(b"\r", 0, len(block) - 1)) + 1
        if cut == 0 and len(block) > CHUNK * 4:  # one endless line: cut before an escape that may go on
            cut = len(block) - 2 if b"=" in block[-2:] else len(block)
        carry = block[cut:]
        if cut:
            yield _quoted_printable(block[:cut])
    if carry:
        yield _quoted_printable(carry)


def _quoted_printable(data: bytes) -> bytes:
    if b"\n" not in data and b"\r" in data:
        data = data.replace(b"=\r", b"=\r\n")  # the decoder looks for a line feed
    return binascii.a2b_qp(_BLANKS_BEFORE_END.sub(b"=", data))


def uuencoded_chunks(file: BinaryIO, start: int, end: int, warnings: list[str]) -> Iterator[bytes]:
    """What stands between `begin` and `end`; bytes that have no `begin` are a damaged member, none are none."""
    begun, base64, blank = False, False, True
    for _, raw in lines(file, start, end):
        line = raw.rstrip(b"\r\n")
        if not begun:
            begun = BEGIN.match(line) is not None
            base64 = begun and line.startswith(b"begin-base64")
            blank = blank and not line.strip()
            continue
        if line in (b"end", b"===="):
            return
        if base64:
            yield _unpadded(line.translate(None, _NOT_ALPHABET + b"="))
            continue
        if not line.strip(b" `\t"):
            continue
        count = (line[0] - 32) & 63
        needed = (count + 2) // 3 * 4 + 1
        try:
            yield binascii.a2b_uu(line[:needed])
        except binascii.Error:
            warnings.append("damaged_uuencode")
            try:  # a length that does not fit the line: as much as the line has
                yield binascii.a2b_uu(bytes([32 + min(count, (len(line) - 1) // 4 * 3)]) + line[1:])
            except binascii.Error:
                continue
    if blank:
        return
    if not begun:
        raise MemberError("corrupt", "It is said to be uuencoded, and has no line that begins it.")
    warnings.append("end_missing")


def yenc_chunks(file: BinaryIO, start: int, end: int, warnings: list[str]) -> Iterator[bytes]:
    """What stands between `=ybegin` and `=yend`."""
    begun = False
    for _, raw in lines(file, start, end):
        line = raw.rstrip(b"\r\n")
        if line.startswith(b"=ybegin "):
            begun = True
        elif line.startswith(b"=yend"):
            return
        elif begun and not line.startswith(b"=ypart "):
            yield _yenc_line(line)
    if not begun:
        raise MemberError("corrupt", "It is said to be in yEnc, and has no line that begins it.")
    warnings.append("end_missing")


def _yenc_line(line: bytes) -> bytes:
    first, *escaped = line.split(b"=")
    out = bytearray(first.translate(_YENC))
    for piece in escaped:
        if piece:
            out.append((piece[0] - 64 - 42) % 256)
            out += piece[1:].translate(_YENC)
    return bytes(out)
