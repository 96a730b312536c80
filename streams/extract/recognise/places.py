"""Where lines lie: on a page that is turned, and in the parts of a page that are read by themselves."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from streams.extract.boxes import around, meet
from streams.extract.recognise.engine import PixelBox, SeenLine

_DESCENT = 0.2  # of a line's height: the engine tells no baseline of lines that it turned
_PARAGRAPHS = 1000  # numbers for those of one part


def turned_lines(lines: Sequence[SeenLine], size: tuple[int, int], turn: int) -> list[SeenLine]:
    """Lines of a page of so many pixels, as they lie on the page turned clockwise by 90, 180 or 270 degrees."""
    width, height = size

    def there(box: PixelBox) -> PixelBox:
        x0, y0, x1, y1 = box
        if turn == 90:
            return height - y1, x0, height - y0, x1
        if turn == 270:
            return y0, width - x1, y1, width - x0
        return width - x1, height - y1, width - x0, height - y0

    found = []
    for line in lines:
        box = there(line.box)
        words = [word._replace(box=there(word.box)) for word in line.words]
        base = box[3] - _DESCENT * (box[3] - box[1])
        found.append(msgspec.structs.replace(line, words=words, box=box, base=base, turn=(line.turn + turn) % 360))
    return found


def parts_of(paragraphs: Sequence[Sequence[SeenLine]], told: Sequence[str | None]) -> list[list[int]]:
    """Numbers of paragraphs that follow each other in one language, where no other paragraph reaches between them.

    Args:
        told: the language in which each paragraph has to be read again; None: not again.
    """
    found: list[list[int]] = []
    boxes = [around([line.box for line in lines]) for lines in paragraphs]
    for number, code in enumerate(told):
        if code is None or any(line.turn for line in paragraphs[number]):
            continue
        if found and found[-1][-1] == number - 1 and told[number - 1] == code:
            whole = around([boxes[at] for at in (*found[-1], number)])
            others = (box for at, box in enumerate(boxes) if at not in found[-1] and at != number)
            if not any(meet(box, whole) for box in others):
                found[-1].append(number)
                continue
        found.append([number])
    return found


def placed(lines: Sequence[SeenLine], left: float, top: float, number: int) -> list[SeenLine]:
    """Lines of part `number` of a page as lines of the page, with paragraphs of their own."""

    def there(box: PixelBox) -> PixelBox:
        return box[0] + left, box[1] + top, box[2] + left, box[3] + top

    return [
        msgspec.structs.replace(
            line,
            words=[word._replace(box=there(word.box)) for word in line.words],
            box=there(line.box),
            base=line.base + top,
            paragraph=-_PARAGRAPHS * (number + 1) - line.paragraph,
        )
        for line in lines
    ]
