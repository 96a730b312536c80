"""Text that was encoded as UTF-8 and decoded as something else, once or twice: found by evidence, and turned back.

A step of its own, for the readers of text: the bytes are what they are, and their encoding was found rightly; somebody
before us decoded them wrongly. What it changes carries the warning `mojibake_repaired`.
"""

from __future__ import annotations

import re
from functools import cache

import msgspec

from streams.decode.labels import codec_of
from streams.decode.vocabulary import LISTED, is_usual, is_word

MISREAD_AS = (
    "windows-1252",
    "windows-1251",
    "macintosh",
    "windows-1250",
    "cp437",
    "cp850",
    "iso-8859-2",
    "koi8-r",
    "iso-8859-1",
)
"""Encodings that UTF-8 is taken for, the usual ones first."""
TWICE = 3
"""How many times a text is turned back at most."""
PURE = 0.9
"""Share of a line's characters beyond ASCII that must be parts of UTF-8 for the line to be turned back."""
USUAL = 0.8
"""Share of the characters that come out that must be letters or punctuation of some language."""
PLENTY = 8
"""Wrongly read characters that are evidence by themselves; of fewer, the words must become words."""

_WORD = re.compile(r"[^\W\d_]+")
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]{2,}")
"""What UTF-8 that was wrongly decoded is part of: every one of its characters takes two bytes or more."""


class Repair(msgspec.Struct, frozen=True):
    """A text and what it was wrongly decoded as, the last time first; empty where nothing was changed."""

    text: str
    misread_as: list[str] = []


@cache
def _tables(encoding: str) -> tuple[dict[int, int], re.Pattern[str]]:
    """How to encode its characters, and what UTF-8 looks like in it.

    Bytes that mean nothing in the encoding are controls, as browsers and most programs have it.
    """
    characters = {}
    for byte in range(128, 256):
        try:
            # The strict one, of programs: to browsers that label means windows-1252.
            character = bytes([byte]).decode("latin-1" if encoding == "iso-8859-1" else codec_of(encoding))
        except UnicodeDecodeError:
            character = chr(byte)
        characters[byte] = character
    of = {byte: re.escape(character) for byte, character in characters.items()}
    tail = "[" + "".join(of[byte] for byte in range(0x80, 0xC0)) + "]"
    two = "[" + "".join(of[byte] for byte in range(0xC2, 0xE0)) + "]" + tail
    three = "[" + "".join(of[byte] for byte in range(0xE0, 0xF0)) + "]" + tail + "{2}"
    four = "[" + "".join(of[byte] for byte in range(0xF0, 0xF5)) + "]" + tail + "{3}"
    back = {ord(character): byte for byte, character in characters.items()}
    return back, re.compile(f"(?:{four}|{three}|{two})+")


def repair(text: str) -> Repair:
    """The text as it was before it was decoded wrongly; a good text as it is.

    Lines are turned back one by one, so that a good line stays in a file that has both. Three things must agree: that
    next to all characters beyond ASCII are UTF-8 when read back; that ftfy does not find the outcome worse; and that
    the outcome has plenty of the characters of some language, or words that were none before.
    """
    if text.isascii():
        return Repair(text)
    found = _chain(text.split("\n"), TWICE)
    if found is None:
        return Repair(text)
    lines, misread = found
    return Repair("\n".join(lines), misread)


def _chain(lines: list[str], depth: int, sure: bool = False) -> tuple[list[str], list[str]] | None:
    """The lines turned back as many times as it takes, and what they were decoded as.

    `sure`: they were turned back before, so it is no wonder when they have to be again.
    """
    suspects = "\n".join(_BEYOND_ASCII.findall("\n".join(lines)))
    if not suspects:
        return None
    odd = [index for index, line in enumerate(lines) if not line.isascii()]
    counts = {encoding: sum(map(len, _tables(encoding)[1].findall(suspects))) for encoding in MISREAD_AS}
    for encoding in sorted((e for e in MISREAD_AS if counts[e]), key=lambda e: -counts[e])[:3]:
        turned = {index: new for index in odd if (new := _turned_back(lines[index], encoding)) is not None}
        if not turned:
            continue
        after = [turned.get(index, line) for index, line in enumerate(lines)]
        further = _chain(after, depth - 1, sure) if depth > 1 else None
        if further is not None:
            return further[0], [encoding, *further[1]]
        if _is_better([lines[index] for index in turned], list(turned.values()), sure):
            more = _chain(after, depth - 1, sure=True) if depth > 1 else None
            return (after, [encoding]) if more is None else (more[0], [encoding, *more[1]])
    return None


def _is_better(old_lines: list[str], new_lines: list[str], sure: bool) -> bool:
    from ftfy.badness import badness

    old, new = "\n".join(old_lines), "\n".join(new_lines)
    was, now = badness(old), badness(new)
    if now > was:
        return False
    beyond = [character for character in new if character > "\x7f"]
    if sum(map(is_usual, beyond)) < USUAL * len(beyond):
        return False
    if len(beyond) >= PLENTY or (was >= (1 if sure else 2) and now == 0):
        return True
    return _become_words(old, new)


def _turned_back(line: str, encoding: str) -> str | None:
    """The line read as UTF-8; None when it has too much that is none."""
    back, pattern = _tables(encoding)
    runs = pattern.findall(line)
    beyond = sum(1 for character in line if character > "\x7f")
    if not runs or sum(map(len, runs)) < PURE * beyond:
        return None
    return pattern.sub(lambda match: _as_utf8(match.group(), back), line)


def _as_utf8(run: str, back: dict[int, int]) -> str:
    data = bytes(back[ord(character)] for character in run)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:  # surrogates and overlong forms: no UTF-8, though it looks like it
        return run


def _become_words(old: str, new: str) -> bool:
    """Whether there is a language of which more words, of those that changed, are words now than were before."""
    now = {w for w in _WORD.findall(new.lower()) if not w.isascii()} - set(_WORD.findall(old.lower()))
    if not now:
        return False
    known = max(sum(is_word(word, language) for word in now) for language in LISTED)
    return known * 2 >= len(now)


__all__ = ["Repair", "repair"]
