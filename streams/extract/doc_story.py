"""Walks through the characters of a Word file and makes paragraphs and tables of them, as RTF's reader does.

Source: [MS-DOC] 2.4.3 (tables), 2.4.5 (paragraphs), 2.16.25 (fields), 2.6.1 (special characters).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from streams.extract.doc_drawings import picture_text
from streams.extract.doc_forms import read_form
from streams.extract.doc_hanging import Hanging, Hangings
from streams.extract.doc_lists import OldLists
from streams.extract.doc_sprms import HUGE, Look, Paragraph, change_paragraph, changes, look
from streams.extract.doc_styles import Font, StyleSheet
from streams.extract.doc_text import Run, Text
from streams.extract.docx_numbering import Numbering
from streams.extract.docx_symbols import readable, symbol
from streams.extract.raised import Scripts
from streams.extract.rtf_charsets import SYMBOLS, charset_codec, decode
from streams.extract.rtf_fields import Field
from streams.extract.rtf_story import Figure, Item, Note, ParagraphRules, Story
from streams.extract.sheet_model import Drawn

_SIGNS = re.compile("[\x00-\x08\x0a-\x1f]")
_SHOWN = {"\x0b": "\n", "\x0e": "\n", "\x1e": "\u2011", "\x1f": "\u00ad", "\n": "\n"}
_BEGIN, _SEPARATE, _END = "\x13", "\x14", "\x15"
_CACHE = 20_000
MAX_FIELDS = 64
"""Fields in fields."""


@dataclass(slots=True)
class Source:
    """All of a document that its stories need."""

    text: Text
    styles: StyleSheet
    fonts: list[Font]
    numbering: Numbering
    old_lists: OldLists
    codec: str
    is_old: bool
    data: bytes  # the stream Data
    hangings: Hangings
    counts: Counter[str]
    languages: Counter[int]
    charts: dict[int, Drawn] = field(default_factory=dict)  # by the number of their object
    floating: dict[int, str] = field(default_factory=dict)  # figures by the character that they float at


class Reader:
    """Reads stories; what properties mean is remembered from one to the next."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._looks: dict[tuple[int, bytes, bytes], Look] = {}
        self._paragraphs: dict[tuple[bytes, bytes], Paragraph] = {}
        self._revised: tuple[bool, bool] = (False, False)

    def items(self, start: int, end: int, *, is_body: bool = False) -> list[Item]:
        """Paragraphs and tables of the characters from `start` up to `end`; notes and boxes only hang on the body."""
        items: list[Item] = []
        _Walk(self, Story(items.append), start, end, is_body=is_body).walk()
        return items

    def look(self, run: Run, style: int) -> Look:
        """How the characters of a run look in a paragraph of this style."""
        key = (style, run.properties, run.piece_changes)
        found = self._looks.get(key)
        if found is None:
            styles, is_old = self.source.styles, self.source.is_old
            found = look(run.properties, styles.look(style), styles.character, is_old=is_old)
            if run.piece_changes:
                found = look(run.piece_changes, found, styles.character, is_old=is_old)
            if len(self._looks) >= _CACHE:
                self._looks.clear()
            self._looks[key] = found
        return found

    def paragraph(self, run: Run, offset: int) -> Paragraph:
        """The properties of the paragraph whose mark is at an offset of the stream, in this run."""
        raw = self.source.text.paragraph(offset)
        key = (raw, run.piece_changes)
        found = self._paragraphs.get(key)
        if found is None:
            style = int.from_bytes(raw[:2], "little")
            found = self.source.styles.paragraph(style)
            for part in (self._whole(raw[2:]), run.piece_changes):
                change_paragraph(found, part, is_old=self.source.is_old)
            if found.style != style:  # a piece changed it
                base = self.source.styles.paragraph(found.style)
                for part in (self._whole(raw[2:]), run.piece_changes):
                    change_paragraph(base, part, is_old=self.source.is_old)
                found = base
            if len(self._paragraphs) >= _CACHE:
                self._paragraphs.clear()
            self._paragraphs[key] = found
        return found

    def _whole(self, data: bytes) -> bytes:
        """A list of sprms that fits in no page stands in the stream Data, with its length before it."""
        if self.source.is_old:
            return data
        for number, operand in changes(data, is_old=False):
            if number in HUGE:
                at = int.from_bytes(operand, "little")
                size = int.from_bytes(self.source.data[at : at + 2], "little")
                return data + self.source.data[at + 2 : at + 2 + size]
        return data

    def revision(self, found: Look) -> None:
        """Counts changes: neighbouring characters are one."""
        was_inserted, was_deleted = self._revised
        self.source.counts["deleted"] += found.deleted and not was_deleted
        self.source.counts["inserted"] += found.inserted and not found.deleted and not was_inserted
        self._revised = (found.inserted, found.deleted)

    def decoded(self, data: bytes, width: int, found: Look) -> str:
        """The text of some characters."""
        source = self.source
        font = source.fonts[found.font] if found.font < len(source.fonts) else Font()
        if width == 2:
            text, lost = readable(data.decode("utf-16-le", "surrogatepass"), font.name)
            source.counts["symbols"] += lost
            return text
        if not source.is_old:
            return data.decode("cp1252", "replace")
        # on the Windows of then, "ANSI" was the code page of the country
        codec = source.codec if font.charset == 0 else charset_codec(font.charset, source.codec)
        text, lost, _ = decode(data, codec if codec != SYMBOLS else source.codec, font.name, raw=False)
        source.counts["undecoded"] += lost
        return text


