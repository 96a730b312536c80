"""Writes one small Markdown as text, HTML, DOCX or PDF; the same input gives the same bytes, always."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from html import escape
from typing import Any

import pymupdf

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"
TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml"
_MARKS = re.compile(r"\{\+(.*?)\+\}|\{-(.*?)-\}|\{\^(.*?)\^\}")  # inserted, deleted, footnote


@dataclass
class Part:
    """One block of a text."""

    kind: str  # title, heading, paragraph, bullet, number, table
    text: str = ""
    rows: list[list[str]] = field(default_factory=list)


def parse(source: str) -> list[Part]:
    """Reads the small Markdown of `demo.texts`."""
    parts: list[Part] = []
    for line in source.strip().split("\n"):
        if line.startswith("|"):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if parts and parts[-1].kind == "table":
                parts[-1].rows.append(cells)
            else:
                parts.append(Part("table", rows=[cells]))
            if set("".join(cells)) == {"-"}:
                parts[-1].rows.pop()
        elif line.startswith("# "):
            parts.append(Part("title", line[2:]))
        elif line.startswith("## "):
            parts.append(Part("heading", line[3:]))
        elif line.startswith("- "):
            parts.append(Part("bullet", line[2:]))
        elif re.match(r"\d+\. ", line):
            parts.append(Part("number", line.split(" ", 1)[1]))
        elif line.strip():
            parts.append(Part("paragraph", line))
    return parts


def plain(source: str) -> str:
    """As a plain text file: no markup, blank lines between paragraphs."""
    out: list[str] = []
    for part in parse(source):
        if part.kind == "table":
            out.append("\n".join("\t".join(row) for row in part.rows))
        elif part.kind in ("title", "heading"):
            out.append(part.text + "\n" + ("=" if part.kind == "title" else "-") * min(len(part.text), 60))
        else:
            out.append(("- " if part.kind in ("bullet", "number") else "") + part.text)
    return "\n\n".join(out) + "\n"


def markdown(source: str) -> str:
    """As a Markdown file: CommonMark wants blank lines, and tables their rule."""
    out: list[str] = []
    for part in parse(source):
        if part.kind == "table":
            rows = ["| " + " | ".join(row) + " |" for row in part.rows]
            rows.insert(1, "|" + "---|" * len(part.rows[0]))
            out.append("\n".join(rows))
        else:
            sign = {"title": "# ", "heading": "## ", "bullet": "- ", "number": "1. "}.get(part.kind, "")
            out.append(sign + part.text)
    return "\n\n".join(out) + "\n"


def html(source: str, language: str, charset: str = "utf-8", navigation: bool = False) -> bytes:
    """As a web page in `charset`, with the navigation around it that pages have."""
    parts = parse(source)
    body = "\n".join(_html_part(part) for part in parts)
    body = re.sub(r"(?:<li>.*</li>\n?)+", lambda match: f"<ul>{match[0]}</ul>\n", body)
    title = next((part.text for part in parts if part.kind == "title"), "")
    if navigation:
        body = (
            '<nav><a href="/">Home</a> <a href="/products">Products</a> <a href="/press">Press</a></nav>\n'
            f"<main><article>\n{body}\n</article></main>\n"
            '<script>var tracked = "never shown";</script>\n'
            '<footer>Norrvik Instruments Ltd, East Quay, Whitby. <a href="/imprint">Imprint</a></footer>'
        )
    head = f'<meta charset="{charset}"><title>{escape(title)}</title>'
    page = f'<!DOCTYPE html>\n<html lang="{language}">\n<head>{head}</head>\n<body>\n{body}\n</body>\n</html>\n'
    return page.encode(charset, "xmlcharrefreplace")


def _html_part(part: Part) -> str:
    if part.kind == "table":
        rows = [
            "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in row) + "</tr>"
            for tag, row in zip(["th"] + ["td"] * len(part.rows), part.rows, strict=False)
        ]
        return f"<table>{''.join(rows)}</table>"
    tag = {"title": "h1", "heading": "h2", "bullet": "li", "number": "li"}.get(part.kind, "p")
    return f"<{tag}>{escape(part.text)}</{tag}>"


def packed(members: dict[str, bytes | str]) -> bytes:
    """A ZIP file whose bytes don't depend on the day."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = 0o644 << 16
            archive.writestr(info, content)
    return buffer.getvalue()


