"""Which of several readings of the same bytes is text: each is judged by its letters, its words and its oddities."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from streams.decode.labels import codec_of
from streams.decode.letters import LETTERS
from streams.decode.readings import LATIN_LANGUAGES, MULTI_BYTE, READINGS, languages_of
from streams.decode.vocabulary import characters, has_words, is_word, simplified

QUICK = 1500
"""Bytes of a longer sample that decide which readings are worth a look at all of it."""
FINALISTS = 6

_PUNCTUATION = frozenset("“”„‟‘’‚‛«»‹›–—…•·°§©®™€£¥¿¡ªº½¼¾²³µ×÷±´†‡‰№\u00a0\u00ad\u200e\u200f\u200c،؛؟")
_FITTING = re.compile(
    r"""(?<![\w“”„‘’‚«»‹›¿¡])[“”„‘‚«»‹›](?=[\s\u00a0]?[\w¿¡(“„‘])  # a quotation begins
    | (?<=[\w.,;:!?…%)\]\u00a0])[”“’‘»›«‹](?!\w)                  # or ends
    | (?<=[^\W\d_])’(?=[^\W\d_])
    | (?<![\w¿¡])[¿¡](?=\w)
    | [£€¥](?=\s?\d) | \d[\s\u00a0]?[£€°º²³½¼¾‰] | (?<=\s)[½¼¾](?=\s) | (?<=\d)ª
    | (?<=[\s\d])[–—](?=[\s\d]) | (?<=\w)[–—](?=\w)
    | (?<=[\w\s])…(?!\w) | (?<!\w)…(?=\w)
    | (?:^|(?<=\n))\s*[•·–—](?=[\s\w]) | (?<!\w)[§©№](?=\s?\w) | (?<=\w)[®™] | (?<=\d)\s?[±×÷]\s?(?=\d)
    | (?<=[^\W\d_])[،؛؟](?!\w)""",
    re.VERBOSE,
)
"""Punctuation where writers put it."""
_THAI_STRAY = re.compile(r"(?<![ก-ฮ\u0e31\u0e34-\u0e3a\u0e47-\u0e4e])[\u0e31\u0e34-\u0e3a\u0e47-\u0e4e]|[เ-ไ](?![ก-ฮ])")
"""Marks of Thai that stand on nothing, vowels that are written first and come last."""
_CJK_PUNCTUATION = frozenset(
    "、。，．・：；？！（）「」『』【】《》〈〉〔〕［］｛｝～￥　“”‘’…—·①②③④⑤⑥⑦⑧⑨⑩㎡℃※→〜ー々〇"
)
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_MARKS = _PUNCTUATION | frozenset("¤¦¨¸¬¹¢¯¶")
_BETWEEN_LETTERS = re.compile(r"(?<=[^\W\d_])[“”„«»–—…•§©®™€£¥°±÷×†‡‰¿¡´·½¼¾²³ºª¤¦¨¸¬¹¢¯¶؛،؟](?=[^\W\d_])")
_ONE_LETTER = frozenset("àáâåèéêìíîòóôöùúýæавикосуяієжйѝџаеηοы")
"""Letters beyond ASCII that are words by themselves; the lists have the others, too."""
_LETTER_OF_A_NUMBER = re.compile(r"(?<!\w)[^\W\d_](?=\s?\d)|(?<=\d)[^\W\d_](?!\w)")
_MAX_WORDS = 120
_COMMAS = {ord("ş"): "ș", ord("ţ"): "ț"}  # what old encodings have for the letters of Romanian

KNOWN_MARKED = 3.0
KNOWN_PLAIN = 2.5
"""What it is worth when all words with letters beyond ASCII, or all words in ASCII, are words of the language."""
UNLISTED = 0.1
"""Share of known words that is taken for languages without a word list."""
FITS = 2.5
"""What a punctuation mark is worth that stands where writers put it; a letter of a language is worth 0.5 to 3.5."""
CJK = 1.0
"""Added to readings as Chinese, Japanese and Korean, whose words don't stand apart and are not looked up."""
FOREIGN = 0.25
"""English words say less than words of the language that they stand in: by this share."""
RUBBISH = -1.0
"""Mean of the letters below which a reading is not looked at any closer."""
RARE = 1.0
"""How much better an encoding must read that is tried only because another detector named it."""
RANK = 0.01
"""What each place in the list of encodings costs where a few characters are all there is to go by."""


@dataclass(frozen=True)
class Reading:
    """One way to read the bytes, and how well it reads: about +2 to +6 for text, below 0 for rubbish."""

    encoding: str
    language: str
    text: str
    score: float


