"""PDF with a text layer: pages read, furniture found, blocks built from geometry.

read pages -> ruled tables -> furniture -> reading order -> kinds -> joined over breaks -> bound -> draft
"""

from __future__ import annotations

import msgspec

from streams.errors import DocumentError
from streams.extract import (
    pdf_blocks,
    pdf_furniture,
    pdf_info,
    pdf_layout,
    pdf_links,
    pdf_loose_figures,
    pdf_order,
    pdf_structure,
    pdf_tables,
)
from streams.extract.outcome import Draft, Request
from streams.extract.pdf_blocks import Item
from streams.extract.pdf_lines import Frame, PageLines
from streams.extract.pdf_pages import Work, read_pages
from streams.extract.pdf_text_layer import TOOLS
from streams.extract.pdf_xmp import parse_xmp_date, read_xmp
from streams.extract.tools.mupdf import VERSION, open_pdf
from streams.extract.tools.mupdf_marks import Marks
from streams.extract.tools.mupdf_xmp import xmp_packet
from streams.records import Block, BlockKind, BlockSource, Dropped, Method, Page, Table

__all__ = ["VERSION", "extract"]


def extract(request: Request) -> Draft:
    """The draft of the PDF at `request.path`; see `_extract`."""
    return _extract(request, None)


def extract_with_pdfium(request: Request) -> Draft:
    """The same with the text of each page as PDFium reads it: for decisions that name this tool."""
    return _extract(request, TOOLS["pdf_pdfium"])


def extract_with_pdfminer(request: Request) -> Draft:
    """The same with the text of each page as pdfminer.six reads it, some ten pages a second."""
    return _extract(request, TOOLS["pdf_pdfminer"])


def _extract(request: Request, reader: str | None) -> Draft:
    """The draft of a PDF, its text read by `reader` (of `pdf_text_layer.READERS`), or by the best one for each page.

    Raises:
        DocumentError: `encrypted`, `truncated`, `corrupt`, or `too_large` for more than `request.max_pages` pages.
    """
    draft = _draft(request, reader)
    if draft.blocks or any(page.image_area for page in draft.pages):
        return draft
    try:  # where MuPDF sees blank pages only, qpdf may find others
        again = _draft(request, reader, anew=True)
    except DocumentError:
        return draft
    return again if again.blocks else draft


def _draft(request: Request, reader: str | None, *, anew: bool = False) -> Draft:
    with open_pdf(request.path, anew=anew) as pdf:
        if pdf.page_count > request.max_pages:
            raise DocumentError("too_large", f"It has {pdf.page_count} pages; the limit is {request.max_pages}.")
        work = read_pages(pdf, reader)
        work.tags = pdf_structure.read_tags(pdf, work.pages)
        outline = pdf_blocks.Outline(pdf.outline())
        information = pdf.metadata()
        xmp = read_xmp(xmp_packet(pdf))
        language = pdf_info.parse_language(pdf.language()) or pdf_info.parse_language(xmp.language)
        work.attachments += pdf.embedded_files()
        if pdf.repaired or pdf.anew:
            work.warn("repaired_by_pikepdf" if pdf.anew else "repaired")
            if pdf.cut_off:
                work.warn("truncated")
        if pdf.has_xfa():
            work.warn("xfa_form")
        page_count = pdf.page_count
    if work.attachments:
        work.dropped["attachment"] += work.attachments
    furniture = pdf_furniture.find_furniture(work.pages)
    pdf_structure.add_artifacts(work.pages, work.tags, furniture)
    tables, first_parts = pdf_tables.document_tables(work.pages, work.tables, furniture)
    items = _items(work, furniture, outline, first_parts)
    refs = pdf_blocks.bind(items)
    for caption, owner in refs.items():
        number = items[owner].table
        if items[caption].kind is BlockKind.CAPTION and number is not None and tables[number].caption is None:
            label, text = pdf_blocks.caption_parts(items[caption].text)
            tables[number] = msgspec.structs.replace(tables[number], number=label, caption=text)
    blocks, unplaced = pdf_links.with_links([_block(item, work, tables) for item in items], work.links)
    work.dropped["link_without_text"] += unplaced
    title, elsewhere = pdf_info.choose_title(
        pdf_info.parse_title(information.get("title", "")) or pdf_info.parse_title(xmp.title),
        next((item.text for item in items if item.kind is BlockKind.TITLE), None),
        " ".join(item.text for item in items if item.page <= 2),
    )
    if elsewhere:
        work.warn("title_not_on_page")
    recognised = [page.ocr and not unread for page, unread in zip(work.pages, work.unreadable, strict=True)]
    scans = sum(recognised)
    texts = sum(bool(page.groups) and not ocr for page, ocr in zip(work.pages, recognised, strict=True))
    return Draft(
        blocks=blocks,
        tables=tables,
        pages=[_page(work, index) for index in range(len(work.pages))],
        page_count=page_count,
        method=Method.NATIVE if not scans else Method.MIXED if texts else Method.OCR,
        title=title,
        authors=pdf_info.parse_authors(information.get("author", "")) or xmp.authors,
        created=_date(information.get("creationDate"), xmp.created, work),
        modified=_date(information.get("modDate"), xmp.modified, work),
        language=language,
        warnings=sorted(work.warnings),
        dropped=[Dropped(what=what, count=count) for what, count in sorted(work.dropped.items()) if count],
        metadata={
            key: value
            for key, value in information.items()
            if key in ("producer", "creator", "subject", "keywords", "format")
        },
        refs=refs,
    )


# --- blocks ----------------------------------------------------------------------------------------------------------


