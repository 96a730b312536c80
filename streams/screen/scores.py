"""The screen's numbers: what can be counted in a text to tell whether a person could read it (R-SCR-1)."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import cache, lru_cache
from operator import mul
from typing import TYPE_CHECKING, NamedTuple

from streams.records import FURNITURE, BlockKind, BlockSource, CanonBody
from streams.screen import words
from streams.screen.counting import character_counts, pieces
from streams.screen.language import LATIN, NO_LANGUAGE, is_spaced, ranking, scripts
from streams.screen.words import Words

if TYPE_CHECKING:
    import numpy as np

    Hashes = np.ndarray[tuple[int], np.dtype[np.uint64]]

LOOSE = frozenset({BlockKind.TABLE, BlockKind.CODE, BlockKind.FORMULA, BlockKind.FORM_FIELD})
"""Kinds whose text is no prose: names, numbers and symbols are what they are made of."""

NGRAM = 10
_ODD = 0x9E3779B97F4A7C15  # multiplier of a rolling hash
_MOST_IN_SET = 1_000_000  # runs; sorting many takes longer than a set of them, and a tenth of its memory
LONG_TOKEN = 40
MIN_LINES = 20
MIN_NGRAM_TOKENS = 200
COPY = 0.6
"""Share of a page's characters in lines of one other page, from which it is the same page: recognition errs here and
there, and a turned page has other errors."""

MIN_COPY = 300
"""Characters in different lines below which a page is none to speak of: stamps and headings alone are no copy."""

SHORT_TOKENS = 8
"""Words below which a dictionary rate says nothing."""

SURE_OF_UNLISTED = 0.9
"""Probability from which a language without a word list is believed; measured: real text 1.0, shifted letters below."""

_LETTER, _DIGIT, _SPACE, _PUNCTUATION, _OTHER = range(5)
_CID = re.compile(r"\(cid:\d+\)|glyph(?:<|&lt;)|/(?:C\d+_\d+|[gG]\d{2,5}|uni[0-9A-F]{4})(?![0-9A-Za-z])")
_ALONE = re.compile(r"(?<!\S)\ufffd(?!\S)")
_LEADERS = re.compile(r"([^\w\s]|_)(?:\s?\1){3,}")  # dots that lead to a page number, ruled lines, blanks of forms


@cache
def _class(character: str) -> int:
    category = unicodedata.category(character)
    if character == "\ufffd":
        return _OTHER
    if category[0] in "LM":
        return _LETTER
    if category[0] == "N":
        return _DIGIT
    if category[0] == "Z" or character in "\t\n\r\f\v\x85":
        return _SPACE
    return _PUNCTUATION if category[0] in "PS" or category == "Cf" else _OTHER


class Characters(NamedTuple):
    """How many characters of each class."""

    letters: int
    digits: int
    space: int
    punctuation: int
    other: int
    replacement: int
    private_use: int
    control: int

    @property
    def total(self) -> int:
        return self.letters + self.digits + self.space + self.punctuation + self.other

    @property
    def ink(self) -> int:
        """Characters that are no white space."""
        return self.total - self.space


@lru_cache(maxsize=4)  # the same text is asked for more than once
def count_characters(text: str) -> Characters:
    """Counts by Unicode general category: marks are letters, format characters (joiners, soft hyphens) punctuation."""
    classes, private_use, control = [0] * 5, 0, 0
    found = character_counts(text)
    for character, count in found.items():
        kind = _class(character)
        classes[kind] += count
        if kind == _OTHER:
            category = unicodedata.category(character)
            private_use += count * (category == "Co")
            control += count * (category in ("Cc", "Cs", "Cn"))
    return Characters(
        letters=classes[_LETTER],
        digits=classes[_DIGIT],
        space=classes[_SPACE],
        punctuation=classes[_PUNCTUATION],
        other=classes[_OTHER],
        replacement=found.get("\ufffd", 0),
        private_use=private_use,
        control=control,
    )


class Part(NamedTuple):
    """The text of one page, or of the document where it has none."""

    number: int | None
    prose: str
    loose: str

    @property
    def text(self) -> str:
        return f"{self.prose}\n{self.loose}" if self.loose else self.prose


def parts(body: CanonBody) -> list[Part]:
    """The body text by page, in order; furniture is left out. Pages without a block are there with empty text."""
    prose: dict[int | None, list[str]] = {page.number: [] for page in body.pages}
    loose: dict[int | None, list[str]] = {}
    for block in body.blocks:
        if block.kind not in FURNITURE:
            (loose if block.kind in LOOSE else prose).setdefault(block.page, []).append(block.text)
    numbers = sorted(prose.keys() | loose.keys(), key=lambda number: (number is None, number or 0))
    return [Part(n, "\n".join(prose.get(n, ())), "\n".join(loose.get(n, ()))) for n in numbers]


def stretches(body: CanonBody) -> list[str]:
    """Prose that runs on from line to line: of each page, for a column may be in many blocks; else of each block."""
    return [part.prose for part in parts(body) if part.number is not None] + [
        block.text for block in body.blocks if block.page is None and block.kind not in FURNITURE | LOOSE
    ]


class Rate(NamedTuple):
    """Words and how many of them a word list knows. `known` is None where no list can tell."""

    words: int
    known: int | None
    no_language: float | None = None  # the model's probability that it is none, where no list can tell
    code: str | None = None  # the list that knows most of them

    @property
    def value(self) -> float | None:
        return self.known / self.words if self.known is not None and self.words else None


def spaced_words(text: str) -> Words | None:
    """The words of a text; None where its script sets none apart, for there a word count would be a lie."""
    return words.tokens(text) if is_spaced(scripts(text)) else None


def dictionary_rate(text: str, tokens: Words | None, languages: Sequence[str | None], *, enough: float) -> Rate:
    """The best rate of any likely language: a document may say it is English and be German.

    Args:
        text: prose.
        tokens: its `spaced_words`.
        languages: ISO 639-1 codes that are likely, the likeliest first; None is passed over.
        enough: a rate that ends the search.

    Returns:
        `known` is None for scripts without spaces, for too few words, and for languages without a list.
    """
    total = tokens.total() if tokens else 0
    if not tokens or total < SHORT_TOKENS:
        return Rate(total, None)
    best, code, tried = -1, None, set[str]()
    for language in languages:
        best, code = max((best, code), _try(tokens, language, tried), key=_first)
        if best >= enough * total:
            return Rate(total, best, code=code)
    ranked = ranking(text)
    no_language = dict(ranked).get(NO_LANGUAGE, 0.0)
    likely = [code for code, _ in ranked if code != NO_LANGUAGE][:2]
    found = scripts(text)
    for language in (*likely, "en" if 2 * found[LATIN] > found.total() else None):
        best, code = max((best, code), _try(tokens, language, tried), key=_first)
        if best >= enough * total:
            return Rate(total, best, code=code)
    first, probability = ranked[0]
    unlisted = first != NO_LANGUAGE and words.list_for(first) is None and probability >= SURE_OF_UNLISTED
    if best < 0 or unlisted:
        return Rate(total, None, no_language)
    return Rate(total, best, no_language, code)


def _try(tokens: Words, language: str | None, tried: set[str]) -> tuple[int, str | None]:
    code = words.list_for(language)
    if code is None or code in tried:
        return -1, None
    tried.add(code)
    return tokens.known(code), code


def _first(pair: tuple[int, str | None]) -> int:
    return pair[0]


class TokenLengths(NamedTuple):
    """Lengths of words, in letters."""

    words: int
    mean: float
    longest: int
    long_share: float  # of all letters, those in words longer than LONG_TOKEN


def token_lengths(tokens: Words | None) -> TokenLengths | None:
    """Of a text's `spaced_words`; None without any."""
    if not tokens:
        return None
    count, lengths = tokens.total(), list(map(len, tokens))
    total, longest = sum(map(mul, lengths, tokens.values())), max(lengths)
    long = 0
    if longest > LONG_TOKEN:
        long = sum(len(word) * times for word, times in tokens.items() if len(word) > LONG_TOKEN)
    return TokenLengths(count, total / count, longest, long / total)


