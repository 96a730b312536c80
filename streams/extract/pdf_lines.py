"""What a reader of the page sees: lines of text in reading frames, without hidden, doubled and off-page text."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Sequence

import msgspec

from streams.extract.boxes import Box
from streams.extract.pdf_watermarks import watermarks
from streams.extract.tools.mupdf import PageRead, RawLine, Span

_WHITE = 0xF0F0F0
_SCAN_AREA = 0.5  # share of a page that one picture covers when invisible text is its recognised text
_DOUBLE = 0.3  # of the font size: how far apart the two prints of fake bold lie
_LIGATURES = {
    "\ufb00": "ff",
    "\ufb01": "fi",
    "\ufb02": "fl",
    "\ufb03": "ffi",
    "\ufb04": "ffl",
    "\ufb05": "st",
    "\ufb06": "st",
}
_SUPERSCRIPTS = str.maketrans("0123456789+-−–()", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁻⁽⁾")
_RAISED_FIGURES = re.compile(r"\s*[+\-−–(]{0,2}\d{1,3}\)?\s*")
_SPACES = re.compile("[\u00a0\u1680\u2000-\u200a\u202f\u205f\t]")
_NOTHING = re.compile("[\x00-\x08\x0b-\x1f\x7f\u200b\u2060\ufeff]")
_COMBINING = {"¨": "\u0308", "´": "\u0301", "ˆ": "\u0302", "˜": "\u0303", "ˇ": "\u030c", "˚": "\u030a"}
_ACCENT = re.compile("([¨´ˆ˜ˇ˚])([A-Za-zıȷ])")
_PRIVATE_BULLETS = {  # Symbol and Wingdings
    "\uf0b7": "•",
    "\uf0a7": "▪",
    "\uf0d8": "➢",
    "\uf0fc": "✓",
    "\uf06f": "o",
    "\uf0a8": "□",
    "\uf02d": "-",
}


class Frame(msgspec.Struct, frozen=True):
    """The page turned so that text of one direction runs to the right: (x, y) as displayed <-> (u, v)."""

    turn: int  # degrees clockwise by which the text is turned: 0, 90, 180, 270
    width: float
    height: float

    def inside(self, box: Box) -> Box:
        """A displayed box in this frame."""
        x0, y0, x1, y1 = box
        if self.turn == 0:
            return box
        if self.turn == 90:
            return y0, self.width - x1, y1, self.width - x0
        if self.turn == 180:
            return self.width - x1, self.height - y1, self.width - x0, self.height - y0
        return self.height - y1, x0, self.height - y0, x1

    def baseline(self, x: float, y: float) -> float:
        """The v of a point."""
        return (y, self.width - x, self.height - y, x)[self.turn // 90]

    def shown(self, box: Box) -> Box:
        """A box of this frame as displayed."""
        u0, v0, u1, v1 = box
        if self.turn == 0:
            return box
        if self.turn == 90:
            return self.width - v1, u0, self.width - v0, u1
        if self.turn == 180:
            return self.width - u1, self.height - v1, self.width - u0, self.height - v0
        return v0, self.height - u1, v1, self.height - u0

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of the page in this frame."""
        return (self.width, self.height) if self.turn % 180 == 0 else (self.height, self.width)


class Line(msgspec.Struct, gc=False):
    """A piece of a line in one style family, in its frame."""

    text: str
    u0: float
    v0: float
    u1: float
    v1: float
    base: float  # v of the baseline
    size: float
    bold: bool  # all of it
    italic: bool
    mono: bool
    lead: str = ""  # a bullet or raised mark of its own style at the start; not in `text`
    raised: str = ""  # the raised marks inside, each between blanks
    ocr: bool = False
    table: int = -1  # stands for a table: its index on the page
    figure: int = -1  # stands for a figure: its index on the page
    panels: int = -1  # stands for panels side by side: their index in the layout of the page

    @property
    def box(self) -> Box:
        return self.u0, self.v0, self.u1, self.v1

    @property
    def solid(self) -> bool:
        """Whether it stands for something that is no line of text."""
        return self.table >= 0 or self.figure >= 0 or self.panels >= 0


def stands_in(line: Line, box: Box, edge: float = 0.0) -> bool:
    """Whether the middle of a line lies in a box, or no further than `edge` points beside it."""
    u, v = (line.u0 + line.u1) / 2, (line.v0 + line.v1) / 2
    return box[0] - edge <= u <= box[2] + edge and box[1] - edge <= v <= box[3] + edge


class PageLines(msgspec.Struct, kw_only=True):
    """The lines of one page by frame, main frame first."""

    number: int
    width: float
    height: float
    groups: list[tuple[Frame, list[Line]]]
    image_area: float
    ocr: bool = False  # the text is the recognised text of a picture
    characters: int = 0  # without white space
    watermarks: list[tuple[str, Box]] = []  # box as displayed
    dropped: Counter[str] = msgspec.field(default_factory=Counter)


