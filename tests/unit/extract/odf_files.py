"""Makes small OpenDocument files, packed or flat, so that a test shows what is special about its file."""

from __future__ import annotations

import zipfile
from pathlib import Path

from streams.extract import odp, odt
from streams.extract.outcome import Draft, Request
from streams.records import Detection

TEXT = "application/vnd.oasis.opendocument.text"
PRESENTATION = "application/vnd.oasis.opendocument.presentation"
_URN = "urn:oasis:names:tc:opendocument:xmlns:"
NAMESPACES = " ".join(
    [
        *(
            f'xmlns:{name}="{_URN}{name}:1.0"'
            for name in ("office", "style", "text", "table", "presentation", "meta", "chart", "form")
        ),
        f'xmlns:draw="{_URN}drawing:1.0" xmlns:fo="{_URN}xsl-fo-compatible:1.0" xmlns:svg="{_URN}svg-compatible:1.0"',
        'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:xlink="http://www.w3.org/1999/xlink"',
        'xmlns:math="http://www.w3.org/1998/Math/MathML"',
    ]
)
BULLETS = (
    '<text:list-style style:name="B"><text:list-level-style-bullet text:level="1" text:bullet-char="•"/>'
    "</text:list-style>"
)
NUMBERS = (
    '<text:list-style style:name="N">'
    '<text:list-level-style-number text:level="1" style:num-format="1" style:num-suffix="."/>'
    '<text:list-level-style-number text:level="2" style:num-format="1" style:num-suffix="." text:display-levels="2"/>'
    '<text:list-level-style-number text:level="3" style:num-format="a" style:num-suffix=")" text:start-value="3"/>'
    "</text:list-style>"
)


def style(name: str, inside: str = "", family: str = "paragraph", more: str = "") -> str:
    """A style."""
    return f'<style:style style:name="{name}" style:family="{family}" {more}>{inside}</style:style>'


def p(content: str, style_name: str = "") -> str:
    """A paragraph."""
    named = f' text:style-name="{style_name}"' if style_name else ""
    return f"<text:p{named}>{content}</text:p>"


def h(content: str, level: int = 1, more: str = "") -> str:
    """A heading."""
    return f'<text:h text:outline-level="{level}" {more}>{content}</text:h>'


def items(*contents: str, more: str = "") -> str:
    """A list; what is no markup becomes a paragraph."""
    inside = "".join(f"<text:list-item>{one if one.startswith('<') else p(one)}</text:list-item>" for one in contents)
    return f"<text:list {more}>{inside}</text:list>"


def cell(content: str, more: str = "") -> str:
    """A cell of a table."""
    inside = content if content.startswith("<") or not content else p(content)
    return f"<table:table-cell {more}>{inside}</table:table-cell>"


def row(*cells: str, more: str = "") -> str:
    """A row; what is no markup becomes a cell."""
    inside = "".join(one if one.startswith("<") else cell(one) for one in cells)
    return f"<table:table-row {more}>{inside}</table:table-row>"


def table(*rows: str, more: str = "") -> str:
    """A table."""
    return f"<table:table {more}>{''.join(rows)}</table:table>"


def content(kind: str, body: str, automatic: str = "") -> str:
    """The content part."""
    return (
        f"<office:document-content {NAMESPACES}><office:automatic-styles>{automatic}</office:automatic-styles>"
        f"<office:body><office:{kind}>{body}</office:{kind}></office:body></office:document-content>"
    )


def make(
    path: Path,
    body: str,
    *,
    kind: str = "text",
    automatic: str = "",
    styles: str = "",
    masters: str = "",
    page_layouts: str = "",
    meta: str = "",
    parts: dict[str, str | bytes] | None = None,
) -> Path:
    """Writes a packed file."""
    files: dict[str, str | bytes] = {
        "mimetype": f"application/vnd.oasis.opendocument.{kind}",
        "content.xml": content(kind, body, automatic),
        "styles.xml": (
            f"<office:document-styles {NAMESPACES}><office:styles>{styles}</office:styles>"
            f"<office:automatic-styles>{page_layouts}</office:automatic-styles>"
            f"<office:master-styles>{masters}</office:master-styles></office:document-styles>"
        ),
        "meta.xml": f"<office:document-meta {NAMESPACES}><office:meta>{meta}</office:meta></office:document-meta>",
    }
    files.update(parts or {})
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return path


def flat(path: Path, body: str, *, kind: str = "text", automatic: str = "", styles: str = "", meta: str = "") -> Path:
    """Writes a flat file."""
    path.write_text(
        f'<?xml version="1.0"?><office:document {NAMESPACES}><office:meta>{meta}</office:meta>'
        f"<office:styles>{styles}</office:styles><office:automatic-styles>{automatic}</office:automatic-styles>"
        f"<office:body><office:{kind}>{body}</office:{kind}></office:body></office:document>",
        encoding="utf-8",
    )
    return path


def read(path: Path, media_type: str = TEXT, max_pages: int = 10_000) -> Draft:
    """Extracts a file as the pipeline does."""
    detection = Detection(media_type=media_type, detected_by="test")
    request = Request(path=path, detection=detection, max_pages=max_pages)
    return odt.extract(request) if media_type == TEXT else odp.extract(request)


def texts(draft: Draft) -> list[str]:
    """Texts of the blocks, in order."""
    return [block.text for block in draft.blocks]
