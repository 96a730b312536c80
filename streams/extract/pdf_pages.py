"""The pages of a PDF, one after the other: their lines, ruled tables, figures, fields and notes."""

from __future__ import annotations

import re
from collections import Counter

import msgspec

from streams.extract import pdf_figures, pdf_info, pdf_layout, pdf_tables
from streams.extract.boxes import Box
from streams.extract.pdf_bullets import mark_bullets
from streams.extract.pdf_grid import PageTable
from streams.extract.pdf_line_numbers import line_numbers
from streams.extract.pdf_lines import PageLines, page_lines
from streams.extract.pdf_links import PlacedLink, placed_links
from streams.extract.pdf_loose_figures import find_loose_figures
from streams.extract.pdf_panels import drawn_panels
from streams.extract.pdf_pictures import Pictures
from streams.extract.pdf_stand_ins import replace
from streams.extract.pdf_text_layer import TextLayers
from streams.extract.progress import tell
from streams.extract.tools.mupdf import PageError, PageRead, Pdf, Word
from streams.extract.tools.mupdf_marks import Marks
from streams.extract.tools.mupdf_structure import Tag
from streams.records import TEXT_IN_PICTURES

_COMPOUND = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)+")


class Work(msgspec.Struct, kw_only=True):
    """A document on its way: what each of its pages holds."""

    pages: list[PageLines] = []
    tables: list[list[PageTable]] = []  # by page
    figures: list[list[str]] = []
    panels: list[list[Box]] = []  # frames drawn around text, in the main frame
    loose: list[list[Box]] = []  # figures without a caption, in the main frame
    marks: list[Marks] = []
    links: list[list[PlacedLink]] = []
    rotations: list[int] = []
    readers: list[str] = []  # the library that read each page, where it is not the first one
    unreadable: list[bool] = []
    picture_text: list[bool] = []  # a picture on the page seems to hold text
    tags: list[list[Tag]] = []
    orders: list[float | None] = []  # how sure the reading order of each page is
    attachments: int = 0
    warnings: list[str] = []
    dropped: Counter[str] = msgspec.field(default_factory=Counter)
    compounds: set[str] = msgspec.field(default_factory=set)

    def warn(self, code: str) -> None:
        if code not in self.warnings:
            self.warnings.append(code)


def read_pages(pdf: Pdf, reader: str | None = None) -> Work:
    """All pages of an open PDF. A page that fails is empty, with the warning `page_failed`.

    Args:
        reader: the library of `pdf_text_layer.READERS` that a decision has named for the text.
    """
    work = Work()
    layers = TextLayers(pdf, pdf_info.parse_language(pdf.language()), reader)
    pictures = Pictures(pdf)
    for number in range(1, pdf.page_count + 1):
        tell(number - 1, pdf.page_count)
        try:
            page = pdf.read(number)
        except PageError:
            work.warn("page_failed")
            page = PageRead(
                width=0, height=0, rotation=0, lines=[], vectors=[], images=[], shades=[], clipped=0, marks=Marks(),
            )  # fmt: skip
        page, lines, read_by, unreadable = layers.check(page, page_lines(page, number))
        if read_by:
            work.warn("text_layer_replaced")
        if unreadable:
            work.warn("text_layer_unreadable")
        if lines.watermarks:
            pdf.replace_words(number, _without_watermarks(pdf.words(number), lines.watermarks))
        _drop_line_numbers(lines)
        tables = pdf_tables.page_tables(pdf, page, lines, work.warn, unreadable=unreadable)
        figures = _figures(page, lines)
        for frame, group in lines.groups[:1]:
            drawn = page.images + [vector.box for vector in page.vectors if not vector.stroked]
            mark_bullets(group, [frame.inside(box) for box in drawn])
        work.panels.append([] if lines.ocr or not lines.groups else drawn_panels(page, *lines.groups[0]))
        work.loose.append([] if lines.ocr or not lines.groups else find_loose_figures(page, *lines.groups[0]))
        for _, group in lines.groups:
            for line in group:
                if "-" in line.text:
                    work.compounds.update(word.casefold() for word in _COMPOUND.findall(line.text))
        if lines.ocr:
            work.warn("ocr_layer")
        if page.covered:
            work.warn("covered_text")
        work.dropped.update(lines.dropped)
        work.pages.append(lines)
        work.tables.append(tables)
        work.figures.append(figures)
        work.marks.append(page.marks)
        work.links.append(placed_links(pdf, number, page.marks.links))
        work.rotations.append(page.rotation)
        work.readers.append(read_by)
        work.unreadable.append(unreadable)
        work.picture_text.append(not unreadable and pictures.hold_text(page, lines))
        if work.picture_text[-1]:
            work.warn(TEXT_IN_PICTURES)
        work.attachments += page.marks.attachments
        work.dropped["hidden_annotation"] += page.marks.hidden
        work.dropped["annotation_beyond_limit"] += page.marks.more
    return work


def _drop_line_numbers(lines: PageLines) -> None:
    for _, group in lines.groups[:1]:
        numbers = line_numbers(group)
        if numbers:
            lines.dropped["line_number"] += len(numbers)
            group[:] = [line for line in group if id(line) not in numbers]


def _without_watermarks(words: list[Word], marks: list[tuple[str, Box]]) -> list[Word]:
    def is_part(word: Word, text: str, box: Box) -> bool:
        x, y = (word.box[0] + word.box[2]) / 2, (word.box[1] + word.box[3]) / 2
        return word.text in text.split() and box[0] <= x <= box[2] and box[1] <= y <= box[3]

    return [word for word in words if not any(is_part(word, text, box) for text, box in marks)]


def _figures(page: PageRead, lines: PageLines) -> list[str]:
    """Labels of each captioned figure of a page; a line that stands for it takes their place."""
    if not lines.groups:
        return []
    frame, group = lines.groups[0]
    texts: list[str] = []
    for box, labels in pdf_figures.find_figures(page, frame, list(group)):
        rows = pdf_layout.rows(labels)
        replace(lines, box, labels, figure=len(texts))
        texts.append("\n".join(row.text for row in rows))
    return texts
