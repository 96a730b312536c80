"""In which characters the names of an archive's members are written, where the archive does not say.

Names are short and many: all of them together are judged, as one text with a name on each line. What is known of names
and not of texts is added here: they were made on DOS, Windows or a Unix of today, and hold hardly any signs.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from streams.decode.judge import MULTI_BYTE, judge

_SAMPLE = 4 << 10
_MAX_NAME = 400
DEFAULT = "cp437"
"""What a ZIP's names are when nothing says otherwise (APPNOTE 4.4.4)."""

_OF_NAMES = MULTI_BYTE | {
    "cp437",
    "cp850",
    "cp852",
    "ibm866",
    "windows-874",
    *(f"windows-125{number}" for number in range(9)),
}
"""Code pages of DOS and Windows, which archivers write."""
_DOS_TWINS = {
    "cp737": "windows-1253",
    "cp857": "windows-1254",
    "cp862": "windows-1255",
    "cp720": "windows-1256",
    "cp775": "windows-1257",
}
"""Code pages of DOS that texts are not judged by, each with the one that has its letters."""
_USUAL_SIGNS = frozenset("–—’…№°º、。・（）【】「」《》～　")
_INSIDE_A_WORD = re.compile(r"(?<=[a-z])[^\x00-\x7f]{1,2}(?=[a-z])")
"""An East Asian character or two in the middle of a Latin word: two letters with accents."""
_DOUBLE_BYTES = 1.5
"""Points for bytes that go up in pairs: few texts in another encoding do, and each pair counts as one letter only."""


def charset_of_names(names: Iterable[bytes]) -> str:
    """The encoding of these names: UTF-8 where all of them are, else the one in which they read best together."""
    telling: list[bytes] = []
    size = 0
    utf8 = True
    for name in names:
        if name.isascii():
            continue
        try:
            name.decode("utf-8")
        except UnicodeDecodeError:
            utf8 = False
        if size < _SAMPLE and len(name) <= _MAX_NAME:
            telling.append(name)
            size += len(name) + 1
    if utf8:
        return "utf-8"
    scores = _scores(b"\n".join(telling)) if telling else {}
    best = max(scores, key=lambda encoding: scores[encoding], default=DEFAULT)
    return best if scores.get(best, 0.0) > 0 else DEFAULT


def _scores(sample: bytes) -> dict[str, float]:
    scores = {
        reading.encoding: reading.score + _as_names(reading.text, reading.encoding)
        for reading in judge(sample)
        if reading.encoding in _OF_NAMES
    }
    for encoding, twin in _DOS_TWINS.items():
        try:
            text = sample.decode(encoding)
            same = text.encode(twin)
        except UnicodeError:
            continue
        score = next((reading.score for reading in judge(same) if reading.encoding == twin), None)
        if score is not None:
            scores[encoding] = score + _as_names(text, encoding)
    return scores


def _as_names(text: str, encoding: str) -> float:
    """Points for and against a reading, by what names look like."""
    odd = [c for c in text if ord(c) > 127]
    strange = sum(
        1 for c in odd if c not in _USUAL_SIGNS and unicodedata.category(c) not in ("Ll", "Lu", "Lo", "Lm", "Mn", "Mc")
    )
    points = -6.0 * strange / max(1, len(odd))
    if encoding in MULTI_BYTE:
        points += _DOUBLE_BYTES - 6.0 * len(_INSIDE_A_WORD.findall(text)) / max(1, len(odd))
    return points
