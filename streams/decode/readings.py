"""Which encodings are tried where nothing names one, and which languages are written in each of them."""

from __future__ import annotations

WESTERN = ("en", "de", "fr", "es", "pt", "it", "nl", "sv", "da", "nb", "fi", "ca", "is")
CENTRAL = ("pl", "cs", "hu", "sk", "sl", "sh", "ro", "de")
BALTIC = ("lt", "lv", "et")
CYRILLIC = ("ru", "uk", "bg", "be", "sr", "mk")

READINGS: dict[str, tuple[str, ...]] = {
    "windows-1252": (*WESTERN, "ga", "et"),
    "windows-1250": CENTRAL,
    "windows-1251": CYRILLIC,
    "gb18030": ("zh",),
    "shift_jis": ("ja",),
    "euc-kr": ("ko",),
    "big5": ("zh",),
    "euc-jp": ("ja",),
    "koi8-r": ("ru", "bg"),
    "windows-1253": ("el",),
    "windows-1254": ("tr",),
    "windows-1256": ("ar", "fa", "ur"),
    "windows-1255": ("he",),
    "windows-1257": BALTIC,
    "windows-874": ("th",),
    "windows-1258": ("vi",),
    "iso-8859-2": CENTRAL,
    "iso-8859-15": (*WESTERN, "ga", "et"),
    "iso-8859-7": ("el",),
    "iso-8859-5": ("ru", "bg", "sr", "mk", "be"),
    "koi8-u": ("uk", "ru"),
    "ibm866": ("ru", "bg", "be"),
    "x-mac-cyrillic": ("ru", "uk", "bg"),
    "iso-8859-6": ("ar",),
    "iso-8859-8": ("he",),
    "macintosh": WESTERN,
    "cp850": WESTERN,
    "cp852": CENTRAL,
    "cp855": ("ru", "bg", "sr", "mk"),
    "cp437": WESTERN,
    "iso-8859-13": (*BALTIC, "pl", "sh", "sl"),
    "iso-8859-4": BALTIC,
    "mac-latin2": CENTRAL,
    "johab": ("ko",),
    "iso-8859-3": ("mt", "eo", "tr"),
    "iso-8859-16": ("ro", "pl", "sh", "sl", "hu"),
    "iso-8859-10": ("is", "lt", "lv", "et"),
    "cp775": BALTIC,
}
"""Encodings that are tried, the commoner first (that order breaks ties), and the languages written in them."""

MULTI_BYTE = frozenset({"gb18030", "shift_jis", "euc-kr", "big5", "euc-jp", "johab"})

LATIN_LANGUAGES = tuple(dict.fromkeys((*WESTERN, *CENTRAL, *BALTIC, "tr", "vi", "ga", "mt", "eo")))

_BY_SCRIPT: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("\u0370", "\u03ff", ("el",)),
    ("\u0400", "\u052f", CYRILLIC),
    ("\u0590", "\u05ff", ("he",)),
    ("\u0600", "\u06ff", ("ar", "fa", "ur")),
    ("\u0e00", "\u0e7f", ("th",)),
)


def languages_of(text: str) -> tuple[str, ...]:
    """The languages that a text in the script of most of its letters beyond ASCII may be in."""
    counts = {languages: 0 for _, _, languages in _BY_SCRIPT}
    latin = 0
    for character in text:
        if "\u00c0" <= character <= "\u024f":
            latin += 1
        else:
            for first, last, languages in _BY_SCRIPT:
                if first <= character <= last:
                    counts[languages] += 1
    most = max(counts, key=lambda languages: counts[languages])
    return most if counts[most] > latin else LATIN_LANGUAGES


__all__ = ["LATIN_LANGUAGES", "MULTI_BYTE", "READINGS", "languages_of"]
