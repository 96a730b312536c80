"""Form fields of Word: check boxes and lists hold what they show not in the text, but in the stream Data.

Source: [MS-DOC] 2.9.78 (FFData), 2.9.157 (NilPICFAndBinData).
"""

from __future__ import annotations

import struct

from streams.extract.rtf_fields import FormField

MAX_ENTRIES = 25


def read_form(data: bytes, at: int) -> FormField | None:
    """The form field at an offset of the stream Data; null where none is."""
    try:
        return _read(data, at)
    except struct.error:  # it is cut off
        return None


def _read(data: bytes, at: int) -> FormField | None:
    _, head = struct.unpack_from("<IH", data, at)
    at += head
    version, bits = struct.unpack_from("<IH", data, at)
    if version != 0xFFFFFFFF:
        return None
    form = FormField({"fftype": bits & 3, "ffres": bits >> 2 & 31})
    at = _after_string(data, at + 10)
    if form.values["fftype"] == 0:
        return form
    form.values["ffdefres"] = struct.unpack_from("<H", data, at)[0]
    at += 2
    if form.values["fftype"] == 2:
        for _ in range(5):  # format, help, status, and two macros
            at = _after_string(data, at)
        _, count, extra = struct.unpack_from("<3H", data, at)
        at += 6
        for _ in range(min(count, MAX_ENTRIES)):
            (length,) = struct.unpack_from("<H", data, at)
            form.entries.append(data[at + 2 : at + 2 + 2 * length].decode("utf-16-le", "replace"))
            at += 2 + 2 * length + extra
    return form


def _after_string(data: bytes, at: int) -> int:
    """Behind an Xstz: its length, that many characters, and a zero."""
    (length,) = struct.unpack_from("<H", data, at)
    return at + 4 + 2 * int(length)
