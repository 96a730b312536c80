"""The compressed RTF in which Outlook keeps the text of a message.

Source: [MS-OXRTFCP] 2.1 and 3.1.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from streams.decode.unpack.model import MemberError

_KNOWN = (
    b"{\\rtf1\\ansi\\mac\\deff0\\deftab720{\\fonttbl;}{\\f0\\fnil \\froman \\fswiss \\fmodern \\fscript "
    b"\\fdecor MS Sans SerifSymbolArialTimes New RomanCourier{\\colortbl\\red0\\green0\\blue0\r\n\\par "
    b"\\pard\\plain\\f0\\fs20\\b\\i\\u\\tab\\tx"
)
_COMPRESSED, _PLAIN = 0x75465A4C, 0x414C454D
MAX_SIZE = 64 << 20
"""Bytes of RTF that are unfolded."""


def rtf_chunks(data: bytes) -> Iterator[bytes]:
    """The RTF. Raises MemberError(corrupt) where it is none, and MemberError(too_large)."""
    if len(data) < 16:
        raise MemberError("corrupt", "The text of the message ends within its header.")
    _, size, kind, _ = struct.unpack_from("<IIII", data)
    if kind == _PLAIN:
        yield data[16 : 16 + size].rstrip(b"\x00")
        return
    if kind != _COMPRESSED:
        raise MemberError("corrupt", "The text of the message is in no known compression.")
    if size > MAX_SIZE:
        raise MemberError("too_large", f"The text of the message has {size} bytes of RTF.")
    window = bytearray(4096)
    window[: len(_KNOWN)] = _KNOWN
    write, at, out = len(_KNOWN), 16, bytearray()
    while at < len(data) and len(out) < size:
        control = data[at]
        at += 1
        for bit in range(8):
            if at >= len(data):
                break
            if not control >> bit & 1:
                value = data[at]
                at += 1
                out.append(value)
                window[write] = value
                write = (write + 1) & 4095
                continue
            if at + 1 >= len(data):
                at = len(data)
                break
            token = data[at] << 8 | data[at + 1]
            at += 2
            read, length = token >> 4, (token & 15) + 2
            if read == write:
                yield bytes(out[:size]).rstrip(b"\x00")
                return
            for _ in range(length):
                value = window[read]
                out.append(value)
                window[write] = value
                read, write = (read + 1) & 4095, (write + 1) & 4095
    if not out:
        raise MemberError("corrupt", "The text of the message is empty.")
    yield bytes(out[:size]).rstrip(b"\x00")
