"""Was this text decoded twice? Asked by undoing it: characters back to bytes in each likely encoding, then as UTF-8.

Real text almost never turns into valid UTF-8 this way (a lead byte must be followed by exactly its continuation bytes),
doubly decoded text does so by construction. This finds any pair "UTF-8 read as X", not a list of ugly patterns, and a
second round of damage as well, for its outer layer is undone in the same way. ftfy's badness stands beside it for
what can't be undone any more.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from streams.screen.counting import character_counts

# Without cp866 and its like: there, lower-case Cyrillic has the very bytes of UTF-8's three-byte sequences.
SINGLE_BYTE = (
    "cp1252",
    "latin-1",
    "cp1251",
    "cp1250",
    "cp1253",
    "cp1254",
    "cp1255",
    "cp1256",
    "cp1257",
    "iso8859-2",
    "iso8859-15",
    "koi8-r",
    "mac-roman",
    "cp437",
    "cp850",
    "cp852",
)
MULTI_BYTE = ("gb18030", "cp932", "big5", "euc-kr")

_RUN = re.compile(r"[^\x00-\x7f]+")
_SEQUENCE = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
_LEADS = range(0xC2, 0xF5)
_TENTH = 10  # bytes of which one may be lost
_CONTINUATIONS = bytes(range(0x80, 0xC0))
_C1 = re.compile(r"[\x80-\x9f]")
_QUOTES = dict.fromkeys(map(ord, "“”‘’"), "?")  # lead bytes in Mac OS Roman: French "l’été" would be valid UTF-8
_EAST_ASIAN = re.compile(r"[\u1100-\u11ff\u2e80-\ud7af\uf900-\ufaff\ufe30-\uffdc\U00020000-\U000323af]")
_LONG_RUN = 3  # characters; shorter runs of East Asian text are valid UTF-8 by chance too often to count alone
_MIN_LONG = 12  # characters; kana are valid UTF-8 in Big5 for a word or two
_MIN_SEQUENCES = 3  # fewer are no evidence
# Of ftfy's categories and letters, those of which each combination that it counts has one or more: the others are
# accented and foreign letters, dashes and ASCII. Its longest combination has seven characters.
_SUSPECT = ("c1", "bad", "law", "currency", "start_punctuation", "end_punctuation", "numeric", "upper_accented", "box")
_SUSPECT_LETTERS = "ŒœÙ°ЂўÂÃ"
_REACH = 5
_SAMPLE_CHARS = 20_000  # non-ASCII characters that are looked at; more change nothing


class _Bytes(dict[int, int]):
    """Code point -> byte; 0, which belongs to no sequence, for characters that are not in the encoding."""

    def __missing__(self, _: int) -> int:
        return 0


@cache
def _table(encoding: str) -> tuple[_Bytes, frozenset[str]]:
    """Code points as bytes, and the characters that there are; undefined bytes stand for themselves, as browsers have
    it."""
    table = _Bytes({byte: byte for byte in range(0x80, 0xA0)})
    for byte in range(0x80, 0x100):
        try:
            table[ord(bytes([byte]).decode(encoding))] = byte
        except UnicodeDecodeError:
            table[byte] = byte
    if encoding == "mac-roman":
        for quote in _QUOTES:
            del table[quote]
    return table, frozenset(map(chr, table))


def double_decoding_share(text: str) -> float:
    """Share (0..1) of the non-ASCII characters that become valid UTF-8 when a wrong decoding is undone.

    0 when there are fewer than three such sequences. Clean text is at 0.0 in all 22 languages of the tests; double
    decoding through one of `SINGLE_BYTE` is above 0.35.
    """
    runs = _sampled(_RUN.findall(text))
    total = sum(map(len, runs))
    if not total:
        return 0.0
    joined = "\x00".join(runs)
    found = character_counts(joined)
    sequences = "\x00".join(run for run in runs if len(run) > 1)  # one byte makes no sequence
    controls = _C1.search(joined) is not None
    likely = [encoding for encoding in SINGLE_BYTE if sequences and _may_be(found, encoding, len(joined))]
    best = max((_undone_single(sequences, encoding, controls) for encoding in likely), default=0)
    if 2 * best < total and _EAST_ASIAN.search(joined):
        best = max(best, *(_undone_multi(joined, runs, encoding) for encoding in MULTI_BYTE))
    return best / total


def _may_be(found: Mapping[str, int], encoding: str, total: int) -> bool:
    """Whether enough of the characters are in an encoding at all: Russian is no Windows-1252."""
    return 10 * sum(map(found.__getitem__, _table(encoding)[1] & found.keys())) >= total


def _sampled(runs: list[str]) -> list[str]:
    total = sum(map(len, runs))
    if total <= _SAMPLE_CHARS:
        return runs
    step = -(-total // _SAMPLE_CHARS)
    return [run[: _SAMPLE_CHARS // 4] for run in runs[::step]]


def _undone_single(joined: str, encoding: str, controls: bool) -> int:
    # Characters that are not in the encoding become 0 or "?", which belong to no sequence.
    if controls:
        undone = joined.translate(_table(encoding)[0]).encode("latin-1")
    else:  # the codec does the same, in less time
        if encoding == "mac-roman":
            joined = joined.translate(_QUOTES)
        undone = joined.encode(encoding, "replace")
    if len(undone) - len(undone.translate(None, _CONTINUATIONS)) < _MIN_SEQUENCES:
        return 0
    sequences = _SEQUENCE.findall(undone)
    return sum(map(len, sequences)) if len(sequences) >= _MIN_SEQUENCES else 0


def _undone_multi(joined: str, runs: list[str], encoding: str) -> int:
    """Characters of the runs that are undone. Short ones count only if nearly all are ("M眉ller" for "Müller")."""
    coded = zip(runs, joined.encode(encoding, "replace").split(b"\x00"), strict=True)
    undone = [run for run, raw in coded if (len(raw) >= _TENTH or raw[0] in _LEADS) and _is_undone(raw)]
    long = sum(len(run) for run in undone if len(run) >= _LONG_RUN)
    short = [len(run) for run in undone if len(run) < _LONG_RUN]
    if len(short) < _MIN_SEQUENCES or 10 * sum(short) < 8 * sum(len(run) for run in runs if len(run) < _LONG_RUN):
        short = []
    return (long if long >= _MIN_LONG else 0) + sum(short)


def _is_undone(raw: bytes) -> bool:
    """Whether nine bytes of ten stand in sequences, half of which are continuations at least."""
    others = len(raw.translate(None, _CONTINUATIONS))
    return 20 * (len(raw) - others) >= 9 * len(raw) and 10 * sum(map(len, _SEQUENCE.findall(raw))) >= 9 * len(raw)


def impossible_combinations(text: str) -> int:
    """What ftfy's `badness` counts, in a tenth of its time: it is asked only around characters that it needs."""
    from ftfy.badness import BADNESS_RE

    found, begin, end = 0, 0, 0
    for at in (match.start() for match in _suspects().finditer(text)):
        if at - _REACH > end:
            found += len(BADNESS_RE.findall(text, begin, end))
            begin = at - _REACH
        end = at + _REACH + 1
    return found + len(BADNESS_RE.findall(text, max(begin, 0), end))


@cache
def _suspects() -> re.Pattern[str]:
    from ftfy.badness import MOJIBAKE_CATEGORIES as CATEGORIES

    return re.compile(f"[{''.join(CATEGORIES[name] for name in _SUSPECT)}{_SUSPECT_LETTERS}]")
