"""The last step of every canon: clean text, stable ids, sections, languages, so that all extractors end alike."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from datetime import UTC, datetime
from operator import attrgetter

import msgspec

from streams.extract.outcome import Draft
from streams.extract.registry import ExtractorSpec, fingerprint
from streams.extract.render import table_rows, to_text
from streams.records import FURNITURE, Block, BlockKind, CanonBody, Detection, Dropped, Page, Table

LANGUAGE_SAMPLE = 20_000
"""Characters of the body that the document's language is told from."""

_CONTROL = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ufeff\ufffe\uffff\ufdd0-\ufdef]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_LINE_ENDS = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
_LIGATURES = str.maketrans({"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"})
_TRAILING = re.compile(r"[ \t]+(?=\n)")
_DATE = re.compile(
    r"(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:[.,]\d{1,9})?)?\s*(Z|[+-]\d{2}:?\d{2})?)?",
    re.IGNORECASE,
)
_UNEVEN = re.compile(r"\s\s|[^\S ]")
_SPACES = re.compile(r"\s+")
_BETWEEN_CELLS = "\x00"  # in no clean text
_cell_place = attrgetter("row", "col")


class _Cleaner:
    """Cleans texts and counts what it takes out."""

    def __init__(self) -> None:
        self.taken: Counter[str] = Counter()

    def text(self, text: str, *, code: bool = False) -> str:
        """NFC without control characters, soft hyphens and lone surrogates; ligatures spelled out, except in code."""
        if text.isascii() and text.isprintable():
            return text.strip() if not code else text
        text = _LINE_ENDS.sub("\n", text)
        text, count = _CONTROL.subn("", text)
        self.taken["control_characters"] += count
        text, count = _SURROGATE.subn("\ufffd", text)
        self.taken["lone_surrogates"] += count
        if not code:
            self.taken["soft_hyphens"] += text.count("\u00ad")
            text = text.replace("\u00ad", "").translate(_LIGATURES)
        text = _TRAILING.sub("", unicodedata.normalize("NFC", text))
        return text.strip("\n").rstrip() if code else text.strip()


def iso_date(value: str | None) -> str | None:
    """An ISO 8601 date or date-time as UTC; None for everything else, and for a day that does not exist.

    A date-time without a zone keeps its date only: which moment it means is not known.
    """
    match = _DATE.fullmatch((value or "").strip())
    if match is None:
        return None
    year, month, day, hour, minute, second, zone = match.groups()
    try:
        at = datetime(int(year), int(month), int(day), int(hour or 0), int(minute or 0), int(second or 0), tzinfo=UTC)
        if hour is None or zone is None:
            return at.date().isoformat()
        at = datetime.fromisoformat(f"{at:%Y-%m-%dT%H:%M:%S}{zone.upper().replace('Z', '+00:00')}").astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return at.isoformat().replace("+00:00", "Z")


def finish(draft: Draft, *, content_hash: str, detection: Detection, spec: ExtractorSpec) -> CanonBody:
    """The canon body of a draft: a pure function of its arguments (R-CAN-7)."""
    cleaner = _Cleaner()
    warnings = list(dict.fromkeys(draft.warnings))
    tables = [_table(table, cleaner) for table in draft.tables]
    blocks, places = _blocks(draft.blocks, tables, cleaner)
    blocks = _with_ids(blocks)
    blocks = _with_refs(blocks, places, draft.refs)
    blocks = _with_sections(blocks)
    created, modified = iso_date(draft.created), iso_date(draft.modified)
    if (draft.created and created is None) or (draft.modified and modified is None):
        warnings = list(dict.fromkeys([*warnings, "bad_date"]))
    dropped = Counter({item.what: item.count for item in draft.dropped if item.count})
    dropped.update({what: count for what, count in cleaner.taken.items() if count})
    body = CanonBody(
        content_hash=content_hash,
        fingerprint=fingerprint(spec, detection),
        extractor=spec.name,
        extractor_version=spec.version,
        media_type=detection.media_type,
        method=draft.method,
        title=cleaner.text(draft.title or "").replace("\n", " ") or _title(blocks),
        authors=[name for author in draft.authors if (name := cleaner.text(author).replace("\n", " "))],
        created=created,
        modified=modified,
        language=None,
        page_count=draft.page_count,
        pages=[_page(page) for page in draft.pages],
        blocks=blocks,
        tables=tables,
        warnings=warnings,
        dropped=[Dropped(what=what, count=count) for what, count in sorted(dropped.items())],
        confidence=_confidence(blocks, detection),
        metadata={
            cleaner.text(key): text for key, value in sorted(draft.metadata.items()) if (text := cleaner.text(value))
        },
    )
    return _with_languages(body, draft.language)


def body_text(body: CanonBody) -> str:
    """The body in reading order, without furniture and hidden blocks; blank lines between blocks, lines in lists."""
    return to_text(body)


def _table(table: Table, cleaner: _Cleaner) -> Table:
    whole = "".join([cell.text for cell in table.cells])
    clean = str.strip if whole.isascii() and whole.isprintable() else cleaner.text  # most tables need no more
    cells = []
    for cell in table.cells:
        text = clean(cell.text)
        cells.append(cell if text == cell.text else msgspec.structs.replace(cell, text=text))
    cells.sort(key=_cell_place)
    return msgspec.structs.replace(
        table,
        cells=cells,
        caption=cleaner.text(table.caption) if table.caption else None,
        number=cleaner.text(table.number) if table.number else None,
    )