def _items(
    work: Work,
    furniture: list[dict[int, BlockKind]],
    outline: pdf_blocks.Outline,
    first_parts: dict[tuple[int, int], int],
) -> list[Item]:
    """Blocks of the whole document, in reading order."""
    laid: list[list[list[pdf_layout.Paragraph]]] = []
    for index, page in enumerate(work.pages):
        laid.append(
            [
                pdf_layout.paragraphs(
                    [line for line in lines if id(line) not in furniture[index]],
                    work.panels[index] if number == 0 else (),
                )
                for number, (_, lines) in enumerate(page.groups)
            ]
        )
    style = pdf_blocks.body_style([paragraph for page in laid for group in page for paragraph in group])
    items: list[Item] = []
    told: set[str] = set()
    loose = pdf_loose_figures.without_letterheads(work.loose)
    for index, page in enumerate(work.pages):
        items += _watermarks(page, told, work)
        heads = _furniture_items(page, furniture[index])
        items += [item for item in heads if item.kind is BlockKind.PAGE_HEADER]
        for number, (frame, _) in enumerate(page.groups):
            made = pdf_blocks.make_items(
                page.number, number, frame.size[1], laid[index][number], style, outline, work.compounds.__contains__
            )
            if number == 0 and loose[index]:
                made = pdf_loose_figures.place_figures(made, loose[index], page.number)
            for item in made:
                if item.table is None:
                    if item.figure is not None:
                        item.text = work.figures[index][item.figure]
                    items.append(item)
                elif (index, item.table) in first_parts:
                    item.table = first_parts[index, item.table]
                    items.append(item)
        items += _page_extras(page.number, work.marks[index])
        items += [item for item in heads if item.kind is not BlockKind.PAGE_HEADER]
    said = pdf_structure.Said(items, work.pages, work.tags)
    if said.present and not said.believed:
        work.warn("tags_ignored")
    said.apply(items, style.size)
    work.orders = [
        pdf_order.order_score(laid[index][0], page.groups, said.agreement.get(page.number)) if page.groups else None
        for index, page in enumerate(work.pages)
    ]
    items = pdf_blocks.join_over_breaks(items, style, work.compounds.__contains__)
    pdf_blocks.find_title(items, style)
    pdf_blocks.set_levels(items, outline)
    pdf_blocks.set_list_levels(items)
    return items


def _watermarks(page: PageLines, told: set[str], work: Work) -> list[Item]:
    """The watermarks of a page, each on the first page that has it; the others are counted."""
    found: list[Item] = []
    for text, box in page.watermarks:
        if text in told:
            work.dropped["repeated_watermark"] += 1
            continue
        told.add(text)
        found.append(Item(kind=BlockKind.BOILERPLATE, text=text, page=page.number, box=box, frame=-1))
    return found


def _furniture_items(page: PageLines, kinds: dict[int, BlockKind]) -> list[Item]:
    lines = [line for _, group in page.groups[:1] for line in group if id(line) in kinds]
    lines.sort(key=lambda line: (round(line.base), line.u0))
    return [Item(kind=kinds[id(line)], text=line.text, page=page.number, box=line.box) for line in lines]


def _page_extras(number: int, marks: Marks) -> list[Item]:
    """Form fields and annotations: their boxes are as displayed already (`frame` -1)."""
    items = [
        Item(
            kind=BlockKind.FORM_FIELD,
            text=f"{field.name}: {field.value}" if field.name else field.value,
            page=number,
            box=field.box,
            frame=-1,
        )
        for field in marks.fields
    ]
    for note in marks.notes:
        # typed upon the page: its reader sees it there, so it is text and no comment
        kind = BlockKind.PARAGRAPH if note.kind == "FreeText" else BlockKind.COMMENT
        items.append(Item(kind=kind, text=note.text, page=number, box=note.box, frame=-1))
    return items


def _block(item: Item, work: Work, tables: list[Table]) -> Block:
    page = work.pages[item.page - 1]
    box = item.box
    if box is not None and item.frame >= 0:
        frame: Frame = page.groups[item.frame][0]
        box = frame.shown(box)
    return Block(
        kind=item.kind,
        text=pdf_tables.table_text(tables[item.table]) if item.table is not None else item.text,
        level=item.level,
        marker=item.marker,
        page=item.page,
        bbox=None if box is None else (round(box[0], 1), round(box[1], 1), round(box[2], 1), round(box[3], 1)),
        source=BlockSource.OCR if page.ocr and item.frame >= 0 else BlockSource.TEXT_LAYER,
        table=item.table,
    )


def _page(work: Work, index: int) -> Page:
    page = work.pages[index]
    source = BlockSource.UNKNOWN
    if page.characters:
        # an old recognition that can't be read is done again, so its page does not count as recognised
        source = BlockSource.OCR if page.ocr and not work.unreadable[index] else BlockSource.TEXT_LAYER
    return Page(
        number=page.number,
        width=round(page.width, 2),
        height=round(page.height, 2),
        rotation=work.rotations[index],
        characters=page.characters,
        source=source,
        image_area=page.image_area,
        reader=work.readers[index],
        unreadable=work.unreadable[index],
        picture_text=work.picture_text[index],
        reading_order=work.orders[index],
    )


def _date(text: str | None, xmp: str, work: Work) -> str | None:
    """The date of the information, else that of the XMP packet; null, and said, where what is told is no date."""
    date = (pdf_info.parse_date(text) if text else None) or (parse_xmp_date(xmp) if xmp else None)
    if date is None and (text or xmp):
        work.warn("bad_date")
    return date