def page_lines(page: PageRead, number: int) -> PageLines:
    """Lines of a page that count as its text; what is left out is counted in `dropped`, in characters."""
    area = covered(page.images, page.width, page.height)
    dropped: Counter[str] = Counter()
    if page.clipped:
        dropped["off_page_text"] += page.clipped
    if page.covered:
        dropped["covered_text"] += page.covered
    by_turn: defaultdict[int, list[Line]] = defaultdict(list)
    frames: dict[int, Frame] = {}
    ocr = area >= _SCAN_AREA and _is_mostly_hidden(page)
    backgrounds = [vector.box for vector in page.vectors if vector.color < _WHITE] + page.images + page.shades
    seen = [(raw, spans) for raw in page.lines if (spans := _shown_spans(raw, page, ocr, backgrounds, dropped))]
    marks = set() if ocr else watermarks([raw._replace(spans=spans) for raw, spans in seen], page.width, page.height)
    for index, (raw, spans) in enumerate(seen):
        if index in marks:
            continue
        turn = _turn(raw.direction)
        frame = frames.setdefault(turn, Frame(turn, page.width, page.height))
        line = _line(spans, frame, ocr)
        if line is not None:
            by_turn[turn].append(line)
    groups = [(frames[turn], _without_doubles(lines, dropped)) for turn, lines in sorted(by_turn.items())]
    groups.sort(key=lambda group: (-sum(len(line.text) for line in group[1]), group[0].turn))
    return PageLines(
        number=number,
        width=page.width,
        height=page.height,
        groups=groups,
        image_area=area,
        ocr=ocr and bool(groups),
        characters=sum(_count(line.text) + len(line.lead) for _, lines in groups for line in lines),
        watermarks=[
            (clean("".join(span.text for span in seen[index][1])).strip(), seen[index][0].box)
            for index in sorted(marks)
        ],
        dropped=dropped,
    )


def _is_mostly_hidden(page: PageRead) -> bool:
    spans = [span for line in page.lines for span in line.spans]
    return sum(_count(span.text) if span.visible else -_count(span.text) for span in spans) < 0


def covered(boxes: Sequence[Box], width: float, height: float, steps: int = 50) -> float:
    """Share of the page under `boxes`, 0..1, measured at steps x steps points."""
    if not boxes or width <= 0 or height <= 0:
        return 0.0
    hit = bytearray(steps * steps)
    for x0, y0, x1, y1 in boxes:
        first, last = _points(x0, x1, width, steps)
        top, bottom = _points(y0, y1, height, steps)
        if last <= first:
            continue
        row = b"\x01" * (last - first)
        for y in range(top, bottom):
            hit[y * steps + first : y * steps + last] = row
    return round(hit.count(1) / len(hit), 4)


def _points(low: float, high: float, length: float, steps: int) -> tuple[int, int]:
    """Indices of the sample points (in the middle of each step) from low to high."""
    first = int(max(0.0, min(float(steps), low / length * steps + 0.5)))
    last = int(max(0.0, min(float(steps), high / length * steps + 0.5)))
    return first, last


def clean(text: str) -> str:
    """Ligatures as letters, odd blanks as blanks, soft hyphens only where a line ends, NFC."""
    if text.isascii() and text.isprintable():
        return text
    text = _NOTHING.sub("", _SPACES.sub(" ", text))
    body, end = (text.rstrip(), "\u00ad") if text.rstrip().endswith("\u00ad") else (text, "")
    text = body.replace("\u00ad", "") + end
    for ligature, letters in _LIGATURES.items():
        if ligature in text:
            text = text.replace(ligature, letters)
    for private, bullet in _PRIVATE_BULLETS.items():
        if private in text:
            text = text.replace(private, bullet)
    if _ACCENT.search(text):
        text = _ACCENT.sub(_accented, text)
    return unicodedata.normalize("NFC", text)


def _accented(match: re.Match[str]) -> str:
    """TeX prints "ï" as a diaeresis and a dotless i."""
    letter = {"ı": "i", "ȷ": "j"}.get(match[2], match[2])
    composed = unicodedata.normalize("NFC", letter + _COMBINING[match[1]])
    return composed if len(composed) == 1 else match[0]


def _count(text: str) -> int:
    """Characters without white space."""
    return len(text) - text.count(" ") if text.isascii() else len("".join(text.split()))


def _turn(direction: tuple[float, float]) -> int:
    dx, dy = direction
    if abs(dx) >= abs(dy):
        return 0 if dx >= 0 else 180
    return 90 if dy > 0 else 270


