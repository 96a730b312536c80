"""Which of several readings of the same bytes is text: each is judged by its letters, its words and its oddities."""

from __future__ import annotations

import math
import re
import unicodedata
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from streams.decode.labels import codec_of
from streams.decode.letters import LETTERS

_WESTERN = ("en", "de", "fr", "es", "pt", "it", "nl", "sv", "da", "nb", "fi", "ca", "is")
_CENTRAL = ("pl", "cs", "hu", "sk", "sl", "sh", "ro", "de")
_BALTIC = ("lt", "lv", "et")

READINGS: dict[str, tuple[str, ...]] = {
    "windows-1252": _WESTERN,
    "windows-1250": _CENTRAL,
    "windows-1251": ("ru", "uk", "bg", "be", "sr", "mk"),
    "gb18030": ("zh",),
    "shift_jis": ("ja",),
    "euc-kr": ("ko",),
    "big5": ("zh",),
    "euc-jp": ("ja",),
    "koi8-r": ("ru",),
    "windows-1253": ("el",),
    "windows-1254": ("tr",),
    "windows-1256": ("ar", "fa", "ur"),
    "windows-1255": ("he",),
    "windows-1257": _BALTIC,
    "windows-874": ("th",),
    "windows-1258": ("vi",),
    "iso-8859-2": _CENTRAL,
    "iso-8859-15": _WESTERN,
    "iso-8859-7": ("el",),
    "iso-8859-5": ("ru", "bg", "sr", "mk", "be"),
    "koi8-u": ("uk", "ru"),
    "ibm866": ("ru", "bg", "be"),
    "x-mac-cyrillic": ("ru", "uk", "bg"),
    "iso-8859-6": ("ar",),
    "iso-8859-8": ("he",),
    "macintosh": _WESTERN,
    "cp850": _WESTERN,
    "cp852": _CENTRAL,
    "cp437": _WESTERN,
    "iso-8859-13": _BALTIC,
    "iso-8859-4": _BALTIC,
}
"""Encodings that are tried, the commoner first (that order breaks ties), and the languages written in them."""

MULTI_BYTE = frozenset({"gb18030", "shift_jis", "euc-kr", "big5", "euc-jp"})

_PUNCTUATION = frozenset("“”„‟‘’‚‛«»‹›–—…•·°§©®™€£¥¿¡ªº½¼¾²³µ×÷±´†‡‰№\u00a0\u00ad\u200e\u200f\u200c، ؛؟")
_CJK_PUNCTUATION = frozenset(
    "、。，．・：；？！（）「」『』【】《》〈〉〔〕［］｛｝～￥　“”‘’…—·①②③④⑤⑥⑦⑧⑨⑩㎡℃※→〜ー々〇"
)
_CASE_BREAK = re.compile(r"[^\W\d_]+")
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_MAX_WORDS = 400


@dataclass(frozen=True)
class Reading:
    """One way to read the bytes, and how well it reads: about +2 to +6 for text, below 0 for rubbish."""

    encoding: str
    language: str
    text: str
    score: float


@cache
def _words(language: str) -> frozenset[str]:
    from wordfreq import get_frequency_dict

    if language in ("be", "et", "sr", "th"):
        return frozenset()
    return frozenset(get_frequency_dict(language, "small"))


@cache
def _characters(language: str) -> dict[str, float]:
    """How telling each character of a language without spaces is: log2 of its share times 1000, at most 3."""
    from wordfreq import get_frequency_dict

    counts: dict[str, float] = {}
    for word, frequency in get_frequency_dict(language, "small").items():
        for character in word:
            if ord(character) > 127:
                counts[character] = counts.get(character, 0.0) + frequency
    total = sum(counts.values())
    return {c: max(0.2, min(3.0, math.log2(n / total * 2000))) for c, n in counts.items()}


@cache
def _letters(language: str) -> dict[str, float]:
    """How telling each letter of a language is: log2 of its share times 64, between 0.5 and 3.5."""
    return {c: 0.5 + max(0.0, min(3.0, math.log2(share * 64))) for c, share in LETTERS[language].items()}


def read_as(data: bytes, encoding: str) -> str | None:
    """`data` in `encoding`; None when it does not fit. One damaged character in a thousand bytes is let pass."""
    codec = codec_of(encoding)
    try:
        return data.decode(codec)
    except UnicodeDecodeError:
        text = data.decode(codec, "replace")
    return text if text.count("\ufffd") * 1000 <= len(data) else None