# --- DOCX ---------------------------------------------------------------------------------------------------


def docx(source: str, author: str, created: str = "2024-02-01T09:00:00Z") -> bytes:
    """As a Word document: styles, lists, tables; `{+ins+}`, `{-del-}` and `{^note^}` become revisions and footnotes."""
    notes: list[str] = []
    parts = parse(source)
    body = "".join(_docx_part(part, notes) for part in parts)
    title = next((part.text for part in parts if part.kind == "title"), "")
    return packed(_docx_members(title, author, created, body, notes))


def _docx_members(title: str, author: str, created: str, body: str, notes: list[str]) -> dict[str, bytes | str]:
    head = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
    links = {
        "styles": "styles.xml",
        "numbering": "numbering.xml",
        "footnotes": "footnotes.xml",
        "header": "header1.xml",
    }
    overrides = {f"/word/{target}": f"{TYPE}.{kind}+xml" for kind, target in links.items()}
    overrides["/word/document.xml"] = f"{TYPE}.document.main+xml"
    overrides["/docProps/core.xml"] = "application/vnd.openxmlformats-package.core-properties+xml"
    footnotes = "".join(
        f'<w:footnote w:id="{at}"><w:p><w:r><w:footnoteRef/></w:r>{_run(" " + text)}</w:p></w:footnote>'
        for at, text in enumerate(notes, start=1)
    )
    styles = "".join(
        f'<w:style w:type="paragraph" w:styleId="{key}"><w:name w:val="{name}"/></w:style>'
        for key, name in (("Title", "Title"), ("Heading1", "heading 1"), ("ListParagraph", "List Paragraph"))
    )
    levels = "".join(
        f'<w:abstractNum w:abstractNumId="{at}"><w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="{kind}"/>'
        f'<w:lvlText w:val="{text}"/></w:lvl></w:abstractNum>'
        for at, kind, text in ((1, "bullet", "•"), (2, "decimal", "%1."))
    )
    nums = "".join(f'<w:num w:numId="{at}"><w:abstractNumId w:val="{at}"/></w:num>' for at in (1, 2))
    section = (
        '<w:sectPr><w:headerReference w:type="default" r:id="header"/><w:pgSz w:w="11906" w:h="16838"/></w:sectPr>'
    )
    core = "http://schemas.openxmlformats.org/package/2006/metadata/core-properties"
    return {
        "[Content_Types].xml": head
        + '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        + '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        + "".join(f'<Override PartName="{name}" ContentType="{kind}"/>' for name, kind in overrides.items())
        + "</Types>",
        "_rels/.rels": head
        + f'<Relationships xmlns="{PACKAGE}"><Relationship Id="r1" Type="{OFFICE}/officeDocument" '
        + f'Target="word/document.xml"/><Relationship Id="r2" Type="{PACKAGE}/metadata/core-properties" '
        + 'Target="docProps/core.xml"/></Relationships>',
        "word/_rels/document.xml.rels": head
        + f'<Relationships xmlns="{PACKAGE}">'
        + "".join(f'<Relationship Id="{k}" Type="{OFFICE}/{k}" Target="{target}"/>' for k, target in links.items())
        + "</Relationships>",
        "word/document.xml": head
        + f'<w:document xmlns:w="{WORD}" xmlns:r="{OFFICE}"><w:body>{body}{section}</w:body></w:document>',
        "word/styles.xml": f'{head}<w:styles xmlns:w="{WORD}">{styles}</w:styles>',
        "word/numbering.xml": f'{head}<w:numbering xmlns:w="{WORD}">{levels}{nums}</w:numbering>',
        "word/footnotes.xml": f'{head}<w:footnotes xmlns:w="{WORD}">{footnotes}</w:footnotes>',
        "word/header1.xml": f'{head}<w:hdr xmlns:w="{WORD}"><w:p>{_run("Norrvik Instruments, internal")}</w:p></w:hdr>',
        "docProps/core.xml": head
        + f'<cp:coreProperties xmlns:cp="{core}" xmlns:dc="http://purl.org/dc/elements/1.1/" '
        + 'xmlns:dcterms="http://purl.org/dc/terms/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">'
        + f"<dc:title>{escape(title)}</dc:title><dc:creator>{escape(author)}</dc:creator>"
        + f'<dcterms:created xsi:type="dcterms:W3CDTF">{created}</dcterms:created></cp:coreProperties>',
    }


