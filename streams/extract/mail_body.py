"""The text of a message, put together from the parts that make it: one of alternatives, all of a mixture.

Sources: RFC 2046 5.1 (multipart), RFC 2387 (related), RFC 3462 (reports), RFC 1847 and 3156 (signed, encrypted).
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterable
from typing import BinaryIO

import msgspec

from streams.decode.unpack.mail import REPORTS, given_name, is_body, is_enveloped, is_wrapped
from streams.decode.unpack.mail_coding import BEGIN, YBEGIN, decoded
from streams.decode.unpack.mail_parts import Part, parse
from streams.decode.unpack.mail_signed import MAX_WRAPPED, signed_content
from streams.decode.unpack.model import MemberError
from streams.extract.html_walk import Walk
from streams.extract.mail_calendar import calendar_lines, report_lines
from streams.extract.mail_charset import decode_part
from streams.extract.mail_html import html_walk
from streams.extract.mail_text import from_enriched, from_richtext, text_blocks, without_armour
from streams.records import FURNITURE, Block, BlockKind, BlockSource, Dropped, Table

MAX_TEXT = 64 << 20
"""Bytes of all text parts together that are read; more is left out, with a warning."""
MAX_TEXT_PARTS = 1000
MAX_DEPTH = 50
"""Multiparts in each other that are told apart; what is deeper is read as a plain sequence of parts."""
POORER = 0.75
"""An HTML part with fewer of the words of the plain text than this is a stub of it."""

_PAGE = re.compile(r"\s*<(?:!doctype html|html|body|head|div|p|table)\b", re.IGNORECASE)
_WORD = re.compile(r"\w+")
_URL = re.compile(r"<?(?:https?|ftp|mailto|cid):[^\s>]*>?", re.IGNORECASE)


class Content(msgspec.Struct, kw_only=True):
    """What parts give, in reading order."""

    blocks: list[Block] = []
    tables: list[Table] = []
    refs: dict[int, int] = {}
    dropped: Counter[str] = msgspec.field(default_factory=Counter)
    warnings: list[str] = []
    language: str | None = None
    encrypted: bool = False  # the first of its parts that says anything is encrypted
    rich: bool = False  # from markup

    def words(self) -> int:
        """Words that a reader sees, without those of addresses of pages."""
        shown = (block.text for block in self.blocks if block.kind not in FURNITURE and not block.hidden)
        cells = (cell.text for table in self.tables for cell in table.cells)
        return sum(len(_WORD.findall(_URL.sub(" ", text))) for part in (shown, cells) for text in part)

    def says_something(self) -> bool:
        return any(block.kind not in FURNITURE and not block.hidden for block in self.blocks)

    def warn(self, *codes: str) -> None:
        self.warnings += [code for code in codes if code not in self.warnings]

    def add(self, other: Content) -> None:
        """Appends what another part gave."""
        if other.encrypted and not self.says_something():
            self.encrypted = True
        places, tables = len(self.blocks), len(self.tables)
        self.blocks += [
            block if block.table is None else msgspec.structs.replace(block, table=block.table + tables)
            for block in other.blocks
        ]
        self.tables += other.tables
        self.refs |= {source + places: target + places for source, target in other.refs.items()}
        self.dropped.update(other.dropped)
        self.warn(*other.warnings)
        self.language = self.language or other.language
        self.rich = self.rich or other.rich

    def add_walk(self, walk: Walk) -> None:
        """Appends the blocks of a page."""
        self.add(
            Content(
                blocks=walk.blocks,
                tables=walk.tables,
                refs=walk.refs,
                dropped=walk.dropped,
                warnings=sorted(walk.warnings),
                rich=True,
            )
        )

    def dropped_list(self) -> list[Dropped]:
        return [Dropped(what=what, count=count) for what, count in sorted(self.dropped.items()) if count]


def html_content(text: str) -> Content:
    """The blocks of an HTML body."""
    walk, meta = html_walk(text)
    content = Content(language=meta.language)
    content.add_walk(walk)
    return content


def plain_content(text: str, *, flowed: bool = False, delete_space: bool = False) -> Content:
    """The blocks of a text body, PGP's armour undone where it only signs."""
    text, encrypted, signatures = without_armour(text)
    content = Content(blocks=text_blocks(text, flowed=flowed, delete_space=delete_space))
    content.dropped.update({"pgp_signature": signatures, "encrypted_text": encrypted})
    if encrypted:
        content.warn("encrypted_part")
        content.encrypted = not content.says_something()
    return content


