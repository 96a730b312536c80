"""Markdown by CommonMark with pipe tables: its tokens become blocks, its front matter metadata."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from typing import Any

import msgspec
import yaml
from markdown_it import MarkdownIt
from markdown_it.token import Token

from streams.extract.html import parse
from streams.extract.outcome import Draft, Request
from streams.extract.text import paragraphs, source_text
from streams.records import Block, BlockKind, BlockSource, Cell, Dropped, Link, Table

MAX_FRONT_MATTER = 64 * 1024
MAX_CHARS = 4_000_000
MAX_NESTING = 100
"""Above these a text is read as plain paragraphs: the parser is slow, and leaves out what is nested deeper."""
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_BLANK = re.compile(r"\s*<br\s*/?>\s*", re.IGNORECASE)


class MarkdownPart(msgspec.Struct):
    """Blocks of a Markdown text, or of several that stand in one document."""

    blocks: list[Block] = []
    tables: list[Table] = []
    refs: dict[int, int] = {}
    dropped: Counter[str] = msgspec.field(default_factory=Counter)
    warnings: set[str] = set()

    def add(self, other: MarkdownPart) -> None:
        """Appends another text's blocks."""
        first, first_table = len(self.blocks), len(self.tables)
        for block in other.blocks:
            self.blocks.append(block if block.table is None else _moved(block, block.table + first_table))
        self.tables += other.tables
        self.refs.update({a + first: b + first for a, b in other.refs.items()})
        self.dropped.update(other.dropped)
        self.warnings |= other.warnings


def read_markdown(text: str) -> MarkdownPart:
    """The blocks of a Markdown text without front matter. Above the limits it is read as plain paragraphs."""
    short = len(text) <= MAX_CHARS
    tokens = _parser().parse(text) if short else []
    if not short or any(token.level >= MAX_NESTING - 1 for token in tokens):
        return MarkdownPart(blocks=paragraphs(text, None), warnings={"markdown_as_text"})
    reader = _Reader()
    reader.read(tokens)
    return reader.part


@cache  # to make one takes as long as a page of text; it keeps nothing of what it has read
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"maxNesting": MAX_NESTING}).enable("table")


def extract(request: Request) -> Draft:
    """The blocks of a Markdown text. Errors: none of its own; every text is Markdown."""
    text, warnings, done = source_text(request, "utf-8")
    text, fields, readable = _front_matter(text)
    if not readable:
        warnings.append("front_matter_unreadable")
    part = read_markdown(text)
    authors = fields.pop("authors", None) or fields.pop("author", None) or []
    return Draft(
        blocks=part.blocks,
        tables=part.tables,
        refs=part.refs,
        title=_first(fields.pop("title", None)),
        authors=authors if isinstance(authors, list) else [authors],
        created=_first(fields.pop("date", None) or fields.pop("created", None)),
        modified=_first(fields.pop("updated", None) or fields.pop("modified", None) or fields.pop("lastmod", None)),
        language=_first(fields.pop("lang", None) or fields.pop("language", None)),
        metadata={k: v if isinstance(v, str) else ", ".join(v) for k, v in fields.items()} | done,
        warnings=list(dict.fromkeys(warnings + sorted(part.warnings))),
        dropped=[Dropped(what=what, count=count) for what, count in sorted(part.dropped.items()) if count],
    )


def _first(value: str | list[str] | None) -> str | None:
    return value[0] if isinstance(value, list) and value else value if isinstance(value, str) else None


def _front_matter(text: str) -> tuple[str, dict[str, Any], bool]:
    """The text without its front matter, the front matter's plain values, and whether it could be read.

    What is no mapping, or is too long, is text.
    """
    match = _FRONT_MATTER.match(text)
    if match is None or len(match[1]) > MAX_FRONT_MATTER:
        return text, {}, True
    try:
        loaded = yaml.load(match[1], Loader=yaml.BaseLoader)  # noqa: S506 - BaseLoader makes strings, lists, dicts only
    except (yaml.YAMLError, RecursionError, ValueError):
        return text, {}, False
    if not isinstance(loaded, dict):
        return text, {}, True
    fields: dict[str, Any] = {}
    for key, value in loaded.items():
        if not isinstance(key, str):
            continue
        if isinstance(value, str) and value:
            fields[key.lower()] = value[:2000]
        elif isinstance(value, list) and (plain := [v[:2000] for v in value[:100] if isinstance(v, str) and v]):
            fields[key.lower()] = plain
    return text[match.end() :], fields, True


