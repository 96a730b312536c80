"""A page with its blocks drawn over it: a person sees at a glance what was read, as what, and in which order."""

from __future__ import annotations

import io
from collections import Counter
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from streams.errors import DocumentError
from streams.extract.boxes import Box, around
from streams.extract.tools.mupdf import PageError, Pdf, Word, open_pdf
from streams.extract.tools.mupdf_render import render
from streams.extract.tools.pillow import FORMATS, open_picture
from streams.records import FURNITURE, Block, BlockKind, BlockSource, CanonBody, Detection, Page, Table

DPI = 110.0
MAX_PIXELS = 4_000_000
"""Of one drawing: an A4 page has 1.2 million at `DPI`; a wall map is drawn smaller."""

_COLORS: dict[BlockKind, tuple[int, int, int]] = {
    BlockKind.TITLE: (200, 0, 60),
    BlockKind.HEADING: (220, 60, 0),
    BlockKind.PARAGRAPH: (0, 90, 200),
    BlockKind.LIST_ITEM: (0, 130, 130),
    BlockKind.TABLE: (120, 0, 170),
    BlockKind.FIGURE: (0, 130, 40),
    BlockKind.CAPTION: (150, 110, 0),
    BlockKind.FOOTNOTE: (140, 70, 20),
    BlockKind.CODE: (60, 60, 110),
    BlockKind.FORMULA: (160, 0, 120),
    BlockKind.FORM_FIELD: (0, 150, 90),
    BlockKind.COMMENT: (190, 140, 0),
    BlockKind.QUOTE: (90, 90, 160),
}
_GRAY = (110, 110, 110)
_WASH = 26  # opacity of the colour inside a box, of 255
_DIM = 70  # of the grey over what is no part of the body
_LEGEND_LINE = 22  # pixels
_MOST_WORDS = 20_000  # of a page, for the cells of its tables


def draw_page(path: Path, detection: Detection, body: CanonBody, number: int) -> bytes:
    """Page `number` (from 1) of the document at `path` as a PNG, with the blocks of its canon over it.

    Each block has a box in the colour of its kind and its number in reading order, counted on the page. Furniture and
    hidden blocks are grey and have no number; recognised blocks have a broken outline; each cell of a table whose
    words can be found on the page has a box of its own.

    Raises:
        DocumentError: `corrupt` where the page can't be rendered, `unsupported_format` where the format has no pages
            that can be drawn, and whatever opening the file says.
    """
    page = next((page for page in body.pages if page.number == number), None)
    if page is None:
        raise DocumentError("corrupt", f"It has no page {number}.")
    words: list[Word] = []
    gray = _gray(path, detection, number)
    if detection.media_type == "application/pdf" and any(number in table.pages for table in body.tables):
        with open_pdf(path) as pdf:
            words = _words(pdf, number)
    image = gray.convert("RGB")
    _draw(image, page, body, words)
    out = io.BytesIO()
    image = _with_legend(image, page, [block for block in body.blocks if block.page == number])
    image.save(out, format="PNG")
    return out.getvalue()


def plain_page(path: Path, detection: Detection, number: int) -> bytes:
    """Page `number` (from 1) of the document at `path` as a grey PNG, with nothing over it.

    Raises:
        DocumentError: as `draw_page`.
    """
    out = io.BytesIO()
    _gray(path, detection, number).save(out, format="PNG")
    return out.getvalue()


def _gray(path: Path, detection: Detection, number: int) -> Image.Image:
    if detection.media_type == "application/pdf":
        with open_pdf(path) as pdf:
            return _rendered(pdf, number)
    if detection.media_type in FORMATS:
        with open_picture(path, detection.media_type) as picture:
            return picture.gray(number, MAX_PIXELS)
    raise DocumentError("unsupported_format", f"{detection.media_type} has no pages to draw on.")


def _rendered(pdf: Pdf, number: int) -> Image.Image:
    try:
        return render(pdf, number, dpi=DPI, max_pixels=MAX_PIXELS)[0]
    except PageError as error:
        raise DocumentError("corrupt", f"It can't be drawn: {error}.") from error


def _words(pdf: Pdf, number: int) -> list[Word]:
    try:
        return pdf.words(number)[:_MOST_WORDS]
    except PageError:
        return []  # the page is drawn all the same, without cells


def _draw(image: Image.Image, page: Page, body: CanonBody, words: list[Word]) -> None:
    across, down = image.width / max(1.0, page.width), image.height / max(1.0, page.height)
    pen = ImageDraw.Draw(image, "RGBA")
    font = ImageFont.load_default(max(11, round(image.width / 80)))

    def scaled(box: Box) -> Box:
        return box[0] * across, box[1] * down, box[2] * across, box[3] * down

    order = 0
    for block in body.blocks:
        if block.page != page.number:
            continue
        body_text = not (block.kind in FURNITURE or block.hidden)
        order += body_text
        if block.bbox is None:
            continue
        box = scaled(block.bbox)
        color = _color(block)
        if not body_text:
            pen.rectangle(box, fill=(*_GRAY, _DIM), outline=color)
            continue
        pen.rectangle(box, fill=(*color, _WASH))
        _outline(pen, box, color, broken=block.source is BlockSource.OCR)
        _tag(pen, box, str(order) + _level(block), color, font, image.width)
    for index, table in enumerate(body.tables):
        if page.number in table.pages:
            whole = next((b.bbox for b in body.blocks if b.table == index and b.page == page.number), None)
            for cell, header in _cells(table, whole, words):
                pen.rectangle(scaled(cell), outline=(*_COLORS[BlockKind.TABLE], 255 if header else 130))


