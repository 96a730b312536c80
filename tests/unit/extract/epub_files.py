"""Small books made by code: a container, a package document, chapters, and what a test adds or breaks."""

from __future__ import annotations

import io
import zipfile

CONTAINER = (
    '<?xml version="1.0"?><container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="OEBPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
)
DATA = (
    "<dc:title>The Winch</dc:title><dc:creator>Ann Bell</dc:creator><dc:language>en</dc:language>"
    '<dc:date>2019-05-06</dc:date><meta property="dcterms:modified">2020-01-02T03:04:05Z</meta>'
)


def item(name: str, href: str, media_type: str = "application/xhtml+xml", more: str = "") -> str:
    """A line of the manifest."""
    return f'<item id="{name}" href="{href}" media-type="{media_type}" {more}/>'


def page(body: str, *, namespaces: bool = True) -> str:
    """A chapter."""
    names = 'xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops"' if namespaces else ""
    return (
        f'<?xml version="1.0" encoding="utf-8"?><html {names}><head><title>x</title></head><body>{body}</body></html>'
    )


def book(
    files: dict[str, str | bytes],
    *,
    manifest: str,
    spine: str,
    data: str = DATA,
    toc: str = "",
    extra: dict[str, str | bytes] | None = None,
) -> bytes:
    """The bytes of a book. `files` stand in OEBPS; `extra` anywhere, and may replace the book's own."""
    references = "".join(f'<itemref idref="{one}"/>' for one in spine.split())
    package = (
        '<?xml version="1.0"?><package xmlns="http://www.idpf.org/2007/opf" version="3.0" xmlns:opf="http://www.idpf.org'
        f'/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata>{data}</metadata><manifest>{manifest}'
        f"</manifest><spine {toc}>{references}</spine>"
        "</package>"
    )
    parts: dict[str, str | bytes] = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": CONTAINER,
        "OEBPS/book.opf": package,
        **{f"OEBPS/{name}": content for name, content in files.items()},
        **(extra or {}),
    }
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as package_file:
        for name, content in parts.items():
            package_file.writestr(name, content, zipfile.ZIP_DEFLATED)
    return out.getvalue()
