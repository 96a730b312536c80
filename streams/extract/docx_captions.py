"""Binds captions to the table or figure they belong to; Word only puts them next to each other."""

from __future__ import annotations

import re

import msgspec

from streams.records import Block, BlockKind, Table

_TABLE = re.compile(r"\s*(tab(?:le|elle|leau|la|ela|ulka|el)?|tabell|таблица|табл|表)\b", re.IGNORECASE)
_FIGURE = re.compile(
    r"\s*(fig(?:ure|ura)?|abb(?:ildung)?|bild|obr(?:ázek)?|chart|diagram|illustration|photo|рис(?:унок)?|図|图)\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"[^\W\d]+\.?\s*((?:[A-Z][.\-])?\d+(?:[.\-–]\d+)*[a-z]?)\b")
_BETWEEN = frozenset({BlockKind.FOOTNOTE, BlockKind.COMMENT})


def bind(blocks: list[Block], tables: list[Table], refs: dict[int, int], sequences: dict[int, str]) -> None:
    """Adds a ref for each caption that has a table or figure beside it, and names the table. Changes `tables`, `refs`.

    `sequences`: index of a caption -> identifier of its SEQ field, which says what it numbers.
    """
    taken: set[int] = set()
    for at, block in enumerate(blocks):
        if block.kind is not BlockKind.CAPTION:
            continue
        before, after = _beside(blocks, refs, at, -1), _beside(blocks, refs, at, +1)
        label = sequences.get(at, block.text)
        for target, kind in _preferences(label, block.text, before, after):
            if target is not None and target not in taken and blocks[target].kind is kind:
                taken.add(target)
                refs[at] = target
                _name(blocks[target], block.text, tables)
                break


def _preferences(label: str, text: str, before: int | None, after: int | None) -> list[tuple[int | None, BlockKind]]:
    """Tables have their captions above, figures below, if the author followed the custom."""
    table, figure = [(after, BlockKind.TABLE), (before, BlockKind.TABLE)], [
        (before, BlockKind.FIGURE),
        (after, BlockKind.FIGURE),
    ]  # fmt: skip
    if _TABLE.match(label) or _TABLE.match(text):
        return table
    if _FIGURE.match(label) or _FIGURE.match(text):
        return figure
    return [figure[0], table[0], table[1], figure[1]]


def _beside(blocks: list[Block], refs: dict[int, int], at: int, step: int) -> int | None:
    at += step
    while 0 <= at < len(blocks) and (blocks[at].hidden or blocks[at].kind in _BETWEEN or at in refs):
        at += step
    return at if 0 <= at < len(blocks) else None


def _name(block: Block, caption: str, tables: list[Table]) -> None:
    if block.table is None:
        return
    match = _NUMBER.match(caption.strip())
    tables[block.table] = msgspec.structs.replace(
        tables[block.table], caption=caption, number=match[1] if match else None
    )