def chosen(contents: list[Content]) -> Content:
    """One of the versions of a message: the last with markup, unless it says less than the longest plain one.

    The sender puts the best last (RFC 2046 5.1.4), and only markup has tables, links and lists.
    """
    saying = [content for content in contents if content.says_something()]
    if not saying:
        return next((c for c in contents if c.encrypted), contents[-1] if contents else Content())
    rich = [content for content in saying if content.rich]
    plain = max((c for c in saying if not c.rich), key=Content.words, default=None)
    if not rich:
        return plain or saying[-1]
    best = rich[-1]
    return plain if plain is not None and best.words() < POORER * plain.words() else best


class BodyReader:
    """Reads the parts of one message. `read` is all there is to call."""

    def __init__(self, file: BinaryIO, wrapped: int = 0) -> None:
        self.file = file
        self.left = MAX_TEXT
        self.parts = 0
        self.wrapped = wrapped  # signatures around it

    def read(self, part: Part, depth: int = 0) -> Content:
        """What a part says, all below it included; nothing where it is an attachment."""
        if not part.is_multipart:
            return self._leaf(part)
        if not part.parts:  # its delimiter comes nowhere: what is there is read as it stands
            return self._unstructured(part)
        if depth >= MAX_DEPTH:
            content = self._sequence(leaf for leaf in part.walk() if not leaf.is_multipart)
            content.warn("deep_nesting")
            return content
        if part.media_type == "multipart/encrypted":
            return Content(encrypted=True, warnings=["encrypted_part"])
        if part.media_type == "multipart/alternative":
            return self._alternative(part, depth)
        if part.media_type == "multipart/related":
            root = root_of(part)
            return self.read(root, depth + 1) if root is not None else Content()
        return self._sequence(part.parts, depth)

    def _sequence(self, parts: Iterable[Part], depth: int = MAX_DEPTH) -> Content:
        content = Content()
        for part in parts:
            content.add(self.read(part, depth + 1))
        return content

    def _alternative(self, part: Part, depth: int) -> Content:
        calendars = [each for each in part.parts if each.media_type == "text/calendar"]
        versions = [each for each in part.parts if each.media_type not in ("text/calendar", "text/x-amp-html")]
        content = chosen([self.read(each, depth + 1) for each in versions])
        for each in calendars:
            content.add(self._calendar(each))
        return content

    def _leaf(self, part: Part) -> Content:
        if is_wrapped(part):
            return self._wrapped(part)
        if part.media_type == "text/calendar" and not _is_attached(part):
            return self._calendar(part)
        if not is_body(part) or part.media_type == "text/x-amp-html":
            return Content()
        content = Content()
        text = self._text(part, content)
        if part.media_type in REPORTS:
            content.add(_lines(report_lines(text)))
        elif part.media_type == "text/html":
            content.add(html_content(text))
        elif part.media_type == "text/enriched":
            content.add(plain_content(from_enriched(text)))
        elif part.media_type == "text/richtext":
            content.add(plain_content(from_richtext(text)))
        else:
            parameters = part.content_type.parameters
            flowed = parameters.get("format", "").strip().lower() == "flowed"
            delete_space = parameters.get("delsp", "").strip().lower() == "yes"
            text = without_files(text)
            content.add(plain_content(text, flowed=flowed, delete_space=delete_space))
        return content

    def _unstructured(self, part: Part) -> Content:
        content = Content()
        text = self._text(part, content)
        if text.strip():
            is_page = _PAGE.match(text) is not None
            content.add(html_content(text) if is_page else plain_content(text))
        return content

    def _calendar(self, part: Part) -> Content:
        content = Content()
        content.add(_lines(calendar_lines(self._text(part, content))))
        return content

    def _wrapped(self, part: Part) -> Content:
        if is_enveloped(self.file, part):
            return Content(encrypted=True, warnings=["encrypted_part"])
        inner = signed_content(self.file, part)
        if inner is None or self.wrapped >= MAX_WRAPPED or len(inner) > self.left:
            return Content()  # then it is an attachment
        file = io.BytesIO(inner)
        warnings: list[str] = []
        reader = BodyReader(file, self.wrapped + 1)
        reader.left = self.left
        content = reader.read(parse(file, 0, len(inner), warnings))
        self.left = reader.left
        content.warn(*warnings)
        return content

    def _text(self, part: Part, content: Content) -> str:
        """The decoded text of a part, as much of it as may still be read."""
        self.parts += 1
        if self.parts > MAX_TEXT_PARTS:
            content.warn("text_left_out")
            content.dropped["text_parts"] += 1
            return ""
        data = bytearray()
        warnings: list[str] = []
        try:
            for chunk in decoded(self.file, part.start, part.end, part.encoding, warnings):
                data += chunk
                if len(data) > self.left:
                    del data[self.left :]
                    content.warn("text_left_out")
                    content.dropped["text_parts"] += 1
                    break
        except MemberError:
            content.warn("wrong_transfer_encoding")
        self.left -= len(data)
        media_type = "text/html" if part.media_type == "text/html" else "text/plain"
        text = decode_part(bytes(data), part.charset, media_type, warnings)
        content.warn(*warnings)
        return text


