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
_FIRST = 0.03  # the same from the first or last line of the document's pages, whose margins may be wide
_ENOUGH_LINES = 10  # of a page that shows how wide they are
_OUTER_ROWS = 4
_NEAR_BY = 8  # pages
_SAME_PLACE = 4.0  # points
_LARGE = 1.25  # times the page's body size: a title of a slide or a chapter, unless most pages near by repeat it
_DIGITS = re.compile(r"\d+")
_LETTER = re.compile(r"[^\W\d_]")
_PAGE_NUMBER = re.compile(
    r"[-–—\[(|]?\s*(?:(?:page|seite|p\.|pag\.|página|pagina|strana|str\.|стр\.)\s*)?"
    r"(?P<value>(?:[A-Z]?\d{1,3}[-–])?\d{1,5}|[ivxlc]{1,7})(?:\s*(?:/|of|von|de|di|z|ze|из)\s*\d{1,5})?\s*[-–—\])|]?",
    re.IGNORECASE,
)

_ROMAN = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}


class Spot(msgspec.Struct, gc=False):
    """A line in the zone of one page."""

    page: int  # index
    line: Line
    top: bool
    at: float  # distance of its baseline from the page's top or foot
    row: int  # counted from the edge, 0 is the outermost
    alone: bool  # the only line of its row, well apart from the next one
    signature: str
    large: bool


def find_furniture(pages: Sequence[PageLines]) -> list[dict[int, BlockKind]]:
    """For each page: the identity (`id()`) of each furniture line and its kind.

    A line is furniture when the same text, figures aside, stands at the same place of another page near by; when it
    counts the pages; or when it stands where furniture of at least three other pages stands.
    """
    margins = _margins(pages)
    spots = [spot for index, page in enumerate(pages) for spot in _spots(index, page, margins)]
    chosen: dict[int, Spot] = {}
    by_text: defaultdict[tuple[bool, str], list[Spot]] = defaultdict(list)
    for spot in spots:
        by_text[spot.top, spot.signature].append(spot)
    last = len(pages) - 1
    for (_, signature), group in by_text.items():
        counting = _PAGE_NUMBER.fullmatch(signature.replace("#", "1")) is not None
        if not counting and not _LETTER.search(signature):
            continue  # numbers of sections or rows of figures
        by_page: defaultdict[int, list[Spot]] = defaultdict(list)
        for spot in group:
            by_page[spot.page].append(spot)
        for spot in group:
            if _repeats(spot, by_page, counting, last) or (counting and spot.alone and spot.row == 0):
                chosen[id(spot.line)] = spot
    _add_numbers(spots, chosen)
    places: Counter[tuple[bool, int, int]] = Counter()
    for spot in chosen.values():
        places[_place(spot)] += 1
    for spot in spots:
        known = max(places[spot.top, round(spot.at / 2) + shift, round(spot.line.size)] for shift in (-1, 0, 1))
        if known >= 3 and spot.row == 0 and not spot.large and len(spot.line.text) <= 120:
            chosen[id(spot.line)] = spot
    rows_of = {(spot.page, spot.top, spot.row) for spot in chosen.values()}
    for spot in spots:  # "2    A. Author et al.": what stands on the row of a page number is of its kind
        on_row = (spot.page, spot.top, spot.row) in rows_of and spot.row == 0
        if on_row and not spot.large and len(spot.line.text) <= 120:
            chosen[id(spot.line)] = spot
    found: list[dict[int, BlockKind]] = [{} for _ in pages]
    zones: defaultdict[tuple[int, bool], dict[int, list[Spot]]] = defaultdict(dict)
    for spot in chosen.values():
        zones[spot.page, spot.top].setdefault(spot.row, []).append(spot)
    for (index, top), rows in sorted(zones.items(), key=lambda zone: zone[0]):
        for row in range(_apart_from_body(rows, pages[index].groups[0][1], top)):
            found[index].update((id(spot.line), furniture_kind(spot.line.text, spot.top)) for spot in rows[row])
    return found


def _add_numbers(spots: Sequence[Spot], chosen: dict[int, Spot]) -> None:
    """Adds page numbers that stand elsewhere than on the other pages, as on the first one, and go with theirs."""
    steps = Counter(_value(spot) - spot.page for spot in chosen.values() if _PAGE_NUMBER.fullmatch(spot.line.text))
    for spot in spots:
        if spot.row == 0 and _PAGE_NUMBER.fullmatch(spot.line.text) and steps[_value(spot) - spot.page] > 1:
            chosen[id(spot.line)] = spot


