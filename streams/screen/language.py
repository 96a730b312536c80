"""Which language a text is in: by its script where that decides, by a model where it does not, and None when unsure."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass
from functools import cache, lru_cache
from operator import itemgetter
from typing import Any

from streams.screen.counting import character_counts

MIN_LETTERS = 20
"""Letters below which an alphabet that many languages share says nothing."""

MIN_LETTERS_OF_OWN_SCRIPT = 5
"""Letters (a character of Chinese counts as two) below which a script of one language says nothing."""

MIN_CONFIDENCE = 0.5
"""py3langid's normalised probability below which the answer is None; measured: `tests/unit/screen/test_language.py`."""

MIN_CONFIDENCE_OF_HINT = 0.3
"""The same for a language that the source expects."""

HINT_SHARE = 0.2
"""A hinted language wins when it is at least this probable relative to the model's best (hr/sr/bs, id/ms, no/da)."""

NO_LANGUAGE = "zxx"
"""What the model says of letters that are no language: shifted alphabets, identifiers, noise (ISO 639-2)."""

_FOLDED = {"ext": "es", "pcm": "en", "grc": "el", "arz": "ar", "ary": "ar", "apc": "ar", "wuu": "zh", "yue": "zh"}
"""Varieties without an ISO 639-1 code that short texts of the standard language are taken for."""

SAMPLE_CHARS = 3000
"""The model reads this much of a text: more changes nothing, and it walks byte by byte."""


@dataclass(frozen=True, slots=True, eq=False)
class Script:
    """Letters of one writing system. `language` where it is written by one language (nearly) alone."""

    name: str
    language: str | None
    spaced: bool  # words stand apart
    weight: int  # a character of Chinese says about as much as this many letters


LATIN = Script("latin", None, True, 1)
HAN = Script("han", "zh", False, 2)
KANA = Script("kana", "ja", False, 2)
HANGUL = Script("hangul", "ko", True, 2)
OTHER = Script("other", None, True, 1)
_GREEK = Script("greek", "el", True, 1)
_ARABIC = Script("arabic", None, True, 1)
_GEORGIAN = Script("georgian", "ka", True, 1)

_RANGES: tuple[tuple[int, int, Script], ...] = tuple(
    sorted(
        (first, last, script)
        for first, last, script in [
            (0x0041, 0x024F, LATIN),
            (0x1E00, 0x1EFF, LATIN),
            (0x2C60, 0x2C7F, LATIN),
            (0xA720, 0xA7FF, LATIN),
            (0xFB00, 0xFB06, LATIN),
            (0xFF21, 0xFF5A, LATIN),
            (0x0370, 0x03FF, _GREEK),
            (0x1F00, 0x1FFF, _GREEK),
            (0x0400, 0x052F, Script("cyrillic", None, True, 1)),
            (0x0531, 0x0587, Script("armenian", "hy", True, 1)),
            (0x0591, 0x05F4, Script("hebrew", "he", True, 1)),
            (0x0600, 0x06FF, _ARABIC),
            (0x0750, 0x077F, _ARABIC),
            (0xFB50, 0xFDFF, _ARABIC),
            (0xFE70, 0xFEFC, _ARABIC),
            (0x0900, 0x097F, Script("devanagari", None, True, 1)),
            (0x0980, 0x09FF, Script("bengali", None, True, 1)),
            (0x0A00, 0x0A7F, Script("gurmukhi", "pa", True, 1)),
            (0x0A80, 0x0AFF, Script("gujarati", "gu", True, 1)),
            (0x0B00, 0x0B7F, Script("oriya", "or", True, 1)),
            (0x0B80, 0x0BFF, Script("tamil", "ta", True, 1)),
            (0x0C00, 0x0C7F, Script("telugu", "te", True, 1)),
            (0x0C80, 0x0CFF, Script("kannada", "kn", True, 1)),
            (0x0D00, 0x0D7F, Script("malayalam", "ml", True, 1)),
            (0x0D80, 0x0DFF, Script("sinhala", "si", True, 1)),
            (0x0E00, 0x0E7F, Script("thai", "th", False, 1)),
            (0x0E80, 0x0EFF, Script("lao", "lo", False, 1)),
            (0x0F00, 0x0FFF, Script("tibetan", None, False, 1)),
            (0x1000, 0x109F, Script("myanmar", "my", False, 1)),
            (0x10A0, 0x10FF, _GEORGIAN),
            (0x1C90, 0x1CBF, _GEORGIAN),
            (0x1100, 0x11FF, HANGUL),
            (0x3130, 0x318F, HANGUL),
            (0xAC00, 0xD7AF, HANGUL),
            (0x1200, 0x139F, Script("ethiopic", None, True, 1)),
            (0x1780, 0x17FF, Script("khmer", "km", False, 1)),
            (0x3040, 0x30FF, KANA),
            (0x31F0, 0x31FF, KANA),
            (0xFF66, 0xFF9D, KANA),
            (0x3005, 0x3007, HAN),
            (0x3400, 0x4DBF, HAN),
            (0x4E00, 0x9FFF, HAN),
            (0xF900, 0xFAFF, HAN),
            (0x20000, 0x323AF, HAN),
        ]
    )
)