class _Walk:
    """One story."""

    def __init__(self, reader: Reader, story: Story, start: int, end: int, *, is_body: bool) -> None:
        self._reader, self._source, self._story = reader, reader.source, story
        self._start, self._end, self._is_body = start, end, is_body
        self._scripts = Scripts()
        self._fields: list[tuple[Field, bool, list[str]]] = []  # with whether its instruction is over, and that
        self._goes_on = False  # a page break stood in the paragraph, which had its marker before it
        self._style = 0

    def walk(self) -> None:
        """Reads all of it; what is open at the end counts as ended."""
        ends = self._matched()
        last = Paragraph()
        for run in self._source.text.runs(self._start, self._end):
            last = self._reader.paragraph(run, run.offset)
            found = self._reader.look(run, last.style)
            for place, offset, sign, data in _signs(run):
                # a run goes over the ends of paragraphs where these look alike
                if offset != run.offset:
                    paragraph = self._reader.paragraph(run, offset)
                    if paragraph.style != last.style:
                        found = self._reader.look(run, paragraph.style)
                    last = paragraph
                if sign:
                    self._sign(sign, place, last, found, ends)
                else:
                    self._text(data, run.width, found)
                if self._is_body:
                    count = max(1, len(data) // run.width)
                    self._hang(self._source.hangings.between(place, place + count), found)
        self._story.close(ParagraphRules())

    def _matched(self) -> set[int]:
        """Characters that begin or end a field whose other end is there: a lone one hides nothing."""
        found: set[int] = set()
        waiting: list[int] = []
        for run in self._source.text.runs(self._start, self._end):
            if b"\x13" not in run.data and b"\x15" not in run.data:
                continue
            for place, _, sign, _ in _signs(run):
                if sign == _BEGIN:
                    waiting.append(place)
                elif sign == _END and waiting:
                    begin = waiting.pop()
                    if len(waiting) < MAX_FIELDS:
                        found |= {begin, place}
        return found

    # --- text ----------------------------------------------------------------------------------------------------

    def _instructed(self) -> list[str] | None:
        """The innermost field's instruction, if that is what is being read."""
        for _, is_over, instruction in self._fields:
            if not is_over:
                return instruction
        return None

    def _text(self, data: bytes, width: int, found: Look) -> None:
        text = self._reader.decoded(data, width, found)
        instruction = self._instructed()
        if instruction is not None:
            instruction.append(text)
            return
        if found.symbol is not None and found.special:  # the character is "(" whatever is shown
            font, code = found.symbol
            name = self._source.fonts[font].name if font < len(self._source.fonts) else None
            text = text.replace("(", symbol(name, code) or "\ufffd")
        self._show(text, found)

    def _show(self, text: str, found: Look) -> None:
        self._reader.revision(found)
        if found.deleted:
            return
        paragraph = self._story.paragraph
        self._scripts.put(paragraph.hidden_parts if found.hidden else paragraph.parts, text, found.place)
        if found.hidden:
            return
        letters = sum(sign.isalnum() for sign in text[:100])
        if letters:
            self._source.languages[found.language] += len(text)
        if found.bold:
            paragraph.bold += letters
        else:
            paragraph.plain += letters

    def _sign(self, sign: str, place: int, rules: Paragraph, found: Look, ends: set[int]) -> None:
        if sign in (_BEGIN, _SEPARATE, _END):
            self._field(sign, place, found, ends)
        elif (instruction := self._instructed()) is not None:
            if sign == "\x01" and found.data and self._fields:
                self._fields[-1][0].form = read_form(self._source.data, found.picture)
            elif sign in "\r\x07\x0c":
                instruction.append(" ")
        elif sign == "\r":
            self._paragraph_end(rules, found)
        elif sign == "\x07":
            self._cell_end(rules)
        elif sign == "\x0c":
            self._break(rules)
        elif sign == "\x01" and found.special and not found.data:
            self._picture(found)
        elif sign == "\x08" and self._is_body and place in self._source.floating:
            self._figure(Figure(self._source.floating[place]), found)
        elif sign in _SHOWN:
            self._show(_SHOWN[sign], found)

    def _picture(self, found: Look) -> None:
        number = self._fields[-1][0].object if self._fields else 0
        chart = self._source.charts.get(number)
        if chart is not None:
            self._source.counts["empty_charts"] += chart.table is None
            self._figure(Figure(chart.text, chart.table), found)
            return
        self._source.counts["objects" if number or found.object else "pictures"] += 1
        self._figure(Figure(picture_text(self._source.data, found.picture)), found)

    def _figure(self, figure: Figure, found: Look) -> None:
        if not found.hidden and not found.deleted:
            self._story.paragraph.figures.append(figure)

    # --- fields --------------------------------------------------------------------------------------------------

    def _field(self, sign: str, place: int, look: Look, ends: set[int]) -> None:
        if sign == _BEGIN and place in ends:
            self._fields.append((Field(), False, []))
        elif sign == _SEPARATE and self._fields:
            found, is_over, instruction = self._fields.pop()
            if not is_over:
                found.instruction = "".join(instruction).strip()
            self._fields.append((found, True, instruction))
            found.object = look.picture if look.object else 0
            if self._instructed() is None:
                self._scripts.cut()
                found.begin(self._story.paragraph)
        elif sign == _END and place in ends and self._fields:
            found, is_over, instruction = self._fields.pop()
            if not is_over:
                found.instruction = "".join(instruction).strip()
            if self._instructed() is None:
                if not is_over:
                    found.begin(self._story.paragraph)
                found.end(self._story.paragraph)
                self._scripts.cut()

    # --- paragraphs and tables -----------------------------------------------------------------------------------

    def _paragraph_end(self, paragraph: Paragraph, found: Look) -> None:
        rules = self._rules(paragraph)
        self._mark(paragraph, rules)
        if paragraph.inner_row_end:
            self._story.end_row(paragraph.row, nested=True)
        elif paragraph.inner_cell:
            self._story.end_cell(rules, nested=True)
        elif found.deleted:
            self._reader.revision(found)
        else:
            self._story.end_paragraph(rules)
        self._goes_on = False

    def _cell_end(self, paragraph: Paragraph) -> None:
        rules = self._rules(paragraph)
        if paragraph.row_end:
            self._story.end_row(paragraph.row, nested=False)
        elif paragraph.in_table or paragraph.depth:
            self._mark(paragraph, rules)
            self._story.end_cell(rules, nested=False)
        else:  # a cell where no table is
            self._story.end_paragraph(rules)
        self._goes_on = False

    def _break(self, paragraph: Paragraph) -> None:
        """The end of a page or a section, which is the end of a paragraph only if it stands alone or behind text."""
        if self._story.paragraph.is_empty():
            return
        rules = self._rules(paragraph)
        self._mark(paragraph, rules)
        self._story.end_paragraph(rules)
        self._goes_on = True

    def _rules(self, paragraph: Paragraph) -> ParagraphRules:
        return ParagraphRules(
            style=paragraph.style,
            outline=paragraph.outline,
            in_table=int(paragraph.in_table),
            depth=min(paragraph.depth, 1 << 15) if paragraph.depth else None,
            list_id=_list_of(paragraph) or 0,
            list_level=paragraph.list_level or 0,
        )

    def _mark(self, paragraph: Paragraph, rules: ParagraphRules) -> None:
        """The number or bullet of a paragraph, which counts even where there is no text."""
        if self._goes_on:
            return
        if self._source.is_old:
            if paragraph.number_text and paragraph.list_level:
                self._story.paragraph.marker = self._source.old_lists.marker(
                    paragraph.number_text, paragraph.list_level
                )
                rules.list_level = max(0, paragraph.list_level - 1) if paragraph.list_level < 10 else 0
            else:
                rules.list_level = 0
                if not self._story.paragraph.is_empty():
                    self._source.old_lists.interrupted()
            return
        number = _list_of(paragraph)
        if number:
            self._story.paragraph.marker = self._source.numbering.marker(number, paragraph.list_level or 0)

    # --- what hangs on the text ----------------------------------------------------------------------------------

    def _hang(self, hangings: list[Hanging], found: Look) -> None:
        for hanging in hangings:
            items = self._reader.items(hanging.start, hanging.end)
            if found.deleted or not items:
                continue
            paragraph = self._story.paragraph
            if hanging.kind is None:
                paragraph.boxes.append(items)
                continue
            marker = "" if hanging.is_numbered else None
            paragraph.notes.append(Note(hanging.kind, items, marker, hanging.author, hanging.is_endnote))


def _list_of(paragraph: Paragraph) -> int | None:
    """[MS-DOC] 2.6.2, sprmPIlfo: 0 and 0xF801 are no list."""
    number = paragraph.list_number
    return number if number and number <= 0x7FE else None


def _signs(run: Run) -> Iterator[tuple[int, int, str, bytes]]:
    """A run as text and signs: number of the first character, offset in the stream, the sign or "", and the bytes.

    A character of 16 bits counts as one, also where two of them are one sign of Unicode.
    """
    data, width = run.data, run.width
    text = data.decode("latin-1") if width == 1 else _units(data)
    at = 0
    for match in _SIGNS.finditer(text):
        here = match.start()
        if here > at:
            yield run.start + at, run.offset + at * width, "", data[at * width : here * width]
        yield run.start + here, run.offset + here * width, match[0], data[here * width : (here + 1) * width]
        at = here + 1
    if at * width < len(data):
        yield run.start + at, run.offset + at * width, "", data[at * width :]


def _units(data: bytes) -> str:
    """One character for each 16 bits: those of pairs as private ones, for only the signs are looked for."""
    text = data[: len(data) // 2 * 2].decode("utf-16-le", "surrogatepass")
    if len(text) * 2 == len(data) // 2 * 2:
        return text
    return "".join("\ue000\ue000" if sign > "\uffff" else sign for sign in text)
