"""Windows numbers languages, and old documents say them so: the number as ISO 639-1 and as a code page.

Source: [MS-LCID] 2.2; the lower ten bits are the language, the upper six the country.
"""

from __future__ import annotations

_LANGUAGES: dict[int, tuple[str, int]] = {
    0x01: ("ar", 1256), 0x02: ("bg", 1251), 0x03: ("ca", 1252), 0x04: ("zh", 936), 0x05: ("cs", 1250),
    0x06: ("da", 1252), 0x07: ("de", 1252), 0x08: ("el", 1253), 0x09: ("en", 1252), 0x0A: ("es", 1252),
    0x0B: ("fi", 1252), 0x0C: ("fr", 1252), 0x0D: ("he", 1255), 0x0E: ("hu", 1250), 0x0F: ("is", 1252),
    0x10: ("it", 1252), 0x11: ("ja", 932), 0x12: ("ko", 949), 0x13: ("nl", 1252), 0x14: ("no", 1252),
    0x15: ("pl", 1250), 0x16: ("pt", 1252), 0x18: ("ro", 1250), 0x19: ("ru", 1251), 0x1A: ("hr", 1250),
    0x1B: ("sk", 1250), 0x1C: ("sq", 1250), 0x1D: ("sv", 1252), 0x1E: ("th", 874), 0x1F: ("tr", 1254),
    0x20: ("ur", 1256), 0x21: ("id", 1252), 0x22: ("uk", 1251), 0x23: ("be", 1251), 0x24: ("sl", 1250),
    0x25: ("et", 1257), 0x26: ("lv", 1257), 0x27: ("lt", 1257), 0x29: ("fa", 1256), 0x2A: ("vi", 1258),
    0x2D: ("eu", 1252), 0x2F: ("mk", 1251), 0x36: ("af", 1252), 0x39: ("hi", 1252), 0x3E: ("ms", 1252),
    0x3F: ("kk", 1251), 0x41: ("sw", 1252), 0x56: ("gl", 1252),
}  # fmt: skip
_TRADITIONAL = (0x0404, 0x0C04, 0x1404)
_SERBIAN = {0x081A: 1250, 0x0C1A: 1251}


def iso_code(number: int) -> str | None:
    """ISO 639-1 of a Windows language; null for one that is not known, and for "none" (0x400)."""
    if number in _SERBIAN:
        return "sr"
    found = _LANGUAGES.get(number & 0x3FF)
    return found[0] if found else None


def codec_of(number: int) -> str:
    """The Python codec in which Windows writes bytes of this language; that of Western Europe where not known."""
    if number in _TRADITIONAL:
        return "cp950"
    page = _SERBIAN.get(number) or _LANGUAGES.get(number & 0x3FF, ("", 1252))[1]
    return "gbk" if page == 936 else f"cp{page}"