@cache
def script_of(letter: str) -> Script:
    """The script of one letter or mark (Unicode blocks)."""
    code = ord(letter)
    for first, last, script in _RANGES:
        if first <= code <= last:
            return script
    return OTHER


@lru_cache(maxsize=4)  # the same text is asked for more than once
def scripts(text: str) -> Counter[Script]:
    """How many letters of each script a text has, each counted by its script's weight."""
    found: Counter[Script] = Counter()
    for character, count in character_counts(text).items():
        if character.isalpha():
            script = script_of(character)
            found[script] += count * script.weight
    return found


def is_spaced(found: Counter[Script]) -> bool:
    """Whether words stand apart in it, so that tokens mean something. Korean does not count: particles are glued on."""
    total = found.total()
    unspaced = sum(count for script, count in found.items() if not script.spaced or script is HANGUL)
    return total == 0 or unspaced <= 0.3 * total


def detect_language(text: str, hint: str | None = None) -> tuple[str | None, float]:
    """The language of a text.

    Args:
        text: plain text in any script.
        hint: ISO 639-1 code that its source expects; decides only between languages that are nearly as probable.

    Returns:
        ISO 639-1 code and probability (0..1). (None, probability) when it is too short or the model is not sure.
    """
    found = scripts(text)
    total = found.total()
    if not total:
        return None, 0.0
    by_script = _by_script(found)
    if by_script is not None and by_script[0] == "zh":
        return _han(text, found, hint)
    if by_script is not None:
        language, count = by_script
        if count >= MIN_LETTERS_OF_OWN_SCRIPT:
            if hint == "yi" and language == "he":
                language = "yi"
            return language, round(count / total, 3)
        return None, 0.0
    if total < MIN_LETTERS:
        return None, 0.0
    return _by_model(text, hint)


def _han(text: str, found: Counter[Script], hint: str | None) -> tuple[str | None, float]:
    """Japanese without kana (names, headings) is told by characters that only Japanese encodings have: 図 or 営."""
    if found[HAN] < MIN_LETTERS_OF_OWN_SCRIPT:
        return None, 0.0
    share = round(found[HAN] / found.total(), 3)
    letters = {character for character in character_counts(text) if character.isalpha() and script_of(character) is HAN}
    if all(_has("cp932", character) for character in letters):
        simplified = all(_has("gb2312", character) for character in letters)
        traditional = all(_has("big5", character) for character in letters)
        if not simplified and not traditional:
            return "ja", share
        if hint == "ja" or len(letters) < 10:  # so few characters are in use on both sides
            return ("ja" if hint == "ja" else "zh"), min(share, 0.6)
    return "zh", share


def _has(encoding: str, character: str) -> bool:
    try:
        character.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


def _by_script(found: Counter[Script]) -> tuple[str, int] | None:
    """Language and weighted letters, when a script of one language has the majority."""
    total = found.total()
    japanese = found[KANA] + found[HAN]
    if found[KANA] >= 0.05 * japanese and 2 * japanese > total:
        return "ja", japanese
    korean = found[HANGUL] + found[HAN]
    if found[HANGUL] >= 0.2 * korean and 2 * korean > total:
        return "ko", korean
    script, count = found.most_common(1)[0]
    if script.language is not None and 2 * count > total:
        return script.language, count
    return None


def _by_model(text: str, hint: str | None) -> tuple[str | None, float]:
    ranked = ranking(text)
    best, probability = ranked[0]
    for code, p in ranked[1:]:
        if code == hint and p >= HINT_SHARE * probability:
            best, probability = code, probability + p
            break
    probability = round(min(probability, 1.0), 3)
    enough = MIN_CONFIDENCE_OF_HINT if best == hint else MIN_CONFIDENCE
    sure = probability >= enough and len(best) == 2  # longer codes have no ISO 639-1 form, or are NO_LANGUAGE
    return (best if sure else None), probability


def ranking(text: str) -> list[tuple[str, float]]:
    """All languages of the model with their probability, best first; `NO_LANGUAGE` among them."""
    found: dict[str, float] = {}
    for code, probability in _model().rank(_sample(text)):
        code = _FOLDED.get(code, code)
        found[code] = found.get(code, 0.0) + probability
    return sorted(found.items(), key=itemgetter(1), reverse=True)


def _sample(text: str) -> str:
    """Start, middle and end: a cover page in another language does not decide."""
    if len(text) <= SAMPLE_CHARS:
        return text
    third, middle = SAMPLE_CHARS // 3, len(text) // 2
    return " ".join((text[:third], text[middle : middle + third], text[-third:]))


_lock = threading.Lock()
_loaded: Any = None


def _model() -> Any:
    """py3langid's model: 0.5 s and 60 MB at first use, so never at import."""
    global _loaded
    with _lock:
        if _loaded is None:
            from py3langid.langid import MODEL_FILE, LanguageIdentifier

            _loaded = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    return _loaded
