"""Which extractor a format takes, and the fingerprint of what it would make.

Pure and cheap: the stages ask before any process is started, so nothing heavy is imported here.
"""

from __future__ import annotations

import hashlib
import importlib
import shutil
import unicodedata
from collections.abc import Callable
from functools import cache
from importlib.metadata import PackageNotFoundError, version

import msgspec

from streams.extract.outcome import Draft, Request
from streams.records import Detection

CANON_SCHEMA = 2
"""Newest committed version of the CanonBody schema; a test compares the two."""

FINISH_VERSION = "1"
"""Version of `streams.extract.finish`: raise it when it makes other bytes of the same draft."""


class ExtractorSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One extractor: where it is, its version, and the libraries whose versions can change what it makes."""

    name: str
    version: str
    function: str  # "module:function", imported when it runs
    media_types: tuple[str, ...]
    libraries: tuple[str, ...] = ()
    program: str = ""  # of another package, without which it can't run
    options: dict[str, str] = {}


CODE_TYPES = (
    "application/pgp-encrypted",
    "application/pgp-keys",
    "application/pgp-signature",
    "application/sql",
    "application/toml",
    "application/yaml",
    "text/css",
    "text/javascript",
    "text/x-c",
    "text/x-c++",
    "text/x-csharp",
    "text/x-diff",
    "text/x-go",
    "text/x-java",
    "text/x-jsp",
    "text/x-perl",
    "text/x-php",
    "text/x-python",
    "text/x-ruby",
    "text/x-rust",
    "text/x-shellscript",
    "text/x-typescript",
)
"""Text for machines, which people read as it stands."""

XML_TYPES = (
    "application/xml",
    "text/xml",
    "application/atom+xml",
    "application/dita+xml",
    "application/docbook+xml",
    "application/gpx+xml",
    "application/marcxml+xml",
    "application/mathml+xml",
    "application/mets+xml",
    "application/mods+xml",
    "application/oebps-package+xml",
    "application/rdf+xml",
    "application/rss+xml",
    "application/smil+xml",
    "application/soap+xml",
    "application/tei+xml",
    "application/ttml+xml",
    "application/vnd.adobe.xdp+xml",
    "application/vnd.google-earth.kml+xml",
    "application/vnd.ms-word2006ml",
    "application/vnd.ms-wordml",
    "application/vnd.ms-spreadsheetml",
    "application/vnd.oasis.opendocument.spreadsheet-flat-xml",
    "application/wsdl+xml",
    "application/x-dtbncx+xml",
    "application/x-fictionbook+xml",
    "application/x-java-jnlp-file",
    "application/x-plist",
    "application/xfdf",
    "application/xliff+xml",
    "application/xslt+xml",
    "image/svg+xml",
    "text/x-opml",
)
"""XML without an extractor of its own."""

PDF_LIBRARIES = ("pymupdf", "pypdfium2", "pdfminer.six", "wordfreq")
"""Readers of the text of a PDF, and the word lists that tell whether it is text."""

EXTRACTORS: tuple[ExtractorSpec, ...] = (
    ExtractorSpec(
        name="text",
        version="1",
        function="streams.extract.text:extract",
        media_types=("text/plain",),
    ),
    ExtractorSpec(
        name="markdown",
        version="1",
        function="streams.extract.markdown:extract",
        media_types=("text/markdown",),
        libraries=("markdown-it-py", "selectolax"),
    ),
    ExtractorSpec(
        name="html",
        version="3",
        function="streams.extract.html:extract",
        media_types=("text/html", "application/xhtml+xml"),
        libraries=("selectolax",),
    ),
    ExtractorSpec(
        name="epub",
        version="1",
        function="streams.extract.epub:extract",
        media_types=("application/epub+zip",),
        libraries=("lxml", "selectolax"),
    ),
    ExtractorSpec(
        name="pdf",
        version="1",
        function="streams.extract.pdf:extract",
        media_types=("application/pdf",),
        libraries=PDF_LIBRARIES,
    ),
    ExtractorSpec(
        name="pdf_pdfium",  # for decisions that name it
        version="1",
        function="streams.extract.pdf:extract_with_pdfium",
        media_types=(),
        libraries=PDF_LIBRARIES,
    ),
    ExtractorSpec(
        name="pdf_pdfminer",  # for decisions that name it
        version="1",
        function="streams.extract.pdf:extract_with_pdfminer",
        media_types=(),
        libraries=PDF_LIBRARIES,
    ),
    ExtractorSpec(
        name="rtf",
        version="2",
        function="streams.extract.rtf:extract",
        media_types=("text/rtf", "application/rtf"),
        libraries=("selectolax",),
    ),
    ExtractorSpec(
        name="image",
        version="1",
        function="streams.extract.images:extract",
        media_types=("image/png", "image/jpeg", "image/tiff", "image/gif", "image/bmp", "image/webp", "image/avif"),
        libraries=("pillow",),
    ),
    ExtractorSpec(
        name="heif",
        version="1",
        function="streams.extract.images:extract",
        media_types=("image/heic", "image/heic-sequence", "image/heif", "image/heif-sequence"),
        libraries=("pillow", "pillow-heif"),
    ),
    ExtractorSpec(
        name="docx",
        version="2",
        function="streams.extract.docx:extract",
        media_types=(
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
            "application/vnd.openxmlformats-officedocument.wordprocessingml.template",
            "application/vnd.ms-word.document.macroEnabled.12",
            "application/vnd.ms-word.template.macroEnabled.12",
        ),
        libraries=("lxml",),
    ),
    ExtractorSpec(
        name="pptx",
        version="2",
        function="streams.extract.pptx:extract",
        media_types=(
            "application/vnd.openxmlformats-officedocument.presentationml.presentation",
            "application/vnd.openxmlformats-officedocument.presentationml.slide",
            "application/vnd.openxmlformats-officedocument.presentationml.slideshow",
            "application/vnd.openxmlformats-officedocument.presentationml.template",
            "application/vnd.ms-powerpoint.presentation.macroEnabled.12",
            "application/vnd.ms-powerpoint.slideshow.macroEnabled.12",
            "application/vnd.ms-powerpoint.template.macroEnabled.12",
        ),
        libraries=("lxml",),
    ),
    ExtractorSpec(
        name="doc",
        version="2",
        function="streams.extract.doc:extract",
        media_types=("application/msword",),
        libraries=("lxml",),
    ),
    ExtractorSpec(
        name="ppt",
        version="2",
        function="streams.extract.ppt:extract",
        media_types=("application/vnd.ms-powerpoint",),
        libraries=("lxml",),
    ),
    ExtractorSpec(
        name="xlsx",
        version="2",
        function="streams.extract.sheet:extract_xlsx",
        media_types=(
            "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
            "application/vnd.openxmlformats-officedocument.spreadsheetml.template",
            "application/vnd.ms-excel.sheet.macroEnabled.12",
            "application/vnd.ms-excel.template.macroEnabled.12",
        ),
        libraries=("lxml",),
    ),
    ExtractorSpec(
        name="xlsb",
        version="2",
        function="streams.extract.sheet:extract_xlsb",
        media_types=("application/vnd.ms-excel.sheet.binary.macroEnabled.12",),
        libraries=("lxml",),
    ),
    ExtractorSpec(
        name="xls",
        version="2",
        function="streams.extract.sheet:extract_xls",
        media_types=("application/vnd.ms-excel",),
        libraries=("python-calamine", "xlrd"),
    ),
    ExtractorSpec(
        name="ods",
        version="2",
        function="streams.extract.sheet:extract_ods",
        media_types=(
            "application/vnd.oasis.opendocument.spreadsheet",
            "application/vnd.oasis.opendocument.spreadsheet-template",
        ),
        libraries=("lxml",),
    ),
    ExtractorSpec(
        name="odt",
        version="1",
        function="streams.extract.odt:extract",
        media_types=(
            "application/vnd.oasis.opendocument.text",
            "application/vnd.oasis.opendocument.text-flat-xml",
            "application/vnd.oasis.opendocument.text-master",
            "application/vnd.oasis.opendocument.text-template",
            "application/vnd.oasis.opendocument.text-web",
        ),
        libraries=("lxml",),
    ),
    ExtractorSpec(
        name="odp",
        version="1",
        function="streams.extract.odp:extract",
        media_types=(
            "application/vnd.oasis.opendocument.graphics",
            "application/vnd.oasis.opendocument.graphics-flat-xml",
            "application/vnd.oasis.opendocument.graphics-template",
            "application/vnd.oasis.opendocument.presentation",
            "application/vnd.oasis.opendocument.presentation-flat-xml",
            "application/vnd.oasis.opendocument.presentation-template",
        ),
        libraries=("lxml",),
    ),
    ExtractorSpec(
        name="csv",
        version="1",
        function="streams.extract.csv_table:extract",
        media_types=("text/csv", "text/tab-separated-values"),
    ),
    ExtractorSpec(
        name="json",
        version="1",
        function="streams.extract.json_tree:extract",
        media_types=("application/json",),
        libraries=("markdown-it-py", "selectolax"),
    ),
    ExtractorSpec(
        name="json_lines",
        version="1",
        function="streams.extract.json_tree:extract_lines",
        media_types=("application/x-ndjson",),
    ),
    ExtractorSpec(
        name="calendar_cards",
        version="1",
        function="streams.extract.calendar_cards:extract",
        media_types=("text/calendar", "text/vcard", "text/x-vcard"),
    ),
    ExtractorSpec(
        name="subtitles",
        version="1",
        function="streams.extract.subtitles:extract",
        media_types=("application/x-subrip", "text/vtt", "text/x-ssa"),
    ),
    ExtractorSpec(
        name="code",
        version="1",
        function="streams.extract.code:extract",
        media_types=CODE_TYPES,
    ),
    ExtractorSpec(
        name="tex",
        version="1",
        function="streams.extract.tex:extract",
        media_types=("text/x-tex",),
    ),
    ExtractorSpec(
        name="xml",
        version="1",
        function="streams.extract.xml_tree:extract",
        media_types=XML_TYPES,
        libraries=("lxml", "selectolax"),
    ),
    ExtractorSpec(
        name="mail",
        version="1",
        function="streams.extract.mail:extract",
        media_types=("message/rfc822",),
        libraries=("selectolax", "wordfreq", "ftfy"),
    ),
    ExtractorSpec(
        name="mhtml",
        version="2",
        function="streams.extract.mail_page:extract",
        media_types=("multipart/related",),
        libraries=("selectolax", "wordfreq", "ftfy"),
    ),
    ExtractorSpec(
        name="msg",
        version="1",
        function="streams.extract.msg:extract",
        media_types=("application/vnd.ms-outlook",),
        libraries=("selectolax", "wordfreq", "ftfy"),
    ),
    ExtractorSpec(
        name="tnef",
        version="1",
        function="streams.extract.tnef:extract",
        media_types=("application/vnd.ms-tnef",),
        libraries=("selectolax", "wordfreq", "ftfy"),
    ),
    ExtractorSpec(
        name="libreoffice",
        version="1",
        function="streams.extract.legacy:extract",
        media_types=(
            "application/vnd.apple.keynote",
            "application/vnd.apple.numbers",
            "application/vnd.apple.pages",
            "application/vnd.ms-works",
            "application/vnd.stardivision.calc",
            "application/vnd.stardivision.draw",
            "application/vnd.stardivision.impress",
            "application/vnd.stardivision.writer",
            "application/vnd.sun.xml.calc",
            "application/vnd.sun.xml.draw",
            "application/vnd.sun.xml.impress",
            "application/vnd.sun.xml.writer",
            "application/vnd.wordperfect",
        ),
        libraries=("libreoffice", "lxml"),
        program="soffice",
    ),
)
"""All extractors; a media type belongs to one of them."""

_FINISH_LIBRARIES = ("py3langid",)
_BY_MEDIA_TYPE = {media_type: spec for spec in EXTRACTORS for media_type in spec.media_types}


def plan(detection: Detection, tool: str | None = None) -> ExtractorSpec | None:
    """The extractor for what was detected, or the one that a decision named; None when there is none."""
    return _BY_MEDIA_TYPE.get(detection.media_type) if tool is None else named(tool)


def named(name: str) -> ExtractorSpec | None:
    """The extractor of this name, for decisions that ask for a tool."""
    return next((spec for spec in EXTRACTORS if spec.name == name), None)


def is_installed(spec: ExtractorSpec) -> bool:
    """Whether the program is there that the extractor needs."""
    return not spec.program or shutil.which(spec.program) is not None


@cache
def _library_version(name: str) -> str:
    if name == "libreoffice":  # no Python package, but a program whose version its own files say
        from streams.extract.tools import libreoffice

        return libreoffice.version()
    try:
        return version(name)
    except PackageNotFoundError:
        return "absent"


def fingerprint(spec: ExtractorSpec, detection: Detection) -> str:
    """16 hex digits: same content and same fingerprint give the same canon bytes (R-CAN-7).

    Of: extractor, its version and options, the versions of its libraries and of Unicode, media type, encoding, and the
    schema of the canon.
    """
    parts = {
        "extractor": spec.name,
        "version": spec.version,
        "options": dict(sorted(spec.options.items())),
        "libraries": {name: _library_version(name) for name in sorted({*spec.libraries, *_FINISH_LIBRARIES})},
        "unicode": unicodedata.unidata_version,
        "finish": FINISH_VERSION,
        "media_type": detection.media_type,
        "encoding": detection.encoding,
        "schema": CANON_SCHEMA,
    }
    return hashlib.sha256(msgspec.json.encode(parts, order="deterministic")).hexdigest()[:16]


def load(spec: ExtractorSpec) -> Callable[[Request], Draft]:
    """The extractor's function; imports its module."""
    module, _, function = spec.function.partition(":")
    found: Callable[[Request], Draft] = getattr(importlib.import_module(module), function)
    return found