def _level(block: Block) -> str:
    """Of a heading or a list item: how deep it stands."""
    return f" {'h' if block.kind is BlockKind.HEADING else 'L'}{block.level}" if block.level else ""


def _color(block: Block) -> tuple[int, int, int]:
    return _GRAY if block.kind in FURNITURE or block.hidden else _COLORS.get(block.kind, _GRAY)


def _outline(pen: ImageDraw.ImageDraw, box: Box, color: tuple[int, int, int], *, broken: bool) -> None:
    if not broken:
        pen.rectangle(box, outline=color, width=2)
        return
    x0, y0, x1, y1 = (round(value) for value in box)
    for x in range(x0, x1, 12):
        for y in (y0, y1):
            pen.line((x, y, min(x + 7, x1), y), fill=color, width=2)
    for y in range(y0, y1, 12):
        for x in (x0, x1):
            pen.line((x, y, x, min(y + 7, y1)), fill=color, width=2)


def _tag(
    pen: ImageDraw.ImageDraw,
    box: Box,
    text: str,
    color: tuple[int, int, int],
    font: ImageFont.FreeTypeFont | ImageFont.ImageFont,
    width: int,
) -> None:
    """The number, to the left of the box where there is room: it should not cover what it speaks of."""
    left, top, right, foot = pen.textbbox((0, 0), text, font=font)
    x = max(0.0, min(box[0] - (right - left) - 5, width - (right - left) - 4))
    y = max(0.0, box[1])
    pen.rectangle((x, y, x + right - left + 4, y + foot - top + 4), fill=(*color, 215))
    pen.text((x + 2 - left, y + 2 - top), text, fill=(255, 255, 255), font=font)


def _cells(table: Table, whole: Box | None, words: list[Word]) -> list[tuple[Box, bool]]:
    """Where the words of each cell stand, and whether it is a header. The canon has no boxes of cells.

    Cells are looked for in their order, each among the words that no other cell has; `whole` is the table's box, None
    on a page to which it goes on.
    """
    if whole is not None:
        x0, y0, x1, y1 = whole
        words = [
            word
            for word in words
            if x0 - 2 <= (word.box[0] + word.box[2]) / 2 <= x1 + 2
            and y0 - 2 <= (word.box[1] + word.box[3]) / 2 <= y1 + 2
        ]
    places: dict[str, list[int]] = {}
    for index, word in enumerate(words):
        places.setdefault(word.text, []).append(index)
    free = [True] * len(words)
    found: list[tuple[Box, bool]] = []
    for cell in table.cells:
        tokens = cell.text.split()
        for start in places.get(tokens[0], ()) if tokens else ():
            run = range(start, start + len(tokens))
            if run.stop <= len(words) and all(
                free[at] and words[at].text == token for at, token in zip(run, tokens, strict=True)
            ):
                x0, y0, x1, y1 = around(words[at].box for at in run)
                for at in run:
                    free[at] = False
                found.append(((x0 - 1, y0 - 1, x1 + 1, y1 + 1), cell.header))
                break
    return found


def _with_legend(image: Image.Image, page: Page, blocks: list[Block]) -> Image.Image:
    """The drawing above a strip that says which colour is what, and how sure the order is."""
    font = ImageFont.load_default(13)
    counts = Counter(block.kind for block in blocks)
    entries = [(kind, f"{kind.value} {count}") for kind, count in sorted(counts.items())]
    sure = "" if page.reading_order is None else f", reading order {page.reading_order:.2f}"
    rows: list[list[tuple[BlockKind | None, str]]] = [[(None, f"page {page.number}{sure}")]]
    room = image.width - 8
    used = 0.0
    measure = ImageDraw.Draw(image)
    for kind, text in entries:
        length = measure.textlength(text, font=font) + 30
        if used + length > room:
            rows.append([])
            used = 0.0
        rows[-1].append((kind, text))
        used += length
        if len(rows) == 1 and len(rows[0]) == 2:
            used += measure.textlength(rows[0][0][1], font=font) + 20
    whole = Image.new("RGB", (image.width, image.height + _LEGEND_LINE * len(rows) + 4), (255, 255, 255))
    whole.paste(image, (0, 0))
    pen = ImageDraw.Draw(whole)
    for index, row in enumerate(rows):
        x, y = 6.0, image.height + 4 + index * _LEGEND_LINE
        for kind_of, text in row:
            if kind_of is not None:
                color = _GRAY if kind_of in FURNITURE else _COLORS.get(kind_of, _GRAY)
                pen.rectangle((x, y + 2, x + 12, y + 14), fill=color)
                x += 17
            pen.text((x, y), text, fill=(0, 0, 0), font=font)
            x += pen.textlength(text, font=font) + 14
    return whole
