"""Text layers that lie: found page by page, read again by other libraries, given up to recognition if none can.

    characters that are none, or words that no list knows -> PDFium -> pdfminer.six -> unreadable

What is done depends on counts alone, never on time, so that every machine gives the same text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from streams.extract.pdf_lines import PageLines, page_lines
from streams.extract.pdf_other_text import with_glyphs
from streams.extract.tools.glyphs import Glyph, ReaderFailed
from streams.extract.tools.mupdf import PageError, PageRead, Pdf, Word
from streams.screen import scores
from streams.screen.language import detect_language
from streams.screen.words import Words

BROKEN = 0.02
"""Share of a page's characters without meaning (U+FFFD in words, private use, control) that rouses suspicion."""

UNREADABLE = 0.2
"""The share that makes it unreadable; the screen's threshold for a font without a way back."""

FEW_KNOWN = 0.5
"""Share of known words below which a page is suspected; good text has 0.96, shifted letters 0.2."""

BAD_RECOGNITION = 0.85
"""Share of known words below which the text under a scan is suspected; good recognition has 0.96."""

GOOD = 0.6
"""Share of known words from which another reading is text."""

NO_LANGUAGE = 0.6
"""Probability of "no language" from which few known words mean letters that are no words; the screen's threshold."""

_MIN_WORDS = 20
_SURE = 0.9  # of a language
_MOST_IN_VAIN = 5  # pages that no other library could read, after which a document's other pages are not tried
_MOST_READ_AGAIN = 200  # pages of a document that other libraries read
_LOST = re.compile("[\ufffd\ue000-\uf8ff\x00-\x08\x0e-\x1f]{4,}")
_NUMBER = re.compile(r"[-+(]?[$€£¥]?\d[\d.,:/ ]*[%)°]?")
_EDGES = re.compile(r"^[^\w]+|[^\w]+$")
_INSIDE = re.compile(r"[-'’/–—]")


class Checked(NamedTuple):
    """A page whose text layer was looked at."""

    page: PageRead
    lines: PageLines
    reader: str = ""  # the library that read it, where it is not the first one
    unreadable: bool = False


class _Other(NamedTuple):
    """A page as another library reads it."""

    page: PageRead
    lines: PageLines
    words: list[Word]


class _Text(msgspec.Struct, frozen=True, kw_only=True):
    """What can be told of a page's text without reading it."""

    ink: int
    broken: float
    lost: float = 0.0  # share of the characters without meaning that stand together: words, not signs of a formula
    rate: float | None = None  # share of known words
    no_language: float = 0.0
    lowercase: float = 0.0  # share of words in small letters
    words: int = 0
    sure: bool = False  # of a language, where words do not stand apart

    @property
    def is_readable(self) -> bool:
        """Whether its words are known, whatever else it holds."""
        return self.sure if self.rate is None else self.rate >= GOOD

    @property
    def is_text(self) -> bool:
        """Whether it is surely what people write: digits alone could be any."""
        return self.broken <= BROKEN and self.is_readable


def _pdfium(page: bytes) -> list[Glyph]:
    from streams.extract.tools import pdfium

    return pdfium.glyphs(page)


def _pdfminer(page: bytes) -> list[Glyph]:
    from streams.extract.tools import pdfminer

    return pdfminer.glyphs(page)


READERS: dict[str, Callable[[bytes], list[Glyph]]] = {"pypdfium2": _pdfium, "pdfminer.six": _pdfminer}
"""Other libraries by name, in the order in which they are asked; imported when they are."""


TOOLS = {"pdf_pdfium": "pypdfium2", "pdf_pdfminer": "pdfminer.six"}
"""The same by the names that decisions use for them (`streams.extract.registry`)."""


