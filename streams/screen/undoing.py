"""Damage known by undoing it: words that are none, and are words when read backwards or with another code page.

A share of unknown words can't tell damage in a fifth of a text from names and terms. But names and terms are no words
of the language when they are turned around, or put back to bytes and read with a neighbour's code page; damaged ones
are.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache, lru_cache
from itertools import permutations

from streams.screen import words
from streams.screen.counting import pieces
from streams.screen.words import Words

CODE_PAGES = ("cp1252", "cp1250", "cp1254", "cp1257", "iso8859-2", "cp850", "cp852", "cp437", "mac-roman")
"""Of Latin letters; in other scripts a wrong code page leaves no word whole."""

MOST = 120
"""Different words that are tried; more change nothing."""

_LEAST_TURNED, _LEAST_READ = 4, 3
"""Letters of a word that counts; shorter ones are words either way too often."""

_MARKS = "“”„‘’«»–—…"

_AROUND = re.compile(r"^[\W\d_]+|[\W\d_]+$")


def turned_around(tokens: Words, code: str) -> tuple[int, int]:
    """Words that are none but are common ones backwards, and all that are none: different ones of four letters or more.

    Args:
        tokens: words as written.
        code: the list that knows most of them, from `words.list_for`.
    """
    unknown = [word for word in tokens.unlisted(code) if len(word) >= _LEAST_TURNED and not word.isupper()][:MOST]
    return len(words.common([word[::-1] for word in unknown], code)), len(unknown)


def read_wrongly(text: str, tokens: Words, code: str) -> tuple[int, int]:
    """Words that only another code page makes words of, and all with letters or signs beyond ASCII; different ones.

    Args:
        text: prose.
        tokens: its words.
        code: the list that knows most of them.

    Returns:
        The most that one pair of code pages explains.
    """
    special = list(  # longer ones are no words
        dict.fromkeys(
            piece
            for some in pieces(text)
            if not some.isascii()
            for piece in dict.fromkeys(some.split())
            if not piece.isascii() and len(piece) <= words.LONGEST
        )
    )
    unknown = tokens.unlisted(code)
    cores = [(piece, piece if piece.isalpha() else _AROUND.sub("", piece)) for piece in special]
    doubtful = [piece for piece, core in cores if core in unknown or not core.isalpha()][:MOST]
    meant: list[tuple[int, str]] = []  # pairs of code pages (as bits), and the word that they make
    for piece in doubtful:
        for pairs, table in _readings("".join(sorted({c for c in piece if not c.isascii()})), code):
            word = _AROUND.sub("", piece.translate(table))
            if len(word) >= _LEAST_READ and word.replace("’", "").isalpha() and not word.isascii():
                meant.append((pairs, word))
    still = set(words.unlisted(dict.fromkeys(word for _, word in meant), code))
    mended = [pairs for pairs, word in meant if word not in still]
    found = Counter(number for pairs in mended for number in range(pairs.bit_length()) if pairs & 1 << number)
    return max(found.values(), default=0), len(special)


@cache
def _tables() -> list[dict[int, str]]:
    """Of each two code pages: what is meant by a character beyond ASCII that was read with one instead of the other."""
    upper = bytes(range(0x80, 0x100))
    tables = []
    for taken, real in permutations(CODE_PAGES, 2):
        read, meant = upper.decode(taken, "replace"), upper.decode(real, "replace")
        tables.append({ord(a): b for a, b in zip(read, meant, strict=True) if "\ufffd" not in (a, b)})
    return tables


@lru_cache(maxsize=4096)
def _readings(characters: str, code: str) -> list[tuple[int, dict[int, str]]]:
    """What characters beyond ASCII may be meant for: each different reading, and the pairs (as bits) that give it.

    Every character becomes a letter of the language, or a mark beside one, and one is changed at least.
    """
    letters = words.lexicon(code).alphabet
    found: dict[str, int] = {}
    for number, table in enumerate(_tables()):
        meant = [table.get(ord(character), "") for character in characters]
        if all(other and (other.lower() in letters or other in _MARKS) for other in meant):
            reading = "".join(meant)
            found[reading] = found.get(reading, 0) | 1 << number
    return [
        (pairs, dict(zip(map(ord, characters), reading, strict=True)))
        for reading, pairs in found.items()
        if reading != characters
    ]
