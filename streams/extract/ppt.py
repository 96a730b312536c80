"""Binary presentations (PPT, PPS, POT of PowerPoint 97 to 2003): each slide a page, with its notes and what hides.

Reads the file itself: the programs that read it give texts without slides, titles, tables or notes.
"""

from __future__ import annotations

import struct
from collections import Counter
from typing import BinaryIO

import msgspec

from streams.decode.unpack.compound import Compound, CompoundError, Entry
from streams.errors import DocumentError
from streams.extract.ole_properties import describe
from streams.extract.outcome import Draft, Request
from streams.extract.pdf_info import parse_title
from streams.extract.ppt_objects import EMBEDDED, Charts
from streams.extract.ppt_records import Objects, Record, records, string, tagged
from streams.extract.ppt_shapes import MASTER_UNITS, Shape, shapes_of
from streams.extract.ppt_slide import Deck
from streams.extract.ppt_styles import NUMBERINGS, Numbering, read_numberings
from streams.extract.ppt_text import Body, read_bodies
from streams.extract.windows_languages import iso_code
from streams.records import FURNITURE, Block, BlockKind, BlockSource, Dropped, Page

MAX_BYTES = 300 * 1024 * 1024
"""Bytes of the stream of records; pictures lie in another one."""
MAX_LISTED = 100
"""Hidden slides that the metadata list."""
_STREAM, _USER, _DUAL = "PowerPoint Document", "Current User", "PP97_DUALSTORAGE"
_OLD_TEXT = "Text_Content"
_ENCRYPTED = 0xF3D1C4DF
_DOCUMENT, _DOCUMENT_ATOM, _SLIDE, _SLIDE_ATOM, _MASTER, _NOTES = 0x03E8, 0x03E9, 0x03EE, 0x03EF, 0x03F8, 0x03F0
_SLIDE_LIST, _SLIDE_PERSIST, _SHOW_INFO = 0x0FF0, 0x03F3, 0x03F9
_SLIDES, _MASTERS, _NOTES_LIST = 0, 1, 2
_HEADERS, _HEADERS_ATOM, _STRING = 0x0FD9, 0x0FDA, 0x0FBA
_LINKS, _LINK, _LINK_ATOM = 0x0409, 0x0FD7, 0x0FD3
_TAGS, _COMMENT = 0x1388, 0x2EE0
_EDIT = 0x0FF5
_ENVIRONMENT, _FONTS, _FONT = 0x03F2, 0x07D5, 0x0FB7
_LIST, _OUTLINE, _OUTLINE_HEAD = 0x07D0, 0x0FAE, 0x0FAF
_DROPPED = {"empty_tables": "empty_tables", "embedded": "embedded_files", "too_many": "slides_over_limit",
            "symbols": "unmapped_symbols"}  # fmt: skip


def extract(request: Request) -> Draft:
    """The slides of a presentation, in its order.

    Errors: DocumentError `encrypted`, `corrupt`, `too_large`, or `unsupported_format` (PowerPoint 4). Of PowerPoint 95
    only the words are read, with a warning `formatting_not_read`. Slides that can't be found are a warning
    `part_missing`; `repaired` says that the newest save could not be found.
    """
    with request.path.open("rb") as file:
        compound = _compound(file, request.path.stat().st_size)
        old = compound.root.stream(_OLD_TEXT)
        draft = _newer(compound, request) if old is None else _old(compound.read(old, MAX_BYTES))
        shown = draft.title
        describe(compound, draft)
        draft.title = parse_title(draft.title or "") or shown
        return draft


def _compound(file: BinaryIO, size: int) -> Compound:
    try:
        return Compound(file, size)
    except CompoundError as error:
        raise DocumentError("corrupt", str(error)) from error