def _apart_from_body(rows: dict[int, list[Spot]], lines: list[Line], top: bool) -> int:
    """How many rows from the edge inwards are furniture: without a gap in between, and not the first of a paragraph."""
    count = 0
    while rows.get(count):
        count += 1
    while count:
        outer = rows[count - 1][0].line
        inner = [line for line in lines if (line.base > outer.base if top else line.base < outer.base)]
        inner = [line for line in inner if abs(line.base - outer.base) > 0.5 * outer.size]
        if not inner:
            break
        next_line = min(inner, key=lambda line: (abs(line.base - outer.base), line.u0))
        gap = next_line.v0 - outer.v1 if top else outer.v0 - next_line.v1
        same_type = abs(next_line.size - outer.size) < 0.1 * outer.size and next_line.bold == outer.bold
        if gap >= 0.6 * outer.size or not same_type or next_line.solid:
            break
        count -= 1
    return count


def _place(spot: Spot) -> tuple[bool, int, int]:
    return spot.top, round(spot.at / 2), round(spot.line.size)


def furniture_kind(text: str, top: bool) -> BlockKind:
    """What a line of furniture at the top or the foot of a page is."""
    if _PAGE_NUMBER.fullmatch(text):
        return BlockKind.PAGE_NUMBER
    return BlockKind.PAGE_HEADER if top else BlockKind.PAGE_FOOTER


def _repeats(spot: Spot, by_page: dict[int, list[Spot]], counting: bool, last: int) -> bool:
    """Whether a line stands at the same place of other pages near by; `last` is the index of the last page."""
    others = [
        other
        for page in range(spot.page - _NEAR_BY, spot.page + _NEAR_BY + 1)
        if page != spot.page and page in by_page
        for other in by_page[page]
        if abs(other.at - spot.at) <= _SAME_PLACE and abs(other.line.size - spot.line.size) < 0.7
    ]
    if not counting:
        near_by = min(spot.page, _NEAR_BY) + min(last - spot.page, _NEAR_BY)
        return len({other.page for other in others}) * 2 > near_by if spot.large else bool(others)
    return any(_value(other) - other.page == _value(spot) - spot.page for other in others)


def _value(spot: Spot) -> int:
    """The page number that the line tells; one that goes with no other where it tells none."""
    match = _PAGE_NUMBER.fullmatch(spot.line.text)
    if match is None:
        return -1 - spot.page * 7
    digits = _DIGITS.findall(match["value"])
    return int(digits[-1]) if digits else _roman(match["value"])


def _roman(text: str) -> int:
    """The number that Roman numerals tell."""
    values = [_ROMAN[letter] for letter in text.casefold()]
    return sum(-a if a < b else a for a, b in zip(values, [*values[1:], 0], strict=True))


def _margins(pages: Sequence[PageLines]) -> tuple[float, float]:
    """The white at the top and at the foot of most pages, in points."""
    tops: list[float] = []
    feet: list[float] = []
    for page in pages:
        for frame, lines in page.groups[:1]:
            if len(lines) >= _ENOUGH_LINES:
                tops.append(min(line.v0 for line in lines))
                feet.append(frame.size[1] - max(line.v1 for line in lines))
    return (sorted(tops)[len(tops) // 3], sorted(feet)[len(feet) // 3]) if tops else (0.0, 0.0)


def _spots(index: int, page: PageLines, margins: tuple[float, float]) -> list[Spot]:
    found: list[Spot] = []
    for frame, lines in page.groups[:1]:
        height = frame.size[1]
        large = _LARGE * _body_size(lines)
        for top, margin in zip((True, False), margins, strict=True):
            depth = max(_ZONE * height, min(margin, 0.4 * height) + _FIRST * height)
            zone = [
                line
                for line in lines
                if not line.solid
                and not is_caption(line.text)
                and (line.v1 <= depth if top else line.v0 >= height - depth)
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
                        large=line.size >= large,
                    )
                )
    return found


def _body_size(lines: Sequence[Line]) -> float:
    """The size of most letters."""
    sizes: Counter[float] = Counter()
    for line in lines:
        sizes[line.size] += len(line.text)
    return max(sizes.items(), key=lambda item: (item[1], -item[0]))[0] if sizes else 0.0


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