def _shown_spans(raw: RawLine, page: PageRead, ocr: bool, backgrounds: list[Box], dropped: Counter[str]) -> list[Span]:
    kept: list[Span] = []
    for span in raw.spans:
        if not span.text.strip():
            if kept:
                kept.append(span)
            continue
        x0, y0, x1, y1 = span.box
        x, y = (x0 + x1) / 2, (y0 + y1) / 2
        if not (0 <= x <= page.width and 0 <= y <= page.height):
            dropped["off_page_text"] += _count(span.text)
        elif _is_unseen(span, x, y, ocr, backgrounds):
            dropped["invisible_text"] += _count(span.text)
        else:
            kept.append(span)
    while kept and not kept[-1].text.strip():
        kept.pop()
    return kept


def _is_unseen(span: Span, x: float, y: float, ocr: bool, backgrounds: list[Box]) -> bool:
    """Whether nobody sees the text at (x, y): not painted and no recognised text of a picture, or white on white."""
    if not span.visible:
        return not ocr
    return _is_white(span.color) and not _under(x, y, backgrounds)


def _is_white(color: int) -> bool:
    return min(color >> 16, color >> 8 & 0xFF, color & 0xFF) >= 0xF0


def _under(x: float, y: float, boxes: list[Box]) -> bool:
    return any(x0 <= x <= x1 and y0 <= y <= y1 for x0, y0, x1, y1 in boxes)


def _line(spans: list[Span], frame: Frame, ocr: bool) -> Line | None:
    weights: defaultdict[float, int] = defaultdict(int)
    bold = italic = mono = total = 0
    for span in spans:
        count = _count(span.text)
        weights[round(span.size, 1)] += count
        total += count
        bold += count if span.bold else 0
        italic += count if span.italic else 0
        mono += count if span.mono else 0
    size = max(0.5, max(weights.items(), key=lambda item: (item[1], item[0]))[0])  # a broken font may say 0
    whole = spans if len(weights) == 1 else [span for span in spans if round(span.size, 1) >= size * 0.8] or spans
    base = frame.baseline(*whole[0].origin)
    lead = _lead(spans, size, base, frame)
    raised: list[str] = []
    parts: list[str] = []
    for index, span in enumerate(spans):
        if index == 0 and lead:
            continue
        part = span.text
        if len(part) <= 4 and _is_raised(span, size, base, frame):
            mark = part.strip()
            if len(mark) <= 3 and (mark.isdigit() or mark in _MARKS):
                raised.append(mark)
            part = superscript(part)
        parts.append(part)
    text = clean("".join(parts)).strip()
    if not text and not lead:
        return None
    boxes = [frame.inside(span.box) for span in spans]
    tall = boxes if len(whole) == len(spans) else [frame.inside(span.box) for span in whole]
    return Line(
        text=text,
        u0=min(box[0] for box in boxes),
        v0=min(box[1] for box in tall),
        u1=max(box[2] for box in boxes),
        v1=max(box[3] for box in tall),
        base=base,
        size=size,
        bold=bold >= total * 0.9,
        italic=italic >= total * 0.9,
        mono=mono >= total * 0.9,
        lead=lead,
        raised=f" {' '.join(raised)} " if raised else "",
        ocr=ocr,
    )


_MARKS = frozenset({"*", "**", "†", "‡", "§", "¶", "∗"})


def _is_raised(span: Span, size: float, base: float, frame: Frame) -> bool:
    """Whether a span is small and stands above the baseline. MuPDF's own flag misses it at the start of a line."""
    return span.size < size * 0.9 and frame.baseline(*span.origin) < base - 0.15 * size


def superscript(text: str) -> str:
    """Raised figures and signs as the characters that say so: "10" and a raised "2" must not become 102."""
    return text.translate(_SUPERSCRIPTS) if _RAISED_FIGURES.fullmatch(text) else text


def _lead(spans: list[Span], size: float, base: float, frame: Frame) -> str:
    """A glyph of another font or size that stands before the text: a bullet that no one can name, or a raised mark."""
    first = spans[0]
    mark = first.text.strip()
    if len(spans) < 2 or not mark or len(mark) > 3:
        return ""
    if set(mark) == {"\ufffd"} and (first.font != spans[1].font or first.size < spans[1].size * 0.9):
        return mark[:1]
    if _is_raised(first, size, base, frame) and (mark.isdigit() or mark in _MARKS or len(mark) == 1):
        return mark
    return ""


def _without_doubles(lines: list[Line], dropped: Counter[str]) -> list[Line]:
    """One line where the same text is printed twice at nearly the same place (fake bold, shadows)."""
    places: dict[tuple[str, int, int], list[Line]] = {}
    kept: list[Line] = []
    for line in lines:
        near = line.size * _DOUBLE
        u, v = int(line.u0 // near), int(line.base // near)
        beside = [(line.text, u + du, v + dv) for du in (-1, 0, 1) for dv in (-1, 0, 1)]
        twins = (twin for place in beside for twin in places.get(place, ()))
        if any(abs(line.u0 - twin.u0) <= near and abs(line.base - twin.base) <= near for twin in twins):
            dropped["doubled_text"] += _count(line.text)
            continue
        places.setdefault((line.text, u, v), []).append(line)
        kept.append(line)
    return kept