def _newer(compound: Compound, request: Request) -> Draft:
    """A presentation of PowerPoint 97 or later, also where one of PowerPoint 95 stands beside it."""
    dual = compound.root.get(_DUAL)
    place = dual if dual is not None and dual.stream(_STREAM) is not None else compound.root
    entry = place.stream(_STREAM)
    if any(compound.root.stream(name) is not None for name in ("EncryptedSummary", "EncryptedPackage")):
        raise DocumentError("encrypted", "The presentation needs a password.")
    if entry is None and compound.root.stream("PP40") is not None:
        raise DocumentError("unsupported_format", "A presentation of PowerPoint 4.")
    if entry is None:
        raise DocumentError("corrupt", f"The file has no stream {_STREAM}.")
    if entry.size > MAX_BYTES and compound.available(entry) > MAX_BYTES:
        raise DocumentError("too_large", f"It has {entry.size} bytes of records; the limit is {MAX_BYTES}.")
    newest = _newest_edit(compound, place.stream(_USER))
    return _Presentation(compound.read(entry, MAX_BYTES), newest, request).draft()


def _old(text: bytes) -> Draft:
    """PowerPoint 95 keeps the words of all slides in a stream of their own; its records are not read."""
    lines = [line for line in text.decode("cp1252", "replace").replace("\x0b", "\n").split("\r") if line.strip()]
    blocks = [Block(kind=BlockKind.PARAGRAPH, text=line, source=BlockSource.MARKUP) for line in lines]
    return Draft(blocks=blocks, warnings=["formatting_not_read"])


def _newest_edit(compound: Compound, user: Entry | None) -> int:
    """[MS-PPT] 2.3.2, CurrentUserAtom; -1 where it is not there."""
    atom = b"" if user is None else compound.read(user, 64)
    if len(atom) < 20:
        return -1
    token, edit = struct.unpack_from("<II", atom, 12)
    if token == _ENCRYPTED:
        raise DocumentError("encrypted", "The presentation needs a password.")
    return int(edit)


