"""What stands between the paragraphs of an article and is none of it: cross references, bylines, captions, buttons.

Only looked at on pages that have a clear article; judged by the text of single blocks and their neighbours.
"""

from __future__ import annotations

import re

import msgspec

from streams.records import FURNITURE, Block, BlockKind

MAX_LABEL, MAX_LINE, MAX_CAPTION = 40, 160, 400
"""Characters of a label, of a line beside the text, and of a caption."""

_BUTTONS = frozenset(
    word
    for line in (
        "advertisement|advertisements|advertising|advert|ad|anzeige|werbung|publicité|publicidad|pubblicità|sponsored",
        "promoted|share|share this|share this article|share this story|share on facebook|share on twitter|tweet",
        "tweet on twitter|pin it|facebook|twitter|linkedin|whatsapp|email|e-mail|reddit|pinterest|flipboard|telegram",
        "copy link|copy|print|buffer|teilen|drucken|partager|imprimer|compartir|condividi|stampa|click to tweet",
        "view comments|show comments|comments|0 comments|close|caption|video|play video|watch|watch video|photo|photos",
        "gallery|view gallery|previous|next|previous next|skip to content|skip to main content|scroll to top",
        "back to top|scroll back to top|nach oben|haut de page|read more|continue reading|show more|load more",
        "weiterlesen|lire la suite|leer más|leggi tutto|loading|menu|search|more|story continues below",
        "article continues below advertisement|story continues below advertisement",
    )
    for word in line.split("|")
)
"""Whole texts of blocks that are buttons and labels of a site, in lower case."""
_REFERENCE = re.compile(
    r"\W*(?:related(?:\s(?:articles?|story|stories|posts?|coverage|news|content|roundup))?|read\s(?:more|also|next)"
    r"|see\s(?:more|also)|also\s(?:read|see|on\s\S+)|more(?:\son\sthis|\sfrom\s[\w ]+|\sstories)?|must\sread"
    r"|don[’']t\smiss|recommended|most\sread|trending|you\smay\s(?:also\s)?like|you\smight\s(?:also\s)?like"
    r"|mehr\szum\sthema|lesen\ssie\sauch|auch\sinteressant|(?:à\s)?lire\saussi|leggi\sanche|lea\stambi[eé]n|lees\sook"
    r"|läs\sockså|czytaj\stakże|tags?|filed\sunder|posted\sin|topics|categories)\b\W*",
    re.IGNORECASE,
)
_OWN_HEADINGS = ("see also", "topics", "categories", "tags", "related work", "related topics")
_BYLINE = re.compile(
    r"(?:by|von|par|por|di|door|written\sby|posted\sby|published\sby|reporting\sby|story\sby)\s+[A-ZÀ-Þ@][^.!?]{2,70}"
    r"|(?:published|posted|updated|last\s(?:updated|modified)|first\spublished|created|veröffentlicht|publié|"
    r"aktualisiert|mis\sà\sjour|publicado|actualizado)\b[^.!?]{0,60}\d[^!?]{0,40}"
    r"|(?:author|publish\sdate|date|autor|auteur)\s*:.{0,60}",
    re.IGNORECASE | re.DOTALL,
)
_MONTH = r"(?:jan|feb|mar|mär|apr|may|mai|jun|jul|aug|sep|oct|okt|nov|dec|dez|fév|avr|juin|juil|août|déc)[\w.]*"
_DATE = re.compile(
    rf"\W*(?:\w+,?\s+)?(?:{_MONTH}\s+\d{{1,2}}(?:st|nd|rd|th)?,?\s+\d{{4}}|\d{{1,2}}\.?\s+{_MONTH}\s+\d{{4}}"
    r"|\d{4}-\d\d-\d\d|\d{1,2}[./]\d{1,2}[./]\d{2,4})[\sT,|/@·–-]*(?:at\s)?(?:\d{1,2}[:.]\d\d(?::\d\d)?\s*(?:[ap]\.?m\.?)?"
    r"\s*[A-Z]{0,5})?\W*",
    re.IGNORECASE,
)
_CREDIT = re.compile(
    r".*\((?:(?:image|photo|picture|pic|credit|source|bild|foto|quelle)s?\b[^()]{0,80}"
    r"|[^()]{0,60}(?:getty(?:\simages)?|reuters|ap|afp|istock|shutterstock|ap\sphoto[^()]*|associated\spress))\s*\)\W*"
    r"|(?:image|photo|picture|photograph|foto|bild|photo\scredit|image\scredit|credit)s?\s?(?:by|courtesy)?\s?[:/]\s?.*",
    re.IGNORECASE | re.DOTALL,
)
_OFFER = re.compile(
    r"\W*(?:(?:sign\sup|subscribe|follow\s(?:us|me)|like\sus|click\shere|get\s(?:the|our))\b.{0,140}"
    r"(?:newsletters?|e-?mails?|channel|magazine|app|facebook|twitter|instagram|inbox|issue|updates)\b.{0,60})",
    re.IGNORECASE | re.DOTALL,
)


