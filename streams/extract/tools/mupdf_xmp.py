"""The XMP packet of a PDF (ISO 32000-1, 14.3.2) as bytes, through MuPDF, never more than a limit of them."""

from __future__ import annotations

import zlib
from typing import Any

from streams.extract.tools.mupdf import Pdf
from streams.extract.tools.mupdf_faults import FAULTS

MOST_BYTES = 1 << 20
_UNREADABLE: tuple[type[Exception], ...] = (*FAULTS, zlib.error)


def xmp_packet(pdf: Pdf) -> bytes:
    """The metadata stream of the document; empty where there is none, or none that can be read within `MOST_BYTES`."""
    document: Any = pdf._document
    try:
        kind, value = document.xref_get_key(int(document.pdf_catalog()), "Metadata")
        if kind != "xref":
            return b""
        xref = int(value.split()[0])
        coding = document.xref_get_key(xref, "Filter")[1]
        if coding not in ("null", "/FlateDecode") or document.xref_get_key(xref, "DecodeParms")[0] != "null":
            return b""
        raw = bytes(document.xref_stream_raw(xref) or b"")
        found = raw if coding == "null" else zlib.decompressobj().decompress(raw, MOST_BYTES + 1)
    except _UNREADABLE:
        return b""
    return found if len(found) <= MOST_BYTES else b""
