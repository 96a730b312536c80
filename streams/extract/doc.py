"""Binary Word documents (DOC, DOT): text, tables, notes, and what hides, in the accepted view of revisions.

Reads the file itself: the programs that read it flatten tables and lists, and lose notes, boxes and comments.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import BinaryIO

from streams.decode.ole import SIGNATURE
from streams.decode.unpack.compound import Compound, CompoundError
from streams.errors import DocumentError
from streams.extract.doc_drawings import charts, floating_figures
from streams.extract.doc_fib import Fib, Part
from streams.extract.doc_hanging import read_hangings, read_headers
from streams.extract.doc_lists import OldLists, add_lists
from streams.extract.doc_story import Reader, Source
from streams.extract.doc_styles import read_fonts, read_styles
from streams.extract.doc_text import Text
from streams.extract.docx_numbering import Numbering
from streams.extract.ole_properties import describe
from streams.extract.outcome import Draft, Request
from streams.extract.rtf_body import Body
from streams.extract.sheet_model import Drawn
from streams.extract.windows_languages import codec_of, iso_code
from streams.records import BlockKind, Dropped

MAX_BYTES = 300 * 1024 * 1024
"""Bytes of one stream; nearly all of a large file are pictures."""
_BARE = (b"\xdb\xa5", b"\x9b\xa5", b"\xdc\xa5", b"\xfe\x37", b"\x31\xbe")
"""How documents of Word before 6 begin, which are no compound files."""
_DROPPED = {
    "deleted": "deleted_revisions",
    "empty_tables": "empty_tables",
    "header_images": "header_images",
    "objects": "embedded_files",
    "symbols": "unmapped_symbols",
}


def extract(request: Request) -> Draft:
    """The blocks, grids and notes of one binary Word document.

    Errors: DocumentError `encrypted`, `truncated`, `corrupt`, `too_large`, or `unsupported_format` (Word for DOS or
    Macintosh before Word 6). Text that is not all there is a warning `truncated`.
    """
    with request.path.open("rb") as file:
        if file.read(8) == SIGNATURE:
            return _from_compound(file, request)
        if request.path.stat().st_size > MAX_BYTES:
            raise DocumentError("too_large", f"The limit for a Word document is {MAX_BYTES} bytes.")
        file.seek(0)
        if file.read(2) not in _BARE:
            raise DocumentError("corrupt", "It does not begin as a Word document does.")
        file.seek(0)
        return _draft(_Streams(file.read(), b"", b""), request)


class _Streams:
    """The streams of a document."""

    def __init__(self, main: bytes, table: bytes, data: bytes, charts: dict[int, Drawn] | None = None) -> None:
        self.main, self.table, self.data, self.charts = main, table, data, charts or {}


def _from_compound(file: BinaryIO, request: Request) -> Draft:
    try:
        compound = Compound(file, request.path.stat().st_size)
    except CompoundError as error:
        raise DocumentError("corrupt", str(error)) from error
    main = _stream(compound, "WordDocument")
    if not main:
        raise DocumentError("corrupt", "The file has no stream WordDocument.")
    fib = Fib(main)
    table = main if fib.is_old else _stream(compound, fib.table_name) or _stream(compound, "1Table")
    draft = _draft(_Streams(main, table, _stream(compound, "Data"), charts(compound)), request)
    shown = draft.title
    describe(compound, draft)
    draft.title = draft.title or shown
    if compound.root.get("Macros") is not None:
        draft.metadata["macros"] = "present, not run"
    return draft


def _stream(compound: Compound, name: str) -> bytes:
    entry = compound.root.stream(name)
    if entry is None:
        return b""
    if entry.size > MAX_BYTES and compound.available(entry) > MAX_BYTES:
        raise DocumentError("too_large", f"The stream {name} has {entry.size} bytes; the limit is {MAX_BYTES}.")
    return compound.read(entry, MAX_BYTES)


def _draft(streams: _Streams, request: Request) -> Draft:
    fib = Fib(streams.main)
    table = streams.table

    def part(name: Part) -> bytes:
        offset, length = fib.place(name)
        return table[offset : offset + length]

    codec = codec_of(fib.language)
    text = Text(fib, part)
    styles = read_styles(part(Part.STYLES), is_old=fib.is_old, codec=codec)
    fonts = read_fonts(part(Part.FONTS), is_old=fib.is_old)
    numbering = Numbering(None)
    lists_at, lists_size = fib.place(Part.LISTS)
    if not fib.is_old and lists_size:
        add_lists(numbering, table[lists_at:], part(Part.LIST_OVERRIDES), fonts)
    source = Source(
        text=text,
        styles=styles,
        fonts=fonts,
        numbering=numbering,
        old_lists=OldLists(numbering, codec),
        codec=codec,
        is_old=fib.is_old,
        data=streams.data,
        hangings=read_hangings(fib, part, codec),
        counts=Counter(),
        languages=Counter(),
        charts=streams.charts,
        floating={} if fib.is_old else floating_figures(part),
    )
    body = Body(styles.styles, source.counts)
    _fill(body, Reader(source), fib, part)
    draft = Draft(blocks=body.blocks, tables=body.tables, refs=body.refs)
    _account(draft, source, fib, body, request)
    return draft


def _fill(body: Body, reader: Reader, fib: Fib, part: Callable[[Part], bytes]) -> None:
    """Headers, the body with what hangs on it, boxes that hang nowhere, footers."""
    headers = [(kind, reader.items(start, end)) for kind, start, end in read_headers(fib, part)]
    for kind, items in headers:
        if kind is BlockKind.PAGE_HEADER:
            body.furniture(items, kind)
    start, end = fib.body if not fib.is_plain else (0, 1 << 62)
    for item in reader.items(start, end, is_body=True):
        body.add(item)
    for hanging in reader.source.hangings.outside(start, end):
        if hanging.kind is None:
            for item in reader.items(hanging.start, hanging.end):
                body.add(item)
    body.finish()
    for kind, items in headers:
        if kind is BlockKind.PAGE_FOOTER:
            body.furniture(items, kind)


def _account(draft: Draft, source: Source, fib: Fib, body: Body, request: Request) -> None:
    """Says what was changed, hidden or left out, and how much of it."""
    counts = source.counts
    warnings = list(body.warnings)
    shown = next((block.text for block in draft.blocks if block.kind is BlockKind.TITLE and not block.hidden), None)
    draft.title = shown
    if counts["inserted"] or counts["deleted"]:
        warnings.append("tracked_changes")
        draft.metadata["inserted_revisions"] = str(counts["inserted"])
        draft.metadata["deleted_revisions"] = str(counts["deleted"])
    if counts["hidden"]:
        warnings.append("hidden_text")
        draft.metadata["hidden_characters"] = str(counts["hidden"])
    if counts["objects"]:
        warnings.append("embedded_not_read")
    if counts["pictures"]:
        draft.metadata["pictures"] = str(counts["pictures"])
    if counts["empty_charts"]:
        warnings.append("chart_values_not_read")
    if counts["undecoded"]:
        warnings.append("invalid_bytes")
    if source.numbering.approximated:
        warnings.append("number_format_approximated")
    if source.text.is_cut:
        warnings.append("truncated")
        if not any(block.text or block.table is not None for block in draft.blocks):
            raise DocumentError("truncated", "It is cut off before any text.")
    if fib.is_plain:
        warnings.append("formatting_not_read")
    ranked = sorted(source.languages.items(), key=lambda pair: (-pair[1], pair[0]))
    draft.language = next((code for number, _ in ranked if (code := iso_code(number))), None)
    draft.dropped = [Dropped(what=what, count=counts[key]) for key, what in _DROPPED.items() if counts[key]]
    draft.warnings = list(dict.fromkeys([*request.detection.warnings, *warnings]))