class TextLayers:
    """The text layers of one document. It is asked for page after page, in order."""

    def __init__(self, pdf: Pdf, language: str | None, reader: str | None = None) -> None:
        """`reader`: the library of `READERS` that reads every page; None: those that the first one can't read."""
        self._pdf = pdf
        self._language = language
        self._reader = reader
        self._in_vain = 0
        self._again = 0

    def check(self, page: PageRead, lines: PageLines) -> Checked:
        """The page as it is, as another library reads it, or marked as unreadable."""
        if self._reader is not None and lines.groups:
            other = self._read_by(self._reader, page, lines.number)
            if other is not None:
                return self._taken(other, self._reader)
        text = self._judged(page, lines)
        if not self._is_suspect(text, page, lines):
            return Checked(page, lines)
        if self._reader is None and (not lines.ocr or text.broken > BROKEN):
            better = self._better(page, lines, text)
            if better is not None:
                return better
        return Checked(page, lines, unreadable=self._is_unreadable(page, lines, text))

    def _better(self, page: PageRead, lines: PageLines, text: _Text) -> Checked | None:
        if self._in_vain >= _MOST_IN_VAIN or self._again >= _MOST_READ_AGAIN:
            return None
        self._again += 1
        for name in READERS:
            other = self._read_by(name, page, lines.number)
            if other is None:
                continue
            again = self._judged(other.page, other.lines)
            if again.is_text and again.broken <= text.broken and (again.rate or 0.0) >= (text.rate or 0.0):
                self._in_vain = 0
                return self._taken(other, name)
        self._in_vain += 1
        return None

    def _taken(self, other: _Other, name: str) -> Checked:
        self._pdf.replace_words(other.lines.number, other.words)
        return Checked(other.page, other.lines, name, self._is_unreadable(other.page, other.lines))

    def _read_by(self, name: str, page: PageRead, number: int) -> _Other | None:
        try:
            glyphs = READERS[name](self._pdf.page_alone(number))
            if sum(glyph.text == "\ufffd" for glyph in glyphs) > UNREADABLE * len(glyphs):
                return None
            other, found = with_glyphs(page, glyphs, self._pdf.shown_place(number))
        except (PageError, ReaderFailed):
            return None  # its page stays as the first library reads it; `reader` says so
        return _Other(other, page_lines(other, number), found)

    # --- signs -------------------------------------------------------------------------------------------------------

    def _judged(self, page: PageRead, lines: PageLines) -> _Text:
        text = _text(page, lines)
        found = scores.count_characters(text)
        if not found.ink:
            return _Text(ink=0, broken=0.0)
        lone = text.split().count("\ufffd") if found.replacement else 0  # a bullet that no font can name
        broken = (found.replacement - lone + found.private_use + found.control) / found.ink
        lost = sum(map(len, _LOST.findall(text))) / found.ink if broken > BROKEN else 0.0
        if lines.ocr:
            return _Text(ink=found.ink, broken=broken, lost=lost, rate=self._recognised_rate(text))
        tokens = scores.spaced_words(text)
        if tokens is None:
            return _Text(ink=found.ink, broken=broken, lost=lost, sure=detect_language(text)[1] >= _SURE)
        total = tokens.total()
        if total < scores.SHORT_TOKENS:
            return _Text(ink=found.ink, broken=broken, lost=lost)
        rate = scores.dictionary_rate(text, tokens, [self._language], enough=GOOD)
        if (rate.value or 0.0) < GOOD:
            language = detect_language(text)[0]
            rate = scores.dictionary_rate(text, tokens, [self._language, language], enough=GOOD)
            if (rate.value or 0.0) >= GOOD:
                self._language = language or self._language
        return _Text(
            ink=found.ink,
            broken=broken,
            lost=lost,
            rate=rate.value,
            no_language=rate.no_language or 0.0,
            lowercase=sum(times for word, times in tokens.items() if word.islower() and len(word) > 1) / total,
            words=total,
        )

    def _recognised_rate(self, text: str) -> float | None:
        """Share of known words in recognised text; None for too few, and without a list.

        Marks inside a word count against it, as single letters do. Names and what has digits count neither way: no
        list has them.
        """
        known = Words()
        marred = 0
        for chunk in text.split():
            word = _EDGES.sub("", chunk)
            letters = sum(map(str.isalpha, word))
            if letters == len(word) == 1:
                marred += word.casefold() not in ("a", "i", "o", "y", "e", "à", "é", "u", "v", "z", "s", "k", "w")
            elif letters < 2 or any(map(str.isdigit, word)) or "@" in word or "." in word:
                continue
            elif letters == len(word):
                if not word[0].isupper():
                    known[word] += 1
            elif all(part.isalpha() for part in _INSIDE.split(word) if part):
                known.update(part for part in _INSIDE.split(word) if part.islower() and len(part) > 1)
            else:
                marred += 1
        read = known.total() + marred
        if read < _MIN_WORDS or scores.spaced_words(text) is None:
            return None
        rate = scores.dictionary_rate(text, known, [self._language, detect_language(text)[0]], enough=BAD_RECOGNITION)
        return None if rate.known is None else rate.known / read

    def _is_suspect(self, text: _Text, page: PageRead, lines: PageLines) -> bool:
        if not text.ink:
            return False
        if text.broken > BROKEN:
            return True
        if lines.ocr:
            return text.rate is not None and text.rate < BAD_RECOGNITION
        if text.words >= _MIN_WORDS:
            return (text.rate is not None and text.rate < FEW_KNOWN) or text.no_language > NO_LANGUAGE
        if text.rate is not None and text.rate >= GOOD:
            return False
        return self._is_unmapped(page, lines)

    def _is_unreadable(self, page: PageRead, lines: PageLines, text: _Text | None = None) -> bool:
        """Whether a page that no library reads as text is none. Part lists, names and code have few words, too."""
        text = text or self._judged(page, lines)
        if not self._is_suspect(text, page, lines):
            return False
        if text.broken > BROKEN:
            readable = text.is_readable and text.lost <= UNREADABLE / 2
            return text.broken > UNREADABLE and not readable
        if lines.ocr or text.words < _MIN_WORDS:
            return True
        few = text.rate is not None and text.rate < FEW_KNOWN
        prose = text.lowercase >= 0.6 and text.words >= 2 * _MIN_WORDS
        return text.no_language > NO_LANGUAGE or (few and (prose or self._is_unmapped(page, lines)))

    def _is_unmapped(self, page: PageRead, lines: PageLines) -> bool:
        """Whether most of a page stands in fonts whose codes nothing explains, and does not look like numbers."""
        chunks = [chunk for _, group in lines.groups for line in group for chunk in line.text.split()]
        if not chunks or sum(bool(_NUMBER.fullmatch(chunk)) for chunk in chunks) > 0.5 * len(chunks):
            return False
        fonts = self._pdf.unmapped_fonts(lines.number)
        lengths = [(span.font in fonts, len(span.text)) for line in page.lines for span in line.spans if span.visible]
        return 2 * sum(length for unmapped, length in lengths if unmapped) > sum(length for _, length in lengths)


def _text(page: PageRead, lines: PageLines) -> str:
    """The text of a page as its reader gives it, before anything is cleaned away."""
    return "\n".join("".join(span.text for span in line.spans if lines.ocr or span.visible) for line in page.lines)
