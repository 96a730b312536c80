"""Reads what stands inside one paragraph: runs, revisions, fields, links, notes, drawings, in the order of the file."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from lxml import etree

from streams.errors import DocumentError
from streams.extract.docx_fields import Field, RunSetting, checkbox, hyperlink_target
from streams.extract.docx_math import linear
from streams.extract.docx_styles import Look, Styles, place_of
from streams.extract.docx_symbols import readable, symbol
from streams.extract.drawing_charts import Chart, read_chart
from streams.extract.eq_fields import eq_text
from streams.extract.ole_charts import embedded_chart
from streams.extract.ooxml import (
    DELETED,
    INSERTED,
    Package,
    attr,
    child,
    children,
    chosen,
    descendants,
    switched_on,
    value,
)
from streams.extract.raised import Place, Scripts
from streams.records import Link, Table

WRAPPERS = frozenset({"w:smartTag", "w:customXml", "w:dir", "w:bdo", "w:sdtContent", "w:sdt"})
"""Elements that say something about their content and are no content."""
_PAGE_FIELDS = frozenset({"PAGE", "NUMPAGES", "SECTIONPAGES"})


@dataclass(frozen=True)
class NoteRef:
    """A marker in the text: which note, and its own marker where the author chose one."""

    kind: str  # footnote or endnote
    identifier: str
    custom: str | None = None


@dataclass(frozen=True)
class Anchored:
    """Something that hangs on a paragraph and is a block of its own: a text box or a figure."""

    box: etree._Element | None = None
    text: str = ""  # of a figure: its alternative text
    tables: tuple[Table, ...] = ()  # of a figure that is a chart: its values


@dataclass
class Inline:
    """The content of a paragraph, in the accepted view."""

    parts: list[str] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    notes: list[NoteRef] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)
    before: list[Anchored] = field(default_factory=list)  # anchored before the first word
    after: list[Anchored] = field(default_factory=list)
    formulas: int = 0
    other: int = 0  # characters that are neither formula nor white space
    bold: int = 0  # of these
    sequence: str | None = None  # identifier of a SEQ field: "Table", "Figure"
    page_field: bool = False
    outside_fields: list[str] = field(default_factory=list)  # text that no page field made

    def text(self) -> str:
        """Visible text, trimmed."""
        return tidy("".join(self.parts))

    def hidden_text(self) -> str:
        """Text that is in the file and not shown."""
        return tidy("".join(self.hidden))

    def add_all(self, other: Inline) -> None:
        """Joins the content of a following paragraph to this one."""
        had_text = bool(self.text())
        for name in ("parts", "hidden", "links", "notes", "comments", "outside_fields"):
            getattr(self, name).extend(getattr(other, name))
        (self.after if had_text else self.before).extend(other.before)
        self.after.extend(other.after)
        self.formulas += other.formulas
        self.other += other.other
        self.bold += other.bold
        self.sequence = self.sequence or other.sequence
        self.page_field = self.page_field or other.page_field


def tidy(text: str) -> str:
    """Without soft hyphens and blanks around line breaks, trimmed."""
    lines = text.replace("\u00ad", "").split("\n")
    return "\n".join(line.strip() for line in lines).strip()


class InlineReader:
    """Reads paragraphs of one part; fields may span paragraphs, so the order of the calls is that of the file."""

    def __init__(self, package: Package, part: str, styles: Styles, counts: Counter[str]) -> None:
        self.package = package
        self.part = part
        self.counts = counts
        self._styles = styles
        self._fields: list[Field] = []
        self._into = Inline()
        self._look = Look()
        self._scripts = Scripts()

    def read(self, paragraph: etree._Element, look: Look) -> Inline:
        """The content of one `w:p` of style `look`."""
        self._into, self._look = Inline(), look
        for open_field in self._fields:
            open_field.start = 0
        self._content(paragraph)
        # A field code that its paragraph does not end would swallow the rest of the document: a broken file.
        broken = [open_field for open_field in self._fields if not open_field.in_result]
        self._fields = [open_field for open_field in self._fields if open_field.in_result]
        for open_field in broken:
            for text, how in open_field.held:
                self._write(text, how)
        return self._into

    def formula(self, element: etree._Element) -> Inline:
        """An equation that stands between paragraphs."""
        self._into = Inline()
        self._math(element)
        return self._into

    def _content(self, element: etree._Element) -> None:
        for name, found in children(element):
            if name == "w:r":
                self._run(found)
            elif name in WRAPPERS:
                self._content(found)
            elif name == "w:hyperlink":
                self._hyperlink(found)
            elif name in INSERTED:
                self.counts["inserted"] += 1
                self._content(found)
            elif name in DELETED:
                self.counts["deleted"] += 1
            elif name == "w:fldSimple":
                self._simple_field(found)
            elif name in ("m:oMath", "m:oMathPara"):
                self._math(found)
            elif name == "mc:AlternateContent":
                branch = chosen(found)
                if branch is not None:
                    self._content(branch)
            elif name == "w:subDoc":
                self.package.warn("subdocument_not_read")

    # --- runs ----------------------------------------------------------------------------------------------------

    def _run(self, run: etree._Element) -> None:
        hidden, bold, font, place = self._look.vanish, self._look.bold, self._look.font, self._look.place
        properties = child(run, "w:rPr")
        said = {} if properties is None else dict(children(properties))
        look = self._styles.run_look(value(said.get("w:rStyle")))
        if look is not None:
            hidden, bold, font = hidden or look.vanish, bold or look.bold, look.font or font
            place = look.place if look.place is not Place.LINE else place
        vanish, strong, fonts = switched_on(said.get("w:vanish")), switched_on(said.get("w:b")), said.get("w:rFonts")
        hidden = hidden if vanish is None else vanish
        bold = bold if strong is None else strong
        if fonts is not None:
            font = attr(fonts, "w:ascii") or attr(fonts, "w:hAnsi") or font
        self._run_content(run, RunSetting(hidden, bold, font, place_of(said.get("w:vertAlign")) or place))

    def _run_content(self, run: etree._Element, how: RunSetting) -> None:
        custom: NoteRef | None = None  # a note whose marker is the text that follows in this run
        for name, found in children(run):
            if name == "w:t":
                text = (found.text or "").replace("\r", " ").replace("\n", " ").replace("\t", " ")
                if custom is not None:
                    self._into.notes.append(NoteRef(custom.kind, custom.identifier, text.strip() or None))
                    custom = None
                    continue
                text, lost = readable(text, how.font)
                self.counts["symbols"] += lost
                self._write(text, how)
            elif name in ("w:tab", "w:ptab"):
                self._write("\t", how)
            elif name in ("w:br", "w:cr"):
                self._write("\n", how)
            elif name == "w:noBreakHyphen":
                self._write("-", how)
            elif name == "w:sym":
                self._symbol(found, how)
            elif name == "w:fldChar":
                self._field_character(found)
            elif name == "w:instrText":
                if self._fields and not self._fields[-1].in_result:
                    self._fields[-1].code.append(found.text or "")
            elif name in ("w:footnoteReference", "w:endnoteReference"):
                reference = NoteRef(name[2:-9], attr(found, "w:id") or "")
                if (attr(found, "w:customMarkFollows") or "0").lower() in ("1", "true", "on"):
                    custom = reference
                else:
                    self._into.notes.append(reference)
            elif name == "w:commentReference":
                self._into.comments.append(attr(found, "w:id") or "")
            elif name in ("w:drawing", "w:pict", "w:object"):
                self._graphic(found)
            elif name == "mc:AlternateContent":
                branch = chosen(found)
                if branch is not None:
                    self._run_content(branch, how)
            elif name == "w:ruby":
                self.counts["ruby"] += 1  # the reading beside the characters; the characters themselves stay
                base = child(found, "w:rubyBase")
                if base is not None:
                    self._content(base)
        if custom is not None:
            self._into.notes.append(custom)

    def _write(self, text: str, how: RunSetting) -> None:
        coded = next((open_field for open_field in self._fields if not open_field.in_result), None)
        if coded is not None:
            coded.held.append((text, how))
            return
        into = self._into
        self._scripts.put(into.hidden if how.hidden else into.parts, text, how.place)
        if how.hidden:
            return
        if not any(open_field.name() in _PAGE_FIELDS for open_field in self._fields):
            into.outside_fields.append(text)
        if text.strip():
            into.other += len(text)
            into.bold += len(text) if how.bold else 0

    def _symbol(self, element: etree._Element, how: RunSetting) -> None:
        code = attr(element, "w:char") or ""
        sign = symbol(attr(element, "w:font"), int(code, 16)) if re.fullmatch(r"[0-9A-Fa-f]{1,6}", code) else None
        if sign is None:
            self.counts["symbols"] += 1
        else:
            self._write(sign, how)

    # --- fields and links ----------------------------------------------------------------------------------------

    def _field_character(self, element: etree._Element) -> None:
        match attr(element, "w:fldCharType"):
            case "begin":
                self._fields.append(Field(checkbox=checkbox(element)))
            case "separate" if self._fields:
                opened = self._fields[-1]
                opened.in_result, opened.start = True, len(self._into.parts)
                opened.held.clear()
                self._scripts.cut()
                self._noticed(opened.name(), "".join(opened.code))
            case "end" if self._fields:
                ended = self._fields.pop()
                if not ended.in_result:
                    self._noticed(ended.name(), "".join(ended.code))
                    if ended.name() == "EQ":
                        self._write(eq_text("".join(ended.code)), RunSetting())
                if ended.checkbox is not None and ended.name() == "FORMCHECKBOX":
                    self._write(ended.checkbox, RunSetting())
                elif ended.name() == "HYPERLINK":
                    self._link(ended.start, hyperlink_target("".join(ended.code)))
                    self._scripts.cut()
            case _:
                pass

    def _noticed(self, name: str, code: str) -> None:
        if name == "SEQ":
            words = code.split()
            self._into.sequence = words[1] if len(words) > 1 else None
        elif name in _PAGE_FIELDS:
            self._into.page_field = True

    def _simple_field(self, element: etree._Element) -> None:
        opened = Field(code=[attr(element, "w:instr") or ""], in_result=True, start=len(self._into.parts))
        self._noticed(opened.name(), opened.code[0])
        self._fields.append(opened)
        self._scripts.cut()
        self._content(element)
        self._scripts.cut()
        if opened in self._fields:
            self._fields.remove(opened)
        if opened.name() == "HYPERLINK":
            self._link(opened.start, hyperlink_target(opened.code[0]))

    def _hyperlink(self, element: etree._Element) -> None:
        start = len(self._into.parts)
        self._scripts.cut()
        self._content(element)
        self._scripts.cut()
        relationship = self.package.relationships(self.part).get(attr(element, "r:id") or "")
        anchor = attr(element, "w:anchor")
        target = relationship.target if relationship is not None else ""
        if anchor and not anchor.startswith("_Toc"):  # those of a table of contents are Word's own
            target += f"#{anchor}"
        self._link(start, target)

    def _link(self, start: int, target: str) -> None:
        text = tidy("".join(self._into.parts[start:]))
        if text and target:
            self._into.links.append(Link(text=text, target=target))

    # --- equations and drawings ----------------------------------------------------------------------------------

    def _math(self, element: etree._Element) -> None:
        text = linear(element)
        if text:
            before = "".join(self._into.parts)
            self._into.parts.append(f" {text}" if before and not before[-1].isspace() and before[-1] != "(" else text)
            self._into.outside_fields.append(text)
            self._into.formulas += 1

    def _graphic(self, element: etree._Element) -> None:
        boxes: list[Anchored] = []
        texts: list[str] = []
        tables: list[Table] = []
        alternative, pictures = "", 0
        for name, found in _shown(element):
            if name in ("w:txbxContent",):
                boxes.append(Anchored(box=found))
            elif name == "wp:docPr":
                alternative = (found.get("descr") or found.get("title") or "").strip()
            elif name == "pic:cNvPr":
                alternative = alternative or (found.get("descr") or "").strip()
            elif name in ("pic:pic", "v:imagedata"):
                pictures += 1
            elif name == "v:shape":
                alternative = alternative or (found.get("alt") or "").strip()
            elif name == "v:textpath":  # WordArt and watermarks
                texts.append(found.get("string") or "")
            elif name in ("c:chart", "cx:chart"):
                pictures += 1
                chart = self._chart(attr(found, "r:id"))
                texts += [chart.title, *chart.texts]
                tables += [] if chart.table is None else [chart.table]
            elif name == "o:OLEObject":
                drawn = embedded_chart(self.package, self.part, attr(found, "r:id"))
                texts += [] if drawn is None else [drawn.text]
                tables += [] if drawn is None or drawn.table is None else [drawn.table]
            elif name == "dgm:relIds":
                pictures += 1
                texts.append(self._drawn_text(attr(found, "r:dm")))
        into = self._into
        place = into.after if "".join(into.parts).strip() else into.before
        place.extend(boxes)
        text = "\n".join(part for part in [alternative, *texts] if part.strip())
        if pictures or (text and not boxes):
            place.append(Anchored(text=tidy(text), tables=tuple(tables)))

    def _drawn(self, identifier: str | None) -> etree._Element | None:
        """The part that holds a chart or a SmartArt; null for one that is missing, damaged or outside."""
        relationship = self.package.relationships(self.part).get(identifier or "")
        if relationship is None or relationship.external:
            return None
        try:
            return self.package.optional_xml(relationship.target)
        except DocumentError as error:
            if error.problem == "encrypted":
                return None
            raise

    def _chart(self, identifier: str | None) -> Chart:
        root = self._drawn(identifier)
        chart = Chart() if root is None else read_chart(root)
        if chart.table is None:
            self.package.warn("chart_values_not_read")
        return chart

    def _drawn_text(self, identifier: str | None) -> str:
        """Texts of a SmartArt, paragraph by paragraph."""
        root = self._drawn(identifier)
        if root is None:
            return ""
        paragraphs = (
            "".join(text.text or "" for text in descendants(found, "a:t")) for found in descendants(root, "a:p")
        )
        return "\n".join(text for text in paragraphs if text.strip())


def _shown(element: etree._Element) -> Iterator[tuple[str, etree._Element]]:
    """Everything below in document order: one branch of alternatives, nothing inside text boxes."""
    stack = list(reversed(list(children(element))))
    while stack:
        name, found = stack.pop()
        if name == "mc:AlternateContent":
            branch = chosen(found)
            if branch is not None:
                stack.extend(reversed(list(children(branch))))
            continue
        yield name, found
        if name != "w:txbxContent":
            stack.extend(reversed(list(children(found))))
