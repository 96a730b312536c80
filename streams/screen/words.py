"""Word lists: is this a word of that language, and if not, could it be one?

From wordfreq, kept as 64-bit hashes and runs of three letters (6 MB a language, not 100)."""

from __future__ import annotations

import re
import threading
from array import array
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import Enum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from streams.screen.counting import pieces

if TYPE_CHECKING:
    import numpy as np

    Hashes = np.ndarray[tuple[int], np.dtype[np.int64]]

ZIPF = 1.5
"""A word is what is used more than about 30 times in a thousand million words (measured: good text .97 of tokens)."""

ZIPF_COMMON = 3.5
"""Common words, some 20,000: what two words that ran together are told by, and English in other languages."""

ZIPF_SPELLING = 2.5
"""How a language spells is learned from words that are used so much; rarer ones are often foreign or misspelt."""

RARE_RUN = 8e-6
"""Runs of three letters with a smaller share of all runs are no spelling of the language (measured: of undamaged texts
of 22 languages below 1 % of the words have one and are on no list, of words spelt backwards more than half)."""

RARE_LETTER = 2e-4
"""Letters with a smaller share are no letters of the language: "ø" in Czech."""

_MIN_ACCENTS = 3  # letters beyond ASCII in an alphabet; English has "é" in loans

LONGEST = 60
"""Letters of the longest word that is looked up."""

_ALIASES = {"no": "nb", "nn": "nb", "hr": "sh", "sr": "sh", "bs": "sh", "tl": "fil"}
_NO_TOKENS = frozenset({"zh", "ja", "ko", "th", "lo", "km", "my", "bo"})

# Letters with their marks: `\w` leaves out the vowel signs of Indic scripts and Hebrew and Arabic points.
_MARKS = (
    "\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670\u0900-\u0903\u093a-\u094f"
    "\u0981-\u0983\u09bc-\u09d7\u0b82\u0bbe-\u0bd7"
)
_AROUND = ".,;:!?()[]{}<>\"'*#-_“”„‘’«»‹›–—…。，、"  # punctuation around words, but nothing that makes an address
TOKEN = re.compile(rf"(?:[^\W\d_]|[{_MARKS}])+(?:['’](?:[^\W\d_]|[{_MARKS}])+)*")
_WITH_DIGIT = re.compile(r"\b[^\W\d]*+\d\w*+")  # possessive: a megabyte without a space stays linear


@cache
def _paths() -> dict[str, str]:
    import wordfreq

    return {str(code): str(path) for code, path in wordfreq.available_languages("best").items()}


def list_for(language: str | None) -> str | None:
    """The word list that serves a language (ISO 639-1), or None where there is none or words do not stand apart."""
    if language is None or language in _NO_TOKENS:
        return None
    code = _ALIASES.get(language, language)
    return code if code in _paths() else None


class Lexicon(NamedTuple):
    """What is kept of one list."""

    listed: Hashes  # of its words, sorted
    common: Hashes  # of those with at least ZIPF_COMMON
    runs: frozenset[str]  # the runs of three letters that its words are made of, "^" and "$" for their ends
    alphabet: frozenset[str]  # the letters


class Kind(Enum):
    """What a list says of a word that it does not know."""

    GARBLED = 1  # not spelt as words of the language are
    GLUED = 2  # two common words without the space between them
    UNKNOWN = 3  # a name, a term, a rare form


_lock = threading.Lock()


def buckets(code: str, zipf: float) -> Iterator[tuple[float, list[str]]]:
    """The words of a list by how often they are used: Zipf value (log10 of uses in a thousand million words), words."""
    import gzip

    import msgpack  # type: ignore[import-untyped]  # wordfreq's own format and dependency

    with gzip.open(Path(_paths()[code]), "rb") as packed:
        unpacker: Any = msgpack.Unpacker(packed, raw=False)
        count = unpacker.read_array_header()
        unpacker.skip()  # the header
        for number in range(min(count - 1, round((9 - zipf) * 100) + 1)):  # one bucket for each centibel below 0
            yield 9 - number / 100, unpacker.unpack()


@cache
def _read(code: str) -> Lexicon:
    import numpy as np

    listed, common = array("q"), array("q")
    spelling: list[str] = []
    for zipf, words in buckets(code, ZIPF):
        hashes = array("q", map(hash, words))
        listed += hashes
        if zipf >= ZIPF_COMMON:
            common += hashes
        if zipf >= ZIPF_SPELLING:
            spelling += words
    runs = _count_runs(spelling)
    total = sum(runs.values())
    letters: Counter[str] = Counter()
    for run, count in runs.items():
        letters[run[1:2]] += count
    return Lexicon(
        np.sort(np.frombuffer(listed, np.int64)),
        np.sort(np.frombuffer(common, np.int64)),
        frozenset(run for run, count in runs.items() if count >= RARE_RUN * total),
        frozenset(letter for letter, count in letters.items() if count >= RARE_LETTER * total),
    )


def _count_runs(words: list[str]) -> dict[str, int]:
    """How often each run of three letters occurs in the words and at their ends (`_runs`)."""
    import numpy as np

    text = "\n".join(f"^{word}$" for word in words)
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32).astype(np.int64)
    # a code point has 21 bits: three make one number, and counting numbers takes a tenth of counting strings
    keys, counts = np.unique(codes[:-2] << 42 | codes[1:-1] << 21 | codes[2:], return_counts=True)
    point = (1 << 21) - 1
    runs = {
        chr(key >> 42) + chr(key >> 21 & point) + chr(key & point): count
        for key, count in zip(keys.tolist(), counts.tolist(), strict=True)
    }
    return {run: count for run, count in runs.items() if "\n" not in run}  # those of two words


