"""What pymupdf raises on malformed objects: whatever its bindings meet. These are all a document's fault here."""

from __future__ import annotations

import pymupdf

FAULTS: tuple[type[Exception], ...] = (
    pymupdf.mupdf.FzErrorBase,
    RuntimeError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    AssertionError,
    ArithmeticError,
)
