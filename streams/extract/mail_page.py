"""A web page that was saved as a message (MHTML): its root part, read as the page it was.

Source: RFC 2557. Images and styles are resources of the page, no documents.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from typing import BinaryIO

import msgspec

from streams.decode.encoding import determine
from streams.decode.unpack.mail import charset_of, opened
from streams.decode.unpack.mail_coding import decoded
from streams.decode.unpack.mail_headers import Headers, read_headers
from streams.decode.unpack.mail_parts import Part, parse
from streams.decode.unpack.model import MemberError
from streams.errors import DocumentError
from streams.extract import html
from streams.extract.mail_body import MAX_TEXT, BodyReader, root_of
from streams.extract.mail_charset import meant
from streams.extract.mail_envelope import created
from streams.extract.outcome import Draft, Request
from streams.records import Dropped

_PAGES = frozenset({"text/html", "application/xhtml+xml"})
_LOCATION = b"snapshot-content-location"
_FIELDS = frozenset({_LOCATION, b"content-location", b"date", b"subject"})
MAX_FRAMES = 100
"""Further pages of a set of frames that are read."""


def extract(request: Request) -> Draft:
    """The blocks of a saved page, those of its frames behind them.

    `created` is the page's own date; when it was saved stands in the metadata as `saved`.
    Errors: DocumentError `corrupt` when it has no page, `too_large`.
    """
    with opened(request.path) as (file, start, end):
        warnings: list[str] = []
        root = parse(file, start, end, warnings)
        pages = _pages(root)
        head = read_headers(file, start, end, _FIELDS)
        drafts = [_page(file, part, request) for part in pages[: MAX_FRAMES + 1]]
        if not drafts:
            content = BodyReader(file).read(root)
            if not content.says_something():
                raise DocumentError("corrupt", "The saved page has no part with a page.")
            drafts = [Draft(blocks=content.blocks, tables=content.tables, refs=content.refs, warnings=content.warnings)]
        charset = charset_of(root)
    if len(pages) > MAX_FRAMES + 1:
        warnings.append("parts_left_out")
    draft = drafts[0]
    for frame in drafts[1:]:
        _append(draft, frame)
    draft.title = draft.title or head.text(b"subject", charset) or None
    draft.warnings = list(dict.fromkeys([*draft.warnings, *warnings]))
    draft.metadata = draft.metadata | _saved(head)
    return draft


def _pages(root: Part) -> list[Part]:
    """The page, then the pages of its frames, in their order in the file."""
    found = [part for part in root.walk() if part.media_type in _PAGES]
    first = root_of(root) if root.is_multipart else root
    while first is not None and first.is_multipart:
        first = root_of(first)
    return [first, *(part for part in found if part is not first)] if first is not None and first in found else found


def _page(file: BinaryIO, part: Part, request: Request) -> Draft:
    """One page, through the reader of pages: the bytes of the part, its charset as the server's."""
    warnings: list[str] = []
    label = meant(part.charset) if part.charset else None
    with tempfile.TemporaryDirectory(prefix="page-") as folder:
        path = Path(folder) / "page"
        size = 0
        with path.open("wb") as out:
            try:
                for chunk in decoded(file, part.start, part.end, part.encoding, warnings):
                    size += out.write(chunk)
                    if size > MAX_TEXT:
                        raise DocumentError("too_large", f"The saved page has more than {MAX_TEXT} bytes.")
            except MemberError:
                warnings.append("wrong_transfer_encoding")
        with path.open("rb") as opened_page:
            page_head = opened_page.read(64 << 10)
        declared = f"{part.media_type}; charset={label}" if label else None
        encoding = determine(path, size, page_head, part.media_type, declared)
        detection = msgspec.structs.replace(
            request.detection, media_type=part.media_type, encoding=encoding.name, warnings=encoding.warnings
        )
        draft = html.extract(msgspec.structs.replace(request, path=path, detection=detection))
    draft.warnings = [*draft.warnings, *warnings]
    return draft


def _append(draft: Draft, frame: Draft) -> None:
    """Puts the blocks of a frame behind those of its page."""
    places, tables = len(draft.blocks), len(draft.tables)
    for block in frame.blocks:
        moved = block if block.table is None else msgspec.structs.replace(block, table=block.table + tables)
        draft.blocks.append(moved)
    draft.tables += frame.tables
    draft.refs |= {source + places: target + places for source, target in frame.refs.items()}
    counts = Counter({each.what: each.count for each in draft.dropped})
    counts.update({each.what: each.count for each in frame.dropped})
    draft.dropped = [Dropped(what=what, count=count) for what, count in sorted(counts.items())]
    if any(block.text for block in frame.blocks):  # the page of a set of frames has no text of its own
        draft.warnings = [w for w in draft.warnings if w not in ("not_content", "script_shell")]


def _saved(head: Headers) -> dict[str, str]:
    where = head.text(_LOCATION) or head.text(b"content-location")
    return {
        name: text for name, text in (("location", where[:2000]), ("saved", created(head.text(b"date")) or "")) if text
    }
