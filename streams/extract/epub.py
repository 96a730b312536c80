"""EPUB 2 and 3: chapters in the order of the spine, under the headings of the table of contents.

Protected books are told. Chapters go through the walk of HTML, with the rules of books instead of those of web sites.
"""

from __future__ import annotations

import posixpath
from collections import Counter

import msgspec

from streams.errors import DocumentError
from streams.extract.epub_chapter import ChapterWalker, chapter
from streams.extract.epub_package import PAGES, Book, Entry, Item, local, read_book, resolve, words_of
from streams.extract.html_walk import Walk
from streams.extract.ooxml import Package, parse_xml
from streams.extract.outcome import Draft, Request
from streams.records import Block, BlockKind, BlockSource, Dropped, Table

LOOK_AHEAD = 6
"""Blocks behind the place of an entry of the table of contents in which its heading is looked for."""
MAX_HEADING = 200
_SVG_WORDS = frozenset({"title", "desc", "text"})


class _Reader:
    """Puts the chapters of a book behind each other."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.tables: list[Table] = []
        self.refs: dict[int, int] = {}
        self.dropped: Counter[str] = Counter()
        self.warnings: set[str] = set()
        self.files: dict[str, int] = {}  # path in lower case -> index of its first block
        self.places: dict[tuple[str, str], int] = {}  # the same of each id in it
        self.notes: dict[tuple[str, str], int] = {}
        self.breaks: list[str] = []
        self.read = 0

    def add(self, item: Item, data: bytes) -> None:
        walk, walker = chapter(data)
        self._append(item.path.lower(), walk, walker)
        self.read += 1

    def _append(self, path: str, walk: Walk, walker: ChapterWalker) -> None:
        start, tables = len(self.blocks), len(self.tables)
        self.files[path] = start
        for block in walk.blocks:
            moved = block if block.table is None else msgspec.structs.replace(block, table=block.table + tables)
            self.blocks.append(moved)
        self.tables += walk.tables
        self.refs |= {source + start: target + start for source, target in walk.refs.items()}
        self.dropped.update(walk.dropped)
        self.warnings |= walk.warnings
        self.breaks += walker.breaks
        for name, place in walker.places.items():
            self.places[path, name] = start + place
            if name in walker.notes:
                self.notes[path, name] = start + place

    def bind_notes(self) -> None:
        """A note belongs to the first block outside of it that links to it."""
        starts = sorted((start, path) for path, start in self.files.items())
        path, following = "", 0
        for index, block in enumerate(self.blocks):
            while following < len(starts) and starts[following][0] <= index:
                path, following = starts[following][1], following + 1
            for link in block.links if block.kind is not BlockKind.FOOTNOTE else ():
                target, fragment = resolve(posixpath.dirname(path), link.target)
                note = self.notes.get(((target or path).lower(), fragment))
                if note is not None and note < len(self.blocks) and self.blocks[note].kind is BlockKind.FOOTNOTE:
                    self.refs.setdefault(note, index)
                    if self.blocks[note].marker in (None, "•"):
                        self.blocks[note] = msgspec.structs.replace(self.blocks[note], marker=link.text[:20] or None)

    def follow(self, outline: list[Entry]) -> int:
        """Gives headings the levels of the table of contents; how many of its entries lead nowhere.

        A heading below an entry's, which no entry names, keeps its distance to it.
        """
        levels: dict[int, int] = {}
        lost = 0
        for entry in outline:
            path = entry.path.lower()
            place = self.places.get((path, entry.fragment)) if entry.fragment else None
            place = self.files.get(path) if place is None else place
            if not entry.path:
                continue  # a part of the contents without a page of its own
            if place is None:
                lost += 1
            elif (found := self._heading(entry.label, place)) is not None:
                levels.setdefault(found, entry.level)
        own = level = 0
        for index, block in enumerate(self.blocks):
            if index in levels:
                own, level = block.level or levels[index], levels[index]
                self.blocks[index] = msgspec.structs.replace(block, kind=BlockKind.HEADING, level=level, marker=None)
            elif block.kind is BlockKind.HEADING and level:
                below = level + max(1, (block.level or 1) - own) if (block.level or 1) > own else level
                self.blocks[index] = msgspec.structs.replace(block, level=below)
        return lost

    def _heading(self, label: str, place: int) -> int | None:
        """The block near a place that says what the table of contents says; else the heading right at the place."""
        wanted = _letters(label)
        near = range(place, min(place + LOOK_AHEAD, len(self.blocks)))
        fit = (BlockKind.HEADING, BlockKind.PARAGRAPH)
        for index in near:
            block = self.blocks[index]
            if block.kind in fit and len(block.text) <= MAX_HEADING and wanted and _letters(block.text) == wanted:
                return index
        for index in near:
            if self.blocks[index].kind is BlockKind.HEADING:
                text = _letters(self.blocks[index].text)
                return index if text and (text in wanted or wanted in text) else None
        return None


def _letters(text: str) -> str:
    return "".join(c for c in text.casefold() if c.isalnum())


def extract(request: Request) -> Draft:
    """The text of a book.

    Errors: DocumentError `encrypted` where the book is protected, `corrupt` where no chapter can be read, and those of
    `Package`.
    """
    with Package(request.path) as package:
        book = read_book(package)
        reader = _Reader()
        for item in book.chapters:
            _read(package, item, reader)
        if not reader.read and not reader.blocks:
            raise DocumentError("corrupt", "No chapter of the book can be read.")
        warnings = [*package.warnings, *sorted(reader.warnings)]
    warnings = [one for one in warnings if one != "doctype_ignored"]  # every NCX and page of EPUB 2 has one
    reader.bind_notes()
    if reader.follow(book.outline):
        warnings.append("outline_target_missing")
    return _draft(book, reader, [*request.detection.warnings, *warnings])


def _read(package: Package, item: Item, reader: _Reader) -> None:
    """One file of the spine. A damaged one does not cost the others; bombs end the document."""
    try:
        data = package.read(item.path)
    except DocumentError as error:
        if error.problem not in ("corrupt", "truncated"):
            raise
        package.warn("part_damaged")
        return
    if item.media_type.startswith("image/"):
        reader.files[item.path.lower()] = len(reader.blocks)
        reader.blocks += _drawing(package, item, data)
        return
    if item.media_type not in PAGES:
        package.warn("wrong_media_type")
        if b"<" not in data[:1000]:
            return
    reader.add(item, data)


def _drawing(package: Package, item: Item, data: bytes) -> list[Block]:
    """A picture of the spine; of SVG its title and description, and each of its texts (SVG 2, sections 5.8 and 11)."""
    about: list[str] = []
    texts: list[str] = []
    if item.media_type == "image/svg+xml":
        try:
            root = parse_xml(data, item.path)
        except DocumentError:
            package.warn("part_damaged")
        else:
            for element in root.iter("*"):
                words = words_of(element) if local(element) in _SVG_WORDS else ""
                if words:
                    (texts if local(element) == "text" else about).append(words)
    blocks = [Block(kind=BlockKind.FIGURE, text="\n".join(about), source=BlockSource.MARKUP)]
    return [*blocks, *(Block(kind=BlockKind.PARAGRAPH, text=one, source=BlockSource.MARKUP) for one in texts)]


def _draft(book: Book, reader: _Reader, warnings: list[str]) -> Draft:
    if reader.breaks:
        book.metadata["print_pages"] = str(len(reader.breaks))
    return Draft(
        blocks=reader.blocks,
        tables=reader.tables,
        refs=reader.refs,
        title=book.title,
        authors=book.authors,
        created=book.created,
        modified=book.modified,
        language=book.language,
        metadata=book.metadata,
        warnings=list(dict.fromkeys(warnings)),
        dropped=[Dropped(what=what, count=count) for what, count in sorted(reader.dropped.items()) if count],
    )
