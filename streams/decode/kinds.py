"""What a look at a text says of it, and sets of words written as people read them."""

from __future__ import annotations

import msgspec


class TextKind(msgspec.Struct, frozen=True):
    """Media type of a text and the rule that said so."""

    media_type: str
    rule: str


def words(text: str) -> frozenset[str]:
    """The words of `text`."""
    return frozenset(text.split())
