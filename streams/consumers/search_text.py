"""From blocks to passages, from a person's words to an FTS5 query: both through one normalisation.

SQLite's unicode61 tokenizer splits at spaces and punctuation. Scripts that are written without spaces (Chinese,
Japanese, Thai, ...) are therefore given as overlapping pairs of characters, which FTS5 then finds as a phrase.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from streams.extract.render import shown
from streams.records import Block, CanonBody

PASSAGE_CHARACTERS = 1200
"""A passage is about a paragraph or two: small enough to be shown, large enough for words that belong together."""

MAX_WORDS = 32
"""Words of one query; more are ignored."""

_UNSPACED = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f"  # Myanmar
    "\u1780-\u17ff"  # Khmer
    "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # Japanese kana, Han
    "\uac00-\ud7af"  # Hangul has spaces, but glues particles to words
    "\U00020000-\U0003134f"  # Han, extensions B to G
)
_RUN = re.compile(f"[{_UNSPACED}]+")
_DROPPED = re.compile(
    "[\u0000\u00ad\u200b-\u200f\u2060\ufeff"  # NUL, soft hyphen, zero width
    "\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670]"  # Hebrew and Arabic points, which hardly anybody types
)


@dataclass(frozen=True)
class Passage:
    """A piece of a document's body, as it is shown."""

    section: str  # headings above, joined by " > "
    page: int | None
    text: str


def passages(body: CanonBody) -> list[Passage]:
    """The body in reading order, cut at sections and pages and at about `PASSAGE_CHARACTERS`.

    Furniture and what the document hides from its reader are left out.
    """
    found: list[Passage] = []
    texts: list[str] = []
    place: tuple[str, int | None] = ("", None)

    def close() -> None:
        if texts:
            found.append(Passage(*place, "\n".join(texts)))
            texts.clear()

    for block in shown(body):
        text = block.text.replace("\0", "").strip()  # as it will be stored, so that it can be taken out again
        if not text:
            continue
        here = (_section(block), block.page)
        for piece in _pieces(text):
            if here != place or sum(map(len, texts)) + len(piece) > PASSAGE_CHARACTERS:
                close()
                place = here
            texts.append(piece)
    close()
    return found


def _section(block: Block) -> str:
    return " > ".join(" ".join(title.split()) for title in block.section)


def _pieces(text: str) -> list[str]:
    """A long text in pieces, cut at white space where there is any."""
    pieces = []
    while len(text) > PASSAGE_CHARACTERS:
        cut = max(text.rfind(space, PASSAGE_CHARACTERS // 2, PASSAGE_CHARACTERS) for space in " \n\t")
        cut = cut if cut > 0 else PASSAGE_CHARACTERS
        pieces.append(text[:cut].rstrip())
        text = text[cut:].lstrip()
    return [*pieces, text] if text else pieces


def folded(text: str) -> str:
    """A text as it is compared: compatibility forms, case and points made alike."""
    return _DROPPED.sub("", unicodedata.normalize("NFKC", text)).casefold()


def indexed(text: str) -> str:
    """A text as it is given to FTS5."""
    return _RUN.sub(lambda run: f" {' '.join(_pairs(run[0]))} ", folded(text))


def _pairs(run: str) -> list[str]:
    """日本語 -> 日本 本語 語: the single last character makes each of them the beginning of some token."""
    return [*(run[i : i + 2] for i in range(len(run) - 1)), run[-1]]


def query_words(words: str) -> list[str]:
    """A person's words, each one FTS5 phrase in quotes; what has no letter and no digit is left out.

    Quotes, operators and all other syntax of FTS5 are text here, so that no input is an error.
    """
    found = []
    for word in folded(words).split():
        pieces = []
        for piece in _split_runs(word):
            if not any(character.isalnum() for character in piece):
                continue
            if _RUN.fullmatch(piece):
                # Of a run only whole pairs are asked for: its end may be the middle of a longer one.
                pieces.append(" ".join(_pairs(piece)[:-1]) if len(piece) > 1 else piece)
            else:
                pieces.append(piece)
        quoted = ['"' + piece.replace('"', '""') + '"' for piece in pieces]
        single = len(pieces) == 1 and len(pieces[0]) == 1 and _RUN.fullmatch(pieces[0])
        found.extend([f"{quoted[0]}*"] if single else quoted)
    return found[:MAX_WORDS]


def _split_runs(word: str) -> list[str]:
    return [piece for piece in re.split(f"([{_UNSPACED}]+)", word) if piece]


def with_prefix(phrases: list[str]) -> list[str]:
    """The same words, the last one only begun."""
    if not phrases or phrases[-1].endswith("*"):
        return phrases
    return [*phrases[:-1], phrases[-1] + "*"]


def snippet(text: str, words: str, length: int = 240) -> str:
    """The part of a passage around the first of the words, on one line."""
    line = " ".join(text.split())
    if len(line) <= length:
        return line
    lower = line.lower()  # as long as the line, but for a few letters
    found = [place for word in words.lower().split() if (place := lower.find(word.strip("\"'()*.,;:"))) >= 0]
    start = max(0, min(min(found, default=0) - length // 3, len(line) - length))
    if start:
        start = line.find(" ", start, start + 30) + 1 or start
    end = start + length
    if end < len(line):
        end = line.rfind(" ", end - 30, end) if line.rfind(" ", end - 30, end) > 0 else end
    return ("… " if start else "") + line[start:end] + (" …" if end < len(line) else "")
