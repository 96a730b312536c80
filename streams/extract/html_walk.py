"""The walk over a page's tree: what stands on it becomes blocks and tables, what does not is counted.

No recursion: pages nest as deep as their sender likes.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

from selectolax.lexbor import LexborNode

from streams.extract.html_dom import (
    BLOCKS,
    DROPPED,
    HEADINGS,
    integer,
    is_furniture,
    is_hidden,
    nodes,
    numeral,
    table_facts,
)
from streams.extract.html_hidden import hidden_text
from streams.extract.html_main import MainContent
from streams.extract.html_scripts import InlineScripts, first_number, is_deletion
from streams.extract.html_styles import Hiding
from streams.extract.html_tables import MAX_COL_SPAN, MAX_ROW_SPAN, RawCell, RawTable, make_table, span
from streams.records import Block, BlockKind, BlockSource, Link, Table

_SPACES = re.compile(r"[ \t\n\r\f]+")
_BREAK = "\x00"  # a line break in the buffer; the parser leaves no NUL in any text
_AROUND_BREAK = re.compile(f" *{_BREAK} *")
_CAPTCHA = re.compile("recaptcha|hcaptcha|h-captcha|cf-challenge|turnstile", re.IGNORECASE)
MAX_LINKS = 50_000
_CONTEXTS = frozenset({"figure", "article", "main"})


@dataclass
class Frame:
    """An open element that changes what the text below it is."""

    node: int
    tag: str
    kind: BlockKind | None = None
    level: int | None = None
    marker: str | None = None
    counter: int = 1
    step: int = 1  # -1: a list that counts down
    numbering: str = ""  # type of an ordered list; "" for others
    furniture: bool = False
    caption: bool = False  # all below is about pictures
    outer: int = 0  # of an article: how many furnitures are open around it
    blocks: list[int] = field(default_factory=list)  # of a figure: its blocks
    table: RawTable | None = None
    cell: RawCell | None = None
    saved: tuple[list[str], bool] | None = None


@dataclass
class Walk:
    """What a walk found. `main` etc. are evidence for what kind of page it is."""

    blocks: list[Block] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    refs: dict[int, int] = field(default_factory=dict)
    hidden: list[tuple[int, str]] = field(default_factory=list)  # texts, and how many blocks stand before them
    dropped: Counter[str] = field(default_factory=Counter)
    warnings: set[str] = field(default_factory=set)
    passwords: int = 0
    evidence: set[str] = field(default_factory=set)  # captcha, app_root, article
    headed: bool = False  # an h1 stands in no furniture


class Walker:
    """Reads one tree. `run` is all there is to call."""

    def __init__(self, main: MainContent | None = None, hiding: Hiding | None = None) -> None:
        """`main`: what of the page is its article, all else is furniture; `hiding`: what its styles hide."""
        self.hiding = hiding
        self.inside = main.inside if main else frozenset()
        self.apart = main.apart if main else frozenset()
        self.captions = main.captions if main else frozenset()
        self.found = Walk()
        self.frames: list[Frame] = []
        self.buffer: list[str] = []
        self.anchors: list[tuple[int, str, int]] = []  # node, target, where in the buffer its text begins
        self.scripts = InlineScripts()
        self.links: list[Link] = []
        self.figures: list[str] = []  # alternative texts of images inside the text that is being read
        self.pre = 0
        self.lists = 0
        self.furniture = 1 if main else 0
        self.caption = 0
        self.bold = 0
        self.all_bold = True
        self.cells = 0
        self.n_links = 0

    def run(self, root: LexborNode) -> Walk:
        self.facts, self.found.headed = table_facts(root)
        walk = nodes(root)
        for node, entering in walk:
            tag = node.tag
            if tag == "-text":
                self._text(node.text_content or "")
            elif not node.is_element_node:
                continue
            elif entering:
                if self._enter(node, tag or ""):
                    walk.send(True)  # answers with the leaving of the same node
            else:
                self._leave(node, tag or "")
        self._flush()
        return self.found

    # --- text ---------------------------------------------------------------------------------------------------

    def _text(self, text: str) -> None:
        if not text:
            return
        self.buffer.append(text)
        if self.cells and not self.bold and not text.isspace():
            self.all_bold = False

    def _collapsed(self, parts: list[str]) -> str:
        text = "".join(parts)
        if self.pre:
            return text.replace(_BREAK, "\n")
        return _AROUND_BREAK.sub("\n", _SPACES.sub(" ", text)).strip()

    def _close_anchor(self, target: str, start: int) -> None:
        text = self._collapsed(self.buffer[start:])
        if text and target and self.n_links < MAX_LINKS:
            self.n_links += 1
            self.links.append(Link(text=text, target=target))

    def _flush(self) -> None:
        """The text read so far becomes a block of the kind that the open elements make it."""
        self.scripts.broken()
        if not self.buffer and not self.figures and not self.links:
            return
        for _, target, start in self.anchors:
            self._close_anchor(target, start)
        self.anchors = [(node, target, 0) for node, target, _ in self.anchors]
        text = self._collapsed(self.buffer)
        self.buffer = []
        links, self.links = self.links, []
        figures, self.figures = self.figures, []
        if text.strip():
            self._emit(text, links)
        for alternative in figures:
            self._add(Block(kind=self._plain(BlockKind.FIGURE), text=alternative, source=BlockSource.MARKUP))

    def _emit(self, text: str, links: list[Link]) -> None:
        if self.cells:
            cell = next((f for f in reversed(self.frames) if f.cell is not None or f.tag == "caption"), None)
            marker = self._item_marker()
            if cell is not None and cell.cell is not None:
                cell.cell.lines.append(f"{marker} {text}" if marker else text)
                if (table := self._outer_table()) is not None:
                    table.links += links
            elif cell is not None and cell.table is not None:
                cell.table.caption.append(text)
            return
        frame = next((f for f in reversed(self.frames) if f.kind is not None), None)
        kind = frame.kind if frame is not None and frame.kind is not None else BlockKind.PARAGRAPH
        if self.caption and kind in (BlockKind.PARAGRAPH, BlockKind.LIST_ITEM):
            kind = BlockKind.CAPTION
        level = frame.level if frame is not None else None
        marker = None
        if frame is not None and kind is BlockKind.LIST_ITEM:
            marker, frame.marker = frame.marker, None
        if self.furniture and not self._is_page_heading(kind, level):
            kind, level = BlockKind.BOILERPLATE, None
        self._add(Block(kind=kind, text=text, level=level, marker=marker, links=links, source=BlockSource.MARKUP))

    def _is_page_heading(self, kind: BlockKind, level: int | None) -> bool:
        """The only h1 of a page often stands in its header."""
        if kind is not BlockKind.HEADING or level != 1 or self.found.headed:
            return False
        return all(f.tag == "header" for f in self.frames if f.furniture)

    def _item_marker(self) -> str | None:
        frame = next((f for f in reversed(self.frames) if f.kind is BlockKind.LIST_ITEM or f.cell is not None), None)
        if frame is None or frame.cell is not None:
            return None
        marker, frame.marker = frame.marker, None
        return marker

    def _plain(self, kind: BlockKind) -> BlockKind:
        return BlockKind.BOILERPLATE if self.furniture else kind

    def _add(self, block: Block) -> None:
        figure = next((f for f in reversed(self.frames) if f.tag == "figure"), None)
        if figure is not None:
            figure.blocks.append(len(self.found.blocks))
        self.found.blocks.append(block)

    # --- elements -----------------------------------------------------------------------------------------------

    def _enter(self, node: LexborNode, tag: str) -> bool:
        """Opens an element; True to leave out all that is below it."""
        attributes = node.attributes
        if tag in DROPPED:
            if DROPPED[tag]:
                self.found.dropped[DROPPED[tag]] += 1
            self._evidence(tag, attributes)
            return True
        if self.hiding.hides(node, tag, attributes) if self.hiding else is_hidden(tag, attributes):
            self.found.dropped["hidden_element"] += 1
            if text := hidden_text(node):
                self.found.hidden.append((len(self.found.blocks), text))
            return True
        if tag == "del" and is_deletion(node, attributes):
            self.found.dropped["deleted_revisions"] += 1
            self.found.warnings.add("tracked_changes")
            return True
        if tag == "input":
            self.found.passwords += (attributes.get("type") or "").strip().lower() == "password"
            return False
        if tag in BLOCKS:
            self._flush()
            self._open_block(node, tag, attributes)
        else:
            self._open_inline(node, tag, attributes)
        if "class" in attributes or "id" in attributes:
            self._evidence(tag, attributes)
        return False

    def _evidence(self, tag: str, attributes: dict[str, str | None]) -> None:
        get, name = attributes.get, attributes.get("id") or ""
        if _CAPTCHA.search(f"{get('class')} {name} {get('src')} {get('title')}"):
            self.found.evidence.add("captcha")
        if name.lower() in ("root", "app", "__next", "__nuxt", "app-root", "react-root"):
            self.found.evidence.add("app_root")

    def _open_inline(self, node: LexborNode, tag: str, attributes: dict[str, str | None]) -> None:
        _, target, start = self.anchors[-1] if self.anchors else (0, "", -1)
        self.scripts.enter(node, tag, attributes, len(self.buffer), start if "#" in target else -1)
        if tag == "br":
            self.buffer.append(_BREAK)
        elif tag == "a":
            self.anchors.append((node.mem_id, (attributes.get("href") or "").strip(), len(self.buffer)))
        elif tag == "img" or (tag == "area" and attributes.get("alt")):
            self._image((attributes.get("alt") or "").strip())
        elif tag in ("b", "strong"):
            self.bold += 1
        elif tag == "q":
            self.buffer.append("“")
        elif tag == "rt":
            self.buffer.append("(")

    def _image(self, alternative: str) -> None:
        if self.cells:
            if alternative:
                self.buffer.append(f" {alternative} ")
            return
        if any(f.tag == "figure" for f in self.frames[-8:]) or alternative:
            self.figures.append(alternative)
        else:
            self.found.dropped["image_without_alt"] += 1

    def _open_block(self, node: LexborNode, tag: str, attributes: dict[str, str | None]) -> None:
        frame = Frame(node.mem_id, tag)
        if node.mem_id in self.inside:
            frame.outer, self.furniture = self.furniture, 0
        elif node.mem_id in self.apart or self._is_furniture(tag, attributes):
            frame.furniture = True
            self.furniture += 1
        elif node.mem_id in self.captions:
            frame.caption = True
            self.caption += 1
        if tag in HEADINGS:
            frame.kind, frame.level = BlockKind.HEADING, HEADINGS[tag]
        elif tag in ("pre", "xmp", "listing", "plaintext"):
            frame.kind = BlockKind.CODE
            self.pre += 1
        elif tag == "blockquote":
            frame.kind = BlockKind.QUOTE
        elif tag == "figcaption":
            frame.kind = BlockKind.CAPTION
        elif tag in ("ul", "ol", "menu", "dir", "dl"):
            self.lists += 1
            frame.level = self.lists
            if tag == "ol":
                frame.numbering = attributes.get("type") or "1"
                if "reversed" in attributes:
                    frame.step, frame.counter = -1, first_number(node)
                frame.counter = integer(attributes.get("start"), frame.counter)
        elif tag in ("li", "dd"):
            self._open_item(frame, tag, attributes)
        elif tag == "table":
            self._open_table(frame, node)
        elif tag in ("thead", "tbody", "tfoot", "tr", "td", "th", "caption"):
            self._open_table_part(frame, tag, attributes)
        if (
            frame.kind
            or frame.furniture
            or frame.outer
            or frame.caption
            or frame.table
            or frame.cell
            or frame.level
            or tag in _CONTEXTS
        ):
            self.frames.append(frame)

    def _is_furniture(self, tag: str, attributes: dict[str, str | None]) -> bool:
        return is_furniture(tag, attributes, self.frames)

    def _open_item(self, frame: Frame, tag: str, attributes: dict[str, str | None]) -> None:
        owner = next((f for f in reversed(self.frames) if f.tag in ("ul", "ol", "menu", "dir", "dl")), None)
        frame.kind = BlockKind.LIST_ITEM
        frame.level = max(1, self.lists)
        if tag == "dd":
            return
        if owner is not None and owner.numbering:
            number = integer(attributes.get("value"), owner.counter)
            owner.counter = number + owner.step
            frame.marker = numeral(number, owner.numbering) + "."
        else:
            frame.marker = "•"

    # --- tables -------------------------------------------------------------------------------------------------

    def _open_table(self, frame: Frame, node: LexborNode) -> None:
        facts = self.facts.get(node.mem_id)
        if self.cells:
            self.found.warnings.add("nested_table")
        elif facts is not None and facts.is_data():
            frame.table = RawTable()
            frame.saved = ([], self.all_bold)
            frame.counter = self.lists
            self.lists = 0

    def _table(self) -> RawTable | None:
        """The data table that is being read, unless a table inside one of its cells is open."""
        for frame in reversed(self.frames):
            if frame.table is not None and frame.tag == "table":
                return frame.table
            if frame.cell is not None:
                return None
        return None

    def _outer_table(self) -> RawTable | None:
        return next((f.table for f in self.frames if f.table is not None and f.tag == "table"), None)

    def _open_table_part(self, frame: Frame, tag: str, attributes: dict[str, str | None]) -> None:
        table = self._table()
        if table is None:
            if tag == "caption" and not self.cells:
                frame.kind = BlockKind.CAPTION
            return
        if tag == "tr":
            table.start_row()
        elif tag in ("td", "th"):
            frame.cell = table.start_cell(
                header=tag == "th",
                row_span=span(attributes.get("rowspan"), MAX_ROW_SPAN),
                col_span=span(attributes.get("colspan"), MAX_COL_SPAN),
            )
            self.cells += 1
            self.all_bold = True
        elif tag == "caption":
            frame.table = table
            self.cells += 1
        else:
            table.start_group(head=tag == "thead")

    def _close_table(self, raw: RawTable) -> None:
        table, clipped = make_table(raw)
        if clipped:
            self.found.warnings.add("table_clipped")
        if table is None:
            self.found.warnings.add("table_too_large")
            for row in raw.rows:
                text = "\t".join(" ".join(cell.text.split()) for cell in row).strip()
                if text:
                    self._add(Block(kind=self._plain(BlockKind.PARAGRAPH), text=text, source=BlockSource.MARKUP))
            return
        if self.furniture:
            text = "\n".join("\t".join(" ".join(cell.text.split()) for cell in row) for row in raw.rows)
            self._add(Block(kind=BlockKind.BOILERPLATE, text=text, source=BlockSource.MARKUP))
            return
        if not any(cell.text for cell in table.cells):
            self.found.dropped["empty_table"] += 1
            return
        caption = table.caption
        if caption:
            self._add(Block(kind=BlockKind.CAPTION, text=caption, source=BlockSource.MARKUP))
        index = len(self.found.tables)
        self._add(Block(kind=BlockKind.TABLE, text="", table=index, links=raw.links, source=BlockSource.MARKUP))
        if caption:
            self.found.refs[len(self.found.blocks) - 2] = len(self.found.blocks) - 1
        self.found.tables.append(table)

    # --- leaving ------------------------------------------------------------------------------------------------

    def _leave(self, node: LexborNode, tag: str) -> None:
        if tag in DROPPED:
            return
        if tag in BLOCKS:
            self._flush()
            if self.frames and self.frames[-1].node == node.mem_id:
                self._close(self.frames.pop())
            return
        self.scripts.leave(node, self.buffer, self._collapsed)
        if tag == "a":
            if self.anchors and self.anchors[-1][0] == node.mem_id:
                _, target, start = self.anchors.pop()
                self._close_anchor(target, start)
        elif tag in ("b", "strong"):
            self.bold = max(0, self.bold - 1)
        elif tag == "q":
            self.buffer.append("”")
        elif tag == "rt":
            self.buffer.append(")")

    def _close(self, frame: Frame) -> None:
        if frame.furniture:
            self.furniture -= 1
        if frame.outer:
            self.furniture = frame.outer
        self.caption -= frame.caption
        if frame.kind is BlockKind.CODE:
            self.pre -= 1
        if frame.tag in ("ul", "ol", "menu", "dir", "dl"):
            self.lists -= 1
        if frame.cell is not None:
            self.cells -= 1
            frame.cell.bold = self.all_bold and bool(frame.cell.lines)
        elif frame.tag == "caption" and frame.table is not None:
            self.cells -= 1
        elif frame.table is not None:
            self.lists = frame.counter
            self._close_table(frame.table)
        if frame.tag == "figure":
            self._bind_figure(frame)

    def _bind_figure(self, frame: Frame) -> None:
        """A caption belongs to the picture, table or code of its figure."""
        kinds = (BlockKind.FIGURE, BlockKind.TABLE, BlockKind.CODE)
        target = next((i for kind in kinds for i in frame.blocks if self.found.blocks[i].kind is kind), None)
        for index in frame.blocks:
            if self.found.blocks[index].kind is BlockKind.CAPTION and target is not None:
                self.found.refs.setdefault(index, target)
        outer = next((f for f in reversed(self.frames) if f.tag == "figure"), None)
        if outer is not None:
            outer.blocks += frame.blocks
