"""What an OLE document says of itself: title, authors, dates, from its streams of properties.

Source: [MS-OLEPS] 2.21 (PropertySetStream), 3.1 (SummaryInformation); [MS-OSHARED] 2.3.3.2.
"""

from __future__ import annotations

import struct
from datetime import UTC, datetime, timedelta

from streams.decode.unpack.compound import Compound
from streams.extract.outcome import Draft
from streams.extract.rtf_charsets import page_codec

MAX_BYTES = 4 << 20
MAX_PROPERTIES = 1000
_CODE_PAGE = 1
_UNICODE = 1200
_INTEGER, _STRING, _WIDE_STRING, _TIME = 2, 0x1E, 0x1F, 0x40
_SUMMARY = {2: "title", 3: "subject", 4: "author", 5: "keywords", 6: "description", 8: "last_modified_by",
            12: "created", 13: "modified"}  # fmt: skip
_DOCUMENT = {2: "category", 14: "manager", 15: "company"}
_METADATA = ("subject", "description", "keywords", "category", "company", "manager", "last_modified_by")
_EPOCH = datetime(1601, 1, 1, tzinfo=UTC)


def read_properties(compound: Compound) -> dict[str, str]:
    """Properties by name; dates as ISO 8601. Damaged or strange ones are left out."""
    found: dict[str, str] = {}
    for stream, names in (("\x05SummaryInformation", _SUMMARY), ("\x05DocumentSummaryInformation", _DOCUMENT)):
        entry = compound.root.stream(stream)
        if entry is not None:
            try:
                found |= _property_set(compound.read(entry, MAX_BYTES), names)
            except struct.error:  # it ends in the middle of a property
                continue
    return found


def describe(compound: Compound, draft: Draft) -> None:
    """Puts title, authors, dates and the rest into the draft."""
    found = read_properties(compound)
    draft.title = found.get("title") or draft.title
    draft.authors = [name for part in found.get("author", "").split(";") if (name := part.strip())]
    draft.created, draft.modified = found.get("created"), found.get("modified")
    draft.metadata |= {name: found[name] for name in _METADATA if found.get(name)}


def _property_set(data: bytes, names: dict[int, str]) -> dict[str, str]:
    """The first property set of a stream; the second one of DocumentSummaryInformation is the user's own."""
    if len(data) < 48 or data[:2] != b"\xfe\xff":
        return {}
    (start,) = struct.unpack_from("<I", data, 44)
    _, count = struct.unpack_from("<II", data, start)
    places = dict(
        struct.unpack_from("<II", data, start + 8 + 8 * number) for number in range(min(count, MAX_PROPERTIES))
    )
    codec = "cp1252"
    if _CODE_PAGE in places:
        kind, page = struct.unpack_from("<IH", data, start + places[_CODE_PAGE])
        if kind == _INTEGER:
            codec = "utf-16-le" if page == _UNICODE else page_codec(page) or codec
    found: dict[str, str] = {}
    for number, name in names.items():
        if number in places and (value := _value(data, start + places[number], codec)):
            found[name] = value
    return found


def _value(data: bytes, at: int, codec: str) -> str:
    (kind,) = struct.unpack_from("<I", data, at)
    if kind in (_STRING, _WIDE_STRING):
        (length,) = struct.unpack_from("<I", data, at + 4)
        wide = kind == _WIDE_STRING
        raw = data[at + 8 : at + 8 + (2 * length if wide else length)]
        text = raw.decode("utf-16-le" if wide else codec, "replace")
        return " ".join(text.partition("\0")[0].split())
    if kind == _TIME:
        (ticks,) = struct.unpack_from("<Q", data, at + 4)
        return _moment(ticks)
    return ""


def _moment(ticks: int) -> str:
    """A FILETIME, in 100 ns since 1601; one that was never set is no date."""
    if not ticks:
        return ""
    try:
        at = _EPOCH + timedelta(microseconds=ticks // 10)
    except OverflowError:
        return "impossible"
    if at.year < 1980:  # before any program that writes it: a duration, or rubbish
        return ""
    return at.replace(microsecond=0).isoformat().replace("+00:00", "Z")
