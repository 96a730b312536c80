"""What the XMP packet of a PDF says about it (ISO 16684-1): it fills what the document information leaves open."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import msgspec
from lxml import etree

_DC = "{http://purl.org/dc/elements/1.1/}"
_XMP = "{http://ns.adobe.com/xap/1.0/}"
_RDF = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}"
_DATE = re.compile(
    r"(?P<date>\d{4}-\d{2}-\d{2})(?:T(?P<time>\d{2}:\d{2})(?P<seconds>:\d{2})?(?:\.\d+)?(?P<zone>Z|[+-]\d{2}:\d{2})?)?"
)
_MOST_AUTHORS = 500


class Xmp(msgspec.Struct, frozen=True, kw_only=True):
    """Entries as stored; empty where there is none."""

    title: str = ""
    authors: list[str] = []
    created: str = ""
    modified: str = ""
    language: str = ""


def read_xmp(packet: bytes) -> Xmp:
    """The entries of a packet; what is no XML has none. Entities are never resolved and nothing is fetched."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, recover=True, huge_tree=False)
    try:
        root = etree.fromstring(packet.strip(b"\x00 \r\n\t"), parser) if packet.strip() else None
    except (etree.XMLSyntaxError, ValueError):
        root = None
    if root is None:
        return Xmp()
    return Xmp(
        title=next(iter(_values(root, f"{_DC}title")), ""),
        authors=_values(root, f"{_DC}creator")[:_MOST_AUTHORS],
        created=next(iter(_values(root, f"{_XMP}CreateDate")), ""),
        modified=next(iter(_values(root, f"{_XMP}ModifyDate")), ""),
        language=next(iter(_values(root, f"{_DC}language")), ""),
    )


def parse_xmp_date(text: str) -> str | None:
    """An XMP date (ISO 8601 profile) as ISO 8601 in UTC; null when no such moment exists or only a year is told.

    A time without a zone counts as UTC, as in the document information.
    """
    match = _DATE.fullmatch(text.strip())
    if match is None:
        return None
    zone = (match["zone"] or "Z").replace("Z", "+00:00")
    try:
        moment = datetime.fromisoformat(f"{match['date']}T{match['time'] or '00:00'}{match['seconds'] or ':00'}{zone}")
        return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if moment.year >= 1900 else None
    except (ValueError, OverflowError):
        return None


def _values(root: etree._Element, name: str) -> list[str]:
    """Values of a property: an attribute, plain text, or the items of its array."""
    for description in root.iter(f"{_RDF}Description"):
        if description.get(name):
            return [" ".join(str(description.get(name)).split())]
        for entry in description.findall(name):
            items = [item.text or "" for item in entry.iter(f"{_RDF}li")] or [entry.text or ""]
            if found := [" ".join(item.split()) for item in items if item.strip()]:
                return found
    return []