class _Reader:
    """Goes once over the tokens; nesting is in their order, so a stack of lists is all it keeps."""

    def __init__(self) -> None:
        self.part = MarkdownPart()
        self.lists: list[int | None] = []  # next number of each open list; None for bullets
        self.delimiters: list[str] = []
        self.markers: list[str | None] = []  # of each open item, until its first block takes it
        self.quotes = 0
        self.cells: list[Cell] | None = None
        self.row = self.col = self.header_rows = 0
        self.table_links: list[Link] = []

    def read(self, tokens: list[Token]) -> None:
        level: int | None = None
        for token in tokens:
            match token.type:
                case "heading_open":
                    level = int(token.tag[1])
                case "heading_close":
                    level = None
                case "bullet_list_open":
                    self.lists.append(None)
                    self.delimiters.append("")
                case "ordered_list_open":
                    self.lists.append(int(token.attrs.get("start", 1)))
                    self.delimiters.append(token.markup or ".")
                case "bullet_list_close" | "ordered_list_close":
                    self.lists.pop()
                    self.delimiters.pop()
                case "list_item_open":
                    self.markers.append(self._next_marker())
                case "list_item_close":
                    self.markers.pop()
                case "blockquote_open":
                    self.quotes += 1
                case "blockquote_close":
                    self.quotes -= 1
                case "fence" | "code_block":
                    self._block(BlockKind.CODE, token.content.rstrip("\n"))
                case "html_block":
                    self._html(token.content)
                case "inline":
                    self._inline(token, level)
                case _:
                    self._table(token)

    def _next_marker(self) -> str:
        number = self.lists[-1]
        if number is None:
            return "•"
        self.lists[-1] = number + 1
        return f"{number}{self.delimiters[-1]}"

    def _block(self, kind: BlockKind, text: str, *, level: int | None = None, links: list[Link] | None = None) -> None:
        self.part.blocks.append(Block(kind=kind, text=text, level=level, links=links or [], source=BlockSource.MARKUP))

    def _inline(self, token: Token, level: int | None) -> None:
        text, links, images = self._text(token.children or [])
        if self.cells is not None:
            self.cells.append(Cell(row=self.row, col=self.col, text=text, header=self.row < self.header_rows))
            self.table_links += links
            return
        if level is not None:
            self._block(BlockKind.HEADING, text, level=level, links=links)
        elif text:
            self._paragraph(text, links)
        for alternative in images:
            self._block(BlockKind.FIGURE, alternative)

    def _paragraph(self, text: str, links: list[Link]) -> None:
        if self.markers:
            marker, self.markers[-1] = self.markers[-1], None
            block = Block(
                kind=BlockKind.LIST_ITEM,
                text=text,
                level=len(self.lists),
                marker=marker,
                links=links,
                source=BlockSource.MARKUP,
            )
            self.part.blocks.append(block)
        else:
            self._block(BlockKind.QUOTE if self.quotes else BlockKind.PARAGRAPH, text, links=links)

    def _text(self, children: list[Token]) -> tuple[str, list[Link], list[str]]:
        """Text, links and alternative texts of images of a run of inline tokens."""
        parts: list[str] = []
        links: list[Link] = []
        images: list[str] = []
        anchors: list[tuple[str, int]] = []
        for child in children:
            match child.type:
                case "text" | "code_inline" | "text_special":
                    parts.append(child.content)
                case "softbreak":
                    parts.append(" ")
                case "hardbreak":
                    parts.append("\n")
                case "link_open":
                    anchors.append((str(child.attrs.get("href", "")), len(parts)))
                case "link_close" if anchors:
                    target, start = anchors.pop()
                    if shown := "".join(parts[start:]).strip():
                        links.append(Link(text=shown, target=target))
                case "image":
                    alternative = self._text(child.children or [])[0] if child.children else child.content
                    if self.cells is not None:
                        parts.append(alternative)
                    elif alternative:
                        images.append(alternative)
                    else:
                        self.part.dropped["image_without_alt"] += 1
                case "html_inline":
                    if _BLANK.fullmatch(child.content):
                        parts.append("\n")
                    else:
                        self.part.dropped["html_tag"] += 1
        return "".join(parts).strip(), links, images

    def _html(self, source: str) -> None:
        walk, _, _ = parse(source)
        found = MarkdownPart(walk.blocks, walk.tables, walk.refs, walk.dropped, walk.warnings)
        self.part.add(found)

    def _table(self, token: Token) -> None:
        match token.type:
            case "table_open":
                self.cells, self.row, self.header_rows, self.table_links = [], 0, 0, []
            case "thead_open":
                self.header_rows = 1
            case "tr_open":
                self.col = 0
            case "tr_close":
                self.row += 1
            case "th_close" | "td_close":
                self.col += 1
            case "table_close" if self.cells is not None:
                columns = max((cell.col + 1 for cell in self.cells), default=0)
                named = any(cell.text for cell in self.cells if cell.row == 0)
                table = Table(
                    n_rows=self.row, n_cols=columns, header_rows=int(named and self.row > 1), cells=self.cells
                )
                self.part.blocks.append(
                    Block(
                        kind=BlockKind.TABLE,
                        text="",
                        table=len(self.part.tables),
                        links=self.table_links,
                        source=BlockSource.MARKUP,
                    )
                )
                self.part.tables.append(table)
                self.cells = None


def _moved(block: Block, table: int) -> Block:
    return Block(kind=block.kind, text=block.text, table=table, links=block.links, source=block.source)
