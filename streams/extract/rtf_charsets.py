"""Which code page bytes of RTF are in: the document's `\\ansicpg`, or that of the font they are set in."""

from __future__ import annotations

import codecs
from functools import lru_cache

from streams.extract.docx_symbols import symbol

DEFAULT = "cp1252"
SYMBOLS = "symbols"
"""No code page: the font has signs where others have letters."""

_CHARSET_PAGES = {
    0: 1252, 77: 10000, 78: 10001, 79: 10003, 80: 10008, 81: 10002, 83: 10005, 84: 10004, 85: 10006, 86: 10081,
    87: 10021, 88: 10029, 89: 10007, 128: 932, 129: 949, 130: 1361, 134: 936, 136: 950, 161: 1253, 162: 1254,
    163: 1258, 177: 1255, 178: 1256, 181: 1256, 186: 1257, 204: 1251, 222: 874, 238: 1250, 254: 437, 255: 850,
}  # fmt: skip
"""`\\fcharset` -> Windows code page (RTF 1.9.1, "Font Table"). 1 means the document's own, 2 signs."""

_PAGE_CODECS = {
    708: "iso8859_6", 932: "cp932", 936: "gbk", 949: "cp949", 950: "cp950", 1361: "johab", 10000: "mac_roman",
    10001: "shift_jis", 10002: "big5", 10003: "euc_kr", 10004: "iso8859_6", 10005: "iso8859_8", 10006: "mac_greek",
    10007: "mac_cyrillic", 10008: "gb2312", 10021: "cp874", 10029: "mac_latin2", 10079: "mac_iceland",
    10081: "mac_turkish", 20127: "cp1252", 20866: "koi8_r", 20932: "euc_jp", 21866: "koi8_u", 28591: "cp1252",
    38598: "iso8859_8", 51932: "euc_jp", 51936: "gb2312", 51949: "euc_kr", 54936: "gb18030", 65000: "utf_7",
    65001: "utf_8",
}  # fmt: skip
_SIGN_FONTS = (
    ("wingdings 2", "wingdings 2"),
    ("wingdings", "wingdings"),
    ("symbol", "symbol"),
)


@lru_cache(maxsize=256)
def page_codec(page: int | None) -> str | None:
    """The Python codec of a Windows code page number; null for one that is not known (0 is "the default")."""
    if page is None or page <= 0:
        return None
    name = _PAGE_CODECS.get(page)
    if name is None and 28592 <= page <= 28606:
        name = f"iso8859_{page - 28590}"
    try:
        return codecs.lookup(name or f"cp{page}").name
    except LookupError:
        return None


def charset_codec(charset: int, document: str) -> str:
    """The codec of a font with this `\\fcharset` in a document whose own codec is `document`."""
    if charset == 2:
        return SYMBOLS
    return page_codec(_CHARSET_PAGES.get(charset)) or document


def decode(data: bytes, codec: str, font: str, *, raw: bool) -> tuple[str, int, bool]:
    """Text of a run, how many characters could not be decoded, and whether it was UTF-8 against all declarations.

    Args:
        font: name of the run's font, for symbol fonts.
        raw: the bytes stand in the file as they are, not as `\\'hh`. Only programs that know no code page write so,
            and what they write is UTF-8.
    """
    if data.isascii() and codec != SYMBOLS:
        return data.decode("ascii"), 0, False
    if codec == SYMBOLS:
        return _signs(data, font)
    if raw and codec != "utf-8":
        try:
            return data.decode("utf-8"), 0, True
        except UnicodeDecodeError:
            pass
    text = data.decode(codec, "replace")
    return text, text.count("\ufffd"), False


def _signs(data: bytes, font: str) -> tuple[str, int, bool]:
    name = sign_font(font)
    if name is None:  # a dingbat font that is not known here
        plain = data.decode("latin-1")
        return "".join(sign if sign.isascii() and sign.isspace() else "\ufffd" for sign in plain), 0, False
    out = [symbol(name, code) or "\ufffd" for code in data]
    return "".join(out), 0, False


def sign_font(font: str) -> str | None:
    """The table of `docx_symbols` that serves this font, if one does."""
    lower = font.strip().lower()
    return next((name for start, name in _SIGN_FONTS if lower.startswith(start)), None)
