"""`canonry inspect --overlay`: which pages are drawn, and into which files; drawing is the work of a slot."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

from streams.errors import DocumentError, NotFound, SlotFailure, UsageError
from streams.ops.inspect import Examined
from streams.records import CanonBody
from streams.records.codec import decode
from streams.runtime.jobs import OverlayArgs, path_text
from streams.runtime.slots import Slots


class NothingToDraw(NotFound):
    """Nothing was read of the document, or a page of it can't be drawn."""

    code = "nothing_to_draw"


def parse_pages(text: str) -> list[tuple[int, int]]:
    """Ranges of pages, first and last, from 1: "2", "1-3", "1,4-6", "7-" (to the end).

    Raises:
        ValueError: it is no such list.
    """
    ranges = []
    for part in text.split(","):
        first, dash, last = (piece.strip() for piece in part.partition("-"))
        if not first.isascii() or not first.isdigit() or (last and not (last.isascii() and last.isdigit())):
            raise ValueError(f"no list of pages: {text}")
        low = int(first[:9])
        high = int(last[:9]) if last else 10**9 if dash else low
        if not 1 <= low <= high:
            raise ValueError(f"no list of pages: {text}")
        ranges.append((low, high))
    return ranges


def file_of(out: Path, number: int, count: int, last: int) -> Path:
    """The file of page `number`: `out` itself where one page is drawn, else NAME-1.png and so on, as wide as `last`."""
    if count == 1:
        return out
    return out.with_name(f"{out.stem}-{number:0{len(str(last))}}{out.suffix or '.png'}")


async def draw_pages(
    path: Path, examined: Examined, slots: Slots, out: Path, ranges: list[tuple[int, int]] | None = None
) -> AsyncIterator[Path]:
    """Draws the pages of a document one after the other; yields each file when it is written.

    Args:
        path: the document.
        examined: what came of it.
        ranges: which pages; None for all.

    Raises:
        UsageError: its format has no pages, or it has none of those that were asked for.
        NothingToDraw: it has no blocks, or a page can't be drawn.
        OSError: a file can't be written.
    """
    detection = examined.found.detection
    if not examined.body or detection is None:
        why = ", ".join(examined.found.screening.problems) or examined.found.screening.rule or "no canon"
        raise NothingToDraw(f"{examined.path} has no blocks to draw: {why}.")
    pages = [page.number for page in decode(CanonBody, examined.body).pages]
    wanted = [n for n in pages if ranges is None or any(low <= n <= high for low, high in ranges)]
    if not pages:
        raise UsageError(f"{examined.path} is {detection.media_type}, which has no pages to draw on.")
    if not wanted:
        raise UsageError(f"{examined.path} has {len(pages)} pages, none of those asked for.")
    for number in wanted:
        args = OverlayArgs(path=path_text(path), detection=detection, page=number)
        try:
            _, png, _ = await slots.run("overlay", args, type(None), body=examined.body)
        except (DocumentError, SlotFailure) as error:
            raise NothingToDraw(f"{examined.path}, page {number}: {error.message}") from error
        file = file_of(out, number, len(wanted), wanted[-1])
        await asyncio.to_thread(file.write_bytes, png)
        yield file