def _table_text(table: Table) -> str:
    return "\n".join(map(_table_line, table_rows(table))).strip("\n")


def _table_line(row: list[str]) -> str:
    """The texts of a row, which begin and end without blanks, apart by tabs, each in one line."""
    line = _BETWEEN_CELLS.join(row)
    if _UNEVEN.search(line):
        line = _SPACES.sub(" ", line)
    return line.replace(_BETWEEN_CELLS, "\t").rstrip()


def _blocks(found: list[Block], tables: list[Table], cleaner: _Cleaner) -> tuple[list[Block], dict[int, int]]:
    """Clean blocks that say something, and where each block of the draft went."""
    blocks: list[Block] = []
    places: dict[int, int] = {}
    for index, block in enumerate(found):
        if block.kind is BlockKind.TABLE and block.table is not None and block.table < len(tables):
            text = _table_text(tables[block.table])
        else:
            text = cleaner.text(block.text, code=block.kind is BlockKind.CODE)
        if not text.strip() and block.kind not in (BlockKind.TABLE, BlockKind.FIGURE, BlockKind.FORM_FIELD):
            continue
        places[index] = len(blocks)
        blocks.append(
            msgspec.structs.replace(
                block,
                text=text,
                bbox=_box(block.bbox),
                confidence=None if block.confidence is None else round(block.confidence, 4),
                links=[
                    msgspec.structs.replace(link, text=cleaner.text(link.text), target=cleaner.text(link.target))
                    for link in block.links
                ],
            )
        )
    return blocks, places


def _box(box: tuple[float, float, float, float] | None) -> tuple[float, float, float, float] | None:
    if box is None:
        return None
    x0, y0, x1, y1 = (round(float(value), 2) + 0.0 for value in box)  # + 0.0: no negative zero
    return x0, y0, x1, y1


def _page(page: Page) -> Page:
    return msgspec.structs.replace(
        page,
        width=round(float(page.width), 2),
        height=round(float(page.height), 2),
        confidence=None if page.confidence is None else round(page.confidence, 4),
        image_area=round(float(page.image_area), 4),
    )


def _with_ids(blocks: list[Block]) -> list[Block]:
    """Ids of kind and text, so that a block keeps its id when others come and go; repeats are numbered in order."""
    seen: Counter[str] = Counter()
    out = []
    for block in blocks:
        digest = hashlib.blake2b(f"{block.kind.value}|{block.text}".encode(), digest_size=8).hexdigest()
        seen[digest] += 1
        name = digest if seen[digest] == 1 else f"{digest}-{seen[digest]}"
        out.append(msgspec.structs.replace(block, id=name))
    return out


def _with_refs(blocks: list[Block], places: dict[int, int], refs: dict[int, int]) -> list[Block]:
    for source, target in refs.items():
        if source in places and target in places:
            at = places[source]
            blocks[at] = msgspec.structs.replace(blocks[at], ref=blocks[places[target]].id)
    return blocks


def _with_sections(blocks: list[Block]) -> list[Block]:
    """Each block with the headings above it; a heading closes those of its own level and deeper."""
    path: list[tuple[int, str]] = []
    out = []
    for block in blocks:
        if block.kind is BlockKind.HEADING and not block.hidden:
            level = block.level or 1
            while path and path[-1][0] >= level:
                path.pop()
            out.append(msgspec.structs.replace(block, section=[text for _, text in path]))
            path.append((level, block.text.replace("\n", " ")))
        elif block.kind in (BlockKind.BOILERPLATE, BlockKind.METADATA):
            out.append(block)
        else:
            out.append(msgspec.structs.replace(block, section=[text for _, text in path]))
    return out


def _title(blocks: list[Block]) -> str | None:
    return next((b.text.replace("\n", " ") for b in blocks if b.kind is BlockKind.TITLE and not b.hidden), None)


def _confidence(blocks: list[Block], detection: Detection) -> float | None:
    """Mean of the blocks' confidence by length (markup without a figure counts as sure), times that of the encoding.

    Characters that could not be decoded count as wrong.
    """
    weight = total = 0.0
    for block in blocks:
        if block.kind in FURNITURE or block.hidden or not block.text:
            continue
        lost = block.text.count("\ufffd") / len(block.text)
        weight += len(block.text)
        total += len(block.text) * (1.0 if block.confidence is None else block.confidence) * (1 - lost)
    if not weight:
        return None
    decoded = detection.encoding_confidence if detection.encoding_source in ("detected", "default") else None
    return round(total / weight * (1.0 if decoded is None else decoded), 4)


def _with_languages(body: CanonBody, declared: str | None) -> CanonBody:
    """The document's language, and that of the blocks that are surely in another one.

    Only the document's own declaration is a hint: a source's would make two canons of one content.
    """
    from streams.extract.block_language import with_languages
    from streams.screen.language import detect_language

    text = body_text(body)
    sample = text if len(text) <= LANGUAGE_SAMPLE else text[: LANGUAGE_SAMPLE // 2] + text[-LANGUAGE_SAMPLE // 2 :]
    hint = declared.split("-")[0].lower() if declared and re.fullmatch(r"[A-Za-z]{2}(?:-.*)?", declared) else None
    language, _ = detect_language(sample, hint)
    return msgspec.structs.replace(body, language=language, blocks=with_languages(body.blocks, language))
