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
from typing import TYPE_CHECKING

from streams.screen.counting import character_counts

if TYPE_CHECKING:
    import numpy as np

    Octets = np.ndarray[tuple[int], np.dtype[np.uint8]]
    Sets = np.ndarray[tuple[int], np.dtype[np.uint16]]

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
_LEADS = range(0xC2, 0xF5)
_TENTH = 10  # bytes of which one may be lost
_PLANE_1 = "\U00010000"
_QUOTES = "“”‘’"  # lead bytes in Mac OS Roman: French "l’été" would be valid UTF-8
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


@cache
def _bytes_of(encoding: str) -> Octets:
    """The byte of each character of plane 0; 0, which belongs to no sequence, for those that are not in the encoding.

    Undefined bytes stand for themselves, as browsers have it.
    """
    import numpy as np

    table = np.zeros(0x10000, np.uint8)
    table[0x80:0xA0] = range(0x80, 0xA0)
    for byte in range(0x80, 0x100):
        try:
            table[ord(bytes([byte]).decode(encoding))] = byte
        except UnicodeDecodeError:
            table[byte] = byte
    if encoding == "mac-roman":
        table[[ord(quote) for quote in _QUOTES]] = 0
    return table


@cache
def _leads_and_continuations() -> tuple[Sets, Sets]:
    """For each character of plane 0 the encodings (as bits) in which it begins a sequence, and in which it goes on."""
    import numpy as np

    leads, continuations = np.zeros(0x10000, np.uint16), np.zeros(0x10000, np.uint16)
    for bit, encoding in enumerate(SINGLE_BYTE):
        table = _bytes_of(encoding)
        leads |= (((table >= _LEADS.start) & (table < _LEADS.stop)) << bit).astype(np.uint16)
        continuations |= ((table & 0xC0 == 0x80) << bit).astype(np.uint16)
    return leads, continuations


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
    best = _undone_single("\x00".join(run for run in runs if len(run) > 1), found, len(joined))
    if 2 * best < total and _EAST_ASIAN.search(joined):
        lengths = list(map(len, runs))
        best = max(best, *(_undone_multi(joined, lengths, encoding) for encoding in MULTI_BYTE))
    return best / total


def _may_be(found: Mapping[str, int], encoding: str, total: int) -> bool:
    """Whether enough of the characters are in an encoding at all: Russian is no Windows-1252."""
    table = _bytes_of(encoding)
    return (
        10 * sum(times for character, times in found.items() if character < _PLANE_1 and table[ord(character)]) >= total
    )


def _sampled(runs: list[str]) -> list[str]:
    total = sum(map(len, runs))
    if total <= _SAMPLE_CHARS:
        return runs
    step = -(-total // _SAMPLE_CHARS)
    return [run[: _SAMPLE_CHARS // 4] for run in runs[::step]]


def _undone_single(joined: str, found: Mapping[str, int], total: int) -> int:
    """Characters that stand in sequences in one of `SINGLE_BYTE`, at most.

    Args:
        joined: the runs that may hold a sequence.
        found: characters of all runs, and how often each stands there; `total` of them.
    """
    import numpy as np

    codes = np.minimum(np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), np.uint32), 0xFFFF)
    leads, continuations = _leads_and_continuations()
    begun = leads[codes[:-1]] & continuations[codes[1:]]  # the encodings in which a sequence may begin here
    begun = begun[begun != 0]
    best = 0
    for bit, encoding in enumerate(SINGLE_BYTE):
        if np.count_nonzero(begun & (1 << bit)) >= _MIN_SEQUENCES and _may_be(found, encoding, total):
            sizes = _sequences(_bytes_of(encoding)[codes])
            if np.count_nonzero(sizes) >= _MIN_SEQUENCES:
                best = max(best, int(sizes.sum()))
    return best


def _sequences(octets: Octets) -> Octets:
    """For each byte the number of bytes of the UTF-8 sequence that begins with it; 0 where none does."""
    import numpy as np

    goes_on = np.zeros(len(octets) + 3, bool)
    goes_on[: len(octets)] = octets & 0xC0 == 0x80
    second, third, fourth = (goes_on[ahead : len(octets) + ahead] for ahead in (1, 2, 3))
    sizes = np.zeros(len(octets), np.uint8)
    sizes[(octets >= 0xC2) & (octets < 0xE0) & second] = 2
    sizes[(octets >= 0xE0) & (octets < 0xF0) & second & third] = 3
    sizes[(octets >= 0xF0) & (octets < 0xF5) & second & third & fourth] = 4
    return sizes


def _undone_multi(joined: str, lengths: list[int], encoding: str) -> int:
    """Characters of the runs that are undone. Short ones count only if nearly all are ("M眉ller" for "Müller").

    A run is undone when nine bytes of ten stand in sequences, half of which are continuations at least.
    """
    import numpy as np

    octets = np.frombuffer(joined.encode(encoding, "replace"), np.uint8)
    begins = np.append(0, np.flatnonzero(octets == 0) + 1)
    sizes = np.diff(np.append(begins, len(octets) + 1)) - 1
    continuations = np.add.reduceat((octets & 0xC0 == 0x80).astype(np.int64), begins)
    in_sequences = np.add.reduceat(_sequences(octets).astype(np.int64), begins)
    of_run = np.array(lengths)
    undone = (
        ((sizes >= _TENTH) | (octets[begins] >= _LEADS.start) & (octets[begins] < _LEADS.stop))
        & (20 * continuations >= 9 * sizes)
        & (10 * in_sequences >= 9 * sizes)
    )
    is_long = of_run >= _LONG_RUN
    long, short = int(of_run[undone & is_long].sum()), int(of_run[undone & ~is_long].sum())
    few = np.count_nonzero(undone & ~is_long) < _MIN_SEQUENCES
    if few or 10 * short < 8 * int(of_run[~is_long].sum()):
        short = 0
    return (long if long >= _MIN_LONG else 0) + short


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
