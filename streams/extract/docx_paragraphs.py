"""What a paragraph says of itself and by its style, and which kind of block that makes it."""

from __future__ import annotations

from dataclasses import dataclass

from lxml import etree

from streams.extract.docx_inline import Inline
from streams.extract.docx_numbering import Numbering
from streams.extract.docx_styles import Look, Styles, heading_level
from streams.extract.ooxml import attr, child, number, switched_on, value
from streams.records import BlockKind

_ROLE_KINDS = {
    "title": BlockKind.TITLE,
    "caption": BlockKind.CAPTION,
    "quote": BlockKind.QUOTE,
    "code": BlockKind.CODE,
    "list": BlockKind.LIST_ITEM,
}


@dataclass(frozen=True)
class Properties:
    """Properties of one paragraph, inherited ones included."""

    look: Look
    level: int | None  # of a heading
    num_id: int | None  # of its list
    ilvl: int
    mark_deleted: bool  # then it is one with the next paragraph
    mark_hidden: bool
    drop_cap: bool  # the large letters that the next paragraph begins with

    @property
    def joins_next(self) -> bool:
        """Whether a reader sees it and the next paragraph as one."""
        return self.mark_deleted or self.drop_cap


def properties_of(paragraph: etree._Element, styles: Styles, numbering: Numbering) -> Properties:
    """Direct properties win over those of the style (ECMA-376 part 1, 17.7.2)."""
    properties = child(paragraph, "w:pPr")
    look = styles.look(value(child(properties, "w:pStyle")))
    outline = number(child(properties, "w:outlineLvl"))
    own = child(properties, "w:numPr")
    own_id, ilvl = number(child(own, "w:numId")), number(child(own, "w:ilvl"))
    num_id = (own_id if own_id is not None else look.num_id) or None  # 0 takes a style's numbering away
    if ilvl is None and num_id is not None:
        ilvl = numbering.level_of_style(num_id, look.chain)
        ilvl = look.ilvl if ilvl is None else ilvl
    mark, frame = child(properties, "w:rPr"), child(properties, "w:framePr")
    return Properties(
        look=look,
        level=look.level if outline is None else heading_level(outline),
        num_id=num_id,
        ilvl=ilvl or 0,
        mark_deleted=child(mark, "w:del") is not None or child(mark, "w:moveFrom") is not None,
        mark_hidden=bool(switched_on(child(mark, "w:vanish"))),
        drop_cap=(attr(frame, "w:dropCap") or "none") != "none" if frame is not None else False,
    )


def kind_of(properties: Properties, inline: Inline) -> tuple[BlockKind, int | None]:
    """Kind of the block, and its level if it is a heading or a list item."""
    role = properties.look.role
    if properties.level is not None:
        return BlockKind.HEADING, properties.level
    if inline.formulas and not inline.other:
        return BlockKind.FORMULA, None
    if role in ("title", "caption"):
        return _ROLE_KINDS[role], None
    if properties.num_id is not None:
        return BlockKind.LIST_ITEM, properties.ilvl + 1
    if role in _ROLE_KINDS:
        kind = _ROLE_KINDS[role]
        return kind, 1 if kind is BlockKind.LIST_ITEM else None
    return BlockKind.PARAGRAPH, None