def judge(data: bytes) -> list[Reading]:
    """All possible readings of bytes that are no UTF-8, best first; `data` is a sample of some kilobytes."""
    found = []
    for rank, (encoding, languages) in enumerate(READINGS.items()):
        text = read_as(data, encoding)
        if text is None:
            continue
        text = unicodedata.normalize("NFC", text)
        best = max((_score(text, language, encoding), -n) for n, language in enumerate(languages))
        found.append(Reading(encoding, languages[-best[1]], text, best[0] - 0.01 * rank))
    return sorted(found, key=lambda reading: -reading.score)


def _score(text: str, language: str, encoding: str) -> float:
    odd = [c for c in text if ord(c) > 127]
    if not odd:
        return 0.0
    total = _score_cjk(text, language) if encoding in MULTI_BYTE else _score_alphabet(text, language)
    score = total / len(odd)
    if encoding not in MULTI_BYTE:
        score += 3 * _known_words(text, language)
    return score


def _score_alphabet(text: str, language: str) -> float:
    letters = _letters(language)
    total = 0.0
    counts: dict[str, int] = {}
    for character in text:
        if ord(character) > 127:
            counts[character] = counts.get(character, 0) + 1
    for character, count in counts.items():
        weight = letters.get(character.lower())
        if weight is not None:
            total += count * (weight if character.islower() or not character.isupper() else weight * 0.8)
        elif character in _PUNCTUATION:
            total += count * 0.4
        elif character == "\ufffd" or unicodedata.category(character) in ("Cc", "Co", "Cn"):
            total -= count * 5.0
        elif character.isalpha():
            total -= count * 3.0
        elif "\u2500" <= character <= "\u259f":
            total -= count * 4.0  # line drawing of DOS and KOI8: in running text nothing but a wrong reading
        else:
            total -= count * 2.0
    return total - _oddities(text)


def _oddities(text: str) -> float:
    """What no writer does: capitals inside words, alphabets mixed in one word, signs between letters."""
    cost = 0.0
    for match in _CASE_BREAK.finditer(text):
        word = match.group()
        if word.isascii() or len(word) < 2:
            continue
        if word[1:].islower() or word.isupper() or word.islower():
            pass
        else:
            cost += 2.0 * sum(1 for a, b in pairwise(word) if a.islower() and b.isupper() and ord(b) + ord(a) > 255)
        if not word.isascii() and any(c.isascii() for c in word) and any(ord(c) > 0x36F for c in word):
            latin_extended = all(ord(c) < 0x250 or 0x1E00 <= ord(c) <= 0x1EFF or 0x300 <= ord(c) < 0x370 for c in word)
            cost += 0.0 if latin_extended else 2.0
    # “ between two letters is a letter read wrongly; ’ is an apostrophe
    cost += 2.0 * len(re.findall(r"(?<=[^\W\d_])[“”„«»–—…•§©®™€£¥°±÷×†‡‰¿¡´·½¼¾²³ºª](?=[^\W\d_])", text))
    return cost


def _score_cjk(text: str, language: str) -> float:
    characters = _characters(language)
    total = 0.0
    before = " "
    simplified = _simplified(text) if language == "zh" else text
    for index, character in enumerate(simplified):
        if ord(character) > 127:
            weight = characters.get(character)
            if weight is not None:
                total += weight + 0.5
            elif character in _CJK_PUNCTUATION:
                total += 1.0
            elif 0xFF10 <= ord(character) <= 0xFF5A or 0x3040 <= ord(character) <= 0x30FF:
                total += 0.3
            elif character == "\ufffd" or unicodedata.category(character) in ("Cc", "Co", "Cn"):
                total -= 5.0
            else:
                total -= 1.5 if 0x4E00 <= ord(character) <= 0x9FFF else 2.5
            after = simplified[index + 1 : index + 2]
            if before.isascii() and before.islower() and after.isascii() and after.islower():
                total -= 2.0  # one Chinese character inside a Latin word
        before = character
    return total


@cache
def _simplified_map() -> dict[int, str]:
    import gzip

    import msgpack  # type: ignore[import-untyped]
    from wordfreq.util import data_path

    # wordfreq's own function for this needs a Chinese tokenizer to be installed; its table does not
    with gzip.open(data_path("_chinese_mapping.msgpack.gz")) as file:
        mapping: dict[int, str] = msgpack.load(file, raw=False, strict_map_key=False)
    return mapping


def _simplified(text: str) -> str:
    return text.translate(_simplified_map())


def _known_words(text: str, language: str) -> float:
    """Share of the distinct words with letters beyond ASCII (or of all, where there are none) that are known."""
    known = _words(language)
    if not known:
        return 0.0
    every = dict.fromkeys(match.group().lower() for match in _WORD.finditer(text[:40_000]))
    marked = [word for word in every if not word.isascii()]
    words = (marked or list(every))[:_MAX_WORDS]
    return sum(word in known for word in words) / len(words) if words else 0.0