def repeated_lines(text: str) -> float:
    """Share of the characters that stand in a line which came before; 0 below 20 lines."""
    lines = Counter(line for raw in text.splitlines() if (line := raw.strip()))
    if lines.total() < MIN_LINES:
        return 0.0
    total = sum(len(line) * count for line, count in lines.items())
    return sum(len(line) * (count - 1) for line, count in lines.items()) / total


def repeated_ngrams(text: str) -> float:
    """Share of the runs of ten tokens that came before; 0 below 200 tokens. Numbers count: a log is no repetition."""
    import numpy as np

    some: list[Hashes] = []
    for piece in pieces(text):
        tokens = piece.split()
        some.append(np.fromiter(map(hash, tokens), np.int64, len(tokens)).view(np.uint64))
    hashes = some[0] if len(some) == 1 else np.concatenate(some)
    some.clear()
    if len(hashes) < MIN_NGRAM_TOKENS:
        return 0.0
    runs = len(hashes) - NGRAM + 1
    rolled = np.zeros(runs, np.uint64)
    for start in range(NGRAM):
        rolled *= _ODD  # modulo 2**64
        rolled += hashes[start : start + runs]
    if runs <= _MOST_IN_SET:
        return 1 - len(set(rolled.tolist())) / runs
    rolled.sort()
    return 1 - (1 + int(np.count_nonzero(rolled[1:] != rolled[:-1]))) / runs