def mark_edges(blocks: list[Block]) -> list[Block]:
    """The blocks, those beside the article's text labelled; nothing is taken out, and no table or figure is touched."""
    out: list[Block] = []
    started = listing = False
    for index, block in enumerate(blocks):
        kind = block.kind
        if kind in FURNITURE or kind not in (BlockKind.PARAGRAPH, BlockKind.LIST_ITEM, BlockKind.HEADING):
            out.append(block)
            continue
        text = block.text.strip()
        label = _REFERENCE.match(text)
        new: BlockKind | None = None
        if len(text) <= MAX_LINE and _words(text) in _BUTTONS:
            new = BlockKind.BOILERPLATE
        elif label and _is_label(block, label.end()) and _only_links_follow(blocks, index):
            new = BlockKind.BOILERPLATE
            listing = True
        elif listing and kind is not BlockKind.HEADING and _linked(block) >= 0.8:
            new = BlockKind.BOILERPLATE
        else:
            listing = False
            if kind is not BlockKind.HEADING:
                new = _beside(blocks, index, started)
        if new is None and kind is BlockKind.PARAGRAPH and len(text) > MAX_LINE:
            started = True
        out.append(block if new is None else msgspec.structs.replace(block, kind=new, level=None))
    return out


def _beside(blocks: list[Block], index: int, started: bool) -> BlockKind | None:
    """What a paragraph or item is, if it is none of the article's text; `started`: prose stands before it."""
    block = blocks[index]
    text, linked = block.text.strip(), _linked(block)
    label = _REFERENCE.match(text)
    if label and linked >= 0.4 and label.end() < len(text) and _has_mark(text, label.end()):
        return BlockKind.BOILERPLATE
    if linked >= 0.9 and len(text) > 20 and text == text.upper() and text != text.lower():
        return BlockKind.BOILERPLATE
    if linked > 0 and len(text) <= 250 and _OFFER.fullmatch(text):
        return BlockKind.BOILERPLATE
    if not started and len(text) <= MAX_LINE and (_BYLINE.fullmatch(text) or _DATE.fullmatch(text)):
        return BlockKind.METADATA
    if len(text) <= MAX_CAPTION and _is_caption(blocks, index, text):
        return BlockKind.CAPTION
    return None


def _words(text: str) -> str:
    return " ".join(text.casefold().strip(" \t\n.:;!…|•>»«<-–—+[]()").split())


def _linked(block: Block) -> float:
    """Share of a block's text that is links."""
    return min(1.0, sum(len(link.text) for link in block.links) / max(1, len(block.text)))


def _has_mark(text: str, end: int) -> bool:
    """Whether the label is set off from what follows, by a colon or capitals."""
    label = text[:end].rstrip()
    return label.endswith((":", "|", "-", "–", "»", ">", "►")) or label == label.upper() or "on " in label


def _is_label(block: Block, end: int) -> bool:
    """Whether the words of a reference are all that a block says; a heading of these is one of the text's own."""
    text = block.text.strip()
    if block.kind is BlockKind.HEADING and text.casefold().startswith(_OWN_HEADINGS):
        return False
    return end >= len(text) and len(text) <= MAX_LABEL


def _only_links_follow(blocks: list[Block], index: int) -> bool:
    """Whether the text after a label is links: what a label of the text itself is followed by is not."""
    for block in blocks[index + 1 : index + 4]:
        if block.kind is BlockKind.FIGURE:
            continue
        return block.kind in FURNITURE or _linked(block) >= 0.8
    return True


def _is_caption(blocks: list[Block], index: int, text: str) -> bool:
    """A credit, or what the picture beside it says of itself."""
    near = [b for b in blocks[max(0, index - 2) : index + 2] if b.kind is BlockKind.FIGURE]
    if any(text == b.text.strip() for b in near):
        return True
    return _CREDIT.fullmatch(text) is not None and (bool(near) or len(text) <= MAX_LINE)
