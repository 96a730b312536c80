"""Cuts RTF into its tokens (RTF 1.9.1, "RTF Syntax"): cheap, forgiving, and never fooled by raw binary data."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import IntEnum

from streams.errors import DocumentError

MAX_TOKENS = 10_000_000
"""Tokens of one file: half a minute of work, and memory for what they say. A long book has a million."""

_TOKEN = re.compile(
    rb"([^\\{}]+)|\\([a-zA-Z]{1,32})(-?[0-9]{1,10})? ?|\\'([0-9a-fA-F]{2})|\\([^a-zA-Z])|(\{)|(\})", re.DOTALL
)
_LINE_ENDS = b"\r\n"


class Kind(IntEnum):
    """What a token is."""

    TEXT = 1  # bytes as they stand, without line ends
    WORD = 2  # a control word with its parameter
    BYTE = 3  # \'hh
    SYMBOL = 4  # a backslash and a character that is no letter
    OPEN = 5
    CLOSE = 6


Token = tuple[Kind, bytes, int | None]


def tokens(data: bytes) -> Iterator[Token]:
    """All tokens of `data`: kind, value, parameter of a word. The data of `\\bin` are passed over.

    Errors: DocumentError `too_large` beyond MAX_TOKENS.
    """
    at = count = 0
    while True:
        for match in _TOKEN.finditer(data, at):
            count += 1
            which = match.lastindex
            if which == 1:
                value = match[1].translate(None, _LINE_ENDS)
                if value:
                    yield Kind.TEXT, value, None
            elif which == 2:
                yield Kind.WORD, match[2], None
            elif which == 3:
                word, parameter = match[2], int(match[3])
                yield Kind.WORD, word, parameter
                if word == b"bin" and parameter > 0:
                    at = match.end() + parameter
                    break
            elif which == 4:
                yield Kind.BYTE, bytes.fromhex(match[4].decode()), None
            elif which == 5:
                yield Kind.SYMBOL, match[5], None
            else:
                yield (Kind.OPEN if which == 6 else Kind.CLOSE), b"", None
            if count > MAX_TOKENS:
                raise DocumentError("too_large", f"It has more than {MAX_TOKENS} RTF tokens.")
        else:
            return