def root_of(related: Part) -> Part | None:
    """The part of a multipart/related that the others belong to (RFC 2387 3.2): the one named, else the first."""
    start = related.content_type.parameters.get("start", "").strip().strip("<>")
    if start:
        for part in related.parts:
            if part.headers.text(b"content-id").strip().strip("<>") == start:
                return part
    return related.parts[0] if related.parts else None


def without_files(text: str) -> str:
    """The text without the files that stand in it in uuencode or yEnc: they are attachments."""
    if "begin" not in text or not (BEGIN.search(text.encode("utf-8", "replace")) or "=ybegin " in text):
        return text
    kept: list[str] = []
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        line = lines[at].encode("utf-8", "replace")
        begins = BEGIN.match(line) and at + 1 < len(lines) and _is_coded(lines[at + 1])
        if not begins and not YBEGIN.match(line):
            kept.append(lines[at])
            at += 1
            continue
        at += 1
        while at < len(lines) and lines[at] not in ("end", "====") and not lines[at].startswith("=yend"):
            at += 1
        at += 1
    return "\n".join(kept)


def _is_coded(line: str) -> bool:
    """Whether a line is one of uuencode: its first character says how many others there are."""
    if not line or not line.isascii() or min(line) < " " or max(line) > "`":
        return line == "end"
    needed = (((ord(line[0]) - 32) & 63) + 2) // 3 * 4
    return needed - 2 <= len(line) - 1 <= needed + 2 or (needed == 0 and len(line) <= 2)


def _is_attached(part: Part) -> bool:
    return part.disposition.value.startswith("attachment") or given_name(part, None) != ""


def _lines(paragraphs: list[str]) -> Content:
    blocks = [Block(kind=BlockKind.PARAGRAPH, text=text, source=BlockSource.MARKUP) for text in paragraphs]
    return Content(blocks=blocks)


__all__ = ["BodyReader", "Content", "chosen", "html_content", "plain_content", "root_of"]