def _run(text: str) -> str:
    return f'<w:r><w:t xml:space="preserve">{escape(text)}</w:t></w:r>' if text else ""


def _docx_text(text: str, notes: list[str]) -> str:
    out, at = [], 0
    who = 'w:author="Ada Lindqvist" w:date="2024-05-02T10:00:00Z"'
    for match in _MARKS.finditer(text):
        out.append(_run(text[at : match.start()]))
        inserted, deleted, note = match.groups()
        if inserted:
            out.append(f'<w:ins w:id="{match.start() + 1}" {who}>{_run(inserted)}</w:ins>')
        elif deleted:
            gone = _run(deleted).replace("w:t", "w:delText")
            out.append(f'<w:del w:id="{match.start() + 1}" {who}>{gone}</w:del>')
        else:
            notes.append(note)
            out.append(f'<w:r><w:footnoteReference w:id="{len(notes)}"/></w:r>')
        at = match.end()
    return "".join([*out, _run(text[at:])])


def _docx_part(part: Part, notes: list[str]) -> str:
    if part.kind == "table":
        rows = ""
        for at, row in enumerate(part.rows):
            cells = "".join(f"<w:tc><w:tcPr/><w:p>{_docx_text(cell, notes)}</w:p></w:tc>" for cell in row)
            rows += f"<w:tr>{'<w:trPr><w:tblHeader/></w:trPr>' if at == 0 else ''}{cells}</w:tr>"
        return f"<w:tbl><w:tblPr/>{rows}</w:tbl>"
    properties = {
        "title": '<w:pStyle w:val="Title"/>',
        "heading": '<w:pStyle w:val="Heading1"/>',
        "bullet": '<w:pStyle w:val="ListParagraph"/><w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr>',
        "number": '<w:pStyle w:val="ListParagraph"/><w:numPr><w:ilvl w:val="0"/><w:numId w:val="2"/></w:numPr>',
    }.get(part.kind, "")
    return f"<w:p>{f'<w:pPr>{properties}</w:pPr>' if properties else ''}{_docx_text(part.text, notes)}</w:p>"


# --- PDF ---------------------------------------------------------------------------------------------------

_WIDTH, _HEIGHT, _MARGIN, _GUTTER = 595.0, 842.0, 56.0, 24.0  # points: A4
_STYLES = {"title": ("hebo", 18.0), "heading": ("hebo", 12.0)}


@dataclass
class _Line:
    text: str
    font: str
    size: float
    before: float = 0.0
    cells: list[str] | None = None
    full_width: bool = False


