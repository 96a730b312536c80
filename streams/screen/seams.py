"""Two columns that were read line by line across: every word is right, and only the seams between the lines are wrong.

Text runs on from the end of a line to the beginning of the next. Where columns were mixed, it runs on to the line after
the next instead. Which of both is so, pairs of words inside the lines tell: each line's end is compared with both, by
how much likelier its last word and their first ones are together than by chance (pointwise mutual information). What
speaks for the line after the next is summed up over the stretch of lines where that is most (the CUSUM statistic of
Page 1954: natural logarithm of a likelihood ratio). Lists, verse and tables run on to neither, and gather nothing.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from math import exp, log

LEAST_LINES = 8
"""Lines below which nothing is said."""

MOST_WORDS = 20_000
"""Words from which pairs are learned; more change nothing."""

_FREQUENT, _LEAST_USES = 25, 3  # words of the document that stand for themselves; others by their last letter
_SHRINK = 3.0  # pairs by chance that are added to those that were counted
_BROKEN_AFTER = 0.1  # of the lines of a mixed column, those that have nothing to do with the line after the next
_BROKEN = 0.3  # of all others at most, those that have nothing to do with the next line
_WIDEST = 85  # letters and signs of a line in a column; what is longer is a paragraph
_GAP = re.compile(r"[^\S\n]{3,}")  # between columns that stand beside one another

_CLOSING, _OPENING = "\"'”’»)]“", "\"'“‘„«([¿¡”»"
_STOPS, _PAUSES = ".!?…؟。！？", ",;:،、，；："  # Arabic and Chinese ones, too
_AROUND = _CLOSING + _OPENING + _STOPS + _PAUSES
_STOP, _PAUSE, _HYPHEN, _NUMBER, _WORD = range(5)
_SMALL, _CAPITAL, _DIGIT, _SIGN = range(4)

# Rows: how a word ends; columns: how the next one begins. Measured on sentences of 19 languages (`bench/README.md`).
_MARKS = (
    (-1.6, 1.76, -0.12, 0.99),
    (0.07, -0.48, -0.8, 0.04),
    (-0.16, -0.07, 1.83, -0.21),
    (0.03, -0.71, 0.43, 1.85),
    (0.05, -0.35, 0.03, -0.23),
)

Pair = Callable[[str, str], float]
"""Last word of a line, first of another: how much likelier they stand together than by chance (natural logarithm)."""


def columns_across(stretches: Sequence[str], *, spaced: bool) -> float:
    """The evidence that two columns were read across, somewhere in a text: 0 for none, in nats.

    Args:
        stretches: prose with the lines that its page had; text runs on inside a stretch (a page, or a block) alone.
        spaced: whether words stand apart; else characters are taken for words.
    """
    texts = [[line for cell in _cells(text) if (line := _words(cell, spaced))] for text in stretches if "\n" in text]
    texts = [lines for lines in texts if len(lines) > 2]
    if sum(map(len, texts)) < LEAST_LINES:
        return 0.0
    seams = [seam for lines in texts for seam in _seams(lines)]
    if not seams:
        return 0.0
    together = _pairs(texts)
    best = current = 0.0
    for end, one, other in seams:
        after, next_one = together(end, other), together(end, one)
        current += log(_mixed(after, _BROKEN_AFTER))
        current -= log(max(_mixed(next_one, share) for share in (_BROKEN, _BROKEN_AFTER)))
        current = max(current, 0.0)
        best = max(best, current)
    return best


def _seams(lines: Sequence[Sequence[str]]) -> Iterator[tuple[str, str, str]]:
    """Last word of a line, and the first ones of the next and of the line after it, where they can tell something."""
    narrow = [sum(map(len, line)) <= _WIDEST for line in lines]
    for at in range(len(lines) - 2):
        if not (narrow[at] and narrow[at + 1] and narrow[at + 2]):
            continue  # paragraphs, a line each
        end, one, other = lines[at][-1], lines[at + 1][0], lines[at + 2][0]
        kinds = {_beginning(one), _beginning(other)}
        if _end(end) == _NUMBER or max(kinds) >= _DIGIT:
            continue  # rows of figures, which have an order of their own
        if _end(end) == _STOP and len(kinds) == 1:
            continue  # after a full stop any sentence may begin
        yield end, one, other


def _mixed(together: float, broken: float) -> float:
    return broken + (1 - broken) * exp(together)


def _cells(text: str) -> Iterator[str]:
    """The lines of a text; of one with two columns beside one another, what stands in each."""
    if not _GAP.search(text):
        yield from text.split("\n")
        return
    for line in text.split("\n"):
        cells = _GAP.split(line.strip())
        yield from cells if len(cells) == 2 else [line]


def _words(line: str, spaced: bool) -> Sequence[str]:
    return line.split() if spaced else "".join(line.split())


def _pairs(texts: Iterable[Iterable[Sequence[str]]]) -> Pair:
    """Learned from the pairs inside the lines; seams are what is asked about."""
    import numpy as np

    words: list[str] = []
    for line in chain.from_iterable(texts):
        words += line
        words.append("")
        if len(words) > MOST_WORDS:
            break
    counts = Counter(words)
    cores = [word.strip(_AROUND).lower() for word in counts]
    uses: Counter[str] = Counter()
    for core, count in zip(cores, counts.values(), strict=True):
        uses[core] += count
    frequent = {core for core, count in uses.most_common(_FREQUENT) if core and count >= _LEAST_USES}

    def group(core: str) -> str:
        return core if core in frequent else "0" if core[:1].isdigit() else core[-1:]

    numbers: defaultdict[str, int] = defaultdict(itertools.count(1).__next__)  # of each group; 0 parts lines
    of_word = {word: numbers[group(core)] for word, core in zip(counts, cores, strict=True)}
    of_word[""] = 0
    found = np.fromiter(map(of_word.__getitem__, words), np.int64, len(words))
    one, other = found[:-1], found[1:]
    inside = (one > 0) & (other > 0)
    one, other, kinds = one[inside], other[inside], len(numbers) + 1
    left, right = np.bincount(one, minlength=kinds).tolist(), np.bincount(other, minlength=kinds).tolist()
    pairs = Counter((one * kinds + other).tolist())
    total = len(one) + 1

    def together(last: str, first: str) -> float:
        one, other = (numbers.get(group(word.strip(_AROUND).lower()), 0) for word in (last, first))  # 0 is in no pair
        expected = (left[one] + 0.5) * (right[other] + 0.5) / total
        return _MARKS[_end(last)][_beginning(first)] + log(
            (pairs[one * kinds + other] + _SHRINK) / (expected + _SHRINK)
        )

    return together


@lru_cache(maxsize=4096)
def _end(word: str) -> int:
    last = (word.rstrip(_CLOSING) or word)[-1]
    if last in _STOPS:
        return _STOP
    if last in _PAUSES:
        return _PAUSE
    return _HYPHEN if last == "-" else _NUMBER if last.isdigit() else _WORD


@lru_cache(maxsize=4096)
def _beginning(word: str) -> int:
    first = (word.lstrip(_OPENING) or word)[0]
    if first.isdigit():
        return _DIGIT
    if first.isupper():
        return _CAPITAL
    return _SMALL if first.isalpha() else _SIGN
