"""qpdf behind pikepdf: a damaged PDF written anew, for files in which MuPDF finds no page."""

from __future__ import annotations

import io
import logging
from pathlib import Path

import pikepdf

from streams.errors import DocumentError

NAME = "pikepdf"

_MOST_BYTES = 200 * 1024 * 1024
"""Size of a file that is written anew in memory."""

_FAULTS: tuple[type[Exception], ...] = (
    pikepdf.PdfError,
    pikepdf.DataDecodingError,
    RuntimeError,
    ValueError,
    LookupError,
    TypeError,
    OSError,
)


class NotRepaired(Exception):
    """qpdf finds no page in the file either."""


def repaired(path: Path) -> bytes:
    """The PDF at `path` as qpdf understands it, with its cross-reference made anew and streams as they are.

    Raises:
        NotRepaired: it is no PDF, it has no page, or it is larger than 200 MiB.
        DocumentError: `encrypted` when it opens only with a password.
    """
    if path.stat().st_size > _MOST_BYTES:
        raise NotRepaired(f"{NAME}: the file is too large")
    logging.getLogger("pikepdf").setLevel(logging.CRITICAL)  # what it mends is said by a warning of the document
    try:
        with pikepdf.open(path, suppress_warnings=True) as pdf:
            if not len(pdf.pages):
                raise NotRepaired(f"{NAME}: no page")
            out = io.BytesIO()
            pdf.save(
                out,
                stream_decode_level=pikepdf.StreamDecodeLevel.none,
                object_stream_mode=pikepdf.ObjectStreamMode.disable,
                deterministic_id=True,
                encryption=False,
            )
    except pikepdf.PasswordError as error:
        raise DocumentError("encrypted", "It opens only with a password.") from error
    except _FAULTS as error:
        raise NotRepaired(f"{NAME}: {error}") from error
    return out.getvalue()