@cache
def _letters(language: str) -> dict[str, float]:
    """How telling each letter of a language is: log2 of its share times 64, between 0.5 and 3.5."""
    from math import log2

    return {c: 0.5 + max(0.0, min(3.0, log2(share * 64))) for c, share in LETTERS[language].items()}


def read_as(data: bytes, encoding: str, torn: int = 0) -> str | None:
    """`data` in `encoding`; None when it does not fit.

    One damaged character in a thousand bytes is let pass, and those that are `torn` because pieces were cut out.
    """
    codec = codec_of(encoding)
    try:
        return data.decode(codec)
    except UnicodeDecodeError:
        text = data.decode(codec, "replace")
    return text if (text.count("\ufffd") - torn) * 1000 <= len(data) else None


def judge(data: bytes, more: Iterable[str] = (), torn: int = 0) -> list[Reading]:
    """All possible readings of bytes that are no UTF-8, best first.

    Args:
        data: a sample of some kilobytes; of a longer one, the beginning decides which readings see all of it.
        more: encodings that are tried besides `READINGS`; the script of the text says for which languages.
        torn: how many characters at the ends of lines may be incomplete.
    """
    tried = [*READINGS, *(name for name in more if name not in READINGS)]
    if len(data) <= QUICK:
        return _judged(data, tried, torn)
    first = _judged(data[:QUICK], tried, torn + 2)  # its end, and some damage
    finalists = [r.encoding for r in first if r.score >= first[0].score - 2.0][:FINALISTS]
    return _judged(data, finalists, torn) or _judged(data, tried, torn)


def _judged(data: bytes, tried: list[str], torn: int) -> list[Reading]:
    found: list[Reading] = []
    same: dict[str, tuple[float, str]] = {}
    plain = _plain_words(data)
    few = _few(data)
    for rank, encoding in enumerate(tried):
        text = read_as(data, encoding, torn)
        if text is None:
            continue
        text = unicodedata.normalize("NFC", text)
        languages = READINGS.get(encoding) or languages_of(text)
        key = f"{languages}\0{text}"
        if key not in same:
            same[key] = _best(text, languages, encoding in MULTI_BYTE, plain)
        score, language = same[key]
        score -= RANK * rank * few + (0.0 if encoding in READINGS else RARE)
        found.append(Reading(encoding, language, text, score))
    return sorted(found, key=lambda reading: -reading.score)


def _few(data: bytes) -> float:
    """1 where at most thirty bytes are beyond ASCII, then less: the more evidence, the less the order counts."""
    return min(1.0, 30 / max(1, len(data) - len(data.translate(None, _HIGH))))


_HIGH = bytes(range(128, 256))


def _plain_words(data: bytes) -> dict[str, float]:
    """Language -> share of the words in ASCII, which are the same in every reading, that it knows."""
    text = data[:QUICK].decode("ascii", "replace")
    words = [w for w in dict.fromkeys(m.group().lower() for m in _WORD.finditer(text)) if w.isascii() and len(w) > 1]
    # A piece of a word beside a letter beyond ASCII is no word
    broken = {m.group().lower() for m in re.finditer(r"[a-zA-Z]+(?=\ufffd)|(?<=\ufffd)[a-zA-Z]+", text)}
    words = [word for word in words if word not in broken][:_MAX_WORDS]
    if not words:
        return {}
    # The fewer the words, the less they say
    weight = 1 / (len(words) + 2)
    english = sum(is_word(word, "en") for word in words) * weight
    shares = {
        language: sum(is_word(word, language) for word in words) * weight
        for language in LATIN_LANGUAGES
        if has_words(language)
    }
    # English stands in documents of every language, and only English in those of other scripts
    return {language: max(share, english - FOREIGN) for language, share in shares.items()} | {
        "": max(0.0, english - FOREIGN)
    }


