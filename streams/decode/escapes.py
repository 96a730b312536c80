"""Encodings in seven bits that switch alphabets within the text: ISO-2022-JP and -KR, HZ and UTF-7."""

from __future__ import annotations

import re
import unicodedata

from streams.decode.vocabulary import is_usual

_JAPANESE = re.compile(rb"\x1b(?:\$[@B]|\$\(D)(?:[\x21-\x7e]{2})+\x1b(?:\([BJ]|\$)|\x1b\(I[\x21-\x5f]+\x1b\(")
_KOREAN = re.compile(rb"\x1b\$\)C")
_KOREAN_RUN = re.compile(rb"\x0e[\x21-\x7e\s]+\x0f")
_HZ = re.compile(rb"~\{(?:[\x21-\x77][\x21-\x7e])+~\}")
_UTF7_RUN = re.compile(rb"\+([A-Za-z0-9+/]*)(-?)")

SWITCHES = re.compile(rb"\x1b\$|\x1b\(I|~\{")
"""What stands in every text in ISO-2022 and HZ; UTF-7 is looked for at the start of the file only."""
MOST = 1 << 16
"""Bytes that are looked at."""


def escaped(data: bytes) -> str | None:
    """`iso-2022-jp`, `iso-2022-kr`, `hz-gb-2312` or `utf-7` when the bytes, all below 128, can hardly be anything else.

    Sources: RFC 1468 and 2237, RFC 1557, RFC 1843, RFC 2152.
    """
    sample = data[:MOST]
    if _KOREAN.search(sample) and _reads(sample, "iso2022_kr", len(_KOREAN_RUN.findall(sample)) > 0):
        return "iso-2022-kr"
    if _JAPANESE.search(sample):
        return "iso-2022-jp"
    if _HZ.search(sample) and _reads(sample, "hz", True):
        return "hz-gb-2312"
    return "utf-7" if _is_utf7(sample) else None


def _reads(sample: bytes, codec: str, likely: bool) -> bool:
    """Whether the sample, but for a last line that may be torn, decodes in full."""
    if not likely:
        return False
    if len(sample) == MOST:
        sample = sample[: sample.rfind(b"\n") + 1]
    try:
        text = sample.decode(codec)
    except UnicodeDecodeError:
        return False
    return not text.isascii()


def _is_utf7(sample: bytes) -> bool:
    """Three or more runs of base64 that are letters of one kind of script, and no plus sign that is anything else.

    A file with a formula or a path in it has a plus sign that is followed by no valid run.
    """
    runs = [match for match in _UTF7_RUN.finditer(sample) if match[1] or not match[2]]
    if len(sample) == MOST:
        runs = runs[:-1]
    if len(runs) < 3:
        return False
    characters = ""
    for match in runs[:200]:
        try:
            text = (b"+" + match[1] + b"-").decode("utf-7")
        except UnicodeDecodeError:
            return False
        characters += text
    odd = [character for character in characters if character > "\x7f"]
    kinds = {_script(character) for character in odd if character.isalpha()}
    return len(odd) >= 3 and len(kinds) <= 2 and all(is_usual(character) for character in odd)


def _script(character: str) -> str:
    name = unicodedata.name(character, "?")
    kind = name.split(" ", 1)[0]
    return {"HIRAGANA": "CJK", "KATAKANA": "CJK", "HANGUL": "CJK"}.get(kind, kind)


__all__ = ["MOST", "SWITCHES", "escaped"]
