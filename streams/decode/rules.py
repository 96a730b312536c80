"""Which rules said what bytes are: recorded with each answer, so that a replay knows what they would say again."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.metadata import PackageNotFoundError, version

VERSION = "2"
"""Raise it with every change that can give another format, encoding or list of members."""

_LIBRARIES = ("charset-normalizer", "chardet", "ftfy", "pymupdf", "rarfile", "wordfreq")


@cache
def rules() -> str:
    """The version of decode's own rules, and a hash of the versions of what they ask."""
    import magic

    libmagic: int = magic.version()  # type: ignore[no-untyped-call]
    asked = [f"libmagic {libmagic}", *(f"{name} {_version(name)}" for name in _LIBRARIES)]
    return f"{VERSION}-{hashlib.sha256(' '.join(asked).encode()).hexdigest()[:8]}"


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "absent"
