"""File names are bytes, ids and paths are text: one reversible spelling in which no two names meet.

The spelling is NFC (R-IN-6: NFC and NFD of one name are one name), then percent-escapes, byte by byte and with
upper-case hexadecimal digits as in RFC 3986, for what is no text or would not be seen as it is:

- bytes that are no UTF-8;
- control characters, line and paragraph separators, and the bidirectional embeddings, overrides and isolates, which can
  make `exe.txt` out of `txt.exe`;
- a combining mark right after such an escape, which would otherwise melt into the escape's last digit under NFC;
- `!` before a slash, which parts a container from its member in an id (`streams.runtime.members`);
- `%` itself, only where it stands before two upper-case hexadecimal digits and could be taken for an escape:
  `100%.txt` and `50%ab` stay as they are, `a%41` becomes `a%2541`.
"""

from __future__ import annotations

import re
import unicodedata

MEMBER = "!/"
"""Parts a container from its member in an id, and stands in no name: see `streams.runtime.members`."""

_HEX = frozenset("0123456789ABCDEF")
_ESCAPE = re.compile(rb"%([0-9A-F]{2})")
_PLAIN = re.compile(rb"[ -$&-~]*")  # printable ASCII without %: most names, and these need nothing
_BIDI = frozenset(map(chr, (*range(0x202A, 0x202F), *range(0x2066, 0x206A))))


def display_path(raw: bytes) -> str:
    """The path as a person reads it: NFC, escaped as above. Equal for two names only if these are equal under NFC."""
    if _PLAIN.fullmatch(raw) and MEMBER.encode() not in raw:
        return raw.decode("ascii")
    text = unicodedata.normalize("NFC", raw.decode("utf-8", "surrogateescape"))
    parts: list[str] = []
    escaped = False  # whether the character before this one ended as an escape
    for position, character in enumerate(text):
        if character == "%":
            digits = text[position + 1 : position + 3]
            is_escape = len(digits) == 2 and digits[0] in _HEX and digits[1] in _HEX
        elif character == MEMBER[0]:
            is_escape = text.startswith(MEMBER, position)
        else:
            is_escape = _needs_escape(character) or (escaped and unicodedata.combining(character) != 0)
        escaped = is_escape
        parts.append(_escape(character) if is_escape else character)
    return "".join(parts)


def raw_path(display: str) -> bytes:
    """The bytes that `display_path` spelled, in NFC: `display_path(raw_path(d)) == d` for each d that it gave."""
    return _ESCAPE.sub(lambda match: bytes([int(match[1], 16)]), display.encode("utf-8", "surrogatepass"))


def readable(text: str) -> str:
    """Text of a source as the records want it (NFC, nothing invisible), for names that are text already.

    Leaves `%` alone, so that doing it twice changes nothing; therefore for paths that are shown, not for ids.
    """
    if text.isascii() and text.isprintable():
        return text
    normal = unicodedata.normalize("NFC", text)
    spelled = (display_path(c.encode("utf-8", "surrogatepass")) if _needs_escape(c) else c for c in normal)
    return unicodedata.normalize("NFC", "".join(spelled))


def file_name(display: str) -> str:
    """The last part of a display path."""
    return display.rsplit("/", 1)[-1]


def _needs_escape(character: str) -> bool:
    return unicodedata.category(character) in {"Cc", "Cs", "Zl", "Zp"} or character in _BIDI


def _escape(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in character.encode("utf-8", "surrogateescape"))
