"""Recognised pages into a canon that has other pages: what is kept, what is replaced, and nothing twice."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import msgspec

from streams.extract.outcome import Draft
from streams.extract.recognise import languages as by_language
from streams.records import (
    FURNITURE,
    TEXT_IN_PICTURES,
    Block,
    BlockKind,
    BlockSource,
    CanonBody,
    Dropped,
    Method,
    Page,
    Table,
)
from streams.screen import words as word_lists

NEARLY_EMPTY = 50
"""Characters below which a page of pictures has no text to speak of; the screen's threshold for such pages."""

_WORD = re.compile(r"\w+")
_SAME = 0.5  # share of the layer's words that recognition finds, too: then the layer says what is to be seen
_SPREAD = 0.6  # share of a recognised block's words that the layer has: then it is the same text
_BETTER = 0.02  # share of known words by which a new recognition must be ahead of an old one
_FEW = 3  # words of a layer that say nothing about it


class Layer:
    """The blocks that a canon has before recognition, by page."""

    def __init__(self, body: CanonBody) -> None:
        self.body = body
        self.by_page: dict[int | None, list[int]] = {}
        for index, block in enumerate(body.blocks):
            self.by_page.setdefault(block.page, []).append(index)

    def blocks(self, page: int) -> list[Block]:
        return [self.body.blocks[index] for index in self.by_page.get(page, ())]


def merged(
    layer: Layer,
    pages: list[Page],
    found: Sequence[tuple[Block, float]],
    recognised: set[int],
    *,
    warnings: Sequence[str],
    noise: int,
    metadata: dict[str, str],
) -> Draft:
    """The draft of the whole document, pages in order.

    On a recognised page that has a text layer, the layer stays where recognition finds its words as well, and only
    what it does not have is added: text in pictures. A layer whose words nobody sees on the page is replaced.
    """
    body = layer.body
    by_page: dict[int, list[Block]] = {}
    for block, _ in found:
        by_page.setdefault(block.page or 0, []).append(block)
    dropped = Counter({item.what: item.count for item in body.dropped})
    dropped["recognition_noise"] += noise
    gone: set[int] = set()
    untrue = False  # some page's layer was replaced
    added: dict[int, list[Block]] = {}
    kept_pages: set[int] = set()  # their text is that of the layer
    for number in sorted(recognised):
        here, new = layer.blocks(number), by_page.get(number, [])
        if not here:
            added[number] = new
        elif _is_broken(here, new):
            untrue = True
            gone.update(layer.by_page[number])
            dropped["replaced_text_layer"] += sum(len("".join(block.text.split())) for block in here)
            added[number] = new
        else:
            lost = [i for i in layer.by_page[number] if _is_lost(body.blocks[i])] if new else []
            gone.update(lost)
            dropped["replaced_text_layer"] += sum(len("".join(body.blocks[i].text.split())) for i in lost)
            added[number] = _beyond(here, new)
            if not _is_nearly_empty(here):
                added[number] = [block if lost else _in_picture(block) for block in added[number]]
                kept_pages.add(number)
    blocks, places = _in_order(layer, gone, added)
    pages = [
        _as_it_was(page, layer, confirmed=bool(by_page.get(page.number))) if page.number in kept_pages else page
        for page in pages
    ]
    tables, blocks = _tables(body.tables, blocks)
    ids = {block.id: places[index] for index, block in enumerate(body.blocks) if index in places}
    refs = {places[i]: ids[b.ref] for i, b in enumerate(body.blocks) if i in places and b.ref and b.ref in ids}
    text_kept = any(b.source is not BlockSource.OCR and b.kind not in FURNITURE and b.text for b in blocks)
    said = {*body.warnings, *warnings}
    return Draft(
        blocks=blocks,
        tables=tables,
        pages=pages,
        page_count=body.page_count,
        method=body.method if not recognised else Method.MIXED if text_kept else Method.OCR,
        title=body.title if not untrue else None,
        authors=list(body.authors),
        created=body.created,
        modified=body.modified,
        language=body.language if text_kept else None,
        warnings=sorted(said if any(page.picture_text for page in pages) else said - {TEXT_IN_PICTURES}),
        dropped=[Dropped(what=what, count=count) for what, count in sorted(dropped.items()) if count],
        metadata={**body.metadata, **{key: value for key, value in metadata.items() if value}},
        refs=refs,
    )


