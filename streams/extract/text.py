"""Plain text: paragraphs as they stand, line breaks kept; form feeds are pages, underlined lines are headings."""

from __future__ import annotations

import re

from streams.decode.encoding import read_text
from streams.decode.repair import repair
from streams.extract.outcome import Draft, Request
from streams.records import Block, BlockKind, BlockSource, Page

_BLANK_LINES = re.compile(r"\n[ \t]*(?:\n[ \t]*)+")
_UNDERLINE = re.compile(r"(=+|-+|~+)[ \t]*")
MAX_HEADING = 120


def extract(request: Request) -> Draft:
    """The paragraphs of a text. Errors: none of its own; characters that can't be decoded are a warning."""
    text, warnings, metadata = source_text(request, "utf-8")
    parts = text.rstrip("\f\x1a\n ").split("\f")
    paged = len(parts) > 1
    blocks: list[Block] = []
    pages: list[Page] = []
    for number, part in enumerate(parts, 1):
        blocks += paragraphs(part, number if paged else None)
        if paged:
            pages.append(Page(number=number, width=0, height=0, characters=len(part), source=BlockSource.TEXT_LAYER))
    return Draft(
        blocks=blocks, pages=pages, page_count=len(parts) if paged else None, metadata=metadata, warnings=warnings
    )


def source_text(request: Request, default: str) -> tuple[str, list[str], dict[str, str]]:
    """The text of a file, the warnings about its bytes, and what was done to it, for the metadata.

    Args:
        default: the encoding, where none was found.

    Text that was decoded wrongly before it came here is turned back: `mojibake_repaired` among the warnings, and
    `misread_as`, the encodings it had been taken for, the last time first.
    """
    text, errors = read_text(request.path, request.detection.encoding or default)
    warnings = list(request.detection.warnings)
    if errors and "invalid_bytes" not in warnings:
        warnings.append("invalid_bytes")
    repaired = repair(text)
    if not repaired.misread_as:
        return text, warnings, {}
    return repaired.text, [*warnings, "mojibake_repaired"], {"misread_as": ", ".join(repaired.misread_as)}


def paragraphs(text: str, page: int | None) -> list[Block]:
    """Blocks of a text without markup: what stands between blank lines, and underlined headings."""
    blocks: list[Block] = []
    for part in _BLANK_LINES.split(text.strip("\n")):
        paragraph = part.strip("\n")
        if not paragraph.strip():
            continue
        heading, rest = _heading(paragraph)
        if heading is not None:
            title, level = heading
            blocks.append(
                Block(kind=BlockKind.HEADING, text=title, level=level, page=page, source=BlockSource.TEXT_LAYER)
            )
        if rest.strip():
            blocks.append(Block(kind=BlockKind.PARAGRAPH, text=rest, page=page, source=BlockSource.TEXT_LAYER))
    return blocks


def _heading(paragraph: str) -> tuple[tuple[str, int] | None, str]:
    """A first line that is underlined, as reStructuredText and old text files do, and what follows it.

    The underline is about as long as the line, or it is a rule between two parts.
    """
    first, _, after = paragraph.partition("\n")
    second, _, rest = after.partition("\n")
    title = first.strip()
    match = _UNDERLINE.fullmatch(second.strip()) if second else None
    if match is None or not 0 < len(title) <= MAX_HEADING or not any(c.isalnum() for c in title):
        return None, paragraph
    if not len(title) * 0.7 <= len(match[1]) <= len(title) * 1.5 + 3 or len(match[1]) < 3:
        return None, paragraph
    return (title, 1 if match[1][0] == "=" else 2), rest
