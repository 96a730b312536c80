"""Hidden elements of a page: kept where they stand, as blocks that say that a reader does not see them at first.

Behind tabs and folds stand texts that a click shows, and text that nobody is meant to see is worth knowing about.
"""

from __future__ import annotations

import re

from selectolax.lexbor import LexborNode

from streams.extract.html_dom import BLOCKS, DROPPED, nodes
from streams.records import Block, BlockKind, BlockSource

_SPACES = re.compile(r"[^\S\n]+")
_LINES = re.compile(r" ?\n[ \n]*")


def hidden_text(element: LexborNode) -> str:
    """All text below, a block a line; without scripts, styles and the like."""
    parts: list[str] = []
    walk = nodes(element)
    for node, entering in walk:
        tag = node.tag or ""
        if tag == "-text":
            parts.append((node.text_content or "").replace("\n", " "))
        elif entering and tag in DROPPED:
            walk.send(True)  # answers with the leaving of the same node
        elif tag == "br" or tag in BLOCKS:
            parts.append("\n")
    return _LINES.sub("\n", _SPACES.sub(" ", "".join(parts))).strip()


def with_hidden(
    blocks: list[Block], refs: dict[int, int], hidden: list[tuple[int, str]]
) -> tuple[list[Block], dict[int, int]]:
    """Blocks and what refers to them, with the hidden texts before the blocks that they are numbered after."""
    out: list[Block] = []
    places: list[int] = []
    waiting = iter([*hidden, (len(blocks) + 1, "")])
    at, text = next(waiting)
    for index in range(len(blocks) + 1):
        while at <= index:
            out.append(Block(kind=BlockKind.PARAGRAPH, text=text, hidden=True, source=BlockSource.MARKUP))
            at, text = next(waiting)
        places.append(len(out))
        out += blocks[index : index + 1]
    return out, {places[source]: places[target] for source, target in refs.items()}