class _Presentation:
    def __init__(self, data: bytes, newest: int, request: Request) -> None:
        self._data, self._request = data, request
        self._warnings: set[str] = set()
        self._counts: Counter[str] = Counter()
        self._objects = Objects(data, newest)
        if self._objects.is_encrypted:
            raise DocumentError("encrypted", "The presentation needs a password.")
        document = self._objects.document
        if document is None or document.kind != _DOCUMENT:
            document = self._search(newest)
        self._document = document
        charts = Charts(self._objects)
        self._deck = Deck(self._read_listed(charts), charts.found, self._fonts(), self._counts)
        if charts.is_cut:
            self._warnings.add("chart_values_not_read")
        self._masters = {identifier: number for number, identifier, _ in self._listed(_MASTERS)}
        self._notes = {identifier: number for number, identifier, _ in self._listed(_NOTES_LIST)}
        self._hidden: list[int] = []

    def _search(self, newest: int) -> Record:
        """The document where what leads to it is damaged: by the last edit that is in the stream, or the last one."""
        top = list(records(self._data, 0, len(self._data)))
        for edit in reversed([one for one in top if one.kind == _EDIT and one.start - 8 != newest]):
            self._objects = Objects(self._data, edit.start - 8)
            found = self._objects.document
            if found is not None and found.kind == _DOCUMENT:
                self._warnings.add("repaired")
                return found
        found = next((one for one in reversed(top) if one.kind == _DOCUMENT), None)
        if found is None or found.find(_DOCUMENT_ATOM) is None:
            raise DocumentError("corrupt", "The file has no presentation that can be read.")
        self._warnings.add("repaired")
        return found

    def draft(self) -> Draft:
        """All of it."""
        width, height = self._size()
        slides = self._slides()
        self._counts["too_many"] = max(0, len(slides) - self._request.max_pages)
        if self._counts["too_many"]:
            self._warnings.add("page_limit")
        pages: list[Page] = []
        title: str | None = None
        shown = slides[: self._request.max_pages]
        for number, (slide, bodies) in enumerate(shown, 1):
            start, first_table = len(self._deck.blocks), len(self._deck.tables)
            heading = self._slide(number, slide, bodies)
            blocks = self._deck.blocks[start:]
            if title is None and self._deck.blocks[heading].bbox is not None:
                title = self._deck.blocks[heading].text
            characters = sum(len(block.text) for block in blocks if block.kind not in FURNITURE and not block.hidden)
            characters += sum(len(cell.text) for table in self._deck.tables[first_table:] for cell in table.cells)
            if not self._deck.has_words(start + 1) and self._deck.blocks[heading].bbox is None:
                self._deck.blocks[heading] = msgspec.structs.replace(self._deck.blocks[heading], text="")
                characters = 0
            pages.append(
                Page(number=number, width=width, height=height, characters=characters, source=BlockSource.MARKUP)
            )
        draft = Draft(blocks=self._deck.blocks, tables=self._deck.tables, refs=self._deck.refs, pages=pages)
        draft.page_count = len(slides)
        draft.title = title
        self._account(draft)
        return draft

    # --- what the document lists ---------------------------------------------------------------------------------

    def _listed(self, instance: int) -> list[tuple[int, int, list[Record]]]:
        """[MS-PPT] 2.4.14: number of the object, identifier, and the records of its texts, of each slide or master."""
        found: list[tuple[int, int, list[Record]]] = []
        for one in self._document.all(_SLIDE_LIST):
            if one.instance != instance:
                continue
            for record in one.inside():
                if record.kind == _SLIDE_PERSIST and record.end - record.start >= 16:
                    number, _, _, identifier = struct.unpack_from("<4I", record.data, record.start)
                    found.append((number, identifier, []))
                elif found:
                    found[-1][2].append(record)
        return found

    def _slides(self) -> list[tuple[Record | None, list[Body]]]:
        """Each slide with the texts that the document lists for it; without a list, all slides of the stream."""
        listed = self._listed(_SLIDES)
        if not listed:
            top = records(self._data, 0, len(self._data))
            return [(one, []) for one in top if one.kind == _SLIDE]
        found: list[tuple[Record | None, list[Body]]] = []
        seen: set[int] = set()
        numberings = self._outline_numberings()
        for number, identifier, texts in listed:
            slide = self._objects.get(number)
            if slide is None or slide.kind != _SLIDE:
                self._warnings.add("part_missing")
                slide = None
            if slide is not None and slide.start in seen:
                continue
            if slide is not None:
                seen.add(slide.start)
            bodies = read_bodies(texts)
            for body in bodies:
                own = numberings.get((identifier, body.kind))
                body.numberings = own.pop(0) if own else []
            found.append((slide, bodies))
        return found

    def _outline_numberings(self) -> dict[tuple[int, int], list[list[Numbering | None]]]:
        """[MS-PPT] 2.9.64: automatic numbers of the texts that the document lists, by slide and type of text."""
        found: dict[tuple[int, int], list[list[Numbering | None]]] = {}
        key = 0, 0
        lists = self._document.find(_LIST)
        for outline in tagged(lists, _OUTLINE) if lists is not None else ():
            for one in outline.inside():
                if one.kind == _OUTLINE_HEAD and one.end - one.start >= 8:
                    key = struct.unpack_from("<II", one.data, one.start)
                elif one.kind == NUMBERINGS:
                    found.setdefault(key, []).append(read_numberings(one.content()))
        return found

    def _size(self) -> tuple[float, float]:
        atom = self._document.find(_DOCUMENT_ATOM)
        if atom is None or atom.end - atom.start < 8:
            return 720.0, 540.0
        width, height = struct.unpack_from("<2i", atom.data, atom.start)
        return max(width, 0) / MASTER_UNITS, max(height, 0) / MASTER_UNITS

    def _fonts(self) -> dict[int, str]:
        """Number of each font -> its name ([MS-PPT] 2.9.8)."""
        environment = self._document.find(_ENVIRONMENT)
        listed = None if environment is None else environment.find(_FONTS)
        return {
            one.instance: string(one).partition("\0")[0] for one in (listed.all(_FONT) if listed is not None else ())
        }

    def _read_listed(self, charts: Charts) -> dict[int, str]:
        """Number of each link -> its target ([MS-PPT] 2.10.16); the charts go to `charts`."""
        found: dict[int, str] = {}
        listed = self._document.find(_LINKS)
        for one in listed.inside() if listed is not None else ():
            if one.kind == EMBEDDED and not charts.add(one):
                self._counts["embedded"] += 1
            atom = one.find(_LINK_ATOM) if one.kind == _LINK else None
            if atom is None:
                continue
            target, place = string(one.find(_STRING, 1)), string(one.find(_STRING, 3))
            if target or place:
                found[int.from_bytes(atom.content()[:4], "little")] = f"{target}#{place}" if place else target
        return found

    # --- slides --------------------------------------------------------------------------------------------------

    def _slide(self, number: int, slide: Record | None, bodies: list[Body]) -> int:
        if slide is None:
            return self._deck.add_slide(number, [], [], bodies, hidden=False)
        info = slide.find(_SHOW_INFO)
        hidden = info is not None and info.end - info.start >= 12 and bool(info.data[info.start + 10] & 4)
        if hidden:
            self._hidden.append(number)
        atom = slide.find(_SLIDE_ATOM)
        master, notes, flags = 0, 0, 0
        if atom is not None and atom.end - atom.start >= 22:
            master, notes, flags = struct.unpack_from("<IIH", atom.data, atom.start + 12)
        shapes = shapes_of(slide, bodies)
        heading = self._deck.add_slide(number, shapes, self._notes_of(notes), bodies, hidden=hidden)
        if flags & 1:
            self._from_master(number, master)
        for kind, text in self._headers(slide):
            self._deck.furniture(number, kind, text)
        for tags in slide.all(_TAGS):
            for comment in tags.anywhere(_COMMENT):
                text = string(comment.find(_STRING, 1))
                if text:
                    self._deck.comment(number, string(comment.find(_STRING, 0)), text, heading)
        return heading

    def _notes_of(self, identifier: int) -> list[Shape]:
        record = self._objects.get(self._notes.get(identifier, -1)) if identifier else None
        return shapes_of(record, []) if record is not None and record.kind == _NOTES else []

    def _from_master(self, number: int, identifier: int) -> None:
        """Texts that stand on the master for every slide to show, once."""
        object_number = self._masters.pop(identifier, None)
        master = None if object_number is None else self._objects.get(object_number)
        for shape in shapes_of(master, []) if master is not None else ():
            if shape.placeholder is None and not shape.is_hidden:
                for body in shape.bodies:
                    for paragraph in body.paragraphs({}):
                        self._deck.furniture(number, BlockKind.BOILERPLATE, paragraph.text)

    def _headers(self, slide: Record) -> list[tuple[BlockKind, str]]:
        """Date, header and footer as the slide or the document sets them ([MS-PPT] 2.4.15)."""
        headers = slide.find(_HEADERS) or self._document.find(_HEADERS, 3)
        atom = None if headers is None else headers.find(_HEADERS_ATOM)
        if headers is None or atom is None or atom.end - atom.start < 4:
            return []
        flags = atom.data[atom.start + 2]
        return [
            (kind, string(headers.find(_STRING, instance)))
            for bit, instance, kind in (
                (4, 0, BlockKind.PAGE_FOOTER),
                (16, 1, BlockKind.PAGE_HEADER),
                (32, 2, BlockKind.PAGE_FOOTER),
            )
            if flags & bit
        ]

    # --- the presentation ----------------------------------------------------------------------------------------

    def _account(self, draft: Draft) -> None:
        """Says what was hidden or left out."""
        counts = self._counts
        if self._hidden:
            self._warnings.add("hidden_slides")
            draft.metadata["hidden_slides"] = ", ".join(map(str, self._hidden[:MAX_LISTED]))
        if counts["hidden"]:
            self._warnings.add("hidden_text")
            draft.metadata["hidden_characters"] = str(counts["hidden"])
        if counts["embedded"]:
            self._warnings.add("embedded_not_read")
        if counts["approximated"]:
            self._warnings.add("number_format_approximated")
        if counts["empty_charts"]:
            self._warnings.add("chart_values_not_read")
        if counts["pictures"]:
            draft.metadata["pictures"] = str(counts["pictures"])
        ranked = sorted(self._deck.languages.items(), key=lambda pair: (-pair[1], pair[0]))
        draft.language = next((code for number, _ in ranked if (code := iso_code(number))), None)
        draft.dropped = [Dropped(what=what, count=counts[key]) for key, what in _DROPPED.items() if counts[key]]
        draft.warnings = list(dict.fromkeys([*self._request.detection.warnings, *sorted(self._warnings)]))
