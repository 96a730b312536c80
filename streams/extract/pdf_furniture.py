"""Running heads, running feet and page numbers: what stands at the same place of many pages, figures aside."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence

import msgspec

from streams.extract.pdf_layout import is_caption
from streams.extract.pdf_lines import Line, PageLines
from streams.records import BlockKind

_ZONE = 0.13  # share of the page's height at its top and at its foot where furniture stands
_OUTER_ROWS = 4
_SAME_PLACE = 4.0  # points
_DIGITS = re.compile(r"\d+")
_LETTER = re.compile(r"[^\W\d_]")
_PAGE_NUMBER = re.compile(
    r"[-–—\[(|]?\s*(?:(?:page|seite|p\.|pag\.|página|pagina|strana|str\.|стр\.)\s*)?"
    r"(?P<value>(?:[A-Z]?\d{1,3}[-–])?\d{1,5}|[ivxlc]{1,7})(?:\s*(?:/|of|von|de|di|z|ze|из)\s*\d{1,5})?\s*[-–—\])|]?",
    re.IGNORECASE,
)


class Spot(msgspec.Struct, gc=False):
    """A line in the zone of one page."""

    page: int  # index
    line: Line
    top: bool
    at: float  # distance of its baseline from the page's top or foot
    row: int  # counted from the edge, 0 is the outermost
    alone: bool  # the only line of its row, well apart from the next one
    signature: str


def find_furniture(pages: Sequence[PageLines]) -> list[dict[int, BlockKind]]:
    """For each page: the identity (`id()`) of each furniture line and its kind.

    A line is furniture when the same text, figures aside, stands at the same place of another page near by; when it
    counts the pages; or when it stands where furniture of at least three other pages stands.
    """
    spots = [spot for index, page in enumerate(pages) for spot in _spots(index, page)]
    chosen: dict[int, Spot] = {}
    by_text: defaultdict[tuple[bool, str], list[Spot]] = defaultdict(list)
    for spot in spots:
        by_text[spot.top, spot.signature].append(spot)
    for (_, signature), group in by_text.items():
        counting = _PAGE_NUMBER.fullmatch(signature.replace("#", "1")) is not None
        if not counting and not _LETTER.search(signature):
            continue  # numbers of sections or rows of figures
        for spot in group:
            if _repeats(spot, group, counting) or (counting and spot.alone and spot.row == 0):
                chosen[id(spot.line)] = spot
    places: Counter[tuple[bool, int, int]] = Counter()
    for spot in chosen.values():
        places[_place(spot)] += 1
    for spot in spots:
        known = max(places[spot.top, round(spot.at / 2) + shift, round(spot.line.size)] for shift in (-1, 0, 1))
        if known >= 3 and spot.row == 0 and len(spot.line.text) <= 120:
            chosen[id(spot.line)] = spot
    found: list[dict[int, BlockKind]] = [{} for _ in pages]
    for key, spot in chosen.items():
        found[spot.page][key] = _kind(spot)
    return found


def _place(spot: Spot) -> tuple[bool, int, int]:
    return spot.top, round(spot.at / 2), round(spot.line.size)


def _kind(spot: Spot) -> BlockKind:
    if _PAGE_NUMBER.fullmatch(spot.line.text):
        return BlockKind.PAGE_NUMBER
    return BlockKind.PAGE_HEADER if spot.top else BlockKind.PAGE_FOOTER


def _repeats(spot: Spot, group: list[Spot], counting: bool) -> bool:
    others = [
        other
        for other in group
        if other.page != spot.page
        and abs(other.page - spot.page) <= 8
        and abs(other.at - spot.at) <= _SAME_PLACE
        and abs(other.line.size - spot.line.size) < 0.7
    ]
    if not counting:
        return bool(others)
    return any(_value(other) - other.page == _value(spot) - spot.page for other in others)


def _value(spot: Spot) -> int:
    """The page number that the line tells; one that goes with no other where it tells none."""
    match = _PAGE_NUMBER.fullmatch(spot.line.text)
    digits = _DIGITS.findall(match["value"]) if match else []
    return int(digits[-1]) if digits else -1 - spot.page * 7


def _spots(index: int, page: PageLines) -> list[Spot]:
    found: list[Spot] = []
    for frame, lines in page.groups[:1]:
        height = frame.size[1]
        for top in (True, False):
            zone = [
                line
                for line in lines
                if not line.solid
                and not is_caption(line.text)
                and (line.v1 <= height * _ZONE if top else line.v0 >= height * (1 - _ZONE))
            ]
            zone.sort(key=lambda line: (line.base if top else -line.base, line.u0))
            edges = sorted(((line.v0, line.v1) for line in lines), key=lambda edge: edge[0] if top else -edge[1])
            row = -1
            base: float | None = None
            for line in zone:
                if base is None or abs(line.base - base) > 0.5 * line.size:
                    row += 1
                    base = line.base
                if row >= _OUTER_ROWS:
                    break
                found.append(
                    Spot(
                        page=index,
                        line=line,
                        top=top,
                        at=line.base if top else height - line.base,
                        row=row,
                        alone=_is_alone(line, edges, top),
                        signature=_DIGITS.sub("#", " ".join(line.text.casefold().split())),
                    )
                )
    return found


def _is_alone(line: Line, edges: list[tuple[float, float]], top: bool) -> bool:
    """Whether nothing stands beside the line, beyond it, or within 1.2 of its size inwards."""
    for v0, v1 in edges[:12]:
        if (v0, v1) == (line.v0, line.v1):
            continue
        if top and v0 < line.v1 + 1.2 * line.size:
            return False
        if not top and v1 > line.v0 - 1.2 * line.size:
            return False
    return True