def pdf(source: str, columns: int = 1) -> bytes:
    """As a PDF with a text layer, running head and page numbers; Latin-1 only."""
    document: Any = pymupdf.open()
    width = (_WIDTH - 2 * _MARGIN - (columns - 1) * _GUTTER) / columns
    title = next((part.text for part in parse(source) if part.kind == "title"), "")
    shape: Any = None  # of the page at hand: what is drawn one by one makes the page be written anew each time
    lines = list(_pdf_lines(source, width))
    total = sum(line.before + line.size * 1.35 for line in lines if not line.full_width)
    bottom = min(_HEIGHT - _MARGIN, _MARGIN + 70 + total / columns)  # columns of a short text end at one height
    column, y, top = columns, _HEIGHT, _MARGIN + 20
    for line in lines:
        height = line.size * 1.35
        if y + line.before + height > bottom:
            column, y = column + 1, top
            if column >= columns:
                if shape is not None:
                    shape.commit()
                shape = document.new_page(width=_WIDTH, height=_HEIGHT).new_shape()
                column, y, top = 0, _MARGIN + 20, _MARGIN + 20
        x = _MARGIN + column * (width + _GUTTER)
        y += line.before + height
        if line.cells is None:
            shape.insert_text((x, y), line.text, fontname=line.font, fontsize=line.size)
        else:
            _pdf_row(shape, x, y, width, line)
        if line.full_width:
            top = y + 6
    if shape is not None:
        shape.commit()
    for number, page in enumerate(document, start=1):
        page.insert_text((_MARGIN, _MARGIN), f"Norrvik Instruments - {title}", fontname="helv", fontsize=8)
        page.insert_text((_WIDTH / 2, _HEIGHT - 28), str(number), fontname="helv", fontsize=8)
    document.set_metadata({"title": title, "author": "Norrvik Instruments", "creationDate": "D:20240201090000Z"})
    return _pdf_bytes(document)


def pdf_of_pictures(source: str) -> bytes:
    """The same pages as pictures: a scan without a text layer."""
    document: Any = pymupdf.open()
    with pymupdf.open(stream=pdf(source), filetype="pdf") as original:
        for page in original:
            picture = page.get_pixmap(dpi=150, colorspace=pymupdf.csGRAY)
            document.new_page(width=_WIDTH, height=_HEIGHT).insert_image((0, 0, _WIDTH, _HEIGHT), pixmap=picture)
    return _pdf_bytes(document)


def png(source: str) -> bytes:
    """The first page as a picture."""
    with pymupdf.open(stream=pdf(source), filetype="pdf") as document:
        data: bytes = document[0].get_pixmap(dpi=100, colorspace=pymupdf.csGRAY).tobytes("png")
        return data


def _pdf_bytes(document: Any) -> bytes:
    data: bytes = document.tobytes(garbage=3, deflate=True, no_new_id=True)
    document.close()
    return data


def _pdf_lines(source: str, width: float) -> Iterator[_Line]:
    for part in parse(source):
        if part.kind == "table":
            for at, row in enumerate(part.rows):
                yield _Line("", "hebo" if at == 0 else "helv", 9.0, 2.0, cells=row)
            yield _Line("", "helv", 4.0)
            continue
        font, size = _STYLES.get(part.kind, ("helv", 10.0))
        available = _WIDTH - 2 * _MARGIN if part.kind == "title" else width
        lead = {"bullet": "- ", "number": "- "}.get(part.kind, "")
        before = 8.0 if part.kind == "heading" else 4.0

        def fits(text: str, font: str = font, size: float = size, available: float = available) -> bool:
            blanks = (len(text.split()) - 1) * _width(font, " ")
            return (sum(_width(font, word) for word in text.split()) + blanks) * size <= available

        for text in wrapped(lead + part.text, fits):
            yield _Line(text, font, size, before, full_width=part.kind == "title")
            before = 0.0


@cache
def _width(font: str, text: str) -> float:
    """At a size of 1."""
    measured: float = _font(font).text_length(text, fontsize=1.0)
    return measured


@cache
def _font(name: str) -> Any:
    return pymupdf.Font(name)


def wrapped(text: str, fits: Callable[[str], bool]) -> Iterator[str]:
    """Breaks a text into lines at its blanks."""
    line = ""
    for word in text.split():
        longer = f"{line} {word}" if line else word
        if line and not fits(longer):
            yield line
            line = word
        else:
            line = longer
    if line:
        yield line


def _pdf_row(shape: Any, x: float, y: float, width: float, line: _Line) -> None:
    cells = line.cells or []
    step = width / len(cells)
    for at, cell in enumerate(cells):
        shape.draw_rect(pymupdf.Rect(x + at * step, y - line.size * 1.2, x + (at + 1) * step, y + line.size * 0.35))
        shape.finish(width=0.5)
        shape.insert_text((x + at * step + 3, y), cell, fontname=line.font, fontsize=line.size)