def _runs(word: str) -> list[str]:
    marked = f"^{word}$"
    return [marked[at : at + 3] for at in range(len(marked) - 2)]


def lexicon(code: str) -> Lexicon:
    """The list `code` (`list_for`); read once in a process, some 0.2 s."""
    with _lock:  # reading one list twice at once would cost its memory twice
        return _read(code)


class Words(Counter[str]):
    """The words of a text as they are written, and how often each stands there. Not to be changed once it was asked."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._unlisted: dict[str, dict[str, list[str]]] = {}

    def unlisted(self, code: str) -> dict[str, list[str]]:
        """`unlisted` of these words; looked up once for each list."""
        if code not in self._unlisted:
            self._unlisted[code] = unlisted(self, code)
        return self._unlisted[code]

    def known(self, code: str) -> int:
        """How many of them are in a list; an elision such as "l'eau" counts when all of its parts are."""
        return self.total() - sum(map(self.__getitem__, self.unlisted(code)))


def tokens(text: str) -> Words:
    """Words of a text, as written: no token with a digit, no address, path or link."""
    found: dict[str, int] = {}
    for piece in pieces(text):
        _add(found, piece)
    return Words(found)


def _add(found: dict[str, int], text: str) -> None:
    others: dict[int, list[str]] = {}  # how often they stand there -> pieces that are more than a word
    for piece, times in Counter(text.split()).items():
        word = piece.strip(_AROUND)
        if word.isalpha() and word != "www":
            found[word] = found.get(word, 0) + times
        elif word and not _is_address(piece):
            others.setdefault(times, []).append(piece)
    for times, some in others.items():
        for word in TOKEN.findall(_WITH_DIGIT.sub(" ", " ".join(some))):
            found[word] = found.get(word, 0) + times


def _is_address(piece: str) -> bool:
    return "@" in piece or piece.startswith("www.") or piece.count("/") + piece.count("\\") > 1


def unlisted(words: Collection[str], code: str) -> dict[str, list[str]]:
    """Those of the words that the list `code` does not know, each with its parts that are not listed, as folded.

    Words of more than LONGEST letters are not looked up and have no parts.
    """
    short = [word for word in words if len(word) <= LONGEST]
    found: dict[str, list[str]] = {word: [] for word in words if len(word) > LONGEST} if len(short) < len(words) else {}
    listed, folded = lexicon(code).listed, _folded(short, code)
    elided: dict[str, list[str]] = {}
    for at in _missing(listed, folded):
        if "'" in (form := folded[at]):
            elided[short[at]] = [part for part in form.split("'") if part]
        else:
            found[short[at]] = [form] if form else []
    pieces = [(word, part) for word, parts in elided.items() for part in parts]
    for at in _missing(listed, [part for _, part in pieces]):
        word, part = pieces[at]
        found.setdefault(word, []).append(part)
    return found


def kinds(unlisted: Mapping[str, list[str]], code: str) -> dict[str, Kind]:
    """What the list `code` says of words that it does not know.

    Args:
        unlisted: the words and their parts, from `unlisted` of the same list.
        code: from `list_for`.
    """
    found: dict[str, Kind] = {}
    runs, frequent = lexicon(code).runs, lexicon(code).common
    for word, parts in unlisted.items():
        found[word] = Kind.UNKNOWN if all(runs.issuperset(_runs(part)) for part in parts) else Kind.GARBLED
    splits = [
        (word, part, at)
        for word, parts in unlisted.items()
        if found[word] is Kind.UNKNOWN
        for part in parts
        for at in range(2, len(part) - 1)
    ]
    rare = set(_missing(frequent, [part[:at] for _, part, at in splits]))
    splits = [split for number, split in enumerate(splits) if number not in rare]
    rare = set(_missing(frequent, [part[at:] for _, part, at in splits]))
    found.update((split[0], Kind.GLUED) for number, split in enumerate(splits) if number not in rare)
    return found


def common(words: Collection[str], code: str) -> set[str]:
    """Those of the words that are among a list's common ones."""
    short = [word for word in words if len(word) <= LONGEST]
    rare = {short[at] for at in _missing(lexicon(code).common, _folded(short, code))}
    return {word for word in short if word not in rare}


def _folded(words: Sequence[str], code: str) -> list[str]:
    """As a list has them. All at once: a line for each, for no letter joins with the end of a line."""
    from wordfreq.preprocess import preprocess_text

    return str(preprocess_text("\n".join(words).replace("’", "'"), _language(code))).split("\n") if words else []


@cache
def _language(code: str) -> Any:
    from langcodes import Language

    return Language.get(code)


def _missing(hashes: Hashes, words: Collection[str]) -> list[int]:
    """Positions of the words whose hash is not in a list."""
    import numpy as np

    if not words:
        return []
    wanted = np.fromiter(map(hash, words), np.int64, len(words))
    places = hashes.searchsorted(wanted)
    found: list[int] = np.flatnonzero(hashes.take(places, mode="clip") != wanted).tolist()
    return found


@cache
def is_latin(code: str) -> bool:
    """Whether a list's words are written in Latin letters."""
    runs = lexicon(code).runs
    return 4 * sum(run.strip("^$").isascii() for run in runs) > len(runs)


@cache
def has_accents(code: str) -> bool:
    """Whether a list's words have letters beyond ASCII, and not in a loan now and then."""
    return sum(not letter.isascii() for letter in lexicon(code).alphabet) >= _MIN_ACCENTS


def has_foreign_letter(word: str, code: str) -> bool:
    """Whether a word has a letter beyond ASCII that is not in the alphabet of a list."""
    others = set(word.lower()) - lexicon(code).alphabet
    return any(letter.isalpha() and not letter.isascii() for letter in others)
