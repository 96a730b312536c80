"""What the words of RTF mean: stories, tables, fields, notes, pictures, revisions, and the file's own information."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from streams.extract.raised import Place, Scripts
from streams.extract.rtf_body import Body
from streams.extract.rtf_fields import Field, FormField
from streams.extract.rtf_header import RtfHeader
from streams.extract.rtf_html import HtmlStory
from streams.extract.rtf_story import Figure, Item, Note, Paragraph, ParagraphRules, Story
from streams.extract.rtf_tables import MAX_CELLS, CellRule, RowRule
from streams.records import BlockKind

_SWITCHES = {
    b"v": "hidden",
    b"b": "bold",
    b"deleted": "deleted",
    b"mvf": "deleted",  # moved away
    b"revised": "inserted",
    b"mvt": "inserted",
    b"htmlrtf": "rtf_only",
}
_PARAGRAPH_NUMBERS = {b"intbl": "in_table", b"itap": "depth", b"ls": "list_id", b"ilvl": "list_level"}
_ROW_NUMBERS = {b"trleft": "left", b"irow": "index", b"trhdr": "header", b"tbllkhdrrows": "look_header"}
_CELL_MARKS = {b"clmrg": "across", b"clvmgf": "down_start", b"clvmrg": "down"}


MAX_STORIES = 6
"""Notes in boxes in notes; the words of deeper ones are passed over, their text is that of the deepest."""


class RtfDocument(RtfHeader):
    """One RTF document: `read_all` does the work, the attributes hold what it found."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()
        self.html: HtmlStory | None = None
        self.body = Body(self.styles, self.counts)
        self._story: Story | HtmlStory = Story(self.body.add)
        self._stories = 0  # open ones inside the body
        self._row = RowRule()
        self._cell = CellRule(0)
        self._fields: list[Field] = []
        self._scripts = Scripts()
        self._form: FormField | None = None
        self._note: Note | None = None
        self._author = ""  # of the next comment
        self._property = ""
        self._alternative: str | None = None
        self._last_figure: Figure | None = None
        self._add_words()

    def read_all(self, data: bytes) -> None:
        """Reads the whole file and ends all stories. Errors: DocumentError `corrupt` or `too_large`."""
        self.read(data)
        self._story.close(self.state.paragraph)
        self.body.finish()
        for code in self.body.warnings:
            self.warn(code)

    # --- text ----

    def show(self, text: str) -> None:
        """Text goes to the paragraph, as the state of its group says."""
        state = self.state
        if state.deleted:
            self.counts["deleted"] += not state.counted
            state.counted = True
            return
        if state.inserted and not state.counted:
            self.counts["inserted"] += 1
            state.counted = True
        if isinstance(self._story, HtmlStory):
            if not state.rtf_only:
                self._story.text(text)
            return
        paragraph = self._story.paragraph
        self._scripts.put(paragraph.hidden_parts if state.hidden else paragraph.parts, text, state.place)
        if state.hidden:
            return
        letters = sum(sign.isalnum() for sign in text[:100])
        if state.bold:
            paragraph.bold += letters
        elif not state.formula:
            paragraph.plain += letters
        if state.formula:
            paragraph.formula = True

    # --- destinations ---

    def _begin(self, _: int | None) -> None:
        """`\\rtf1`: the last paragraph ends with the group, and is what the group says it is."""
        state = self.state
        state.on_close.append(lambda: self._story.close(state.paragraph))

    def _own_story(self, done: Callable[[list[Item]], None]) -> bool:
        """From here to the end of the group text is a story of its own. False: it can't be one here."""
        outer, state = self._story, self.state
        if isinstance(outer, HtmlStory):
            state.skip = True
            return False
        if state.on_close or self._stories >= MAX_STORIES:
            return False
        items: list[Item] = []
        story = Story(items.append)
        row, self._row = self._row, RowRule()
        self._story = story
        self._stories += 1
        state.mute, state.capture = False, None
        state.hidden, state.place = False, Place.LINE
        state.paragraph = ParagraphRules()

        def close() -> None:
            story.close(state.paragraph)
            self._story, self._row = outer, row
            self._stories -= 1
            done(items)

        state.on_close.append(close)
        return True

    def _open_paragraph(self) -> Paragraph | None:
        return None if isinstance(self._story, HtmlStory) else self._story.paragraph

    def _furniture(self, kind: BlockKind) -> Callable[[int | None], None]:
        def begin(_: int | None) -> None:
            self._own_story(lambda items: self.body.furniture(items, kind))

        return begin

    def _footnote(self, _: int | None) -> None:
        note, outer = Note(BlockKind.FOOTNOTE, []), self._note

        def done(items: list[Item]) -> None:
            self._note = outer
            note.items = items
            if (paragraph := self._open_paragraph()) is not None and not self.state.deleted:
                paragraph.notes.append(note)

        if self._own_story(done):
            self._note = note

    def _endnote(self, _: int | None) -> None:
        if self._note is not None:
            self._note.end = True

    def _note_number(self, _: int | None) -> None:
        if self._note is not None:
            self._note.marker = ""  # numbered by the program

    def _annotation_author(self, _: int | None) -> None:
        self.captured(lambda text: setattr(self, "_author", text.strip()))

    def _annotation(self, _: int | None) -> None:
        author, self._author = self._author, ""

        def done(items: list[Item]) -> None:
            if (paragraph := self._open_paragraph()) is not None:
                paragraph.notes.append(Note(BlockKind.COMMENT, items, author=author))

        self._own_story(done)

    def _box(self, _: int | None) -> None:
        def done(items: list[Item]) -> None:
            if (paragraph := self._open_paragraph()) is not None and items:
                paragraph.boxes.append(items)

        self._own_story(done)

    def _marker(self, _: int | None) -> None:
        def done(text: str) -> None:
            paragraph = self._open_paragraph()
            if paragraph is not None and not paragraph.text:
                marker = " ".join(text.split())
                paragraph.marker = "•" if marker == "\ufffd" else marker

        self.captured(done)

    # --- pictures and objects ------------------------------------------------------------------------------------

    def _picture(self, _: int | None) -> None:
        self.state.mute, self.state.capture = True, None
        outer, self._alternative = self._alternative, None
        shown = not self.state.hidden

        def close() -> None:
            figure = Figure(self._alternative or "")
            self._alternative = outer
            self.counts["pictures"] += 1
            self._last_figure = figure
            if (paragraph := self._open_paragraph()) is not None and shown:
                paragraph.figures.append(figure)

        self.state.on_close.append(close)

    def _shape(self, _: int | None) -> None:
        self.state.mute = True
        outer, self._alternative = self._alternative, None
        last, self._last_figure = self._last_figure, None

        def close() -> None:
            text, self._alternative = self._alternative, outer
            if text and self._last_figure is not None:
                self._last_figure.text = self._last_figure.text or text
            elif text and (paragraph := self._open_paragraph()) is not None:
                paragraph.figures.append(Figure(text))
            self._last_figure = last

        self.state.on_close.append(close)

    def _property_name(self, _: int | None) -> None:
        def done(text: str) -> None:
            self._property = text.strip()

        self.captured(done)

    def _property_value(self, _: int | None) -> None:
        if self._property not in ("wzDescription", "pib"):
            self.state.skip = True
        elif self._property == "pib":
            self.state.mute = True
        else:

            def done(text: str) -> None:
                self._alternative = text.strip()

            self.captured(done)

    def _object(self, _: int | None) -> None:
        self.state.mute = True
        self.counts["objects"] += 1

    def _unmute(self, _: int | None) -> None:
        self.state.mute = False

    # --- fields --------------------------------------------------------------------------------------------------

    def _field(self, _: int | None) -> None:
        if self.state.capture is not None:  # inside the instruction of another
            return
        self.state.mute = True
        found = Field()
        self._fields.append(found)
        shown = not self.state.deleted

        def close() -> None:
            self._fields.remove(found)
            paragraph = self._open_paragraph()
            if paragraph is not None and shown:
                found.end(paragraph)
                self._scripts.cut()

        self.state.on_close.append(close)

    def _instruction(self, _: int | None) -> None:
        if self.state.capture is not None or not self._fields:
            self.state.skip = True
            return
        current = self._fields[-1]
        form = self._form = FormField()

        def done(text: str) -> None:
            current.instruction = text.strip()
            current.form, self._form = form, None

        self.captured(done)

    def _result(self, _: int | None) -> None:
        if self.state.capture is not None or not self._fields:
            return
        self.state.mute = False
        if (paragraph := self._open_paragraph()) is not None:
            self._scripts.cut()
            self._fields[-1].begin(paragraph)

    def _form_value(self, name: str) -> Callable[[int | None], None]:
        def take(parameter: int | None) -> None:
            if self._form is not None:
                self._form.values[name] = 1 if parameter is None else parameter

        return take

    def _form_entry(self, _: int | None) -> None:
        form = self._form
        self.captured(lambda text: form.entries.append(text) if form is not None else None)

    def _page_number(self, _: int | None) -> None:
        if (paragraph := self._open_paragraph()) is not None:
            paragraph.page_field = True

    # --- paragraphs and rows -------------------------------------------------------------------------------------

    def end_paragraph(self, parameter: int | None = None) -> None:
        """`\\par`; of a deleted paragraph mark, nothing: it is one with the next."""
        del parameter
        state = self.state
        if state.capture is not None:
            state.capture.append("\n")
        elif not state.mute and not state.deleted and not state.rtf_only:
            self._story.end_paragraph(state.paragraph)

    def _paragraph_defaults(self, _: int | None) -> None:
        self.state.paragraph = ParagraphRules()

    def _shown(self) -> bool:
        return self.state.capture is None and not self.state.mute

    def _end_cell(self, *, nested: bool) -> None:
        if self._shown():
            self._story.end_cell(self.state.paragraph, nested=nested)

    def _end_row(self, *, nested: bool) -> None:
        if self.state.capture is None and (nested or not self.state.mute):
            self._story.end_row(self._row, nested=nested)

    def _begin_row(self, _: int | None) -> None:
        self._row, self._cell = RowRule(), CellRule(0)
        if self._shown():
            self._story.begin_row()

    def _nested_row(self, _: int | None) -> None:
        outer = self._row
        self.state.mute = True
        self.state.on_close.append(lambda: setattr(self, "_row", outer))

    def _cell_edge(self, parameter: int | None) -> None:
        self._cell.right = parameter or 0
        if len(self._row.cells) < MAX_CELLS:
            self._row.cells.append(self._cell)
        self._cell = CellRule(0)

    # --- encapsulated HTML and mathematics -----------------------------------------------------------------------

    def _from_html(self, parameter: int | None) -> None:
        if parameter != 0 and self.html is None:
            self.html = HtmlStory()
            self._story = self.html

    def _html_tag(self, _: int | None) -> None:
        if self.html is None:
            self.state.skip = True
        else:
            self.captured(lambda _: None, self.html.parts)

    def _math(self, _: int | None) -> None:
        self.state.mute = self.state.formula = True

    def _operator(self, sign: str) -> Callable[[int | None], None]:
        """What stands between two parts of a formula."""

        def show(_: int | None) -> None:
            if self.state.formula and self.state.capture is None:
                self.show(sign)

        return show

    def goes_into(self, word: bytes) -> bool:
        """Parts of formulas are ignorable destinations, too, each with its properties beside it."""
        return self.state.formula and word.startswith(b"m") and not word.endswith(b"Pr")

    def _add_words(self) -> None:
        self.words |= {
            b"rtf": self._begin,
            b"par": self.end_paragraph,
            b"sect": self.end_paragraph,
            b"cell": lambda _: self._end_cell(nested=False),
            b"nestcell": lambda _: self._end_cell(nested=True),
            b"row": lambda _: self._end_row(nested=False),
            b"nestrow": lambda _: self._end_row(nested=True),
            b"trowd": self._begin_row,
            b"nesttableprops": self._nested_row,
            b"cellx": self._cell_edge,
            b"pard": self._paragraph_defaults,
            b"footnote": self._footnote,
            b"ftnalt": self._endnote,
            b"chftn": self._note_number,
            b"annotation": self._annotation,
            b"atnauthor": self._annotation_author,
            b"listtext": self._marker,
            b"pntext": self._marker,
            b"pict": self._picture,
            b"shppict": lambda _: None,
            b"shp": self._shape,
            b"shptxt": self._box,
            b"dptxbxtext": self._box,
            b"sn": self._property_name,
            b"sv": self._property_value,
            b"object": self._object,
            b"result": self._unmute,
            b"field": self._field,
            b"fldinst": self._instruction,
            b"fldrslt": self._result,
            b"ffl": self._form_entry,
            b"chpgn": self._page_number,
            b"fromhtml": self._from_html,
            b"htmltag": self._html_tag,
            b"mmath": self._math,
            b"moMath": self._math,
            b"moMathPara": self._math,
            b"mr": self._unmute,
        }
        for kind, stem in ((BlockKind.PAGE_HEADER, b"header"), (BlockKind.PAGE_FOOTER, b"footer")):
            for side in (b"", b"l", b"r", b"f"):
                self.words[stem + side] = self._furniture(kind)
        for word, sign in ((b"mden", "/"), (b"msup", "^"), (b"msub", "_")):
            self.words[word] = self._operator(sign)
        for word, name in _SWITCHES.items():
            self.words[word] = self._switch(name)
        self.words[b"super"] = self._placed(Place.RAISED)
        self.words[b"sub"] = self._placed(Place.LOWERED)
        self.words[b"nosupersub"] = self._placed(Place.LINE)
        for word, name in _PARAGRAPH_NUMBERS.items():
            self.words[word] = self._paragraph_number(name)
        for word, name in _ROW_NUMBERS.items():
            self.words[word] = self._row_number(name)
        for word, name in _CELL_MARKS.items():
            self.words[word] = self._cell_mark(name)
        for word in (b"fftype", b"ffres", b"ffdefres"):
            self.words[word] = self._form_value(word.decode())

    # --- words that only set something ---------------------------------------------------------------------------

    def _switch(self, name: str) -> Callable[[int | None], None]:
        """Character formatting: on, or off with the parameter 0."""
        return lambda parameter: setattr(self.state, name, parameter != 0)

    def _placed(self, place: Place) -> Callable[[int | None], None]:
        """`\\super`, `\\sub`: from here on; off with the parameter 0."""
        return lambda parameter: setattr(self.state, "place", Place.LINE if parameter == 0 else place)

    def _paragraph_number(self, name: str) -> Callable[[int | None], None]:
        return lambda parameter: setattr(self.state.paragraph, name, 1 if parameter is None else parameter)

    def _row_number(self, name: str) -> Callable[[int | None], None]:
        return lambda parameter: setattr(self._row, name, 1 if parameter is None else parameter)

    def _cell_mark(self, name: str) -> Callable[[int | None], None]:
        return lambda _: setattr(self._cell, name, True)