def without_copies(pages: Sequence[Part]) -> list[Part]:
    """The pages that are not an earlier one once more, as when a sheet was scanned twice.

    Nothing that damages a text makes a whole page of lines that stand together on one other page, so a copy says
    nothing about damage. The page that it is a copy of stays, and with it what is repeated inside it.
    """
    kept: list[Part] = []
    first: dict[str, int] = {}  # a line -> the page that had it first
    for part in pages:
        lines = [line for raw in part.text.splitlines() if (line := raw.strip())]
        shared: Counter[int] = Counter()
        for line in set(lines):
            if line in first:
                shared[first[line]] += len(line)
        characters = sum(map(len, set(lines)))
        most = max(shared.values(), default=0)
        if characters >= MIN_COPY and most >= COPY * characters:
            continue
        for line in lines:
            first.setdefault(line, len(kept))
        kept.append(part)
    return kept


def part_scores(part: Part) -> tuple[dict[str, float], Characters]:
    """The scores of one page, or of a whole text, that need no language."""
    text = part.text
    found = count_characters(text)
    scores = {"characters": float(found.ink)}
    if found.total:
        for name in ("letters", "digits", "space", "punctuation", "other"):
            scores[name] = getattr(found, name) / found.total
    if found.ink:
        for name in ("replacement", "private_use", "control"):
            scores[name] = getattr(found, name) / found.ink
        alone = len(_ALONE.findall(text)) if found.replacement else 0
        scores["replacement_in_words"] = (found.replacement - alone) / found.ink
        glyphs = len(_CID.findall(text)) if "(cid:" in text or "glyph" in text or "/" in text else 0
        scores["cid_per_1000"] = 1000 * glyphs / len(text)
    return scores, found


def letters_and_digits(prose: str) -> tuple[int, float]:
    """Characters of the prose that are no space (leaders collapsed), and the share of letters and digits in them."""
    if "://" in prose:
        prose = " ".join(chunk for chunk in prose.split() if "://" not in chunk)
    found = count_characters(_LEADERS.sub(r"\1", prose))
    return found.ink, (found.letters + found.digits) / found.ink if found.ink else 1.0


def amount_of_writing(text: str) -> int:
    """Characters that are no space, with those of Chinese, Japanese and Korean counted twice: they say so much more."""
    return count_characters(text).ink + sum(
        count - count // script.weight for script, count in scripts(text).items() if script.weight > 1
    )


def unread_pages(body: CanonBody, characters: dict[int, int], *, below: int, min_area: float) -> list[int]:
    """Pages that were not recognised yet: under images with (nearly) no text, or with a text that no library reads."""
    return [
        page.number
        for page in body.pages
        if page.source is not BlockSource.OCR
        and (page.unreadable or (page.image_area >= min_area and characters.get(page.number, 0) < below))
    ]
