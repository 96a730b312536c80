"""libmagic through python-magic: its exceptions become None here, its media types keep their IANA names."""

from __future__ import annotations

import threading

import magic

_LOCK = threading.Lock()
_COOKIE: magic.Magic | None = None

_NAMES = {
    "application/x-rar": "application/vnd.rar",
    "application/x-zip-compressed": "application/zip",
    "audio/x-wav": "audio/wav",
    "image/x-ms-bmp": "image/bmp",
    "image/x-icon": "image/vnd.microsoft.icon",
    "application/x-font-ttf": "font/ttf",
    "application/vnd.ms-opentype": "font/otf",
}


_NO_OPINION = frozenset(
    {
        "application/octet-stream",
        "application/x-empty",
        "inode/x-empty",
        "application/x-dosexec",  # for a COM file, one byte decides; real programs have a signature
    }
)


def media_type_of(head: bytes) -> str | None:
    """libmagic's media type for the first bytes of a file; None when it has no opinion or fails on them."""
    global _COOKIE
    with _LOCK:  # a libmagic cookie is not safe to share between threads
        try:
            if _COOKIE is None:
                _COOKIE = magic.Magic(mime=True)
            found = str(_COOKIE.from_buffer(head))
        except magic.MagicException:
            return None
    if found in _NO_OPINION or "/" not in found:
        return None
    return _NAMES.get(found, found)