def _as_it_was(page: Page, layer: Layer, *, confirmed: bool) -> Page:
    """The page of the layer. What recognition has seen as well, or not better, is as readable as it will be."""
    before = next(before for before in layer.body.pages if before.number == page.number)
    return msgspec.structs.replace(before, unreadable=before.unreadable and not confirmed, picture_text=False)


def _is_lost(block: Block) -> bool:
    """Whether a block of a layer is mostly characters that no font can name."""
    return 2 * block.text.count("\ufffd") > len("".join(block.text.split()))


def _is_nearly_empty(blocks: Sequence[Block]) -> bool:
    """Whether a layer is a stamp or a number on a scanned page, not its text."""
    return sum(len("".join(block.text.split())) for block in blocks if not block.hidden) < NEARLY_EMPTY


def _in_order(layer: Layer, gone: set[int], added: dict[int, list[Block]]) -> tuple[list[Block], dict[int, int]]:
    """Blocks page by page, and where each kept block of the layer went. What has no page keeps its place."""
    blocks: list[Block] = []
    places: dict[int, int] = {}
    waiting = sorted(added)
    for index, block in enumerate(layer.body.blocks):
        while waiting and block.page is not None and waiting[0] < block.page:
            blocks += added[waiting.pop(0)]
        if index in gone:
            continue
        places[index] = len(blocks)
        # ids, sections and languages are set again by the finishing step
        blocks.append(msgspec.structs.replace(block, id="", ref=None, section=[], language=None))
    for number in waiting:
        blocks += added[number]
    return blocks, places


def _tables(tables: Sequence[Table], blocks: list[Block]) -> tuple[list[Table], list[Block]]:
    """Tables that a block still stands for, and the blocks with their new numbers."""
    used = sorted({block.table for block in blocks if block.table is not None})
    new = {old: index for index, old in enumerate(used)}
    kept = [
        block if block.table is None else msgspec.structs.replace(block, table=new[block.table]) for block in blocks
    ]
    return [tables[old] for old in used], kept


def _words(blocks: Sequence[Block]) -> list[str]:
    return [word.casefold() for block in blocks for word in _WORD.findall(block.text)]


def _text(blocks: Sequence[Block]) -> str:
    return "\n".join(block.text for block in blocks if block.kind is not BlockKind.COMMENT)


def _is_broken(layer: Sequence[Block], found: Sequence[Block]) -> bool:
    """Whether recognition shows that a text layer does not say what is to be seen.

    It finds too few of the layer's words, and of its own words a word list knows more than of the layer's. A layer that
    is itself an older recognition goes when the new one has clearly more words that are known.
    """
    words = Counter(_words(layer))
    seen = Counter(_words(found))
    if not seen:
        return False
    text, other = _text(layer), _text(found)
    common = (words & seen).total()
    if words.total() < _FEW:
        return not common and _letters(other) > _letters(text)
    recognised = all(block.source is BlockSource.OCR for block in layer)
    if common >= _SAME * words.total() and not recognised:
        return False
    if text.count("\ufffd") > 0.1 * len(text):
        return True
    languages = sorted({code for said in (text, other) if (code := by_language.language_of(said)) is not None} | {"en"})
    before = max(_known_share(text, code) for code in languages)
    after = max(_known_share(other, code) for code in languages)
    return after > before + (_BETTER if recognised else 0.0)


def _known_share(text: str, language: str) -> float:
    """Known words of three letters and more for each piece between blanks that has letters.

    Short words are known in any rubbish: "l e t t e r" is six letters that a list has. Where they are right, both texts
    have them.
    """
    code = word_lists.list_for(language)
    pieces = sum(any(map(str.isalpha, piece)) for piece in text.split())
    if code is None or not pieces:
        return 0.0
    found = word_lists.tokens(text)
    return word_lists.Words({word: times for word, times in found.items() if len(word) > 2}).known(code) / pieces


def _letters(text: str) -> int:
    return sum(character.isalpha() for character in text)


def _beyond(layer: Sequence[Block], found: Sequence[Block]) -> list[Block]:
    """Recognised blocks whose words the layer does not have."""
    have = Counter(_words(layer))
    more = []
    for block in found:
        words = Counter(_words([block]))
        if not words or block.kind in FURNITURE:
            continue
        if (words & have).total() < _SPREAD * words.total():
            more.append(block)
    return more


def _in_picture(block: Block) -> Block:
    """Text beside a text layer stands in a picture, whatever its size."""
    return msgspec.structs.replace(block, kind=BlockKind.FIGURE, level=None, marker=None)