def _best(text: str, languages: tuple[str, ...], cjk: bool, plain: dict[str, float]) -> tuple[float, str]:
    odd = Counter(c for c in text if c > "\x7f")
    if not odd:
        return 0.0, languages[0]
    total = odd.total()
    if cjk:
        scores = [(_score_cjk(text, language) / total + CJK, language) for language in languages]
    else:
        letters = [_score_alphabet(odd, language) / total for language in languages]
        if max(letters) < RUBBISH:
            best = max(letters)
            return best, languages[letters.index(best)]
        words = [w for w in _WORD.findall(text) if not w.isascii()]
        marks = not _MARKS.isdisjoint(odd)
        fitting = len(_FITTING.findall(text)) if marks else 0
        oddities = (_oddities(text, words, marks) - FITS * fitting) / total
        # C1 controls are in none of the texts that people write
        oddities += 1.0 if any("\x80" <= c <= "\x9f" for c in odd) else 0.0
        distinct = list(dict.fromkeys(word.lower().replace("’", "'") for word in words))[:_MAX_WORDS]
        distinct = [word for word in distinct if len(word) > 1 or word in _ONE_LETTER] or distinct[:1]
        scores = [
            (score - oddities + KNOWN_MARKED * _known(distinct, language), language)
            for score, language in zip(letters, languages, strict=True)
        ]
    other = plain.get("", 0.0)
    return max(
        ((score + KNOWN_PLAIN * plain.get(language, other), language) for score, language in scores),
        key=lambda pair: pair[0],
    )


def _known(words: list[str], language: str) -> float:
    if not words or (words[0] not in _ONE_LETTER and len(words[0]) == 1):
        return 0.0
    if not has_words(language):
        return UNLISTED
    if language == "ro":
        words = [word.translate(_COMMAS) for word in words]
    elif language == "tr":
        words = [word.replace("i\u0307", "i") for word in words]
    return sum(_listed(word, language) for word in words) / len(words)


def _listed(word: str, language: str) -> bool:
    if is_word(word, language):
        return True
    parts = word.split("'")
    return len(parts) > 1 and all(is_word(part, language) or len(part) == 1 for part in parts)


def _score_alphabet(counts: dict[str, int], language: str) -> float:
    letters = _letters(language)
    total = 0.0
    for character, count in counts.items():
        weight = letters.get(character) or letters.get(character.lower())
        if weight is not None:
            total += count * (weight if character.islower() or not character.isupper() else weight * 0.8)
        elif character in _PUNCTUATION:
            total += count * 0.1
        elif character == "\ufffd" or unicodedata.category(character) in ("Cc", "Co", "Cn"):
            total -= count * 5.0
        elif character.isalpha():
            total -= count * 3.0
        elif "\u2500" <= character <= "\u259f":
            total -= count * 4.0  # line drawing of DOS and KOI8: in running text nothing but a wrong reading
        else:
            total -= count * 2.0
    return total


def _oddities(text: str, words: list[str], marks: bool) -> float:
    """What no writer does: capitals inside words, alphabets mixed in one word, signs between letters."""
    cost = 0.0
    for word, count in Counter(words).items():
        if len(word) < 2:
            continue
        if not (word[1:].islower() or word.isupper() or word.islower()):
            breaks = sum(1 for a, b in pairwise(word) if a.islower() and b.isupper() and ord(b) + ord(a) > 255)
            cost += 2.0 * breaks * count + (1.0 * count if word[:2].isupper() and not word.isupper() else 0.0)
        if any(c.isascii() for c in word) and any(c > "\u036f" for c in word):
            latin_extended = all(c < "\u0250" or "\u1e00" <= c <= "\u1eff" or "\u0300" <= c < "\u0370" for c in word)
            cost += 0.0 if latin_extended else 4.0 * count
    cost += 2.0 * sum(1 for c in _LETTER_OF_A_NUMBER.findall(text) if c > "\x7f" and c not in "ªº")
    if "\u0e01" <= max(text) <= "\u0e7f":
        cost += 2.0 * len(_THAI_STRAY.findall(text))
    # “ between two letters is a letter read wrongly; ’ is an apostrophe
    return cost + (2.0 * len(_BETWEEN_LETTERS.findall(text)) if marks else 0.0)


def _score_cjk(text: str, language: str) -> float:
    common = characters(language)
    total = 0.0
    before = " "
    text = simplified(text) if language == "zh" else text
    for index, character in enumerate(text):
        if character > "\x7f":
            weight = common.get(character)
            if weight is not None:
                total += weight + 0.5
            elif character in _CJK_PUNCTUATION:
                total += 1.0
            elif "\uff10" <= character <= "\uff5a" or "\u3040" <= character <= "\u30ff":
                total += 0.3
            elif character == "\ufffd" or unicodedata.category(character) in ("Cc", "Co", "Cn"):
                total -= 5.0
            else:
                total -= 1.5 if "\u4e00" <= character <= "\u9fff" else 2.5
            after = text[index + 1 : index + 2]
            if before.isascii() and before.islower() and after.isascii() and after.islower():
                total -= 2.0  # one Chinese character inside a Latin word
        before = character
    return total


__all__ = ["MULTI_BYTE", "READINGS", "Reading", "judge", "read_as"]
