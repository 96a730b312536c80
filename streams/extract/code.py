"""Source code, settings and patches: one block as it stands, for white space and symbols are what it is made of."""

from __future__ import annotations

import re

from streams.errors import DocumentError
from streams.extract.outcome import Draft, Request
from streams.extract.text import paragraphs, source_text
from streams.records import Block, BlockKind, BlockSource

_PATCH_START = re.compile(
    r"^(?:diff (?:--git|-\w|--\w)|Index: |--- \S|\*\*\* \S|@@ -\d|\d+(?:,\d+)?[acd]\d)", re.MULTILINE
)


def extract(request: Request) -> Draft:
    """The text as one block of code; of a patch, what is written above it is prose.

    Errors: DocumentError `encrypted` for an armoured PGP message.
    """
    if request.detection.media_type == "application/pgp-encrypted":
        raise DocumentError("encrypted", "It is a message encrypted with PGP.")
    text, warnings, metadata = source_text(request, "utf-8")
    blocks: list[Block] = []
    if request.detection.media_type == "text/x-diff" and (start := _PATCH_START.search(text)) is not None:
        blocks += paragraphs(text[: start.start()], None)
        text = text[start.start() :]
    if text.strip():
        blocks.append(Block(kind=BlockKind.CODE, text=text, source=BlockSource.TEXT_LAYER))
    return Draft(blocks=blocks, warnings=warnings, metadata=metadata)
